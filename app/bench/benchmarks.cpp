// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"
#include "app/bench/gradientbench.h"
#include "app/bench/lutbenchmarks.h"

#ifdef RETRO_HAVE_BENCHMARK

#include "app/bench/traversalbench.h"
#include "app/common/benchmarkmodels.h"
#include "app/common/syntheticgraph.h"
#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/input/inputs.h"
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/layout/graphadapter.h"
#include "core/layout/layout.h"
#include "core/rewrite/rewrite.h"
#include "core/trace/timeline.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unistd.h>

namespace retro::app
{

namespace
{

using base::Result;

/// Nodes of the graphs that are made up.
constexpr std::size_t kManyNodes = 20'000;

/// Collects wall seconds per iteration; prints nothing.
class Collector final : public benchmark::BenchmarkReporter
{
public:
    bool ReportContext(const Context&) override { return true; }
    void ReportRuns(const std::vector<Run>& report) override
    {
        for (const Run& run : report) {
            if (run.run_type == Run::RT_Iteration && run.iterations > 0) {
                seconds[run.run_name.function_name].push_back(run.real_accumulated_time /
                                                              static_cast<double>(run.iterations));
            }
        }
    }
    std::map<std::string, std::vector<double>> seconds;
};

struct Sample
{
    std::filesystem::path path;
    engine::LoadedModelPointer model;
    engine::ExplainRequest request;
};

Result<std::shared_ptr<Sample>> loadSample(const std::string& folder)
{
    auto sample = std::make_shared<Sample>();
    sample->path = std::filesystem::path(folder) / "clever-hans.onnx";
    RETRO_TRY(sample->model, engine::loadModel(sample->path));
    if (!sample->model->card || sample->model->card->pictures.empty()) {
        return base::inputError("the sample has no card with pictures", folder);
    }
    const std::string picture = (std::filesystem::path(folder) / sample->model->card->pictures.front().file).string();
    RETRO_TRY(sample->request.inputs,
              engine::resolveInputs({picture}, *sample->model->graph(), engine::pictureOptions(&*sample->model->card)));
    return sample;
}

using Body = std::function<bool()>;

/// A benchmark whose body says whether it worked; a failure ends it with an error.
benchmark::internal::Benchmark* add(const std::string& name, Body body, int runs)
{
    return benchmark::RegisterBenchmark(name.c_str(),
                                        [body = std::move(body)](benchmark::State& state) {
                                            for (auto iteration : state) {
                                                static_cast<void>(iteration);
                                                if (!body()) {
                                                    state.SkipWithError("failed");
                                                    return;
                                                }
                                            }
                                        })
        ->Repetitions(runs)
        ->UseRealTime()
        ->ReportAggregatesOnly(false);
}

void addExplanations(const std::shared_ptr<Sample>& sample, int runs)
{
    for (const char* composite : {"epsilon", "epsilon_plus", "epsilon_alpha2_beta1", "epsilon_gamma_box", "gradient"}) {
        engine::ExplainRequest request = sample->request;
        request.composite = composite;
        add(
            std::string("explain/") + composite,
            [sample, request] { return engine::explain(*sample->model, request).ok(); }, runs);
    }
    engine::ExplainRequest recorded = sample->request;
    recorded.composite = "epsilon_plus";
    recorded.record = true;
    add(
        "explain/recorded", [sample, recorded] { return engine::explain(*sample->model, recorded).ok(); }, runs);
    engine::ExplainRequest oracle = sample->request;
    oracle.composite = "epsilon_plus";
    oracle.engine = engine::EngineKind::Oracle;
    add(
        "explain/oracle", [sample, oracle] { return engine::explain(*sample->model, oracle).ok(); }, runs);
}

Result<void> addLargeGraphs(int runs)
{
    RETRO_TRY(graph::Graph built, chainAndResidualGraph(kManyNodes));
    const auto graph = std::make_shared<const graph::Graph>(std::move(built));
    RETRO_TRY(const std::vector<std::byte> onnx, formats::toOnnx(*graph));
    const auto bytes = std::make_shared<const std::vector<std::byte>>(onnx);
    add(
        "onnx/read_20k", [bytes] { return formats::parseOnnx(*bytes, "synthetic").ok(); }, runs);
    const auto drawn = std::make_shared<const layout::DrawnGraph>(layout::readGraph(*graph));
    add(
        "layout/20k",
        [drawn] {
            layout::LayoutInput input;
            input.nodeSizes.assign(static_cast<std::size_t>(drawn->graph.nodeCount), {140, 28});
            input.edges = drawn->graph.edges;
            return layout::computeLayout(input).ok();
        },
        runs);
    return {};
}

Result<void> addTimeline(const std::shared_ptr<Sample>& sample, int runs)
{
    engine::ExplainRequest request = sample->request;
    request.record = true;
    RETRO_TRY(const engine::ExplainResult result, engine::explain(*sample->model, request));
    const std::shared_ptr<const trace::Run> run = result.run;
    add(
        "timeline/open", [run] { return trace::Timeline::open(run).ok(); }, runs);
    RETRO_TRY(trace::Timeline opened, trace::Timeline::open(run));
    const auto timeline = std::make_shared<trace::Timeline>(std::move(opened));
    add(
        "timeline/seek_there_and_back",
        [timeline] {
            timeline->seek(timeline->run().eventCount());
            timeline->seek(0);
            return timeline->position() == 0;
        },
        runs);
    return {};
}

bool isChosen(const std::string& name, const std::vector<std::string>& names)
{
    return names.empty() ||
           std::any_of(names.begin(), names.end(), [&](const std::string& start) { return name.starts_with(start); });
}

/// True when a benchmark whose name starts with `group` can be among the chosen.
bool isWanted(std::string_view group, const std::vector<std::string>& names)
{
    return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
               return group.starts_with(name) || name.starts_with(group);
           });
}

