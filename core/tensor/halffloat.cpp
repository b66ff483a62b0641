// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor.h"

#include <bit>
#include <cmath>

namespace retro::tensor
{

float halfToFloat(std::uint16_t bits)
{
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    if (exponent == 0) {
        const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
        return sign != 0 ? -magnitude : magnitude;
    }
    const std::uint32_t wide = exponent == 0x1fU ? 0x7f800000U : (exponent + 112U) << 23;
    return std::bit_cast<float>(sign | wide | (fraction << 13));
}

std::uint16_t floatToHalf(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        return static_cast<std::uint16_t>(sign | 0x7e00U);
    }
    if (magnitude >= 0x477ff000U) { // rounds to 65520 or more
        return static_cast<std::uint16_t>(sign | 0x7c00U);
    }
    if (magnitude < 0x38800000U) { // subnormal in half: scale so that the unit in the last place is one
        const float scaled = std::ldexp(std::bit_cast<float>(magnitude), 24);
        return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(scaled)));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1U;
    const std::uint32_t rounded = magnitude - 0x38000000U + 0xfffU + odd;
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(rounded >> 13));
}

float bfloatToFloat(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t floatToBfloat(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
        return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
    }
    return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

} // namespace retro::tensor
