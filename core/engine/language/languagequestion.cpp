// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagequestion.h"

#include "core/base/file.h"
#include "core/engine/input/fittedinput.h"
#include "core/engine/language/languageanswer.h"
#include "core/engine/language/modelconfig.h"
#include "core/engine/language/positionlimit.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "core/tensor/npy.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::usageError;
using tensor::Tensor;

namespace
{

constexpr std::size_t kMostTextTokens = 1U << 20;

std::int64_t wholeOf(const std::string& text, std::int64_t usual)
{
    std::int64_t number = usual;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// The first option of a question that only models of texts understand; empty when there is none.
std::string optionOfTexts(const Question& question)
{
    const std::pair<const char*, bool> options[] = {
        {"--text", !question.text.empty()},           {"--ids", !question.ids.empty()},
        {"--position", !question.position.empty()},   {"--contrast", !question.contrast.empty()},
        {"--generate", !question.generate.empty()},   {"--continue", !question.continuation.empty()},
        {"--target-tokens", question.targetTokens},   {"--html", !question.html.empty()},
        {"--layers", !question.layers.empty()},       {"--tokenizer", !question.tokenizer.empty()},
        {"--attention", !question.attention.empty()}, {"--positions", !question.positions.empty()}};
    const auto* const found = std::ranges::find_if(options, [](const auto& option) { return option.second; });
    return found == std::end(options) ? std::string() : found->first;
}

Result<std::vector<std::int64_t>> numbersIn(const std::string& text)
{
    std::vector<std::int64_t> numbers;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (at < end) {
        std::int64_t number = 0;
        const auto read = std::from_chars(at, end, number);
        const bool isGood = read.ec == std::errc() && number >= 0 && number <= std::numeric_limits<std::int32_t>::max();
        if (!isGood || (read.ptr < end && *read.ptr != ',')) {
            return usageError("write the numbers of the tokens with commas between: 1,2,3", "--ids");
        }
        numbers.push_back(number);
        at = read.ptr + (read.ptr < end ? 1 : 0);
    }
    return numbers;
}

const std::string& nameOfInput(const LoadedModel& model, std::size_t input)
{
    return model.graph()->value(model.graph()->inputs()[input]).name;
}

/// The input that reads the text that is given: of an encoder and a decoder, that of the encoder.
std::size_t inputOfText(const LanguageModel& language) { return language.source.value_or(language.input); }

/// The source that the question gives for the tokens of an input; empty = none.
std::string sourceOfTokens(const LoadedModel& model, std::size_t input, bool isUnnamed, const Question& question)
{
    for (const std::string& text : question.inputs) {
        const InputSource source = parseInput(text, *model.graph());
        if ((isUnnamed && source.name.empty()) || source.name == nameOfInput(model, input)) {
            return source.source;
        }
    }
    return {};
}

bool isOneText(const Tensor& tokens) { return tokens.rank() == 1 || (tokens.rank() == 2 && tokens.shape()[0] == 1); }

Result<std::vector<std::int64_t>> oneRowOf(const Tensor& tokens)
{
    if (!isOneText(tokens)) {
        return usageError("words are asked of one text, and this input has several rows; give one row of tokens",
                          tensor::toText(tokens.shape()));
    }
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < tokens.size(); ++i) {
        ids.push_back(static_cast<std::int64_t>(tokens.at(i)));
        if (ids.back() < 0 || ids.back() > std::numeric_limits<std::int32_t>::max()) {
            return base::inputError(
                fmt::format("token {} has the number {}, and no word has that; give others", i, ids.back()));
        }
    }
    return ids;
}

/// What a file gives as the tokens of an input, as an array.
Result<Tensor> givenTokens(const LoadedModel& model, std::size_t input, const std::string& source,
                           const Question& question)
{
    const formats::ModelCard* const card = model.card ? &*model.card : nullptr;
    RETRO_TRY(const PictureOptions options, pictureOptions(question, card));
    return readInput(source, *model.graph(), model.graph()->inputs()[input], options, card);
}

/// The tokens of a file of numbers.
Result<std::vector<LanguageToken>> tokensOfFile(const LoadedModel& model, std::size_t input, const std::string& source,
                                                const Question& question, const LanguageWords& words)
{
    RETRO_TRY(const Tensor given, givenTokens(model, input, source, question));
    RETRO_TRY(const std::vector<std::int64_t> ids, oneRowOf(given));
    return words.tokensOf(ids);
}

/// The tokens of the text that the question gives, and the text where it is one. Errors (Usage): it gives none.
Result<std::vector<LanguageToken>> readTokens(const LoadedModel& model, const Question& question,
                                              const std::string& source, LanguageQuestion& asked)
{
    const std::size_t input = inputOfText(asked.language);
    if (!question.ids.empty()) {
        RETRO_TRY(const std::vector<std::int64_t> ids, numbersIn(question.ids));
        return asked.words.tokensOf(ids);
    }
    if (!source.empty() && !source.ends_with(".txt")) {
        return tokensOfFile(model, input, source, question, asked.words);
    }
    if (source.empty() && question.text.empty()) {
        return usageError(
            fmt::format("no text; add --text \"…\", --ids 1,2,3, or --input {}=FILE", nameOfInput(model, input)));
    }
    if (source.empty()) {
        asked.text = question.text;
    } else {
        RETRO_TRY(asked.text, base::readTextFile(source, text::kMostTextBytes));
    }
    return asked.words.tokensOf(asked.text, true);
}

/// There are some, not too many, and the table of their input has a row for each.
Result<void> checkTokens(const LoadedModel& model, std::size_t input, const std::vector<LanguageToken>& tokens)
{
    if (tokens.empty() || tokens.size() > kMostTextTokens) {
        return usageError(fmt::format("the text has {} tokens; give from 1 to {}", tokens.size(), kMostTextTokens));
    }
    const std::int64_t words = wordsOf(model, input);
    for (std::size_t i = 0; words > 0 && i < tokens.size(); ++i) {
        if (tokens[i].id >= words) {
            return base::inputError(fmt::format("token {} has the number {}, and the model has {} words; give the "
                                                "tokenizer that belongs to it",
                                                i, tokens[i].id, words),
                                    "input '" + nameOfInput(model, input) + "'");
        }
    }
    return {};
}

/// The tokens in front of what a decoder says next: those that are given, else the one with which it starts.
Result<std::vector<LanguageToken>> tokensOfDecoder(const LoadedModel& model, const Question& question,
                                                   const LanguageQuestion& asked)
{
    const std::string source = sourceOfTokens(model, asked.language.input, false, question);
    if (!source.empty()) {
        return tokensOfFile(model, asked.language.input, source, question, asked.words);
    }
    for (const ModelConfig& config : modelConfigs(model)) {
        if (const auto start = config.number({"decoder_start_token_id"}, 0)) {
            return asked.words.tokensOf(std::span(&*start, 1));
        }
    }
    const std::string& name = nameOfInput(model, asked.language.input);
    return usageError(fmt::format("nothing says with which token the decoder starts; add --input {}=FILE.npy (1 × "
                                  "tokens), or put a config.json with decoder_start_token_id beside the model",
                                  name),
                      "input '" + name + "'");
}

/// The token that fills a text up. Errors (Usage): nothing says which.
Result<std::int64_t> paddingToken(const LoadedModel& model, const LanguageQuestion& asked)
{
    if (const auto id = asked.words.tokeniser() == nullptr ? std::nullopt : asked.words.tokeniser()->padding()) {
        return *id;
    }
    for (const ModelConfig& config : modelConfigs(model)) {
        if (const auto id = config.number({"pad_token_id"}, 0)) {
            return *id;
        }
    }
    return usageError(fmt::format(
        "the model reads texts of {} tokens, this one has {}, and nothing says which token fills it up; put "
        "a tokenizer.json with padding, or a config.json with pad_token_id, beside the model, or give "
        "--input {}=FILE.npy",
        asked.language.length, asked.tokens.size(), nameOfInput(model, asked.language.input)));
}

/// A text for an input of fixed length is filled up, or loses tokens in front of those that end every text.
Result<void> takeLength(const LoadedModel& model, LanguageQuestion& asked)
{
    const std::int64_t length = asked.language.length;
    const auto count = std::ssize(asked.tokens);
    if (length == 0 || count == length) {
        return {};
    }
    if (count < length) {
        constexpr std::int64_t kMostFilled = 1 << 20;
        if (length > kMostFilled) {
            return usageError(fmt::format("the model reads texts of {} tokens, and a text is filled up to {} at most; "
                                          "give --input {}=FILE.npy",
                                          length, kMostFilled, nameOfInput(model, asked.language.input)));
        }
        RETRO_TRY(const std::int64_t id, paddingToken(model, asked));
        asked.padding = length - count;
        const std::vector<std::int64_t> ids(static_cast<std::size_t>(asked.padding), id);
        std::ranges::move(asked.words.tokensOf(ids), std::back_inserter(asked.tokens));
        return {};
    }
    const auto lastOfText = std::ranges::find_if(asked.tokens.rbegin(), asked.tokens.rend(),
                                                 [](const LanguageToken& token) { return token.place.has_value(); });
    const bool isText = lastOfText != asked.tokens.rend();
    const std::int64_t ends = isText ? std::min(lastOfText - asked.tokens.rbegin(), length - 1) : 0;
    asked.tokens.erase(asked.tokens.begin() + (length - ends), asked.tokens.end() - ends);
    asked.warnings.push_back(fmt::format("the text has {} tokens, and the model reads {}: the last {} of it are left "
                                         "out; give a shorter text to have all of it explained",
                                         count, length, count - length));
    return {};
}

/// Fills in the tokens of the text.
Result<void> takeTextTokens(const LoadedModel& model, const Question& question, LanguageQuestion& asked)
{
    const LanguageModel& language = asked.language;
    const std::size_t input = inputOfText(language);
    const std::string source = sourceOfTokens(model, input, true, question);
    if (!source.empty() && !(question.text.empty() && question.ids.empty())) {
        return usageError(fmt::format("the tokens are given twice: by --input {} and by {}", nameOfInput(model, input),
                                      question.text.empty() ? "--ids" : "--text"));
    }
    RETRO_TRY(asked.tokens, readTokens(model, question, source, asked));
    RETRO_CHECK(checkTokens(model, input, asked.tokens));
    if (source.empty() || source.ends_with(".txt")) {
        RETRO_CHECK(takeLength(model, asked));
    }
    if (!language.source) {
        return {};
    }
    asked.source = std::move(asked.tokens);
    asked.decoder = nameOfInput(model, language.input);
    RETRO_TRY(asked.tokens, tokensOfDecoder(model, question, asked));
    return checkTokens(model, language.input, asked.tokens);
}

/// A place among `count` tokens, from 0. Errors (Usage): there is none.
Result<std::int64_t> placeAmong(std::int64_t place, std::int64_t count, const char* option)
{
    const std::int64_t at = place < 0 ? place + count : place;
    return at >= 0 && at < count
               ? Result<std::int64_t>(at)
               : usageError(fmt::format("there is no position {} in a text of {} tokens", place, count), option);
}

/// The model gives scores at the position. Errors (Usage): it gives those of the last token alone.
Result<void> checkScored(const LanguageQuestion& asked, std::int64_t position, const char* option)
{
    const auto last = std::ssize(asked.tokens) - 1;
    return position == last || !asked.language.scoresLast
               ? Result<void>()
               : usageError(fmt::format("this model scores the last token alone ({} of {}), so nothing is known at "
                                        "position {}; leave this option out, or export the model with all its scores",
                                        last, last + 1, position),
                            option);
}

/// The position of --position, or those of --positions.
Result<void> takePositions(const Question& question, LanguageQuestion& asked)
{
    const auto count = std::ssize(asked.tokens) - asked.padding;
    if (question.positions.empty()) {
        RETRO_TRY(asked.position, placeAmong(wholeOf(question.position, -1), count, "--position"));
        return checkScored(asked, asked.position, "--position");
    }
    std::map<std::int64_t, std::int64_t> written; // by place
    const char* const end = question.positions.data() + question.positions.size();
    for (const char* at = question.positions.data(); at < end;) {
        std::int64_t place = 0;
        const auto read = std::from_chars(at, end, place);
        if (read.ec != std::errc()) {
            return usageError("write places of tokens with commas between: 3,7,-1", "--positions");
        }
        RETRO_TRY(const std::int64_t position, placeAmong(place, count, "--positions"));
        if (const auto [first, isNew] = written.emplace(position, place); !isNew) {
            return usageError(fmt::format("position {} is asked for twice: as {} and as {}; leave one out", position,
                                          first->second, place),
                              "--positions");
        }
        RETRO_CHECK(checkScored(asked, position, "--positions"));
        asked.positions.push_back(position);
        at = read.ptr + (read.ptr < end ? 1 : 0);
    }
    if (asked.positions.size() >= trace::RunText::kMostSteps) {
        return usageError(fmt::format("{} positions are asked for; ask for at most {}", asked.positions.size(),
                                      trace::RunText::kMostSteps - 1),
                          "--positions");
    }
    asked.position = asked.positions.front();
    return {};
}

/// Why a model that gives no scores of words does not understand an option; empty where it does.
std::string optionOfWords(const Question& question, const LanguageModel& language)
{
    const bool hasClasses = language.hasRows; // for each token
    const std::pair<const char*, bool> options[] = {
        {"--target-tokens", question.targetTokens},
        {"--generate", !question.generate.empty()},
        {"--continue", !question.continuation.empty()},
        {"--position", !hasClasses && !question.position.empty()},
        {"--positions", !hasClasses && !question.positions.empty()},
        {"--contrast", !question.contrast.empty() && (!hasClasses || question.position.empty())}};
    const auto* const found = std::ranges::find_if(options, [](const auto& option) { return option.second; });
    return found == std::end(options) ? std::string() : found->first;
}

/// Of a model that gives no scores of words: classes at a position, else what is a target of any model.
Result<void> takeClasses(const LoadedModel& model, const Question& question, LanguageQuestion& asked)
{
    if (const std::string option = optionOfWords(question, asked.language); !option.empty()) {
        const bool isOfToken = asked.language.hasRows && option == "--contrast";
        return usageError(fmt::format("the scores \"{}\" are of classes{}, and not of the words of the model; {}",
                                      model.graph()->value(asked.language.scores).name,
                                      asked.language.hasRows ? " for each token" : " of the whole text",
                                      isOfToken ? "add --position" : "leave this option out"),
                          option);
    }
    asked.labels = model.card ? model.card->labels : std::vector<std::string>();
    asked.asksForWord = !question.position.empty() || !question.positions.empty();
    const auto classOf = [&](const std::string& text, const char* option) -> Result<std::optional<std::int64_t>> {
        RETRO_TRY(const TargetRequest parsed, parseTarget(text, asked.labels));
        using enum TargetRequest::Kind;
        if (parsed.kind != Class && parsed.kind != Argmax) {
            return usageError("at a position name a class by its number or label, or argmax", option);
        }
        return parsed.kind == Class ? std::optional(parsed.classIndex) : std::nullopt;
    };
    if (!asked.asksForWord) {
        return {};
    }
    RETRO_TRY(asked.target, classOf(question.targets.empty() ? "argmax" : question.targets.front(), "--target"));
    for (const std::string& other : question.contrast) {
        RETRO_TRY(const std::optional<std::int64_t> id, classOf(other, "--contrast"));
        asked.contrast.push_back(id.value_or(0));
    }
    return {};
}

Result<void> takeWords(const LoadedModel& model, const Question& question, LanguageQuestion& asked)
{
    if (!asked.language.asksWords) {
        return takeClasses(model, question, asked);
    }
    const std::string target = question.targets.empty() ? "argmax" : question.targets.front();
    asked.asksForWord = question.targets.size() <= 1 && !namesElement(target, model);
    const bool namesAll =
        std::ranges::all_of(question.targets, [&model](const std::string& one) { return namesElement(one, model); });
    if (question.targets.size() > 1 && !namesAll) {
        return usageError("a text is asked for one word; name further elements by their places "
                          "(--target VALUE:0,position,number), or set the word against others with --contrast",
                          "--target " + question.targets.back());
    }
    const bool saysPlace = !question.position.empty() || !question.positions.empty();
    if (!asked.asksForWord && (saysPlace || !question.contrast.empty())) {
        return usageError(
            "--position and --contrast belong to a target that is a word, the number of a token or argmax",
            "--target " + target);
    }
    if (asked.asksForWord && target != "argmax") {
        RETRO_TRY(asked.target, asked.words.idOf(target, question.targetTokens, asked.language.words, "--target"));
    }
    for (const std::string& other : question.contrast) {
        RETRO_TRY(const text::TokenId id,
                  asked.words.idOf(other, question.targetTokens, asked.language.words, "--contrast"));
        asked.contrast.push_back(id);
    }
    const auto isTarget = [&](std::int64_t other) { return asked.target == other; };
    if (!asked.contrast.empty() && std::ranges::all_of(asked.contrast, isTarget)) {
        return usageError("the target is set against itself, so there is nothing to explain; name another word",
                          "--contrast " + question.contrast.front());
    }
    return {};
}

/// The tokens of --continue as they stand behind the text.
Result<void> takeContinuation(const Question& question, LanguageQuestion& asked)
{
    asked.generates = wholeOf(question.generate, 0);
    if (question.continuation.empty()) {
        return {};
    }
    RETRO_TRY(std::vector<LanguageToken> whole, asked.words.tokensOf(asked.text + question.continuation, true));
    const std::vector<std::int64_t> before = idsOf(asked.tokens);
    const std::vector<std::int64_t> all = idsOf(whole);
    const bool goesOn = !asked.text.empty() && !asked.language.source && all.size() > before.size() &&
                        std::equal(before.begin(), before.end(), all.begin());
    if (goesOn) {
        asked.continued.assign(whole.begin() + std::ssize(before), whole.end());
        return {};
    }
    RETRO_TRY(asked.continued, asked.words.tokensOf(question.continuation, false));
    for (LanguageToken& token : asked.continued) {
        token.place.reset();
    }
    return {};
}

/// The layers of --attention; what is too large for any model is refused here.
Result<void> takeAttention(const Question& question, LanguageQuestion& asked)
{
    asked.asksAttention = !question.attention.empty();
    if (!asked.asksAttention || question.attention == "all") {
        return {};
    }
    const char* at = question.attention.data();
    const char* const end = at + question.attention.size();
    while (at < end) {
        std::uint32_t layer = 0;
        const auto read = std::from_chars(at, end, layer);
        if (read.ec != std::errc()) {
            return usageError("write all, or numbers of layers with commas between: 0,3", "--attention");
        }
        asked.attention.push_back(layer);
        at = read.ptr + (read.ptr < end ? 1 : 0);
    }
    return {};
}

/// Several texts at once are a batch of samples, as of any model (see resolve()).
bool givesOneText(const LoadedModel& model, const LanguageModel& language, const Question& question)
{
    const std::size_t input = inputOfText(language);
    const std::string source = sourceOfTokens(model, input, true, question);
    const auto given = source.empty() || source.ends_with(".txt") ? Result<Tensor>(Tensor())
                                                                  : givenTokens(model, input, source, question);
    return !source.empty() && (!given.ok() || !given->isValid() || isOneText(*given));
}

/// Batch × tokens × classes of one text, with a row for each token, or for the last one alone.
bool areRowsOf(const Tensor& scores, std::int64_t tokens)
{
    return scores.isValid() && scores.rank() == 3 && scores.shape()[0] == 1 &&
           (scores.shape()[1] == tokens || scores.shape()[1] == 1);
}

/// "class 1 (POSITIVE)" for "1"; what says more by itself stays.
std::string withLabel(const std::string& place, const std::vector<std::string>& labels)
{
    std::size_t number = 0;
    const char* const end = place.data() + place.size();
    const auto read = std::from_chars(place.data(), end, number);
    if (read.ec != std::errc() || read.ptr != end) {
        return place;
    }
    return number < labels.size() ? fmt::format("class {} ({})", number, labels[number])
                                  : fmt::format("class {}", number);
}

} // namespace

