// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan.h"
#include "app/cli/planfit.h"
#include "app/cli/planningoptions.h"
#include "app/common/guiapplication.h"
#include "core/analysis/opgraph.h"
#include "core/analysis/orders.h"
#include "core/analysis/report.h"
#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/base/result.h"
#include "core/engine/plan/plannedrun.h"
#include "core/engine/plan/runplan.h"
#include "core/graph/graph.h"
#include "core/schedule/budget.h"
#include "core/schedule/peaktensors.h"
#include "core/schedule/planjson.h"
#include "core/schedule/planorders.h"
#include "core/schedule/portfolio.h"
#include "core/trace/runfile.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/plan/planmodel.h"
#include "views/plan/schedulepane.h"
#include "views/plan/scheduleview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace retro::app
{

namespace
{

using nlohmann::ordered_json;

bool isForward(const graph::Node& node) { return !node.facts || node.facts->phase != "backward"; }

/// Of a result: where it lies; none when the capture does not say.
std::optional<std::int64_t> storageOf(const graph::Graph& graph, graph::ValueId value)
{
    const std::shared_ptr<const graph::ValueFacts>& facts = graph.value(value).facts;
    return facts && facts->storage ? std::optional(static_cast<std::int64_t>(*facts->storage)) : std::nullopt;
}

/// Names of the forward operators that a plan runs more than once.
std::set<std::string> repeatedIn(const analysis::OpGraph& joint, const schedule::Plan& plan)
{
    std::map<analysis::OpId, std::size_t> runs;
    for (const schedule::Step& step : plan.steps) {
        runs[step.id] += step.kind == schedule::StepKind::Compute ? 1 : 0;
    }
    std::set<std::string> names;
    for (const auto& [op, count] : runs) {
        if (count > 1 && op < joint.size() && joint.op(op).phase == analysis::Phase::Forward) {
            names.insert(joint.op(op).name);
        }
    }
    return names;
}

/// Storages of what is computed again, and of what a later operator writes over.
std::set<std::int64_t> givenUp(const graph::Graph& graph, const std::set<std::string>& repeated)
{
    std::set<std::int64_t> storages;
    for (const graph::Node& node : graph.nodes()) {
        const bool writesOver = node.facts && !node.facts->recomputable;
        for (const graph::ValueId output : node.outputs) {
            const auto storage = output.isValid() ? storageOf(graph, output) : std::nullopt;
            if (storage && isForward(node) && (writesOver || repeated.contains(node.name))) {
                storages.insert(*storage);
            }
        }
    }
    return storages;
}

/// A plan of a captured run as a policy of torch.utils.checkpoint (docs/capture.md): every operator that PyTorch ran in
/// the forward pass, in order, with "save" or "recompute". What shares memory with a value that is computed again is
/// computed again as well, and so is what is changed in place later. Errors (Usage): a graph that does not name the
/// operators of PyTorch.
base::Result<std::string> checkpointPolicy(const graph::Graph& graph, const analysis::OpGraph& joint,
                                           const schedule::Plan& plan)
{
    const std::set<std::string> repeated = repeatedIn(joint, plan);
    const std::set<std::int64_t> storages = givenUp(graph, repeated);
    ordered_json calls = ordered_json::array();
    for (const graph::Node& node : graph.nodes()) {
        if (!isForward(node)) {
            continue;
        }
        const auto name = node.metadata.find("operator");
        if (name == node.metadata.end()) {
            return base::usageError("a policy lists the operators that PyTorch runs; plan for a graph of "
                                    "retrograde.capture.torchautograd",
                                    "--policy, node '" + node.name + "'");
        }
        bool isAgain = repeated.contains(node.name);
        for (const graph::ValueId output : node.outputs) {
            const auto storage = output.isValid() ? storageOf(graph, output) : std::nullopt;
            isAgain = isAgain || (storage && storages.contains(*storage));
        }
        calls.push_back({name->second, isAgain ? "recompute" : "save"});
    }
    const ordered_json policy{
        {"format", "retrograde-checkpoint-policy/1"}, {"planner", plan.annotations.planner}, {"calls", calls}};
    return base::jsonOut(policy, 1) + "\n";
}

using analysis::JointGraph;
using analysis::OpGraph;
using base::Result;
using schedule::PlanResult;

struct PlanOptions
{
    PlanningOptions planning;
    std::string strategy = "fast";
    std::string budget;
    std::string order{schedule::kAutoOrder};
    std::string blocks; ///< a number, or auto; so are the next two
    std::string blockSize;
    std::string blockBytes;
    std::string fit;    ///< NAME, or NAME=N
    std::string policy; ///< file of a policy for selective checkpointing
    std::string out;
    std::string picture;
    std::string runFile;
    std::string theme = "light";
    std::vector<std::string> keep;
    std::vector<std::string> recompute;
    std::string tier; ///< NAME=BYTES per second; empty = nothing moves
    double secondsPerCost = 0;
    double seconds = 10;
    std::uint64_t seed = 1;
    bool explains = false;
};

struct SimulateOptions
{
    PlanningOptions planning;
    std::string plan;
    std::string budget;
    std::string order{schedule::kAutoOrder};
    double secondsPerCost = 1;
    std::size_t rows = 0;
};

/// The joint graph, its forward operators first come, first served.
Result<JointGraph> jointIn(const PlanningOptions& options, const analysis::PlanningGraph& planning)
{
    return analysis::jointOf(planning.graph, planning.graph.order(), options.joint(planning.unit));
}

/// The number behind an option for blocks; of bytes it may have a unit.
Result<std::uint64_t> blockNumber(const char* name, const std::string& text, bool isBytes)
{
    Result<std::uint64_t> number = base::parseBytes(text);
    if (!number.ok() && isBytes) {
        return base::within(number.error(), name);
    }
    if (!number.ok() || *number == 0) {
        return base::usageError("write a number above 0, or auto", fmt::format("{} {}", name, text));
    }
    return number;
}

/// How many blocks, or how large: a number, or auto.
Result<void> readBlocks(const PlanOptions& options, schedule::BlockWish& blocks)
{
    const std::array<std::pair<const char*, const std::string*>, 3> texts{
        std::pair{"--blocks", &options.blocks}, std::pair{"--block-size", &options.blockSize},
        std::pair{"--block-bytes", &options.blockBytes}};
    std::string given;
    for (const auto& [name, text] : texts) {
        if (text->empty() || *text == "auto") {
            continue;
        }
        if (!given.empty()) {
            return base::usageError("one of them says how large blocks are; leave the other out",
                                    given + " and " + name);
        }
        given = name;
        RETRO_TRY(const std::uint64_t number, blockNumber(name, *text, text == &options.blockBytes));
        (text == &options.blocks      ? blocks.count
         : text == &options.blockSize ? blocks.operators
                                      : blocks.bytes) = number;
    }
    return {};
}

Result<std::vector<schedule::OpValueId>> valuesNamed(const OpGraph& joint, const std::vector<std::string>& names)
{
    std::vector<schedule::OpValueId> ids;
    for (const std::string& name : names) {
        schedule::OpValueId id = 0;
        while (id < joint.values().size() && joint.value(id).name != name) {
            ++id;
        }
        if (id == joint.values().size()) {
            return base::usageError("the joint graph has no such value", name);
        }
        ids.push_back(id);
    }
    return ids;
}

Result<void> listStrategies(const Context& context)
{
    using Strategy = std::pair<std::string_view, std::string_view>;
    std::vector<Strategy> all{{"fast", "every fast planner; the cheapest plan that fits"},
                              {"best", "those, then annealing for the rest of --seconds"}};
    for (const schedule::Planner& planner : schedule::planners()) {
        all.emplace_back(planner.name, planner.description);
    }
    context.list(base::Fields<Strategy>{{"name", &Strategy::first, "{:<20}"}, {"description", &Strategy::second, "{}"}},
                 all);
    return {};
}

double percentOver(double cost, double base) { return base > 0 ? 100 * (cost / base - 1) : 0; }

/// What of an attempt is told, with its cost beside that of computing everything once.
base::Fields<schedule::Attempt> attemptFields(double baseCost)
{
    using schedule::Attempt;
    return {{"planner", &Attempt::planner, "{:<28}", "planner"},
            {"order", &Attempt::order, "{:<13}", "order"},
            {"fits", &Attempt::fits},
            {"peak", &Attempt::peak, "{:>12}", "peak",
             [](const Attempt& one) { return one.peak == 0 ? "–" : bytesText(one.peak); }},
            {"cost", &Attempt::cost, "{:>9}", "cost",
             [baseCost](const Attempt& one) {
                 return one.fits ? fmt::format("+{:.2f} %", percentOver(one.cost, baseCost)) : "–";
             }},
            {"seconds", &Attempt::seconds, "{:>9.3f}", "seconds"},
            {"refusal", &Attempt::refusal, " {}", "",
             [](const Attempt& one) { return one.fits || !one.refusal.empty() ? one.refusal : "does not fit"; }}};
}

ordered_json resultJson(const PlanResult& result)
{
    return {{"status", schedule::nameOf(result.status)},
            {"reason", result.reason},
            {"planner", result.planner},
            {"order", result.order},
            {"budget", result.budget},
            {"peak", result.peak},
            {"base_peak", result.basePeak},
            {"floor", result.floor},
            {"floor_at", result.floorAt},
            {"cost", result.plan ? ordered_json(result.cost) : ordered_json()},
            {"base_cost", result.baseCost},
            {"moved_bytes", result.movedBytes},
            {"lower_bound", result.lowerBound},
            {"gap", result.plan ? ordered_json(result.gap()) : ordered_json()},
            {"seconds", result.seconds},
            {"attempts", attemptFields(result.baseCost).list(result.attempts)}};
}

ordered_json decisionsJson(const std::vector<schedule::Decision>& decisions)
{
    ordered_json json = ordered_json::object();
    for (const schedule::Decision& one : decisions) {
        json[one.node] =
            one.iterations ? ordered_json{{"iterations", *one.iterations}} : ordered_json{{"branch", one.branch}};
    }
    return json;
}

void sayResult(const Context& context, const PlanResult& result)
{
    context.say(fmt::format("{}: {}", schedule::nameOf(result.status), result.reason));
    context.say(fmt::format("budget {}, store-all peak {}, no plan needs less than {} ({})",
                            bothBytesText(result.budget), bytesText(result.basePeak), bytesText(result.floor),
                            result.floorAt));
    if (result.plan) {
        context.say(fmt::format("{}: peak {}, cost +{:.2f} % (at least +{:.2f} %; gap {:.2f} %), {:.3f} s",
                                result.planner, bytesText(result.peak), percentOver(result.cost, result.baseCost),
                                percentOver(result.lowerBound, result.baseCost), 100 * result.gap(), result.seconds));
    } else if (result.peak > 0) {
        context.say(fmt::format("the least peak that was reached is {}", bytesText(result.peak)));
    }
    if (result.plan && result.movedBytes > 0) {
        context.say(
            fmt::format("{} moved; the cost is the time with what waits for copies", bytesText(result.movedBytes)));
    }
}

/// Which order and blocks, and what is computed again.
void sayWhy(const Context& context, const OpGraph& joint, const PlanResult& result)
{
    context.table(attemptFields(result.baseCost), result.attempts);
    if (!result.plan) {
        return;
    }
    const schedule::Annotations& notes = result.plan->annotations;
    context.say(fmt::format("order: {} (forward operators in it, the second half in reverse)", result.order));
    if (notes.blocks.empty()) {
        context.say("blocks: none; values are chosen one by one");
    } else {
        context.say(fmt::format("blocks: {}, cut behind forward operators {}", notes.blocks.size(),
                                fmt::join(notes.blocks, ", ")));
    }
    const schedule::Simulation run = schedule::simulate(joint, *result.plan);
    context.say(fmt::format("{} operators run again, {} computations of cost {:g}",
                            std::ranges::count_if(run.runs, [](std::uint32_t runs) { return runs > 1; }),
                            run.recomputations, run.recomputeCost));
    for (analysis::OpId op = 0; op < joint.size(); ++op) {
        if (run.runs[op] > 1) {
            context.say(fmt::format("  {:<40.40} {} ×  cost {:<12g} {}", joint.op(op).name, run.runs[op],
                                    joint.op(op).cost, bytesText(joint.outputBytes(op, true))));
        }
    }
}

/// Where values may move to, and how long computations take beside that.
Result<void> setTier(const PlanOptions& options, analysis::CostUnit unit, schedule::PlanRequest& request)
{
    const bool isTimed = unit == analysis::CostUnit::Milliseconds;
    request.secondsPerCost = options.secondsPerCost > 0 ? options.secondsPerCost : isTimed ? 1e-3 : 1;
    if (options.tier.empty()) {
        return {};
    }
    if (!isTimed && options.secondsPerCost <= 0) {
        return base::usageError(fmt::format("costs are in {}: say with --seconds-per-cost how long one takes, or no "
                                            "copy can be set beside them",
                                            analysis::nameOf(unit)),
                                "--tier " + options.tier);
    }
    RETRO_TRY(request.tier, schedule::parseTier(options.tier));
    return {};
}

/// Choices of values are for the strategy that carries them out, and a value is kept or computed again, not both.
Result<void> checkChoices(const PlanOptions& options)
{
    const bool hasChoices = !options.keep.empty() || !options.recompute.empty();
    if (hasChoices && options.strategy != "user") {
        return base::usageError("values are chosen one by one with --strategy user; the others choose themselves",
                                options.keep.empty() ? "--recompute" : "--keep");
    }
    return {};
}

/// The joint graph with its ids in the order of the plan, as it is drawn; the plan becomes one of it.
Result<JointGraph> jointOf(const PlanningOptions& options, const analysis::PlanningGraph& planning,
                           const JointGraph& joint, PlanResult& result)
{
    if (analysis::hasGradients(planning.graph)) {
        return joint;
    }
    RETRO_TRY(const std::vector<analysis::OpId> order, analysis::orderNamed(planning.graph, result.order));
    RETRO_TRY(JointGraph drawn, analysis::jointOf(planning.graph, order, options.joint(planning.unit)));
    RETRO_TRY(result.plan,
              schedule::parsePlanJson(drawn.graph, schedule::toPlanJson(joint.graph, *result.plan), "plan"));
    return drawn;
}

/// As the window shows it: the schedule as .svg, .png or .pdf, its steps as .csv. Errors: Usage (ending), Output.
Result<void> exportPlan(const views::ShownPlanPointer& plan, const std::string& path, bool isDark)
{
    if (path.ends_with(".csv")) {
        return base::writeFile(path, views::scheduleCsv(*plan, {}));
    }
    ensureGuiApplication();
    views::PlanModel model;
    model.setSubject(plan->subject);
    model.setBudget(plan->question.budget);
    model.takePlan(plan);
    views::SchedulePane pane(model);
    pane.takePlan();
    const QSizeF size(1200, 700);
    const views::Theme& theme = views::Theme::of(isDark ? views::ThemeKind::Dark : views::ThemeKind::Light);
    return views::paintToFile(
        path, size, [&](QPainter& painter) { pane.paint(painter, size, theme); }, QStringLiteral("Plan"),
        {{"model", plan->subject->model.toStdString()}, {"planner", plan->result.planner}}, 2);
}

/// The schedule as the window draws it.
Result<void> drawPlan(const PlanOptions& options, const analysis::PlanningGraph& planning, const JointGraph& joint,
                      const schedule::PlanRequest& request, const PlanResult& result)
{
    auto subject = std::make_shared<views::PlanSubject>();
    subject->model = QString::fromStdString(std::filesystem::path(options.planning.model.model).filename().string());
    PlanResult drawn = result;
    RETRO_TRY(subject->joint, jointOf(options.planning, planning, joint, drawn));
    subject->unit = planning.unit;
    subject->constantBytes = planning.constantBytes;
    subject->warnings = planning.warnings;
    subject->storeAllPeak = result.basePeak;
    subject->baseCost = result.baseCost;
    const views::PlanQuestion question{options.strategy, request.budget, request.choices, request.seconds,
                                       request.tier,     options.order,  request.blocks};
    return exportPlan(views::shownPlan(subject, question, drawn), options.picture, options.theme == "dark");
}

/// The plan, and where it is asked the search for it as a run that keeps the plan.
Result<PlanResult> searched(const PlanOptions& options, const engine::LoadedModel& model,
                            const analysis::PlanningGraph& planning, const JointGraph& joint,
                            schedule::PlanRequest& request)
{
    const engine::PlanPlaces places(*model.graph(), joint.graph);
    engine::SearchRecorder recorder(places, places.nodeOf(0));
    request.listener = options.runFile.empty() ? nullptr : &recorder;
    RETRO_TRY(PlanResult result,
              schedule::planInOrders(options.strategy, options.order, planning.graph, joint, request));
    if (options.runFile.empty()) {
        return result;
    }
    const auto kind = options.planning.isRelevance ? analysis::JointKind::Relevance : analysis::JointKind::Gradient;
    RETRO_CHECK(trace::writeRecorded(
        options.runFile, engine::searchedRun(model, planning.graph, joint, places, std::move(recorder).take(), result,
                                             options.strategy, {kind, planning.unit, planning.constantBytes, false})));
    return result;
}

Result<void> makePlan(Context& context, const PlanOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.planning.open());
    RETRO_TRY(const engine::SubjectPlanning made, options.planning.planningOf(*model));
    const analysis::PlanningGraph& planning = made.planning;
    RETRO_TRY(const JointGraph joint, jointIn(options.planning, planning));
    schedule::PlanRequest request;
    request.graph = &joint.graph;
    RETRO_CHECK(readBlocks(options, request.blocks));
    request.seconds = options.seconds;
    request.seed = options.seed;
    RETRO_TRY(const std::vector<engine::CountedBand> bands, options.planning.bands(*model, planning));
    RETRO_TRY(const SplitBudget budget, splitBudget(options.budget, joint.graph, bands));
    request.budget = budget.forResults;
    RETRO_CHECK(setTier(options, planning.unit, request));
    RETRO_TRY(request.choices.keep, valuesNamed(joint.graph, options.keep));
    RETRO_TRY(request.choices.recompute, valuesNamed(joint.graph, options.recompute));
    RETRO_TRY(PlanResult result, searched(options, *model, planning, joint, request));
    if (result.plan) {
        result.plan->subject = made.subject;
        result.plan->subject->order = result.order;
    }
    if (result.plan && !options.out.empty()) {
        schedule::fillAnnotations(joint.graph, *result.plan);
        RETRO_CHECK(base::writeFile(options.out, schedule::toPlanJson(joint.graph, *result.plan)));
    }
    if (result.plan && !options.policy.empty()) {
        RETRO_TRY(const std::string policy, checkpointPolicy(*model->graph(), joint.graph, *result.plan));
        RETRO_CHECK(base::writeFile(options.policy, policy));
    }
    if (result.plan && !options.picture.empty()) {
        RETRO_CHECK(drawPlan(options, planning, joint, request, result));
    }
    if (context.json) {
        ordered_json json = resultJson(result);
        json["strategy"] = options.strategy;
        json["cost_unit"] = analysis::nameOf(planning.unit);
        json["warnings"] = planning.warnings;
        json["decisions"] = decisionsJson(made.subject.decisions);
        json["budget"] = budget.whole;
        json["budget_for_results"] = budget.forResults;
        addBands(json, bands);
        if (result.plan) {
            json["peak_tensors"] = schedule::peakTensorsJson(
                schedule::peakTensors(joint.graph, *result.plan, schedule::simulate(joint.graph, *result.plan)));
        }
        context.answer(json);
    } else {
        sayBands(context, bands);
        sayResult(context, result);
        if (options.explains) {
            sayWhy(context, joint.graph, result);
        }
    }
    context.exitCode = result.plan ? 0 : exitCodeOf(base::ErrorCode::Engine);
    return {};
}

Result<void> runPlan(Context& context, const PlanOptions& options)
{
    if (options.strategy == "list") {
        return listStrategies(context);
    }
    if (options.planning.model.model.empty()) {
        return base::usageError("name the graph to plan for", "plan GRAPH");
    }
    RETRO_CHECK(checkChoices(options));
    if (!options.fit.empty()) {
        FitQuestion question{options.planning, options.fit, options.budget, options.strategy, options.order, {}};
        RETRO_CHECK(readBlocks(options, question.request.blocks));
        question.request.seconds = options.seconds;
        question.request.seed = options.seed;
        return answerFit(context, question);
    }
    return makePlan(context, options);
}

ordered_json namesOf(const OpGraph& joint, const std::vector<schedule::OpValueId>& ids)
{
    return base::listOf(ids, [&](const schedule::OpValueId id) { return joint.value(id).name; });
}

ordered_json errorJson(const schedule::Simulation& run)
{
    if (run.ok()) {
        return nullptr;
    }
    return {{"kind", schedule::nameOf(run.error->kind)},
            {"step", base::orNull(run.error->step)},
            {"text", run.error->text}};
}

ordered_json simulationJson(const OpGraph& joint, const schedule::Simulation& run, const SimulateOptions& options,
                            std::optional<std::uint64_t> budget)
{
    ordered_json json;
    json["ok"] = run.ok();
    json["error"] = errorJson(run);
    const analysis::Bound floor = analysis::memoryFloor(joint);
    const auto bound = analysis::costBound(joint, budget.value_or(analysis::kMaxTotalBytes));
    json["peak"] = run.peak;
    json["peak_at"] = run.peakAt;
    json["base_peak"] = analysis::storeAllPeak(joint);
    json["floor"] = floor.bytes;
    json["cost"] = run.cost;
    json["base_cost"] = analysis::costOfAll(joint);
    json["lower_bound"] = base::orNull(bound);
    json["gap"] = bound && *bound > 0 && run.ok() ? ordered_json(std::max(0.0, run.cost / *bound - 1)) : ordered_json();
    const bool isOptimal = run.ok() && bound && run.cost <= *bound * (1 + 1e-12) && run.movedBytes == 0;
    json["status"] = run.ok() ? (isOptimal ? "optimal" : "feasible") : "infeasible_in_this_order";
    json["seconds"] = run.seconds;
    json["stalls"] = run.stalls;
    json["moved_bytes"] = run.movedBytes;
    json["recompute_cost"] = run.recomputeCost;
    json["recomputations"] = run.recomputations;
    json["frees"] = run.frees;
    json["left_at_end"] = namesOf(joint, run.leftAtEnd);
    json["at_peak"] = namesOf(joint, run.atPeak);
    ordered_json steps = ordered_json::array();
    for (std::size_t i = 0; i < std::min(options.rows, run.steps.size()); ++i) {
        const schedule::SimulatedStep& step = run.steps[i];
        steps.push_back({step.before, step.transient, step.after, step.start, step.stall});
    }
    json["steps"] = steps;
    return json;
}

Result<void> judgePlan(Context& context, const SimulateOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.planning.open());
    RETRO_TRY(const engine::SubjectPlanning made, options.planning.planningOf(*model));
    const analysis::PlanningGraph& planning = made.planning;
    RETRO_TRY(const std::vector<engine::CountedBand> bands, options.planning.bands(*model, planning));
    if (options.order != schedule::kAutoOrder && !analysis::hasGradients(planning.graph)) {
        RETRO_CHECK(analysis::orderNamed(planning.graph, options.order)); // it is not needed, but has to be one
    }
    RETRO_TRY(const JointGraph joint, jointIn(options.planning, planning));
    RETRO_TRY(std::string text, base::readTextFile(options.plan, schedule::kMaxPlanBytes));
    bool isOfAnother = false;
    RETRO_TRY(const schedule::Plan plan,
              schedule::parsePlanJson(joint.graph, std::move(text), options.plan, &isOfAnother,
                                      schedule::decisionCheck(made.subject.decisions)));
    schedule::SimulationOptions simulation;
    simulation.secondsPerCost = options.secondsPerCost;
    if (!options.budget.empty()) {
        RETRO_TRY(const SplitBudget budget, splitBudget(options.budget, joint.graph, bands));
        simulation.budget = budget.forResults;
    }
    const schedule::Simulation run = schedule::simulate(joint.graph, plan, simulation);
    if (context.json) {
        ordered_json json =
            simulationJson(joint.graph, run, options, simulation.budget ? simulation.budget : plan.budget);
        json["hash"] = isOfAnother ? "differs" : "same";
        addBands(json, bands);
        json["peak_tensors"] = schedule::peakTensorsJson(schedule::peakTensors(joint.graph, plan, run));
        context.answer(json);
    } else {
        if (isOfAnother) {
            context.say("note: hash: differs; the plan says that it was made for another graph");
        }
        sayBands(context, bands);
        context.say(run.ok() ? "the plan holds" : "the plan fails: " + run.error->text);
        context.say(fmt::format(
            "peak {} at step {}, cost {:g} (+{:.2f} %), {} computations repeated, {} moved, stalls {:g}",
            bytesText(run.peak), run.peakAt, run.cost, percentOver(run.cost, analysis::costOfAll(joint.graph)),
            run.recomputations, bytesText(run.movedBytes), run.stalls));
    }
    context.exitCode = run.ok() ? 0 : exitCodeOf(base::ErrorCode::Engine);
    return {};
}

} // namespace

