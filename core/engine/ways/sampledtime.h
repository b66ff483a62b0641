// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/ways/pass.h"
#include "core/execute/rebuildingstore.h"

#include <cstdint>
#include <memory>

namespace retro::engine
{

/// Seconds of a clock, and of all threads of the process together.
struct TakenTime
{
    double wall = 0;
    double processor = 0;

    TakenTime& operator+=(const TakenTime& other)
    {
        wall += other.wall;
        processor += other.processor;
        return *this;
    }
    /// Both, so many times.
    [[nodiscard]] TakenTime times(double factor) const { return {wall * factor, processor * factor}; }
};

/// What a pass will take, by nodes of it that were run and timed.
struct SampledTime
{
    TakenTime forward;
    TakenTime again;     ///< of the relevance, forward values that are computed again
    TakenTime relevance; ///< with them
    double share = 1;    ///< of the operations of the pass that stand behind times that were taken
};

/// True for what makes a row of several rows.
[[nodiscard]] inline bool mixesRows(ops::StructureKind kind)
{
    using enum ops::StructureKind;
    return kind == Composed || kind == Bilinear || kind == Softmax || kind == Differentiable || kind == Reduction;
}

/// Runs up to three nodes of each kind (operator, attributes, types of operands and results) on values of the pass's
/// inputs, and their rules on relevance like that which will arrive, and takes their times for those of all nodes of
/// that kind: the layers of a transformer are of one kind, so that this takes as long as three layers. Kinds that come
/// when `budget` seconds are over count with the operations in a second of those before. `store` says what a relevance
/// pass computes again; null: nothing. `hasOneRow`: relevance starts in a single row. Errors: as the nodes, Cancelled.
[[nodiscard]] base::Result<SampledTime> sampledTime(const Pass& pass, const execute::RebuildingStore* store,
                                                    bool hasOneRow, double budget);

} // namespace retro::engine
