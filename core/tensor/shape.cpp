// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/shape.h"

#include "core/base/failure.h"
#include "core/tensor/dtype.h"

#include <algorithm>
#include <array>

namespace retro::tensor
{

std::int64_t elementCount(const Shape& shape)
{
    std::int64_t n = 1;
    bool isCounted = true;
    for (const std::int64_t extent : shape) {
        isCounted = !__builtin_mul_overflow(n, extent, &n) && extent >= 0 && isCounted;
    }
    base::guard(isCounted, "the elements of a shape can be counted");
    return n;
}

Shape rowMajorStrides(const Shape& shape)
{
    Shape strides(shape.size(), 1);
    bool isCounted = true;
    for (std::size_t i = shape.size(); i-- > 1;) {
        isCounted = !__builtin_mul_overflow(strides[i], shape[i], &strides[i - 1]) && shape[i] >= 0 && isCounted;
    }
    base::guard(isCounted, "the strides of a shape can be counted");
    return strides;
}

std::vector<std::int64_t> indexOf(std::int64_t element, const Shape& shape)
{
    std::vector<std::int64_t> index(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        index[axis] = element % shape[axis];
        element /= shape[axis];
    }
    return index;
}

bool liesWithin(const Shape& shape, const Shape& strides, std::int64_t offset, std::int64_t count)
{
    if (shape.size() != strides.size() || std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 0; })) {
        return false;
    }
    if (std::ranges::find(shape, 0) != shape.end()) {
        return true;
    }
    std::int64_t first = offset;
    std::int64_t last = offset;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        std::int64_t reach = 0;
        std::int64_t& end = strides[i] < 0 ? first : last;
        if (__builtin_mul_overflow(shape[i] - 1, strides[i], &reach) || __builtin_add_overflow(end, reach, &end)) {
            return false;
        }
    }
    return first >= 0 && last < count;
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
