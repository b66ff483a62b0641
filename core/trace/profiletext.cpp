// SPDX-License-Identifier: Apache-2.0
#include "core/trace/profiletext.h"

#include "core/base/bytesize.h"
#include "core/base/record.h"

#include <algorithm>

namespace retro::trace
{

using nlohmann::ordered_json;

base::Fields<NodeTotal> totalFields(const graph::Graph& graph)
{
    const auto node = [&graph](const NodeTotal& one) -> const graph::Node& { return graph.node(one.node); };
    const auto scaled = [](double NodeTotal::*member, double by) {
        return [member, by](const NodeTotal& one) { return one.*member * by; };
    };
    return {{"node", [node](const NodeTotal& one) { return node(one).name; }, "{:<32}", "operator"},
            {"operator", [node](const NodeTotal& one) { return node(one).op; }, "{:<18}"},
            {"forward_seconds", &NodeTotal::forwardSeconds, "{:>10.3f}", "forward ms",
             scaled(&NodeTotal::forwardSeconds, 1e3)},
            {"reverse_seconds", &NodeTotal::reverseSeconds, "{:>10.3f}", "reverse ms",
             scaled(&NodeTotal::reverseSeconds, 1e3)},
            {"rebuild_seconds", &NodeTotal::rebuildSeconds, "{:>10.3f}", "again ms",
             scaled(&NodeTotal::rebuildSeconds, 1e3)},
            {"result_bytes", &NodeTotal::bytes, "{:>12}", "results",
             [](const NodeTotal& one) {
                 return base::bytesText(static_cast<std::uint64_t>(std::max<std::int64_t>(one.bytes, 0)));
             }},
            {"flops", &NodeTotal::flops, "{:>11.3f}", "MFLOP", scaled(&NodeTotal::flops, 1e-6)},
            {"reverse_flops", &NodeTotal::reverseFlops, "{:>11.3f}", "reverse", scaled(&NodeTotal::reverseFlops, 1e-6)},
            {"rebuild_flops", &NodeTotal::rebuildFlops, "{:>11.3f}", "again", scaled(&NodeTotal::rebuildFlops, 1e-6)},
            {"rebuilds", &NodeTotal::rebuilds}};
}

ordered_json profileJson(const graph::Graph& graph, const Profile& profile)
{
    return totalFields(graph).list(nodeTotals(profile, graph.nodeCount()));
}

ordered_json decisionsJson(const graph::Graph& graph, const Profile& profile)
{
    const base::Fields<DecisionRow> fields{
        {"value", [&](const DecisionRow& one) { return graph.value(one.value).name; }},
        {"choice", [](const DecisionRow& one) { return event::nameOf(one.choice); }},
        {"bytes", &DecisionRow::bytes},
        {"reason", &DecisionRow::reason},
        {"seconds", &DecisionRow::at}};
    return fields.list(profile.decisions);
}

std::string profileCsv(const graph::Graph& graph, const Profile& profile)
{
    const base::Fields<ProfileRow> fields{{"step", &ProfileRow::step},
                                          {"begin", &ProfileRow::begin},
                                          {"node", [&](const ProfileRow& row) { return graph.labelOf(row.node); }},
                                          {"operator", [&](const ProfileRow& row) { return graph.opOf(row.node); }},
                                          {"half", [](const ProfileRow& row) { return event::nameOf(row.work.half); }},
                                          {"repeated", [](const ProfileRow& row) { return row.work.isRepeat ? 1 : 0; }},
                                          {"seconds", [](const ProfileRow& row) { return row.work.seconds; }},
                                          {"flops", [](const ProfileRow& row) { return row.work.flops; }},
                                          {"bytes", [](const ProfileRow& row) { return row.work.bytes; }}};
    return fields.csv(profile.rows);
}

} // namespace retro::trace
