// SPDX-License-Identifier: Apache-2.0
// What an explanation says of a text, for views and run files, and back.
#include "core/engine/language/languagereport.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace retro::engine
{

namespace
{

trace::TextWord textWordOf(const ScoredToken& token) { return {token.id, token.text, token.score}; }

ScoredToken scoredOf(const trace::TextWord& word) { return {word.id, word.text, word.score}; }

trace::TextToken textTokenOf(const LanguageToken& token)
{
    trace::TextToken made{token.id, token.text.substr(0, trace::RunText::kMostTokenBytes), std::nullopt};
    if (token.place) {
        made.place = {static_cast<std::int64_t>(token.place->begin), static_cast<std::int64_t>(token.place->end)};
    }
    return made;
}

LanguageToken languageTokenOf(const trace::TextToken& token)
{
    LanguageToken made{static_cast<text::TokenId>(token.id), token.text, std::nullopt};
    if (token.place) {
        made.place =
            text::Range{static_cast<std::uint32_t>((*token.place)[0]), static_cast<std::uint32_t>((*token.place)[1])};
    }
    return made;
}

double sumOf(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

void takeParts(const LayerParts& from, trace::TextStep& step)
{
    step.layers = from.layers;
    step.heads = from.heads;
    step.links = from.links;
}

/// All but what is set against the target.
trace::TextStep textStepOf(const GeneratedStep& made)
{
    trace::TextStep step;
    step.position = made.position;
    step.target = textWordOf(made.token);
    step.best = textWordOf(made.best);
    step.score = made.token.score;
    step.started = made.started;
    step.reached = sumOf(made.relevance);
    step.losses = made.losses;
    step.relevance = made.relevance;
    takeParts(made.parts, step);
    return step;
}

GeneratedStep generatedOf(const trace::TextStep& step)
{
    return {scoredOf(step.target),
            step.position,
            step.relevance,
            scoredOf(step.best),
            step.started,
            step.losses,
            {step.layers, step.heads, step.links, {}}};
}

} // namespace

trace::RunText runText(const LanguageReport& report)
{
    trace::RunText text;
    text.text = report.text;
    text.note = report.note;
    text.given = report.tokens.size();
    text.streams = report.streams;
    text.heads = report.headValues;
    for (const std::vector<LanguageToken>* const tokens : {&report.tokens, &report.generatedTokens}) {
        for (const LanguageToken& token : *tokens) {
            text.tokens.push_back(textTokenOf(token));
        }
    }
    trace::TextStep question;
    question.position = report.position;
    question.target = textWordOf(report.target);
    if (report.position < 0) {
        question.target.text = report.otherTarget;
    }
    question.best = textWordOf(report.best);
    for (const ScoredToken& other : report.contrast) {
        question.contrast.push_back(textWordOf(other));
    }
    question.score = report.score;
    question.started = report.started;
    question.reached = report.reached;
    question.losses = report.losses;
    question.relevance = report.relevance;
    takeParts(report, question);
    text.steps.push_back(std::move(question));
    std::ranges::transform(report.generated, std::back_inserter(text.steps), textStepOf);
    for (const PositionAnswer& answer : report.positions) {
        trace::TextStep step = textStepOf(answer);
        step.score = answer.score;
        std::ranges::transform(answer.contrast, std::back_inserter(step.contrast), textWordOf);
        text.steps.push_back(std::move(step));
    }
    return text;
}

LanguageReport reportOf(const trace::RunText& text, const trace::Run& run)
{
    LanguageReport report;
    report.model = run.facts.modelName;
    report.composite = run.facts.composite;
    report.text = text.text;
    report.note = text.note;
    report.streams = text.streams;
    report.headValues = text.heads;
    for (std::size_t i = 0; i < text.tokens.size(); ++i) {
        (i < text.given ? report.tokens : report.generatedTokens).push_back(languageTokenOf(text.tokens[i]));
    }
    for (std::size_t i = 0; i < text.steps.size(); ++i) {
        const trace::TextStep& step = text.steps[i];
        if (i == 0) {
            static_cast<LayerParts&>(report) = LayerParts{step.layers, step.heads, step.links, {}};
            report.position = step.position;
            report.target = scoredOf(step.target);
            report.otherTarget = step.position < 0 ? step.target.text : std::string();
            report.best = scoredOf(step.best);
            for (const trace::TextWord& other : step.contrast) {
                report.contrast.push_back(scoredOf(other));
            }
            report.score = step.score;
            report.started = step.started;
            report.reached = step.reached;
            report.losses = step.losses;
            report.relevance = step.relevance;
            report.relevance.resize(report.tokens.size());
        } else if (text.tokenOf(i)) {
            report.generated.push_back(generatedOf(step));
        } else {
            PositionAnswer answer{generatedOf(step), {}, step.score};
            std::ranges::transform(step.contrast, std::back_inserter(answer.contrast), scoredOf);
            answer.relevance.resize(report.tokens.size());
            report.positions.push_back(std::move(answer));
        }
    }
    return report;
}

} // namespace retro::engine
