// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/cachedwords.h"

#include "core/engine/explain/runforward.h"
#include "core/engine/language/filledinputs.h"
#include "core/engine/language/languageanswer.h"
#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using graph::Graph;
using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

constexpr std::size_t kPastRank = 4; // batch × heads × rows × width

bool has(const graph::Value& input, std::string_view part) { return input.name.find(part) != std::string::npos; }

bool isPast(const graph::Value& input)
{
    return tensor::isFloating(input.dtype) && input.shape && input.shape->size() == kPastRank && has(input, "past");
}

bool isMask(const graph::Value& input) { return !tensor::isFloating(input.dtype) && has(input, "attention_mask"); }

/// Inputs that fillLanguageInputs() makes for any number of tokens.
bool isFilledIn(const graph::Value& input)
{
    const bool isRow = !tensor::isFloating(input.dtype) && input.shape && input.shape->size() == 2;
    return isRow && (isMask(input) || has(input, "position_ids") || has(input, "token_type_ids"));
}

/// Where a node gives new rows behind those of its operand `slot`: the number of its output; none where it does not.
std::optional<std::size_t> grownFrom(const Node& node, std::size_t slot)
{
    constexpr std::size_t kPastKey = 4; // slots of Attention
    if (ops::isCacheAppend(node) && slot == 1) {
        return 1;
    }
    if (ops::areElements(node, {ops::Elements::Joined}) && slot == 0 && node.inputs.size() == 2) {
        const std::int64_t axis = graph::intAttribute(node, "axis", 0);
        return axis == 2 || axis == -2 ? std::optional<std::size_t>(0) : std::nullopt;
    }
    const bool isOfAttention = ops::isAttention(node);
    return isOfAttention && (slot == kPastKey || slot == kPastKey + 1) ? std::optional(slot - kPastKey + 1)
                                                                       : std::nullopt;
}

ChosenWord bestAt(const Tensor& scores, std::int64_t position)
{
    const std::vector<double> row = rowOfScores(scores, position);
    const std::int64_t best = bestOf(row);
    return {best, best < 0 ? 0 : row[static_cast<std::size_t>(best)]};
}

} // namespace

std::optional<CachedWords> CachedWords::of(const LoadedModel& model, const LanguageModel& language)
{
    CachedWords words(model, language);
    return words.findCaches() ? std::optional(std::move(words)) : std::nullopt;
}

bool CachedWords::findCaches()
{
    const Graph& graph = *m_model.graph();
    const std::optional<std::size_t> scores = outputOf(m_language.scores);
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueId id = graph.inputs()[i];
        const graph::Value& input = graph.value(id);
        if (isPast(input)) {
            const std::optional<std::size_t> present = presentOf(id);
            if (!present) {
                return false;
            }
            m_caches.push_back({i, *present, isSliding(id)});
        } else if (i != m_language.input && !isFilledIn(input)) {
            return false;
        }
    }
    m_scores = scores.value_or(0);
    return scores.has_value() && !m_caches.empty();
}

std::optional<std::size_t> CachedWords::outputOf(ValueId value) const
{
    const auto outputs = m_model.graph()->outputs();
    const auto at = std::ranges::find(outputs, value);
    return at == outputs.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - outputs.begin()));
}

std::optional<std::size_t> CachedWords::presentOf(ValueId past) const
{
    const Graph& graph = *m_model.graph();
    for (const graph::Use& use : graph.uses(past)) {
        const Node& node = graph.node(use.node);
        const std::optional<std::size_t> grown = grownFrom(node, use.slot);
        if (grown && *grown < node.outputs.size() && node.outputs[*grown].isValid()) {
            return outputOf(node.outputs[*grown]);
        }
    }
    return std::nullopt;
}

bool CachedWords::isSliding(ValueId past) const
{
    const Graph& graph = *m_model.graph();
    return std::ranges::any_of(graph.uses(past), [&graph](const graph::Use& use) {
        const Node& node = graph.node(use.node);
        return ops::isCacheAppend(node) && graph::isSet(node, "sliding");
    });
}

bool CachedWords::hasCaches(std::span<const Tensor> outputs, std::int64_t tokens) const
{
    const bool areThere = std::ranges::all_of(m_caches, [&](const Cache& cache) {
        const Tensor& present = cache.output < outputs.size() ? outputs[cache.output] : Tensor();
        const bool isRow = present.isValid() && present.rank() == kPastRank && present.shape()[0] == 1;
        return isRow && (cache.isSliding || present.shape()[2] == tokens);
    });
    return areThere && m_scores < outputs.size() && !rowOfScores(outputs[m_scores], tokens - 1).empty();
}

std::optional<std::vector<Tensor>> CachedWords::next(std::span<const Tensor> outputs, std::int64_t word,
                                                     std::int64_t before) const
{
    const Graph& graph = *m_model.graph();
    std::vector<Tensor> inputs(graph.inputs().size());
    const auto typeOf = [&graph](std::size_t input) { return graph.value(graph.inputs()[input]).dtype; };
    inputs[m_language.input] = Tensor::of<std::int64_t>({1, 1}, std::span(&word, 1)).to(typeOf(m_language.input));
    for (const Cache& cache : m_caches) {
        inputs[cache.input] = outputs[cache.output].to(typeOf(cache.input));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const graph::Value& input = graph.value(graph.inputs()[i]);
        if (!inputs[i].isValid() && isMask(input)) { // a past that slides does not say how many tokens it had
            inputs[i] = Tensor::full(DType::Int64, {1, before + 1}, 1).to(input.dtype);
        } else if (!inputs[i].isValid() && has(input, "position_ids")) {
            inputs[i] = Tensor::of<std::int64_t>({1, 1}, std::span(&before, 1)).to(input.dtype);
        }
    }
    const bool areFilled = fillLanguageInputs(m_model, inputs).ok();
    const bool areThere = areFilled && std::ranges::all_of(inputs, [](const Tensor& one) { return one.isValid(); });
    return areThere ? std::optional(std::move(inputs)) : std::nullopt;
}

Result<std::vector<Tensor>> CachedWords::outputsOf(const std::vector<Tensor>& inputs, execute::Precision precision,
                                                   const std::stop_token& stop) const
{
    RETRO_TRY(ForwardOutputs made, runForward(m_model, inputs, precision, stop));
    return made.leftOut.empty() ? std::move(made.outputs) : std::vector<Tensor>();
}

Result<std::vector<ChosenWord>> CachedWords::choose(std::span<const Tensor> outputs, const std::vector<Tensor>& inputs,
                                                    std::size_t count, execute::Precision precision,
                                                    const std::stop_token& stop) const
{
    std::int64_t tokens = inputs[m_language.input].shape().back();
    std::vector<Tensor> last(outputs.begin(), outputs.end());
    if (!hasCaches(last, tokens)) {
        RETRO_TRY(last, outputsOf(inputs, precision, stop));
    }
    std::vector<ChosenWord> words;
    while (hasCaches(last, tokens)) {
        words.push_back(bestAt(last[m_scores], tokens - 1));
        const bool goesOn = words.back().id >= 0 && words.size() < count;
        const auto one = goesOn ? next(last, words.back().id, tokens) : std::nullopt;
        if (!one) {
            break;
        }
        RETRO_TRY(last, outputsOf(*one, precision, stop));
        tokens += 1;
    }
    return words;
}

} // namespace retro::engine
