// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/reference/tile.h"
#include "core/ops/threads.h"

#include <array>
#include <cstddef>
#include <vector>

namespace retro::ops::reference
{

/// A strided matrix in memory; strides in elements.
template <class T>
struct MatrixView
{
    const T* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t rowStride = 0;
    std::int64_t columnStride = 1;

    [[nodiscard]] MatrixView transposed() const { return {data, columns, rows, columnStride, rowStride}; }
};

namespace detail
{

inline constexpr std::int64_t kDepth = 256;
inline constexpr std::int64_t kBlockRows = 64;
inline constexpr std::int64_t kBlockColumns = 1024;

/// Copies `count` lines of the depth range [k, k + depth) into panels of `width` lines, depth-major, zero-filled.
template <class T>
void pack(const T* from, std::int64_t lineStride, std::int64_t depthStride, std::int64_t count, std::int64_t depth,
          std::int64_t width, T* to)
{
    for (std::int64_t first = 0; first < count; first += width) {
        const std::int64_t lines = std::min(width, count - first);
        for (std::int64_t k = 0; k < depth; ++k) {
            const T* source = from + first * lineStride + k * depthStride;
            for (std::int64_t i = 0; i < lines; ++i) {
                to[i] = source[i * lineStride];
            }
            for (std::int64_t i = lines; i < width; ++i) {
                to[i] = T{0};
            }
            to += width;
        }
    }
}

/// A block of c that is kept in registers.
template <class T>
struct Tile
{
    T sum[kTileRows][kTileColumns] = {};

    /// Starts from what c holds.
    void load(const T* c, std::int64_t stride, std::int64_t rows, std::int64_t columns)
    {
        for (std::int64_t i = 0; i < rows; ++i) {
            std::copy(c + i * stride, c + i * stride + columns, sum[i]);
        }
    }
    /// Adds panel a · panel b, one product after the other along the depth.
    void multiply(const T* a, const T* b, std::int64_t depth) { multiplyPanels(a, b, depth, &sum[0][0]); }
    /// Writes rows × columns of the block.
    void store(T* c, std::int64_t stride, std::int64_t rows, std::int64_t columns) const
    {
        for (std::int64_t i = 0; i < rows; ++i) {
            std::copy(sum[i], sum[i] + columns, c + i * stride);
        }
    }
};

/// c (rows × columns) = packed a · packed b, added to what c holds unless `isFirst`.
template <class T>
void multiplyBlock(const T* a, const T* b, std::int64_t depth, T* c, std::int64_t stride, std::int64_t rows,
                   std::int64_t columns, bool isFirst)
{
    const std::int64_t panels = (columns + kTileColumns - 1) / kTileColumns;
    const std::int64_t grain = std::max<std::int64_t>(1, 65536 / (rows * depth));
    parallelFor(panels, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t j = begin * kTileColumns; j < std::min(end * kTileColumns, columns); j += kTileColumns) {
            const std::int64_t width = std::min(kTileColumns, columns - j);
            for (std::int64_t i = 0; i < rows; i += kTileRows) {
                const std::int64_t height = std::min(kTileRows, rows - i);
                Tile<T> tile;
                if (!isFirst) {
                    tile.load(c + i * stride + j, stride, height, width);
                }
                tile.multiply(a + i * depth, b + j * depth, depth);
                tile.store(c + i * stride + j, stride, height, width);
            }
        }
    });
}

} // namespace detail

/// c = a·b. c is row-major with `stride` elements from row to row. Every element is summed along the inner extent in
/// ascending order, so the result depends on neither strides, blocking nor threads. An inner extent of 0 gives zeros.
template <class T>
void multiply(const MatrixView<T>& a, const MatrixView<T>& b, T* c, std::int64_t stride)
{
    using namespace detail;
    if (a.columns == 0) {
        for (std::int64_t i = 0; i < a.rows; ++i) {
            std::fill(c + i * stride, c + i * stride + b.columns, T{0});
        }
        return;
    }
    const std::int64_t deepest = std::min(kDepth, a.columns);
    std::vector<T> packedA;
    packedA.resize(static_cast<std::size_t>(std::min(kBlockRows, a.rows + kTileRows) * deepest));
    std::vector<T> packedB;
    packedB.resize(static_cast<std::size_t>(std::min(kBlockColumns, b.columns + kTileColumns) * deepest));
    for (std::int64_t column = 0; column < b.columns; column += kBlockColumns) {
        const std::int64_t columns = std::min(kBlockColumns, b.columns - column);
        for (std::int64_t k = 0; k < a.columns; k += kDepth) {
            const std::int64_t depth = std::min(kDepth, a.columns - k);
            pack(b.data + column * b.columnStride + k * b.rowStride, b.columnStride, b.rowStride, columns, depth,
                 kTileColumns, packedB.data());
            for (std::int64_t row = 0; row < a.rows; row += kBlockRows) {
                const std::int64_t rows = std::min(kBlockRows, a.rows - row);
                pack(a.data + row * a.rowStride + k * a.columnStride, a.rowStride, a.columnStride, rows, depth,
                     kTileRows, packedA.data());
                multiplyBlock(packedA.data(), packedB.data(), depth, c + row * stride + column, stride, rows, columns,
                              k == 0);
            }
        }
    }
}

} // namespace retro::ops::reference
