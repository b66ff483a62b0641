// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagemodel.h"

#include "core/engine/input/fittedinput.h"
#include "core/engine/language/filledinputs.h"
#include "core/engine/question/resolve.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

namespace
{

using base::Result;
using base::ValueId;
using graph::Graph;
using tensor::Tensor;

bool holdsWholeNumbers(const graph::Value& value)
{
    return !tensor::isFloating(value.dtype) && tensor::sizeOf(value.dtype) >= sizeof(std::int32_t);
}

std::int64_t rowsOfTable(const Graph& graph, ValueId table)
{
    const graph::Value& value = graph.value(table);
    if (value.constant.isValid()) {
        return value.constant.rank() == 2 || value.constant.rank() == 3 ? value.constant.shape()[0] : 0;
    }
    const bool isKnown = value.shape && value.shape->size() >= 2 && value.shape->front().extent;
    return isKnown ? *value.shape->front().extent : 0;
}

/// Rows of the table from which an input's numbers choose; 0 when they choose from none.
std::int64_t rowsChosenBy(const Graph& graph, ValueId value, int steps = 0)
{
    constexpr int kMostSteps = 8;
    for (const graph::Use& use : graph.uses(value)) {
        const graph::Node& node = graph.node(use.node);
        const bool isTable = node.op == "GatherBlockQuantized" || node.op == "Gather";
        if (isTable && use.slot == 1 && node.inputs.front().isValid()) {
            return rowsOfTable(graph, node.inputs.front());
        }
        const bool handsOn = node.op == "Identity" || node.op == "Cast" || node.op == "Reshape" ||
                             node.op == "Unsqueeze" || node.op == "Squeeze";
        if (handsOn && use.slot == 0 && steps < kMostSteps) {
            if (const std::int64_t rows = rowsChosenBy(graph, node.outputs.front(), steps + 1); rows > 0) {
                return rows;
            }
        }
    }
    return 0;
}

std::optional<std::size_t> inputOfTokens(const Graph& graph)
{
    std::optional<std::size_t> chosen;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        if (!holdsWholeNumbers(input) || (input.shape && input.shape->size() != 2)) {
            continue;
        }
        if (input.name == "input_ids") {
            return i;
        }
        constexpr std::int64_t kFewKinds = 4; // of token types
        const bool isPlace = input.name.find("position") != std::string::npos;
        if (!chosen && !isPlace && rowsChosenBy(graph, graph.inputs()[i]) > kFewKinds) {
            chosen = i;
        }
    }
    return chosen;
}

std::optional<ValueId> scoresOf(const Graph& graph)
{
    std::optional<ValueId> chosen;
    for (const ValueId id : graph.outputs()) {
        const graph::Value& output = graph.value(id);
        const bool fits = tensor::isFloating(output.dtype) || tensor::isNarrowFloat(output.dtype);
        const bool hasAxes = !output.shape || output.shape->size() == 3;
        if (fits && hasAxes && (output.name == "logits" || !chosen)) {
            chosen = id;
        }
        if (chosen && graph.value(*chosen).name == "logits") {
            break;
        }
    }
    return chosen;
}

} // namespace

std::optional<LanguageModel> languageModel(const LoadedModel& model)
{
    const Graph& graph = *model.graph();
    const auto input = inputOfTokens(graph);
    const auto scores = scoresOf(graph);
    if (!input || !scores) {
        return std::nullopt;
    }
    LanguageModel language{*input, graph.inputs()[*input], *scores};
    language.words = rowsChosenBy(graph, language.tokens);
    const graph::Value& output = graph.value(*scores);
    const std::optional<std::int64_t> last = output.shape ? output.shape->back().extent : std::nullopt;
    language.predicts = language.words > 0 && last == language.words;
    return language;
}

Result<std::vector<Tensor>> languageInputs(const LoadedModel& model, const LanguageModel& language,
                                           const Question& question, const PictureDecoder& decode,
                                           std::span<const std::int64_t> tokens)
{
    const Graph& graph = *model.graph();
    const formats::ModelCard* const card = model.card ? &*model.card : nullptr;
    RETRO_TRY(const PictureOptions options, pictureOptions(question, card));
    std::vector<Tensor> inputs(graph.inputs().size());
    const tensor::Shape shape{1, static_cast<std::int64_t>(tokens.size())};
    inputs[language.input] = Tensor::of<std::int64_t>(shape, tokens).to(graph.value(language.tokens).dtype);
    for (const std::string& text : question.inputs) {
        const InputSource source = parseInput(text, graph);
        const auto at = std::find_if(graph.inputs().begin(), graph.inputs().end(), [&](ValueId id) {
            return source.name.empty() ? id == language.tokens : graph.value(id).name == source.name;
        });
        if (at == graph.inputs().end() && !model.given.contains(source.name)) {
            return base::usageError("the model has no input of this name", "--input " + text);
        }
        if (at != graph.inputs().end() && *at != language.tokens) {
            RETRO_TRY(inputs[static_cast<std::size_t>(at - graph.inputs().begin())],
                      readInput(source.source, graph, *at, options, decode, card));
        }
    }
    RETRO_CHECK(fillLanguageInputs(model, inputs));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].isValid()) {
            const std::string& name = graph.value(graph.inputs()[i]).name;
            return base::usageError(fmt::format("no data for this input; add --input {}=FILE", name),
                                    fmt::format("input '{}'", name));
        }
    }
    return inputs;
}

} // namespace retro::engine
