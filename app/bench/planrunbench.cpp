// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"

#include "app/cli/planningoptions.h"
#include "app/common/benchmarkmodels.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/rewrite/rewrite.h"
#include "core/runtime/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <malloc.h>
#include <string>

namespace retro::app
{

namespace
{

using base::Result;

constexpr double kGoal = 1.05; ///< measured time / (time of store-all · cost ratio)
/// What a pass takes beside the tensors of its plan: packed operands, copies in another layout, a view beside what it
/// looks at: 45 MiB in ResNet-50, and what the allocator has between its blocks. The process may take a tenth more than
/// the store, and this.
constexpr std::int64_t kBeside = 64LL << 20;
constexpr std::array kRunShares{80, 50, 30};
constexpr std::array<std::string_view, 2> kNetworks{"resnet50", "gpt2"};

/// A network, bound, and the question that its gradient answers.
struct Subject
{
    std::shared_ptr<const execute::BoundModel> model;
    engine::GradientRequest request;
};

Result<Subject> subjectOf(std::string_view network)
{
    const auto at = std::ranges::find(benchmarkModels(), network, &BenchmarkModel::name);
    if (at == benchmarkModels().end()) {
        return base::usageError("there is no such network", std::string(network));
    }
    RETRO_TRY(graph::Graph built, at->make());
    rewrite::RewriteOptions options;
    options.keepDigits = false; // as a loaded model is rewritten
    RETRO_TRY(const rewrite::Rewritten rewritten,
              rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(built)), options));
    const std::vector<ops::TensorType> types{{tensor::DType::Float32, at->input}};
    Subject subject;
    RETRO_TRY(subject.model, execute::BoundModel::bind(rewritten.graph, types, execute::Precision::Float));
    subject.request.inputs = {tensor::Tensor::full(tensor::DType::Float32, at->input, 0.5)};
    return subject;
}

/// A line of /proc/self/status in bytes; 0 where there is none.
std::int64_t statusBytes(std::string_view field)
{
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with(field)) {
            return std::atoll(line.c_str() + field.size() + 1) * 1024;
        }
    }
    return 0;
}

/// Sets the highest resident size of the process back to the present one; false where the system does not allow it.
bool resetResidentPeak()
{
    std::ofstream clear("/proc/self/clear_refs");
    clear << 5;
    clear.close();
    return !clear.fail();
}

/// What runs of one plan took.
struct Taken
{
    std::vector<double> seconds;
    engine::PlannedGradient last;
    std::int64_t processPeak = 0; ///< bytes beyond what the process had before; 0 = not known
};

Result<void> runOnce(const Subject& subject, const engine::PlanOptions& wish, Taken& taken)
{
    malloc_trim(0); // what earlier passes left free would hide what this one takes
    const bool isMeasured = resetResidentPeak();
    const std::int64_t before = statusBytes("VmRSS");
    RETRO_TRY(taken.last, engine::plannedGradient(subject.model, subject.request, wish));
    if (isMeasured) {
        taken.processPeak = std::max(taken.processPeak, statusBytes("VmHWM") - before);
    }
    taken.seconds.push_back(taken.last.run.seconds);
    return {};
}

/// A wish and what its passes took.
struct Side
{
    const engine::PlanOptions& wish;
    Taken& taken;
};

/// The two in turns, so that a busy machine slows both.
Result<void> runInTurns(const Subject& subject, int runs, Side first, Side second)
{
    for (int run = 0; run < runs; ++run) {
        RETRO_CHECK(runOnce(subject, first.wish, first.taken));
        RETRO_CHECK(runOnce(subject, second.wish, second.taken));
    }
    return {};
}

double medianOf(std::vector<double> seconds)
{
    std::ranges::sort(seconds);
    return seconds[seconds.size() / 2];
}

void sayShare(const Context& context, const std::string& name, const Taken& all, const Taken& taken)
{
    const runtime::Profile profile = runtime::profileOf(taken.last.run);
    const double measured = medianOf(taken.seconds) / medianOf(all.seconds);
    const auto most = static_cast<std::int64_t>(1.1 * static_cast<double>(profile.measuredPeak)) + kBeside;
    const char* const within = taken.processPeak <= 0 ? "?" : taken.processPeak <= most ? "holds" : "missed";
    context.say(fmt::format("{:<24} {:>12} {:>12} {:>12} {:>7} {:>8.3f} {:>8.3f} {:>8.3f}  {}", name,
                            bytesText(profile.measuredPeak),
                            bytesText(static_cast<std::uint64_t>(taken.last.run.tensorsPeak)),
                            taken.processPeak > 0 ? bytesText(static_cast<std::uint64_t>(taken.processPeak)) : "?",
                            within, profile.predictedRatio, measured, measured / profile.predictedRatio,
                            taken.last.chosen.plan.annotations.planner));
}

Result<void> runNetwork(std::string_view network, const BenchmarkRequest& request, const Context& context,
                        std::vector<BenchmarkFigure>& figures)
{
    RETRO_TRY(const Subject subject, subjectOf(network));
    engine::PlanOptions keepAll;
    keepAll.strategy = "store_all";
    Taken warmed;
    RETRO_CHECK(runOnce(subject, keepAll, warmed));
    for (const int share : kRunShares) {
        const std::string name = fmt::format("planrun/{}/{}", network, share);
        const bool isChosen =
            std::ranges::any_of(request.names, [&](const std::string& start) { return name.starts_with(start); });
        if (!isChosen) {
            continue;
        }
        engine::PlanOptions wish;
        wish.budget = fmt::format("{}%", share);
        Taken all;
        Taken taken;
        const Result<void> compared = runInTurns(subject, request.runs, {wish, taken}, {keepAll, all});
        if (!compared.ok() && compared.error().code == base::ErrorCode::Engine) { // no plan is an answer
            context.say(fmt::format("{:<24} {}", name, compared.error().text()));
            continue;
        }
        RETRO_CHECK(compared);
        if (share == kRunShares.front() || request.names.front() == name) {
            sayShare(context, fmt::format("planrun/{}/100", network), all, all);
        }
        sayShare(context, name, all, taken);
        const double goal = kGoal * medianOf(all.seconds) * runtime::profileOf(taken.last.run).predictedRatio;
        figures.push_back(figureOf(name, taken.seconds, goal));
    }
    return {};
}

} // namespace

Result<std::vector<BenchmarkFigure>> runPlanRunBenchmarks(const BenchmarkRequest& request, const Context& context)
{
    context.say(fmt::format("within: the process takes at most 1.1 x the store and {} beside what it had before",
                            bytesText(static_cast<std::uint64_t>(kBeside))));
    context.say(fmt::format("{:<24} {:>12} {:>12} {:>12} {:>7} {:>8} {:>8} {:>8}  {}", "gradient by a plan", "store",
                            "all tensors", "process", "within", "cost", "time", "time/cost", "planner"));
    std::vector<BenchmarkFigure> figures;
    for (const std::string_view network : kNetworks) {
        const std::string group = fmt::format("planrun/{}", network);
        const bool isWanted = std::ranges::any_of(
            request.names, [&](const std::string& name) { return group.starts_with(name) || name.starts_with(group); });
        if (isWanted) {
            RETRO_CHECK(runNetwork(network, request, context, figures));
        }
    }
    return figures;
}

} // namespace retro::app
