// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/carriedplan.h"

#include "core/engine/explain/launchsink.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/results/runfacts.h"
#include "core/event/observer.h"
#include "core/trace/recorder.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;
using runtime::StepRecord;
using tensor::Tensor;

namespace
{

/// Records how a plan is carried out, behind the search that led to it: a run without facts and rules. Made, used and
/// destroyed on the thread that carries it out, whose kernels it takes.
class PlanRecorder
{
public:
    /// Borrowed for the life of the recorder; `ledger`, which the run fills, may be null.
    PlanRecorder(const runtime::JointProgram& program, const ChosenPlan& chosen,
                 const std::vector<event::LedgerEntry>* ledger);

    /// Listens to a run that is to come; what listened before still does.
    void listen(runtime::PlanRunOptions& options);
    /// Events that were recorded so far.
    [[nodiscard]] std::uint64_t eventCount() const { return m_recorder.eventCount(); }
    /// The run, with the forward values that the plan made. Call once.
    [[nodiscard]] std::shared_ptr<trace::Run> take(std::span<const Tensor> inputs, std::span<const Tensor> outputs) &&;

private:
    void onStep(const StepRecord& record);

    const runtime::JointProgram& m_program;
    const ChosenPlan& m_chosen;
    const std::vector<event::LedgerEntry>* m_ledger;
    PlanPlaces m_places;
    trace::Recorder m_recorder;
    LaunchBook m_book;
    LaunchSink m_launches{m_recorder, m_book};
    PlanEvents m_events;
    std::vector<Tensor> m_values; ///< by ValueId
    std::size_t m_booked = 0;
};

PlanRecorder::PlanRecorder(const runtime::JointProgram& program, const ChosenPlan& chosen,
                           const std::vector<event::LedgerEntry>* ledger)
    : m_program(program), m_chosen(chosen), m_ledger(ledger), m_places(program.model().graph(), program.graph()),
      m_events(m_places, program.graph(), m_launches, chosen.record), m_values(program.model().graph().valueCount())
{}

void PlanRecorder::listen(runtime::PlanRunOptions& options)
{
    options.onTensor = [this, before = std::move(options.onTensor)](runtime::OpValueId id, const Tensor& made) {
        m_events.onTensor(id, made);
        if (!m_program.isGradient(id)) {
            m_values[m_program.valueOf(id).index()] = made;
        }
        if (before) {
            before(id, made);
        }
    };
    options.onStep = [this, before = std::move(options.onStep)](const StepRecord& record) {
        onStep(record);
        if (before) {
            before(record);
        }
    };
}

void PlanRecorder::onStep(const StepRecord& record)
{
    m_events.onStep(record.step, record.isRecompute, record.left);
    for (; m_ledger != nullptr && m_booked < m_ledger->size(); ++m_booked) {
        m_events.onRule((*m_ledger)[m_booked]);
    }
}

std::shared_ptr<trace::Run> PlanRecorder::take(std::span<const Tensor> inputs, std::span<const Tensor> outputs) &&
{
    m_events.finish();
    auto run = std::make_shared<trace::Run>(std::move(m_recorder).take());
    run->values = std::move(m_values);
    fillValues(*run, {m_program.model(), nullptr, {inputs.begin(), inputs.end()}, outputs});
    fillPlanFacts(m_chosen, run->facts);
    return run;
}

/// The outputs of the graph, of which a plan makes those that operators make.
class Outputs
{
public:
    explicit Outputs(const execute::BoundModel& model) : m_model(model), m_made(model.graph().outputs().size()) {}

    void listen(runtime::PlanRunOptions& options)
    {
        options.onMade = [this, before = std::move(options.onMade)](const runtime::Made& made) {
            const auto outputs = m_model.graph().outputs();
            for (std::size_t i = 0; !made.isGradient && i < outputs.size(); ++i) {
                if (outputs[i] == made.value) {
                    m_made[i] = made.tensor;
                }
            }
            if (before) {
                before(made);
            }
        };
    }

    /// With constants and inputs, which no operator makes.
    std::vector<Tensor> take(std::span<const Tensor> inputs) &&
    {
        const graph::Graph& graph = m_model.graph();
        for (std::size_t i = 0; i < m_made.size(); ++i) {
            const base::ValueId id = graph.outputs()[i];
            const auto input = std::ranges::find(graph.inputs(), id);
            if (input != graph.inputs().end()) {
                m_made[i] = inputs[static_cast<std::size_t>(input - graph.inputs().begin())];
            } else if (!m_made[i].isValid()) {
                m_made[i] = m_model.constant(id);
            }
        }
        return std::move(m_made);
    }

private:
    const execute::BoundModel& m_model;
    std::vector<Tensor> m_made;
};

} // namespace

void fillPlanFacts(const ChosenPlan& chosen, trace::RunFacts& facts)
{
    facts.planTries = chosen.record.tries;
    facts.planTiers.clear();
    for (const schedule::Tier& tier : chosen.plan.tiers) {
        facts.planTiers.push_back(tier.name);
    }
    facts.numbers["plan_search_events_left_out"] = static_cast<double>(chosen.record.leftOut);
}

Result<CarriedOut> carryOutPlan(CarriedPlan& carried, std::span<const Tensor> inputs, const runtime::ReverseHalf& half,
                                CarryWish wish)
{
    const runtime::JointProgram& program = *carried.program;
    Outputs outputs(program.model());
    outputs.listen(wish.options);
    std::optional<PlanRecorder> recorder;
    if (wish.isRecorded) {
        recorder.emplace(program, carried.chosen, wish.ledger);
        recorder->listen(wish.options);
    }
    std::optional<trace::ProfileRecorder> profiler;
    if (wish.isRecorded || wish.isProfiled) {
        profiler.emplace();
    }
    if (recorder) {
        profiler->setPosition([&recorder] { return recorder->eventCount(); });
    }
    CarriedOut made;
    {
        const event::ObserverScope observed(profiler ? &*profiler : event::currentObserver());
        RETRO_TRY(carried.run, runtime::runPlan(program, carried.chosen.plan, inputs, half, wish.options));
    }
    carried.predicted = carried.run->predicted;
    made.outputs = std::move(outputs).take(inputs);
    if (profiler) {
        profiler->setPosition({});
        made.profile = std::make_shared<const trace::Profile>(std::move(*profiler).take());
    }
    if (recorder) {
        made.recorded = std::move(*recorder).take(inputs, made.outputs);
        made.recorded->profile = made.profile;
        made.runPlan = runPlanOf(program.forward(), program.joint(), carried.chosen, carried.half);
    }
    return made;
}

} // namespace retro::engine
