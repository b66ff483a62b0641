// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/outputfolder.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/results.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>

#include <memory>

namespace retro::app
{

namespace
{

struct RunOptions
{
    ModelOptions model;
    std::string outputFolder;
};

base::Result<void> runModel(const Context& context, const RunOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, options.model.load());
    RETRO_TRY(const std::vector<tensor::Tensor> inputs, options.model.resolve(*model));
    const execute::Precision precision = engine::precisionOf(options.model.question, *model);
    RETRO_TRY(const HeldFolder lock, holdFolder(options.outputFolder));
    RETRO_TRY(const engine::ForwardOutputs result,
              engine::runForward(*model, inputs, precision, {}, context.progress()));
    warn(result.leftOut);
    warn(result.warnings);
    const graph::Graph& graph = *model->graph();
    const std::vector<std::string> names = engine::fileNames(graph);
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        const base::ValueId id = *graph.findValue(result.names[i]);
        const auto path = std::filesystem::path(options.outputFolder) / (names[id.index()] + ".npy");
        RETRO_CHECK(tensor::writeNpy(path, result.outputs[i]));
        files.push_back({{"output", graph.value(id).name},
                         {"file", path.string()},
                         {"type", tensor::nameOf(result.outputs[i].dtype())},
                         {"shape", result.outputs[i].shape()}});
        if (!context.json) {
            context.say(fmt::format("{}  {}  {}", graph.value(id).name, tensor::toText(result.outputs[i].shape()),
                                    path.string()));
        }
    }
    if (const std::size_t wanted = graph.outputs().size(); result.outputs.size() < wanted) {
        warn({fmt::format("{} of {} outputs were written; the lines above say why the others are not",
                          result.outputs.size(), wanted)});
    }
    if (context.json) {
        context.answer({{"outputs", files},
                        {"left_out", result.leftOut},
                        {"precision", tensor::nameOf(execute::dtypeOf(precision))},
                        {"warnings", result.warnings},
                        {"seconds", {{"load", model->seconds}, {"forward", result.seconds}}},
                        {"peak_bytes", result.peakBytes}});
    }
    return {};
}

} // namespace

void addRun(CLI::App& program, Context& context)
{
    auto options = std::make_shared<RunOptions>();
    CLI::App* verb =
        addVerb(program, context, "run", "Forward pass; writes DIR/<output name>.npy for each graph output",
                [&context, options] { return runModel(context, *options); });
    options->model.addTo(*verb, engine::kRun, context);
    verb->add_option("--output-dir", options->outputFolder, "Folder for the outputs; made when it is missing")
        ->required();
}

} // namespace retro::app
