// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedforward.h"

#include "core/engine/explain/target.h"
#include "core/engine/model/binding.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/results/runfacts.h"

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

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
    CarriedPlan carried;
    carried.half = planning.half;
    carried.program = std::make_shared<const runtime::JointProgram>(planning.program->alone(std::move(alone)));
    wish.isRecorded = true;
    RETRO_TRY(carried.chosen, choosePlan(*carried.program, wish, options.stop));
    PlannedForward made;
    made.model = carried.program->sharedModel();
    const std::vector<Tensor> inputs = inPrecision(made.model->graph(), question.inputs, question.precision);
    RETRO_TRY(CarriedOut out, carryOutPlan(carried, inputs, {}, {true, true, nullptr, std::move(options)}));
    made.outputs = std::move(out.outputs);
    made.recorded = std::move(out.recorded);
    made.recorded->rules.resize(made.model->graph().nodeCount());
    made.runPlan = std::move(out.runPlan);
    made.run = std::move(*carried.run);
    RETRO_CHECK(fillForwardFacts(model, question, made));
    return made;
}

} // namespace retro::engine