void addPlan(CLI::App& program, Context& context)
{
    auto options = std::make_shared<PlanOptions>();
    CLI::App* verb = addVerb(program, context, "plan", "Make a plan of what to keep and what to compute again",
                             [&context, options] { return runPlan(context, *options); });
    options->planning.addTo(*verb, context);
    verb->get_option("MODEL")->required(false);
    verb->add_option("--strategy", options->strategy, "fast (default), best, or a planner; list names them");
    verb->add_option("--budget", options->budget,
                     "Bytes (4096, 8GB, 1.5GiB), or P% of the store-all peak (default: that peak)");
    verb->add_option("--order", options->order,
                     "Order of the forward operators, as `analyze` names it (default auto: the best three and kahn)");
    verb->add_option("--blocks", options->blocks,
                     "How many blocks planners cut into (chen_sqrt, interval, knapsack, rotor, revolve); default auto");
    verb->add_option("--block-size", options->blockSize, "Operators of a block, in place of --blocks; default auto");
    verb->add_option("--block-bytes", options->blockBytes,
                     "Bytes of the results of a block, in place of --blocks; default auto");
    verb->add_option("--keep", options->keep, "A value that stays (strategy user)")->allow_extra_args(false);
    verb->add_option("--recompute", options->recompute, "A value that is computed again (strategy user)")
        ->allow_extra_args(false);
    verb->add_option("--tier", options->tier,
                     "NAME=BYTES: values may be moved to this place (memory, compressed, disk), with so many bytes per "
                     "second both ways");
    verb->add_option("--seconds-per-cost", options->secondsPerCost,
                     "Seconds of one unit of cost, beside copies (default: 0.001 where costs are milliseconds)")
        ->check(positiveNumber());
    verb->add_option("--seconds", options->seconds, "Time limit (default 10)")->check(finiteNumber(0.01, 86400.0));
    verb->add_option("--seed", options->seed, "Of the planners that draw")->check(wholeNumber());
    verb->add_option("--fit", options->fit,
                     "NAME: the largest extent of this symbol of the inputs that fits into --budget; NAME=N: whether N "
                     "fits");
    context.addOutput(verb->add_option("--out", options->out, "Write the plan to this file (.json)"), "the plan");
    context.addOutput(
        verb->add_option("--policy", options->policy,
                         "Of a captured run of PyTorch: write the plan as a policy of torch.utils.checkpoint (.json)"),
        "the policy");
    context.addOutput(
        verb->add_option("--run", options->runFile,
                         "Record the search, and the plan as the simulator carries it out, into this .retro file"),
        "the run");
    context.addOutput(verb->add_option("--picture", options->picture,
                                       "Draw the schedule to this file (.svg, .png, .pdf), or list its steps (.csv)"),
                      "the picture");
    verb->add_option("--theme", options->theme, "Colours of the picture: light (default) or dark")
        ->check(CLI::IsMember({"light", "dark"}));
    verb->add_flag("--explain", options->explains,
                   "Print the order, the blocks, what each planner reached, and which operators run again");
}

void addSimulate(CLI::App& program, Context& context)
{
    auto options = std::make_shared<SimulateOptions>();
    CLI::App* verb = addVerb(program, context, "simulate", "Judge a plan: peak, cost, first error with its step",
                             [&context, options] { return judgePlan(context, *options); });
    options->planning.addTo(*verb, context);
    verb->add_option("PLAN", options->plan, "Plan file (docs/formats/plan.md)")->required();
    verb->add_option("--budget", options->budget,
                     "Bytes (4096, 8GB, 1.5GiB), or P% of the store-all peak (default: the plan's own)");
    verb->add_option("--order", options->order, "Order that the plan was made in; accepted, and not needed");
    verb->add_option("--seconds-per-cost", options->secondsPerCost,
                     "For the time of computations beside copies (default 1)")
        ->check(positiveNumber());
    verb->add_option("--rows", options->rows, "Steps in the JSON answer (default none)")->check(wholeNumber());
}

} // namespace retro::app
