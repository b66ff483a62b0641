// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <cstddef>
#include <string>
#include <vector>

namespace retro::engine
{

/// How far relevance agrees with the oracle's (docs/traversal.md, invariant I6 in section 2.6).
struct OracleCheck
{
    std::size_t values = 0;  ///< whose relevance both know
    std::size_t equal = 0;   ///< of those, the same in every bit
    std::size_t unknown = 0; ///< that the oracle has and the run has not: after an early stop, or no longer kept
    double largest = 0;      ///< largest |a − b| of a value over the largest |b| there
    std::string where;       ///< the value that differs most; empty = none does
    double tolerance = 0;    ///< of `largest`; 0 = every bit counts

    [[nodiscard]] bool holds() const { return values > 0 && (equal == values || largest <= tolerance); }
    /// "equals the oracle in every bit of 30 values", or where it differs and by how much.
    [[nodiscard]] std::string text() const;
};

/// Largest |a − b| over the largest |b|; infinite where shapes differ, where a number is none, or where b has only
/// zeros and a has not.
[[nodiscard]] double relativeDifference(const tensor::Tensor& a, const tensor::Tensor& b);

/// Compares relevance by value, both by the ValueIds of `graph`.
[[nodiscard]] OracleCheck compareWithOracle(const graph::Graph& graph, const std::vector<tensor::Tensor>& relevance,
                                            const std::vector<tensor::Tensor>& oracle);

/// Runs the oracle on what was asked (nothing is recorded) and compares every value's relevance with `relevance`, by
/// ValueId of the graph that was bound. Errors: as explain(); Input when the relevance is that of another graph.
[[nodiscard]] base::Result<OracleCheck> checkAgainstOracle(const LoadedModel& model, ExplainRequest request,
                                                           const std::vector<tensor::Tensor>& relevance,
                                                           const std::stop_token& stop = {},
                                                           const StageProgress& progress = {});

} // namespace retro::engine
