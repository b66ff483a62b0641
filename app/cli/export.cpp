// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/common/exportrun.h"
#include "app/common/exportview.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>

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

base::Result<void> exportRun(const Context& context, const ExportOptions& options)
{
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(options.file));
    if (options.what == "graph") {
        RETRO_CHECK(exportGraph(run, options.out, options.request));
    } else if (options.what == "heatmap") {
        RETRO_CHECK(exportHeatmap(*run, options.out, options.request));
    } else {
        RETRO_CHECK(exportPainted(run, options));
    }
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
                "timeline or ledger (svg png pdf csv), promises (csv)",
                [&context, options] { return exportRun(context, *options); });
    verb->add_option("FILE", options->file, "Recorded run (.retro)")->required();
    std::vector<std::string> parts = exportableViews();
    parts.insert(parts.begin(), {"heatmap", "graph"});
    verb->add_option("WHAT", options->what, "Part of the run")->required()->check(CLI::IsMember(parts));
    verb->add_option("--out", options->out, "File to write; the ending says the format")->required();
    verb->add_option("--value", options->request.value, "Value whose relevance is drawn (default: the first input)");
    verb->add_option("--at", options->request.position, "State after this many events (default: the end)");
    verb->add_option("--colormap", options->request.colormap,
                     "Colour map of the heatmap, by name or as stops (00f,fff,f00)");
    verb->add_flag("--overlay", options->request.overlay, "Draw the heatmap over the input picture");
    verb->add_flag("--plain", options->request.isPlain, "Only the pixels of the heatmap, without colour bar and words");
    verb->add_option("--theme", options->theme, "Colours of timeline and ledger: light (default) or dark")
        ->check(CLI::IsMember({"light", "dark"}));
    verb->add_option("--size", options->size, "Size of the timeline: 1200x340");
}

} // namespace retro::app
