// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "core/base/bytesize.h"
#include "core/base/standardstreams.h"
#include "core/engine/lut/lutcaserun.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace retro::app
{

namespace
{

using engine::LutQuantity;
using nlohmann::ordered_json;

struct LutOptions
{
    std::string file;
    std::string backend = "cpu";
    std::string path = "fused";
    std::string scratch; ///< as written; empty = lut::kScratchLimit
    std::string runFile;
};

/// Numbers that a line shows.
constexpr std::size_t kShownValues = 6;

/// A size as people write it, MiB where it has no unit.
base::Result<std::uint64_t> scratchBytes(const std::string& text)
{
    if (text.empty()) {
        return lut::kScratchLimit;
    }
    const bool isNumber = text.find_first_not_of("0123456789") == std::string::npos;
    auto bytes = base::parseBytes(isNumber ? text + "MiB" : text);
    if (bytes.ok() && *bytes == 0) {
        bytes = base::usageError("write at least one byte");
    }
    return bytes.ok() ? std::move(bytes) : base::within(std::move(bytes).error(), "--scratch " + text);
}

ordered_json namesOf(const std::vector<lut::BufferId>& buffers)
{
    return base::listOf(buffers, [&](const lut::BufferId id) { return lut::nameOf(id); });
}

ordered_json toJson(const lut::Schedule& schedule)
{
    ordered_json buffers = ordered_json::array();
    for (const lut::Buffer& buffer : schedule.buffers) {
        buffers.push_back({{"name", buffer.name}, {"shape", buffer.shape}, {"bytes", buffer.bytes}});
        if (buffer.sharesMemoryWith) {
            buffers.back()["shares_memory_with"] = lut::nameOf(*buffer.sharesMemoryWith);
        }
    }
    const ordered_json launches = base::listOf(schedule.launches, [&](const lut::Launch& launch) -> ordered_json {
        return {{"kernel", lut::nameOf(launch.kernel)},
                {"variant", lut::nameOf(launch.variant)},
                {"stream", launch.stream},
                {"reads", namesOf(launch.reads)},
                {"writes", namesOf(launch.writes)},
                {"waits_for", launch.waitsFor},
                {"grid", {launch.gridX, launch.gridY}},
                {"block", launch.blockSize},
                {"items", launch.items}};
    });
    return {{"buffers", buffers}, {"launches", launches}};
}

ordered_json toJson(const engine::LutRun& run, const formats::LutCase& given, const engine::LutRunOptions& how)
{
    ordered_json all{{"case", given.name},
                     {"backend", how.backend == lut::Backend::Cuda ? "cuda" : "cpu"},
                     {"relevance_backend", "cpu"},
                     {"path", how.path == lut::Path::Documented ? "documented" : "fused"},
                     {"holds", run.holds()}};
    for (const LutQuantity& one : run.quantities) {
        ordered_json& entry = all["results"][one.name];
        entry["values"] = one.values;
        if (one.deviation) {
            entry["deviation"] = *one.deviation;
            entry["tolerance"] = one.tolerance;
        }
    }
    all["schedule"]["forward"] = toJson(run.forward);
    if (run.backward) {
        all["schedule"]["backward"] = toJson(*run.backward);
    }
    all["seconds"] = {{"forward", run.forwardSeconds}, {"backward", run.backwardSeconds}};
    return all;
}

std::string valuesText(const std::vector<double>& values)
{
    std::string text;
    for (std::size_t i = 0; i < std::min(values.size(), kShownValues); ++i) {
        text += fmt::format("{}{:.6g}", i == 0 ? "" : " ", values[i]);
    }
    return values.size() > kShownValues ? text + " …" : text;
}

std::string verdictOf(const LutQuantity& quantity)
{
    if (!quantity.deviation) {
        return valuesText(quantity.values);
    }
    if (quantity.tolerance == 0) {
        return quantity.holds() ? "equal" : "differs";
    }
    return fmt::format("off by {:.3g} of {:g}, {}", *quantity.deviation, quantity.tolerance,
                       quantity.holds() ? "holds" : "differs");
}

void sayLaunches(const Context& context, const char* pass, const lut::Schedule& schedule)
{
    for (const lut::Launch& launch : schedule.launches) {
        const std::string_view variant = lut::nameOf(launch.variant);
        context.say(fmt::format("{:<9} stream {}  {}{}{}", pass, launch.stream, lut::nameOf(launch.kernel),
                                variant.empty() ? "" : " ", variant));
    }
}

void sayRun(const Context& context, const engine::LutRun& run)
{
    sayLaunches(context, "forward", run.forward);
    if (run.backward) {
        sayLaunches(context, "backward", *run.backward);
    }
    for (const LutQuantity& one : run.quantities) {
        context.say(fmt::format("{:<40} {:>8}  {}", one.name, one.values.size(), verdictOf(one)));
    }
    context.say(
        fmt::format("forward {:.3f} ms, backward {:.3f} ms", run.forwardSeconds * 1e3, run.backwardSeconds * 1e3));
}

/// The back end that was asked for; the CPU when that is not there, which is said.
lut::Backend backendFor(const LutOptions& options)
{
    const lut::Status status = lut::availability(lut::Backend::Cuda);
    if (options.backend == "cuda" && !status.ok()) {
        base::sayErrorLine("retrograde-cli: " + status.message + "; the CPU back end takes over");
    }
    return options.backend == "cuda" && status.ok() ? lut::Backend::Cuda : lut::Backend::Cpu;
}

base::Result<void> runCase(Context& context, const LutOptions& options)
{
    RETRO_TRY(const formats::LutCase given, formats::readLutCase(options.file));
    engine::LutRunOptions how;
    how.backend = backendFor(options);
    how.path = options.path == "documented" ? lut::Path::Documented : lut::Path::Fused;
    how.isDouble = context.precision == "double";
    how.threads = context.threads;
    RETRO_TRY(how.scratchLimit, scratchBytes(options.scratch));
    RETRO_TRY(const engine::LutRun run, engine::runLutCase(given, how));
    if (!options.runFile.empty()) {
        RETRO_TRY(const engine::ExplainResult recorded, engine::recordLutCase(given, how));
        RETRO_CHECK(trace::writeRun(options.runFile, *recorded.run));
    }
    if (context.json) {
        context.answer(toJson(run, given, how));
    } else {
        sayRun(context, run);
        if (how.backend == lut::Backend::Cuda) {
            context.say("forward and backward ran on the GPU, relevance on the CPU");
        }
    }
    context.exitCode = run.holds() ? 0 : 1;
    return {};
}

} // namespace

void addLut(CLI::App& program, Context& context)
{
    auto options = std::make_shared<LutOptions>();
    CLI::App* verb =
        addVerb(program, context, "lut", "Runs a LUT case: prints its results, or compares them with what it expects",
                [&context, options] { return runCase(context, *options); });
    verb->add_option("FILE", options->file, "The case, as JSON (docs/formats/lut.md)")->required();
    verb->add_option("--backend", options->backend, "cpu, or cuda; without a GPU the CPU takes over and says so")
        ->check(CLI::IsMember({"cpu", "cuda"}));
    verb->add_option("--path", options->path, "fused, or documented: every stage as a kernel, every array as a buffer")
        ->check(CLI::IsMember({"fused", "documented"}));
    verb->add_option("--scratch", options->scratch,
                     "Memory for dense scratch buffers of the documented path, such as 2GB; a number alone counts MiB "
                     "(default 1024)");
    context.addOutput(
        verb->add_option("--run", options->runFile,
                         "Also record the forward and the backward pass, on the CPU, into this .retro file"),
        "the run");
}

} // namespace retro::app
