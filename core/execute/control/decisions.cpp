// SPDX-License-Identifier: Apache-2.0
#include "core/execute/control/decisions.h"

#include <charconv>

namespace retro::execute
{

namespace
{

constexpr const char* kNodeKey = "retrograde.decision.node";
constexpr const char* kTakenKey = "retrograde.decision";

} // namespace

void tellDecision(graph::Node& node, const std::string& control, const std::string& taken)
{
    node.metadata[kNodeKey] = control;
    node.metadata[kTakenKey] = taken;
}

std::vector<ControlDecision> decisionsOf(const graph::Graph& graph)
{
    std::vector<ControlDecision> found;
    for (const graph::Node& node : graph.nodes()) {
        const auto name = node.metadata.find(kNodeKey);
        const auto taken = node.metadata.find(kTakenKey);
        if (name == node.metadata.end() || taken == node.metadata.end()) {
            continue;
        }
        ControlDecision decision{name->second, {}, {}};
        std::int64_t times = 0;
        const char* const end = taken->second.data() + taken->second.size();
        const auto read = std::from_chars(taken->second.data(), end, times);
        if (read.ec == std::errc()) {
            decision.iterations = times;
        } else {
            decision.branch = taken->second;
        }
        found.push_back(std::move(decision));
    }
    return found;
}

} // namespace retro::execute
