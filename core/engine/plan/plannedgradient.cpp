// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedgradient.h"

#include "core/engine/explain/stopwatch.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/plan/planrecorder.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/results/runfacts.h"
#include "core/event/observer.h"
#include "core/ops/algebra.h"
#include "core/trace/profile.h"

#include <algorithm>
#include <optional>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

/// Keeps the gradients of the inputs and the outputs as they are made.
class Results
{
public:
    explicit Results(GradientResult& result) : m_result(result), m_graph(result.model->graph())
    {
        m_result.gradients.resize(m_graph.inputs().size());
        m_result.outputs.resize(m_graph.outputs().size());
    }

    void take(const runtime::Made& made)
    {
        const auto ids = made.isGradient ? m_graph.inputs() : m_graph.outputs();
        std::vector<Tensor>& kept = made.isGradient ? m_result.gradients : m_result.outputs;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (ids[i] == made.value) {
                kept[i] = made.tensor;
            }
        }
    }

    /// What no operator made: zeros for inputs that the target does not depend on, constants and inputs as outputs.
    void fill(std::span<const Tensor> inputs)
    {
        const execute::BoundModel& model = *m_result.model;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            if (!m_result.gradients[i].isValid() && tensor::isFloating(inputs[i].dtype())) {
                m_result.gradients[i] = Tensor::zeros(inputs[i].dtype(), inputs[i].shape());
            }
        }
        for (std::size_t i = 0; i < m_result.outputs.size(); ++i) {
            const base::ValueId id = m_graph.outputs()[i];
            const auto input = std::ranges::find(m_graph.inputs(), id);
            if (input != m_graph.inputs().end()) {
                m_result.outputs[i] = inputs[static_cast<std::size_t>(input - m_graph.inputs().begin())];
            } else if (!m_result.outputs[i].isValid()) {
                m_result.outputs[i] = model.constant(id);
            }
        }
    }

private:
    GradientResult& m_result;
    const graph::Graph& m_graph;
};

/// The value at which the second half starts.
Result<base::ValueId> startValue(const execute::BoundModel& model, const TargetRequest& request)
{
    RETRO_TRY(const base::ValueId target, targetValue(request, model));
    if (!model.isTracked(target)) {
        return base::usageError("the target does not depend on a floating input by operators that pass a gradient; "
                                "choose another target, or ask for --parameters",
                                model.graph().value(target).name);
    }
    return target;
}

} // namespace

Result<PlannedGradient> plannedGradient(std::shared_ptr<const execute::BoundModel> model,
                                        const GradientRequest& request, const PlanOptions& wish,
                                        runtime::PlanRunOptions options)
{
    PlannedGradient made;
    GradientResult& result = made.gradient;
    result.model = std::move(model);
    RETRO_TRY(const base::ValueId target, startValue(*result.model, request.target));
    RETRO_TRY(const std::vector<base::ValueId> chosen, chosenInputs(result.model->graph(), request.from));
    const PassSubject subject =
        PassSubject::gradient(result.model, {target}, request.from.empty() ? std::span<const base::ValueId>() : chosen);
    PlannedHalf planned;
    RETRO_TRY(runtime::JointProgram program, jointProgram(subject, &planned));
    made.program = std::make_shared<const runtime::JointProgram>(std::move(program));
    RETRO_TRY(made.chosen, choosePlan(*made.program, wish, options.stop));
    if (made.chosen.search && made.chosen.plan.subject) {
        made.chosen.plan.subject->from = request.from;
    }
    runtime::ReverseHalf half;
    half.rule = gradientRule(result.model);
    half.partsOf = [&](base::ValueId value) { return runtime::gradientParts(*result.model, value); };
    half.startAt = [&](base::ValueId value, const Tensor& forward) -> Result<Tensor> {
        RETRO_TRY(result.target, resolveTarget(request.target, {StartKind::One, {}}, value, forward));
        return result.target.start;
    };
    Results results(result);
    options.onMade = [&](const runtime::Made& one) { results.take(one); };
    std::optional<PlanRecorder> recorder;
    if (wish.isRecorded) {
        recorder.emplace(*made.program, made.chosen);
        recorder->listen(options);
    }
    std::optional<trace::ProfileRecorder> profiler;
    if (recorder) {
        profiler.emplace();
        profiler->setPosition([&recorder] { return recorder->eventCount(); });
    }
    const event::ObserverScope observed(profiler ? &*profiler : event::currentObserver());
    const std::vector<Tensor> inputs = inPrecision(made.program->model().graph(), request.inputs, request.precision);
    RETRO_TRY(made.run, runtime::runPlan(*made.program, made.chosen.plan, inputs, half, options));
    results.fill(inputs);
    result.cells = made.program->graph().size();
    result.visited = made.program->graph().size() + made.run.predicted.recomputations;
    result.peakBytes = made.run.tensorsPeak;
    if (recorder) {
        profiler->setPosition({});
        made.recorded = std::move(*recorder).take(inputs, result.outputs);
        made.recorded->profile = std::make_shared<const trace::Profile>(std::move(*profiler).take());
        made.runPlan = runPlanOf(made.program->forward(), made.program->joint(), made.chosen, planned);
    }
    return made;
}

Result<PlannedGradient> plannedGradient(const LoadedModel& model, const GradientRequest& request,
                                        const PlanOptions& wish, runtime::PlanRunOptions options)
{
    const Stopwatch watch;
    RETRO_TRY(
        std::shared_ptr<const execute::BoundModel> bound,
        bindModel(model, request.inputs, request.precision, nullptr, options.stop, bindOptionsFor(request.target)));
    const double seconds = watch.seconds();
    RETRO_TRY(PlannedGradient made, plannedGradient(std::move(bound), request, wish, std::move(options)));
    made.gradient.secondsBind = seconds;
    return made;
}

Result<PlannedGradient> recordedPlannedGradient(const LoadedModel& model, const ExplainRequest& question,
                                                PlanOptions wish, runtime::PlanRunOptions options)
{
    const Stopwatch watch;
    RETRO_TRY(const std::shared_ptr<const Prepared> prepared, prepare(model, question, nullptr, options.stop));
    const double seconds = watch.seconds();
    wish.isRecorded = true;
    RETRO_TRY(PlannedGradient made,
              plannedGradient(prepared->model, {question.inputs, question.target, question.precision}, wish,
                              std::move(options)));
    made.gradient.secondsBind = seconds;
    ExplainResult told; // what facts are taken from
    told.composite = prepared->composite;
    told.rules = prepared->words;
    told.target = made.gradient.target;
    told.relevanceStart = ops::algebra::sum(told.target.start);
    for (const Tensor& gradient : made.gradient.gradients) {
        told.relevanceInputs += gradient.isValid() ? ops::algebra::sum(gradient) : 0;
    }
    told.secondsForward = made.run.seconds;
    told.peakBytes = made.run.tensorsPeak;
    trace::RunFacts facts = std::move(made.recorded->facts);
    fillFacts(made.recorded->facts, {model, question, told, "plan"});
    made.recorded->facts.engine = "plan";
    made.recorded->facts.planTries = std::move(facts.planTries);
    made.recorded->facts.planTiers = std::move(facts.planTiers);
    made.recorded->facts.numbers.merge(facts.numbers);
    made.recorded->rules = prepared->words;
    return made;
}

} // namespace retro::engine
