// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/explain.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/passsubject.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/returnbook.h"
#include "core/engine/ways/promise.h"
#include "core/event/planevent.h"
#include "core/event/sink.h"
#include "core/execute/forward.h"
#include "core/execute/recomputingstore.h"
#include "core/runtime/planrun.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace retro::engine
{

using base::Result;
using runtime::OpValueId;
using runtime::StepRecord;
using tensor::Tensor;

namespace
{

/// What was told before the second half of a pass: the search for its plan and the forward steps of it.
class ToldBefore final : public event::Sink
{
public:
    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry&) override {}
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override
    {
        m_tensors.emplace_back(handle, tensor);
    }

    /// Says it again.
    void tell(event::Sink& to) const;
    [[nodiscard]] bool isEmpty() const { return m_events.empty(); }
    /// What is in memory behind it: the events that brought it there, by value.
    [[nodiscard]] const std::map<std::uint32_t, event::Event>& inMemory() const { return m_inMemory; }
    [[nodiscard]] std::uint32_t visits() const { return m_visits; }
    [[nodiscard]] std::uint32_t handles() const { return m_handles; }
    [[nodiscard]] base::NodeId current() const { return m_current; }

private:
    std::vector<event::Event> m_events;
    std::vector<std::pair<base::HandleId, tensor::Tensor>> m_tensors;
    std::map<std::uint32_t, event::Event> m_inMemory;
    base::NodeId m_current; ///< of the last visit
    std::uint32_t m_visits = 0;
    std::uint32_t m_handles = 0;
};

/// A pass whose saving is booked; everything is borrowed.
struct SavingSources
{
    const execute::ForwardResult& forward;
    const lrp::RuleAssignment& rules;
    const lrp::TraversalGraph& graph;
    const ToldBefore& before;
    bool isRecorded = false; ///< what comes back is an event, too
};

/// Hands everything on, and under policy Plan books how dropped values were come by. Of a recorded pass, what was told
/// before comes first: visits and tensors of the pass are numbered behind its own, and what is computed again or
/// brought by a promise is an event.
class SavingSink final : public event::Sink
{
public:
    /// The books are complete when the sink is gone.
    SavingSink(event::Sink& to, const SavingSources& from, ExplainResult& result);
    ~SavingSink() override;
    SavingSink(const SavingSink&) = delete;
    SavingSink& operator=(const SavingSink&) = delete;

    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override;
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override;

private:
    void book(const event::Event& event);
    void reportRuns();
    void reportEnd();
    void reportRecomputed(const event::Event& rule);
    void reportReturn(base::ValueId value);
    void send(event::Event event);
    void reportFetch(base::ValueId value, const event::Event& at);
    void holdArguments(const event::Event& event);

    event::Sink& m_to;
    SavingSources m_from;
    ExplainResult& m_result;
    ReturnBook m_book;
    std::map<base::NodeId, std::size_t> m_told;              ///< of RecomputingStore::runs()
    std::map<base::NodeId, std::size_t> m_remade;            ///< by rules, for outputs that they read
    std::vector<std::int64_t> m_bytes;                       ///< per handle of the pass
    std::map<std::uint32_t, std::set<std::uint32_t>> m_held; ///< per promise: handles
    std::map<std::uint32_t, std::uint32_t> m_holders;        ///< per handle: how many promises
    std::uint64_t m_heldBytes = 0;
    std::uint32_t m_visit = 0; ///< of the pass
    bool m_hasVisited = false;
};

/// What the forward pass of a request saves; under policy Plan as the request says it, which goes into the result's
/// books. Errors: of the plan.
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
    saving.plan = std::move(kept.plan);
    if (saving.plan) {
        saving.dropped = droppedAtTurn(*saving.plan->program, saving.plan->chosen.plan);
    }
    for (const base::ValueId value : saving.kept) {
        const ops::TensorType& type = result.model->typeOf(value);
        saving.keptBytes += tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    }
    auto plan = std::make_shared<const execute::SavePlan>(*result.model, saving.kept);
    result.planSaving = std::move(saving);
    return plan;
}

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
    holdArguments(event);
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
    send(fetch);
}

void SavingSink::book(const event::Event& event)
{
    m_book.take(event, event.visit + (m_from.isRecorded ? m_from.before.visits() : 0));
    const base::ValueId value = m_book.droppedArgument(event);
    if (value.isValid() && m_result.model->isTracked(value)) {
        ++m_result.planSaving->promised[value];
        reportFetch(value, event);
    }
}

/// Promises hold their arguments until they are complete; a tensor that several hold counts once.
void SavingSink::holdArguments(const event::Event& event)
{
    if (event.kind == event::EventKind::Arg && m_held[event.promise].insert(event.handle).second) {
        if (m_holders[event.handle]++ == 0 && event.handle < m_bytes.size()) {
            m_heldBytes += static_cast<std::uint64_t>(m_bytes[event.handle]);
            m_result.planSaving->heldPeak = std::max(m_result.planSaving->heldPeak, m_heldBytes);
        }
    }
    if (event.kind != event::EventKind::Complete) {
        return;
    }
    for (const std::uint32_t handle : m_held[event.promise]) {
        if (--m_holders[handle] == 0 && handle < m_bytes.size()) {
            m_heldBytes -= static_cast<std::uint64_t>(m_bytes[handle]);
        }
    }
    m_held.erase(event.promise);
}

/// Carries out the forward steps of a plan: what it has in memory when the second half begins goes into a store.
class ForwardByPlan
{
public:
    ForwardByPlan(const Pass& pass, const CarriedPlan& plan, std::span<const base::ValueId> alsoKept)
        : m_pass(pass), m_plan(plan), m_program(*plan.program), m_alsoKept(alsoKept),
          m_live(m_program.graph().values().size()), m_given(m_program.model().graph().valueCount())
    {}

