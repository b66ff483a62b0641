// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/relevanceneeds.h"

#include "core/lrp/ruleapplication.h"

#include <algorithm>
#include <array>

namespace retro::engine
{

using base::NodeId;

namespace
{

/// Rules whose say over ReLU and maximum pooling is that of the derivative: what they read they look at as it does.
bool looksAsGradient(const lrp::Rule& rule)
{
    constexpr std::array<std::string_view, 3> kNames{"gradient", "guided-backprop", "winner-take-all"};
    return std::ranges::find(kNames, rule.name()) != kNames.end();
}

} // namespace

RelevanceNeeds::RelevanceNeeds(std::shared_ptr<const execute::BoundModel> bound, const lrp::RuleAssignment& rules,
                               const lrp::TraversalGraph& graph, std::vector<base::ValueId> targets)
    : ForwardNeeds(std::move(bound), std::move(targets))
{
    for (const NodeId node : graph.postOrder()) {
        const bool isApplied = !model().graph().isInput(node) && !graph.children(node).empty();
        if (isApplied && rules[node.index()].rule) {
            const lrp::Rule& rule = *rules[node.index()].rule;
            addReads(node, rule.reads(model().op(node), lrp::trackedSlots(graph, node)), looksAsGradient(rule));
        }
    }
}

} // namespace retro::engine
