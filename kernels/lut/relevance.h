// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/layer.h"
#include "kernels/lut/tape.h"

namespace retro::lut
{

/// How the relevance of a table goes to the comparisons that chose its row. Both conserve it.
enum class TableRule {
    FlipContrast, ///< by the effect of undoing each comparison, times the doubt in it; evenly where no effect is left
    WeakestBit,   ///< all of it to the comparison through which the gradient goes
};

/// Relevance through a LUT layer: over tables by epsilon, from each table to its comparisons by a rule, half of a
/// comparison's share to each of its anchors. Results that are empty are thrown away.
template <class T>
struct RelevanceCall
{
    std::uint64_t batch = 0;
    const Tape<T>* tape = nullptr;      ///< of the forward pass
    std::span<const T> input;           ///< of the forward pass
    std::span<const T> output;          ///< of the forward pass
    std::span<const T> outputRelevance; ///< as output
    T epsilon = T(1e-6);
    TableRule rule = TableRule::FlipContrast;
    std::span<T> inputRelevance; ///< as input
    std::span<T> codeRelevance;  ///< [S − 1, T, P], summed over the batch
    std::span<T> tableRelevance; ///< [B, T], of each table (over all pairs of positions)
    std::span<T> pairMap;        ///< [B, S, S]: from later position (row) to earlier one (column)
    std::span<T> unplaced;       ///< [B]: of tables without any comparison
};

/// Error (BadSize): an array does not fit the layer. Source: the flip-contrast rule of docs/lut.md.
template <class T>
Status relevance(const Layer<T>& layer, const RelevanceCall<T>& call, int threads = 0);

extern template Status relevance(const Layer<float>&, const RelevanceCall<float>&, int);
extern template Status relevance(const Layer<double>&, const RelevanceCall<double>&, int);

} // namespace retro::lut
