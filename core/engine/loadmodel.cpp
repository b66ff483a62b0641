// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loadmodel.h"

#include "core/engine/stopwatch.h"
#include "core/formats/modelfile.h"
#include "core/formats/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace retro::engine
{

namespace
{

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
    std::vector<formats::InlinedFunction> inlined;
};

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
    for (const formats::InlinedFunction& function : read.inlined) {
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
    rewrites.keepDigits = false;
    auto rewritten = rewrite::rewrite(read.graph, rewrites, stop);
    if (!rewritten) {
        return base::within(std::move(rewritten).error(), path.string());
    }
    model->rewritten = std::move(rewritten).value();
    putInFront(inliningSteps(read), model->rewritten);
    model->seconds = watch.seconds();
    return LoadedModelPointer(std::move(model));
}

} // namespace

base::Result<LoadedModelPointer> loadModel(const std::filesystem::path& path, const rewrite::RewriteOptions& rewrites,
                                           const std::stop_token& stop)
{
    const Stopwatch watch;
    ReadModel read;
    RETRO_TRY(read.graph, formats::readModelFile(path, stop, &read.inlined));
    RETRO_TRY(std::optional<formats::ModelCard> card, formats::cardOf(path));
    return finish(read, path, std::move(card), rewrites, stop, watch);
}

base::Result<LoadedModelPointer> parseModel(std::span<const std::byte> data, const std::filesystem::path& path,
                                            const std::string& card, const rewrite::RewriteOptions& rewrites,
                                            const std::stop_token& stop)
{
    const Stopwatch watch;
    ReadModel read;
    RETRO_TRY(read.graph, formats::parseOnnx(data, path.string(), {}, stop, &read.inlined));
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
    auto rewritten = rewrite::rewrite(model->rewritten.before, wanted, stop);
    if (!rewritten) {
        return base::within(std::move(rewritten).error(), model->path.string());
    }
    auto changed = std::make_shared<LoadedModel>(*model);
    changed->rewritten = std::move(rewritten).value();
    std::vector<rewrite::RewriteStep> read;
    std::ranges::copy_if(model->rewritten.steps, std::back_inserter(read),
                         [](const rewrite::RewriteStep& step) { return step.name == kInlineFunctions; });
    putInFront(std::move(read), changed->rewritten);
    return LoadedModelPointer(std::move(changed));
}

} // namespace retro::engine
