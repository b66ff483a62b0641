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

/// The options about texts that a graph cannot answer; the first that is given, else empty.
std::string refusedOption(const Question& question)
{
    const std::pair<const char*, bool> options[] = {{"--generate", !question.generate.empty()},
                                                    {"--continue", !question.continuation.empty()},
                                                    {"--attention", !question.attention.empty()},
                                                    {"--layers", !question.layers.empty()},
                                                    {"--html", !question.html.empty()}};
    for (const auto& [option, isGiven] : options) {
        if (isGiven) {
            return option;
        }
    }
    return {};
}

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
    if (const std::string refused = refusedOption(question); !refused.empty()) {
        return usageError("a graph is written and no text is explained; leave this option out", refused);
    }
    if (!question.contrast.empty()) {
        return usageError("a graph starts at one word; write it with --start input and give it +1 at the word and -1 "
                          "at the other",
                          "--contrast " + question.contrast.front());
    }
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
