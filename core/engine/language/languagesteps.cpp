// SPDX-License-Identifier: Apache-2.0
// Further questions about a text: at other positions of it, and behind it.
#include "core/engine/input/fittedinput.h"
#include "core/engine/language/cachedwords.h"
#include "core/engine/language/languageanswer.h"
#include "core/engine/language/languagequestion.h"
#include "core/ops/kernel/slices.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

/// The same request about another position and word, of which the tokens' relevance alone is wanted.
ExplainRequest stepRequest(const LanguageQuestion& asked, const ExplainRequest& request, std::int64_t position,
                           std::optional<std::int64_t> target)
{
    ExplainRequest step = request;
    step.record = step.keepValues = step.keepsForward = step.keepsPass = step.parameters = false;
    step.region = {};
    step.checkpoints.clear();
    step.target = {};
    step.target.kind = TargetRequest::Kind::Place;
    step.target.value = asked.scores;
    step.target.place = {{"token", rowOfPosition(asked.language, position)}};
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
    for (auto& [layer, map] : parts.maps) { // heads × queries × keys
        map = ops::slice(ops::slice(map, 1, 0, tokens), 2, 0, tokens).contiguous();
    }
}

/// Reads answers at positions of a text from results.
class AnswerReader
{
public:
    AnswerReader(const LanguageQuestion& asked, const LoadedModel& model, const Question& question,
                 const LayerWish& wish, const std::stop_token& stop)
        : m_asked(asked), m_model(model), m_question(question), m_wish(wish), m_stop(stop)
    {}

    /// Layers, heads and links are wanted beside the tokens.
    [[nodiscard]] bool wantsLayers() const { return m_wish.layers && !m_question.inputsOnly; }
    [[nodiscard]] bool wantsLinks() const { return wantsLayers() && m_wish.links; }

    [[nodiscard]] std::vector<double> rowOf(const ExplainResult& result, std::int64_t position) const
    {
        return rowOfScores(scoresAmong(result, m_asked.language, m_model), position);
    }

    /// Of the first `tokens` of the text; `note` takes what is not there, `remade` is as for attentionMaps().
    [[nodiscard]] Result<PositionAnswer> read(const ExplainRequest& request, const ExplainResult& result,
                                              std::int64_t position, std::int64_t tokens, std::string& note,
                                              RemadeValues* remade = nullptr) const
    {
        const Tensor scores = scoresAmong(result, m_asked.language, m_model);
        if (!scores.isValid() || scores.rank() != 3) {
            return base::engineError("the scores of this model are not of batch × tokens × words, so no next word "
                                     "follows from them");
        }
        PositionAnswer made;
        made.position = position;
        const std::vector<double> row = rowOfScores(scores, position);
        made.token = scoredTokenOf(m_asked, result.target.index.front() % scores.shape()[2], row);
        made.best = scoredTokenOf(m_asked, bestOf(row), row);
        for (const std::int64_t other : request.start.against) {
            made.contrast.push_back(scoredTokenOf(m_asked, other, row));
        }
        made.score = result.target.logit.front();
        made.started = result.relevanceStart;
        made.losses = lossesOf(result, m_asked.language, m_model);
        made.relevance = relevanceOfTokens(result, m_asked.language, m_model, static_cast<std::size_t>(tokens));
        if (!wantsLayers()) {
            return made;
        }
        RETRO_TRY(const std::optional<ResidualStreams> streams, streamsOf(m_asked, m_question, *result.model));
        if (streams) {
            made.parts = partsOf(*streams, result);
            RETRO_CHECK(takeLinks(m_asked, *streams, request, result, m_wish, made.parts, note, m_stop, remade));
            keepFirst(tokens, made.parts);
        }
        return made;
    }

private:
    const LanguageQuestion& m_asked;
    const LoadedModel& m_model;
    const Question& m_question;
    const LayerWish& m_wish;
    std::stop_token m_stop;
};

