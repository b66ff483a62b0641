// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/pass.h"

#include "core/base/bytesize.h"
#include "core/base/leftovers.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/requestcheck.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/engine/model/prepare.h"
#include "core/engine/plan/carriedplan.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/plan/savingforecast.h"
#include "core/engine/region/conditions.h"
#include "core/engine/results/runfacts.h"
#include "core/lrp/rules/gradientorder.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;

Pass::~Pass()
{
    if (stop.stop_requested()) {
        base::Leftovers::leave(std::move(result));
        base::Leftovers::add(std::move(prepared));
        base::Leftovers::leave(std::move(forward));
        base::Leftovers::add(std::move(recorded));
    }
}

void Pass::report(const char* stage, std::size_t done, std::size_t total) const
{
    if (progress) {
        progress(stage, done, total);
    }
}

execute::Progress Pass::progressOf(const char* stage) const
{
    return [this, stage](std::size_t done, std::size_t total) { report(stage, done, total); };
}

Result<void> Pass::bind()
{
    const Stopwatch watch;
    report("bind", 0, 1);
    RETRO_TRY(prepared, prepare(model, request, cache, stop));
    if (!request.conditions.empty()) {
        RETRO_TRY(conditions, conditionSites(request.conditions, *prepared->model, request.conditionForm));
        RETRO_TRY(prepared, conditioned(*prepared, conditions));
    }
    result.warnings = request.warnings;
    RETRO_CHECK(takeRules(*prepared, result));
    result.secondsBind = watch.seconds();
    sinceBound.emplace();
    for (const TargetRequest& target : targetsOf(request)) {
        std::string note;
        RETRO_TRY(const base::ValueId value, targetValue(target, *result.model, &note));
        if (!note.empty()) {
            result.warnings.push_back(std::move(note));
        }
        values.push_back(value);
        if (std::ranges::find(targets, value) == targets.end()) {
            targets.push_back(value);
        }
    }
    result.alsoTargets.resize(values.size() - 1);
    inputs = inPrecision(result.model->graph(), request.inputs, request.precision);
    return {};
}

Result<lrp::TraversalGraph> Pass::graph()
{
    RETRO_TRY(lrp::TraversalGraph made,
              lrp::TraversalGraph::build(*result.model, targets, lrp::edgeOrder(*prepared->rules)));
    result.nodes = made.postOrder().size();
    RETRO_TRY(checkpoints, checkpointValues(request.checkpoints, *result.model, made));
    if (request.stopAtCheckpoints && checkpoints.empty()) {
        return base::usageError("there is no checkpoint to stop at; name one with --checkpoint VALUE",
                                "--stop-at-checkpoints");
    }
    return made;
}

// Each value is a root once: what several targets start there is added. Of a gradient that is multiplied by its value
// to be a relevance, the start is what makes it the start relevance.
Result<tensor::Tensor> Pass::startAt(base::ValueId value, const tensor::Tensor& known)
{
    tensor::Tensor sum;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != value) {
            continue;
        }
        RETRO_TRY(ResolvedTarget target, resolveTargetOf(again(), targetsOf(request)[i], request.start, value, known));
        sum = sum.isValid() ? ops::algebra::add(sum, target.start) : target.start;
        (i == 0 ? result.target : result.alsoTargets[i - 1]) = std::move(target);
    }
    const bool isDivided = result.composite.dividesStart && !request.start.given.isValid();
    return isDivided ? dividedStart(sum, known, result.model->graph().value(value).name) : Result<tensor::Tensor>(sum);
}

void Pass::tellStarts()
{
    for (std::size_t i = 0; i < values.size(); ++i) {
        const ResolvedTarget& target = i == 0 ? result.target : result.alsoTargets[i - 1];
        result.relevanceStart += ops::algebra::sum(target.start);
        addHints(target, request.start, result);
    }
}

Result<void> Pass::start()
{
    if (std::string warning = overflowWarning(result.model->graph(), forward->overflow); !warning.empty()) {
        result.warnings.push_back(std::move(warning));
    }
    result.outputs = forward->outputs;
    result.secondsForward = sinceBound->seconds();
    for (const base::ValueId target : targets) {
        RETRO_TRY(starts.emplace_back(), startAt(target, forward->value(target)));
    }
    tellStarts();
    return {};
}

