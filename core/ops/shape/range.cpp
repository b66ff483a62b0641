// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/shape/known.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

/// `count` numbers: start, start + delta, …
template <class T>
Tensor numbersFrom(T start, T delta, std::int64_t count)
{
    tensor::TensorBuffer buffer(tensor::DTypeOf<T>::value, {count});
    const std::span<T> values = buffer.span<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = plus(start, times(static_cast<T>(i), delta));
    }
    return std::move(buffer).freeze();
}

/// Elements of a range whose start or step is computed. How many there are follows from the values that the model is
/// bound to; it changes in jumps, so the limit has no gradient.
class FloatRange final : public Operator<Differentiable>
{
public:
    FloatRange(TensorType output, std::span<const TensorType> operands)
        : Operator(std::move(output)), m_operands(operands.begin(), operands.end())
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const double start = operands[kStart].at(0);
        const double delta = operands[kDelta].at(0);
        const TensorType& type = m_outputTypes[0];
        return {filled(type.dtype, type.shape, [&](auto* y) {
            for (std::int64_t i = 0; i < type.shape[0]; ++i) {
                y[i] = static_cast<std::decay_t<decltype(*y)>>(plus(start, times(static_cast<double>(i), delta)));
            }
        })};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor>, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const TensorType& operand = m_operands[slot];
        double sum = 0;
        for (std::int64_t i = 0; i < s[0].size() && slot != kLimit; ++i) {
            sum += s[0].at(i) * (slot == kDelta ? static_cast<double>(i) : 1);
        }
        return Tensor::full(operand.dtype, operand.shape, sum);
    }
    [[nodiscard]] double share(std::span<const std::uint8_t>, std::size_t slot) const override
    {
        return slot == kLimit ? 0 : 1;
    }

private:
    enum Slot : std::size_t { kStart, kLimit, kDelta };

    std::vector<TensorType> m_operands;
};

/// start, start + delta, … before the limit.
template <class T>
BoundResult boundRange(const BindContext& context, tensor::DType type)
{
    std::array<T, 3> numbers{};
    for (std::size_t slot = 0; slot < 3; ++slot) {
        RETRO_TRY(const Tensor given, context.known(slot));
        if (given.size() != 1) {
            return context.error(fmt::format("operand {} must be one number", slot));
        }
        numbers[slot] = *given.to(tensor::DTypeOf<T>::value).contiguous().template data<T>();
    }
    const auto [start, limit, delta] = numbers;
    const double count =
        std::ceil((static_cast<double>(limit) - static_cast<double>(start)) / static_cast<double>(delta));
    if (delta == 0 || !std::isfinite(count) || count > static_cast<double>(kMaxElements)) {
        return context.error("the range has no end, or too many elements");
    }
    const auto length = static_cast<std::int64_t>(std::max(count, 0.0));
    if (tensor::isFloating(type) && !(context.constant(0) && context.constant(2))) {
        return bound<FloatRange>(TensorType{type, {length}}, context.operandTypes);
    }
    return bound<Made>(TensorType{type, {length}},
                       [type, length, from = start, step = delta] { return numbersFrom(from, step, length).to(type); });
}

BoundResult bindRange(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    const tensor::DType type = firstType(context).dtype;
    return tensor::isFloating(type) ? boundRange<double>(context, type) : boundRange<std::int64_t>(context, type);
}

} // namespace

const OperatorFamily kRangeOperators{
    {"", "Range", 11, 0, "function, no relevance", true, bindRange},
};

} // namespace retro::ops
