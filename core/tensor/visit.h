// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/narrow.h"
#include "core/tensor/tensor.h"

#include <cmath>

namespace retro::tensor
{

/// How a plain element type is stored and read.
template <class T>
struct PlainType
{
    using Bits = T;
    using Value = T;
    /// Stored bits to value, and back.
    static T load(T v) { return v; }
    static T store(T v) { return v; }
};

/// bool is a byte that is 0 or 1; any other value read from a file counts as true.
struct BoolType
{
    using Bits = std::uint8_t;
    using Value = bool;
    /// Stored bits to value, and back.
    static bool load(std::uint8_t v) { return v != 0; }
    static std::uint8_t store(bool v) { return v ? 1 : 0; }
};

struct HalfType
{
    using Bits = std::uint16_t;
    using Value = float;
    /// Stored bits to value, and back.
    static float load(std::uint16_t v) { return halfToFloat(v); }
    static std::uint16_t store(float v) { return floatToHalf(v); }
};

struct BfloatType
{
    using Bits = std::uint16_t;
    using Value = float;
    /// Stored bits to value, and back.
    static float load(std::uint16_t v) { return bfloatToFloat(v); }
    static std::uint16_t store(float v) { return floatToBfloat(v); }
};

/// A narrow type; elements are written through core/tensor/narrow.h alone, which knows the ways to round.
template <DType Type>
struct NarrowType
{
    using Bits = std::uint8_t;
    using Value = float;
    /// Stored bits to value.
    static float load(std::uint8_t v) { return narrowTable(Type)[v]; }
};

/// Calls `f` with a tag object (NarrowType<T>) for a narrow type.
template <class F>
void visitNarrow(DType t, F&& f)
{
    switch (t) {
    case DType::Float8E4M3FN:
        return f(NarrowType<DType::Float8E4M3FN>{});
    case DType::Float8E4M3FNUZ:
        return f(NarrowType<DType::Float8E4M3FNUZ>{});
    case DType::Float8E5M2:
        return f(NarrowType<DType::Float8E5M2>{});
    case DType::Float8E5M2FNUZ:
        return f(NarrowType<DType::Float8E5M2FNUZ>{});
    case DType::Float8E8M0:
        return f(NarrowType<DType::Float8E8M0>{});
    case DType::Float6E2M3:
        return f(NarrowType<DType::Float6E2M3>{});
    case DType::Float6E3M2:
        return f(NarrowType<DType::Float6E3M2>{});
    case DType::Float4E2M1:
        return f(NarrowType<DType::Float4E2M1>{});
    case DType::Int4:
        return f(NarrowType<DType::Int4>{});
    case DType::UInt4:
        return f(NarrowType<DType::UInt4>{});
    case DType::Int2:
        return f(NarrowType<DType::Int2>{});
    default:
        return f(NarrowType<DType::UInt2>{});
    }
}

/// Calls `f` with a tag object (PlainType<T>, BoolType, HalfType, BfloatType) for a type that is not narrow.
template <class F>
void visitWide(DType t, F&& f)
{
    switch (t) {
    case DType::Float32:
        return f(PlainType<float>{});
    case DType::Float64:
        return f(PlainType<double>{});
    case DType::Float16:
        return f(HalfType{});
    case DType::BFloat16:
        return f(BfloatType{});
    case DType::Int8:
        return f(PlainType<std::int8_t>{});
    case DType::UInt8:
        return f(PlainType<std::uint8_t>{});
    case DType::Int16:
        return f(PlainType<std::int16_t>{});
    case DType::UInt16:
        return f(PlainType<std::uint16_t>{});
    case DType::Int32:
        return f(PlainType<std::int32_t>{});
    case DType::UInt32:
        return f(PlainType<std::uint32_t>{});
    case DType::Int64:
        return f(PlainType<std::int64_t>{});
    case DType::UInt64:
        return f(PlainType<std::uint64_t>{});
    default:
        return f(BoolType{});
    }
}

/// Calls `f` with a tag object for the stored type, whatever it is.
template <class F>
void visitStored(DType t, F&& f)
{
    if (isNarrow(t)) {
        visitNarrow(t, f);
    } else {
        visitWide(t, f);
    }
}

} // namespace retro::tensor
