// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/attributes.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// Dropout hands its operand on when it does not train; until opset 6 an attribute says so, since 12 an operand.
bool isIdleDropout(const Draft& draft, const Node& node)
{
    if (node.op != "Dropout" || (node.opset < 7 && intAttribute(node, "is_test", 0) == 0)) {
        return false;
    }
    if (node.inputs.size() < 3 || !node.inputs[2].isValid()) {
        return true;
    }
    const ValueId training = node.inputs[2];
    return draft.isConstant(training) && draft.value(training).constant.size() == 1 &&
           draft.value(training).constant.at(0) == 0;
}

bool isRemovable(const Draft& draft, const Node& node)
{
    if (!node.domain.empty() || (node.op != "Identity" && !isIdleDropout(draft, node))) {
        return false;
    }
    const auto isUnread = [&](ValueId id) {
        return !id.isValid() || (draft.readerCount(id) == 0 && !draft.isOutput(id));
    };
    return !draft.isOutput(node.outputs[0]) && std::all_of(node.outputs.begin() + 1, node.outputs.end(), isUnread);
}

} // namespace

void removeIdentities(Draft& draft, std::vector<RewriteStep>& steps)
{
    RewriteStep step;
    step.rewrite = "remove identities";
    std::vector<ValueId> to(draft.before().valueCount());
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const Node& node = draft.node(NodeId(i));
        if (draft.isRemoved(NodeId(i)) || !isRemovable(draft, node)) {
            continue;
        }
        const ValueId source = node.inputs[0];
        const bool isMoved = source.index() < to.size() && to[source.index()].isValid();
        to[node.outputs[0].index()] = isMoved ? to[source.index()] : source;
        step.removed.push_back(node.name);
        draft.removeNode(NodeId(i));
    }
    if (!step.removed.empty()) {
        draft.redirect(to);
        step.text = fmt::format("{} that hands its operand on taken out (Identity, Dropout)",
                                counted(step.removed.size(), "node"));
        steps.push_back(std::move(step));
    }
}

} // namespace retro::rewrite