/// Whether the forward pass of one question serves those at other positions too.
bool sharesPasses(const ExplainRequest& request)
{
    return request.engine == EngineKind::Promise && !request.forwarding && !request.keptByPlan;
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

    /// None where it cannot be told so: the model is not causal, or a pass cannot be kept. `step` gets the inputs of
    /// the whole text. Errors: Cancelled.
    [[nodiscard]] Result<std::optional<ExplainResult>> ask(ExplainRequest& step, std::int64_t position,
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

/// How far scores of two passes may be apart by rounding.
double roundingOf(double score)
{
    constexpr double kRounding = 1e-3;
    return kRounding * std::max(1.0, std::abs(score));
}

/// True for the score that is known already of a word, but for rounding.
bool isSameScore(std::int64_t word, double score, const std::vector<double>& row)
{
    const bool isKnown = word >= 0 && std::cmp_less(word, row.size());
    return !isKnown || std::abs(row[static_cast<std::size_t>(word)] - score) <= roundingOf(score);
}

/// Whether the word is the best one of the row, also with scores that are rounded in another way.
bool isSurelyBest(std::int64_t word, const std::vector<double>& row)
{
    if (word < 0 || !std::cmp_less(word, row.size())) {
        return false;
    }
    const double score = row[static_cast<std::size_t>(word)];
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (std::cmp_not_equal(i, word) && row[i] >= score - 2 * roundingOf(score)) {
            return false;
        }
    }
    return true;
}

/// The main question as one of its positions.
PositionAnswer answerOf(const LanguageReport& report)
{
    PositionAnswer answer;
    answer.position = report.position;
    answer.token = report.target;
    answer.best = report.best;
    answer.contrast = report.contrast;
    answer.score = report.score;
    answer.started = report.started;
    answer.losses = report.losses;
    answer.relevance = report.relevance;
    answer.parts = report;
    return answer;
}

/// What the words behind a text are asked of.
struct GrowthOf
{
    const LanguageQuestion& asked;
    const LoadedModel& model;
    const Question& question;
    const ExplainRequest& request;
    const ExplainResult& result; ///< of the main question
    const LayerWish& wish;
    std::stop_token stop;
};

/// Goes on with a text word by word.
class Growth
{
public:
    Growth(GrowthOf of, LanguageReport& report)
        : m_of(std::move(of)), m_report(report), m_reader(m_of.asked, m_of.model, m_of.question, m_of.wish, m_of.stop),
          m_ids(idsOf(m_of.asked.tokens))
    {}

    [[nodiscard]] Result<void> run(const StepTold& told)
    {
        RETRO_CHECK(takeKnownText());
        for (std::size_t i = 0; i < count(); ++i) {
            RETRO_TRY(GeneratedStep made, step(i));
            m_ids.push_back(made.token.id);
            m_report.generatedTokens.push_back(
                isGiven() ? m_of.asked.continued[i] : m_of.asked.words.tokensOf(std::span(&made.token.id, 1)).front());
            m_report.generated.push_back(std::move(made));
            if (told) {
                told(m_report);
            }
        }
        return {};
    }

private:
    [[nodiscard]] bool isGiven() const { return !m_of.asked.continued.empty(); }
    [[nodiscard]] std::size_t count() const
    {
        return isGiven() ? m_of.asked.continued.size() : static_cast<std::size_t>(m_of.asked.generates);
    }

    /// The text with all words that it goes on with but the last, where they are known before they are explained.
    [[nodiscard]] Result<void> takeKnownText()
    {
        if (count() < 2 || !sharesPasses(m_of.request) || m_of.asked.language.scoresLast) {
            return {};
        }
        if (!isGiven()) {
            RETRO_CHECK(chooseWords());
        }
        std::vector<std::int64_t> all = m_ids;
        for (std::size_t i = 0; i + 1 < count() && (isGiven() || i < m_chosen.size()); ++i) {
            all.push_back(isGiven() ? m_of.asked.continued[i].id : m_chosen[i].id);
        }
        if (all.size() == m_ids.size() + count() - 1) {
            RETRO_TRY(std::vector<Tensor> inputs, inputsOf(all));
            m_known.emplace(m_of.model, std::move(inputs), m_of.asked.language.tokens);
        }
        return {};
    }

    /// By the caches of the model, where it has some and nobody gave other inputs than the tokens.
    [[nodiscard]] Result<void> chooseWords()
    {
        const graph::Graph& graph = *m_of.model.graph();
        const bool isOfTokens = std::ranges::all_of(m_of.question.inputs, [&](const std::string& text) {
            const std::string name = parseInput(text, graph).name;
            return name.empty() || name == graph.value(m_of.asked.language.tokens).name;
        });
        const auto words = isOfTokens ? CachedWords::of(m_of.model, m_of.asked.language) : std::nullopt;
        if (!words) {
            return {};
        }
        Result<std::vector<ChosenWord>> chosen =
            words->choose(mainOutputs(), m_of.asked.inputs, count() - 1, m_of.request.precision, m_of.stop);
        if (chosen.ok()) {
            m_chosen = std::move(chosen).value();
        } else if (chosen.error().code == base::ErrorCode::Cancelled) {
            return chosen.error();
        } // else the words are chosen one by one
        return {};
    }

    /// Of the main question, by output of the model; what it did not make is invalid.
    [[nodiscard]] std::vector<Tensor> mainOutputs() const
    {
        const graph::Graph& made = m_of.result.model->graph();
        const graph::Graph& graph = *m_of.model.graph();
        std::vector<Tensor> outputs(graph.outputs().size());
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            const auto at = std::ranges::find(made.outputs(), graph.value(graph.outputs()[i]).name,
                                              [&made](ValueId id) { return made.value(id).name; });
            const auto place = static_cast<std::size_t>(at - made.outputs().begin());
            outputs[i] = place < m_of.result.outputs.size() ? m_of.result.outputs[place] : Tensor();
        }
        return outputs;
    }

    [[nodiscard]] Result<std::vector<Tensor>> inputsOf(std::span<const std::int64_t> ids) const
    {
        return languageInputs(m_of.model, m_of.asked.language, m_of.question, ids, idsOf(m_of.asked.source));
    }

    [[nodiscard]] Result<PositionAnswer> step(std::size_t i)
    {
        const std::optional<std::int64_t> next =
            isGiven() ? std::optional<std::int64_t>(m_of.asked.continued[i].id) : std::nullopt;
        if (i == 0 && isMainQuestion(next)) {
            return answerOf(m_report);
        }
        const auto position = std::ssize(m_ids) - 1;
        ExplainRequest step = stepRequest(m_of.asked, m_of.request, position, next);
        step.start.against.clear();
        step.inputsOnly = !m_reader.wantsLayers() && sharesPasses(step);
        step.keepsForward = m_reader.wantsLinks();
        std::optional<ExplainResult> answer;
        if (m_known) {
            ExplainRequest overAll = step;
            RETRO_TRY(answer, m_known->ask(overAll, position, m_of.stop));
            if (answer && isAsChosen(i, m_reader.rowOf(*answer, position))) {
                return m_reader.read(overAll, *answer, position, position + 1, m_report.note, &m_remade);
            }
        }
        const bool mayGoOn = answer.has_value() && i < m_chosen.size();
        RETRO_TRY(step.inputs, inputsOf(m_ids));
        RETRO_TRY(const ExplainResult alone, explain(m_of.model, step, m_of.stop));
        const std::vector<double> row = m_reader.rowOf(alone, position);
        if (!mayGoOn || bestOf(row) != m_chosen[i].id || !isSameScore(m_chosen[i].id, m_chosen[i].score, row)) {
            m_known.reset(); // else two words are nearly as good, and the chosen one is
        }
        return m_reader.read(step, alone, position, position + 1, m_report.note);
    }

    /// Whether the first step asks what the main question asked.
    [[nodiscard]] bool isMainQuestion(const std::optional<std::int64_t>& next) const
    {
        const bool isAtEnd = m_of.asked.asksForWord && m_report.position == std::ssize(m_ids) - 1;
        return isAtEnd && m_report.contrast.empty() && !m_of.request.stopAtCheckpoints &&
               m_report.target.id == next.value_or(m_report.best.id);
    }

    /// Whether a pass over the whole text says of step `i` what one over the text before it would.
    [[nodiscard]] bool isAsChosen(std::size_t i, const std::vector<double>& row) const
    {
        const bool isKnown = m_report.position == std::ssize(m_ids) - 1;
        if (isKnown && !isSameScore(m_report.best.id, m_report.best.score, row)) {
            return false;
        }
        if (isGiven() || i + 1 == count()) {
            return true; // the last word has the whole text before it
        }
        const ChosenWord& chosen = m_chosen[i];
        return isSurelyBest(chosen.id, row) && isSameScore(chosen.id, chosen.score, row);
    }

    GrowthOf m_of;
    LanguageReport& m_report;
    AnswerReader m_reader;
    std::vector<std::int64_t> m_ids;
    std::vector<ChosenWord> m_chosen;
    std::optional<KnownText> m_known;
    RemadeValues m_remade; ///< of it
};

} // namespace

