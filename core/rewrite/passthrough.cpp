// SPDX-License-Identifier: Apache-2.0
#include "core/ops/registry.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// True when two declared shapes cannot be the same.
bool differ(const std::vector<graph::Dimension>& a, const std::vector<graph::Dimension>& b)
{
    const auto mayBeSame = [](const graph::Dimension& x, const graph::Dimension& y) {
        return !x.extent || !y.extent || *x.extent == *y.extent;
    };
    return !std::equal(a.begin(), a.end(), b.begin(), b.end(), mayBeSame);
}

/// Why a node cannot hand its first operand on; none when it can.
std::optional<std::string> obstacleOf(const Draft& draft, const Node& node)
{
    if (node.inputs.empty() || !node.inputs.front().isValid()) {
        return "it has no first operand";
    }
    const auto isRead = [&](ValueId id) { return id.isValid() && (draft.readerCount(id) > 0 || draft.isOutput(id)); };
    if (node.outputs.empty() || std::any_of(node.outputs.begin() + 1, node.outputs.end(), isRead)) {
        return "more than its first result is read";
    }
    const graph::Value& from = draft.value(node.inputs.front());
    const graph::Value& to = draft.value(node.outputs.front());
    if (from.shape && to.shape && differ(*from.shape, *to.shape)) {
        return "its result has another shape than its first operand";
    }
    return std::nullopt;
}

Node passing(const Node& node)
{
    Node replacement = node;
    replacement.domain = "retrograde";
    replacement.op = "PassThrough";
    replacement.opset = 1;
    replacement.inputs.resize(1);
    replacement.outputs.resize(1);
    replacement.attributes.clear();
    return replacement;
}

std::string fullNameOf(const Node& node) { return node.domain.empty() ? node.op : node.domain + '.' + node.op; }

} // namespace

void passUnsupported(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const Node node = draft.node(NodeId(i));
        if (ops::find(node.domain, node.op, node.opset) != nullptr) {
            continue;
        }
        RewriteStep step{"pass through", {}, {}, {}, true, kPassThrough};
        if (const std::optional<std::string> obstacle = obstacleOf(draft, node)) {
            step.text = fmt::format("{} ({}) cannot hand its operand on: {}", node.name, fullNameOf(node), *obstacle);
        } else {
            draft.replaceNode(NodeId(i), passing(node));
            step.text = fmt::format("{} ({}) is not implemented and hands its first operand on, in values and in "
                                    "relevance: neither is what the model means, and relevance is not conserved",
                                    node.name, fullNameOf(node));
            step.removed = step.added = {node.name};
            step.isNote = false;
        }
        steps.push_back(std::move(step));
    }
}

} // namespace retro::rewrite
