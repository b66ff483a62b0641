// SPDX-License-Identifier: Apache-2.0
#include "core/graph/fromaround.h"
#include "core/rewrite/passes.h"

#include <algorithm>
#include <span>
#include <string>

namespace retro::rewrite
{

using graph::Graph;
using graph::Node;
using graph::Subgraph;

namespace
{

/// The graph with constants in the place of its last inputs: known[i] is that of the i-th from the end, or null.
base::Result<Graph> withConstants(const Graph& body, const std::vector<const graph::Value*>& known)
{
    Draft draft(body);
    const std::span<const ValueId> inputs = body.inputs();
    std::vector<ValueId> to(body.valueCount());
    for (std::size_t i = 0; i < std::min(known.size(), inputs.size()); ++i) {
        if (known[i] != nullptr) {
            const ValueId input = inputs[inputs.size() - 1 - i];
            to[input.index()] = draft.addConstant(std::string(graph::kFromAround) + known[i]->name, known[i]->constant,
                                                  known[i]->dtype);
            draft.makeConstant(input, known[i]->constant, known[i]->dtype); // that is read no more, or an output
        }
    }
    draft.redirect(to);
    return draft.build();
}

std::size_t mostCaptured(const Node& node)
{
    std::size_t most = 0;
    for (const auto& [name, attribute] : node.attributes) {
        const auto* body = std::get_if<Subgraph>(&attribute);
        most = std::max(most, body == nullptr ? 0 : std::min(body->captured, body->graph->inputs().size()));
    }
    return std::min(most, node.inputs.size());
}

} // namespace

base::Result<bool> takeConstantsInside(const Draft& draft, Node& node)
{
    std::vector<const graph::Value*> known; // by operand, from the last one on
    for (std::size_t i = 0; i < mostCaptured(node); ++i) {
        const ValueId operand = node.inputs[node.inputs.size() - 1 - i];
        known.push_back(draft.isConstant(operand) ? &draft.value(operand) : nullptr);
    }
    const auto isKnown = [](const graph::Value* value) { return value != nullptr; };
    if (std::ranges::none_of(known, isKnown)) {
        return false;
    }
    for (auto& [name, attribute] : node.attributes) {
        if (auto* body = std::get_if<Subgraph>(&attribute)) {
            const std::vector own(known.begin(),
                                  known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), body->captured)));
            RETRO_TRY(Graph inside, withConstants(*body->graph, own));
            body->graph = std::make_shared<const Graph>(std::move(inside));
            body->captured -= static_cast<std::size_t>(std::ranges::count_if(own, isKnown));
        }
    }
    for (std::size_t i = 0, end = node.inputs.size(); i < known.size(); ++i) {
        if (known[i] != nullptr) {
            node.inputs.erase(node.inputs.begin() + static_cast<std::ptrdiff_t>(end - 1 - i));
        }
    }
    return true;
}

} // namespace retro::rewrite
