// SPDX-License-Identifier: Apache-2.0
// What a result says of one position of a text; shared by the files of languagequestion.h.
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/attentionlinks.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/language/languagequestion.h"
#include "core/engine/language/languagereport.h"
#include "core/engine/language/languagewords.h"
#include "core/engine/language/residualstreams.h"
#include "core/engine/question/question.h"

#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// Numbers of tokens.
[[nodiscard]] std::vector<std::int64_t> idsOf(const std::vector<LanguageToken>& tokens);

/// Row `position` of the scores, or the only one where no other was made (WantedRow); empty where the output is of
/// another shape.
[[nodiscard]] std::vector<double> rowOfScores(const tensor::Tensor& scores, std::int64_t position);
/// The word with the largest finite score; -1 without any.
[[nodiscard]] std::int64_t bestOf(const std::vector<double>& row);
/// The row of the scores that is about a position.
[[nodiscard]] std::int64_t rowOfPosition(const LanguageModel& language, std::int64_t position);
/// All tokens of an encoder's text, then the first `count` tokens of the text; 0 where nothing arrived.
[[nodiscard]] std::vector<double> relevanceOfTokens(const ExplainResult& result, const LanguageModel& language,
                                                    const LoadedModel& model, std::size_t count);
/// What relevance was taken away, by cause, and what reached other inputs than these texts, as "input NAME".
[[nodiscard]] std::map<std::string, double> lossesOf(const ExplainResult& result, const LanguageModel& language,
                                                     const LoadedModel& model);
/// A token, or a class, with its text and its score in that row.
[[nodiscard]] ScoredToken scoredTokenOf(const LanguageQuestion& asked, std::int64_t id, const std::vector<double>& row);
/// The scores among the results of a pass; invalid where they are not there.
[[nodiscard]] tensor::Tensor scoresAmong(const ExplainResult& result, const LanguageModel& language,
                                         const LoadedModel& model);
/// Streams and heads that the question names, else those that are found, of a decoder beside an encoder its own; none
/// where there are none. Errors: Input (the file that it names).
[[nodiscard]] base::Result<std::optional<ResidualStreams>>
streamsOf(const LanguageQuestion& asked, const Question& question, const execute::BoundModel& model);
/// Relevance of layers and heads; without links.
[[nodiscard]] LayerParts partsOf(const ResidualStreams& streams, const ExplainResult& result);
/// Links, and maps, of the attentions of one explanation; `note` says why there are none. Errors: as attentionMaps().
[[nodiscard]] base::Result<void> takeLinks(const LanguageQuestion& asked, const ResidualStreams& streams,
                                           const ExplainRequest& request, const ExplainResult& result,
                                           const LayerWish& wish, LayerParts& parts, std::string& note,
                                           const std::stop_token& stop, RemadeValues* remade = nullptr);

} // namespace retro::engine
