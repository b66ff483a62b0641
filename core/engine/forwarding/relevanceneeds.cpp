// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/relevanceneeds.h"

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

RelevanceNeeds::RelevanceNeeds(const PassSubject& subject) : ForwardNeeds(subject.sharedModel(), subject.targets())
{
    for (const NodeId node : subject.graph()->postOrder()) {
        const bool isApplied = !model().graph().isInput(node) && !subject.graph()->children(node).empty();
        if (isApplied && (*subject.rules())[node.index()].rule) {
            const lrp::Rule& rule = *(*subject.rules())[node.index()].rule;
            addReads(node, subject.reads(node, subject.wantedSlots(node)), looksAsGradient(rule));
        }
    }
}

} // namespace retro::engine
