// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::ops::reference::detail
{

/// Extents of the block of a product that is kept in registers.
inline constexpr std::int64_t kTileRows = 4;
inline constexpr std::int64_t kTileColumns = 8;

/// sum (kTileRows × kTileColumns) += a · b: panels packed depth-major, one product after the other along the depth.
template <class T>
inline __attribute__((always_inline)) void multiplyPanelsInline(const T* a, const T* b, std::int64_t depth, T* sum)
{
    T tile[kTileRows * kTileColumns];
    for (std::int64_t i = 0; i < kTileRows * kTileColumns; ++i) {
        tile[i] = sum[i];
    }
    for (std::int64_t k = 0; k < depth; ++k, a += kTileRows, b += kTileColumns) {
        for (std::int64_t i = 0; i < kTileRows; ++i) {
            for (std::int64_t j = 0; j < kTileColumns; ++j) {
                tile[i * kTileColumns + j] += a[i] * b[j];
            }
        }
    }
    for (std::int64_t i = 0; i < kTileRows * kTileColumns; ++i) {
        sum[i] = tile[i];
    }
}

/// As multiplyPanelsInline, for any scalar.
template <class T>
void multiplyPanels(const T* a, const T* b, std::int64_t depth, T* sum)
{
    multiplyPanelsInline(a, b, depth, sum);
}

/// The same for the two scalars of the engine, compiled for wider registers where the processor has them. Products and
/// sums are rounded one by one, so every version gives the same bits.
void multiplyPanels(const float* a, const float* b, std::int64_t depth, float* sum);
void multiplyPanels(const double* a, const double* b, std::int64_t depth, double* sum);

} // namespace retro::ops::reference::detail
