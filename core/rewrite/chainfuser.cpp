// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/chainfuser.h"

#include "core/ops/registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::rewrite
{

bool ChainFuser::take(const Pattern& pattern, const Fusion& fusion)
{
    const graph::Node& root = m_draft.node(pattern.root());
    graph::Node node = root;
    node.op = fusion.op;
    node.opset = std::max(node.opset, fusion.sinceOpset);
    if (ops::find("", node.op, node.opset) == nullptr) {
        return false;
    }
    const std::size_t operand = fusion.inputs[0].index();
    if (const std::string obstacle = pattern.obstacle(); !obstacle.empty()) {
        m_obstacles.emplace(
            operand, fmt::format("the chain of {} that ends in {} stays as it is: {}", node.op, root.name, obstacle));
        return false;
    }
    node.inputs = fusion.inputs;
    node.attributes = fusion.attributes;
    RewriteStep step{m_rewrite, {}, {}, {node.name}, false};
    for (const NodeId id : pattern.members()) {
        step.removed.push_back(m_draft.node(id).name);
        step.text += (step.text.empty() ? "" : " + ") + m_draft.node(id).op;
    }
    step.text += fmt::format(" → {} {}", node.op, node.name);
    step.added.insert(step.added.end(), fusion.added.begin(), fusion.added.end());
    m_steps.push_back(std::move(step));
    m_obstacles.erase(operand);
    m_draft.fuse(pattern.root(), std::move(node), pattern.members());
    if (fusion.keepsBits && !m_draft.keepWritten(pattern.root())) {
        m_steps.back().text += ", computed as one: its nodes read other values as well";
    }
    return true;
}

void ChainFuser::sayObstacles()
{
    for (auto& [operand, text] : m_obstacles) {
        m_steps.push_back({m_rewrite, std::move(text), {}, {}, true});
    }
}

} // namespace retro::rewrite
