// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/savingsink.h"

#include "core/event/planevent.h"
#include "core/execute/recomputingstore.h"

#include <algorithm>

namespace retro::engine
{

void ToldBefore::onEvent(const event::Event& event)
{
    if (event.kind == event::EventKind::Visit) {
        m_current = base::NodeId(event.node);
        ++m_visits;
    }
    if (event.handle != base::HandleId::kInvalid) {
        m_handles = std::max(m_handles, event.handle + 1);
    }
    switch (event.kind) {
    case event::EventKind::Compute:
        m_inMemory[event.other] = event;
        break;
    case event::EventKind::Recompute:
    case event::EventKind::Fetch:
        if (event.extra == 0) {
            m_inMemory[event.other] = event;
        }
        break;
    case event::EventKind::Free:
        m_inMemory.erase(event.other);
        break;
    default:
        break;
    }
    m_events.push_back(event);
}

void ToldBefore::tell(event::Sink& to) const
{
    for (const auto& [handle, tensor] : m_tensors) {
        to.onTensor(handle, tensor);
    }
    for (const event::Event& event : m_events) {
        to.onEvent(event);
    }
}

SavingSink::SavingSink(event::Sink& to, const SavingSources& from, ExplainResult& result)
    : m_to(to), m_from(from), m_result(result),
      m_book(*result.model, from.rules, from.graph, from.forward.saved.plan(),
             result.planSaving ? result.planSaving->dropped : std::vector<trace::DroppedValue>())
{
    if (m_from.isRecorded) {
        m_from.before.tell(m_to);
    }
}

SavingSink::~SavingSink()
{
    if (!m_result.planSaving) {
        return;
    }
    PlanSaving& saving = *m_result.planSaving;
    if (const auto* store = dynamic_cast<const execute::RecomputingStore*>(m_from.forward.store.get())) {
        saving.recomputed = store->runs();
    }
    for (const auto& [node, times] : m_remade) {
        saving.recomputed[node] += times;
    }
    saving.dropped = m_book.dropped();
}

void SavingSink::onEvent(const event::Event& event)
{
    if (!m_result.planSaving) {
        return send(event);
    }
    m_visit = event.visit;
    reportRuns();
    if (event.kind == event::EventKind::Rule) {
        reportRecomputed(event);
    }
    if (event.kind == event::EventKind::Finished) {
        reportEnd();
    }
    send(event);
    book(event);
    if (event.kind == event::EventKind::Complete) {
        letGo(event.promise);
    }
}

/// The pass is over: what the plan kept goes.
void SavingSink::reportEnd()
{
    if (!m_from.isRecorded) {
        return;
    }
    for (const auto& [value, brought] : m_from.before.inMemory()) {
        event::Event gone = brought;
        gone.kind = event::EventKind::Free;
        gone.flag = brought.flag & 1U;
        gone.extra = 0;
        gone.visit = m_visit + m_from.before.visits();
        m_to.onEvent(gone); // numbered as those before are
    }
}

void SavingSink::onLedger(const event::LedgerEntry& entry)
{
    event::LedgerEntry shifted = entry;
    shifted.visit += m_from.isRecorded ? m_from.before.visits() : 0;
    m_to.onLedger(shifted);
}

void SavingSink::onTensor(base::HandleId handle, const tensor::Tensor& tensor)
{
    m_bytes.resize(std::max(m_bytes.size(), handle.index() + 1));
    m_bytes[handle.index()] = tensor.bytes();
    m_to.onTensor(base::HandleId(handle.value + (m_from.isRecorded ? m_from.before.handles() : 0)), tensor);
}

/// Visits and tensors of the pass follow those that were told before.
void SavingSink::send(event::Event event)
{
    const ToldBefore& before = m_from.before;
    if (m_from.isRecorded && !before.isEmpty()) {
        if (event.kind == event::EventKind::Visit && !m_hasVisited) {
            event.other = before.current().value;
        }
        m_hasVisited = m_hasVisited || event.kind == event::EventKind::Visit;
        event.visit += before.visits();
        if (event.handle != base::HandleId::kInvalid) {
            event.handle += before.handles();
        }
        if (event.kind == event::EventKind::BranchRelevance && event.extra != base::HandleId::kInvalid) {
            event.extra += before.handles(); // the tensor before it
        }
    }
    m_to.onEvent(event);
}

/// A value that is there for a moment.
void SavingSink::reportReturn(base::ValueId value)
{
    const graph::Value& made = m_result.model->graph().value(value);
    event::Event again = event::valueEvent(event::EventKind::Recompute,
                                           {m_result.model->graph().nodeOf(value).value, value.value, false},
                                           made.producerOutput, base::HandleId());
    again.visit = m_visit;
    again.extra = 1;
    send(again);
}

/// What the store computed since the last event, for somebody who reads it.
void SavingSink::reportRuns()
{
    const auto* store = dynamic_cast<const execute::RecomputingStore*>(m_from.forward.store.get());
    if (store == nullptr) {
        return;
    }
    for (const auto& [node, runs] : store->runs()) {
        const auto outputs = m_result.model->graph().outputsOf(node);
        const auto made = std::ranges::find_if(outputs, [](base::ValueId output) { return output.isValid(); });
        for (std::size_t& told = m_told[node]; told < runs && made != outputs.end(); ++told) {
            m_book.ran(node);
            if (m_from.isRecorded) {
                reportReturn(*made);
            }
        }
    }
}

/// What a rule computed again itself, its operands being there.
void SavingSink::reportRecomputed(const event::Event& rule)
{
    const std::vector<base::ValueId> remade = m_book.recomputedBy(base::NodeId(rule.node));
    if (remade.empty()) {
        return;
    }
    ++m_remade[base::NodeId(rule.node)];
    if (m_from.isRecorded) {
        reportReturn(remade.front());
    }
}

void SavingSink::reportFetch(base::ValueId value, const event::Event& at)
{
    const base::NodeId node = m_result.model->graph().nodeOf(value);
    if (!m_from.isRecorded || !node.isValid()) {
        return;
    }
    event::Event fetch =
        event::valueEvent(event::EventKind::Fetch, {node.value, value.value, false}, 0, base::HandleId(at.handle));
    fetch.visit = at.visit;
    fetch.promise = at.promise;
    fetch.branch = at.branch;
    send(fetch);
}

void SavingSink::book(const event::Event& event)
{
    m_book.take(event, event.visit + (m_from.isRecorded ? m_from.before.visits() : 0));
    const base::ValueId value = m_book.droppedArgument(event);
    if (value.isValid() && m_result.model->isTracked(value)) {
        ++m_result.planSaving->promised[value];
        reportFetch(value, event);
        holdArgument(event);
    }
}

/// A promise holds what it brought until it is complete; a tensor that several hold counts once. What the plan kept,
/// and constants, lie in memory anyhow.
void SavingSink::holdArgument(const event::Event& event)
{
    if (event.handle < m_bytes.size() && m_held[event.promise].insert(event.handle).second &&
        m_holders[event.handle]++ == 0) {
        m_heldBytes += static_cast<std::uint64_t>(m_bytes[event.handle]);
        m_result.planSaving->heldPeak = std::max(m_result.planSaving->heldPeak, m_heldBytes);
    }
}

void SavingSink::letGo(std::uint32_t promise)
{
    for (const std::uint32_t handle : m_held[promise]) {
        m_heldBytes -= --m_holders[handle] == 0 ? static_cast<std::uint64_t>(m_bytes[handle]) : 0;
    }
    m_held.erase(promise);
}

} // namespace retro::engine
