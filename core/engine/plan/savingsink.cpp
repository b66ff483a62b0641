// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/savingsink.h"

#include "core/engine/plan/passsubject.h"
#include "core/engine/plan/planevents.h"

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
    PlanSaving saving;
    RETRO_TRY(const PassSubject subject,
              PassSubject::relevance(result.model, {targets.begin(), targets.end()}, result.assigned));
    RETRO_TRY(KeptValues kept, request.keptByPlan(subject));
    saving.kept = std::move(kept.values);
    saving.search = std::move(kept.search);
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
{
    m_search = result.planSaving ? result.planSaving->search : nullptr;
    if (m_search) {
        for (const event::Event& event : m_search->events) {
            m_to.onEvent(event);
        }
    }
}

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
        tellRuns();
    }
    m_visit = event.visit;
    send(event);
    if (m_result.planSaving) {
        book(event);
    }
}

void SavingSink::onLedger(const event::LedgerEntry& entry)
{
    event::LedgerEntry shifted = entry;
    shifted.visit += m_search ? m_search->visits : 0;
    m_to.onLedger(shifted);
}

/// Visits of the pass follow those of the search.
void SavingSink::send(event::Event event)
{
    if (m_search) {
        if (event.kind == event::EventKind::Visit && !m_hasVisited) {
            event.other = m_search->current.value;
        }
        m_hasVisited = m_hasVisited || event.kind == event::EventKind::Visit;
        event.visit += m_search->visits;
    }
    m_to.onEvent(event);
}

/// What the store computed since the last event, for somebody who reads it.
void SavingSink::tellRuns()
{
    const auto* store = m_search ? dynamic_cast<const execute::RecomputingStore*>(m_forward.store.get()) : nullptr;
    if (store == nullptr) {
        return;
    }
    for (const auto& [node, runs] : store->runs()) {
        const auto outputs = m_result.model->graph().outputsOf(node);
        const auto made = std::ranges::find_if(outputs, [](base::ValueId output) { return output.isValid(); });
        for (std::size_t& told = m_told[node]; told < runs && made != outputs.end(); ++told) {
            const auto slot = static_cast<std::uint32_t>(made - outputs.begin());
            event::Event again = event::valueEvent(event::EventKind::Recompute, {node.value, made->value, false}, slot,
                                                   base::HandleId());
            again.visit = m_visit;
            again.extra = 1;
            send(again);
        }
    }
}

void SavingSink::tellFetch(base::ValueId value, const event::Event& at)
{
    const base::NodeId node = m_result.model->graph().nodeOf(value);
    if (!m_search || !node.isValid()) {
        return;
    }
    event::Event fetch =
        event::valueEvent(event::EventKind::Fetch, {node.value, value.value, false}, 0, base::HandleId(at.handle));
    fetch.visit = at.visit;
    fetch.promise = at.promise;
    send(fetch);
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
        tellFetch(value, event);
    }
}

} // namespace retro::engine