/// A forward pass of a network of a known shape: rewritten, bound and warmed once, then nothing but the pass.
Result<void> addForward(const BenchmarkModel& network, int runs)
{
    RETRO_TRY(graph::Graph built, network.make());
    rewrite::RewriteOptions options;
    options.keepDigits = false; // as a loaded model is rewritten
    RETRO_TRY(const rewrite::Rewritten rewritten,
              rewrite::rewrite(std::make_shared<const graph::Graph>(std::move(built)), options));
    const std::vector<ops::TensorType> types{{tensor::DType::Float32, network.input}};
    RETRO_TRY(const auto model, execute::BoundModel::bind(rewritten.graph, types, execute::Precision::Float));
    const auto inputs = std::make_shared<const std::vector<tensor::Tensor>>(
        std::vector<tensor::Tensor>{tensor::Tensor::full(tensor::DType::Float32, network.input, 0.5)});
    const auto pass = [model, inputs] { return execute::forward(model, *inputs, execute::SavePolicy::Nothing).ok(); };
    if (!pass()) {
        return base::Error{base::ErrorCode::Bug, "the forward pass failed", std::string(network.name)};
    }
    add(fmt::format("forward/{}", network.name), pass, runs);
    return {};
}

/// Networks take seconds to make and up to a gigabyte, so they are only made when they are asked for by name.
Result<void> addNetworks(const BenchmarkRequest& request)
{
    for (const BenchmarkModel& network : benchmarkModels()) {
        if (!request.names.empty() && isChosen(fmt::format("forward/{}", network.name), request.names)) {
            RETRO_CHECK(addForward(network, request.runs));
        }
    }
    return {};
}

using Goals = std::map<std::string, double>;

/// Networks are only made when they are asked for by name.
Result<void> addTraversals(const BenchmarkRequest& request, Goals& goals)
{
    std::vector<TimedBody> bodies;
    if (isWanted("traversal/control", request.names)) {
        bodies = controlBenchmarks();
    }
    if (!request.names.empty() && isWanted("traversal/resnet50", request.names)) {
        RETRO_TRY(const std::vector<TimedBody> more, recordingBenchmarks());
        bodies.insert(bodies.end(), more.begin(), more.end());
    }
    for (TimedBody& body : bodies) {
        goals[body.name] = body.goal;
        add(body.name, std::move(body.run), request.runs);
    }
    return {};
}

Result<void> addRewrites(const BenchmarkRequest& request, Goals& goals)
{
    if (isWanted(kRewrittenChain, request.names)) {
        RETRO_TRY(TimedBody body, rewriteBenchmark());
        goals[body.name] = body.goal;
        add(body.name, std::move(body.run), request.runs);
    }
    return {};
}

/// One chain runs with the others, the rest when they are named.
Result<void> addChains(const BenchmarkRequest& request, Goals& goals)
{
    for (const std::string& name : gradientChains()) {
        const bool isRun = request.names.empty() ? name == kTimedChain : isWanted(name, request.names);
        if (isRun) {
            RETRO_TRY(TimedBody body, chainBenchmark(name));
            goals[body.name] = body.goal;
            add(body.name, std::move(body.run), request.runs);
        }
    }
    return {};
}

