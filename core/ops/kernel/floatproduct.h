// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/rowsover.h"
#include "core/ops/kernel/weightrows.h"
#include "core/ops/reference/matrix.h"
#include "core/tensor/tensor.h"

#include <cstdint>

namespace retro::ops
{

/// Fewer are not worth another thread: they take some 20 µs on one, about what a wake-up takes.
inline constexpr std::int64_t kMultiplicationsPerThread = 1 << 20;

/// What is done to a product as soon as parts of it are known.
struct AfterProduct
{
    const float* perColumn = nullptr; ///< added, one number per column; null: none
    const RowsOver* rows = nullptr;   ///< goes over what is there then; null: none
};

/// c = a·b; c row-major with `stride` elements from row to row, at least as many as b has columns. Strides of a and b
/// as they please; dense along an axis is fastest. Every element is a sum in ascending order of the inner extent, cut
/// into blocks of at most 384 that are added one after the other, product and sum in one rounding where the processor
/// can: its bits depend on the inner extent alone, not on the other extents, strides, threads, or the width of
/// registers. An inner extent of 0 gives zeros. On as many threads as ops::parallelFor() takes.
///
/// Packs blocks of b as it goes, and no code is generated for it: the first product of a process takes no longer than
/// any other.
void multiplyFloats(const reference::MatrixView<float>& a, const reference::MatrixView<float>& b, float* c,
                    std::int64_t stride, const AfterProduct& after = {});

/// True where multiplyFloats() packs b on its way, and that takes more than a tenth of its time.
[[nodiscard]] bool isPackingLong(const reference::MatrixView<float>& a, const reference::MatrixView<float>& b);

/// b packed as a whole, for many products with it: a list of numbers, 0 where panels are filled up.
[[nodiscard]] tensor::Tensor packFloats(const reference::MatrixView<float>& b);

/// As multiplyFloats() with a matrix of `columns` columns that was packed; same bits.
void multiplyPacked(const reference::MatrixView<float>& a, const tensor::Tensor& packed, std::int64_t columns, float* c,
                    std::int64_t stride, const AfterProduct& after = {});

/// As multiplyFloats() with b = the rows of `weights`, or (`isTurned`) with their transpose, widened piece by piece
/// into the panels that b is packed into; same bits as with a wide copy. At most about 1 MiB is taken per thread.
void multiplyStored(const reference::MatrixView<float>& a, const WeightRows& weights, bool isTurned, float* c,
                    std::int64_t stride, const AfterProduct& after = {});

} // namespace retro::ops