bool namesElement(const std::string& target, const LoadedModel& model)
{
    const auto parsed = parseTarget(target, model.card ? model.card->labels : std::vector<std::string>());
    if (!parsed) {
        return false;
    }
    const bool isOfValue = parsed->kind == TargetRequest::Kind::Value || parsed->kind == TargetRequest::Kind::Place;
    const bool isKnown = parsed->value.empty() ? parsed->kind == TargetRequest::Kind::Place
                                               : model.graph()->findValue(parsed->value).has_value();
    return isOfValue && isKnown;
}

Result<std::optional<LanguageQuestion>> languageQuestion(const LoadedModel& model, const Question& question)
{
    const std::string option = optionOfTexts(question);
    const auto language = languageModel(model);
    if (!language) {
        return option.empty()
                   ? Result<std::optional<LanguageQuestion>>(std::nullopt)
                   : usageError("no input of this model has whole numbers, batch × tokens, that choose rows of a "
                                "table, so it reads no tokens; leave this option out",
                                option);
    }
    const bool hasWords = model.card && !model.card->vocabulary.empty();
    const bool isText = sourceOfTokens(model, inputOfText(*language), true, question).ends_with(".txt");
    if (option.empty() && (hasWords || !(language->predicts || isText))) {
        return std::optional<LanguageQuestion>();
    }
    if (option.empty() && !givesOneText(model, *language, question)) {
        return std::optional<LanguageQuestion>();
    }
    LanguageQuestion asked;
    asked.language = *language;
    if (model.graph()->outputs().front() != language->scores) {
        asked.scores = model.graph()->value(language->scores).name;
    }
    std::string warning;
    RETRO_TRY(asked.words, languageWords(model.path, question.tokenizer, !question.text.empty(), warning));
    if (!warning.empty()) {
        asked.warnings.push_back(warning);
    }
    RETRO_CHECK(takeTextTokens(model, question, asked));
    RETRO_CHECK(takeWords(model, question, asked));
    RETRO_CHECK(takePositions(question, asked));
    RETRO_CHECK(takeContinuation(question, asked));
    RETRO_CHECK(takeAttention(question, asked));
    const std::vector<std::int64_t> ids = idsOf(asked.tokens);
    RETRO_TRY(asked.inputs, languageInputs(model, *language, question, ids, idsOf(asked.source), asked.padding));
    const std::int64_t steps = asked.continued.empty() ? asked.generates : std::ssize(asked.continued);
    RETRO_CHECK(checkPositions(model, *language, asked.inputs, steps));
    return std::optional<LanguageQuestion>(std::move(asked));
}

