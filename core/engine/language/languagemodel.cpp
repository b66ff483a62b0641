// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagemodel.h"

#include "core/engine/input/fittedinput.h"
#include "core/engine/language/filledinputs.h"
#include "core/engine/question/resolve.h"
#include "core/ops/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace retro::engine
{

namespace
{

using base::Result;
using base::ValueId;
using graph::Graph;
using tensor::Tensor;

std::int64_t rowsOfTable(const Graph& graph, ValueId table)
{
    const graph::Value& value = graph.value(table);
    if (value.constant.isValid()) {
        return value.constant.rank() == 2 || value.constant.rank() == 3 ? value.constant.shape()[0] : 0;
    }
    const bool isKnown = value.shape && value.shape->size() >= 2 && value.shape->front().extent;
    return isKnown ? *value.shape->front().extent : 0;
}

/// Whether the numbers that choose rows go on in the result of a node: moved, shifted, clamped or repaired.
bool handsNumbersOn(const graph::Node& node, std::uint32_t slot)
{
    using enum ops::Elements;
    const bool isOfFirst = ops::keepsElements(node) || ops::areElements(node, {Bounded});
    return (slot == 0 && isOfFirst) || (slot > 0 && ops::areElements(node, {Chosen})) ||
           ops::areElements(node, {Function, Combined, Summed, Subtracted, Multiplied});
}

/// Rows of the table from which an input's numbers choose; 0 when they choose from none.
std::int64_t rowsChosenBy(const Graph& graph, ValueId value, int steps = 0)
{
    constexpr int kMostSteps = 16;
    for (const graph::Use& use : graph.uses(value)) {
        const graph::Node& node = graph.node(use.node);
        const bool isTable = node.op == "GatherBlockQuantized" || node.op == "Gather";
        if (isTable && use.slot == 1 && node.inputs.front().isValid()) {
            return rowsOfTable(graph, node.inputs.front());
        }
        if (steps < kMostSteps && handsNumbersOn(node, use.slot)) {
            if (const std::int64_t rows = rowsChosenBy(graph, node.outputs.front(), steps + 1); rows > 0) {
                return rows;
            }
        }
    }
    return 0;
}

bool has(const std::string& name, std::string_view part) { return name.find(part) != std::string::npos; }

/// An input of one text: whole numbers, batch × tokens, also where they are written as floats.
bool canBeText(const graph::Value& input)
{
    const bool isWhole = !tensor::isFloating(input.dtype) && tensor::sizeOf(input.dtype) >= sizeof(std::int32_t);
    return (isWhole || tensor::isFloating(input.dtype)) && (!input.shape || input.shape->size() == 2);
}

/// Places of the inputs whose numbers are of tokens.
std::vector<std::size_t> inputsOfTokens(const Graph& graph)
{
    constexpr std::int64_t kFewKinds = 4; // of token types
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        const bool isNamed = has(input.name, "input_ids") && !tensor::isFloating(input.dtype);
        const bool isPlace = has(input.name, "position");
        if (canBeText(input) && (isNamed || (!isPlace && rowsChosenBy(graph, graph.inputs()[i]) > kFewKinds))) {
            found.push_back(i);
        }
    }
    return found;
}

/// The input whose rows a value has: along what each node is made of first, and through a table to what chooses from
/// it. A residual stream and the queries of an attention keep the rows, so that this leads to the text of the decoder.
ValueId rowsOf(const Graph& graph, ValueId value)
{
    constexpr int kMostSteps = 1 << 14;
    for (int step = 0; step < kMostSteps && graph.value(value).kind == graph::ValueKind::Result; ++step) {
        const graph::Node& node = graph.node(graph.nodeOf(value));
        const auto first = node.inputs.begin() + (ops::areElements(node, {ops::Elements::Chosen}) ? 1 : 0);
        const auto carrier = std::find_if(first, node.inputs.end(), [&](ValueId operand) {
            return operand.isValid() && graph.value(operand).kind != graph::ValueKind::Constant;
        });
        if (carrier == node.inputs.end()) {
            return {};
        }
        value = *carrier;
    }
    return value;
}

bool isOfDecoder(const graph::Value& input)
{
    return has(input.name, "dec") || has(input.name, "tgt") || has(input.name, "target");
}

/// Which of several inputs of tokens has the text that the scores are about.
std::size_t textOfScores(const Graph& graph, std::span<const std::size_t> found, ValueId scores)
{
    const auto inputAt = [&](std::size_t i) { return graph.inputs()[i]; };
    const auto decoder =
        std::ranges::find_if(found, [&](std::size_t i) { return isOfDecoder(graph.value(inputAt(i))); });
    if (decoder != found.end()) {
        return *decoder;
    }
    const ValueId rows = found.size() > 1 ? rowsOf(graph, scores) : ValueId();
    const auto followed = std::ranges::find_if(found, [&](std::size_t i) { return inputAt(i) == rows; });
    const auto named =
        std::ranges::find_if(found, [&](std::size_t i) { return graph.value(inputAt(i)).name == "input_ids"; });
    return followed != found.end() ? *followed : named != found.end() ? *named : found.front();
}

/// Two inputs whose axes of tokens are declared alike lie beside each other: they are of one text.
bool areOfOneText(const graph::Value& a, const graph::Value& b)
{
    if (!a.shape || !b.shape || a.shape->size() != 2 || b.shape->size() != 2) {
        return true;
    }
    const graph::Dimension& own = a.shape->back();
    return own.extent == b.shape->back().extent && own.symbol == b.shape->back().symbol;
}

/// The text that an encoder reads, where the scores are about that of a decoder.
std::optional<std::size_t> textOfEncoder(const Graph& graph, std::span<const std::size_t> found, std::size_t own)
{
    const graph::Value& decoder = graph.value(graph.inputs()[own]);
    for (const std::size_t i : found) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        const bool isKind = has(input.name, "lang") || has(input.name, "type") || has(input.name, "segment");
        if (i != own && !isKind && (isOfDecoder(decoder) || !areOfOneText(input, decoder))) {
            return i;
        }
    }
    return std::nullopt;
}