Result<void> addPositions(const LanguageQuestion& asked, Explainer& explainer, const Question& question,
                          const ExplainRequest& request, LanguageReport& report, std::stop_token stop,
                          const LayerWish& wish)
{
    const AnswerReader reader(asked, *explainer.model(), question, wish, stop);
    RemadeValues remade;
    for (const std::int64_t position : asked.positions) {
        if (position == report.position) {
            report.positions.push_back(answerOf(report));
            continue;
        }
        ExplainRequest one = stepRequest(asked, request, position, asked.target);
        one.keepsPass = sharesPasses(one);
        one.keepsForward = reader.wantsLinks();
        RETRO_TRY(const ExplainResult result, explainer.explain(one, stop));
        RETRO_TRY(PositionAnswer made,
                  reader.read(one, result, position, std::ssize(asked.tokens), report.note, &remade));
        report.positions.push_back(std::move(made));
    }
    return {};
}

Result<void> addGeneration(const LanguageQuestion& asked, const LoadedModel& model, const Question& question,
                           const ExplainRequest& request, const ExplainResult& result, LanguageReport& report,
                           std::stop_token stop, const LayerWish& wish, const StepTold& told)
{
    return Growth({asked, model, question, request, result, wish, stop}, report).run(told);
}

Result<void> addSidesOfContrast(const LanguageQuestion& asked, Explainer& explainer, const ExplainRequest& request,
                                LanguageReport& report, std::stop_token stop)
{
    if (asked.contrast.size() != 1 || report.position < 0) {
        return {};
    }
    for (const ScoredToken& side : {report.target, report.contrast.front()}) {
        ExplainRequest one = stepRequest(asked, request, report.position, side.id);
        one.start.against.clear();
        one.inputsOnly = sharesPasses(one);
        one.keepsPass = one.inputsOnly;
        RETRO_TRY(const ExplainResult result, explainer.explain(one, stop));
        report.others.push_back(
            {side.quoted(), relevanceOfTokens(result, asked.language, *explainer.model(), asked.tokens.size())});
    }
    return {};
}

} // namespace retro::engine
