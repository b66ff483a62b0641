// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/arithmetic.h"
#include "kernels/lut/run.h"

// The fused path on the CPU: one function per kernel of its schedule.
namespace retro::lut::cpu
{

/// A forward pass under way. `tape` is the caller's, or one of this pass alone.
template <class T>
struct FusedForward
{
    const Layer<T>& layer;
    const ForwardCall<T>& call;
    int threads = 1;
    Tape<T>* tape = nullptr; ///< null: nothing is kept
    bool withWeakest = false;
};

/// A backward pass under way, with its scratch buffers.
template <class T>
struct FusedBackward
{
    const Layer<T>& layer;
    const BackwardCall<T>& call;
    int threads = 1;
    Array<T> positionScores;   ///< [B, S, T]
    Array<T> positionalScores; ///< [B, S − 1, T]
};

/// Rows, and the sums of the chosen ones; without positions.
template <class T>
void chooseRowsAndGather(const FusedForward<T>& run);
/// Rows of every position, into the tape.
template <class T>
void chooseRowsOfPositions(const FusedForward<T>& run);
/// Rows of the positional codes, into the tape. O(S · T · P).
template <class T>
void checkPositionalEmbeddings(const Layer<T>& layer, Tape<T>& tape);
/// The sums over all pairs of positions.
template <class T>
void gatherPairs(const FusedForward<T>& run);

/// Differences of row scores, carried to the two anchors of each least certain comparison.
template <class T>
void scoreAndPropagate(const FusedBackward<T>& run);
/// Gradient of each row: samples sorted by row, then summed.
template <class T>
void sumWeightGradients(const FusedBackward<T>& run);
/// Differences of row scores, summed per (sample, position, table) and per (sample, distance, table).
template <class T>
void scorePairs(FusedBackward<T>& run);
/// One scatter per (sample, position, table).
template <class T>
void propagatePositions(const FusedBackward<T>& run);
/// One gradient per (distance, table).
template <class T>
void propagatePositionalEmbeddings(const FusedBackward<T>& run);
/// Gradient of each row: pairs sorted by row, then summed.
template <class T>
void sumPairWeightGradients(const FusedBackward<T>& run);

/// Carries out one launch of a fused pass.
template <class T>
void launchFused(FusedForward<T>& run, const Launch& launch);
template <class T>
void launchFused(FusedBackward<T>& run, const Launch& launch);

/// The weakest comparison at a place of the tape's arrays [B, S, T].
template <class T>
[[nodiscard]] Weakest<T> weakestAt(const Tape<T>& tape, std::uint64_t site)
{
    return {tape.bits[site], tape.deltas[site]};
}

/// The weakest bit of a positional code, at a place of [S − 1, T].
template <class T>
[[nodiscard]] Weakest<T> weakestCodeAt(const Tape<T>& tape, std::uint64_t place)
{
    return {tape.codeBits[place], tape.codeDeltas[place]};
}

/// Row of table `table` for a pair of positions.
template <class T>
[[nodiscard]] std::uint32_t pairRowAt(const Layer<T>& layer, const Tape<T>& tape, std::uint64_t sample,
                                      PositionPair pair, std::uint64_t table)
{
    const LayerShape& shape = layer.shape();
    const std::uint64_t query = siteOf(sample, pair.later, table, shape.length, shape.tables);
    const std::uint64_t key = siteOf(sample, pair.earlier, table, shape.length, shape.tables);
    const std::uint64_t code = std::uint64_t{pair.later - pair.earlier - 1} * shape.tables + table;
    return pairRow(static_cast<std::uint32_t>(tape.rows[query]), static_cast<std::uint32_t>(tape.rows[key]),
                   static_cast<std::uint32_t>(tape.codeRows[code]), shape.comparisons, shape.codeBits);
}

/// Which bits of a pair's row are flipped for its gradient.
template <class T>
[[nodiscard]] PairChoice<T> pairChoiceAt(const Layer<T>& layer, const Tape<T>& tape, std::uint64_t sample,
                                         PositionPair pair, std::uint64_t table)
{
    const LayerShape& shape = layer.shape();
    return choosePair(weakestAt(tape, siteOf(sample, pair.later, table, shape.length, shape.tables)),
                      weakestAt(tape, siteOf(sample, pair.earlier, table, shape.length, shape.tables)),
                      weakestCodeAt(tape, std::uint64_t{pair.later - pair.earlier - 1} * shape.tables + table),
                      shape.comparisons, shape.codeBits);
}

/// Adds ±v to the two anchors of a comparison.
template <class T>
void sendToAnchors(const Anchor& anchor, T v, T* inputGradients)
{
    inputGradients[anchor.a] += v;
    inputGradients[anchor.b] -= v;
}

} // namespace retro::lut::cpu
