// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/wrapping.h"

#include "core/tensor/visit.h"

#include <limits>
#include <type_traits>

namespace retro::tensor
{

namespace
{

/// As the processor's conversion has it: what is out of range, or no number, becomes the least number.
template <class Integer>
Integer truncated(double value)
{
    constexpr auto kLeast = static_cast<double>(std::numeric_limits<Integer>::min());
    const bool isInside = value > kLeast - 1 && value < -kLeast; // of int64, kLeast − 1 is kLeast: the same result
    return isInside ? static_cast<Integer>(value) : std::numeric_limits<Integer>::min();
}

template <class To>
To wrapped(double value)
{
    if constexpr (std::is_same_v<To, std::uint64_t>) {
        constexpr double kHalf = 0x1p63;
        const bool isUpper = value >= kHalf;
        const auto low = static_cast<std::uint64_t>(truncated<std::int64_t>(isUpper ? value - kHalf : value));
        return isUpper ? low ^ (1ULL << 63U) : low;
    } else if constexpr (sizeof(To) == 8 || std::is_same_v<To, std::uint32_t>) {
        return static_cast<To>(truncated<std::int64_t>(value));
    } else {
        return static_cast<To>(truncated<std::int32_t>(value));
    }
}

template <class From, class To>
void convertWrapped(const Tensor& source, TensorBuffer& made)
{
    const auto* in = reinterpret_cast<const typename From::Bits*>(source.rawData());
    To* out = made.data<To>();
    for (std::int64_t i = 0; i < source.size(); ++i) {
        out[i] = wrapped<To>(static_cast<double>(From::load(in[i])));
    }
}

} // namespace

Tensor toWrapped(const Tensor& numbers, DType integers)
{
    const bool hasFractions = isFloating(numbers.dtype()) || isNarrowFloat(numbers.dtype());
    if (!hasFractions || isFloating(integers) || isNarrow(integers) || integers == DType::Bool) {
        return numbers.to(integers);
    }
    const Tensor source = (isNarrow(numbers.dtype()) ? widened(numbers) : numbers).contiguous();
    TensorBuffer made(integers, source.shape());
    visitWide(source.dtype(), [&](auto fromTag) {
        visitWide(integers, [&](auto toTag) {
            using To = typename decltype(toTag)::Value;
            if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool>) {
                convertWrapped<decltype(fromTag), To>(source, made);
            }
        });
    });
    return std::move(made).freeze();
}

} // namespace retro::tensor
