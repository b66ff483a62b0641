// SPDX-License-Identifier: Apache-2.0
// Elementary functions that loops over float can vectorise: arithmetic and selections only, no calls and no branches.
// Within 4 units in the last place in float; in double these are the standard library's. NaN stays NaN.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace retro::ops
{

namespace vectorised
{

/// Σ c_k·x^k, the constant first.
template <std::size_t n>
[[nodiscard]] constexpr float polynomial(float x, const float (&c)[n])
{
    float sum = c[n - 1];
    for (std::size_t k = n - 1; k-- > 0;) {
        sum = sum * x + c[k];
    }
    return sum;
}

/// 2^n for whole n from −126 to 127.
[[nodiscard]] inline float powerOfTwo(std::int32_t n)
{
    return std::bit_cast<float>((static_cast<std::uint32_t>(n) + 127U) << 23U);
}

/// The same in one rounding each.
template <std::size_t n>
[[nodiscard]] inline float fusedPolynomial(float x, const float (&c)[n])
{
    float sum = c[n - 1];
    for (std::size_t k = n - 1; k-- > 0;) {
        sum = std::fma(sum, x, c[k]);
    }
    return sum;
}

/// x = n·ln 2 + r with whole n and |r| ≤ ln 2 / 2, for −105 ≤ x ≤ 90 or NaN.
struct Reduced
{
    float power = 0;           ///< e^r, by a polynomial
    std::uint32_t shifted = 0; ///< n + kShiftedZero
};

inline constexpr float kShift = 12582912.0F; // 1.5 · 2²³: adding it rounds to a whole number
inline constexpr auto kShiftedZero = std::bit_cast<std::uint32_t>(kShift);

inline constexpr float kLn2High = 0x1.62ep-1F; // few digits, so that n times it is exact
inline constexpr float kLn2Low = 3.194618495e-5F;
/// e^r, fitted to 3.1e−9 of it (least largest error).
inline constexpr float kFittedPower[]{1.0F,
                                      1.0F,
                                      0.4999999403953552F,
                                      0.1666652113199234F,
                                      0.04166838899254799F,
                                      0.008368710987269878F,
                                      0.0013814610429108143F};

/// x as n · ln 2 + r, with e^r by a polynomial.
[[nodiscard]] inline Reduced reduced(float x)
{
    const float shifted = x * 1.4426950409F + kShift;
    const float whole = shifted - kShift;
    const float r = (x - whole * kLn2High) - whole * kLn2Low;
    return {polynomial(r, kFittedPower), std::bit_cast<std::uint32_t>(shifted)};
}

/// The same with products that are added in one rounding. That is for loops which onWidestRegisters() compiles:
/// elsewhere each of them may be a call. The result is the same in both.
[[nodiscard]] inline Reduced fusedReduced(float x)
{
    const float shifted = std::fma(x, 1.4426950409F, kShift);
    const float whole = shifted - kShift;
    const float r = std::fma(whole, -kLn2Low, std::fma(whole, -kLn2High, x));
    return {fusedPolynomial(r, kFittedPower), std::bit_cast<std::uint32_t>(shifted)};
}

/// eˣ = 2ⁿ·e^r. Infinite above 88.73, 0 below −104.
[[nodiscard]] inline float exponential(float x)
{
    const float low = x < -105.0F ? -105.0F : x;
    const Reduced of = reduced(low > 90.0F ? 90.0F : low);
    const auto n = static_cast<std::int32_t>(of.shifted - kShiftedZero);
    const std::int32_t half = n >> 1; // in two steps, so that results beside the normal numbers come out right
    return of.power * powerOfTwo(half) * powerOfTwo(n - half);
}

/// The same bits for x ≤ 0, or NaN.
[[nodiscard]] inline float exponentialBelowZero(float x)
{
    const Reduced of = reduced(x < -105.0F ? -105.0F : x);
    // 2ⁿ·2⁶⁴, which is a normal number, and 2⁻⁶⁴ behind it; what is beside n is shifted out.
    constexpr std::uint32_t kRaised = (127U + 64U) << 23U;
    return of.power * std::bit_cast<float>((of.shifted << 23U) + kRaised) * 0x1p-64F;
}

/// 1 / (1 + e⁻ˣ) of a number, which NaN is not: it gives what 87 gives. Below −87 it stays at 1.6e−38. The bound is
/// taken on the bits: of a comparison of numbers GCC makes branches, and the loop is then no longer vectorised well.
[[nodiscard]] inline float logisticOfNumber(float x)
{
    constexpr std::uint32_t kSign = 0x80000000U;
    constexpr auto kBound = std::bit_cast<std::uint32_t>(87.0F);
    constexpr std::uint32_t kOne = 127U << 23U;
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const Reduced of = fusedReduced(std::bit_cast<float>(std::min(bits & ~kSign, kBound) | (~bits & kSign)));
    return 1.0F / std::fma(of.power, std::bit_cast<float>((of.shifted << 23U) + kOne), 1.0F);
}

/// Near 0 by a continued fraction, else by the exponential.
[[nodiscard]] inline float hyperbolicTangent(float x)
{
    const float magnitude = std::abs(x);
    const float square = magnitude * magnitude;
    const float bent = 1.0F - 2.0F / (exponential(magnitude + magnitude) + 1.0F);
    const float u = square < 1.0F ? square : 1.0F;
    const float near = magnitude * (945.0F + u * (105.0F + u)) / (945.0F + u * (420.0F + u * 15.0F));
    return std::copysign(magnitude < 0.6F ? near : bent, x);
}

/// Near 0 by a fitted polynomial, else 1 − e^(−x²)·q(1 / (1 + 0.4·x)) with a fitted q. Fitted by least squares to 1e−9.
[[nodiscard]] inline float errorFunction(float x)
{
    constexpr float kNear[]{1.1283791656893238F,    -0.37612625567399705F, 0.11283582247998855F,
                            -0.026853691099995802F, 0.005188098889989681F, -0.0008008189328811144F,
                            7.847259147120145e-05F};
    constexpr float kFar[]{-0.00268151802F, 0.257736905F, 0.0617536603F, 0.669854969F,
                           -0.594651576F,   0.839372936F, -0.231394338F};
    const float magnitude = std::abs(x);
    const float square = magnitude * magnitude;
    const float u = square < 1.0F ? square : 1.0F;
    const float far = 1.0F - exponentialBelowZero(-square) * polynomial(1.0F / (1.0F + 0.4F * magnitude), kFar);
    const float result = magnitude < 1.0F ? magnitude * polynomial(u, kNear) : far;
    return std::copysign(result, x);
}

} // namespace vectorised

/// eˣ.
template <class T>
[[nodiscard]] T fastExp(T x)
{
    if constexpr (std::is_same_v<T, float>) {
        return vectorised::exponential(x);
    } else {
        return std::exp(x);
    }
}

/// eˣ for x ≤ 0, or NaN.
template <class T>
[[nodiscard]] T fastExpBelowZero(T x)
{
    if constexpr (std::is_same_v<T, float>) {
        return vectorised::exponentialBelowZero(x);
    } else {
        return std::exp(x);
    }
}

/// tanh x.
template <class T>
[[nodiscard]] T fastTanh(T x)
{
    if constexpr (std::is_same_v<T, float>) {
        return vectorised::hyperbolicTangent(x);
    } else {
        return std::tanh(x);
    }
}

/// erf x.
template <class T>
[[nodiscard]] T fastErf(T x)
{
    if constexpr (std::is_same_v<T, float>) {
        return vectorised::errorFunction(x);
    } else {
        return std::erf(x);
    }
}

} // namespace retro::ops
