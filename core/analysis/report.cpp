// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/report.h"

#include "core/base/cancel.h"

#include <numeric>

namespace retro::analysis
{

namespace
{

using base::Result;

JointReport reportOf(const OpGraph& joint)
{
    JointReport report;
    report.operators = joint.size();
    report.storeAllPeak = storeAllPeak(joint);
    report.cost = costOfAll(joint);
    report.largest = largestOperator(joint, false);
    report.floor = memoryFloor(joint);
    report.largestAt = joint.op(report.largest.at).name;
    report.floorAt = joint.op(report.floor.at).name;
    return report;
}

} // namespace

std::uint64_t storeAllPeak(const OpGraph& joint)
{
    std::vector<OpId> order(joint.size());
    std::iota(order.begin(), order.end(), OpId{0});
    return summarise(frontierProfile(joint, order)).peak;
}

Result<JointGraph> jointOf(const OpGraph& graph, std::span<const OpId> order, const JointOptions& options)
{
    return hasGradients(graph) ? capturedJointGraph(graph) : jointGraph(graph, order, options);
}

Result<Report> makeReport(const OpGraph& graph, const Machine& machine, const JointOptions& options,
                          const std::stop_token& stop)
{
    Report report;
    report.orders = allOrders(graph, stop);
    RETRO_CHECK(base::checkStop(stop));
    report.profile = frontierProfile(graph, report.orders.front().order);
    report.summary = summarise(report.profile);
    report.compressibility = compressibility(graph, report.profile);
    report.legacy = legacyCompressibility(graph, frontierProfile(graph, graph.order()));
    report.exact = exactOrders(graph, stop);
    report.forwardBound = largestOperator(graph, true);
    report.cuts = cutSets(graph, report.profile);
    report.longestSkip = longestSkip(report.profile);
    report.cost = graphCost(graph, machine);
    RETRO_CHECK(base::checkStop(stop));
    if (const Result<JointGraph> joint = jointOf(graph, graph.order(), options); joint.ok()) {
        report.joint = reportOf(joint->graph);
    }
    return report;
}

} // namespace retro::analysis
