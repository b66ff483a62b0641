// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/common/exportrun.h"
#include "core/trace/runfile.h"

#include <fmt/format.h>

#include <memory>

namespace retro::app
{

namespace
{

struct ExportOptions
{
    std::string file;
    std::string what;
    std::string out;
    ExportRequest request;
};

base::Result<void> exportRun(const Context& context, const ExportOptions& options)
{
    RETRO_TRY(const std::shared_ptr<const trace::Run> run, trace::readRun(options.file));
    if (options.what == "graph") {
        RETRO_CHECK(exportGraph(run, options.out, options.request));
    } else {
        RETRO_CHECK(exportHeatmap(*run, options.out, options.request));
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
                "Write a part of a recorded run: heatmap (png svg pdf npy csv) or graph (png svg pdf dot json)",
                [&context, options] { return exportRun(context, *options); });
    verb->add_option("FILE", options->file, "Recorded run (.retro)")->required();
    verb->add_option("WHAT", options->what, "heatmap or graph")->required()->check(CLI::IsMember({"heatmap", "graph"}));
    verb->add_option("--out", options->out, "File to write; the ending says the format")->required();
    verb->add_option("--value", options->request.value, "Value whose relevance is drawn (default: the first input)");
    verb->add_option("--at", options->request.position, "State after this many events (default: the end)");
    verb->add_option("--colormap", options->request.colormap, "Colour map of the heatmap");
    verb->add_flag("--overlay", options->request.overlay, "Draw the heatmap over the input picture");
}

} // namespace retro::app
