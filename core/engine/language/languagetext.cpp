// SPDX-License-Identifier: Apache-2.0
// What an explanation says of a text, for views and run files, and back.
#include "core/engine/language/languagereport.h"

#include "core/ops/kernel/slices.h"

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

/// A matrix, or more axes, with `count` columns of zeros in front along axis 1.
tensor::Tensor behindColumns(const tensor::Tensor& given, std::int64_t count)
{
    if (!given.isValid() || count == 0) {
        return given;
    }
    tensor::Shape shape = given.shape();
    const std::int64_t own = given.size() / std::max<std::int64_t>(shape[0], 1);
    const std::int64_t inner = own / std::max<std::int64_t>(shape[1], 1);
    shape[1] += count;
    tensor::TensorBuffer made(tensor::DType::Float64, shape);
    made.clear();
    const tensor::Tensor plain = given.contiguous();
    for (std::int64_t row = 0; row < shape[0]; ++row) {
        std::copy_n(plain.data<double>() + row * own, own,
                    made.data<double>() + row * (own + count * inner) + count * inner);
    }
    return std::move(made).freeze();
}

/// The columns behind the first `count`.
tensor::Tensor withoutColumns(const tensor::Tensor& given, std::int64_t count)
{
    return given.isValid() && count > 0 ? ops::slice(given, 1, count, given.shape()[1] - count).contiguous() : given;
}

/// Without the first `count` tokens, which behindTokens() put there.
LayerParts withoutTokens(LayerParts parts, std::size_t count)
{
    const auto columns = static_cast<std::int64_t>(count);
    parts.layers = withoutColumns(parts.layers, columns);
    parts.heads = withoutColumns(parts.heads, columns);
    for (trace::TextLink& link : parts.links) {
        link.query -= static_cast<std::int32_t>(count);
        link.key -= static_cast<std::int32_t>(count);
    }
    return parts;
}

double sumOf(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

void takeParts(const LayerParts& from, trace::TextStep& step)
{
    step.layers = from.layers;
    step.heads = from.heads;
    step.links = from.links;
}

/// All but what is set against the target.
trace::TextStep textStepOf(const GeneratedStep& made, std::size_t source)
{
    trace::TextStep step;
    step.position = made.position + static_cast<std::int64_t>(source);
    step.target = textWordOf(made.token);
    step.best = textWordOf(made.best);
    step.score = made.token.score;
    step.started = made.started;
    step.reached = sumOf(made.relevance);
    step.losses = made.losses;
    step.relevance = made.relevance;
    takeParts(behindTokens(made.parts, source), step);
    return step;
}

GeneratedStep generatedOf(const trace::TextStep& step, std::size_t source)
{
    return {scoredOf(step.target),
            step.position - static_cast<std::int64_t>(source),
            step.relevance,
            scoredOf(step.best),
            step.started,
            step.losses,
            withoutTokens({step.layers, step.heads, step.links, {}}, source)};
}

} // namespace

LayerParts behindTokens(const LayerParts& parts, std::size_t count)
{
    LayerParts made = parts;
    made.layers = behindColumns(parts.layers, static_cast<std::int64_t>(count));
    made.heads = behindColumns(parts.heads, static_cast<std::int64_t>(count));
    for (trace::TextLink& link : made.links) {
        link.query += static_cast<std::int32_t>(count);
        link.key += static_cast<std::int32_t>(count);
    }
    return made;
}

trace::RunText runText(const LanguageReport& report)
{
    trace::RunText text;
    text.text = report.text;
    text.note = report.note;
    text.given = report.tokens.size();
    text.source = report.source;
    text.streams = report.streams;
    text.heads = report.headValues;
    for (const std::vector<LanguageToken>* const tokens : {&report.tokens, &report.generatedTokens}) {
        for (const LanguageToken& token : *tokens) {
            text.tokens.push_back(textTokenOf(token));
        }
    }
    trace::TextStep question;
    question.position = report.position < 0 ? -1 : report.position + static_cast<std::int64_t>(report.source);
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
    takeParts(behindTokens(report, report.source), question);
    text.steps.push_back(std::move(question));
    std::ranges::transform(report.generated, std::back_inserter(text.steps),
                           [&report](const GeneratedStep& made) { return textStepOf(made, report.source); });
    for (const PositionAnswer& answer : report.positions) {
        trace::TextStep step = textStepOf(answer, report.source);
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
    report.source = text.source;
    if (text.source > 0) {
        report.inputs = {"encoder", "decoder"};
    }
    for (std::size_t i = 0; i < text.tokens.size(); ++i) {
        (i < text.given ? report.tokens : report.generatedTokens).push_back(languageTokenOf(text.tokens[i]));
    }
    for (std::size_t i = 0; i < text.steps.size(); ++i) {
        const trace::TextStep& step = text.steps[i];
        if (i == 0) {
            static_cast<LayerParts&>(report) = withoutTokens({step.layers, step.heads, step.links, {}}, text.source);
            report.position = step.position < 0 ? -1 : step.position - static_cast<std::int64_t>(text.source);
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
            report.generated.push_back(generatedOf(step, text.source));
        } else {
            PositionAnswer answer{generatedOf(step, text.source), {}, step.score};
            std::ranges::transform(step.contrast, std::back_inserter(answer.contrast), scoredOf);
            answer.relevance.resize(report.tokens.size());
            report.positions.push_back(std::move(answer));
        }
    }
    return report;
}

} // namespace retro::engine
