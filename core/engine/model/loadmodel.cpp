// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/loadmodel.h"

#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/base/log.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/explain/target.h"
#include "core/engine/input/givenshapes.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/model/changedgraph.h"
#include "core/engine/model/prepare.h"
#include "core/formats/insidefolder.h"
#include "core/formats/modelfile.h"
#include "core/formats/onnx.h"
#include "core/graph/contentdigest.h"
#include "core/lrp/composite/builtincheck.h"
#include "core/lrp/composite/composite.h"
#include "core/lrp/composite/ruleoverride.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <variant>

namespace retro::engine
{

namespace fs = std::filesystem;
using base::inputError;
using base::Result;

namespace
{

Result<void> checkFile(const std::string& file, const fs::path& card)
{
    const fs::path folder = card.parent_path();
    std::error_code ec;
    if (!formats::leavesFolder(file) && !fs::exists(folder / file, ec)) {
        return inputError(fmt::format("there is no file '{}' in the card's folder; put it there, or name another "
                                      "composite",
                                      file));
    }
    if (formats::leavesFolder(file) || !formats::isInsideFolder(file, folder)) {
        return inputError(fmt::format("the composite '{}' is not inside the card's folder; only files beside or below "
                                      "the card are read",
                                      file));
    }
    const fs::path path = folder / file;
    const Result<std::string> json = base::readTextFile(path, kMaxCompositeFileBytes);
    const auto composite = json.ok() ? lrp::parseComposite(*json, path.string()) : json.error();
    return composite.ok() ? Result<void>() : inputError(composite.error().text()); // its own place and the card's
}

Result<void> checkComposite(const formats::ModelCard& card)
{
    if (card.composite.empty()) {
        return {};
    }
    const lrp::Specification named = lrp::splitSpecification(card.composite);
    RETRO_CHECK(named.base.ends_with(".json") ? checkFile(named.base, card.file) : lrp::checkBuiltin(named.base));
    for (const std::string& rule : named.overrides) {
        RETRO_CHECK(lrp::parseOverride(rule));
    }
    return {};
}

/// Elements of a sample of a value; nothing where the file does not say it.
std::optional<std::int64_t> declaredClasses(const graph::Value& value)
{
    if (!value.shape || value.shape->empty()) {
        return std::nullopt;
    }
    std::int64_t count = 1;
    for (std::size_t axis = value.shape->size() < 2 ? 0 : 1; axis < value.shape->size(); ++axis) {
        const std::optional<std::int64_t> extent = (*value.shape)[axis].extent;
        if (!extent || *extent < 1 || count > std::numeric_limits<std::int64_t>::max() / *extent) {
            return std::nullopt;
        }
        count *= *extent;
    }
    return count;
}

/// True where running the model makes values that it does not name: If, Loop and Scan are written out.
bool makesValues(const graph::Graph& graph)
{
    return std::ranges::any_of(graph.nodes(), [](const graph::Node& node) {
        return std::ranges::any_of(node.attributes, [](const auto& attribute) {
            return std::holds_alternative<graph::Subgraph>(attribute.second);
        });
    });
}

/// A name that the tokenizer of a language model knows, or that is known when the model is written out, is not looked
/// at here.
Result<void> checkTarget(const formats::ModelCard& card, const LoadedModel& model)
{
    if (card.target.empty()) {
        return {};
    }
    const graph::Graph& graph = *model.rewritten.before;
    if (graph.findValue(card.target) || model.graph()->findValue(card.target)) {
        return {};
    }
    RETRO_TRY(const TargetRequest target, parseTarget(card.target, card.labels));
    const bool isKnown =
        !target.namesValue() || graph.findValue(target.value) || model.graph()->findValue(target.value);
    const auto language = languageModel(model);
    const bool takesWords = language && language->asksWords;
    if (!isKnown && !makesValues(graph) && !takesWords) {
        return inputError(
            fmt::format("'{}' is no label of the card, no class number and no value of the model", card.target));
    }
    if (target.kind != TargetRequest::Kind::Class || graph.outputs().size() != 1) {
        return {}; // which of several outputs is explained shows when the model is bound
    }
    RETRO_TRY(const base::ValueId value, targetValue(target, graph));
    const std::optional<std::int64_t> classes = declaredClasses(graph.value(value));
    if (classes && target.classIndex >= *classes) {
        return inputError(fmt::format("there is no class {}; the output '{}' has {}", target.classIndex,
                                      graph.value(value).name, *classes));
    }
    return {};
}

/// With the card and the field as its place.
base::Error ofCard(const base::Error& error, const formats::ModelCard& card, const LoadedModel& model,
                   const char* field)
{
    const fs::path file = card.file.empty() ? model.path : card.file;
    return inputError(error.message, fmt::format("{}, field '{}' of the model card", file.string(), field));
}

/// Whether what the card of a model says of its explanation can be: a composite that there is and can be read, files
/// inside the card's folder, a target that the model has. Errors (Input) name the card and the field.
Result<void> checkCard(const LoadedModel& model)
{
    if (!model.card) {
        return {};
    }
    if (const Result<void> composite = checkComposite(*model.card); !composite.ok()) {
        return ofCard(composite.error(), *model.card, model, "composite");
    }
    if (const Result<void> target = checkTarget(*model.card, model); !target.ok()) {
        return ofCard(target.error(), *model.card, model, "target");
    }
    return {};
}

/// What steps of functions that were written out as a file was read are named. They cannot be switched off: nothing
/// else knows what a call does.
constexpr std::string_view kInlineFunctions = "inline-functions";

/// A rewrite that the card names and nobody knows is a fault of the card.
base::Result<void> chooseByCard(const std::optional<formats::ModelCard>& card, rewrite::RewriteOptions& rewrites)
{
    if (!card) {
        return {};
    }
    if (const auto known = rewrite::switchOn(rewrites, card->rewrite); !known) {
        return base::inputError(known.error().message, "field 'rewrite' of the model card");
    }
    const auto known = rewrite::switchOff(rewrites, card->noRewrite);
    return known ? known : base::inputError(known.error().message, "field 'no_rewrite' of the model card");
}

/// A graph as it was read, and the functions of the file that were written out in it.
struct ReadModel
{
    std::shared_ptr<const graph::Graph> graph;
    formats::FileNotes notes;
    std::vector<std::string> shapes = {}; ///< to be given to inputs
    std::shared_ptr<const base::HeldFiles> files = {};
};

/// The graph with what a person gives: shapes of inputs, data of optional inputs.
base::Result<std::shared_ptr<const graph::Graph>> withWhatIsGiven(const std::shared_ptr<const graph::Graph>& read,
                                                                  const std::vector<std::string>& shapes,
                                                                  const std::map<std::string, tensor::Tensor>& given)
{
    if (shapes.empty() && given.empty()) {
        return read;
    }
    GraphChanges changes;
    if (!shapes.empty()) {
        RETRO_TRY(changes.shapes, givenShapes(shapes, *read));
    }
    for (const auto& [name, data] : given) {
        changes.constants.emplace(*read->findValue(name), data);
    }
    return changedGraph(*read, changes);
}

/// A copy whose graph as read is known, also of a model that was made without a file.
std::shared_ptr<LoadedModel> copyOf(const LoadedModel& model)
{
    auto copy = std::make_shared<LoadedModel>(model);
    copy->read = model.read ? model.read : model.rewritten.before;
    return copy;
}

/// The model with another graph before its rewrites.
base::Result<LoadedModelPointer> rewrittenAgain(std::shared_ptr<LoadedModel> model, const std::stop_token& stop)
{
    RETRO_TRY(const std::shared_ptr<const graph::Graph> before,
              withWhatIsGiven(model->read, model->shapes, model->given));
    std::vector<rewrite::RewriteStep> steps = std::move(model->rewritten.steps);
    RETRO_TRY(auto rewritten,
              base::within(rewrite::rewrite(before, model->rewritten.options, stop), model->path.string()));
    model->rewritten = std::move(rewritten);
    std::erase_if(steps, [](const rewrite::RewriteStep& step) { return step.name != kInlineFunctions; });
    model->rewritten.steps.insert(model->rewritten.steps.begin(), std::make_move_iterator(steps.begin()),
                                  std::make_move_iterator(steps.end()));
    return LoadedModelPointer(std::move(model));
}

/// What is in the file's graph for a call now.
std::vector<std::string> nodesWrittenOut(const ReadModel& read, const formats::InlinedFunction& function)
{
    std::vector<std::string> names;
    for (const std::string& name : function.values) {
        const auto value = read.graph->findValue(name);
        const base::NodeId node = value ? read.graph->nodeOf(*value) : base::NodeId();
        if (node.isValid() && !read.graph->isInput(node)) { // a Constant became one
            names.push_back(read.graph->node(node).name);
        }
    }
    return names;
}

/// As steps in front of those of the rewrites. There is no graph before them: nothing can be said of a call but by what
/// its function does.
std::vector<rewrite::RewriteStep> inliningSteps(const ReadModel& read)
{
    std::vector<rewrite::RewriteStep> steps;
    for (const formats::InlinedFunction& function : read.notes.inlined) {
        rewrite::RewriteStep step;
        step.rewrite = "inline functions";
        step.name = kInlineFunctions;
        step.removed = function.calls;
        step.added = nodesWrittenOut(read, function);
        step.text =
            !function.note.empty()
                ? function.note
                : fmt::format("{}, called {}, is written out in the file's graph", function.name,
                              function.calls.size() == 1 ? "once" : fmt::format("{} times", function.calls.size()));
        step.isNote = !function.note.empty();
        steps.push_back(std::move(step));
    }
    return steps;
}

/// Puts steps of reading in front of the others.
void putInFront(std::vector<rewrite::RewriteStep> steps, rewrite::Rewritten& rewritten)
{
    rewritten.steps.insert(rewritten.steps.begin(), std::make_move_iterator(steps.begin()),
                           std::make_move_iterator(steps.end()));
}

base::Result<LoadedModelPointer> finish(const ReadModel& read, const std::filesystem::path& path,
                                        std::optional<formats::ModelCard> card, rewrite::RewriteOptions rewrites,
                                        const std::stop_token& stop, const Stopwatch& watch)
{
    if (auto known = chooseByCard(card, rewrites); !known) {
        return base::within(std::move(known).error(), path.string());
    }
    auto model = std::make_shared<LoadedModel>();
    model->path = path;
    model->name = path.filename().string();
    model->card = std::move(card);
    model->read = read.graph;
    model->notes = read.notes;
    model->shapes = read.shapes;
    model->files = read.files;
    rewrites.keepDigits = false;
    RETRO_TRY(const std::shared_ptr<const graph::Graph> before, withWhatIsGiven(read.graph, read.shapes, {}));
    RETRO_TRY(auto rewritten, base::within(rewrite::rewrite(before, rewrites, stop), path.string()));
    model->rewritten = std::move(rewritten);
    putInFront(inliningSteps(read), model->rewritten);
    RETRO_CHECK(checkCard(*model));
    model->seconds = watch.seconds();
    return LoadedModelPointer(std::move(model));
}

base::Result<LoadedModelPointer> loadFile(const std::filesystem::path& path, const LoadOptions& options,
                                          const std::stop_token& stop)
{
    const Stopwatch watch;
    const base::ReadingScope scope("the model", path);
    ReadModel read;
    read.files = scope.files();
    RETRO_TRY(read.graph, formats::readModelFile(path, stop, &read.notes, options.read));
    RETRO_TRY(std::optional<formats::ModelCard> card, formats::cardOf(path));
    read.shapes = options.shapes;
    return finish(read, path, std::move(card), options.rewrites, stop, watch);
}

} // namespace

base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const LoadOptions& options,
                                           const std::stop_token& stop)
{
    base::Result<LoadedModelPointer> model = loadFile(path, options, stop);
    if (!model) {
        base::log(base::logcategory::kModel, model.error());
        return model;
    }
    base::log(base::logcategory::kModel, base::LogLevel::Info,
              fmt::format("{}: read in {:.2f} s, {} nodes, {} rewrites", path.string(), (*model)->seconds,
                          (*model)->graph()->nodeCount(), (*model)->rewritten.steps.size()));
    return model;
}

