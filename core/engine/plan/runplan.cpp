// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/runplan.h"

#include "core/analysis/report.h"
#include "core/base/jsonfields.h"
#include "core/base/jsonout.h"
#include "core/engine/plan/opgraphjson.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/planning.h"
#include "core/schedule/planjson.h"

#include <array>

namespace retro::engine
{

using base::JsonFields;
using base::Result;
using nlohmann::json;
using schedule::PlanResult;
using schedule::PlanStatus;

namespace
{

constexpr std::array<std::string_view, 2> kKinds{"gradient", "relevance"};
constexpr std::string_view kForward = "forward";
constexpr std::array kUnits{analysis::CostUnit::Milliseconds, analysis::CostUnit::Flops, analysis::CostUnit::Operators};
constexpr std::array kStatuses{PlanStatus::Optimal, PlanStatus::Feasible, PlanStatus::Infeasible,
                               PlanStatus::InfeasibleInThisOrder};

/// What is known of a plan that nobody searched for here: what its graph and its steps say.
PlanResult judged(const analysis::OpGraph& joint, const ChosenPlan& chosen)
{
    PlanResult result;
    result.status = PlanStatus::Feasible;
    result.planner = chosen.plan.annotations.planner;
    result.order = chosen.plan.annotations.order;
    const schedule::Simulation run = schedule::simulate(joint, chosen.plan);
    result.peak = run.peak;
    result.budget = chosen.plan.budget.value_or(run.peak);
    result.basePeak = analysis::storeAllPeak(joint);
    const analysis::Bound floor = analysis::memoryFloor(joint);
    result.floor = floor.bytes;
    result.floorAt = floor.at == analysis::kNone ? std::string() : joint.op(floor.at).name;
    result.cost = run.cost;
    result.movedBytes = run.movedBytes;
    result.baseCost = analysis::costOfAll(joint);
    result.lowerBound = analysis::costBound(joint, result.budget).value_or(result.baseCost);
    return result;
}

std::string questionText(const PlanResult& result, const PlannedHalf& half, const std::string& strategy)
{
    const json question{{"half", half.isForwardAlone ? kForward : kKinds[static_cast<std::size_t>(half.kind)]},
                        {"unit", analysis::nameOf(half.unit)},
                        {"constant_bytes", half.constantBytes},
                        {"strategy", strategy},
                        {"status", schedule::nameOf(result.status)},
                        {"planner", result.planner},
                        {"order", result.order},
                        {"reason", result.reason},
                        {"budget", result.budget},
                        {"peak", result.peak},
                        {"base_peak", result.basePeak},
                        {"floor", result.floor},
                        {"floor_at", result.floorAt},
                        {"cost", result.cost},
                        {"moved_bytes", result.movedBytes},
                        {"base_cost", result.baseCost},
                        {"lower_bound", result.lowerBound},
                        {"seconds", result.seconds}};
    return base::jsonOut(question);
}

template <class Things>
auto named(const Things& things, const std::string& name)
{
    auto found = things.front();
    for (const auto one : things) {
        found = nameOf(one) == name ? one : found;
    }
    return found;
}

Result<void> readQuestion(const JsonFields& fields, RestoredPlan& restored)
{
    RETRO_TRY(const std::string half, fields.text("half"));
    restored.half.kind = half == kKinds[1] ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    restored.half.isForwardAlone = half == kForward;
    RETRO_TRY(const std::string unit, fields.text("unit"));
    restored.half.unit = named(kUnits, unit);
    const auto bytes = [&](std::string_view name, std::uint64_t& into) -> Result<void> {
        RETRO_TRY(const auto number, fields.whole(name, 0, static_cast<std::int64_t>(analysis::kMaxTotalBytes)));
        into = static_cast<std::uint64_t>(number.value_or(0));
        return {};
    };
    const auto number = [&](std::string_view name, double& into) -> Result<void> {
        RETRO_TRY(const auto read, fields.number(name));
        into = read.value_or(0);
        return {};
    };
    PlanResult& result = restored.result;
    RETRO_CHECK(bytes("constant_bytes", restored.half.constantBytes));
    RETRO_TRY(restored.strategy, fields.text("strategy"));
    RETRO_TRY(const std::string status, fields.text("status"));
    result.status = named(kStatuses, status);
    RETRO_TRY(result.planner, fields.text("planner"));
    RETRO_TRY(result.order, fields.text("order"));
    RETRO_TRY(result.reason, fields.text("reason"));
    RETRO_CHECK(bytes("budget", result.budget));
    RETRO_CHECK(bytes("peak", result.peak));
    RETRO_CHECK(bytes("base_peak", result.basePeak));
    RETRO_CHECK(bytes("floor", result.floor));
    RETRO_TRY(result.floorAt, fields.text("floor_at"));
    RETRO_CHECK(number("cost", result.cost));
    RETRO_CHECK(bytes("moved_bytes", result.movedBytes));
    RETRO_CHECK(number("base_cost", result.baseCost));
    RETRO_CHECK(number("lower_bound", result.lowerBound));
    return number("seconds", result.seconds);
}

} // namespace

std::shared_ptr<trace::RunPlan> runPlanOf(const analysis::OpGraph& forward, const analysis::JointGraph& joint,
                                          const ChosenPlan& chosen, const PlannedHalf& half)
{
    auto plan = std::make_shared<trace::RunPlan>();
    plan->text = schedule::toPlanJson(joint.graph, chosen.plan);
    plan->graph = toOpGraphJson(forward);
    const PlanResult result = chosen.search ? *chosen.search : judged(joint.graph, chosen);
    plan->question = questionText(result, half, chosen.strategy);
    for (const schedule::Attempt& one : result.attempts) {
        plan->attempts.push_back({one.planner, one.order, one.fits, one.peak, one.cost, one.seconds, one.refusal});
    }
    return plan;
}

Result<RestoredPlan> restorePlan(const trace::RunPlan& plan, const std::string& where)
{
    RestoredPlan restored;
    RETRO_TRY(const base::JsonText text,
              base::JsonText::parse(plan.question, where, {std::size_t{1} << 20U, 4, std::size_t{16} << 20U}));
    RETRO_TRY(const JsonFields fields, JsonFields::of(text, text.root(), ""));
    RETRO_CHECK(readQuestion(fields, restored));
    RETRO_TRY(restored.forward, parseOpGraphJson(plan.graph, where));
    RETRO_TRY(restored.joint, analysis::jointOf(restored.forward, restored.forward.order(),
                                                jointOptions(restored.half.kind, restored.half.unit)));
    if (restored.half.isForwardAlone) {
        RETRO_TRY(restored.joint, forwardAlone(restored.joint));
    }
    RETRO_TRY(restored.result.plan, schedule::parsePlanJson(restored.joint.graph, plan.text, where));
    const schedule::Simulation run =
        schedule::simulate(restored.joint.graph, *restored.result.plan, {analysis::kMaxTotalBytes, 1, false});
    if (!run.ok()) {
        return base::inputError("its plan fails: " + run.error->text, where);
    }
    restored.storeAllPeak = analysis::storeAllPeak(restored.joint.graph);
    restored.baseCost = analysis::costOfAll(restored.joint.graph);
    for (const trace::PlannerTry& one : plan.attempts) {
        schedule::Attempt attempt;
        attempt.planner = one.planner;
        attempt.order = one.order;
        attempt.fits = one.fits;
        attempt.peak = one.peak;
        attempt.cost = one.cost;
        attempt.seconds = one.seconds;
        attempt.refusal = one.refusal;
        restored.result.attempts.push_back(std::move(attempt));
    }
    return restored;
}

} // namespace retro::engine
