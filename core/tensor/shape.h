// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace retro::tensor
{

/// Extents per axis; empty = scalar.
using Shape = std::vector<std::int64_t>;

/// Ranks above this are refused when a file is read.
inline constexpr std::size_t kMaxRank = 16;

/// Number of elements (1 for a scalar). Throws a base::Failure where an extent is negative or the number does not fit
/// 63 bits: shapes from outside go through checkedBytes() first.
[[nodiscard]] std::int64_t elementCount(const Shape& shape);

/// Row-major strides in elements. Throws as elementCount().
[[nodiscard]] Shape rowMajorStrides(const Shape& shape);

/// Where the element at a row-major position is, per axis.
[[nodiscard]] std::vector<std::int64_t> indexOf(std::int64_t element, const Shape& shape);

/// True when every element of a view of that shape, strides and offset (in elements) lies in memory of `count`
/// elements; one without elements lies everywhere. False for a negative extent or lists of different lengths.
[[nodiscard]] bool liesWithin(const Shape& shape, const Shape& strides, std::int64_t offset, std::int64_t count);

/// "2 × 3 × 96 × 96" ("scalar" when empty).
[[nodiscard]] std::string toText(const Shape& shape);

} // namespace retro::tensor