bool isScore(const graph::Value& output)
{
    return tensor::isFloating(output.dtype) || tensor::isNarrowFloat(output.dtype);
}

/// Output `logits`, else the first one that may have a row for each token, else the first one of floats.
std::optional<ValueId> scoresOf(const Graph& graph)
{
    std::optional<ValueId> first;
    std::optional<ValueId> withRows;
    for (const ValueId id : graph.outputs()) {
        const graph::Value& output = graph.value(id);
        if (!isScore(output)) {
            continue;
        }
        if (output.name == "logits") {
            return id;
        }
        const bool hasRows = !output.shape || output.shape->size() == 3;
        first = first ? first : id;
        withRows = withRows || !hasRows ? withRows : std::optional(id);
    }
    return withRows ? withRows : first;
}

/// Scores of so many classes are of words: as many as the table has rows, but for some that fill it up.
bool areWords(std::int64_t classes, std::int64_t rows) { return rows == 0 || 10 * classes >= 9 * rows; }

} // namespace

std::optional<LanguageModel> languageModel(const LoadedModel& model)
{
    const Graph& graph = *model.graph();
    const std::vector<std::size_t> found = inputsOfTokens(graph);
    const auto scores = scoresOf(graph);
    if (found.empty() || !scores) {
        return std::nullopt;
    }
    const std::size_t input = textOfScores(graph, found, *scores);
    LanguageModel language{input, graph.inputs()[input], *scores};
    language.words = rowsChosenBy(graph, language.tokens);
    const auto& shape = graph.value(*scores).shape;
    const std::optional<std::int64_t> last = shape && !shape->empty() ? shape->back().extent : std::nullopt;
    language.hasRows = !shape || shape->size() == 3;
    language.asksWords = language.hasRows && (!last || areWords(*last, language.words));
    language.predicts = language.hasRows && language.words > 0 && last == language.words;
    language.scoresLast = language.hasRows && shape && (*shape)[1].extent == 1;
    const auto& tokens = graph.value(language.tokens).shape;
    language.length = tokens && tokens->size() == 2 && !language.asksWords ? tokens->back().extent.value_or(0) : 0;
    language.source = language.asksWords ? textOfEncoder(graph, found, input) : std::nullopt;
    return language;
}

bool readsTexts(const LoadedModel& model)
{
    const auto language = languageModel(model);
    if (!language) {
        return false;
    }
    const std::string& name = model.graph()->value(language->tokens).name;
    std::error_code failed;
    return language->hasRows || has(name, "input_ids") || has(name, "token") ||
           std::filesystem::exists(model.path.parent_path() / "tokenizer.json", failed);
}

std::int64_t wordsOf(const LoadedModel& model, std::size_t input)
{
    return rowsChosenBy(*model.graph(), model.graph()->inputs()[input]);
}

Result<std::vector<Tensor>> languageInputs(const LoadedModel& model, const LanguageModel& language,
                                           const Question& question, std::span<const std::int64_t> tokens,
                                           std::span<const std::int64_t> source, std::int64_t padding)
{
    const Graph& graph = *model.graph();
    const formats::ModelCard* const card = model.card ? &*model.card : nullptr;
    RETRO_TRY(const PictureOptions options, pictureOptions(question, card));
    std::vector<Tensor> inputs(graph.inputs().size());
    const auto put = [&](std::size_t input, std::span<const std::int64_t> ids) {
        const tensor::Shape shape{1, static_cast<std::int64_t>(ids.size())};
        inputs[input] = Tensor::of<std::int64_t>(shape, ids).to(graph.value(graph.inputs()[input]).dtype);
    };
    put(language.input, tokens);
    if (language.source) {
        put(*language.source, source);
    }
    for (const std::string& text : question.inputs) {
        const InputSource given = parseInput(text, graph);
        const std::size_t unnamed = language.source.value_or(language.input);
        const auto at = std::find_if(graph.inputs().begin(), graph.inputs().end(), [&](ValueId id) {
            return given.name.empty() ? id == graph.inputs()[unnamed] : graph.value(id).name == given.name;
        });
        if (at == graph.inputs().end() && !model.given.contains(given.name)) {
            return base::usageError("the model has no input of this name", "--input " + text);
        }
        const auto place = static_cast<std::size_t>(at - graph.inputs().begin());
        if (at != graph.inputs().end() && place != language.input && place != language.source) {
            RETRO_TRY(inputs[place], readInput(given.source, graph, *at, options, card));
        }
    }
    RETRO_CHECK(fillLanguageInputs(model, inputs, padding));
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
