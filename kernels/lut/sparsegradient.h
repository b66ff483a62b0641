// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace retro::lut
{

/// Gradient of a layer's weights as those that are not zero (policy Sparse; docs/lut.md,
/// "Training"): a batch visits few of the rows, the others have none.
template <class T>
struct SparseGradient
{
    std::vector<std::uint64_t> indices; ///< of weights, ascending
    std::vector<T> values;              ///< one per index
};

/// Moves a dense gradient into a sparse one, and leaves zeros in its place. Only +0 is left out, so a step along either
/// has the same bits. O(dense), on up to `threads` threads (0 = all), on which the result does not depend.
template <class T>
void compact(std::span<T> dense, int threads, SparseGradient<T>& sparse);

extern template void compact(std::span<float>, int, SparseGradient<float>&);
extern template void compact(std::span<double>, int, SparseGradient<double>&);

} // namespace retro::lut
