// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
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
    return bound<Made>(TensorType{type, {length}},
                       [type, length, from = start, step = delta] { return numbersFrom(from, step, length).to(type); });
}

BoundResult bindRange(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 3, .most = 3, .types = OperandTypes::AllNumbers}));
    const tensor::DType type = firstType(context).dtype;
    return tensor::isFloating(type) ? boundRange<double>(context, type) : boundRange<std::int64_t>(context, type);
}

} // namespace

std::span<const OperatorDeclaration> rangeDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Range", 11, 0, "no relevance", false, bindRange},
    };
    return kDeclarations;
}

} // namespace retro::ops
