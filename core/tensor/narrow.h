// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace retro::tensor
{

class Tensor;

/// How Float8E8M0, which has powers of two alone, takes what lies between two of them.
enum class PowerRounding : std::uint8_t {
    Up,     ///< to the larger power
    Down,   ///< to the smaller power
    Nearest ///< to the nearer one, halves to the larger
};

/// How a number becomes one of a narrow type (ONNX, Cast: the tables of its float 8 types). All others are rounded to
/// nearest, halves to even.
struct NarrowRounding
{
    bool isSaturating = true; ///< of float8: out of range gives the largest number, else an infinity or NaN
    PowerRounding power = PowerRounding::Up;
};

/// Bits of an element in a file: 8, 6, 4 or 2. The type must be narrow.
[[nodiscard]] constexpr int bitsOf(DType t)
{
    switch (t) {
    case DType::Float6E2M3:
    case DType::Float6E3M2:
        return 6;
    case DType::Float4E2M1:
    case DType::Int4:
    case DType::UInt4:
        return 4;
    case DType::Int2:
    case DType::UInt2:
        return 2;
    default:
        return 8;
    }
}

/// Bytes that `count` elements take in a file, where they follow each other without gaps. The type must be narrow.
[[nodiscard]] constexpr std::uint64_t packedBytes(DType t, std::uint64_t count)
{
    const auto bits = static_cast<std::uint64_t>(bitsOf(t));
    return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

/// The number that each byte stands for; bits beyond those of the type are not looked at. float32 holds every number
/// of every narrow type.
[[nodiscard]] const std::array<float, 256>& narrowTable(DType t);

/// The bits of a number. Of integers it is the lowest bits, the fraction dropped (what is out of range has no meaning
/// in the standard; its cases have it so), and 0 for NaN; a NaN of a float6 or float4 type, which have none, becomes
/// −0.
[[nodiscard]] std::uint8_t toNarrow(DType t, double value, NarrowRounding rounding = {});

/// The numbers of a tensor of a narrow type in float32, row-major.
[[nodiscard]] Tensor widened(const Tensor& narrow);
/// A tensor of any type in a narrow one, row-major. Integers become integers by their lowest bits, as between wide
/// integers.
[[nodiscard]] Tensor narrowed(const Tensor& tensor, DType t, NarrowRounding rounding = {});

/// Elements of a file, which follow each other from the lowest bit of the first byte on, to a byte each. `packed` has
/// packedBytes(t, elements.size()) bytes.
void unpack(DType t, std::span<const std::byte> packed, std::span<std::byte> elements);
/// The other way.
void pack(DType t, std::span<const std::byte> elements, std::span<std::byte> packed);

} // namespace retro::tensor
