// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/shape.h"

#include "core/tensor/dtype.h"

#include <array>

namespace retro::tensor
{

std::int64_t elementCount(const Shape& shape)
{
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) {
        n *= extent;
    }
    return n;
}

Shape rowMajorStrides(const Shape& shape)
{
    Shape strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * shape[i];
    }
    return strides;
}

std::string toText(const Shape& shape)
{
    if (shape.empty()) {
        return "scalar";
    }
    std::string text;
    for (const std::int64_t extent : shape) {
        text += (text.empty() ? "" : " × ") + std::to_string(extent);
    }
    return text;
}

std::string_view nameOf(DType t)
{
    static constexpr std::array<std::string_view, kDTypeCount> kNames{
        "float32",        "float64",    "float16",        "bfloat16",   "int8",       "uint8",      "int16",
        "uint16",         "int32",      "uint32",         "int64",      "uint64",     "bool",       "float8e4m3fn",
        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float6e2m3", "float6e3m2", "float4e2m1",
        "int4",           "uint4",      "int2",           "uint2"};
    return kNames[static_cast<std::size_t>(t)];
}

} // namespace retro::tensor
