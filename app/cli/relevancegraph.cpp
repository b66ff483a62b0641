// SPDX-License-Identifier: Apache-2.0
#include "app/cli/relevancegraph.h"

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/engine/explainer/relevancegraphcheck.h"
#include "core/engine/explainer/wordstart.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/resolve.h"
#include "core/tensor/npy.h"
#include "core/tensor/tensor.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): POSIX leaves it to the user

namespace retro::app
{

using base::Result;
using nlohmann::ordered_json;

namespace
{

/// What another runtime made of a graph, or why there is none here.
struct PeerRun
{
    std::vector<tensor::Tensor> outputs; ///< in the order that was asked for; empty where it did not run
    std::string absent;                  ///< why it did not run
    bool isMissing = false;              ///< as there is none
    std::string version;
};

constexpr int kAbsent = 77;  ///< it does not run this model itself
constexpr int kMissing = 78; ///< there is none
constexpr const char* kScript = R"(
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(78)
asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
def made(file):
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
def value(array, kind):
    if "bfloat16" not in kind:
        return onnxruntime.OrtValue.ortvalue_from_numpy(array)
    bits = (array.astype(numpy.float32).view(numpy.uint32) >> 16).astype(numpy.uint16) # numpy has no such type
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
try:
    session = made(asked["file"])
except Exception as error:
    said = str(error).strip().splitlines()[-1]
    try:
        made(asked["model"])
    except Exception: # operators in types of this model are missing there
        print("it does not run this model itself: " + said, file=sys.stderr)
        sys.exit(77)
    print(said, file=sys.stderr)
    sys.exit(1)
try:
    types = {one.name: one.type for one in session.get_inputs()}
    given = {name: value(numpy.load(folder / f"in{i}.npy"), types[name]) for i, name in enumerate(asked["inputs"])}
    for i, found in enumerate(session.run_with_ort_values(asked["outputs"], given)):
        numpy.save(folder / f"out{i}.npy", found.numpy())
except Exception as error:
    print(str(error).strip().splitlines()[-1], file=sys.stderr)
    sys.exit(1)
(folder / "version").write_text(onnxruntime.__version__, encoding="utf-8")
)";

/// A folder of its own among the temporary files; gone at the end.
class Folder
{
public:
    Folder()
    {
        std::error_code unknown;
        std::string name = (std::filesystem::temp_directory_path(unknown) / "retrograde-peer-XXXXXX").string();
        if (!unknown && mkdtemp(name.data()) != nullptr) {
            m_path = name;
        }
    }
    ~Folder()
    {
        std::error_code ignored;
        if (!m_path.empty()) {
            std::filesystem::remove_all(m_path, ignored);
        }
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

std::string textIn(const std::filesystem::path& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
        text.pop_back();
    }
    return text;
}

/// The exit code of Python on the script; nothing where it could not be started or was ended by a signal.
std::optional<int> runPython(const std::filesystem::path& folder)
{
    const char* chosen = std::getenv("RETROGRADE_PYTHON");
    std::string python = chosen != nullptr && *chosen != '\0' ? chosen : "python3";
    std::string script = kScript;
    std::string place = folder.string();
    std::string flag = "-c";
    const std::array<char*, 5> arguments{python.data(), flag.data(), script.data(), place.data(), nullptr};
    const std::string said = (folder / "said").string();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, said.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t process = 0;
    const bool isStarted = posix_spawnp(&process, python.c_str(), &files, nullptr, arguments.data(), environ) == 0;
    posix_spawn_file_actions_destroy(&files);
    int status = 0;
    if (!isStarted || waitpid(process, &status, 0) != process || !WIFEXITED(status)) {
        return std::nullopt;
    }
    return WEXITSTATUS(status);
}

/// Runs an ONNX file in onnxruntime, on one thread of the CPU, by the Python that RETROGRADE_PYTHON names, else
/// `python3`. An onnxruntime that does not even run `model`, which the graph is of, is no error; one that is missing
/// is none either, and is said. Errors: Engine (it refuses the graph, in its words), Output.
Result<PeerRun> runInOnnxruntime(const std::filesystem::path& file, const std::filesystem::path& model,
                                 const std::vector<std::string>& inputNames, const std::vector<tensor::Tensor>& inputs,
                                 const std::vector<std::string>& outputs)
{
    const Folder folder;
    if (folder.path().empty()) {
        return base::outputError("no temporary folder can be made", "--check");
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        RETRO_CHECK(tensor::writeNpy(folder.path() / fmt::format("in{}.npy", i), inputs[i]));
    }
    const nlohmann::ordered_json asked{{"file", std::filesystem::absolute(file).string()},
                                       {"model", std::filesystem::absolute(model).string()},
                                       {"inputs", inputNames},
                                       {"outputs", outputs}};
    RETRO_CHECK(base::writeFile(folder.path() / "asked.json", asked.dump()));
    const std::optional<int> code = runPython(folder.path());
    PeerRun run;
    const std::string said = textIn(folder.path() / "said");
    if (!code || *code == kAbsent || *code == kMissing || *code == 127) {
        run.absent = said.empty() ? "python3 could not be started" : said;
        run.isMissing = code != kAbsent;
        return run;
    }
    if (*code != 0) {
        return base::engineError("onnxruntime refuses the graph that was written: " + said, file.string());
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        RETRO_TRY(tensor::Tensor found, tensor::readNpy(folder.path() / fmt::format("out{}.npy", i)));
        run.outputs.push_back(std::move(found));
    }
    run.version = textIn(folder.path() / "version");
    return run;
}

constexpr std::string_view kStartByInput = "input";

/// Who chooses the start: an input, unless the target or the start itself is typed.
Result<engine::GraphStart> startOf(const engine::Question& question, bool isByInput)
{
    if (isByInput) {
        return engine::GraphStart::Given;
    }
    return question.targets.empty() && question.start != "all" ? engine::GraphStart::ByInput
                                                               : engine::GraphStart::Fixed;
}

/// What --check found, here and in onnxruntime.
struct Checked
{
    std::vector<engine::RelevanceGraphDifference> here;
    std::vector<engine::RelevanceGraphDifference> there;
    std::string version; ///< of onnxruntime
    std::string absent;  ///< why it did not run
    bool isMissing = false;

