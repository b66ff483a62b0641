// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/base/result.h"

#include <functional>
#include <string>
#include <vector>

class QString;

namespace retro::app
{

struct BenchmarkRequest
{
    std::vector<std::string> names; ///< starts of names; empty = all
    std::string sample = "samples/clever-hans";
    int runs = 5;
};

/// Wall seconds of one benchmark.
struct BenchmarkFigure
{
    std::string name;
    double least = 0;
    double median = 0;
    double most = 0;
    int runs = 0;
    double goal = 0;            ///< the median should be below; 0 = none stated
    bool isGoalOfLeast = false; ///< it is the fastest run that should be below
};

/// Least, median and most of the times of one benchmark. There is at least one.
[[nodiscard]] BenchmarkFigure figureOf(std::string name, std::vector<double> seconds, double goal);

/// Runs the chosen benchmarks through Google Benchmark, each several times. Errors: Usage (no such benchmark, or the
/// program was built without the library), Input (no sample).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runBenchmarks(const BenchmarkRequest& request);

/// A model file to time.
struct ModelBenchRequest
{
    ModelOptions model;             ///< its file, its inputs (none given: random:1 for each) and its rewrites
    std::vector<std::string> names; ///< forward, relevance/COMPOSITE, second/COMPOSITE; empty = forward
    int runs = 5;
};

/// Times passes over a model file, bound and run three times before, one benchmark after the other: `forward` is the
/// forward pass alone, `relevance/COMPOSITE` forward pass and relevance of the inputs; `second/COMPOSITE` is what a
/// language model's relevance pass waits for: at the first question about a text, at another word, at another position.
/// Errors: Usage (no such benchmark), and as loading and running.
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runModelBenchmarks(const ModelBenchRequest& request,
                                                                            const Context& context);

/// Plans at 90, 80, 70, 50 and 30 % of store-all for the graphs of samples/graphs and those of $RETROGRADE_PLAN_GRAPHS:
/// says a table of what each planner's plan costs beyond computing everything once, the portfolio's, and the lower
/// bound. Figures: seconds of the portfolio ("plans/resnet50/50"), of the analysis of 100,000 operators, and of a
/// greedy and a portfolio plan for 10,000. Names choose as for the other benchmarks. Errors: Input (a folder or graph).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runPlanBenchmarks(const BenchmarkRequest& request,
                                                                           const Context& context);

/// Gradients of networks by plans, on real tensors: at 80, 50 and 30 % of store-all, in turns with store-all, bound and
/// warmed before. Says how measured time compares with the plan's cost ("planrun/resnet50/50": goal 1.05 × that ratio ×
/// the time of store-all) and how the peak of the process compares with the tensor store's. Networks are made when they
/// are named. Errors: Usage (no such network).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runPlanRunBenchmarks(const BenchmarkRequest& request,
                                                                              const Context& context);

/// A benchmark: its body says whether it worked.
struct NamedBody
{
    std::string name;
    std::function<bool()> body;
};

/// How many times faster a compiled program shall be than the first pass.
inline constexpr double kProgramGain = 1.5;

/// The compiled program against the first pass on a transformer (samples/planted-word beside the sample given):
/// program/relevance_… is the relevance alone (graph, roles, traversal or program; ledger included), program/explain_…
/// the whole explanation of the next input. Errors (Input): the sample is not there.
[[nodiscard]] base::Result<std::vector<NamedBody>> programBenchmarks(const std::string& sampleFolder);

/// Something to time after something that is not timed; both say whether they worked.
struct PreparedBody
{
    std::string name;
    std::function<bool()> prepare;
    std::function<bool()> run;
};

/// Explanations (forward pass and relevance) of networks of the shapes of VGG16, ResNet-18 and ResNet-50 at batch 1 and
/// 8, and of a stack like GPT-2's, as they follow each other on one model: relevance/NETWORK/COMPOSITE/BATCH. Only one
/// network is there at a time: preparing a benchmark of another one drops it. diagnose/NETWORK/explained and
/// …/checked: one explanation of a model by itself, and the same with the checks that go along.
[[nodiscard]] std::vector<PreparedBody> relevanceBenchmarks();

/// Names of the benchmarks of the window, all starting with "window/".
[[nodiscard]] const std::vector<std::string>& windowBenchmarks();

/// Runs the chosen benchmarks of the window on the offscreen platform, with the widgets that people use: opening graphs
/// that are made up, steps, seeks, frames, stopping a job, and the cold start of the program beside this one. Each
/// figure carries its goal. Errors: Input (a model cannot be made or
/// opened), Output (no temporary folder).
[[nodiscard]] base::Result<std::vector<BenchmarkFigure>> runWindowBenchmarks(const BenchmarkRequest& request);

/// Scrolls a made-up text of 2,000 tokens × 32 layers × 32 heads with its links, frame by frame, along the words and
/// along the layers: "window/text_frame_median" and "_p99" (goal: 60 frames a second). Needs an application.
void benchTexts(std::vector<BenchmarkFigure>& figures);

/// Strokes of a region over the heatmap, from the move of the pointer until the panes show the answer: of the sample,
/// or of the model that RETRO_BENCH_MODEL names. Needs a QApplication. Errors: Input (the model does not run).
[[nodiscard]] base::Result<void> benchStrokes(const QString& file, int runs, std::vector<BenchmarkFigure>& figures);

/// The history of elements that are clicked, likewise: the first one of a run, and those after it.
[[nodiscard]] base::Result<void> benchHistories(const QString& file, int runs, std::vector<BenchmarkFigure>& figures);

} // namespace retro::app
