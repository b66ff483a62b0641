// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/narrow.h"

#include "core/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::tensor
{

namespace
{

/// What the codes at the end of a float's range mean.
enum class Specials : std::uint8_t {
    Ieee,         ///< the last exponent holds the infinities and NaN
    OneNan,       ///< all ones are NaN, on either side; no infinity
    UnsignedZero, ///< the sign alone is NaN; no −0, no infinity
    None          ///< every code is a number
};

/// A narrow float with a sign.
struct FloatFormat
{
    int fraction = 0; ///< bits
    int exponent = 0; ///< bits
    int bias = 0;
    Specials specials = Specials::None;

    [[nodiscard]] constexpr unsigned signBit() const { return 1U << static_cast<unsigned>(fraction + exponent); }
    /// Code of the largest number; codes of positive numbers grow with them.
    [[nodiscard]] constexpr unsigned largest() const
    {
        switch (specials) {
        case Specials::Ieee:
            return signBit() - 1 - (1U << static_cast<unsigned>(fraction));
        case Specials::OneNan:
            return signBit() - 2;
        default:
            return signBit() - 1;
        }
    }
    [[nodiscard]] constexpr bool hasSignedNan() const
    {
        return specials == Specials::Ieee || specials == Specials::OneNan;
    }
    [[nodiscard]] constexpr unsigned nan() const
    {
        switch (specials) {
        case Specials::Ieee: // a quiet one
            return signBit() - 1 - ((1U << static_cast<unsigned>(fraction)) - 1) / 2;
        case Specials::OneNan:
            return signBit() - 1;
        default:
            return signBit();
        }
    }
};

FloatFormat formatOf(DType t)
{
    switch (t) {
    case DType::Float8E4M3FN:
        return {3, 4, 7, Specials::OneNan};
    case DType::Float8E4M3FNUZ:
        return {3, 4, 8, Specials::UnsignedZero};
    case DType::Float8E5M2:
        return {2, 5, 15, Specials::Ieee};
    case DType::Float8E5M2FNUZ:
        return {2, 5, 16, Specials::UnsignedZero};
    case DType::Float6E2M3:
        return {3, 2, 1, Specials::None};
    case DType::Float6E3M2:
        return {2, 3, 3, Specials::None};
    default:
        return {1, 2, 1, Specials::None}; // Float4E2M1
    }
}

/// The number of a code without its sign, as if no code were special.
double magnitudeOf(const FloatFormat& format, unsigned code)
{
    const auto exponent = static_cast<int>(code >> static_cast<unsigned>(format.fraction));
    const auto one = 1U << static_cast<unsigned>(format.fraction);
    const unsigned fraction = code & (one - 1);
    const unsigned digits = exponent == 0 ? fraction : fraction + one;
    return std::ldexp(static_cast<double>(digits), std::max(exponent, 1) - format.bias - format.fraction);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr unsigned kPowerNan = 0xff;
constexpr int kPowerBias = 127;

float floatOf(const FloatFormat& format, unsigned code)
{
    const unsigned sign = code & format.signBit();
    const unsigned rest = code & (format.signBit() - 1);
    float value = rest > format.largest() ? kNan : static_cast<float>(magnitudeOf(format, rest));
    if (format.specials == Specials::Ieee && rest == format.largest() + 1) {
        value = std::numeric_limits<float>::infinity();
    }
    if (format.specials == Specials::UnsignedZero && sign != 0 && rest == 0) {
        return kNan;
    }
    return sign != 0 ? -value : value;
}

/// The code of a number that is not negative, rounded to nearest, halves to even; largest() + 1 when that is beyond.
unsigned nearest(const FloatFormat& format, double magnitude)
{
    unsigned low = 0;
    unsigned high = format.largest() + 1; // the number that would follow
    if (magnitude >= magnitudeOf(format, high)) {
        return high;
    }
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        (magnitudeOf(format, middle) <= magnitude ? low : high) = middle;
    }
    const double below = magnitude - magnitudeOf(format, low);
    const double above = magnitudeOf(format, high) - magnitude;
    const bool isUp = above < below || (above == below && low % 2 == 1);
    return isUp ? high : low;
}

/// What stands for a number beyond the largest, or for an infinity.
unsigned beyond(const FloatFormat& format, bool isSaturating)
{
    if (isSaturating || format.specials == Specials::None) {
        return format.largest();
    }
    return format.specials == Specials::Ieee ? format.largest() + 1 : format.nan();
}

std::uint8_t floatCode(const FloatFormat& format, double value, bool isSaturating)
{
    const unsigned sign = std::signbit(value) ? format.signBit() : 0;
    if (std::isnan(value)) {
        return static_cast<std::uint8_t>(format.hasSignedNan() ? sign | format.nan() : format.signBit());
    }
    unsigned code = nearest(format, std::abs(value));
    if (code > format.largest()) {
        code = beyond(format, isSaturating);
    }
    const bool hasSign = format.specials != Specials::UnsignedZero || code != 0;
    return static_cast<std::uint8_t>(hasSign ? sign | code : code);
}

/// Exponent of the power of two for a positive number.
int powerOf(double value, PowerRounding rounding)
{
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent) * 2; // value = fraction · 2^(exponent − 1), 1 ≤ fraction < 2
    const bool isUp =
        rounding == PowerRounding::Up ? fraction > 1 : rounding == PowerRounding::Nearest && fraction >= 1.5;
    return exponent - 1 + (isUp ? 1 : 0);
}

/// Float8E8M0. It has no sign and no zero: a negative number becomes NaN, 0 the smallest power.
std::uint8_t powerCode(double value, NarrowRounding rounding)
{
    constexpr int kLast = 254;
    if (std::isnan(value) || value < 0) {
        return kPowerNan;
    }
    const int code = value == 0 ? -1 : std::isinf(value) ? kLast + 1 : powerOf(value, rounding.power) + kPowerBias;
    const bool isInside = code >= 0 && code <= kLast;
    if (!isInside && !rounding.isSaturating) {
        return kPowerNan;
    }
    return static_cast<std::uint8_t>(std::clamp(code, 0, kLast));
}

bool isSigned(DType t) { return t == DType::Int4 || t == DType::Int2; }

unsigned maskOf(DType t) { return (1U << static_cast<unsigned>(bitsOf(t))) - 1; }

float integerOf(DType t, unsigned code)
{
    const auto bits = static_cast<int>(code & maskOf(t));
    const int half = 1 << (bitsOf(t) - 1);
    return static_cast<float>(isSigned(t) && bits >= half ? bits - 2 * half : bits);
}

std::uint8_t integerCode(DType t, double value)
{
    constexpr double kMost = 0x1p62; // far beyond what any type here holds
    const double cut = std::isnan(value) ? 0 : std::clamp(std::trunc(value), -kMost, kMost);
    return static_cast<std::uint8_t>(static_cast<std::uint64_t>(static_cast<std::int64_t>(cut)) & maskOf(t));
}

std::array<float, 256> tableOf(DType t)
{
    std::array<float, 256> table{};
    for (unsigned code = 0; code < table.size(); ++code) {
        if (t == DType::Float8E8M0) {
            table[code] = code == kPowerNan ? kNan : std::ldexp(1.0F, static_cast<int>(code) - kPowerBias);
        } else {
            table[code] = isNarrowFloat(t) ? floatOf(formatOf(t), code & maskOf(t)) : integerOf(t, code);
        }
    }
    return table;
}

bool isWhole(DType t) { return isNarrow(t) ? !isNarrowFloat(t) : !isFloating(t); }

/// The lowest bits of whole numbers.
Tensor lowestBits(const Tensor& numbers, DType t)
{
    const Tensor whole = numbers.to(DType::Int64).contiguous();
    TensorBuffer buffer(t, whole.shape());
    std::transform(whole.data<std::int64_t>(), whole.data<std::int64_t>() + whole.size(), buffer.rawData(),
                   [mask = maskOf(t)](std::int64_t v) { return std::byte(static_cast<std::uint64_t>(v) & mask); });
    return std::move(buffer).freeze();
}

} // namespace