Question withoutLanguage(Question question, const LanguageQuestion& asked)
{
    if (asked.asksForWord) {
        question.targets.clear();
    }
    return question;
}

Result<void> takeLanguage(const LanguageQuestion& asked, ExplainRequest& request)
{
    request.inputs = asked.inputs;
    request.keepsForward = request.keepsForward || asked.asksAttention;
    request.words.clear();
    for (const LanguageToken& token : asked.source.empty() ? asked.tokens : asked.source) {
        request.words.push_back(token.text);
    }
    if (!asked.asksForWord) {
        return {};
    }
    const bool takesWords = request.start.kind == StartKind::Logit || request.start.kind == StartKind::One;
    if (!asked.contrast.empty() && !takesWords) {
        return usageError("a contrast says where relevance starts; leave --start out");
    }
    request.alsoTargets.clear();
    request.target = {};
    request.target.kind = TargetRequest::Kind::Place;
    request.target.value = asked.scores;
    request.target.place = {{"token", rowOfPosition(asked.language, asked.position)}};
    if (asked.target) {
        request.target.place.push_back({"class", *asked.target});
    }
    request.start.against = asked.contrast;
    return {};
}

Result<ExplainRequest> resolveWithInputs(const Question& question, const LoadedModel& model)
{
    RETRO_TRY(const std::optional<LanguageQuestion> language, languageQuestion(model, question));
    RETRO_TRY(ExplainRequest request, resolve(language ? withoutLanguage(question, *language) : question, model));
    if (language) {
        RETRO_CHECK(takeLanguage(*language, request));
    } else {
        RETRO_TRY(request.inputs, readInputs(question, model));
    }
    return request;
}

