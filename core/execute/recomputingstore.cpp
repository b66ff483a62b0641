// SPDX-License-Identifier: Apache-2.0
#include "core/execute/recomputingstore.h"

#include "core/event/observer.h"
#include "core/execute/runnode.h"
#include "core/graph/reach.h"

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
    return made(nodesFor(value))[value];
}

std::map<ValueId, Tensor> RecomputingStore::made(const std::set<NodeId>& nodes) const
{
    const auto run = [this](NodeId node) {
        ++m_runs[node];
        if (m_onRun) {
            m_onRun(node);
        }
    };
    return computedAgain(
        *m_model, nodes, [this](ValueId operand) { return get(operand); }, run);
}

/// The nodes to run, in order, from what is kept up to the value.
std::set<NodeId> RecomputingStore::nodesFor(ValueId wanted) const
{
    return graph::nodesMaking(m_model->graph(), wanted, [this](ValueId value) {
        return m_model->isConstant(value) || m_kept.get(value).isValid();
    });
}

} // namespace retro::execute
