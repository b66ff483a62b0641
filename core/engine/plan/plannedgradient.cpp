// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedgradient.h"

#include "core/engine/explain/stopwatch.h"
#include "core/engine/gradient/choseninputs.h"
#include "core/engine/gradient/modelrules.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/prepare.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/results/runfacts.h"
#include "core/ops/algebra.h"

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

/// Keeps the gradients of the inputs as they are made.
void takeGradient(const runtime::Made& made, GradientResult& result)
{
    const auto inputs = result.model->graph().inputs();
    for (std::size_t i = 0; made.isGradient && i < inputs.size(); ++i) {
        if (inputs[i] == made.value) {
            result.gradients[i] = made.tensor;
        }
    }
}

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
    CarriedPlan carried;
    RETRO_TRY(runtime::JointProgram program, jointProgram(subject, &carried.half));
    carried.program = std::make_shared<const runtime::JointProgram>(std::move(program));
    RETRO_TRY(carried.chosen, choosePlan(*carried.program, wish, options.stop));
    if (carried.chosen.search && carried.chosen.plan.subject) {
        carried.chosen.plan.subject->from = request.from;
    }
    runtime::ReverseHalf half;
    half.rule = gradientRule(result.model);
    half.partsOf = [&](base::ValueId value) { return runtime::gradientParts(*result.model, value); };
    half.startAt = [&](base::ValueId value, const Tensor& forward) -> Result<Tensor> {
        RETRO_TRY(result.target, resolveTarget(request.target, {StartKind::One, {}}, value, forward));
        return result.target.start;
    };
    result.gradients.resize(result.model->graph().inputs().size());
    options.onMade = [&](const runtime::Made& one) { takeGradient(one, result); };
    const std::vector<Tensor> inputs = inPrecision(result.model->graph(), request.inputs, request.precision);
    RETRO_TRY(CarriedOut out,
              carryOutPlan(carried, inputs, half, {wish.isRecorded, false, nullptr, std::move(options)}));
    for (std::size_t i = 0; i < inputs.size(); ++i) { // of what the target does not depend on
        if (!result.gradients[i].isValid() && tensor::isFloating(inputs[i].dtype())) {
            result.gradients[i] = Tensor::zeros(inputs[i].dtype(), inputs[i].shape());
        }
    }
    made.program = std::move(carried.program);
    made.chosen = std::move(carried.chosen);
    made.run = std::move(*carried.run);
    made.recorded = std::move(out.recorded);
    made.runPlan = std::move(out.runPlan);
    result.outputs = std::move(out.outputs);
    result.cells = made.program->graph().size();
    result.visited = made.program->graph().size() + made.run.predicted.recomputations;
    result.peakBytes = made.run.tensorsPeak;
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
    fillFacts(made.recorded->facts, {model, question, told, "plan"});
    made.recorded->facts.engine = "plan";
    fillPlanFacts(made.chosen, made.recorded->facts);
    made.recorded->rules = prepared->words;
    return made;
}

} // namespace retro::engine
