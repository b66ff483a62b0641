// SPDX-License-Identifier: Apache-2.0
#include "core/engine/language/languagequestion.h"

#include "core/base/file.h"
#include "core/engine/input/fittedinput.h"
#include "core/engine/language/attentionlinks.h"
#include "core/engine/language/languageparts.h"
#include "core/engine/language/positionlimit.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "core/ops/kernel/slices.h"
#include "core/tensor/npy.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::usageError;
using base::ValueId;
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
        {"--text", !question.text.empty()},          {"--ids", !question.ids.empty()},
        {"--position", !question.position.empty()},  {"--contrast", !question.contrast.empty()},
        {"--generate", !question.generate.empty()},  {"--continue", !question.continuation.empty()},
        {"--target-tokens", question.targetTokens},  {"--html", !question.html.empty()},
        {"--layers", !question.layers.empty()},      {"--tokenizer", !question.tokenizer.empty()},
        {"--attention", !question.attention.empty()}};
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

/// The source that the question gives for the tokens; empty = none.
std::string sourceOfTokens(const LoadedModel& model, const LanguageModel& language, const Question& question)
{
    const graph::Graph& graph = *model.graph();
    for (const std::string& text : question.inputs) {
        const InputSource source = parseInput(text, graph);
        if (source.name.empty() || source.name == graph.value(language.tokens).name) {
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

std::vector<std::int64_t> idsOf(const std::vector<LanguageToken>& tokens)
{
    std::vector<std::int64_t> ids;
    for (const LanguageToken& token : tokens) {
        ids.push_back(token.id);
    }
    return ids;
}

/// What the question gives as the tokens, as an array.
Result<Tensor> givenTokens(const LoadedModel& model, const LanguageModel& language, const Question& question,
                           const PictureDecoder& decode)
{
    const formats::ModelCard* const card = model.card ? &*model.card : nullptr;
    RETRO_TRY(const PictureOptions options, pictureOptions(question, card));
    return readInput(sourceOfTokens(model, language, question), *model.graph(), language.tokens, options, decode, card);
}

/// Fills in the tokens of the text.
Result<void> takeTextTokens(const LoadedModel& model, const Question& question, const PictureDecoder& decode,
                            LanguageQuestion& asked)
{
    const std::string source = sourceOfTokens(model, asked.language, question);
    const std::string& name = model.graph()->value(asked.language.tokens).name;
    if (!source.empty() && !(question.text.empty() && question.ids.empty())) {
        return usageError(fmt::format("the tokens are given twice: by --input {} and by {}", name,
                                      question.text.empty() ? "--ids" : "--text"));
    }
    if (!question.ids.empty()) {
        RETRO_TRY(const std::vector<std::int64_t> ids, numbersIn(question.ids));
        asked.tokens = asked.words.tokensOf(ids);
    } else if (!source.empty() && !source.ends_with(".txt")) {
        RETRO_TRY(const Tensor given, givenTokens(model, asked.language, question, decode));
        RETRO_TRY(const std::vector<std::int64_t> ids, oneRowOf(given));
        asked.tokens = asked.words.tokensOf(ids);
    } else if (!source.empty()) {
        RETRO_TRY(asked.text, base::readTextFile(source, text::kMostTextBytes));
        RETRO_TRY(asked.tokens, asked.words.tokensOf(asked.text, true));
    } else if (!question.text.empty()) {
        asked.text = question.text;
        RETRO_TRY(asked.tokens, asked.words.tokensOf(asked.text, true));
    } else {
        return usageError(fmt::format("no text; add --text \"…\", --ids 1,2,3, or --input {}=FILE", name));
    }
    if (asked.tokens.empty() || asked.tokens.size() > kMostTextTokens) {
        return usageError(
            fmt::format("the text has {} tokens; give from 1 to {}", asked.tokens.size(), kMostTextTokens));
    }
    const std::int64_t words = asked.language.words;
    for (std::size_t i = 0; words > 0 && i < asked.tokens.size(); ++i) {
        if (asked.tokens[i].id >= words) {
            return base::inputError(fmt::format("token {} has the number {}, and the model has {} words; give the "
                                                "tokenizer that belongs to it",
                                                i, asked.tokens[i].id, words),
                                    "input '" + name + "'");
        }
    }
    return {};
}

Result<void> takeWords(const LoadedModel& model, const Question& question, LanguageQuestion& asked)
{
    const std::string target = question.targets.empty() ? "argmax" : question.targets.front();
    asked.asksForWord = question.targets.size() <= 1 && !namesElement(target, model);
    const bool namesAll =
        std::ranges::all_of(question.targets, [&model](const std::string& one) { return namesElement(one, model); });
    if (question.targets.size() > 1 && !namesAll) {
        return usageError("a text is asked for one word; name further elements by their places "
                          "(--target VALUE:0,position,number), or set the word against others with --contrast",
                          "--target " + question.targets.back());
    }
    if (!asked.asksForWord && !(question.position.empty() && question.contrast.empty())) {
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
    const auto count = std::ssize(asked.tokens);
    const std::int64_t position = wholeOf(question.position, -1);
    asked.position = position < 0 ? position + count : position;
    if (asked.position < 0 || asked.position >= count) {
        return usageError(fmt::format("there is no position {} in a text of {} tokens", position, count), "--position");
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
    const bool goesOn =
        !asked.text.empty() && all.size() > before.size() && std::equal(before.begin(), before.end(), all.begin());
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

/// Row `position` of the scores, or the only one where no other was made (WantedRow); empty where the output is of
/// another shape.
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

std::vector<double> relevanceOfTokens(const ExplainResult& result, ValueId tokens, std::size_t count)
{
    std::vector<double> parts(count, 0.0);
    const Tensor& relevance = result.relevance[tokens.index()];
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

/// The scores among the results of a pass.
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

/// Streams and heads that the question names, else those that are found; none where there are none.
Result<std::optional<ResidualStreams>> streamsOf(const Question& question, const execute::BoundModel& model)
{
    auto parts = question.layers.empty() ? residualStreams(model) : readLanguageParts(question.layers, model);
    if (!parts && !question.layers.empty()) {
        return std::move(parts).error();
    }
    return parts ? std::optional<ResidualStreams>(std::move(parts).value()) : std::nullopt;
}

/// Relevance of layers and heads; without links.
LayerParts partsOf(const ResidualStreams& streams, const ExplainResult& result)
{
    LayerParts parts;
    parts.layers = streamRelevance(streams, *result.model, result.relevance);
    parts.heads = streams.heads.empty() ? Tensor() : headRelevance(streams, *result.model, result.relevance);
    return parts;
}

/// Links, and maps, of the attentions of one explanation; `note` says why there are none.
Result<void> takeLinks(const LanguageQuestion& asked, const ResidualStreams& streams, const ExplainRequest& request,
                       const ExplainResult& result, const LayerWish& wish, LayerParts& parts, std::string& note,
                       const std::stop_token& stop)
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
        stop));
    for (const auto& [layer, some] : links) {
        parts.links.insert(parts.links.end(), some.begin(), some.end());
    }
    return {};
}

/// The same request about other tokens and another word, of which the tokens' relevance alone is wanted.
ExplainRequest stepRequest(const ExplainRequest& request, std::int64_t position, std::optional<std::int64_t> target)
{
    ExplainRequest step = request;
    step.record = step.keepValues = step.keepsForward = step.keepsPass = step.parameters = false;
    step.region = {};
    step.checkpoints.clear();
    step.start.against.clear();
    step.target.kind = TargetRequest::Kind::Place;
    step.target.place = {{"token", position}};
    if (target) {
        step.target.place.push_back({"class", *target});
    }
    return step;
}

/// What layers say of the first tokens alone.
void keepFirst(std::int64_t tokens, LayerParts& parts)
{
    for (Tensor* const matrix : {&parts.layers, &parts.heads}) {
        if (matrix->isValid()) {
            *matrix = ops::slice(*matrix, 1, 0, tokens).contiguous();
        }
    }
}

/// One forward pass over a text that is known, for questions at several of its positions. No token of a causal model
/// sees those behind it, so each answer is that for the text up to its position.
class KnownText
{
public:
    /// `inputs` are those of the whole text.
    KnownText(const LoadedModel& model, std::vector<Tensor> inputs, ValueId tokens)
        : m_explainer(LoadedModelPointer(std::shared_ptr<void>(), &model)), m_inputs(std::move(inputs)),
          m_tokens(tokens)
    {}

    /// None where it cannot be told so: the model is not causal, or a pass cannot be kept. Errors: Cancelled.
    [[nodiscard]] Result<std::optional<ExplainResult>> ask(ExplainRequest step, std::int64_t position,
                                                           const std::stop_token& stop)
    {
        step.inputs = m_inputs;
        step.keepsPass = true;
        Result<ExplainResult> result = m_explainer.explain(step, stop);
        if (!result.ok()) {
            return result.error().code == base::ErrorCode::Cancelled
                       ? Result<std::optional<ExplainResult>>(result.error())
                       : std::optional<ExplainResult>();
        }
        const Tensor& relevance = result->relevance[m_tokens.index()];
        for (std::int64_t i = position + 1; relevance.isValid() && i < relevance.size(); ++i) {
            if (relevance.at(i) != 0) {
                return std::optional<ExplainResult>(); // what lies behind the position has a say in it
            }
        }
        return std::optional(std::move(result).value());
    }

private:
    Explainer m_explainer;
    std::vector<Tensor> m_inputs;
    ValueId m_tokens;
};

/// True for the score that the main question had at the same position, but for rounding.
bool isSameScore(const LanguageReport& report, std::int64_t position, const std::vector<double>& row)
{
    constexpr double kRounding = 1e-3;
    const bool isKnown =
        report.position == position && report.best.id >= 0 && std::cmp_less(report.best.id, row.size());
    return !isKnown || std::abs(row[static_cast<std::size_t>(report.best.id)] - report.best.score) <=
                           kRounding * std::max(1.0, std::abs(report.best.score));
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

Result<std::optional<LanguageQuestion>> languageQuestion(const LoadedModel& model, const Question& question,
                                                         const PictureDecoder& decode)
{
    const std::string option = optionOfTexts(question);
    const auto language = languageModel(model);
    if (!language) {
        return option.empty()
                   ? Result<std::optional<LanguageQuestion>>(std::nullopt)
                   : usageError("the model reads no tokens, or has no scores of batch × tokens × words; leave "
                                "this option out",
                                option);
    }
    const bool hasWords = model.card && !model.card->vocabulary.empty();
    if (option.empty() && (!language->predicts || hasWords)) {
        return std::optional<LanguageQuestion>();
    }
    if (option.empty()) { // several texts at once are a batch of samples, as of any model (see resolve())
        const std::string source = sourceOfTokens(model, *language, question);
        const auto given = source.empty() || source.ends_with(".txt") ? Result<Tensor>(Tensor())
                                                                      : givenTokens(model, *language, question, decode);
        if (source.empty() || (given.ok() && given->isValid() && !isOneText(*given))) {
            return std::optional<LanguageQuestion>();
        }
    }
    LanguageQuestion asked;
    asked.language = *language;
    std::string warning;
    RETRO_TRY(asked.words, languageWords(model.path, question.tokenizer, !question.text.empty(), warning));
    if (!warning.empty()) {
        asked.warnings.push_back(warning);
    }
    RETRO_CHECK(takeTextTokens(model, question, decode, asked));
    RETRO_CHECK(takeWords(model, question, asked));
    RETRO_CHECK(takeContinuation(question, asked));
    RETRO_CHECK(takeAttention(question, asked));
    const std::vector<std::int64_t> ids = idsOf(asked.tokens);
    RETRO_TRY(asked.inputs, languageInputs(model, *language, question, decode, ids));
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
    for (const LanguageToken& token : asked.tokens) {
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
    request.target.place = {{"token", asked.position}};
    if (asked.target) {
        request.target.place.push_back({"class", *asked.target});
    }
    request.start.against = asked.contrast;
    return {};
}

Result<ExplainRequest> resolveWithInputs(const Question& question, const LoadedModel& model,
                                         const PictureDecoder& decode)
{
    RETRO_TRY(const std::optional<LanguageQuestion> language, languageQuestion(model, question, decode));
    RETRO_TRY(ExplainRequest request, resolve(language ? withoutLanguage(question, *language) : question, model));
    if (language) {
        RETRO_CHECK(takeLanguage(*language, request));
    } else {
        RETRO_TRY(request.inputs, readInputs(question, model, decode));
    }
    return request;
}

Result<LanguageReport> reportOf(const LanguageQuestion& asked, const LoadedModel& model, const Question& question,
                                const ExplainResult& result)
{
    const graph::Graph& graph = result.model->graph();
    LanguageReport report;
    report.model = model.name;
    report.text = asked.text;
    report.tokens = asked.tokens;
    report.composite = result.composite.name;
    const auto tokens = graph.findValue(model.graph()->value(asked.language.tokens).name);
    report.relevance = relevanceOfTokens(result, tokens.value_or(asked.language.tokens), asked.tokens.size());
    for (const double part : report.relevance) {
        report.reached += part;
    }
    report.started = result.relevanceStart;
    report.losses = causeTotals(result.ledger);
    report.score = result.target.logit.empty() ? 0 : result.target.logit.front();
    const Tensor scores = scoresAmong(result, asked.language, model);
    const std::int64_t index = result.target.index.empty() ? -1 : result.target.index.front();
    const bool isWord = graph.value(result.target.value).name == model.graph()->value(asked.language.scores).name &&
                        scores.isValid() && scores.rank() == 3 && index >= 0;
    if (isWord) {
        const std::int64_t words = scores.shape()[2];
        report.position = index / words;
        const std::vector<double> row = rowOfScores(scores, report.position);
        report.target = withScore(asked.words, index % words, row);
        report.best = withScore(asked.words, bestOf(row), row);
        for (const std::int64_t other : asked.contrast) {
            report.contrast.push_back(withScore(asked.words, other, row));
        }
    } else {
        const std::vector<std::string>& place = result.target.place;
        const std::string of = place.empty() || place.front().empty() ? "the whole value" : place.front();
        report.otherTarget = fmt::format("{} of {}", of, graph.value(result.target.value).name);
    }
    if (question.inputsOnly) {
        return report;
    }
    RETRO_TRY(const std::optional<ResidualStreams> parts, streamsOf(question, *result.model));
    if (parts) { // else the graph has none
        static_cast<LayerParts&>(report) = partsOf(*parts, result);
        report.streams = parts->streams;
        for (const HeadValues& heads : parts->heads) {
            report.headValues.push_back(heads.value);
        }
    }
    return report;
}

Result<void> addGeneration(const LanguageQuestion& asked, const LoadedModel& model, const Question& question,
                           const ExplainRequest& request, const PictureDecoder& decode, LanguageReport& report,
                           std::stop_token stop, const LayerWish& wish, const StepTold& told)
{
    std::vector<std::int64_t> ids = idsOf(asked.tokens);
    const std::size_t steps =
        asked.continued.empty() ? static_cast<std::size_t>(asked.generates) : asked.continued.size();
    std::optional<KnownText> known; // of words that are given
    const bool asksLinks = wish.layers && !question.inputsOnly && wish.links;
    if (asked.continued.size() > 1 && request.engine == EngineKind::Promise && !request.forwarding &&
        !request.keptByPlan && !asksLinks) {
        std::vector<std::int64_t> all = ids;
        for (std::size_t i = 0; i + 1 < asked.continued.size(); ++i) {
            all.push_back(asked.continued[i].id);
        }
        RETRO_TRY(std::vector<Tensor> inputs, languageInputs(model, asked.language, question, decode, all));
        known.emplace(model, std::move(inputs), asked.language.tokens);
    }
    for (std::size_t i = 0; i < steps; ++i) {
        const std::optional<std::int64_t> next =
            asked.continued.empty() ? std::nullopt : std::optional<std::int64_t>(asked.continued[i].id);
        const auto position = std::ssize(ids) - 1;
        ExplainRequest step = stepRequest(request, position, next);
        const bool isWhole = wish.layers && !question.inputsOnly;
        step.inputsOnly = !isWhole && step.engine == EngineKind::Promise && !step.forwarding && !step.keptByPlan;
        step.keepsForward = isWhole && wish.links;
        std::optional<ExplainResult> answer;
        if (known) {
            RETRO_TRY(answer, known->ask(step, position, stop));
            if (answer &&
                !isSameScore(report, position, rowOfScores(scoresAmong(*answer, asked.language, model), position))) {
                answer.reset();
            }
        }
        if (!answer) {
            known.reset();
            RETRO_TRY(step.inputs, languageInputs(model, asked.language, question, decode, ids));
            RETRO_TRY(answer, explain(model, step, stop));
        }
        const ExplainResult& result = *answer;
        const std::int64_t index = result.target.index.front();
        const Tensor scores = scoresAmong(result, asked.language, model);
        if (!scores.isValid() || scores.rank() != 3) {
            return base::engineError("the scores of this model are not of batch × tokens × words, so no next word "
                                     "follows from them");
        }
        GeneratedStep made;
        made.position = position;
        const std::vector<double> row = rowOfScores(scores, position);
        made.token = withScore(asked.words, index % scores.shape()[2], row);
        made.best = withScore(asked.words, bestOf(row), row);
        made.started = result.relevanceStart;
        made.losses = causeTotals(result.ledger);
        if (isWhole) {
            RETRO_TRY(const std::optional<ResidualStreams> streams, streamsOf(question, *result.model));
            if (streams) {
                made.parts = partsOf(*streams, result);
                keepFirst(position + 1, made.parts);
                RETRO_CHECK(takeLinks(asked, *streams, step, result, wish, made.parts, report.note, stop));
            }
        }
        made.relevance = relevanceOfTokens(result, asked.language.tokens, ids.size());
        ids.push_back(made.token.id);
        report.generatedTokens.push_back(
            asked.continued.empty() ? asked.words.tokensOf(std::span(&made.token.id, 1)).front() : asked.continued[i]);
        report.generated.push_back(std::move(made));
        if (told) {
            told(report);
        }
    }
    return {};
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
    RETRO_TRY(const std::optional<ResidualStreams> streams, streamsOf(question, *result.model));
    if (!streams) {
        report.note = "no attention was found; name the layers in a file (--layers FILE.json)";
        return {};
    }
    return takeLinks(asked, *streams, request, result, wish, report, report.note, stop);
}

Result<void> addSidesOfContrast(const LanguageQuestion& asked, Explainer& explainer, const ExplainRequest& request,
                                LanguageReport& report, std::stop_token stop)
{
    if (asked.contrast.size() != 1 || report.position < 0) {
        return {};
    }
    for (const ScoredToken& side : {report.target, report.contrast.front()}) {
        ExplainRequest one = stepRequest(request, report.position, side.id);
        one.inputsOnly = one.engine == EngineKind::Promise && !one.forwarding && !one.keptByPlan;
        one.keepsPass = one.inputsOnly;
        RETRO_TRY(const ExplainResult result, explainer.explain(one, stop));
        report.others.push_back({side.quoted(), relevanceOfTokens(result, asked.language.tokens, asked.tokens.size())});
    }
    return {};
}

} // namespace retro::engine
