// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/planwish.h"

#include "core/analysis/report.h"
#include "core/base/file.h"
#include "core/engine/plan/planning.h"
#include "core/schedule/budget.h"
#include "core/schedule/planjson.h"
#include "core/schedule/planorders.h"

#include <fmt/format.h>

namespace retro::engine
{

using base::Result;

namespace
{

/// True when the steps of a plan that was made for another graph work here, within what it was made for.
bool holdsHere(const analysis::OpGraph& joint, const schedule::Plan& plan)
{
    const schedule::Simulation run = schedule::simulate(joint, plan);
    return run.ok() && (!plan.budget || run.peak <= *plan.budget);
}

Result<ChosenPlan> readPlan(const runtime::JointProgram& program, const PlanOptions& wish)
{
    const analysis::OpGraph& joint = program.graph();
    RETRO_TRY(std::string text, base::readTextFile(wish.file, schedule::kMaxPlanBytes));
    ChosenPlan chosen;
    bool isOfAnother = false;
    bool goesAnotherWay = false;
    const auto decisions = schedule::decisionCheck(decisionsIn(program.model().graph()));
    const auto check = [&](const schedule::Subject& subject) {
        Result<void> good = decisions(subject);
        goesAnotherWay = !good.ok();
        return good;
    };
    Result<schedule::Plan> plan =
        schedule::parsePlanJson(joint, std::move(text), wish.file.string(), &isOfAnother, check);
    if (goesAnotherWay) {
        return base::within(plan.error(), wish.file.string());
    }
    if (plan.ok() && isOfAnother && !holdsHere(joint, *plan)) {
        plan =
            base::inputError("the plan was made for another graph, and does not work for this one", wish.file.string());
    }
    if (!plan.ok()) {
        base::Error error = plan.error();
        error.message += "; a plan is of one graph: the same sizes of the inputs, precision auto, the same target, a "
                         "graph JSON without rewrites";
        return error;
    }
    chosen.plan = std::move(plan).value();
    if (!wish.budget.empty()) {
        RETRO_TRY(chosen.plan.budget, schedule::parseBudget(wish.budget, joint));
    }
    return chosen;
}

/// The wish for a pass that the plan is not of.
Result<PlanOptions> withinBudgetOf(const PlanOptions& wish)
{
    PlanOptions own = wish;
    std::optional<std::uint64_t> budget = wish.plan ? wish.plan->budget : std::nullopt;
    if (!wish.plan && !wish.file.empty()) {
        RETRO_TRY(std::string text, base::readTextFile(wish.file, schedule::kMaxPlanBytes));
        RETRO_TRY(budget, schedule::budgetOfPlan(std::move(text), wish.file.string()));
    }
    own.budget = own.budget.empty() && budget ? std::to_string(*budget) : own.budget;
    own.plan.reset();
    own.found.reset();
    own.file.clear();
    own.isOfAnother = false;
    return own;
}

base::Error noPlan(const schedule::PlanResult& result)
{
    const std::string reached = result.peak > 0 ? fmt::format(", the least that was reached is {}", result.peak) : "";
    return base::engineError(
        fmt::format("no plan within {} bytes ({}): {}; no plan needs less than {}{}; give more, or "
                    "try --strategy best",
                    result.budget, schedule::nameOf(result.status), result.reason, result.floor, reached));
}

} // namespace

analysis::JointOptions jointOptions(analysis::JointKind kind, analysis::CostUnit unit)
{
    analysis::JointOptions options;
    options.kind = kind;
    options.leastCost = unit == analysis::CostUnit::Milliseconds ? 0 : 1;
    return options;
}

Result<runtime::JointProgram> jointProgram(const PassSubject& subject, PlannedHalf* half)
{
    RETRO_TRY(const analysis::PlanningGraph planning, planningGraphOf(subject));
    if (half != nullptr) {
        *half = {subject.kind(), planning.unit, planning.constantBytes};
    }
    return runtime::JointProgram::make(subject.sharedModel(), planning, planning.graph.order(),
                                       jointOptions(subject.kind(), planning.unit));
}

Result<ChosenPlan> choosePlan(const runtime::JointProgram& program, const PlanOptions& wish,
                              const std::stop_token& stop)
{
    if (wish.isOfAnother) {
        RETRO_TRY(const PlanOptions own, withinBudgetOf(wish));
        return choosePlan(program, own, stop);
    }
    const analysis::OpGraph& joint = program.graph();
    ChosenPlan chosen;
    chosen.strategy = wish.strategy;
    if (wish.plan) {
        if (wish.plan->graphHash != joint.hash()) {
            return base::inputError("the plan is of another graph: of another target, of other sizes of the inputs, or "
                                    "of other rewrites; plan again for this question");
        }
        chosen.plan = *wish.plan;
        chosen.search = wish.found;
        chosen.storeAllPeak = analysis::storeAllPeak(joint);
        return chosen;
    }
    if (!wish.file.empty()) {
        RETRO_TRY(chosen, readPlan(program, wish));
        chosen.strategy = chosen.plan.annotations.planner;
        chosen.storeAllPeak = analysis::storeAllPeak(joint);
        return chosen;
    }
    chosen.storeAllPeak = analysis::storeAllPeak(joint);
    schedule::PlanRequest request;
    request.graph = &joint;
    request.budget = chosen.storeAllPeak;
    request.seconds = wish.seconds;
    request.stop = stop;
    request.tier = wish.tier;
    request.secondsPerCost = wish.secondsPerCost;
    if (!wish.budget.empty()) {
        RETRO_TRY(request.budget, schedule::parseBudget(wish.budget, joint));
    }
    const graph::Graph& graph = program.model().graph();
    const PlanPlaces places(graph, joint);
    SearchRecorder recorder(places, program.nodeOf(0));
    request.listener = wish.isRecorded ? &recorder : nullptr;
    RETRO_TRY(schedule::PlanResult result,
              schedule::planInOrders(wish.strategy, wish.order, program.forward(), program.joint(), request));
    chosen.record = std::move(recorder).take();
    if (!result.plan) {
        return noPlan(result);
    }
    std::vector<base::ValueId> targets;
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        if (program.startsAt(base::ValueId(i))) {
            targets.emplace_back(i);
        }
    }
    const auto turn = static_cast<analysis::OpId>(program.forwardCount());
    const bool isRelevance = turn < joint.size() && joint.op(turn).name.starts_with("r:");
    result.plan->subject = subjectNames(isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient,
                                        program.model(), targets);
    result.plan->subject->order = result.order;
    chosen.plan = *result.plan;
    chosen.search = std::move(result);
    return chosen;
}

} // namespace retro::engine