/// Networks are only made when they are asked for by name.
Result<void> addGradients(const BenchmarkRequest& request, Goals& goals)
{
    RETRO_CHECK(addChains(request, goals));
    if (isWanted("gradient/operators/", request.names)) {
        RETRO_TRY(std::vector<TimedBody> bodies, overheadBenchmarks());
        for (TimedBody& body : bodies) {
            add(body.name, std::move(body.run), request.runs);
        }
    }
    for (const std::string& network : gradientNetworks()) {
        if (!request.names.empty() && isChosen("gradient/" + network, request.names)) {
            RETRO_TRY(TimedBody body, networkGradientBenchmark(network));
            add(body.name, std::move(body.run), request.runs);
        }
    }
    return {};
}

constexpr const char* kOpening = "open/200mb";
constexpr double kOpeningGoal = 3; // seconds

/// A file that is gone with the last that reads it.
struct TemporaryFile
{
    std::filesystem::path path;
    ~TemporaryFile()
    {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
};

/// 13 layers of 2048 × 2048 weights in float32: 218 MB.
Result<graph::Graph> manyWeights()
{
    constexpr std::int64_t kWidth = 2048;
    graph::GraphBuilder builder("open", 17);
    graph::ValueId x =
        builder.addInput("x", tensor::DType::Float32, std::vector<graph::Dimension>{{1, ""}, {kWidth, ""}});
    for (int layer = 0; layer < 13; ++layer) {
        const auto weight = builder.addConstant(fmt::format("w{}", layer),
                                                tensor::Tensor::zeros(tensor::DType::Float32, {kWidth, kWidth}));
        const auto result =
            builder.addOp("MatMul", fmt::format("layer{}", layer), {x, weight}, fmt::format("y{}", layer));
        x = result;
    }
    builder.addOutput(x);
    return std::move(builder).build();
}

/// Opens an ONNX file that holds its weights: read, checked and rewritten. The file is written to the folder for
/// temporary files, so this only runs when it is named.
Result<void> addOpening(const BenchmarkRequest& request)
{
    if (request.names.empty() || !isChosen(kOpening, request.names)) {
        return {};
    }
    auto file = std::make_shared<TemporaryFile>();
    file->path = std::filesystem::temp_directory_path() / fmt::format("retrograde-open-{}.onnx", ::getpid());
    RETRO_TRY(const graph::Graph graph, manyWeights());
    RETRO_TRY(const std::vector<std::byte> bytes, formats::toOnnx(graph));
    RETRO_CHECK(base::writeFile(file->path, bytes));
    add(
        kOpening, [file] { return engine::loadModel(file->path).ok(); }, request.runs);
    return {};
}

/// Fewest runs of a pass over a LUT layer, of which the fastest counts.
constexpr int kLutRuns = 30;

void addLuts(int runs, Goals& goals)
{
    for (LutBenchmark& one : lutBenchmarks()) {
        goals[one.name] = one.goal;
        add(one.name, std::move(one.body), std::max(runs, kLutRuns))->Iterations(1);
    }
}

Result<void> addPrograms(const BenchmarkRequest& request)
{
    RETRO_TRY(const std::vector<NamedBody> benchmarks, programBenchmarks(request.sample));
    for (const NamedBody& each : benchmarks) {
        add(each.name, each.body, request.runs);
    }
    return {};
}

/// Makes what a benchmark needs, then times its body; a failure of either ends it with an error.
void runPrepared(const PreparedBody& one, benchmark::State& state)
{
    bool isGood = one.prepare();
    for (auto iteration : state) {
        static_cast<void>(iteration);
        isGood = isGood && one.run();
    }
    if (!isGood) {
        state.SkipWithError("failed");
    }
}

/// Networks are only made when a benchmark of them is named, and then one at a time.
void addRelevance(const BenchmarkRequest& request)
{
    for (PreparedBody& one : relevanceBenchmarks()) {
        if (request.names.empty() || !isChosen(one.name, request.names)) {
            continue;
        }
        benchmark::RegisterBenchmark(one.name.c_str(), [one](benchmark::State& state) { runPrepared(one, state); })
            ->Repetitions(request.runs)
            ->Iterations(1)
            ->UseRealTime()
            ->ReportAggregatesOnly(false);
    }
}

/// A benchmark that is held against another one of the same call: "…suffix" should take at most `factor` of "…peer".
struct RelativeGoal
{
    std::string_view group;
    std::string_view suffix;
    std::string_view peer;
    double factor;
};

constexpr std::array kRelativeGoals{RelativeGoal{"program/", "_compiled", "_first", 1 / kProgramGain},
                                    RelativeGoal{"traversal/resnet50/", "recorded", "explain", kRecordingFactor},
                                    RelativeGoal{"gradient/operators/", "tape", "direct", kInterfaceFactor},
                                    RelativeGoal{"gradient/", "chain1m", "chain100k", kLinearFactor}};

void setRelativeGoal(BenchmarkFigure& figure, const RelativeGoal& goal, const std::vector<BenchmarkFigure>& figures)
{
    if (!figure.name.starts_with(goal.group) || !figure.name.ends_with(goal.suffix)) {
        return;
    }
    const std::string peer = figure.name.substr(0, figure.name.size() - goal.suffix.size()) + std::string(goal.peer);
    const auto at = std::ranges::find(figures, peer, &BenchmarkFigure::name);
    figure.goal = at == figures.end() ? 0 : at->median * goal.factor;
}

void setRelativeGoals(std::vector<BenchmarkFigure>& figures)
{
    for (BenchmarkFigure& figure : figures) {
        for (const RelativeGoal& goal : kRelativeGoals) {
            setRelativeGoal(figure, goal, figures);
        }
    }
}

/// Repetitions of several benchmarks take turns, so that a slow minute of the machine falls on all alike. Not those of
/// relevance: each network would be made again at every turn.
std::string interleaving(const BenchmarkRequest& request)
{
    const bool takesTurns = !request.names.empty() && !isWanted("relevance/", request.names);
    return fmt::format("--benchmark_enable_random_interleaving={}", takesTurns);
}

/// A regular expression that matches exactly the chosen starts.
std::string filterOf(const std::vector<std::string>& names)
{
    std::string filter;
    for (const std::string& name : names) {
        filter += (filter.empty() ? "^(" : "|") + name;
    }
    return filter.empty() ? "." : filter + ")";
}

Result<void> addSample(const BenchmarkRequest& request)
{
    RETRO_TRY(const std::shared_ptr<Sample> sample, loadSample(request.sample));
    add(
        "load/sample", [sample] { return engine::loadModel(sample->path).ok(); }, request.runs);
    add(
        "forward/sample",
        [sample] { return engine::runForward(*sample->model, sample->request.inputs, execute::Precision::Float).ok(); },
        request.runs);
    addExplanations(sample, request.runs);
    return addTimeline(sample, request.runs);
}

/// Makes what the chosen benchmarks need, and nothing else: models cost time and memory that others would measure.
Result<void> addAll(const BenchmarkRequest& request, Goals& goals)
{
    constexpr std::array kOfSample{"load/", "forward/sample", "explain/", "timeline/"};
    constexpr std::array kOfLargeGraphs{"onnx/", "layout/"};
    const auto wanted = [&](std::string_view group) { return isWanted(group, request.names); };
    if (std::any_of(kOfSample.begin(), kOfSample.end(), wanted)) {
        RETRO_CHECK(addSample(request));
    }
    if (std::any_of(kOfLargeGraphs.begin(), kOfLargeGraphs.end(), wanted)) {
        RETRO_CHECK(addLargeGraphs(request.runs));
    }
    if (wanted("program/")) {
        RETRO_CHECK(addPrograms(request));
    }
    goals[kOpening] = kOpeningGoal;
    RETRO_CHECK(addTraversals(request, goals));
    RETRO_CHECK(addRewrites(request, goals));
    RETRO_CHECK(addGradients(request, goals));
    if (wanted("lut/")) {
        addLuts(request.runs, goals);
    }
    RETRO_CHECK(addOpening(request));
    addRelevance(request);
    return addNetworks(request);
}

} // namespace

