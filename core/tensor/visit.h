// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Calls `f` with a tag object (PlainType<T>, BoolType, HalfType, BfloatType) for the stored type.
template <class F>
void visitStored(DType t, F&& f)
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
    case DType::Bool:
        return f(BoolType{});
    }
}

} // namespace retro::tensor
