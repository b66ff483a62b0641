// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/elementwise/activation.h"
#include "core/ops/families.h"
#include "core/ops/kernel/rowloop.h"

#include <fmt/format.h>

#include <limits>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// min(max(x, low), high); the derivative is 1 on the closed interval.
struct Clip
{
    static constexpr bool kReadsOutput = false;
    static constexpr bool kIsRelu = false;
    static constexpr bool kIsVectorised = true;

    double low = -std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();

    template <class T>
    [[nodiscard]] T value(T x) const
    {
        const T raised = x < static_cast<T>(low) ? static_cast<T>(low) : x;
        return raised > static_cast<T>(high) ? static_cast<T>(high) : raised;
    }
    template <class T>
    [[nodiscard]] T slope(T x) const
    {
        return x >= static_cast<T>(low) && x <= static_cast<T>(high) ? T{1} : T{0};
    }
};

struct Raised
{
    static auto value(auto x, auto low, RowParameters) { return x < low ? low : x; }
};

struct Lowered
{
    static auto value(auto x, auto high, RowParameters) { return x > high ? high : x; }
};

/// s where x is inside the bound, for the operand (a = 0); where it is not, for the bound (a = 1).
struct PastLow
{
    template <class T>
    static T value(T s, T x, T low, RowParameters parameters)
    {
        return (x < low) == (parameters.a != 0) ? s : T{0};
    }
};
struct PastHigh
{
    template <class T>
    static T value(T s, T x, T high, RowParameters parameters)
    {
        return (x > high) == (parameters.a != 0) ? s : T{0};
    }
};

/// Clip by bounds that are operands of the run; of integers too. The upper bound has the last word.
class ClipByOperands final : public Operator<Differentiable>
{
public:
    explicit ClipByOperands(TensorType output) : Operator(std::move(output)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        Tensor y = raised(operands);
        if (has(operands, 2)) {
            y = mapNumbers(binaryNumbers<Lowered>(), y.dtype(), y.shape(), {y, operands[2].reshaped({})});
        }
        return {y};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        Tensor part = s[0];
        if (has(operands, 2)) {
            part = kept(ternaryFloats<PastHigh>(), {part, raised(operands), operands[2].reshaped({})}, slot == 2);
        }
        if (has(operands, 1) && slot != 2) {
            part = kept(ternaryFloats<PastLow>(), {part, operands[0], operands[1].reshaped({})}, slot == 1);
        }
        return slot == 0 ? part : algebra::reduceTo(part, {}).reshaped(operands[slot].shape());
    }

private:
    static bool has(std::span<const Tensor> operands, std::size_t slot)
    {
        return slot < operands.size() && operands[slot].isValid();
    }
    [[nodiscard]] Tensor raised(std::span<const Tensor> operands) const
    {
        const TensorType& type = m_outputTypes[0];
        return has(operands, 1) ? mapNumbers(binaryNumbers<Raised>(), type.dtype, type.shape,
                                             {operands[0], operands[1].reshaped({})})
                                : operands[0];
    }
    static Tensor kept(const NumberRows& rows, std::initializer_list<Tensor> operands, bool isForBound)
    {
        const Tensor& s = *operands.begin();
        return mapNumbers(rows, s.dtype(), s.shape(), operands, {isForBound ? 1.0 : 0.0, 0});
    }
};

/// A bound that is known: an attribute in the first forms, then a constant; `fallback` when missing.
double boundOf(const BindContext& context, std::string_view attribute, std::size_t slot, double fallback)
{
    if (context.node.opset < 11) {
        return context.floatAttribute(attribute, fallback);
    }
    return context.present(slot) ? context.constants[slot].at(0) : fallback;
}

/// One number of the operand's type, if present.
base::Result<void> expectBound(const BindContext& context, std::size_t slot, std::string_view name)
{
    if (!context.present(slot)) {
        return {};
    }
    const TensorType& type = context.operandTypes[slot];
    if (tensor::elementCount(type.shape) != 1) {
        return context.error(fmt::format("{} must be one number", name));
    }
    if (type.dtype != firstType(context).dtype) {
        return context.error(fmt::format("{} is {}, but the operand is {}; insert a Cast", name,
                                         tensor::nameOf(type.dtype), tensor::nameOf(firstType(context).dtype)));
    }
    return {};
}

BoundResult bindClip(const BindContext& context)
{
    RETRO_CHECK(expectBound(context, 1, "min"));
    RETRO_CHECK(expectBound(context, 2, "max"));
    const TensorType& x = firstType(context);
    const auto isFixed = [&](std::size_t slot) { return !context.present(slot) || context.constant(slot); };
    if (x.dtype == tensor::DType::Bool) {
        return context.error("the operand is bool, but must be a number; insert a Cast");
    }
    if (!tensor::isFloating(x.dtype) || !isFixed(1) || !isFixed(2)) {
        return bound<ClipByOperands>(x);
    }
    Clip function;
    function.low = boundOf(context, "min", 1, function.low);
    function.high = boundOf(context, "max", 2, function.high);
    return bound<Activation<Clip>>(x, function);
}

} // namespace

const OperatorFamily kClipOperators{
    {"", "Clip", 1, 0, "element-wise, function", true, bindClip, false, Elements::Bounded},
};

} // namespace retro::ops