Result<std::vector<BenchmarkFigure>> runBenchmarks(const BenchmarkRequest& request)
{
    Goals goals;
    RETRO_CHECK(addAll(request, goals));
    char name[] = "retrograde-cli";
    std::string turns = interleaving(request);
    int count = 2;
    char* arguments[] = {name, turns.data(), nullptr};
    benchmark::Initialize(&count, arguments);
    Collector collector;
    benchmark::RunSpecifiedBenchmarks(&collector, filterOf(request.names));
    std::vector<BenchmarkFigure> figures;
    for (auto& [key, seconds] : collector.seconds) {
        if (isChosen(key, request.names)) {
            std::sort(seconds.begin(), seconds.end());
            figures.push_back({key, seconds.front(), seconds[seconds.size() / 2], seconds.back(),
                               static_cast<int>(seconds.size()), goals[key], key.starts_with("lut/")});
        }
    }
    setRelativeGoals(figures);
    if (figures.empty()) {
        return base::usageError("no benchmark has such a name; `retrograde-bench --json` lists all", "NAME");
    }
    return figures;
}

} // namespace retro::app

#else

namespace retro::app
{

base::Result<std::vector<BenchmarkFigure>> runBenchmarks(const BenchmarkRequest&)
{
    return base::usageError("this program was built without Google Benchmark; install libbenchmark-dev and build again "
                            "(./dev bench does both)",
                            "retrograde-bench");
}

} // namespace retro::app

#endif
