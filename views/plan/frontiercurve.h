// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/shownplan.h"

#include <string>
#include <vector>

namespace retro::views
{

/// What a run has in memory in one visit: the most of each kind.
struct FrontierRow
{
    std::uint32_t visit = 0;
    base::NodeId node;           ///< that is visited
    std::uint32_t position = 0;  ///< on the axis of the forward operators, the second half mirrored
    std::uint64_t kept = 0;      ///< bytes of forward values that the plan has in memory
    std::uint64_t arguments = 0; ///< bytes that promises hold as arguments
    std::uint64_t relevance = 0; ///< bytes of relevance (gradients) that waits

    [[nodiscard]] std::uint64_t sum() const { return kept + arguments + relevance; }
};

/// Bytes at an operator.
struct FrontierPoint
{
    std::uint32_t position = 0;
    std::uint64_t bytes = 0;
};

/// Three curves over the operators of the forward pass: what any forward pass in the chosen order has in memory, what
/// the plan has, and what the run had.
struct FrontierCurves
{
    std::uint32_t operators = 0;        ///< positions count to twice that
    std::vector<FrontierPoint> forward; ///< of the order of the plan
    std::vector<FrontierPoint> plan;    ///< by its steps
    std::vector<FrontierRow> traversal; ///< by visit

    [[nodiscard]] std::uint64_t most() const;
};

/// The rows of a run: of every visit behind the search for a plan. O(events).
[[nodiscard]] std::vector<FrontierRow> frontierRows(const trace::Run& run);
/// All curves; either may be null.
[[nodiscard]] FrontierCurves frontierCurves(const ShownPlan* plan, const trace::Run* run);
/// The rows as CSV: visit, node, position, kept, arguments, relevance, sum.
[[nodiscard]] std::string frontierCsv(const trace::Run& run);

} // namespace retro::views
