// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/report.h"

#include "core/base/cancel.h"

#include <algorithm>
#include <numeric>

namespace retro::analysis
{

namespace
{

OpCost costOf(const OpGraph& graph, OpId id, const Machine& machine)
{
    OpCost cost;
    cost.flops = graph.op(id).flops;
    if (graph.op(id).phase == Phase::Source) {
        return cost;
    }
    for (const OpValueId input : graph.reads(id)) {
        cost.bytes += static_cast<double>(graph.value(input).bytes);
    }
    cost.bytes += static_cast<double>(graph.outputBytes(id, true)) + graph.op(id).traffic;
    cost.intensity = cost.bytes > 0 ? cost.flops / cost.bytes : 0;
    const double arithmetic = cost.flops / machine.flopsPerSecond;
    const double traffic = cost.bytes / machine.bytesPerSecond;
    cost.seconds = std::max(arithmetic, traffic);
    cost.isMemoryBound = traffic > arithmetic;
    return cost;
}

/// The producer of an operand that ends last, the first of equals; kNone without one.
OpId latestProducer(const OpGraph& graph, OpId id, const std::vector<double>& finish)
{
    OpId latest = kNone;
    for (const OpValueId input : graph.reads(id)) {
        const OpId producer = graph.value(input).producer;
        if (producer != kNone && (latest == kNone || finish[producer] > finish[latest])) {
            latest = producer;
        }
    }
    return latest;
}

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

GraphCost graphCost(const OpGraph& graph, const Machine& machine)
{
    GraphCost result;
    for (OpId id = 0; id < graph.size(); ++id) {
        result.ops.push_back(costOf(graph, id, machine));
        result.flops += result.ops.back().flops;
        result.bytes += result.ops.back().bytes;
        result.workSeconds += result.ops.back().seconds;
    }
    std::vector<double> finish(graph.size(), 0);
    std::vector<OpId> before(graph.size(), kNone);
    OpId last = graph.order().front();
    for (const OpId id : graph.order()) {
        before[id] = latestProducer(graph, id, finish);
        finish[id] = (before[id] == kNone ? 0 : finish[before[id]]) + result.ops[id].seconds;
        last = finish[id] > finish[last] ? id : last;
    }
    result.depthSeconds = finish[last];
    for (OpId id = last; id != kNone; id = before[id]) {
        result.criticalPath.push_back(id);
    }
    std::reverse(result.criticalPath.begin(), result.criticalPath.end());
    return result;
}

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
