// SPDX-License-Identifier: Apache-2.0
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

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

/// The value whose shape a Shape node gives, all of it; nothing where another makes the operand.
std::optional<ValueId> shapeSource(const Draft& draft, ValueId shape)
{
    const NodeId maker = draft.value(shape).producer;
    if (!maker.isValid() || draft.node(maker).op != "Shape" || !draft.node(maker).domain.empty() ||
        !draft.node(maker).attributes.empty()) {
        return std::nullopt;
    }
    return draft.node(maker).inputs[0];
}

/// An operand of a sum or product of two that is expanded to the shape of the other one: broadcasting does the same.
struct Expanded
{
    NodeId expand;
    std::size_t slot = 0;
};

std::optional<Expanded> expandedOperand(const Draft& draft, const Node& node)
{
    using enum ops::Elements;
    if (!ops::combinesTwo(node, {Summed, Subtracted, Multiplied, Divided})) {
        return std::nullopt;
    }
    for (const std::size_t slot : {std::size_t{0}, std::size_t{1}}) {
        const ValueId operand = node.inputs[slot];
        const NodeId maker = draft.value(operand).producer;
        const bool isOwn = maker.isValid() && draft.readerCount(operand) == 1 && !draft.isOutput(operand);
        if (isOwn && draft.node(maker).op == "Expand" && draft.node(maker).domain.empty() &&
            shapeSource(draft, draft.node(maker).inputs[1]) == node.inputs[1 - slot]) {
            return Expanded{maker, slot};
        }
    }
    return std::nullopt;
}

void removeExpansions(Draft& draft, std::vector<RewriteStep>& steps)
{
    RewriteStep step;
    step.rewrite = "remove identities";
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const std::optional<Expanded> expanded =
            draft.isRemoved(NodeId(i)) ? std::nullopt : expandedOperand(draft, draft.node(NodeId(i)));
        if (!expanded) {
            continue;
        }
        const Node expand = draft.node(expanded->expand);
        Node node = draft.node(NodeId(i));
        node.inputs[expanded->slot] = expand.inputs[0];
        draft.replaceNode(NodeId(i), std::move(node));
        draft.removeNode(expanded->expand);
        step.removed.push_back(expand.name);
        const ValueId shape = expand.inputs[1];
        if (draft.readerCount(shape) == 0 && !draft.isOutput(shape)) {
            const NodeId maker = draft.value(shape).producer;
            step.removed.push_back(draft.node(maker).name);
            draft.removeNode(maker);
        }
    }
    if (!step.removed.empty()) {
        step.text = fmt::format("{} that only expand what broadcasting expands taken out (Shape, Expand)",
                                counted(step.removed.size(), "node"));
        steps.push_back(std::move(step));
    }
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
    removeExpansions(draft, steps);
}

} // namespace retro::rewrite