const std::array<float, 256>& narrowTable(DType t)
{
    static const auto kTables = [] {
        constexpr auto kFirst = static_cast<std::size_t>(DType::Float8E4M3FN);
        std::array<std::array<float, 256>, kDTypeCount - kFirst> tables{};
        for (std::size_t i = 0; i < tables.size(); ++i) {
            tables[i] = tableOf(static_cast<DType>(kFirst + i));
        }
        return tables;
    }();
    return kTables[static_cast<std::size_t>(t) - static_cast<std::size_t>(DType::Float8E4M3FN)];
}

std::uint8_t toNarrow(DType t, double value, NarrowRounding rounding)
{
    if (t == DType::Float8E8M0) {
        return powerCode(value, rounding);
    }
    return isNarrowFloat(t) ? floatCode(formatOf(t), value, rounding.isSaturating) : integerCode(t, value);
}

Tensor widened(const Tensor& narrow)
{
    const Tensor source = narrow.contiguous();
    const std::array<float, 256>& table = narrowTable(source.dtype());
    TensorBuffer buffer(DType::Float32, source.shape());
    std::transform(source.rawData(), source.rawData() + source.size(), buffer.data<float>(),
                   [&table](std::byte code) { return table[std::to_integer<std::size_t>(code)]; });
    return std::move(buffer).freeze();
}

Tensor narrowed(const Tensor& tensor, DType t, NarrowRounding rounding)
{
    if (isWhole(tensor.dtype()) && isWhole(t)) {
        return lowestBits(tensor, t);
    }
    const Tensor source = tensor.to(DType::Float64).contiguous();
    TensorBuffer buffer(t, source.shape());
    std::transform(source.data<double>(), source.data<double>() + source.size(), buffer.rawData(),
                   [&](double value) { return std::byte(toNarrow(t, value, rounding)); });
    return std::move(buffer).freeze();
}

void unpack(DType t, std::span<const std::byte> packed, std::span<std::byte> elements)
{
    const auto width = static_cast<std::size_t>(bitsOf(t));
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t at = i * width;
        unsigned bits = std::to_integer<unsigned>(packed[at / 8]) >> (at % 8);
        if (at % 8 + width > 8) {
            bits |= std::to_integer<unsigned>(packed[at / 8 + 1]) << (8 - at % 8);
        }
        elements[i] = std::byte(bits & maskOf(t));
    }
}

void pack(DType t, std::span<const std::byte> elements, std::span<std::byte> packed)
{
    const auto width = static_cast<std::size_t>(bitsOf(t));
    std::fill(packed.begin(), packed.end(), std::byte{0});
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t at = i * width;
        const unsigned bits = std::to_integer<unsigned>(elements[i]) & maskOf(t);
        packed[at / 8] |= std::byte((bits << (at % 8)) & 0xffU);
        if (at % 8 + width > 8) {
            packed[at / 8 + 1] |= std::byte(bits >> (8 - at % 8));
        }
    }
}

} // namespace retro::tensor