    /// What is carried out is told to `events`, where somebody listens.
    Result<execute::ForwardResult> run(std::shared_ptr<const execute::SavePlan> saved, PlanEvents* events)
    {
        runtime::PlanRunOptions options;
        options.stop = m_pass.stop;
        options.endsAtTurn = true;
        options.onMade = [this](const runtime::Made& made) { m_given[made.value.index()] = made.tensor; };
        options.onTensor = [this, events](OpValueId id, const Tensor& tensor) {
            m_live[id] = tensor;
            if (events != nullptr) {
                events->onTensor(id, tensor);
            }
        };
        options.onStep = [this, events](const StepRecord& record) { take(record, events); };
        RETRO_TRY(const runtime::PlanRun ran,
                  runtime::runPlan(m_program, m_plan.chosen.plan, m_pass.inputs, {}, options));
        static_cast<void>(ran);
        return results(std::move(saved));
    }

private:
    void take(const StepRecord& record, PlanEvents* events)
    {
        for (const OpValueId value : record.left) {
            m_live[value] = {};
        }
        if (record.step.kind == schedule::StepKind::Free) {
            forget(record.step.id);
        }
        if (events != nullptr) {
            events->onStep(record.step, record.isRecompute, record.left);
        }
        m_pass.report("forward", record.index, m_plan.chosen.plan.steps.size());
    }

    /// A tensor that nobody asks for any more goes when the plan lets it go.
    void forget(OpValueId id)
    {
        m_live[id] = {};
        const base::ValueId value = m_program.valueOf(id);
        const auto outputs = m_program.model().graph().outputs();
        const bool isAsked = std::ranges::find(outputs, value) != outputs.end() ||
                             std::ranges::find(m_alsoKept, value) != m_alsoKept.end();
        if (!isAsked) {
            m_given[value.index()] = {};
        }
    }

    Result<execute::ForwardResult> results(std::shared_ptr<const execute::SavePlan> saved)
    {
        const auto store = std::make_shared<execute::RecomputingStore>(m_program.sharedModel());
        const graph::Graph& graph = m_program.model().graph();
        for (std::size_t i = 0; i < m_pass.inputs.size(); ++i) {
            store->put(graph.inputs()[i], m_pass.inputs[i]);
        }
        for (OpValueId id = 0; id < m_live.size(); ++id) {
            if (m_live[id].isValid() && saved->keeps(m_program.valueOf(id))) {
                store->put(m_program.valueOf(id), m_live[id]);
            }
        }
        const auto valueOf = [&](base::ValueId value) {
            const Tensor& given = m_given[value.index()];
            return given.isValid()                       ? given
                   : m_program.model().isConstant(value) ? m_program.model().constant(value)
                                                         : execute::RecomputingStore(*store).get(value);
        };
        for (const base::ValueId value : m_alsoKept) {
            store->put(value, valueOf(value));
        }
        std::vector<Tensor> outputs;
        for (const base::ValueId output : graph.outputs()) {
            outputs.push_back(valueOf(output));
        }
        return execute::ForwardResult{std::move(outputs),
                                      execute::SavedValues(m_program.sharedModel(), std::move(saved), store), store,
                                      std::nullopt};
    }

    const Pass& m_pass;
    const CarriedPlan& m_plan;
    const runtime::JointProgram& m_program;
    std::span<const base::ValueId> m_alsoKept;
    std::vector<Tensor> m_live;  ///< per value of the joint graph: in memory
    std::vector<Tensor> m_given; ///< per value of the model: made, and still asked for
};

/// The traversal with promises over what a plan keeps: the forward steps of the plan, then promises, which bring what
/// it dropped (SavePolicy::Plan).
class PlannedWay final : public PromiseWay
{
public:
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    [[nodiscard]] const execute::SavedValues* saved(const Pass&) const override { return nullptr; }

protected:
    base::Result<void> carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink) override;

private:
    ToldBefore m_before;
};

Result<execute::ForwardResult> PlannedWay::forward(Pass& pass)
{
    const ForwardNeed need = needs(pass);
    RETRO_TRY(auto saved, savePlan(pass.request, need.policy, pass.targets, pass.result));
    const std::optional<PlanSaving>& saving = pass.result.planSaving;
    if (!saving || !saving->plan) {
        if (saving && saving->search) {
            std::ranges::for_each(saving->search->events, [this](const event::Event& one) { m_before.onEvent(one); });
        }
        return execute::forward(pass.result.model, pass.inputs, std::move(saved), pass.stop, pass.progressOf("forward"),
                                need.alsoKept);
    }
    const CarriedPlan& plan = *saving->plan;
    ForwardByPlan forward(pass, plan, need.alsoKept);
    if (!pass.request.record) {
        return forward.run(std::move(saved), nullptr);
    }
    const PlanPlaces places(plan.program->model().graph(), plan.program->graph());
    const SearchRecord none;
    LaunchSink launches(m_before, m_launches);
    PlanEvents events(places, plan.program->graph(), launches, saving->search ? *saving->search : none);
    return forward.run(std::move(saved), &events);
}

Result<void> PlannedWay::carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink)
{
    SavingSink saving(sink, {*pass.forward, *pass.prepared->rules, graph, m_before, pass.request.record}, pass.result);
    return PromiseWay::carryTo(pass, graph, saving);
}

} // namespace

std::unique_ptr<Way> plannedWay() { return std::make_unique<PlannedWay>(); }

} // namespace retro::engine
