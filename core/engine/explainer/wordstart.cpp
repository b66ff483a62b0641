// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/wordstart.h"

#include "core/engine/language/languagemodel.h"
#include "core/engine/language/languagequestion.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::usageError;

namespace
{

Result<std::int64_t> positionOf(const Question& question)
{
    std::int64_t position = -1;
    const std::string& text = question.position;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), position);
    if (!text.empty() && (read.ec != std::errc() || read.ptr != text.data() + text.size())) {
        return usageError("write a whole number; below 0 counts from the end", "--position " + text);
    }
    return position;
}

bool predictsWords(const LoadedModel& model, const std::optional<LanguageModel>& language)
{
    const bool hasVocabulary = model.card && !model.card->vocabulary.empty();
    return language && language->predicts && !hasVocabulary;
}

} // namespace

Result<void> startAtWord(const LoadedModel& model, const Question& question, ExplainRequest& request,
                         RelevanceGraphForm& form)
{
    const bool isWholeStart = form.start == GraphStart::Given || request.start.kind == StartKind::All;
    const bool hasElement =
        std::ranges::any_of(question.targets, [&](const std::string& one) { return namesElement(one, model); });
    const std::optional<LanguageModel> language = languageModel(model);
    const bool isAtWord = !isWholeStart && !hasElement && predictsWords(model, language);
    if (!isAtWord) {
        return question.position.empty()
                   ? Result<void>()
                   : usageError(isWholeStart || hasElement
                                    ? "start and target name their elements themselves; leave this option out"
                                    : "the model predicts no words, so there is no position of one; leave this option "
                                      "out",
                                "--position " + question.position);
    }
    if (question.targets.size() > 1) {
        return usageError("a graph starts at one word; write a graph without --target, whose input target takes the "
                          "number of a word per text",
                          "--target " + question.targets.back());
    }
    RETRO_TRY(form.position, positionOf(question));
    request.target = {};
    request.target.kind = TargetRequest::Kind::Place;
    request.target.place = {{"token", *form.position}};
    if (!question.targets.empty() && question.targets.front() != "argmax") {
        std::string unneeded;
        RETRO_TRY(const LanguageWords words, languageWords(model.path, question.tokenizer, false, unneeded));
        RETRO_TRY(const text::TokenId id,
                  words.idOf(question.targets.front(), question.targetTokens, language->words, "--target"));
        request.target.place.push_back({"class", id});
    }
    return {};
}

} // namespace retro::engine