Result<void> Pass::takeParameters(const execute::SavedValues* saved)
{
    if (!request.parameters) {
        return {};
    }
    RETRO_TRY(result.parameters,
              parameterRelevance({result.model, *prepared->rules, targets, result.relevance, inputs, saved,
                                  result.composite.timesInput, request.goesOnWhenNotFinite, stop}));
    return {};
}

Result<void> Pass::takeRegion(const execute::SavedValues* saved)
{
    if (!request.region.isAsked()) {
        return {};
    }
    report("region", 0, 1);
    const std::string layout = model.card ? model.card->layout : std::string();
    RegionResult region;
    region.text = request.region.text();
    RETRO_TRY(region.masks, regionMasks(request.region, *result.model, layout));
    const Stopwatch watch;
    RETRO_TRY(const RegionAsker asker,
              RegionAsker::make(
                  {result.model, *prepared->rules, targets, inputs, saved, {}, result.composite.timesInput, stop}));
    RETRO_TRY(region.weights, asker.ask(region.masks, stop));
    region.seconds = watch.seconds();
    if (request.region.arrives) {
        RETRO_TRY(region.arriving, asker.ask(asker.whole(), stop));
    }
    region.total = regionTotal(region.masks, result.relevance, result.model->graph());
    result.region = std::move(region);
    return {};
}

void Pass::finishRun(std::string_view save)
{
    if (profiler) {
        result.profile = std::make_shared<const trace::Profile>(std::move(*profiler).take(recorded.get()));
    }
    if (!recorded) {
        return;
    }
    recorded->profile = result.profile;
    recorded->rules = result.rules;
    if (forward) { // else whoever recorded it had the values
        fillValues(*recorded, {*result.model, request.keepValues ? &forward->saved : nullptr, inputs, result.outputs});
    }
    fillFacts(recorded->facts, {model, request, result, std::string(save)});
    if (result.planSaving && result.planSaving->plan) {
        takePlan(*result.planSaving);
    }
    result.run = std::move(recorded);
}

/// The plan of the pass, into its run, and what the traversal had in memory beside what the plan foresaw.
void Pass::takePlan(PlanSaving& saving)
{
    if (const auto most = frontierPeak(recorded, stop)) {
        saving.peak = *most;
    }
    const std::optional<std::uint64_t> budget = saving.plan->chosen.plan.budget;
    if (budget && saving.peak > *budget) {
        result.warnings.push_back(fmt::format(
            "the traversal had {} in memory, more than its budget of {}: promises hold what they bring until they are "
            "complete. The plan itself keeps to it, also recorded (--engine compiled)",
            base::bytesText(saving.peak), base::bytesText(*budget)));
    }
    const CarriedPlan& carried = *saving.plan;
    auto plan = runPlanOf(carried.program->forward(), carried.program->joint(), carried.chosen, carried.half);
    plan->kept = saving.kept;
    plan->dropped = saving.dropped;
    result.runPlan = std::move(plan);
}

Result<void> Pass::finish(std::string_view save, const execute::SavedValues* saved)
{
    RETRO_CHECK(takeParameters(saved));
    result.checkpoints = takenCheckpoints(checkpoints, snapshots, result.relevance, result.model->graph());
    if (result.composite.timesInput) {
        multiplyByInputs(request, result);
        if (!request.goesOnWhenNotFinite) {
            RETRO_CHECK(checkProducts(again(), result.relevance));
        }
    }
    RETRO_CHECK(takeRegion(saved));
    noteConditions(request.conditions, conditions, result);
    dropUnwanted(request, result);
    result.relevanceInputs = relevanceOfInputs(result);
    result.secondsRelevance = sinceBound->seconds() - result.secondsForward - result.secondsProgram;
    result.peakBytes = base::MemoryAccount::tensors().peak();
    finishRun(save);
    return {};
}

} // namespace retro::engine
