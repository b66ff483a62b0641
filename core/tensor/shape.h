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

/// Number of elements (1 for a scalar). Extents must not be negative.
[[nodiscard]] std::int64_t elementCount(const Shape& shape);

/// Row-major strides in elements.
[[nodiscard]] Shape rowMajorStrides(const Shape& shape);

/// "2 × 3 × 96 × 96" ("scalar" when empty).
[[nodiscard]] std::string toText(const Shape& shape);

} // namespace retro::tensor
