// SPDX-License-Identifier: Apache-2.0
#include "app/cli/relevancegraph.h"

#include "app/cli/onnxruntimepeer.h"
#include "core/engine/explainer/relevancegraphcheck.h"
#include "core/engine/question/combinations.h"
#include "core/engine/question/resolve.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace retro::app
{

using base::Result;
using nlohmann::ordered_json;

namespace
{

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
            extents.push_back(one.extent ? *one.extent : extents.empty() ? engine::kFreeSamples : engine::kFreeExtent);
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

namespace
{

/// What `grad` can write and `explain` cannot.
Result<void> checkNothingRuns(const engine::Question& question)
{
    for (const engine::Asked& one : engine::asksOf(question)) {
        if (one.what == "planned" || one.what == "forwarded" || one.what == "parameters") {
            return base::usageError("a graph is written and nothing runs; leave one of the two out",
                                    "--graph-out and " + one.option);
        }
    }
    return {};
}

} // namespace

Result<void> writeExplainer(Context& context, const ModelOptions& model, const RelevanceGraphOptions& options,
                            const engine::LoadedModelPointer& loaded)
{
    engine::Question question = model.question;
    const bool isByInput = question.start == kStartByInput;
    if (isByInput) {
        question.start.clear();
    }
    RETRO_CHECK(checkNothingRuns(question));
    RETRO_CHECK(engine::checkTogether(engine::asksOf(question)));
    std::error_code unknown;
    if (std::filesystem::equivalent(question.graphOut, loaded->path, unknown)) {
        return base::usageError("the graph would be written over the model; choose another name",
                                "--graph-out " + question.graphOut);
    }
    RETRO_TRY(engine::ExplainRequest request, engine::resolve(question, *loaded));
    engine::RelevanceGraphForm form;
    RETRO_TRY(form.start, startOf(question, isByInput));
    form.values = options.values;
    form.usesTaps = options.maxPool == "taps";
    form.version = RETRO_VERSION;
    RETRO_TRY(const engine::RelevanceGraph made, engine::writeRelevanceGraph(question.graphOut, loaded, request, form));
    Checked found;
    if (options.check) {
        RETRO_TRY(request.inputs, question.inputs.empty() ? randomInputs(model, loaded, made) : model.resolve(*loaded));
        RETRO_TRY(found, checked(question.graphOut, loaded, request, made));
        context.exitCode = found.holds() ? context.exitCode : 1;
    }
    if (context.json) {
        context.answer(jsonOf(question.graphOut, made, found));
        return {};
    }
    context.say(fmt::format(
        "{}  {} nodes, composite {}{}", question.graphOut, made.graph->nodeCount(),
        made.metadata.at("retrograde.composite"),
        made.chooser.empty() ? std::string() : fmt::format("; input {} says where relevance starts", made.chooser)));
    for (const std::string& output : made.relevance) {
        context.say("output       " + output);
    }
    for (const std::string& warning : made.warnings) {
        context.say("note         " + warning);
    }
    sayDifferences(context, "run here", found.here);
    sayDifferences(context, "in onnxruntime " + found.version, found.there);
    if (!found.absent.empty()) {
        context.say("check        onnxruntime did not run: " + found.absent);
    }
    return {};
}

} // namespace retro::app
