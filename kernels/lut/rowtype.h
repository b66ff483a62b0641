// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/hostdevice.h"

#include <cstdint>
#include <cstring>

// Rows of 16 bits: how a table may be stored on a device. Everything is computed in the type of the pass; each number
// becomes one of it exactly. C++17, like all that nvcc sees.
namespace retro::lut
{

/// How the weights of a layer are stored.
enum class RowType : std::uint8_t {
    Real,     ///< in the type that passes compute with
    Float16,  ///< IEEE 754 binary16
    BFloat16, ///< the upper half of a float32
};

/// A number of 16 bits: 1 of sign, 5 of exponent, 10 of fraction.
struct Float16
{
    std::uint16_t bits;
};

/// A number of 16 bits: 1 of sign, 8 of exponent, 7 of fraction.
struct BFloat16
{
    std::uint16_t bits;
};

/// The float of these bits.
RETRO_HOST_DEVICE inline float floatOfBits(std::uint32_t bits)
{
    float value = 0;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

/// The same number as a float; denormal ones, infinities and NaN included. Integers alone, so that neither the host's
/// nor the device's treatment of denormal numbers matters.
RETRO_HOST_DEVICE inline float widened(Float16 number)
{
    const std::uint32_t sign = (std::uint32_t{number.bits} & 0x8000U) << 16;
    std::uint32_t exponent = (number.bits >> 10) & 0x1FU;
    std::uint32_t fraction = number.bits & 0x3FFU;
    if (exponent == 0x1FU) {
        return floatOfBits(sign | 0x7F800000U | (fraction << 13));
    }
    if (exponent == 0 && fraction == 0) {
        return floatOfBits(sign);
    }
    exponent += 127 - 15;
    if (exponent == 127 - 15) { // denormal: its leading bit becomes the hidden one
        ++exponent;
        while ((fraction & 0x400U) == 0) {
            fraction <<= 1;
            --exponent;
        }
        fraction &= 0x3FFU;
    }
    return floatOfBits(sign | (exponent << 23) | (fraction << 13));
}

/// The same number as float, exactly.
RETRO_HOST_DEVICE inline float widened(BFloat16 number) { return floatOfBits(std::uint32_t{number.bits} << 16); }
/// The number itself, for code that is written over row types.
RETRO_HOST_DEVICE constexpr float widened(float number) { return number; }
/// The number itself, for code that is written over row types.
RETRO_HOST_DEVICE constexpr double widened(double number) { return number; }

} // namespace retro::lut
