// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace retro::tensor
{

/// Bytes of a row-major tensor whose shape comes from a file. Errors (Input, without a place): rank above kMaxRank, a
/// negative extent, a product beyond `limit` bytes (overflow included).
[[nodiscard]] base::Result<std::uint64_t> checkedBytes(const Shape& shape, DType dtype, std::uint64_t limit);

} // namespace retro::tensor
