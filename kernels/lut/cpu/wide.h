// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/layer.h"

#include <array>
#include <cstdint>

// The three loops in which a LUT layer spends its time, compiled for several register widths. Every width gives the
// same bits: a sum has a fixed order, and a dot product has sixteen partial sums wherever it runs.
namespace retro::lut::cpu
{

/// Samples whose rows are chosen together.
inline constexpr std::uint32_t kLanes = 16;

/// What the detectors of one table say about kLanes samples.
template <class T>
struct TableChoice
{
    std::array<std::int32_t, kLanes> row{};
    std::array<std::int32_t, kLanes> bit{}; ///< of the least certain comparison, −1 = none
    std::array<T, kLanes> delta{};          ///< its difference
};

/// Chooses the rows of one table for kLanes samples. `columns`: inputs of the samples, [I][kLanes]. The weakest
/// comparisons are worked out only with `withWeakest`.
void chooseRows(const float* columns, const Anchor* anchors, std::uint32_t comparisons, bool withWeakest,
                TableChoice<float>& choice);
void chooseRows(const double* columns, const Anchor* anchors, std::uint32_t comparisons, bool withWeakest,
                TableChoice<double>& choice);

/// Sums of rows: sums[s][·] = Σ_k weights[ids[s · count + k]][·] for `sets` lists of `count` ids. Within a list the
/// order is that of the ids, in runs of 256 that are then added up. `width`: elements of a row.
void sumRows(const float* weights, std::uint64_t width, const std::uint64_t* ids, std::uint64_t sets,
             std::uint64_t count, float* sums);
void sumRows(const double* weights, std::uint64_t width, const std::uint64_t* ids, std::uint64_t sets,
             std::uint64_t count, double* sums);

/// Differences of row scores: results[k] = Σ_o g[o] · (weights[main[k]][o] − weights[other[k]][o]).
void scoreDifferences(const float* weights, std::uint64_t width, const std::uint64_t* main, const std::uint64_t* other,
                      std::uint64_t count, const float* g, float* results);
void scoreDifferences(const double* weights, std::uint64_t width, const std::uint64_t* main, const std::uint64_t* other,
                      std::uint64_t count, const double* g, double* results);

} // namespace retro::lut::cpu
