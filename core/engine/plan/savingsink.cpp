// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/savingsink.h"

#include "core/execute/recomputingstore.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;

Result<std::shared_ptr<const execute::SavePlan>> savePlan(const ExplainRequest& request, execute::SavePolicy policy,
                                                          std::span<const base::ValueId> targets, ExplainResult& result)
{
    if (policy != execute::SavePolicy::Plan) {
        return std::make_shared<const execute::SavePlan>(*result.model, policy);
    }
    if (targets.size() != 1) {
        return base::usageError("a plan is for one target; name one, or leave the plan out", "--target");
    }
    PlanSaving saving;
    RETRO_TRY(saving.kept, request.keptByPlan(result.model, targets.front()));
    for (const base::ValueId value : saving.kept) {
        const ops::TensorType& type = result.model->typeOf(value);
        saving.keptBytes += tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    }
    auto plan = std::make_shared<const execute::SavePlan>(*result.model, saving.kept);
    result.planSaving = std::move(saving);
    return plan;
}

SavingSink::SavingSink(event::Sink& to, const execute::ForwardResult& forward, ExplainResult& result)
    : m_to(to), m_forward(forward), m_result(result)
{}

SavingSink::~SavingSink()
{
    const auto* store = dynamic_cast<const execute::RecomputingStore*>(m_forward.store.get());
    if (m_result.planSaving && store != nullptr) {
        m_result.planSaving->recomputed = store->runs();
    }
}

void SavingSink::onEvent(const event::Event& event)
{
    if (m_result.planSaving) {
        book(event);
    }
    m_to.onEvent(event);
}

void SavingSink::book(const event::Event& event)
{
    if (event.kind == event::EventKind::NewPromise) {
        m_starts.resize(std::max<std::size_t>(m_starts.size(), event.promise + 1));
        m_starts[event.promise] = base::NodeId(event.node);
    }
    if (event.kind != event::EventKind::Arg || event.promise >= m_starts.size()) {
        return;
    }
    const base::NodeId start = m_starts[event.promise];
    const graph::Graph& graph = m_result.model->graph();
    if (!start.isValid() || graph.isInput(start) || event.slot >= graph.node(start).inputs.size()) {
        return;
    }
    const base::ValueId value = graph.node(start).inputs[event.slot];
    const bool isDropped =
        value.isValid() && !m_forward.saved.plan().keeps(value) && !m_result.model->isConstant(value);
    if (isDropped && m_result.model->isTracked(value)) {
        ++m_result.planSaving->promised[value];
    }
}

} // namespace retro::engine
