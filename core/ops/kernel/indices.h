// SPDX-License-Identifier: Apache-2.0
// Integer operands that say where elements are: checked, counted from the front, and turned into positions.
#pragma once

#include "core/ops/boundoperator.h"
#include "core/ops/kernel/elementmap.h"

namespace retro::ops
{

/// Operand `slot` holds int32 or int64.
[[nodiscard]] base::Result<void> expectIndices(const BindContext& context, std::size_t slot);

/// All indices are at least −extent and below it. Errors: Input, without a place.
[[nodiscard]] base::Result<void> indicesInside(const Tensor& indices, std::int64_t extent);
/// Indices counted from the front; −1 for those outside.
[[nodiscard]] std::vector<std::int64_t> indicesFrom(const Tensor& indices, std::int64_t extent);

/// Positions in a tensor of `shape` of the elements that GatherElements and ScatterElements name: the index of each
/// element of `indices`, with its value along `axis`. −1 for those outside.
[[nodiscard]] ElementMap elementPositions(const Tensor& indices, const tensor::Shape& shape, std::size_t axis);

/// How many leading axes of `shape` an index tuple of GatherND (or ScatterND: no batch axes) fixes, batch axes
/// included. Errors: the tuples do not fit.
[[nodiscard]] base::Result<std::size_t> tupleAxes(const BindContext& context, const tensor::Shape& indices,
                                                  const tensor::Shape& shape, std::int64_t batchAxes);
/// All tuples (the last axis of `indices`) lie inside `shape` after its batch axes. Errors: Input, without a place.
[[nodiscard]] base::Result<void> tuplesInside(const Tensor& indices, const tensor::Shape& shape, std::size_t batchAxes);
/// Positions of the elements of the slices that the tuples name, tuple by tuple; −1 for those outside.
[[nodiscard]] ElementMap tuplePositions(const Tensor& indices, const tensor::Shape& shape, std::size_t batchAxes);

} // namespace retro::ops
