// SPDX-License-Identifier: Apache-2.0
#include "core/execute/recomputingstore.h"

#include "core/event/observer.h"
#include "core/execute/runnode.h"

#include <algorithm>
#include <iterator>

namespace retro::execute
{

Tensor RecomputingStore::get(ValueId value) const
{
    if (Tensor kept = m_kept.get(value); kept.isValid() || !m_model->graph().value(value).producer.isValid()) {
        return kept;
    }
    if (event::currentObserver() != nullptr) {
        const ops::TensorType& type = m_model->typeOf(value);
        event::tellDecision(value, event::MemoryChoice::Recompute,
                            tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype)),
                            "it was let go, and somebody reads it");
    }
    const auto run = [this](NodeId node) {
        ++m_runs[node];
        if (m_onRun) {
            m_onRun(node);
        }
    };
    return computedAgain(
        *m_model, nodesFor(value), [this](ValueId operand) { return m_kept.get(operand); }, run)[value];
}

/// The nodes to run, in order, from what is kept up to the value.
std::set<NodeId> RecomputingStore::nodesFor(ValueId wanted) const
{
    const graph::Graph& graph = m_model->graph();
    std::set<NodeId> nodes; // ascending ids are a topological order
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        const NodeId producer = graph.value(value).producer;
        const bool isThere = m_model->isConstant(value) || m_kept.get(value).isValid() || !producer.isValid();
        if (isThere || !nodes.insert(producer).second) {
            continue;
        }
        std::ranges::copy_if(graph.node(producer).inputs, std::back_inserter(open),
                             [](ValueId input) { return input.isValid(); });
    }
    return nodes;
}

} // namespace retro::execute
