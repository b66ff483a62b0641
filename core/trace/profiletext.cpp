// SPDX-License-Identifier: Apache-2.0
#include "core/trace/profiletext.h"

#include "core/base/csvfield.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace retro::trace
{

namespace
{

using nlohmann::ordered_json;

} // namespace

ordered_json profileJson(const graph::Graph& graph, const Profile& profile)
{
    ordered_json list = ordered_json::array();
    for (const NodeTotal& one : nodeTotals(profile, graph.nodeCount())) {
        const graph::Node& node = graph.node(one.node);
        list.push_back({{"node", node.name},
                        {"operator", node.op},
                        {"forward_seconds", one.forwardSeconds},
                        {"reverse_seconds", one.reverseSeconds},
                        {"rebuild_seconds", one.rebuildSeconds},
                        {"result_bytes", one.bytes},
                        {"flops", one.flops},
                        {"reverse_flops", one.reverseFlops},
                        {"rebuild_flops", one.rebuildFlops},
                        {"rebuilds", one.rebuilds}});
    }
    return list;
}

ordered_json decisionsJson(const graph::Graph& graph, const Profile& profile)
{
    ordered_json list = ordered_json::array();
    for (const DecisionRow& one : profile.decisions) {
        list.push_back({{"value", graph.value(one.value).name},
                        {"choice", event::nameOf(one.choice)},
                        {"bytes", one.bytes},
                        {"reason", one.reason},
                        {"seconds", one.at}});
    }
    return list;
}

std::string profileCsv(const graph::Graph& graph, const Profile& profile)
{
    std::string text = "step,begin,node,operator,half,repeated,seconds,flops,bytes\n";
    for (const ProfileRow& row : profile.rows) {
        text +=
            fmt::format("{},{},{},{},{},{},{},{},{}\n", row.step, row.begin, base::csvField(graph.labelOf(row.node)),
                        base::csvField(graph.opOf(row.node)), event::nameOf(row.work.half), row.work.isRepeat ? 1 : 0,
                        row.work.seconds, row.work.flops, row.work.bytes);
    }
    return text;
}

} // namespace retro::trace
