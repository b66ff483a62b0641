// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/common/exportrun.h"
#include "app/common/exportview.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

namespace retro::app
{

namespace
{

constexpr int kLeastSide = 100;
constexpr int kLargestSide = 16'384;

struct ExportOptions
{
    std::string file;
    std::string what;
    std::string out;
    ExportRequest request;
    std::string theme = "light";
    std::string size;
    std::string visits; ///< "3..12": one file per visit
};

/// "1200x340".
base::Result<void> readSize(const std::string& text, ViewRequest& request)
{
    if (text.empty()) {
        return {};
    }
    const std::size_t cross = text.find('x');
    const char* end = text.data() + text.size();
    const auto number = [&](const char* from, const char* to, int& value) {
        const auto [stop, error] = std::from_chars(from, to, value);
        return error == std::errc() && stop == to && value >= kLeastSide && value <= kLargestSide;
    };
    const bool isGood = cross != std::string::npos && number(text.data(), text.data() + cross, request.width) &&
                        number(text.data() + cross + 1, end, request.height);
    if (!isGood) {
        return base::usageError(fmt::format("write WIDTHxHEIGHT, each from {} to {} pixels", kLeastSide, kLargestSide),
                                "--size " + text);
    }
    return {};
}

base::Result<void> exportPainted(const std::shared_ptr<const trace::Run>& run, const ExportOptions& options)
{
    ViewRequest request;
    request.view = options.what;
    request.position = options.request.position;
    request.isDark = options.theme == "dark";
    RETRO_CHECK(readSize(options.size, request));
    return exportView(run, options.out, request);
}

/// Options that mean nothing for a part are refused rather than overlooked.
base::Result<void> checkOptions(const ExportOptions& options)
{
    if (options.request.bits != 8 && options.what != "heatmap") {
        return base::usageError("only a heatmap is written with 16 bits", "--bits 16");
    }
    if (!options.request.select.empty() && options.what != "graph") {
        return base::usageError("only a part of the graph can be selected", "--select");
    }
    return {};
}

base::Result<void> exportPart(const std::shared_ptr<const trace::Run>& run, const ExportOptions& options)
{
    if (options.what == "graph") {
        return exportGraph(run, options.out, options.request);
    }
    return options.what == "heatmap" ? exportHeatmap(*run, options.out, options.request) : exportPainted(run, options);
}

/// First and last of "3..12", counted from 1. Errors: Usage.
base::Result<std::pair<std::uint32_t, std::uint32_t>> readVisits(const std::string& text, std::uint32_t most)
{
    const std::size_t dots = text.find("..");
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    const auto number = [](std::string_view word, std::uint32_t& value) {
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        return error == std::errc() && stop == word.data() + word.size();
    };
    const bool isRange = dots != std::string::npos && number(std::string_view(text).substr(0, dots), first) &&
                         number(std::string_view(text).substr(dots + 2), last);
    if (!isRange || first < 1 || first > last || last > most) {
        return base::usageError(fmt::format("write FIRST..LAST, from 1 to {} in this run", most), "--visits " + text);
    }
    return std::pair(first, last);
}

/// One file per visit, the state after it: "graph.png" becomes "graph-0003.png" and so on.
base::Result<void> exportVisits(const std::shared_ptr<const trace::Run>& run, ExportOptions options)
{
    RETRO_TRY(const auto range, readVisits(options.visits, run->visitCount()));
    const std::filesystem::path out = options.out;
    for (std::uint32_t visit = range.first; visit <= range.second; ++visit) {
        options.request.position = run->endOfVisit(visit - 1);
        options.out =
            out.parent_path() / fmt::format("{}-{:04}{}", out.stem().string(), visit, out.extension().string());
        RETRO_CHECK(exportPart(run, options));
    }
    return {};
}

base::Result<void> exportRun(const Context& context, const ExportOptions& options)
{
    RETRO_CHECK(checkOptions(options));
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(options.file));
    RETRO_CHECK(options.visits.empty() ? exportPart(run, options) : exportVisits(run, options));
    if (context.json) {
        context.answer({{"what", options.what}, {"file", options.out}});
    } else {
        context.say("wrote " + options.out);
    }
    return {};
}

} // namespace

void addExport(CLI::App& program, Context& context)
{
    auto options = std::make_shared<ExportOptions>();
    CLI::App* verb =
        addVerb(program, context, "export",
                "Write a part of a recorded run: heatmap (png svg pdf npy csv), graph (png svg pdf dot json), "
                "timeline or ledger (svg png pdf csv), promises or log (csv json)",
                [&context, options] { return exportRun(context, *options); });
    verb->add_option("FILE", options->file, "Recorded run (.retro)")->required();
    std::vector<std::string> parts = exportableViews();
    parts.insert(parts.begin(), {"heatmap", "graph"});
    verb->add_option("WHAT", options->what, "Part of the run")->required()->check(CLI::IsMember(parts));
    verb->add_option("--out", options->out, "File to write; the ending says the format")->required();
    verb->add_option("--value", options->request.value, "Value whose relevance is drawn (default: the first input)");
    verb->add_option("--at", options->request.position, "State after this many events (default: the end)");
    verb->add_option("--visits", options->visits,
                     "FIRST..LAST: one file after each of these visits, numbered, for an animation");
    verb->add_option("--colormap", options->request.colormap,
                     "Colour map of the heatmap, by name or as stops (00f,fff,f00)");
    verb->add_flag("--overlay", options->request.overlay, "Draw the heatmap over the input picture");
    verb->add_flag("--plain", options->request.isPlain, "Only the pixels of the heatmap, without colour bar and words");
    verb->add_option("--bits", options->request.bits,
                     "Depth of a heatmap's PNG: 8 (default, colours) or 16 (grey levels that stand for the numbers)")
        ->check(CLI::IsMember({8, 16}));
    verb->add_option("--select", options->request.select,
                     "Only this node or group of the graph, again for more: with what lies on the ways between them")
        ->allow_extra_args(false);
    verb->add_option("--theme", options->theme, "Colours of timeline and ledger: light (default) or dark")
        ->check(CLI::IsMember({"light", "dark"}));
    verb->add_option("--size", options->size, "Size of the timeline: 1200x340");
}

} // namespace retro::app