base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const rewrite::RewriteOptions& rewrites,
                                           const std::stop_token& stop)
{
    return loadModel(path, LoadOptions{rewrites, {}, {}}, stop);
}

base::Result<LoadedModelPointer> parseModel(std::span<const std::byte> data, const std::filesystem::path& path,
                                            const std::string& card, const rewrite::RewriteOptions& rewrites,
                                            const std::stop_token& stop)
{
    const Stopwatch watch;
    ReadModel read;
    RETRO_TRY(read.graph, formats::parseOnnx(data, path.string(), {}, stop, &read.notes));
    std::optional<formats::ModelCard> parsed;
    if (!card.empty()) {
        RETRO_TRY(parsed, formats::parseCard(card, path.string()));
    }
    return finish(read, path, std::move(parsed), rewrites, stop, watch);
}

base::Result<LoadedModelPointer> withRewrites(const LoadedModelPointer& model, const rewrite::RewriteOptions& rewrites,
                                              const std::stop_token& stop)
{
    rewrite::RewriteOptions wanted = rewrites;
    wanted.keepDigits = model->rewritten.options.keepDigits; // no rewrite: it stays as the model was loaded
    if (model->rewritten.options == wanted) {
        return model;
    }
    RETRO_TRY(auto rewritten,
              base::within(rewrite::rewrite(model->rewritten.before, wanted, stop), model->path.string()));
    auto changed = std::make_shared<LoadedModel>(*model);
    changed->rewritten = std::move(rewritten);
    std::vector<rewrite::RewriteStep> read;
    std::ranges::copy_if(model->rewritten.steps, std::back_inserter(read),
                         [](const rewrite::RewriteStep& step) { return step.name == kInlineFunctions; });
    putInFront(std::move(read), changed->rewritten);
    return LoadedModelPointer(std::move(changed));
}

