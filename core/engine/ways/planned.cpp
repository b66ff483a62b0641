// SPDX-License-Identifier: Apache-2.0
#include "core/base/bytesize.h"
#include "core/base/cancel.h"
#include "core/engine/plan/planevents.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/savingforecast.h"
#include "core/engine/plan/savingsink.h"
#include "core/engine/ways/promise.h"
#include "core/execute/recomputingstore.h"
#include "core/runtime/planrun.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

namespace retro::engine
{

using base::Result;
using runtime::OpValueId;
using runtime::StepRecord;
using tensor::Tensor;

namespace
{

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

/// A plan, and what the traversal over what it keeps will have in memory.
struct ForetoldPlan
{
    ChosenPlan chosen;
    std::uint64_t peak = 0;
};

Result<ForetoldPlan> foretold(const PassSubject& subject, const runtime::JointProgram& program, ChosenPlan chosen,
                              const Pass& pass)
{
    RETRO_TRY(const SavingForecast told,
              forecastSaving(subject, program, chosen.plan, pass.request.followsDocument, pass.stop));
    return ForetoldPlan{std::move(chosen), told.peak};
}

/// Of plans for less and less memory the one whose traversal needs least, or the first that keeps to the budget: they
/// keep less, but have promises hold more. What is tried does not hang on the budget, so that the least is found again.
/// `first` where nothing else can be tried.
Result<ForetoldPlan> leastTraversal(const PassSubject& subject, const runtime::JointProgram& program, PlanOptions wish,
                                    const ForetoldPlan& first, const Pass& pass)
{
    constexpr std::uint64_t kParts = 8;
    const std::uint64_t budget = first.chosen.plan.budget.value_or(0);
    std::optional<ForetoldPlan> best;
    wish.isRecorded = false;
    for (std::uint64_t part = kParts; part > 0 && wish.file.empty(); --part) {
        wish.budget = std::to_string(first.chosen.storeAllPeak / kParts * part);
        Result<ChosenPlan> chosen = choosePlan(program, wish, pass.stop);
        if (!chosen) {
            RETRO_CHECK(base::checkStop(pass.stop));
            break; // less than any plan needs
        }
        RETRO_TRY(ForetoldPlan other, foretold(subject, program, std::move(chosen).value(), pass));
        if (!best || other.peak < best->peak) {
            best = std::move(other);
        }
        if (best->peak <= budget) {
            break;
        }
    }
    return best ? std::move(*best) : first;
}

/// The plan by which the traversal keeps to a budget that was asked for. Errors (Engine): none does; with the least
/// that works.
Result<std::shared_ptr<const CarriedPlan>> planOfTraversal(const PassSubject& subject,
                                                           std::shared_ptr<const CarriedPlan> carried, Pass& pass)
{
    const runtime::JointProgram& program = *carried->program;
    RETRO_TRY(ForetoldPlan best, foretold(subject, program, carried->chosen, pass));
    const PlanOptions* const wish = planWishOf(pass.request);
    const std::optional<std::uint64_t> budget = carried->chosen.plan.budget;
    const bool isBound = wish != nullptr && !wish->budget.empty() && budget;
    if (isBound && best.peak > *budget) {
        RETRO_TRY(best, leastTraversal(subject, program, *wish, best, pass));
        if (best.peak > *budget) {
            return base::engineError(fmt::format(
                "the traversal that is asked for would have {} in memory, more than the budget of {}: promises hold "
                "what they bring until they are complete. --engine compiled carries out and records the plan itself, "
                "which keeps to it; the traversal needs --budget {}",
                base::bothBytesText(best.peak), base::bothBytesText(*budget), best.peak));
        }
        auto other = std::make_shared<CarriedPlan>(*carried);
        best.chosen.plan.budget = budget;
        best.chosen.record = std::move(other->chosen.record);
        other->chosen = std::move(best.chosen);
        other->predicted = schedule::simulate(program.graph(), other->chosen.plan);
        carried = std::move(other);
    }
    pass.result.planSaving->foretoldPeak = best.peak;
    return carried;
}

/// What the plan of a request keeps, into the books of the pass.
Result<std::shared_ptr<const execute::SavePlan>> keptByPlan(const PassSubject& subject, Pass& pass)
{
    PlanSaving& saving = pass.result.planSaving.emplace();
    RETRO_TRY(KeptValues kept, pass.request.keptByPlan(subject));
    saving.kept = std::move(kept.values);
    saving.search = std::move(kept.search);
    if (kept.plan) {
        RETRO_TRY(saving.plan, planOfTraversal(subject, std::move(kept.plan), pass));
        AtTurn turn = atTurn(*saving.plan->program, saving.plan->chosen.plan);
        saving.kept = std::move(turn.kept);
        saving.dropped = std::move(turn.dropped);
    }
    for (const base::ValueId value : saving.kept) {
        const ops::TensorType& type = subject.model().typeOf(value);
        saving.keptBytes += tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
    }
    return std::make_shared<const execute::SavePlan>(subject.model(), saving.kept);
}

Result<execute::ForwardResult> PlannedWay::forward(Pass& pass)
{
    const ForwardNeed need = needs(pass);
    RETRO_TRY(const PassSubject subject, PassSubject::relevance(pass.result.model, pass.targets, pass.prepared->rules));
    RETRO_TRY(std::shared_ptr<const execute::SavePlan> saved, keptByPlan(subject, pass));
    const std::optional<PlanSaving>& saving = pass.result.planSaving;
    if (!saving->plan) {
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
