// SPDX-License-Identifier: Apache-2.0
#include "core/execute/tokenpath.h"

#include "core/ops/lookup.h"

namespace retro::execute
{

std::optional<TokenPath> tokenPath(const graph::Graph& graph, graph::ValueId tokens,
                                   const std::function<const ops::BoundOperator&(graph::NodeId)>& op)
{
    TokenPath path{tokens, {}};
    while (graph.value(path.input).kind == graph::ValueKind::Result) {
        const graph::NodeId node = graph.nodeOf(path.input);
        const bool isFirst = graph.value(path.input).producerOutput == 0;
        if (!isFirst || dynamic_cast<const ops::TokenMap*>(&op(node)) == nullptr) {
            return std::nullopt;
        }
        path.nodes.push_back(node);
        path.input = graph.node(node).inputs[0];
    }
    const bool isInput = graph.value(path.input).kind == graph::ValueKind::Input;
    return isInput && !tensor::isFloating(graph.value(path.input).dtype) ? std::optional(std::move(path))
                                                                         : std::nullopt;
}

} // namespace retro::execute