    [[nodiscard]] bool holds() const
    {
        constexpr auto kHolds = &engine::RelevanceGraphDifference::holds;
        return std::ranges::all_of(here, kHolds) && std::ranges::all_of(there, kHolds);
    }
};

/// Random inputs that the written graph takes: two samples, other free axes at an extent that it was tried at.
Result<std::vector<tensor::Tensor>> randomInputs(const ModelOptions& options, const engine::LoadedModelPointer& model,
                                                 const engine::RelevanceGraph& made)
{
    ModelOptions own = options;
    std::vector<std::string> shapes;
    for (const graph::ValueId id : model->graph()->inputs()) {
        const std::string& name = model->graph()->value(id).name;
        own.question.inputs.push_back(name + "=random:1");
        const auto there = made.graph->findValue(name);
        const auto& shape = made.graph->value(*there).shape;
        if (!shape || shape->empty()) {
            continue;
        }
        std::vector<std::int64_t> extents;
        for (const graph::Dimension& one : *shape) {
            extents.push_back(one.extent ? *one.extent : extents.empty() ? engine::kFreeSamples : made.freeExtent);
        }
        shapes.push_back(fmt::format("{}={}", name, fmt::join(extents, "x")));
    }
    RETRO_TRY(const engine::LoadedModelPointer fixed, engine::withInputShapes(model, shapes));
    return own.resolve(*fixed);
}

Result<Checked> checked(const std::string& file, const engine::LoadedModelPointer& model,
                        const engine::ExplainRequest& request, const engine::RelevanceGraph& made)
{
    Checked all;
    const bool isDouble = request.precision == execute::Precision::Double;
    RETRO_TRY(const engine::RelevanceGraphCheck found,
              engine::checkRelevanceGraph(file, model, request, made, !isDouble));
    all.here = found.differences;
    if (isDouble) {
        all.absent = "it lacks operators in float64";
        return all;
    }
    RETRO_TRY(const PeerRun peer, runInOnnxruntime(file, model->path, found.inputNames, found.inputs, found.outputs));
    for (std::size_t i = 0; i < peer.outputs.size(); ++i) {
        all.there.push_back(found.differenceOf(i, peer.outputs[i]));
    }
    all.version = peer.version;
    all.absent = peer.absent;
    all.isMissing = peer.isMissing;
    return all;
}

void sayDifferences(const Context& context, const std::string& who,
                    const std::vector<engine::RelevanceGraphDifference>& differences)
{
    for (const engine::RelevanceGraphDifference& one : differences) {
        context.say(fmt::format("check        {} differs by {:.2g} of its largest value at most, {}; {} {:.2g}",
                                one.output, one.largest, who, one.holds() ? "within" : "ABOVE", one.bound));
    }
}

ordered_json jsonOf(const std::string& file, const engine::RelevanceGraph& made, const Checked& checked)
{
    ordered_json answer{{"file", file},
                        {"nodes", made.graph->nodeCount()},
                        {"chooser", made.chooser},
                        {"outputs", made.relevance},
                        {"composite", made.metadata.at("retrograde.composite")}};
    for (const engine::RelevanceGraphDifference& one : checked.here) {
        answer["difference"][one.output] = one.largest;
        answer["bound"][one.output] = one.bound;
    }
    for (const engine::RelevanceGraphDifference& one : checked.there) {
        answer["onnxruntime"][one.output] = one.largest;
    }
    if (!checked.here.empty()) {
        answer["holds"] = checked.holds();
    }
    answer["warnings"] = made.warnings;
    return answer;
}

/// "; input target says where relevance starts", and at which position of a text.
std::string chooserText(const engine::RelevanceGraph& made, const engine::RelevanceGraphForm& form)
{
    if (made.chooser.empty()) {
        return {};
    }
    return form.position ? fmt::format("; input {} is a word at position {} of each text (-1: the best)", made.chooser,
                                       *form.position)
                         : fmt::format("; input {} says where relevance starts", made.chooser);
}

} // namespace

void addRelevanceGraphOptions(CLI::App& verb, RelevanceGraphOptions& options)
{
    verb.add_option("--graph-values", options.values, "With --graph-out: values whose relevance is an output as well");
    verb.add_option("--max-pool", options.maxPool,
                    "With --graph-out: scatter (default), or taps for runtimes without a scatter that adds")
        ->check(CLI::IsMember({"scatter", "taps"}));
    verb.add_flag("--check", options.check,
                  "With --graph-out: also run the graph and say how far it is from the engine (inputs by --input, else "
                  "random ones)");
}

Result<void> checkWithoutGraph(const RelevanceGraphOptions& options)
{
    if (options.values.empty() && options.maxPool.empty() && !options.check) {
        return {};
    }
    return base::usageError("--graph-values, --max-pool and --check are about a graph; name its file by --graph-out");
}

Result<void> writeExplainer(Context& context, const ModelOptions& model, const RelevanceGraphOptions& options,
                            const engine::LoadedModelPointer& loaded)
{
    engine::Question question = model.question;
    const bool isByInput = question.start == kStartByInput;
    if (isByInput) {
        question.start.clear();
    }
    std::vector<engine::Asked> asks = engine::asksOf(question);
    asks.push_back({std::string(engine::kRelevanceGraph), "--graph-out"});
    RETRO_CHECK(engine::checkTogether(asks));
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(question, *loaded));
    engine::RelevanceGraphForm form;
    RETRO_TRY(form.start, startOf(question, isByInput));
    RETRO_CHECK(engine::startAtWord(*loaded, question, request, form));
    form.values = options.values;
    form.usesTaps = options.maxPool == "taps";
    form.version = RETRO_VERSION;
    RETRO_TRY(const engine::RelevanceGraph made, engine::writeRelevanceGraph(question.graphOut, loaded, request, form));
    Checked found;
    if (options.check) {
        RETRO_TRY(request.inputs, question.inputs.empty() ? randomInputs(model, loaded, made) : model.resolve(*loaded));
        RETRO_TRY(found, checked(question.graphOut, loaded, request, made));
        context.exitCode = found.holds() && !found.isMissing ? context.exitCode : 1;
        if (!found.absent.empty()) {
            warn({"the graph was not checked in onnxruntime: " + found.absent +
                  (found.isMissing ? "; install onnxruntime for python3, or name a Python that has it by "
                                     "RETROGRADE_PYTHON"
                                   : "")});
        }
    }
    if (context.json) {
        context.answer(jsonOf(question.graphOut, made, found));
        return {};
    }
    context.say(fmt::format("{}  {} nodes, composite {}{}", question.graphOut, made.graph->nodeCount(),
                            made.metadata.at("retrograde.composite"), chooserText(made, form)));
    for (const std::string& output : made.relevance) {
        context.say("output       " + output);
    }
    for (const std::string& warning : made.warnings) {
        context.say("note         " + warning);
    }
    sayDifferences(context, "run here", found.here);
    sayDifferences(context, "in onnxruntime " + found.version, found.there);
    return {};
}

} // namespace retro::app
