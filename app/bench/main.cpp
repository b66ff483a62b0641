// SPDX-License-Identifier: Apache-2.0
#include "app/bench/benchmarks.h"
#include "app/bench/lutbenchmarks.h"
#include "app/cli/context.h"
#include "app/common/freedmemory.h"
#include "app/common/passivewaiting.h"
#include "core/base/file.h"
#include "core/base/jsonout.h"
#include "core/base/jsontext.h"
#include "core/base/standardstreams.h"
#include "kernels/lut/cuda.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unistd.h>

/// Before any library is loaded, see passivewaiting.h.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*beforeLibraries)(int, char**, char**) = &retro::app::PassiveWaiting::waitPassively;

namespace retro::app
{

namespace
{

using base::Result;
using nlohmann::ordered_json;

/// Largest file of earlier figures that is read.
constexpr std::size_t kMaxFigures = 16U << 20U;

struct BenchOptions
{
    BenchmarkRequest request;
    ModelOptions model; ///< its file is empty where no file is timed
    std::string save;
    std::string compare;
    double factor = 1.25;
};

ordered_json toJson(const std::vector<BenchmarkFigure>& figures, int threads)
{
    ordered_json all{{"format", "retrograde-bench/1"}, {"threads", threads}};
    for (const BenchmarkFigure& figure : figures) {
        all["seconds"][figure.name] = {
            {"min", figure.least}, {"median", figure.median}, {"max", figure.most}, {"runs", figure.runs}};
        if (figure.goal > 0) {
            all["seconds"][figure.name]["goal"] = figure.goal;
        }
    }
    return all;
}

Result<nlohmann::json> readFigures(const std::string& path)
{
    RETRO_TRY(std::string text, base::readTextFile(path, kMaxFigures));
    RETRO_TRY(const base::JsonText parsed, base::JsonText::parse(std::move(text), path, {kMaxFigures}));
    const nlohmann::json& json = parsed.root();
    const bool isGood = json.is_object() && json.value("format", nlohmann::json()) == "retrograde-bench/1" &&
                        json.contains("seconds") && json["seconds"].is_object();
    if (!isGood) {
        return base::inputError("this is not a file that `retrograde-bench --save` wrote", path);
    }
    return json;
}

/// True when some ratio is beyond the factor even at its most favourable end.
Result<bool> compareWith(const Context& context, const std::vector<BenchmarkFigure>& figures,
                         const BenchOptions& options)
{
    RETRO_TRY(const nlohmann::json before, readFigures(options.compare));
    bool isSlower = false;
    context.say(fmt::format("{:<36} {:>10} {:>10} {:>7}  {}", "benchmark", "before ms", "now ms", "ratio", "spread"));
    for (const BenchmarkFigure& figure : figures) {
        const auto at = before["seconds"].find(figure.name);
        if (at == before["seconds"].end()) {
            continue;
        }
        const double old = at->value("median", 0.0);
        const double ratio = figure.median / old;
        const double low = figure.least / at->value("max", old);
        const double high = figure.most / at->value("min", old);
        const bool isBeyond = ratio > options.factor;
        isSlower = isSlower || isBeyond;
        context.say(fmt::format("{:<36} {:>10.3f} {:>10.3f} {:>7.2f}  {:.2f}–{:.2f}{}", figure.name, old * 1e3,
                                figure.median * 1e3, ratio, low, high, isBeyond ? "  slower" : ""));
    }
    return isSlower;
}

std::string goalText(const BenchmarkFigure& figure)
{
    if (figure.goal <= 0) {
        return {};
    }
    const double reached = figure.isGoalOfLeast ? figure.least : figure.median;
    return fmt::format("{:g} {}", figure.goal * 1e3, reached <= figure.goal ? "holds" : "missed");
}

/// Each kernel's time against the bytes that it must move, beside the rate at which the processor copies.
void sayKernels(const Context& context, const std::string& where, double copied,
                const std::vector<LutKernelFigure>& figures)
{
    context.say(fmt::format("kernels on {}, which copies {:.1f} GB/s", where, copied / 1e9));
    context.say(
        fmt::format("{:<40} {:<32} {:>10} {:>10} {:>8} {:>8}", "layer", "kernel", "MB", "µs", "GB/s", "of copy"));
    for (const LutKernelFigure& figure : figures) {
        const double rate = figure.bytes / figure.seconds;
        context.say(fmt::format("{:<40} {:<32} {:>10.2f} {:>10.1f} {:>8.1f} {:>6.0f} %", figure.layer, figure.kernel,
                                figure.bytes / 1e6, figure.seconds * 1e6, rate / 1e9, 100 * rate / copied));
    }
}

constexpr int kKernelRuns = 30;

void sayLutKernels(const Context& context, int runs)
{
    const int least = std::max(runs, kKernelRuns);
    sayKernels(context, "one thread of the CPU", copyRate(least), lutKernelsOnCpu(least));
    lut::CudaDevice device;
    const lut::Status status = lut::measureDevice(device);
    if (status.ok()) {
        sayKernels(context, device.name, device.copyBytesPerSecond, lutKernelsOnDevice(least));
    } else {
        context.say(fmt::format("kernels on a GPU: not measured, {}", status.message));
    }
}

bool isOfLutKernels(const std::string& name) { return name == "lut" || name == "lut/"; }

/// The benchmarks of the window and of plans have runners of their own: they open windows, and say tables.
Result<std::vector<BenchmarkFigure>> runChosen(const BenchmarkRequest& request, const Context& context)
{
    BenchmarkRequest core = request;
    BenchmarkRequest window = request;
    BenchmarkRequest plans = request;
    BenchmarkRequest planRuns = request;
    const auto isWindow = [](const std::string& name) { return name.starts_with("window"); };
    const auto isPlans = [](const std::string& name) { return name.starts_with("plans"); };
    const auto isPlanRun = [](const std::string& name) { return name.starts_with("planrun"); };
    std::erase_if(core.names,
                  [&](const std::string& name) { return isWindow(name) || isPlans(name) || isPlanRun(name); });
    std::erase_if(planRuns.names, [&](const std::string& name) { return !isPlanRun(name); });
    std::erase_if(window.names, [&](const std::string& name) { return !isWindow(name); });
    std::erase_if(plans.names, [&](const std::string& name) { return !isPlans(name); });
    if (!context.json && std::ranges::any_of(core.names, isOfLutKernels)) {
        sayLutKernels(context, request.runs);
    }
    std::vector<BenchmarkFigure> figures;
    if (request.names.empty() || !core.names.empty()) {
        RETRO_TRY(figures, runBenchmarks(core));
    }
    if (request.names.empty() || !window.names.empty()) {
        RETRO_TRY(const std::vector<BenchmarkFigure> more, runWindowBenchmarks(window));
        figures.insert(figures.end(), more.begin(), more.end());
    }
    if (!plans.names.empty()) { // takes minutes: only when asked for
        RETRO_TRY(const std::vector<BenchmarkFigure> more, runPlanBenchmarks(plans, context));
        figures.insert(figures.end(), more.begin(), more.end());
    }
    if (!planRuns.names.empty()) { // makes networks: only when asked for
        RETRO_TRY(const std::vector<BenchmarkFigure> more, runPlanRunBenchmarks(planRuns, context));
        figures.insert(figures.end(), more.begin(), more.end());
    }
    if (figures.empty()) {
        return base::usageError(
            fmt::format("no benchmark has such a name; beside them there are plans, planrun and, of the window, {}",
                        fmt::join(windowBenchmarks(), ", ")),
            "NAME");
    }
    return figures;
}

void sayFigures(const Context& context, const std::vector<BenchmarkFigure>& figures)
{
    context.say(fmt::format("{:<36} {:>10} {:>10} {:>10}  {}", "benchmark", "min ms", "median ms", "max ms", "goal"));
    for (const BenchmarkFigure& figure : figures) {
        context.say(fmt::format("{:<36} {:>10.3f} {:>10.3f} {:>10.3f}  {}", figure.name, figure.least * 1e3,
                                figure.median * 1e3, figure.most * 1e3, goalText(figure)));
    }
}

Result<void> runSuite(Context& context, const BenchOptions& options)
{
    std::vector<BenchmarkFigure> figures;
    if (options.model.model.empty()) {
        RETRO_TRY(figures, runChosen(options.request, context));
    } else {
        RETRO_TRY(figures, runModelBenchmarks({options.model, options.request.names, options.request.runs}, context));
    }
    const ordered_json json = toJson(figures, context.threads);
    if (context.json) {
        context.answer(json);
    } else if (options.compare.empty()) {
        sayFigures(context, figures);
    }
    if (!options.save.empty()) {
        RETRO_CHECK(base::writeFile(options.save, base::jsonOut(json, 2) + "\n"));
    }
    if (!options.compare.empty()) {
        RETRO_TRY(const bool isSlower, compareWith(context, figures, options));
        context.exitCode = isSlower ? 1 : 0;
    }
    return {};
}

void addOptions(CLI::App& program, Context& context, BenchOptions& options)
{
    addCommonOptions(program, context, [&context, &options] { return runSuite(context, options); });
    program.add_option("NAME", options.request.names, "Benchmarks to run, by name or the start of one (default: all)");
    program.add_option("--model", options.model.model,
                       "Time this model file in place of the suite: NAME is forward (default), relevance/COMPOSITE or "
                       "second/COMPOSITE");
    program
        .add_option("--input", options.model.question.inputs,
                    "Of the model file, as for run (default: random:1 for each)")
        ->allow_extra_args(false);
    program.add_option("--shape", options.model.question.shapes, "Of the model file's inputs, as for run")
        ->allow_extra_args(false);
    program.add_option("--sample", options.request.sample, "Folder of the sample (default: samples/clever-hans)");
    program.add_option("--runs", options.request.runs, "Repetitions of each")->check(CLI::Range(1, 1000));
    program.add_option("--save", options.save, "Write the figures to this file");
    program.add_option("--compare", options.compare,
                       "Print ratios to the figures in this file; exit 1 beyond the factor");
    program.add_option("--factor", options.factor, "How much slower is too slow (default 1.25)")
        ->check(CLI::PositiveNumber);
}

} // namespace

} // namespace retro::app

int main(int argc, char** argv)
{
    using namespace retro;
    app::PassiveWaiting::giveBack(environ);
    app::keepFreedMemory();
    base::prepareStreams();
    app::Context context;
    context.program = "retrograde-bench";
    context.arguments.assign(argv, argv + argc);
    app::BenchOptions options;
    CLI::App program("The benchmarks of Retrograde.", context.program);
    app::addOptions(program, context, options);
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return program.exit(error) == 0 ? 0 : 2;
    }
    if (const auto printed = base::finishOutput(); !printed && context.exitCode == 0) {
        base::sayErrorLine(context.program + ": " + printed.error().text());
        context.exitCode = app::exitCodeOf(printed.error().code);
    }
    return context.exitCode;
}
