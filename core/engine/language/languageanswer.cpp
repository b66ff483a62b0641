// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languageanswer.h"

#include "core/engine/language/languageparts.h"
#include "core/ops/algebra.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

std::vector<std::int64_t> idsOf(const std::vector<LanguageToken>& tokens)
{
    std::vector<std::int64_t> ids;
    for (const LanguageToken& token : tokens) {
        ids.push_back(token.id);
    }
    return ids;
}

std::vector<double> rowOfScores(const Tensor& scores, std::int64_t position)
{
    std::vector<double> row;
    if (!scores.isValid() || scores.rank() != 3) {
        return row;
    }
    const std::int64_t at = scores.shape()[1] == 1 ? 0 : position;
    const std::int64_t words = scores.shape()[2];
    for (std::int64_t i = 0; at < scores.shape()[1] && i < words; ++i) {
        row.push_back(scores.at(at * words + i));
    }
    return row;
}

std::int64_t bestOf(const std::vector<double>& row)
{
    std::int64_t best = -1;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (std::isfinite(row[i]) && (best < 0 || row[i] > row[static_cast<std::size_t>(best)])) {
            best = static_cast<std::int64_t>(i);
        }
    }
    return best;
}

std::int64_t rowOfPosition(const LanguageModel& language, std::int64_t position)
{
    return language.scoresLast ? 0 : position;
}

namespace
{

/// An input of the model in the graph that ran, and its relevance.
const Tensor& relevanceOfInput(const ExplainResult& result, const LoadedModel& model, std::size_t input)
{
    const ValueId id = model.graph()->inputs()[input];
    return result.relevance[result.model->graph().findValue(model.graph()->value(id).name).value_or(id).index()];
}

} // namespace

std::vector<double> relevanceOfTokens(const ExplainResult& result, const LanguageModel& language,
                                      const LoadedModel& model, std::size_t count)
{
    std::vector<double> parts;
    const auto add = [&](const Tensor& relevance, std::size_t tokens) {
        for (std::size_t i = 0; i < tokens; ++i) {
            const bool isThere = relevance.isValid() && std::cmp_less(i, relevance.size());
            parts.push_back(isThere ? relevance.at(static_cast<std::int64_t>(i)) : 0);
        }
    };
    if (language.source) {
        const ValueId source = model.graph()->inputs()[*language.source];
        const auto there = result.model->graph().findValue(model.graph()->value(source).name);
        const tensor::Shape& shape = result.model->typeOf(there.value_or(source)).shape;
        add(relevanceOfInput(result, model, *language.source), static_cast<std::size_t>(tensor::elementCount(shape)));
    }
    add(relevanceOfInput(result, model, language.input), count);
    return parts;
}

std::map<std::string, double> lossesOf(const ExplainResult& result, const LanguageModel& language,
                                       const LoadedModel& model)
{
    std::map<std::string, double> losses = causeTotals(result.ledger);
    for (std::size_t i = 0; i < model.graph()->inputs().size(); ++i) {
        const Tensor& relevance = relevanceOfInput(result, model, i);
        if (i != language.input && i != language.source && relevance.isValid()) {
            losses["input " + model.graph()->value(model.graph()->inputs()[i]).name] = ops::algebra::sum(relevance);
        }
    }
    return losses;
}

ScoredToken scoredTokenOf(const LanguageQuestion& asked, std::int64_t id, const std::vector<double>& row)
{
    const bool isThere = id >= 0 && std::cmp_less(id, row.size());
    ScoredToken token{id, {}, isThere ? row[static_cast<std::size_t>(id)] : 0};
    if (!asked.language.asksWords) {
        token.text =
            id >= 0 && std::cmp_less(id, asked.labels.size()) ? asked.labels[static_cast<std::size_t>(id)] : "";
    } else if (asked.words.tokeniser() != nullptr && id >= 0) {
        token.text = asked.words.textOf(static_cast<text::TokenId>(id));
    }
    return token;
}

Tensor scoresAmong(const ExplainResult& result, const LanguageModel& language, const LoadedModel& model)
{
    const graph::Graph& graph = result.model->graph();
    const std::string& name = model.graph()->value(language.scores).name;
    for (std::size_t i = 0; i < graph.outputs().size() && i < result.outputs.size(); ++i) {
        if (graph.value(graph.outputs()[i]).name == name) {
            return result.outputs[i];
        }
    }
    return {};
}

Result<std::optional<ResidualStreams>> streamsOf(const LanguageQuestion& asked, const Question& question,
                                                 const execute::BoundModel& model)
{
    const auto text = asked.decoder.empty() ? std::nullopt : model.graph().findValue(asked.decoder);
    auto parts = question.layers.empty() ? residualStreams(model, text.value_or(ValueId()))
                                         : readLanguageParts(question.layers, model);
    if (!parts && !question.layers.empty()) {
        return std::move(parts).error();
    }
    return parts ? std::optional<ResidualStreams>(std::move(parts).value()) : std::nullopt;
}

LayerParts partsOf(const ResidualStreams& streams, const ExplainResult& result)
{
    LayerParts parts;
    parts.layers = streamRelevance(streams, *result.model, result.relevance);
    parts.heads = streams.heads.empty() ? Tensor() : headRelevance(streams, *result.model, result.relevance);
    return parts;
}

Result<void> takeLinks(const LanguageQuestion& asked, const ResidualStreams& streams, const ExplainRequest& request,
                       const ExplainResult& result, const LayerWish& wish, LayerParts& parts, std::string& note,
                       const std::stop_token& stop, RemadeValues* remade)
{
    if (!wish.links || streams.heads.empty()) {
        return {};
    }
    if (attentionNumbers(streams, *result.model) > wish.mostNumbers) {
        note = "the text is too long for links of its attentions here; explain --attention writes them";
        return {};
    }
    std::map<std::size_t, std::vector<trace::TextLink>> links;
    RETRO_CHECK(attentionMaps(
        streams, request, result,
        wish.maps ? std::span<const std::size_t>(asked.attention) : std::span<const std::size_t>(),
        [&](std::size_t layer, const Tensor& map) -> Result<void> {
            addLinks(layer, map, wish.mostLinks, links[layer]);
            if (wish.maps) {
                parts.maps[layer] = map;
            }
            return {};
        },
        stop, remade));
    for (const auto& [layer, some] : links) {
        parts.links.insert(parts.links.end(), some.begin(), some.end());
    }
    return {};
}

} // namespace retro::engine
