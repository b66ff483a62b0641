// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/planevents.h"

#include "core/schedule/departures.h"

#include <string_view>

namespace retro::engine
{

using analysis::OpId;
using analysis::OpValueId;

using base::NodeId;
using event::Event;
using event::EventKind;

namespace
{

/// "d:" and "r:" before the name of a value, "dw:" before that of a node.
constexpr std::size_t kPrefix = 2;
constexpr std::string_view kOfParameters = "dw:";

Event visitEvent(NodeId node, NodeId before, std::uint32_t visit)
{
    Event event;
    event.kind = EventKind::Visit;
    event.node = node.value;
    event.other = before.value;
    event.visit = visit;
    return event;
}

} // namespace

PlanPlaces::PlanPlaces(const graph::Graph& graph, const analysis::OpGraph& joint)
    : m_values(joint.values().size()), m_outputs(joint.values().size(), 0), m_nodes(joint.size())
{
    for (OpValueId id = 0; id < joint.values().size(); ++id) {
        place(graph, joint, id);
    }
    for (OpId op = 0; op < joint.size(); ++op) {
        const std::string_view name = joint.op(op).name;
        const auto node = graph.findNode(name);
        const auto ofParameters =
            name.starts_with(kOfParameters) ? graph.findNode(name.substr(kOfParameters.size())) : std::nullopt;
        if (node) {
            m_nodes[op] = *node;
        } else if (ofParameters) {
            m_nodes[op] = *ofParameters;
        } else if (!joint.op(op).outputs.empty()) {
            m_nodes[op] = base::NodeId(m_values[joint.op(op).outputs.front()].node);
        }
    }
}

void PlanPlaces::place(const graph::Graph& graph, const analysis::OpGraph& joint, OpValueId id)
{
    const analysis::OpValue& value = joint.value(id);
    const bool isMadeByNode = value.producer == analysis::kNone || graph.findNode(joint.op(value.producer).name);
    const std::string_view name = value.name;
    const bool isGradient = !isMadeByNode && name.size() > kPrefix && !name.starts_with(kOfParameters);
    const auto found = isMadeByNode ? graph.findValue(name)
                       : isGradient ? graph.findValue(name.substr(kPrefix))
                                    : std::nullopt;
    if (found) {
        m_values[id] = {graph.nodeOf(*found).value, found->value, isGradient};
        const graph::Value& made = graph.value(*found);
        m_outputs[id] = made.producer.isValid() ? made.producerOutput : 0;
    }
}

// --- the search

bool SearchRecorder::isFull()
{
    const bool isFull = m_record.events.size() >= kMostSearchEvents;
    m_record.leftOut += isFull ? 1 : 0;
    return isFull;
}

void SearchRecorder::visit(NodeId node)
{
    m_record.events.push_back(visitEvent(node, m_record.current, m_record.visits++));
    m_record.current = node;
}

void SearchRecorder::add(Event event)
{
    event.visit = m_record.visits - 1;
    m_record.events.push_back(event);
}

void SearchRecorder::onSplit(const schedule::SplitNote& note)
{
    const NodeId node = m_places.nodeOf(note.behind);
    m_isDropping = false;
    if (node.isValid() && !isFull()) {
        visit(node);
        add(event::splitEvent(node.value, attempt(), note.position));
    }
}

void SearchRecorder::onDrop(const schedule::DropNote& note)
{
    const event::PlannedValue& value = m_places.of(note.value);
    m_isDropping = value.node != NodeId::kInvalid && !isFull();
    if (m_isDropping) {
        visit(NodeId(value.node));
        add(event::dropEvent(value, attempt(), note.reason, note.gain, note.cost));
    }
}

/// Belongs to the drop before it, if there is one.
void SearchRecorder::onRebuild(const schedule::RebuildNote& note)
{
    const event::PlannedValue& value = m_places.of(note.value);
    if (value.node == NodeId::kInvalid || isFull()) {
        return;
    }
    if (!m_isDropping) {
        visit(NodeId(value.node));
    }
    const NodeId reader = note.reader == analysis::kNone ? NodeId() : m_places.nodeOf(note.reader);
    add(event::rebuildEvent(value, attempt(), reader.value, note.cost));
}

/// Candidates are few; they are told beyond the limit, too.
void SearchRecorder::onCandidate(const schedule::CandidateNote& note)
{
    m_isDropping = false;
    const NodeId peakAt = note.isRefused ? NodeId() : m_places.nodeOf(note.peakAt);
    const NodeId node = peakAt.isValid() ? peakAt : m_home;
    const std::uint32_t number = attempt();
    const auto bit = [](bool isSet, event::PlanTry what) { return isSet ? static_cast<unsigned>(what) : 0U; };
    const unsigned bits =
        bit(note.fits, event::kTryFits) | bit(note.isBest, event::kTryIsBest) | bit(note.isRefused, event::kTryRefused);
    visit(node);
    add(event::candidateEvent(node.value, number, static_cast<std::uint8_t>(bits), note.cost, note.peak, m_best));
    m_best = note.isBest ? number : m_best;
    m_record.tries.emplace_back(note.planner.empty() ? std::string_view(m_planner) : note.planner);
}

// --- the plan

PlanEvents::PlanEvents(const PlanPlaces& places, const analysis::OpGraph& joint, event::Sink& sink,
                       const SearchRecord& search)
    : m_places(places), m_joint(joint), m_sink(sink), m_handles(joint.values().size()),
      m_tiers(joint.values().size(), 0), m_current(search.current), m_visits(search.visits)
{
    for (const Event& one : search.events) {
        m_sink.onEvent(one);
    }
}

bool PlanEvents::isKnown(OpValueId id) const
{
    return m_places.of(id).node != NodeId::kInvalid && !m_joint.value(id).isPinned;
}

base::HandleId PlanEvents::handleOf(OpValueId id)
{
    if (!m_handles[id].isValid()) {
        m_handles[id] = base::HandleId(m_valueOf.size());
        m_valueOf.push_back(id);
    }
    return m_handles[id];
}

void PlanEvents::onTensor(OpValueId value, const tensor::Tensor& tensor)
{
    if (isKnown(value) && !m_handles[value].isValid()) {
        m_sink.onTensor(handleOf(value), tensor);
    }
}

void PlanEvents::visit(NodeId node)
{
    m_sink.onEvent(visitEvent(node, m_current, m_visits++));
    m_current = node;
    m_hasStep = true;
}

void PlanEvents::put(Event event)
{
    event.visit = m_visits == 0 ? 0 : m_visits - 1;
    m_sink.onEvent(event);
}

void PlanEvents::send(EventKind kind, OpValueId id, std::uint32_t slot, std::uint8_t bits)
{
    if (!isKnown(id)) {
        return;
    }
    Event event = event::valueEvent(kind, m_places.of(id), slot, handleOf(id));
    event.flag = static_cast<std::uint8_t>(event.flag | bits);
    put(event);
}

void PlanEvents::compute(OpId op, bool isAgain)
{
    const NodeId node = m_places.nodeOf(op);
    if (!node.isValid()) {
        return;
    }
    visit(node);
    for (const OpValueId id : m_joint.op(op).outputs) {
        send(isAgain ? EventKind::Recompute : EventKind::Compute, id, m_places.outputOf(id));
        const event::PlannedValue& value = m_places.of(id);
        if (!value.isGradient || !isKnown(id) || !m_knownRelevance.insert(value.value).second) {
            continue;
        }
        Event known;
        known.kind = EventKind::Relevance;
        known.node = value.node;
        known.slot = m_places.outputOf(id);
        known.handle = handleOf(id).value;
        put(known);
    }
}

void PlanEvents::onStep(const schedule::Step& step, bool isAgain, std::span<const OpValueId> left)
{
    for (const OpValueId id : left) {
        send(EventKind::Free, id, m_tiers[id], 2);
    }
    const bool isMove = step.kind == schedule::StepKind::Offload || step.kind == schedule::StepKind::Prefetch;
    if (isMove && isKnown(step.id)) {
        visit(NodeId(m_places.of(step.id).node));
    }
    switch (step.kind) {
    case schedule::StepKind::Compute:
        compute(step.id, isAgain);
        break;
    case schedule::StepKind::Free:
        send(EventKind::Free, step.id, 0);
        break;
    case schedule::StepKind::Offload:
        m_tiers[step.id] = step.tier;
        send(EventKind::Move, step.id, step.tier);
        break;
    case schedule::StepKind::Prefetch:
        send(EventKind::Fetch, step.id, m_tiers[step.id]);
        break;
    }
}

void PlanEvents::onRule(event::LedgerEntry entry)
{
    Event rule;
    rule.kind = EventKind::Rule;
    rule.node = entry.node;
    rule.extra = m_rules++;
    entry.visit = m_visits == 0 ? 0 : m_visits - 1;
    m_sink.onLedger(entry);
    put(rule);
}

void PlanEvents::finish()
{
    Event end;
    end.kind = EventKind::Finished;
    put(end);
}

void reportSteps(const schedule::Plan& plan, const schedule::Simulation& predicted, PlanEvents& events)
{
    const std::vector<std::vector<OpValueId>> left = schedule::departures(plan, predicted);
    for (std::size_t at = 0; at < plan.steps.size(); ++at) {
        events.onStep(plan.steps[at], predicted.steps[at].isRecompute, left[at]);
    }
    events.finish();
}

} // namespace retro::engine
