// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedforward.h"

#include "core/engine/explain/target.h"
#include "core/engine/model/binding.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/planrecorder.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/results/runfacts.h"
#include "core/event/observer.h"
#include "core/trace/profile.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

/// Outputs that no operator of the plan makes: constants and inputs.
void fillOutputs(std::span<const Tensor> inputs, PlannedForward& made)
{
    const graph::Graph& graph = made.model->graph();
    for (std::size_t i = 0; i < made.outputs.size(); ++i) {
        const base::ValueId id = graph.outputs()[i];
        const auto input = std::ranges::find(graph.inputs(), id);
        if (input != graph.inputs().end()) {
            made.outputs[i] = inputs[static_cast<std::size_t>(input - graph.inputs().begin())];
        } else if (!made.outputs[i].isValid()) {
            made.outputs[i] = made.model->constant(id);
        }
    }
}

Result<void> fillForwardFacts(const LoadedModel& model, const ExplainRequest& question, PlannedForward& made)
{
    trace::RunFacts& facts = made.recorded->facts;
    facts.kind = "plan";
    fillModel(facts, model);
    facts.engine = "plan";
    facts.save = "plan";
    facts.start = "forward";
    facts.precision = std::string(tensor::nameOf(execute::dtypeOf(question.precision)));
    RETRO_TRY(const base::ValueId target, targetValue(question.target, *made.model));
    RETRO_TRY(const ResolvedTarget resolved,
              resolveTarget(question.target, {StartKind::One, {}}, target, made.recorded->values[target.index()]));
    facts.targetValue = target;
    facts.targetIndex = resolved.index;
    facts.targetLogit = resolved.logit;
    facts.numbers["seconds_forward"] = made.run.seconds;
    facts.numbers["peak_bytes"] = static_cast<double>(made.run.tensorsPeak);
    return {};
}

} // namespace

Result<PlannedForward> recordedPlannedForward(const LoadedModel& model, const ExplainRequest& question,
                                              PlanOptions wish, runtime::PlanRunOptions options)
{
    RETRO_TRY(PassPlanning planning, passPlanningOf(model, question, analysis::JointKind::Gradient, options.stop));
    planning.half.isForwardAlone = true;
    RETRO_TRY(analysis::JointGraph alone, forwardAlone(planning.program->joint()));
    const runtime::JointProgram program = planning.program->alone(std::move(alone));
    wish.isRecorded = true;
    RETRO_TRY(const ChosenPlan chosen, choosePlan(program, wish, options.stop));
    PlannedForward made;
    made.model = program.sharedModel();
    made.outputs.resize(made.model->graph().outputs().size());
    options.onMade = [&made](const runtime::Made& one) {
        const auto outputs = made.model->graph().outputs();
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (outputs[i] == one.value) {
                made.outputs[i] = one.tensor;
            }
        }
    };
    PlanRecorder recorder(program, chosen);
    recorder.listen(options);
    trace::ProfileRecorder profiler;
    profiler.setPosition([&recorder] { return recorder.eventCount(); });
    const std::vector<Tensor> inputs = inPrecision(made.model->graph(), question.inputs, question.precision);
    {
        const event::ObserverScope observed(&profiler);
        RETRO_TRY(made.run, runtime::runPlan(program, chosen.plan, inputs, {}, options));
    }
    profiler.setPosition({});
    fillOutputs(inputs, made);
    made.recorded = std::move(recorder).take(inputs, made.outputs);
    made.recorded->profile = std::make_shared<const trace::Profile>(std::move(profiler).take());
    made.recorded->rules.resize(made.model->graph().nodeCount());
    made.runPlan = runPlanOf(program.forward(), program.joint(), chosen, planning.half);
    RETRO_CHECK(fillForwardFacts(model, question, made));
    return made;
}

} // namespace retro::engine
