// SPDX-License-Identifier: Apache-2.0
// Small language models against stored vectors, in both precisions: logits, relevance of the tokens, of the residual
// streams and of the heads for questions about one position, and for generated tokens. Reads every folder of
// $RETROGRADE_GOLDEN/llm/models, else of tests/data/golden/llm/models; prints one line per failing case; fails when
// there is none.
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runforward.h"
#include "core/engine/language/filledinputs.h"
#include "core/engine/language/residualstreams.h"
#include "tests/core/engine/languagecases.h"

namespace retro::tests
{

namespace
{

using execute::Precision;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr const char* kLogits = "logits";
constexpr const char* kTokens = "input_ids";

/// A model with its tokens, and what its logits are.
class Subject
{
public:
    Subject(const LanguageCase& one, Precision precision, CaseReport& report)
        : m_case(one), m_precision(precision), m_report(report)
    {}

    bool load()
    {
        auto model = engine::loadModel(m_case.folder / m_case.meta.at("model").get<std::string>());
        if (!model) {
            return m_report.fail(model.error().text()) == 0;
        }
        m_model = *model;
        auto inputs = readTensors(m_case, m_case.meta.at("inputs"), *m_model->graph());
        if (!inputs) {
            return m_report.fail(inputs.error().text()) == 0;
        }
        m_inputs = std::move(*inputs);
        return run(m_inputs, m_logits);
    }

    /// Logits of inputs, tokens × words.
    bool run(const std::vector<Tensor>& inputs, Tensor& logits)
    {
        const auto made = engine::runForward(*m_model, inputs, m_precision);
        if (!made) {
            return m_report.fail(made.error().text()) == 0;
        }
        const auto at = std::find(made->names.begin(), made->names.end(), kLogits);
        if (at == made->names.end()) {
            return m_report.fail("there is no output of logits") == 0;
        }
        const Tensor& all = made->outputs[static_cast<std::size_t>(at - made->names.begin())];
        logits = all.contiguous().reshaped({all.shape()[1], all.shape()[2]});
        return true;
    }

    /// The relevance of everything for Σ factor · logit at a position; relevance starts with the logits themselves.
    base::Result<engine::ExplainResult> explain(const std::vector<Tensor>& inputs, const Tensor& logits,
                                                std::int64_t position, const nlohmann::json& start) const
    {
        tensor::TensorBuffer given(DType::Float64, {1, logits.shape()[0], logits.shape()[1]});
        given.clear();
        for (const auto& term : start) {
            const std::int64_t at = position * logits.shape()[1] + term.at("token").get<std::int64_t>();
            given.data<double>()[at] += term.at("factor").get<double>() * logits.at(at);
        }
        engine::ExplainRequest request;
        request.inputs = inputs;
        request.target = {engine::TargetRequest::Kind::Value, 0, kLogits};
        request.start = {engine::StartKind::Given, {}, std::move(given).freeze(), "the question of the case"};
        request.composite = "attnlrp";
        request.precision = m_precision;
        return engine::explain(*m_model, request);
    }

    /// Relevance of the tokens, as one row.
    Tensor tokensOf(const engine::ExplainResult& result) const
    {
        const auto tokens = result.model->graph().findValue(kTokens);
        const Tensor relevance = tokens ? result.relevance[tokens->index()] : Tensor();
        return relevance.isValid() ? relevance.contiguous().reshaped({relevance.size()}) : Tensor();
    }

    void compareLogits()
    {
        m_report.compare("logits", m_logits, m_case.meta.at("logits").at("file").get<std::string>());
    }

    void ask(const nlohmann::json& question)
    {
        const std::string name = question.at("name");
        const auto position = question.at("position").get<std::int64_t>();
        double score = 0;
        for (const auto& term : question.at("start")) {
            score += term.at("factor").get<double>() *
                     m_logits.at(position * m_logits.shape()[1] + term.at("token").get<std::int64_t>());
        }
        const std::vector<double> expected{question.at("score").get<double>()};
        m_report.compare(name + ", score", Tensor::of<double>({1}, std::vector<double>{score}),
                         Tensor::of<double>({1}, expected));
        const auto result = explain(m_inputs, m_logits, position, question.at("start"));
        if (!result) {
            m_report.fail(name + ": " + result.error().text());
            return;
        }
        const Tensor tokens = tokensOf(*result);
        m_report.compare(name + ", tokens", tokens, question.at("tokens").get<std::string>());
        for (std::int64_t behind = position + 1; tokens.isValid() && behind < tokens.size(); ++behind) {
            if (tokens.at(behind) != 0) {
                m_report.fail(name + ": a token behind the position has relevance");
                break;
            }
        }
        const auto streams = engine::residualStreams(*result->model);
        if (!streams) {
            m_report.fail(name + ": " + streams.error().text());
            return;
        }
        m_report.compare(name + ", layers", engine::streamRelevance(*streams, *result->model, result->relevance),
                         question.at("layers").get<std::string>());
        m_report.compare(name + ", heads", engine::headRelevance(*streams, *result->model, result->relevance),
                         question.at("heads").get<std::string>());
    }

