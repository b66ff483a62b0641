// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/plannedrun.h"

#include "core/engine/plan/runplan.h"
#include "core/engine/results/runfacts.h"
#include "core/trace/recorder.h"

namespace retro::engine
{

namespace
{

trace::HandleInfo infoOf(const graph::Graph& graph, const analysis::OpGraph& joint, const PlanPlaces& places,
                         analysis::OpValueId id)
{
    trace::HandleInfo info;
    info.bytes = static_cast<std::int64_t>(joint.value(id).bytes);
    info.dtype = graph.value(base::ValueId(places.of(id).value)).dtype;
    return info;
}

void fill(trace::RunFacts& facts, const LoadedModel& model, const SearchRecord& search,
          const schedule::PlanResult& result)
{
    facts.kind = "plan";
    fillModel(facts, model);
    facts.engine = "simulator";
    facts.save = "plan";
    facts.planTries = search.tries;
    facts.numbers = {{"plan_budget", static_cast<double>(result.budget)},
                     {"plan_peak", static_cast<double>(result.peak)},
                     {"plan_store_all_peak", static_cast<double>(result.basePeak)},
                     {"plan_floor", static_cast<double>(result.floor)},
                     {"plan_cost", result.cost},
                     {"plan_base_cost", result.baseCost},
                     {"plan_lower_bound", result.lowerBound},
                     {"plan_search_events_left_out", static_cast<double>(search.leftOut)}};
    if (!model.graph()->outputs().empty()) {
        facts.targetValue = model.graph()->outputs().front(); // where the second half begins
    }
    if (result.plan) {
        for (const schedule::Tier& tier : result.plan->tiers) {
            facts.planTiers.push_back(tier.name);
        }
    }
}

} // namespace

std::shared_ptr<const trace::Run> plannedRun(const LoadedModel& model, const analysis::OpGraph& joint,
                                             const PlanPlaces& places, const SearchRecord& search,
                                             const schedule::PlanResult& result)
{
    trace::Recorder recorder;
    PlanEvents events(places, joint, recorder, search);
    if (result.plan) {
        reportSteps(*result.plan, schedule::simulate(joint, *result.plan), events);
    } else {
        events.finish();
    }
    auto run = std::make_shared<trace::Run>(std::move(recorder).take());
    run->graph = model.graph();
    for (const analysis::OpValueId id : events.handles()) {
        run->handles.push_back(infoOf(*run->graph, joint, places, id));
    }
    run->tensors.resize(run->handles.size());
    run->values.resize(run->graph->valueCount());
    run->shapes.resize(run->graph->valueCount());
    run->rules.resize(run->graph->nodeCount());
    fill(run->facts, model, search, result);
    return run;
}

trace::RecordedRun searchedRun(const LoadedModel& model, const analysis::OpGraph& forward,
                               const analysis::JointGraph& joint, const PlanPlaces& places, SearchRecord search,
                               const schedule::PlanResult& result, const std::string& strategy, const PlannedHalf& half)
{
    trace::RecordedRun recorded{plannedRun(model, joint.graph, places, search, result), {}};
    if (result.plan) {
        const ChosenPlan chosen{*result.plan, result.basePeak, result, strategy, std::move(search)};
        recorded.plan = runPlanOf(forward, joint, chosen, half);
    }
    return recorded;
}

} // namespace retro::engine
