// SPDX-License-Identifier: Apache-2.0
#include "app/cli/context.h"
#include "app/cli/outputfolder.h"
#include "core/base/bytesize.h"
#include "core/base/csvfield.h"
#include "core/base/file.h"
#include "core/base/filebatch.h"
#include "core/base/outputplace.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/results.h"
#include "core/graph/modulename.h"
#include "core/tensor/npy.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace retro::app
{

namespace fs = std::filesystem;

using nlohmann::ordered_json;

namespace
{

struct RunOptions
{
    ModelOptions model;
    std::string outputFolder;
    std::vector<std::string> values; ///< patterns
};

/// The hidden values that were asked for, each in a file, and the list of them.
class ValueFiles
{
public:
    ValueFiles(fs::path folder, std::vector<std::string> patterns) : m_folder(std::move(folder) / "values")
    {
        m_hidden.patterns = std::move(patterns);
        m_hidden.begin = [this](const graph::Graph& graph, std::span<const base::ValueId> found, std::uint64_t bytes) {
            return begin(graph, found, bytes);
        };
        m_hidden.take = [this](base::ValueId value, const tensor::Tensor& tensor) { return take(value, tensor); };
    }
    ValueFiles(const ValueFiles&) = delete;
    ValueFiles& operator=(const ValueFiles&) = delete;

    [[nodiscard]] const engine::HiddenValues& hidden() const { return m_hidden; }
    [[nodiscard]] const ordered_json& list() const { return m_list; }

    /// Brings all to their places, then writes the list.
    [[nodiscard]] base::Result<void> finish()
    {
        if (m_hidden.patterns.empty()) {
            return {};
        }
        RETRO_CHECK(m_files.finish());
        std::string table = "value,node,module,type,shape,file\n";
        for (const ordered_json& one : m_list) {
            for (const char* key : {"value", "node", "module", "type"}) {
                table += base::csvField(one[key].get<std::string>()) + ",";
            }
            table += base::csvField(one["shape"].dump()) + "," + base::csvField(one["file"].get<std::string>()) + "\n";
        }
        return base::writeFile(m_folder / "index.csv", table);
    }

private:
    base::Result<void> begin(const graph::Graph& graph, std::span<const base::ValueId> found, std::uint64_t bytes)
    {
        m_graph = &graph;
        m_names = engine::fileNames(graph);
        RETRO_CHECK(base::makeFolder(m_folder));
        std::error_code unknown;
        const fs::space_info space = fs::space(m_folder, unknown);
        if (!unknown && space.available < bytes) {
            return base::outputError(fmt::format("{} values take {}, but the disk has {} left; name fewer values",
                                                 found.size(), base::bytesText(bytes),
                                                 base::bytesText(space.available)),
                                     m_folder.string());
        }
        return {};
    }

    base::Result<void> take(base::ValueId id, const tensor::Tensor& tensor)
    {
        const graph::Value& value = m_graph->value(id);
        const base::NodeId node = m_graph->nodeOf(id);
        const bool isComputed = node.isValid() && !m_graph->isInput(node);
        const fs::path file = m_folder / (m_names[id.index()] + ".npy");
        m_list.push_back({{"value", value.name},
                          {"node", isComputed ? m_graph->labelOf(node) : std::string()},
                          {"module", isComputed ? graph::moduleOf(m_graph->node(node)) : std::string()},
                          {"type", tensor::nameOf(tensor.dtype())},
                          {"shape", tensor.shape()},
                          {"file", file.string()}});
        return m_files.add(file, tensor::toNpy(tensor));
    }

    fs::path m_folder;
    engine::HiddenValues m_hidden;
    const graph::Graph* m_graph = nullptr;
    std::vector<std::string> m_names; ///< of files, by value
    base::FileBatch m_files;
    ordered_json m_list = ordered_json::array();
};

/// With hidden values: as the file names them, where no rewrite is asked for.
base::Result<engine::LoadedModelPointer> modelFor(const RunOptions& options)
{
    RETRO_TRY(engine::LoadedModelPointer model, options.model.load());
    const bool isAsInFile = !options.values.empty() && options.model.question.rewrite.empty();
    return isAsInFile ? engine::asInFile(model) : base::Result<engine::LoadedModelPointer>(std::move(model));
}

base::Result<void> runModel(const Context& context, const RunOptions& options)
{
    RETRO_TRY(const engine::LoadedModelPointer model, modelFor(options));
    RETRO_TRY(const std::vector<tensor::Tensor> inputs, options.model.resolve(*model));
    const execute::Precision precision = engine::precisionOf(options.model.question, *model);
    const graph::Graph& graph = *model->graph();
    const std::vector<std::string> names = engine::fileNames(graph);
    const auto fileOf = [&](base::ValueId id) { return fs::path(options.outputFolder) / (names[id.index()] + ".npy"); };
    for (const base::ValueId output : graph.outputs()) {
        RETRO_CHECK(base::checkOutputPlace(fileOf(output))); // before anything is computed
    }
    RETRO_TRY(const HeldFolder lock, holdFolder(options.outputFolder));
    ValueFiles values(options.outputFolder, options.values);
    RETRO_TRY(const engine::ForwardOutputs result,
              engine::runForward(*model, inputs, precision, {}, context.progress(), values.hidden()));
    warn(result.leftOut);
    warn(result.warnings);
    RETRO_CHECK(values.finish());
    ordered_json files = ordered_json::array();
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        const base::ValueId id = *graph.findValue(result.names[i]);
        const fs::path path = fileOf(id);
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
                        {"values", values.list()},
                        {"left_out", result.leftOut},
                        {"precision", tensor::nameOf(execute::dtypeOf(precision))},
                        {"warnings", result.warnings},
                        {"seconds", {{"load", model->seconds}, {"forward", result.seconds}}},
                        {"peak_bytes", result.peakBytes}});
    } else if (!options.values.empty()) {
        context.say(fmt::format("{} hidden value{} in {}", values.list().size(), values.list().size() == 1 ? "" : "s",
                                (fs::path(options.outputFolder) / "values" / "index.csv").string()));
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
    verb->add_option("--values", options->values,
                     "PATTERN: also the hidden values of this name, node or module: DIR/values/<value name>.npy; * for "
                     "any letters, again for more. The model then runs without rewrites")
        ->allow_extra_args(false);
}

} // namespace retro::app