base::Result<LoadedModelPointer> withInputShapes(const LoadedModelPointer& model,
                                                 const std::vector<std::string>& shapes, const std::stop_token& stop)
{
    if (model->shapes == shapes) {
        return model;
    }
    std::shared_ptr<LoadedModel> changed = copyOf(*model);
    changed->shapes = shapes;
    return rewrittenAgain(std::move(changed), stop);
}

base::Result<LoadedModelPointer> withGiven(const LoadedModelPointer& model, std::map<std::string, tensor::Tensor> given,
                                           const std::stop_token& stop)
{
    for (const auto& [name, data] : given) {
        const std::string place = "input '" + name + "'";
        const std::vector<std::string>& optional = model->notes.optionalInputs;
        const auto value = model->rewritten.before->findValue(name);
        if (!value || std::ranges::find(optional, name) == optional.end()) {
            return base::usageError("the model has no optional input of this name", place);
        }
        const graph::Value& constant = model->rewritten.before->value(*value);
        const std::size_t rank = constant.shape ? constant.shape->size() : data.rank();
        if (data.dtype() != constant.dtype || data.rank() != rank) {
            return base::inputError(fmt::format("its value in the file is {} with {} axes, but the data is {} of shape "
                                                "{}; convert the data",
                                                tensor::nameOf(constant.dtype), rank, tensor::nameOf(data.dtype()),
                                                tensor::toText(data.shape())),
                                    place);
        }
    }
    std::shared_ptr<LoadedModel> changed = copyOf(*model);
    changed->given = std::move(given);
    return rewrittenAgain(std::move(changed), stop);
}

std::string fileDigest(const LoadedModel& model)
{
    constexpr std::uint64_t kMostBytes = 4ULL << 30U;
    const auto& graph = model.read ? model.read : model.rewritten.before;
    std::uint64_t bytes = 0;
    for (const graph::Value& value : graph->values()) {
        bytes += value.constant.isValid() ? static_cast<std::uint64_t>(value.constant.bytes()) : 0;
    }
    return bytes <= kMostBytes ? graph::contentDigest(graph) : std::string();
}

std::string absenceOf(const LoadedModel& model, const std::string& constant)
{
    const auto note = model.notes.absent.find(constant);
    return note != model.notes.absent.end() ? note->second
                                            : std::string("the file has no data for it; write the graph with its data");
}

} // namespace retro::engine
