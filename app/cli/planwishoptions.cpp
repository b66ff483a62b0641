// SPDX-License-Identifier: Apache-2.0
#include "app/cli/planwishoptions.h"

#include "app/cli/planningoptions.h"
#include "core/base/file.h"
#include "core/runtime/profile.h"
#include "core/schedule/budget.h"
#include "core/schedule/planjson.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::app
{

using nlohmann::ordered_json;
using runtime::StepRecord;

namespace
{

std::string stepText(const runtime::JointProgram& program, const schedule::Plan& plan, const StepRecord& row)
{
    const analysis::OpGraph& graph = program.graph();
    switch (row.step.kind) {
    case schedule::StepKind::Compute:
        return (row.isRecompute ? "again   " : "compute ") + graph.op(row.step.id).name;
    case schedule::StepKind::Free:
        return "free    " + graph.value(row.step.id).name;
    case schedule::StepKind::Offload:
        return fmt::format("move    {} to {}", graph.value(row.step.id).name, plan.tiers[row.step.tier].name);
    case schedule::StepKind::Prefetch:
        return "fetch   " + graph.value(row.step.id).name;
    }
    return {};
}

ordered_json figuresJson(const runtime::StepFigures& figures)
{
    return {{"transient", figures.transient},
            {"after", figures.after},
            {"seconds", figures.seconds},
            {"stall", figures.stall},
            {"flops", figures.flops}};
}

double percentOf(std::uint64_t part, std::uint64_t whole)
{
    return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

} // namespace

void PlanWishOptions::addTo(CLI::App& verb)
{
    verb.add_option("--plan", file, "Run by this plan (docs/formats/plan.md) of the target's joint graph");
    verb.add_option("--budget", wish.budget,
                    "Run within so many bytes (4096, 8GB, 1.5GiB), or P% of the store-all peak: results of operators, "
                    "inputs and initializers left out");
    m_strategy = verb.add_option("--strategy", wish.strategy,
                                 "How the plan is made: fast (default), best, or a planner (`plan --strategy list`)");
    verb.add_option("--plan-order", wish.order, "Order of the forward operators in the plan (default kahn)");
    verb.add_option("--plan-seconds", wish.seconds, "Time limit for making the plan (default 10)")
        ->check(CLI::Range(0.01, 86400.0));
    verb.add_option("--tier", m_tier,
                    "NAME=BYTES: a plan that is made may move values to this place (memory, compressed, disk), with so "
                    "many bytes per second both ways, such as disk=500MB");
    verb.add_option(
            "--seconds-per-cost", m_secondsPerCost,
            "With --tier: seconds of one unit of cost (a floating-point operation; a millisecond where the graph "
            "states them)")
        ->check(CLI::PositiveNumber);
    verb.add_option("--plan-rows", rows, "Steps of the plan to print, predicted against measured (default none)")
        ->check(CLI::NonNegativeNumber);
}

std::vector<std::string> PlanWishOptions::words() const
{
    const base::Result<std::string> plan =
        file.empty() ? base::Result<std::string>(std::string()) : base::readTextFile(file, schedule::kMaxPlanBytes);
    return {"plan",
            file,
            plan.ok() ? *plan : std::string(), // the pass says what is wrong with the file
            wish.budget,
            wish.strategy,
            wish.order,
            std::to_string(wish.seconds),
            m_tier,
            fmt::format("{}", m_secondsPerCost)};
}

base::Result<engine::PlanWish> PlanWishOptions::checked() const
{
    if (!file.empty() && m_strategy->count() > 0) {
        return base::usageError("a plan that is there needs no strategy; leave one of the two out", "--strategy");
    }
    engine::PlanWish checked = wish;
    checked.file = file;
    if (m_tier.empty()) {
        return checked;
    }
    if (!file.empty()) {
        return base::usageError("a plan that is there says itself what it moves; leave one of the two out", "--tier");
    }
    if (m_secondsPerCost <= 0) {
        return base::usageError("say with --seconds-per-cost how long one unit of cost takes (1e-10 where ten thousand "
                                "million operations take a second), or no copy can be set beside them",
                                "--tier " + m_tier);
    }
    RETRO_TRY(checked.tier, schedule::parseTier(m_tier));
    checked.secondsPerCost = m_secondsPerCost;
    return checked;
}

ordered_json planRunJson(const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                         const runtime::PlanRun& run, std::size_t rows)
{
    const runtime::Profile profile = runtime::profileOf(run);
    ordered_json json;
    json["planner"] = chosen.plan.annotations.planner;
    json["budget"] = chosen.plan.budget ? ordered_json(*chosen.plan.budget) : ordered_json();
    json["store_all_peak"] = chosen.storeAllPeak;
    json["status"] = chosen.search ? ordered_json(schedule::nameOf(chosen.search->status)) : ordered_json();
    json["recomputations"] = run.predicted.recomputations;
    json["moved_bytes"] = run.movedBytes;
    json["predicted"] = {
        {"peak", profile.predictedPeak}, {"cost_ratio", profile.predictedRatio}, {"flops", profile.predictedFlops}};
    json["measured"] = {{"peak", profile.measuredPeak},          {"time_ratio", profile.measuredRatio},
                        {"flops", profile.measuredFlops},        {"seconds", run.seconds},
                        {"compute_seconds", run.computeSeconds}, {"stalls", run.stalls},
                        {"tensors_peak", run.tensorsPeak}};
    ordered_json steps = ordered_json::array();
    for (std::size_t i = 0; i < std::min(rows, run.steps.size()); ++i) {
        const StepRecord& row = run.steps[i];
        steps.push_back({{"step", stepText(program, chosen.plan, row)},
                         {"predicted", figuresJson(row.predicted)},
                         {"measured", figuresJson(row.measured)}});
    }
    json["steps"] = std::move(steps);
    return json;
}

void sayPlanRun(const Context& context, const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                const runtime::PlanRun& run, std::size_t rows)
{
    const runtime::Profile profile = runtime::profileOf(run);
    const std::string& planner = chosen.plan.annotations.planner;
    context.say(fmt::format("plan{}: {} steps, {} computations repeated, {} moved; store-all needs {}",
                            planner.empty() ? "" : " of " + planner, run.steps.size(), run.predicted.recomputations,
                            bytesText(run.movedBytes), bytesText(chosen.storeAllPeak)));
    context.say(fmt::format("{:<12} {:>14} {:>14}", "", "predicted", "measured"));
    context.say(fmt::format("{:<12} {:>14} {:>14}  {:.1f} % of store-all", "peak", bytesText(profile.predictedPeak),
                            bytesText(profile.measuredPeak), percentOf(profile.measuredPeak, chosen.storeAllPeak)));
    context.say(fmt::format("{:<12} {:>13.3f}x {:>13.3f}x  of computing everything once ({:.3f} s)", "time",
                            profile.predictedRatio, profile.measuredRatio, run.computeSeconds));
    context.say(fmt::format("{:<12} {:>14.4g} {:>14.4g}  floating-point", "operations", profile.predictedFlops,
                            profile.measuredFlops));
    for (std::size_t i = 0; i < std::min(rows, run.steps.size()); ++i) {
        const StepRecord& row = run.steps[i];
        context.say(fmt::format("{:>6}  {:>12} {:>12}  {:>10.3g} {:>10.3g} ms  {}", i,
                                bytesText(row.predicted.transient), bytesText(row.measured.transient),
                                row.predicted.seconds * 1e3, row.measured.seconds * 1e3,
                                stepText(program, chosen.plan, row)));
    }
}

} // namespace retro::app
