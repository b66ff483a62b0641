// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/subject.h"

#include "core/engine/binding.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

Result<Subject> Subject::make(const LoadedModelPointer& model, const ExplainRequest& question, std::stop_token stop)
{
    Subject subject;
    subject.m_stop = std::move(stop);
    subject.m_explainer = std::make_shared<Explainer>(model);
    subject.m_question = question;
    subject.m_question.record = false;
    subject.m_question.inputsOnly = true;
    subject.m_question.checkpoints.clear();
    if (!question.alsoTargets.empty()) {
        return base::usageError("evaluate takes one --target; the curves are of one score", "--target");
    }
    RETRO_TRY(subject.m_model, bindModel(*model, question.inputs, question.precision, nullptr, subject.m_stop));
    RETRO_CHECK(subject.chooseInput());
    RETRO_TRY(const ExplainResult result, subject.m_explainer->explain(subject.m_question, subject.m_stop));
    subject.m_value = result.target.value;
    if (question.target.kind == TargetRequest::Kind::Argmax) {
        subject.m_question.target.kind = TargetRequest::Kind::Class;
        subject.m_question.target.classIndex = result.target.index.front();
    }
    subject.findRunnerUp(result);
    return subject;
}

Result<void> Subject::chooseInput()
{
    const graph::Graph& graph = m_model->graph();
    std::string tokens;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueId value = graph.inputs()[i];
        if (!m_model->isTracked(value)) {
            continue;
        }
        if (!tensor::isFloating(m_model->typeOf(value).dtype)) {
            tokens = graph.value(value).name;
            continue;
        }
        m_at = i;
        m_inputName = graph.value(value).name;
        m_input = inPrecision(m_question.inputs, m_question.precision)[i].contiguous();
        if (m_input.rank() > 1 && m_input.shape()[0] != 1) {
            return base::inputError(fmt::format("it has {} samples; evaluate takes one at a time: save each in a file "
                                                "of its own and give the folder",
                                                m_input.shape()[0]),
                                    fmt::format("input \"{}\"", m_inputName));
        }
        return {};
    }
    if (!tokens.empty()) {
        return base::inputError("its elements are tokens, which cannot be half removed or interpolated; evaluate works "
                                "on inputs of numbers",
                                fmt::format("input \"{}\"", tokens));
    }
    return base::inputError("no input carries relevance", graph.name());
}

std::optional<std::int64_t> Subject::classIndex() const
{
    return m_question.target.kind == TargetRequest::Kind::Class ? std::optional(m_question.target.classIndex)
                                                                : std::nullopt;
}

std::string Subject::targetText() const
{
    const std::string& name = m_model->graph().value(m_value).name;
    if (const std::optional<std::int64_t> index = classIndex()) {
        return fmt::format("{} {}", name, *index);
    }
    std::string text = name;
    for (const std::int64_t index : m_question.target.index) {
        text += fmt::format(" {}", index);
    }
    return text;
}

void Subject::findRunnerUp(const ExplainResult& result)
{
    const std::optional<std::int64_t> chosen = classIndex();
    const Tensor& output = result.outputs.front();
    for (std::int64_t i = 0; chosen && i < output.size(); ++i) {
        if (i != *chosen && (!m_runnerUp || output.at(i) > output.at(*m_runnerUp))) {
            m_runnerUp = i;
        }
    }
}

std::vector<Tensor> Subject::inputsWith(const Tensor& input) const
{
    std::vector<Tensor> inputs = m_question.inputs;
    inputs[m_at] = input;
    return inputs;
}

Result<double> Subject::score(const Tensor& input) const
{
    RETRO_TRY(const execute::ForwardResult result,
              execute::forward(m_model, inPrecision(inputsWith(input), m_question.precision),
                               execute::SavePolicy::Nothing, m_stop, {}, std::span(&m_value, 1)));
    const auto outputs = m_model->graph().outputs();
    const auto at = std::ranges::find(outputs, m_value);
    const Tensor known = at != outputs.end() ? result.outputs[static_cast<std::size_t>(at - outputs.begin())]
                                             : result.saved.anyValue(m_value);
    RETRO_TRY(const ResolvedTarget target, resolveTarget(m_question.target, {StartKind::Logit, {}}, m_value, known));
    return target.logit.front();
}

Result<Tensor> Subject::relevance(const Tensor& input, const std::string& composite, StartKind start) const
{
    ExplainRequest request = m_question;
    request.inputs = inputsWith(input);
    request.composite = composite;
    if (start != StartKind::Given) {
        request.start = {start, {}};
    }
    RETRO_TRY(const ExplainResult result, m_explainer->explain(request, m_stop));
    const Tensor& relevance = result.relevance[result.model->graph().inputs()[m_at].index()];
    if (!relevance.isValid()) {
        return base::inputError(fmt::format("no relevance reaches it from {}", targetText()),
                                fmt::format("input \"{}\"", m_inputName));
    }
    return relevance.contiguous();
}

Subject Subject::withClass(std::int64_t index) const
{
    Subject other = *this;
    other.m_question.target.kind = TargetRequest::Kind::Class;
    other.m_question.target.classIndex = index;
    other.m_runnerUp = std::nullopt;
    return other;
}

Result<Subject> Subject::withModel(const LoadedModelPointer& model) const
{
    Subject other = *this;
    other.m_explainer = std::make_shared<Explainer>(model);
    RETRO_TRY(other.m_model, bindModel(*model, m_question.inputs, m_question.precision, nullptr, m_stop));
    RETRO_TRY(other.m_value, targetValue(other.m_question.target, other.m_model->graph()));
    return other;
}

} // namespace retro::engine
