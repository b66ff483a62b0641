// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/bounds.h"
#include "core/analysis/compressibility.h"
#include "core/analysis/joint.h"
#include "core/analysis/opgraph.h"
#include "core/analysis/orders.h"

#include <stop_token>

namespace retro::analysis
{

/// The machine against which costs are stated.
struct Machine
{
    double flopsPerSecond = 1e12;
    double bytesPerSecond = 1e11;

    /// Floating-point operations per byte above which the arithmetic is what limits.
    [[nodiscard]] double balance() const { return flopsPerSecond / bytesPerSecond; }
};

/// Cost of one operator on a machine: the roofline.
struct OpCost
{
    double flops = 0;
    double bytes = 0;     ///< read and written, each value once, and what the operator states beside
    double intensity = 0; ///< flops per byte; 0 where nothing is moved
    double seconds = 0;   ///< the larger of arithmetic and traffic
    bool isMemoryBound = false;
};

/// Cost of a graph: with one processor (work), with as many as one likes (depth).
struct GraphCost
{
    std::vector<OpCost> ops; ///< by OpId
    double flops = 0;
    double bytes = 0;
    double workSeconds = 0;
    double depthSeconds = 0;
    std::vector<OpId> criticalPath; ///< producers first
    /// work / depth: how many operators could run at a time on average.
    [[nodiscard]] double parallelism() const { return depthSeconds > 0 ? workSeconds / depthSeconds : 0; }
};

/// O(operators + operands).
[[nodiscard]] GraphCost graphCost(const OpGraph& graph, const Machine& machine);

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
