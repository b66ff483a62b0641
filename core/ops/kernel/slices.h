// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/boundoperator.h"

namespace retro::ops
{

/// View of the elements [begin, begin + count) along `axis`.
[[nodiscard]] Tensor slice(const Tensor& t, std::size_t axis, std::int64_t begin, std::int64_t count);

/// View with an axis of extent 1 put before `axis`, or with the axis `axis` of extent 1 taken away.
[[nodiscard]] Tensor withAxis(const Tensor& t, std::size_t axis);
[[nodiscard]] Tensor withoutAxis(const Tensor& t, std::size_t axis);

/// Writes `part` into `buffer`, which is dense with `strides`, from the element at `offset` on.
void place(tensor::TensorBuffer& buffer, const tensor::Shape& strides, std::int64_t offset, const Tensor& part);

/// Parts put one after the other along `axis`, in the axis order of the first part. `extents` per part; an invalid
/// part is zeros. `type` is the result's.
[[nodiscard]] Tensor joined(const TensorType& type, std::span<const Tensor> parts,
                            std::span<const std::int64_t> extents, std::size_t axis);

} // namespace retro::ops
