// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/layer.h"
#include "kernels/lut/tablerule.h"
#include "kernels/lut/tape.h"

#include <vector>

namespace retro::lut
{

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
    std::span<T> bitRelevance;   ///< [B, T, bits of a row], of each comparison and code bit (over all pairs)
    std::span<T> pairMap;        ///< [B, S, S]: from later position (row) to earlier one (column)
    std::span<T> unplaced;       ///< [B]: of tables without any comparison, and what a rule leaves to the table
    /// Filled when it is given, on the CPU: what each launch of the schedule took, by a clock.
    std::vector<double>* seconds = nullptr;
    Memory* memory = std::pmr::get_default_resource(); ///< on the CPU: for arrays of the pass alone
};

/// Errors: BadSize (an array does not fit the layer), BadShape (more bits than kMaxShapleyBits under Shapley). Source:
/// the rules of docs/lut.md.
template <class T>
Status relevance(const Layer<T>& layer, const RelevanceCall<T>& call, int threads = 0);

/// What is wrong with such a call; relevance() asks it first, as every back end does.
template <class T>
Status checkRelevance(const Layer<T>& layer, const RelevanceCall<T>& call);

extern template Status checkRelevance(const Layer<float>&, const RelevanceCall<float>&);
extern template Status checkRelevance(const Layer<double>&, const RelevanceCall<double>&);
extern template Status relevance(const Layer<float>&, const RelevanceCall<float>&, int);
extern template Status relevance(const Layer<double>&, const RelevanceCall<double>&, int);

} // namespace retro::lut
