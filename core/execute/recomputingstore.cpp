// SPDX-License-Identifier: Apache-2.0
#include "core/execute/recomputingstore.h"

#include "core/event/observer.h"
#include "core/execute/runnode.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <unordered_map>

namespace retro::execute
{

namespace
{

/// A node's results by their values; outputs without a name are left out.
void keepOutputs(const std::vector<ValueId>& outputs, const std::vector<Tensor>& results,
                 std::unordered_map<std::size_t, Tensor>& made)
{
    for (std::size_t k = 0; k < std::min(results.size(), outputs.size()); ++k) {
        if (outputs[k].isValid()) {
            made[outputs[k].index()] = results[k];
        }
    }
}

} // namespace

Tensor RecomputingStore::get(ValueId value) const
{
    if (Tensor kept = m_kept.get(value); kept.isValid() || !m_model->graph().value(value).producer.isValid()) {
        return kept;
    }
    std::unordered_map<std::size_t, Tensor> made;
    if (event::currentObserver() != nullptr) {
        const ops::TensorType& type = m_model->typeOf(value);
        event::tellDecision(value, event::MemoryChoice::Recompute,
                            tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype)),
                            "it was let go, and somebody reads it");
    }
    for (const NodeId node : nodesFor(value)) {
        ++m_runs[node];
        if (m_onRun) {
            m_onRun(node);
        }
        const auto results = runNode(
            *m_model, node,
            [&](ValueId operand) {
                const auto found = made.find(operand.index());
                return found == made.end() ? m_kept.get(operand) : found->second;
            },
            RunKind::Again);
        if (!results.ok()) {
            return {}; // the forward pass would have ended with it
        }
        keepOutputs(m_model->graph().node(node).outputs, *results, made);
    }
    return made[value.index()];
}

/// The nodes to run, in order, from what is kept up to the value.
std::vector<NodeId> RecomputingStore::nodesFor(ValueId wanted) const
{
    const graph::Graph& graph = m_model->graph();
    std::set<std::size_t> nodes; // ascending ids are a topological order
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        const NodeId producer = graph.value(value).producer;
        const bool isThere = m_model->isConstant(value) || m_kept.get(value).isValid() || !producer.isValid();
        if (isThere || !nodes.insert(producer.index()).second) {
            continue;
        }
        std::ranges::copy_if(graph.node(producer).inputs, std::back_inserter(open),
                             [](ValueId input) { return input.isValid(); });
    }
    std::vector<NodeId> order;
    std::ranges::transform(nodes, std::back_inserter(order), [](std::size_t node) { return NodeId(node); });
    return order;
}

} // namespace retro::execute
