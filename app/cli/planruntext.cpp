// SPDX-License-Identifier: Apache-2.0
#include "app/cli/planruntext.h"

#include "app/cli/planningoptions.h"
#include "core/runtime/profile.h"
#include "core/schedule/peaktensors.h"

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

ordered_json planRunJson(const runtime::JointProgram& program, const engine::ChosenPlan& chosen,
                         const runtime::PlanRun& run, std::size_t rows)
{
    const runtime::Profile profile = runtime::profileOf(run);
    ordered_json json;
    json["planner"] = chosen.plan.annotations.planner;
    json["budget"] = base::orNull(chosen.plan.budget);
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
    json["peak_tensors"] =
        schedule::peakTensorsJson(schedule::peakTensors(program.graph(), chosen.plan, run.predicted));
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
