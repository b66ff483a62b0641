// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "core/analysis/fromgraph.h"
#include "core/analysis/report.h"
#include "core/formats/modelfile.h"
#include "core/schedule/portfolio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>

namespace retro::app
{

namespace
{

namespace fs = std::filesystem;
using analysis::OpGraph;
using base::Result;
using schedule::PlanResult;

constexpr std::array kShares{90, 80, 70, 50, 30};
/// Joint graphs up to this size are given to the integer programme for a proof, for so many seconds.
constexpr std::size_t kMostForProof = 120;
constexpr double kProofSeconds = 20;
/// Joint graphs beyond this size are given only to the planners that `fast` asked.
constexpr std::size_t kMostForAll = 20000;
/// How long `best` has. Planners that go on as long as they may, and that it is compared with, have a little less than
/// half: what `best` gives one.
constexpr double kBestSeconds = 5;
constexpr double kAloneShare = 0.4;
/// Plans whose cost is within this share of the lower bound are within it of the optimum, whatever that is.
constexpr double kClose = 0.01;
constexpr std::array kColumns{"dtr",
                              "shave",
                              "rotor",
                              "revolve",
                              "interval",
                              "chen_sqrt",
                              "min_cut",
                              "knapsack",
                              "torch_every_2nd_mm",
                              "torch_memory_budget"};

double secondsOf(const std::function<void()>& work)
{
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool isAsked(const std::string& name, const std::vector<std::string>& names)
{
    return names.empty() || std::ranges::any_of(names, [&](const std::string& start) {
               return name.starts_with(start) || start.starts_with(name + "/");
           });
}

std::vector<fs::path> graphFiles()
{
    std::vector<fs::path> files;
    const char* const given = std::getenv("RETROGRADE_PLAN_GRAPHS");
    for (const fs::path& folder : {fs::path("samples/graphs"), fs::path(given == nullptr ? "" : given)}) {
        std::error_code error;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
            if (entry.path().extension() == ".json") {
                files.push_back(entry.path());
            }
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

/// "+1.23", or "–" for a planner without a plan that fits.
std::string overheadOf(const PlanResult& result, const std::string& planner)
{
    for (const schedule::Attempt& one : result.attempts) {
        if (one.planner == planner && one.fits && result.baseCost > 0) {
            return fmt::format("{:+.2f}", 100 * (one.cost / result.baseCost - 1));
        }
    }
    return "–";
}

void sayHead(const Context& context)
{
    std::string line = fmt::format("{:<22} {:>3} {:>8} {:>8} {:>8} {:>9} {:>6}  {:<10}", "graph, cost in %", "at",
                                   "bound", "fast", "best", "optimum", "gap", "status");
    for (const char* const planner : kColumns) {
        line += fmt::format(" {:>9.9}", planner);
    }
    context.say(line);
}

/// The least cost of all plans, as far as it is known.
struct Optimum
{
    double cost = -1; ///< negative: not known
    /// Of all plans whose first computations stand in the order of the graph, as the integer programme proves it; else
    /// of all plans.
    bool isInOrder = false;

    [[nodiscard]] bool isKnown() const { return cost > 0; }
};

std::string costOver(const PlanResult& result)
{
    return result.plan ? fmt::format("{:+.2f}", 100 * (result.cost / std::max(result.baseCost, 1e-300) - 1)) : "–";
}

/// The plans of both strategies for one graph and budget.
struct Row
{
    PlanResult fast;
    PlanResult best;
};

void sayRow(const Context& context, const std::string& graph, int share, const Row& row, const Optimum& optimum)
{
    const double base = std::max(row.fast.baseCost, 1e-300);
    const std::string least =
        optimum.isKnown() ? fmt::format("{:+.2f}{}", 100 * (optimum.cost / base - 1), optimum.isInOrder ? "o" : " ")
                          : "? ";
    const std::string gap =
        optimum.isKnown() && row.best.plan ? fmt::format("{:+.2f}", 100 * (row.best.cost / optimum.cost - 1)) : "?";
    std::string line = fmt::format("{:<22.22} {:>3} {:>8} {:>8} {:>8} {:>9} {:>6}  {:<10.10}", graph, share,
                                   fmt::format("{:+.2f}", 100 * (row.best.lowerBound / base - 1)), costOver(row.fast),
                                   costOver(row.best), least, gap, schedule::nameOf(row.best.status));
    for (const char* const planner : kColumns) {
        line += fmt::format(" {:>9}", overheadOf(row.fast, planner));
    }
    context.say(line);
}

/// Plans again where that is quick: how long each took.
Result<std::vector<double>> planTimes(const schedule::PlanRequest& plan, double first, int runs)
{
    std::vector<double> seconds{first};
    const int wanted = plan.graph->size() > 3000 ? 1 : std::min(runs, 3);
    for (int run = 1; run < wanted; ++run) {
        RETRO_TRY(const PlanResult again, schedule::planWith("fast", plan));
        seconds.push_back(again.seconds);
    }
    return seconds;
}

/// Seconds that a plan of this graph may take; 0 = nobody set any.
double goalOf(const fs::path& path, const OpGraph& joint)
{
    if (path.stem() == "resnet50") {
        return 1;
    }
    return joint.size() > 9000 ? 30 : 0;
}

/// Is the plan of a strategy dearer than that of one of the planners that it may ask, alone? It never may be.
Result<void> checkAgainst(const std::string& name, const schedule::PlanRequest& plan, const PlanResult& result,
                          const std::function<bool(const schedule::Planner&)>& isAsked)
{
    for (const schedule::Planner& planner : schedule::planners()) {
        if (!isAsked(planner)) {
            continue;
        }
        RETRO_TRY(const PlanResult alone, schedule::planWith(planner.name, plan));
        if (alone.plan && (!result.plan || alone.cost < result.cost * (1 - 1e-9))) {
            return base::Error{base::ErrorCode::Bug,
                               fmt::format("the plan of {} alone costs {:g}, that of all {:g}", planner.name,
                                           alone.cost, result.plan ? result.cost : 0),
                               name};
        }
    }
    return {};
}

/// Each planner of `fast` alone against it and `best`; those that go on, too, where nothing is proven.
Result<void> checkAgainstPlanners(const std::string& name, const schedule::PlanRequest& plan, const Row& row)
{
    const bool isLarge = plan.graph->size() > kMostForAll;
    const auto isAsked = [&](const schedule::Planner& planner) {
        const bool wasAsked = std::ranges::any_of(
            row.fast.attempts, [&](const schedule::Attempt& attempt) { return attempt.planner == planner.name; });
        return planner.isFast && (wasAsked || !isLarge);
    };
    RETRO_CHECK(checkAgainst(name, plan, row.fast.cost < row.best.cost ? row.best : row.fast, isAsked));
    if (row.best.status != schedule::PlanStatus::Feasible) {
        return {};
    }
    schedule::PlanRequest alone = plan;
    alone.seconds = kBestSeconds * kAloneShare;
    return checkAgainst(name, alone, row.best, [](const schedule::Planner& planner) { return !planner.isFast; });
}

/// What `best` makes of a request for which `fast` has no proof.
Result<PlanResult> bestOf(schedule::PlanRequest plan, const PlanResult& fast)
{
    plan.seconds = kBestSeconds;
    const bool isOpen =
        fast.status == schedule::PlanStatus::Feasible || fast.status == schedule::PlanStatus::InfeasibleInThisOrder;
    return isOpen ? schedule::planWith("best", plan) : Result<PlanResult>(fast);
}

/// Planning again while a budget is dragged: what the window does per step of the slider.
Result<void> timeSlider(const std::string& name, const OpGraph& joint, const BenchmarkRequest& request,
                        std::vector<BenchmarkFigure>& figures)
{
    constexpr double kGoal = 0.3;
    const std::uint64_t all = analysis::storeAllPeak(joint);
    std::vector<double> seconds;
    for (int run = 0; run < request.runs; ++run) {
        for (const std::uint64_t thousandths : {905U, 815U, 725U, 635U, 545U}) {
            schedule::PlanRequest plan;
            plan.graph = &joint;
            plan.budget = all / 1000 * thousandths;
            RETRO_TRY(const PlanResult result, schedule::planWith("fast", plan));
            seconds.push_back(result.seconds);
        }
    }
    figures.push_back(figureOf(name + "/slider", std::move(seconds), kGoal));
    return {};
}

/// How close `best` comes to the optima that are known.
struct Known
{
    int rows = 0;
    int plans = 0;      ///< rows with a plan
    int optimal = 0;    ///< rows whose optimum is known
    int close = 0;      ///< rows that the lower bound shows to be close to the optimum
    int impossible = 0; ///< rows for which it is proven that no plan fits
    double worst = 0;   ///< cost of `best` over it, less 1
    std::string where;  ///< of the worst

    void add(const std::string& name, const PlanResult& best, const Optimum& optimum)
    {
        ++rows;
        plans += best.plan ? 1 : 0;
        impossible += best.status == schedule::PlanStatus::Infeasible ? 1 : 0;
        close += best.plan && best.gap() <= kClose ? 1 : 0;
        if (!optimum.isKnown() || !best.plan) {
            return;
        }
        ++optimal;
        const double over = best.cost / optimum.cost - 1;
        if (over >= worst) {
            worst = over;
            where = name;
        }
    }
};

/// The optimum, where a bound is reached or the integer programme proves one in time.
Result<Optimum> optimumOf(const schedule::PlanRequest& asked, const PlanResult& best)
{
    if (best.status == schedule::PlanStatus::Optimal) {
        return Optimum{best.cost, false};
    }
    for (const schedule::Attempt& attempt : best.attempts) {
        if (attempt.isOptimalInOrder) {
            return Optimum{attempt.cost, true};
        }
    }
    if (!best.plan || asked.graph->size() > kMostForProof) {
        return Optimum{};
    }
    schedule::PlanRequest longer = asked;
    const std::vector<schedule::OpId> known = schedule::sequenceOf(*best.plan);
    longer.known = &known;
    longer.seconds = kProofSeconds;
    RETRO_TRY(const PlanResult proof, schedule::planWith("checkmate", longer));
    const bool isProven = proof.plan && proof.attempts.front().isOptimalInOrder;
    return isProven ? Optimum{proof.cost, true} : Optimum{};
}

Result<void> planFile(const fs::path& path, const BenchmarkRequest& request, const Context& context,
                      std::vector<BenchmarkFigure>& figures, Known& known)
{
    const std::string name = "plans/" + path.stem().string();
    if (!isAsked(name, request.names)) {
        return {};
    }
    RETRO_TRY(const auto graph, formats::readModelFile(path));
    RETRO_TRY(const analysis::PlanningGraph planning, analysis::planningGraph(*graph));
    RETRO_TRY(const analysis::JointGraph joint, analysis::jointOf(planning.graph, planning.graph.order(), {}));
    const std::uint64_t all = analysis::storeAllPeak(joint.graph);
    for (const int share : kShares) {
        schedule::PlanRequest plan;
        plan.graph = &joint.graph;
        plan.budget =
            all / 100 * static_cast<std::uint64_t>(share) + all % 100 * static_cast<std::uint64_t>(share) / 100;
        plan.seconds = 30;
        Row row;
        RETRO_TRY(row.fast, schedule::planWith("fast", plan));
        RETRO_TRY(std::vector<double> seconds, planTimes(plan, row.fast.seconds, request.runs));
        RETRO_TRY(row.best, bestOf(plan, row.fast));
        const std::string figure = fmt::format("{}/{}", name, share);
        RETRO_TRY(const Optimum optimum, optimumOf(plan, row.best));
        sayRow(context, path.stem().string(), share, row, optimum);
        RETRO_CHECK(checkAgainstPlanners(figure, plan, row));
        known.add(figure, row.best, optimum);
        figures.push_back(figureOf(figure, std::move(seconds), goalOf(path, joint.graph)));
    }
    if (path.stem() == "resnet50") {
        RETRO_CHECK(timeSlider(name, joint.graph, request, figures));
    }
    return {};
}

/// Equal residual blocks: three forward operators each, or 100,000 of them for the analysis.
Result<OpGraph> residualGraph(std::size_t operators)
{
    std::vector<analysis::Op> ops;
    std::vector<analysis::OpValue> values;
    const auto add = [&](std::vector<std::uint32_t> inputs, std::uint64_t bytes, double cost, bool savesInput,
                         bool savesOutput) {
        const auto id = static_cast<std::uint32_t>(ops.size());
        analysis::Op op;
        op.name = fmt::format("n{}", id);
        op.outputs = {id};
        op.savedInputs = savesInput ? inputs : std::vector<std::uint32_t>();
        op.savedOutputs = savesOutput ? op.outputs : std::vector<std::uint32_t>();
        op.phase = inputs.empty() ? analysis::Phase::Source : analysis::Phase::Forward;
        op.inputs = std::move(inputs);
        op.cost = op.flops = cost;
        ops.push_back(std::move(op));
        values.emplace_back();
        values.back().name = fmt::format("v{}", id);
        values.back().bytes = bytes;
        return id;
    };
    std::uint32_t x = add({}, 1, 0, false, false);
    while (ops.size() + 3 <= operators) {
        const std::uint32_t conv = add({x}, 2, 4, true, false);
        const std::uint32_t relu = add({conv}, 2, 1, false, true);
        x = add({relu, x}, 1, 1, false, false);
    }
    values.back().isOutput = true;
    return OpGraph::make(std::move(ops), std::move(values));
}

Result<void> timeLargeGraphs(const BenchmarkRequest& request, std::vector<BenchmarkFigure>& figures)
{
    if (isAsked("plans/analysis-100k", request.names)) {
        RETRO_TRY(const OpGraph graph, residualGraph(100'000));
        std::vector<double> seconds;
        for (int run = 0; run < request.runs; ++run) {
            seconds.push_back(secondsOf([&] { (void)analysis::makeReport(graph, {}, {}); }));
        }
        figures.push_back(figureOf("plans/analysis-100k", std::move(seconds), 0.5));
    }
    RETRO_TRY(const OpGraph forward, residualGraph(5'000));
    RETRO_TRY(const analysis::JointGraph joint, analysis::jointGraph(forward, forward.order()));
    schedule::PlanRequest plan;
    plan.graph = &joint.graph;
    plan.budget = analysis::storeAllPeak(joint.graph) / 2;
    plan.seconds = 25;
    for (const auto& [strategy, goal] : {std::pair{"dtr", 2.0}, {"shave", 0.0}, {"fast", 30.0}, {"best", 30.0}}) {
        const std::string name = fmt::format("plans/10k-{}/50", strategy);
        if (isAsked(name, request.names)) {
            RETRO_TRY(const PlanResult result, schedule::planWith(strategy, plan));
            figures.push_back(figureOf(name, {result.seconds}, goal));
        }
    }
    return {};
}

} // namespace

Result<std::vector<BenchmarkFigure>> runPlanBenchmarks(const BenchmarkRequest& request, const Context& context)
{
    std::vector<BenchmarkFigure> figures;
    sayHead(context);
    Known known;
    for (const fs::path& path : graphFiles()) {
        RETRO_CHECK(planFile(path, request, context, figures, known));
    }
    context.say(fmt::format(
        "optimum: of all plans, or (o) of those in the order of the graph; of {} rows {} have a plan and {} provably "
        "none; the optimum is known of {}, and best is at most +{:.2f} % over it{}; of {} rows the lower bound shows "
        "that best is within {:g} % of the optimum; no planner alone is cheaper than all together",
        known.rows, known.plans, known.impossible, known.optimal, 100 * known.worst,
        known.worst > 0 ? " (" + known.where + ")" : "", known.close, 100 * kClose));
    RETRO_CHECK(timeLargeGraphs(request, figures));
    return figures;
}

} // namespace retro::app