    /// The best word at the end, time and again, each explained with the text so far.
    void generate(const nlohmann::json& wanted)
    {
        const std::vector<std::int64_t> expected = wanted.at("tokens");
        auto rows = tensor::readNpy(m_case.folder / wanted.at("relevance").get<std::string>());
        if (!rows) {
            m_report.fail(rows.error().text());
            return;
        }
        std::vector<Tensor> inputs = m_inputs;
        Tensor logits = m_logits;
        for (std::size_t step = 0; step < expected.size(); ++step) {
            const std::int64_t words = logits.shape()[1];
            const std::int64_t last = logits.shape()[0] - 1;
            std::int64_t best = 0;
            for (std::int64_t word = 1; word < words; ++word) {
                best = logits.at(last * words + word) > logits.at(last * words + best) ? word : best;
            }
            if (best != expected[step]) {
                m_report.fail("step " + std::to_string(step) + " is the word " + std::to_string(best));
                return;
            }
            nlohmann::json start = nlohmann::json::array();
            start.push_back({{"token", best}, {"factor", 1.0}});
            const auto result = explain(inputs, logits, last, start);
            if (!result) {
                m_report.fail("generated: " + result.error().text());
                return;
            }
            const std::int64_t width = rows->shape()[1];
            std::vector<double> row;
            for (std::int64_t i = 0; i <= last; ++i) {
                row.push_back(rows->at(static_cast<std::int64_t>(step) * width + i));
            }
            m_report.compare("generated " + std::to_string(step), tokensOf(*result),
                             Tensor::of<double>({last + 1}, row));
            if (step + 1 < expected.size() && (!append(best, inputs) || !run(inputs, logits))) {
                return;
            }
        }
    }

private:
    /// One more token; mask and positions are made anew.
    bool append(std::int64_t token, std::vector<Tensor>& inputs)
    {
        const graph::Graph& graph = *m_model->graph();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const graph::Value& input = graph.value(graph.inputs()[i]);
            if (input.name == kTokens) {
                std::vector<std::int64_t> ids;
                for (std::int64_t at = 0; at < inputs[i].size(); ++at) {
                    ids.push_back(static_cast<std::int64_t>(inputs[i].at(at)));
                }
                ids.push_back(token);
                inputs[i] = Tensor::of<std::int64_t>({1, static_cast<std::int64_t>(ids.size())}, ids).to(input.dtype);
            } else if (!tensor::isFloating(input.dtype)) {
                inputs[i] = {};
            }
        }
        const auto filled = engine::fillLanguageInputs(*m_model, inputs);
        return filled ? true : m_report.fail(filled.error().text()) == 0;
    }

    const LanguageCase& m_case;
    Precision m_precision;
    CaseReport& m_report;
    engine::LoadedModelPointer m_model;
    std::vector<Tensor> m_inputs;
    Tensor m_logits;
};

/// The inputs that are filled in when only the tokens are given are those of the case.
void compareFilled(const LanguageCase& one, CaseReport& report)
{
    const auto model = engine::loadModel(one.folder / one.meta.at("model").get<std::string>());
    const auto given = model ? readTensors(one, one.meta.at("inputs"), *(*model)->graph())
                             : base::Result<std::vector<Tensor>>(model.error());
    if (!given) {
        report.fail(given.error().text());
        return;
    }
    const graph::Graph& graph = *(*model)->graph();
    std::vector<Tensor> inputs(given->size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i] = graph.value(graph.inputs()[i]).name == kTokens ? (*given)[i] : Tensor();
    }
    if (const auto filled = engine::fillLanguageInputs(**model, inputs); !filled) {
        report.fail("filling inputs in: " + filled.error().text());
        return;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if ((*given)[i].isValid()) {
            report.compare("filled in " + graph.value(graph.inputs()[i]).name, inputs[i], (*given)[i]);
        }
    }
}

int failuresOfModel(const LanguageCase& one, Precision precision)
{
    CaseReport report(one, precision);
    Subject subject(one, precision, report);
    if (precision == Precision::Double) {
        compareFilled(one, report);
    }
    if (!subject.load()) {
        return report.failures();
    }
    subject.compareLogits();
    for (const auto& question : one.meta.at("questions")) {
        subject.ask(question);
    }
    if (one.meta.contains("generate")) {
        subject.generate(one.meta.at("generate"));
    }
    return report.failures();
}

} // namespace

} // namespace retro::tests

int main() { return retro::tests::runLanguageCases("llm/models", retro::tests::failuresOfModel); }
