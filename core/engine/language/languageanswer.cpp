// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languageanswer.h"

#include "core/engine/language/languageparts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

namespace retro::engine
{

using base::Result;
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

std::vector<double> relevanceOfTokens(const ExplainResult& result, const LanguageModel& language,
                                      const LoadedModel& model, std::size_t count)
{
    std::vector<double> parts(count, 0.0);
    const auto tokens = result.model->graph().findValue(model.graph()->value(language.tokens).name);
    const Tensor& relevance = result.relevance[tokens.value_or(language.tokens).index()];
    for (std::size_t i = 0; relevance.isValid() && i < count && std::cmp_less(i, relevance.size()); ++i) {
        parts[i] = relevance.at(static_cast<std::int64_t>(i));
    }
    return parts;
}

ScoredToken withScore(const LanguageWords& words, std::int64_t id, const std::vector<double>& row)
{
    const bool isThere = id >= 0 && std::cmp_less(id, row.size());
    ScoredToken token{id, {}, isThere ? row[static_cast<std::size_t>(id)] : 0};
    token.text = words.tokeniser() != nullptr && id >= 0 ? words.textOf(static_cast<text::TokenId>(id)) : std::string();
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

Result<std::optional<ResidualStreams>> streamsOf(const Question& question, const execute::BoundModel& model)
{
    auto parts = question.layers.empty() ? residualStreams(model) : readLanguageParts(question.layers, model);
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
