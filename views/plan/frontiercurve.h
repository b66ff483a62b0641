// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/timeline.h"
#include "views/plan/shownplan.h"

#include <string>
#include <vector>

namespace retro::views
{

/// What a run has in memory in one visit, at the moment of the most (trace::VisitSeries).
struct FrontierRow
{
    std::uint32_t visit = 0;
    base::NodeId node;          ///< that is visited
    std::uint32_t position = 0; ///< on the axis of the forward operators, the second half mirrored
    trace::FrontierBytes bytes;
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
    std::vector<FrontierRow> traversal; ///< by visit, behind the search for a plan

    [[nodiscard]] std::uint64_t most() const;
};

/// All curves; either may be null. O(events).
[[nodiscard]] FrontierCurves frontierCurves(const ShownPlan* plan, const trace::Timeline* timeline);
/// The rows of the run as CSV: visit, node, position, kept, arguments, relevance, sum.
[[nodiscard]] std::string frontierCsv(const trace::Timeline& timeline);

} // namespace retro::views