Result<std::vector<Tensor>> readInputsOrText(const Question& question, const LoadedModel& model)
{
    auto language = languageQuestion(model, question);
    return language.ok() && *language ? Result<std::vector<Tensor>>(std::move((*language)->inputs))
                                      : readInputs(question, model);
}

Result<LanguageReport> reportOf(const LanguageQuestion& asked, const LoadedModel& model, const Question& question,
                                const ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    LanguageReport report;
    report.model = model.name;
    report.text = asked.text;
    report.tokens = asked.source;
    report.tokens.insert(report.tokens.end(), asked.tokens.begin(), asked.tokens.end());
    report.source = asked.source.size();
    report.padding = static_cast<std::size_t>(asked.padding);
    report.inputs = {nameOfInput(model, asked.language.input)};
    if (asked.language.source) {
        report.inputs.insert(report.inputs.begin(), nameOfInput(model, *asked.language.source));
    }
    report.scored = asked.language.asksWords ? "word" : "class";
    report.composite = result.composite.name;
    report.relevance = relevanceOfTokens(result, asked.language, model, asked.tokens.size());
    for (const double part : report.relevance) {
        report.reached += part;
    }
    report.started = result.relevanceStart;
    report.losses = lossesOf(result, asked.language, model);
    report.score = result.target.logit.empty() ? 0 : result.target.logit.front();
    const Tensor scores = scoresAmong(result, asked.language, model);
    const std::int64_t index = result.target.index.empty() ? -1 : result.target.index.front();
    const bool isWord = graph.value(result.target.value).name == model.graph()->value(asked.language.scores).name &&
                        index >= 0 && areRowsOf(scores, std::ssize(asked.tokens));
    if (isWord) {
        const std::int64_t words = scores.shape()[2];
        report.position = asked.language.scoresLast ? asked.position : index / words;
        const std::vector<double> row = rowOfScores(scores, report.position);
        report.target = scoredTokenOf(asked, index % words, row);
        report.best = scoredTokenOf(asked, bestOf(row), row);
        for (const std::int64_t other : asked.contrast) {
            report.contrast.push_back(scoredTokenOf(asked, other, row));
        }
    } else {
        const std::vector<std::string>& place = result.target.place;
        const std::string of = place.empty() || place.front().empty() ? "the whole value" : place.front();
        report.otherTarget =
            fmt::format("{} of {}", withLabel(of, asked.labels), graph.value(result.target.value).name);
    }
    if (question.inputsOnly) {
        return report;
    }
    RETRO_TRY(const std::optional<ResidualStreams> parts, streamsOf(asked, question, *result.model));
    if (parts) { // else the graph has none
        static_cast<LayerParts&>(report) = partsOf(*parts, result);
        report.streams = parts->streams;
        for (const HeadValues& heads : parts->heads) {
            report.headValues.push_back(heads.value);
        }
    }
    return report;
}

LayerWish LayerWish::of(const LanguageQuestion& asked, const Question& question)
{
    LayerWish wish;
    wish.layers = !question.inputsOnly;
    wish.links = wish.maps = asked.asksAttention && wish.layers;
    return wish;
}

Result<void> addAttention(const LanguageQuestion& asked, const Question& question, const ExplainRequest& request,
                          const ExplainResult& result, const LayerWish& wish, LanguageReport& report,
                          std::stop_token stop)
{
    if (!wish.links) {
        return {};
    }
    RETRO_TRY(const std::optional<ResidualStreams> streams, streamsOf(asked, question, *result.model));
    if (!streams) {
        report.note = "no attention was found; name the layers in a file (--layers FILE.json)";
        return {};
    }
    return takeLinks(asked, *streams, request, result, wish, report, report.note, stop);
}

} // namespace retro::engine
