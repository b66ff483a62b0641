// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retro::tensor
{

/// Element types. Float16 and BFloat16 are stored as their 16-bit patterns and widened where they are used. From
/// Float8E4M3FN on come the narrow types (core/tensor/narrow.h): kept and moved, computed with only after a conversion.
enum class DType : std::uint8_t {
    Float32,
    Float64,
    Float16,
    BFloat16,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Bool,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float8E8M0,
    Float6E2M3,
    Float6E3M2,
    Float4E2M1,
    Int4,
    UInt4,
    Int2,
    UInt2
};

/// Number of element types; DType counts from 0 without gaps.
inline constexpr std::size_t kDTypeCount = static_cast<std::size_t>(DType::UInt2) + 1;

/// True for the types of at most 8 bits that take part in no arithmetic: float8, float6, float4 and the integers of 4
/// and 2 bits.
[[nodiscard]] constexpr bool isNarrow(DType t) { return t >= DType::Float8E4M3FN; }
/// True for narrow types of numbers with a fraction.
[[nodiscard]] constexpr bool isNarrowFloat(DType t) { return isNarrow(t) && t < DType::Int4; }

/// Bytes per element in memory. An element of fewer than 8 bits has a byte of its own.
[[nodiscard]] constexpr std::size_t sizeOf(DType t)
{
    switch (t) {
    case DType::Float64:
    case DType::Int64:
    case DType::UInt64:
        return 8;
    case DType::Float32:
    case DType::Int32:
    case DType::UInt32:
        return 4;
    case DType::Float16:
    case DType::BFloat16:
    case DType::Int16:
    case DType::UInt16:
        return 2;
    default:
        return 1;
    }
}

/// Name as people write it: "float32", "int64", …
[[nodiscard]] std::string_view nameOf(DType t);

/// True for the types that can carry relevance; narrow ones cannot.
[[nodiscard]] constexpr bool isFloating(DType t)
{
    return t == DType::Float32 || t == DType::Float64 || t == DType::Float16 || t == DType::BFloat16;
}

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float>
{
    static constexpr DType value = DType::Float32;
};
template <>
struct DTypeOf<double>
{
    static constexpr DType value = DType::Float64;
};
template <>
struct DTypeOf<std::int8_t>
{
    static constexpr DType value = DType::Int8;
};
template <>
struct DTypeOf<std::uint8_t>
{
    static constexpr DType value = DType::UInt8;
};
template <>
struct DTypeOf<std::int16_t>
{
    static constexpr DType value = DType::Int16;
};
template <>
struct DTypeOf<std::uint16_t>
{
    static constexpr DType value = DType::UInt16;
};
template <>
struct DTypeOf<std::uint32_t>
{
    static constexpr DType value = DType::UInt32;
};
template <>
struct DTypeOf<std::uint64_t>
{
    static constexpr DType value = DType::UInt64;
};
template <>
struct DTypeOf<std::int32_t>
{
    static constexpr DType value = DType::Int32;
};
template <>
struct DTypeOf<std::int64_t>
{
    static constexpr DType value = DType::Int64;
};
template <>
struct DTypeOf<bool>
{
    static constexpr DType value = DType::Bool;
};

} // namespace retro::tensor
