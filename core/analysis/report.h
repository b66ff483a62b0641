// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/bounds.h"
#include "core/analysis/compressibility.h"
#include "core/analysis/cost.h"
#include "core/analysis/joint.h"
#include "core/analysis/orders.h"

#include <stop_token>

namespace retro::analysis
{

/// What a joint graph needs when nothing is computed twice.
struct JointReport
{
    std::size_t operators = 0;
    std::uint64_t storeAllPeak = 0;
    double cost = 0;       ///< every operator once: no plan is cheaper
    Bound largest;         ///< B1: no plan needs less memory
    Bound floor;           ///< B2: nor less than this
    std::string largestAt; ///< operator of `largest`
    std::string floorAt;
};

/// Everything that is known about a graph without running it. Bounds are bounds; peaks of orders are named as such.
struct Report
{
    std::vector<ScoredOrder> orders; ///< best first
    FrontierProfile profile;         ///< of the best order
    FrontierSummary summary;
    Compressibility compressibility; ///< of the best order
    Compressibility legacy;          ///< of the order FirstReady, as older tools judge
    std::optional<ExactOrders> exact;
    Bound forwardBound; ///< memory of any order of the forward graph: its largest operator, inputs counted
    std::vector<CutSet> cuts;
    LongestSkip longestSkip;
    GraphCost cost;
    std::optional<JointReport> joint; ///< none when nothing is differentiable
};

/// The report of a forward graph, or of a captured training step (whose joint graph is itself). Errors: Cancelled.
[[nodiscard]] base::Result<Report> makeReport(const OpGraph& graph, const Machine& machine, const JointOptions& options,
                                              const std::stop_token& stop = {});
/// The joint graph that a report and a planner work on: the graph itself when it has gradients, else jointGraph().
[[nodiscard]] base::Result<JointGraph> jointOf(const OpGraph& graph, std::span<const OpId> order,
                                               const JointOptions& options);
/// Peak of a joint graph whose operators run once, in the order of their ids.
[[nodiscard]] std::uint64_t storeAllPeak(const OpGraph& joint);

} // namespace retro::analysis
