// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/subject.h"

#include "core/engine/evaluate/channelaxis.h"
#include "core/engine/evaluate/scorebatch.h"
#include "core/engine/explain/automaticrules.h"
#include "core/engine/explain/numericalstop.h"
#include "core/engine/explain/segment.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/execute/forward.h"
#include "core/graph/attributes.h"
#include "core/graph/walkback.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace retro::engine
{

using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

/// Where tokens become their embeddings.
struct Lookup
{
    ValueId table;
    ValueId rows;
};

/// A node that looks rows up in a table of numbers, by what it reads in slot 1.
std::optional<Lookup> lookupBy(const graph::Graph& graph, const graph::Use& use)
{
    const graph::Node& node = graph.node(use.node);
    if (node.op != "Gather" || use.slot != 1 || graph::isSet(node, "axis")) {
        return std::nullopt;
    }
    const Tensor& table = graph.value(node.inputs.front()).constant;
    const bool isTable = table.isValid() && table.rank() == 2 && tensor::isFloating(table.dtype());
    return isTable ? std::optional(Lookup{node.inputs.front(), node.outputs.front()}) : std::nullopt;
}

/// The one table that an input is looked up in; nothing when there is none, or relevance also reaches another reader
/// (it does not reach one that looks at the input's shape).
std::optional<Lookup> lookupOf(const ExplainResult& result, ValueId input)
{
    const graph::Graph& graph = result.model->graph();
    std::optional<Lookup> found;
    for (const graph::Use& use : graph.uses(input)) {
        const auto& outputs = graph.node(use.node).outputs;
        const bool isReached = std::ranges::any_of(
            outputs, [&](ValueId output) { return output.isValid() && result.relevance[output.index()].isValid(); });
        if (!isReached) {
            continue;
        }
        const std::optional<Lookup> one = lookupBy(graph, use);
        if (!one || found) {
            return std::nullopt;
        }
        found = one;
    }
    return found;
}

/// The graph inputs that a target depends on.
Result<std::vector<ValueId>> inputsBehind(const execute::BoundModel& model, const TargetRequest& target)
{
    RETRO_TRY(const ValueId value, targetValue(target, model));
    std::vector<ValueId> found;
    graph::walkBack(model.graph(), value, [&](ValueId behind) {
        if (model.graph().value(behind).kind == graph::ValueKind::Input) {
            found.push_back(behind);
        }
        return graph::Walk::GoOn;
    });
    return found;
}

bool hasSeveralTargets(const ResolvedTarget& target)
{
    return std::ranges::count_if(target.index, [](std::int64_t index) { return index != -2; }) > 1;
}

} // namespace

/// What the question comes to at the input as it is.
struct Subject::Answer
{
    ResolvedTarget target;
    std::vector<Tensor> outputs;
    std::vector<std::string> warnings;
};

/// By a relevance pass.
Result<Subject::Answer> Subject::explained()
{
    RETRO_TRY(ExplainResult result, m_explainer->explain(m_question, m_stop));
    if (addsRules(m_question, result)) { // changed inputs and weights are explained by the rules of this one
        m_question.composite = result.composite.name;
    }
    return Answer{std::move(result.target), std::move(result.outputs), std::move(result.warnings)};
}

/// By a forward pass.
Result<Subject::Answer> Subject::run()
{
    Answer answer;
    std::string note;
    RETRO_TRY(const ValueId value, targetValue(m_question.target, *m_model, &note));
    const std::vector<Tensor> inputs = inPrecision(m_model->graph(), m_question.inputs, m_question.precision);
    RETRO_TRY(execute::ForwardResult result,
              execute::forward(m_model, inputs, execute::SavePolicy::Nothing, m_stop, {}, std::span(&value, 1)));
    RETRO_TRY(answer.target, resolveTargetOf({m_model, inputs, {}, m_stop}, m_question.target,
                                             StartRequest{StartKind::Logit, {}, {}, {}, m_question.start.against},
                                             value, result.value(value)));
    answer.warnings = targetHints(*m_model, answer.target);
    for (std::string& warning : std::vector{note, overflowWarning(m_model->graph(), result.overflow)}) {
        if (!warning.empty()) {
            answer.warnings.push_back(std::move(warning));
        }
    }
    answer.outputs = std::move(result.outputs);
    return answer;
}

Result<Subject> Subject::make(const LoadedModelPointer& model, const ExplainRequest& question, std::stop_token stop,
                              const std::string& input, Passes passes)
{
    Subject subject;
    subject.m_stop = std::move(stop);
    subject.m_loaded = model;
    subject.m_explainer = std::make_shared<Explainer>(model);
    subject.m_question = question;
    subject.m_question.record = false;
    subject.m_question.inputsOnly = true;
    subject.m_question.checkpoints.clear();
    if (!question.alsoTargets.empty()) {
        return base::usageError("evaluate takes one --target; the curves are of one score", "--target");
    }
    RETRO_TRY(subject.m_model, bindModel(*model, question.inputs, question.precision, nullptr, subject.m_stop,
                                         bindOptionsFor(question.target)));
    RETRO_CHECK(subject.chooseInput(*model, input, passes));
    RETRO_TRY(Answer answer, passes == Passes::Relevance ? subject.explained() : subject.run());
    subject.m_value = answer.target.value;
    subject.m_score = std::accumulate(answer.target.logit.begin(), answer.target.logit.end(), 0.0);
    subject.m_warnings = std::move(answer.warnings);
    if (const auto segment = segmentIn(question.target)) {
        return base::usageError("evaluate follows the score of one element; choose one of the segment with --target "
                                "row=I,column=J,class=K, or a value of the graph",
                                fmt::format("--target segment={}", *segment));
    }
    if (question.target.kind != TargetRequest::Kind::Value && hasSeveralTargets(answer.target)) {
        return base::inputError(
            fmt::format(
                "the target has {} rows, and each has a class of its own; choose one element with --target {}:i,j,…",
                answer.target.index.size(), subject.m_model->graph().value(subject.m_value).name),
            "--target");
    }
    subject.holdTarget(answer.target);
    subject.findRunnerUp(answer.outputs);
    subject.startBatch();
    return subject;
}

/// What was chosen by a score stays the target while the input changes.
void Subject::holdTarget(const ResolvedTarget& target)
{
    TargetRequest& held = m_question.target;
    const bool isChosen = held.kind != TargetRequest::Kind::Value && held.kind != TargetRequest::Kind::Element;
    if (!isChosen) {
        return;
    }
    m_place = target.place.empty() ? std::string() : target.place.front();
    if (held.namesValue()) { // of one sample
        const tensor::Shape& shape = m_model->typeOf(target.value).shape;
        const auto chosen = std::ranges::find_if(target.index, [](std::int64_t index) { return index >= 0; });
        held.kind = TargetRequest::Kind::Value;
        held.index = trace::indicesInSample(shape, chosen == target.index.end() ? 0 : *chosen);
        if (shape.size() > 1) {
            held.index.insert(held.index.begin(), chosen - target.index.begin());
        }
    } else {
        held.kind = TargetRequest::Kind::Element;
        held.classIndex = target.index.front();
    }
    held.place.clear();
}

Result<std::size_t> Subject::positionOf(const std::string& wanted, Passes passes) const
{
    const auto inputs = m_model->graph().inputs();
    const auto first = [&](const auto& fits) {
        return std::ranges::find_if(inputs, [&](ValueId input) { return m_model->isTracked(input) && fits(input); });
    };
    const auto isWanted = [&](ValueId input) { return wanted.empty() || m_model->graph().value(input).name == wanted; };
    auto found =
        first([&](ValueId input) { return isWanted(input) && tensor::isFloating(m_model->typeOf(input).dtype); });
    found = found == inputs.end() ? first(isWanted) : found;
    if (found == inputs.end() && passes == Passes::Forward) {
        RETRO_TRY(const std::vector<ValueId> read, inputsBehind(*m_model, m_question.target));
        const auto isRead = [&](ValueId input) { return isWanted(input) && std::ranges::count(read, input) > 0; };
        found = std::ranges::find_if(
            inputs, [&](ValueId input) { return isRead(input) && tensor::isFloating(m_model->typeOf(input).dtype); });
        found = found == inputs.end() ? std::ranges::find_if(inputs, isRead) : found;
    }
    if (found != inputs.end()) {
        return static_cast<std::size_t>(found - inputs.begin());
    }
    const bool isForward = passes == Passes::Forward;
    if (wanted.empty()) {
        return base::inputError(isForward ? "the target depends on no input" : "no input carries relevance",
                                m_model->graph().name());
    }
    return base::usageError(isForward ? "the target depends on no input of that name"
                                      : "no input of that name carries relevance",
                            "--flip " + wanted);
}

Result<void> Subject::checkSamples(const LoadedModel& model) const
{
    const graph::Graph& before = *model.rewritten.before;
    const auto value = before.findValue(m_inputName);
    const std::size_t axis = value ? inputAxesOf(before, *value, m_input.rank()).samples : 0;
    if (m_input.rank() < 2 || m_input.shape()[axis] == 1) {
        return {};
    }
    return base::inputError(
        fmt::format("it has {} samples (axis {}); evaluate takes one at a time: save each in a file of its own and "
                    "give the folder",
                    m_input.shape()[axis], axis),
        fmt::format("input \"{}\"", m_inputName));
}

Result<void> Subject::chooseInput(const LoadedModel& model, const std::string& wanted, Passes passes)
{
    const graph::Graph& graph = m_model->graph();
    RETRO_TRY(m_at, positionOf(wanted, passes));
    const ValueId chosen = graph.inputs()[m_at];
    m_inputName = graph.value(chosen).name;
    m_isOfTokens = m_model->isTracked(chosen) && !tensor::isFloating(m_model->typeOf(chosen).dtype);
    m_input = inPrecision(m_model->graph(), m_question.inputs, m_question.precision)[m_at].contiguous();
    RETRO_CHECK(checkSamples(model));
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        if (i != m_at && m_model->isTracked(graph.inputs()[i])) {
            m_held.push_back(graph.value(graph.inputs()[i]).name);
        }
    }
    return {};
}

std::optional<std::int64_t> Subject::classIndex() const
{
    return m_question.target.kind == TargetRequest::Kind::Element ? std::optional(m_question.target.classIndex)
                                                                  : std::nullopt;
}

std::string Subject::targetText() const
{
    const std::string& name = m_model->graph().value(m_value).name;
    if (const std::optional<std::int64_t> index = classIndex()) {
        const std::string place = m_place.empty() ? std::to_string(*index) : m_place;
        const std::vector<std::int64_t>& against = m_question.start.against;
        return against.empty() ? fmt::format("{} {}", name, place)
                               : fmt::format("{} {} less the mean of {}", name, place, fmt::join(against, ", "));
    }
    std::string text = name;
    for (const std::int64_t index : m_question.target.index) {
        text += fmt::format(" {}", index);
    }
    return text;
}

std::optional<std::int64_t> Subject::element() const
{
    const TargetRequest& target = m_question.target;
    if (target.kind == TargetRequest::Kind::Element) {
        return target.classIndex;
    }
    if (target.kind != TargetRequest::Kind::Value || target.index.empty()) {
        return std::nullopt;
    }
    const tensor::Shape& shape = m_model->typeOf(m_value).shape; // of one sample, which the index may leave out
    std::int64_t flat = 0;
    for (std::size_t i = 0; i < target.index.size(); ++i) {
        const std::int64_t extent = shape[shape.size() - target.index.size() + i];
        flat = flat * extent + (target.index[i] < 0 ? target.index[i] + extent : target.index[i]);
    }
    return flat;
}

void Subject::findRunnerUp(const std::vector<Tensor>& all)
{
    const std::optional<std::int64_t> chosen = classIndex();
    const auto outputs = m_model->graph().outputs();
    const auto at = std::ranges::find(outputs, m_value);
    const Tensor output = at == outputs.end() ? Tensor() : all[static_cast<std::size_t>(at - outputs.begin())];
    m_classCount = output.isValid() ? output.size() : 0;
    const bool isOfWords = chosen && isOfTokens() && output.isValid() && output.rank() == 3 && output.shape()[0] == 1;
    if (isOfWords) { // another word at the same position, and none at another one
        m_classCount = output.shape()[2];
        m_firstClass = *chosen / m_classCount * m_classCount;
    }
    for (std::int64_t i = m_firstClass; chosen && i < m_firstClass + m_classCount; ++i) {
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

Result<double> Subject::scoreOf(const Tensor& value, std::span<const Tensor> inputs) const
{
    StartRequest start{StartKind::Logit, {}};
    start.against = m_question.start.against;
    RETRO_TRY(const ResolvedTarget target,
              resolveTargetOf({m_model, inputs, {}, m_stop}, m_question.target, start, m_value, value));
    return std::accumulate(target.logit.begin(), target.logit.end(), 0.0); // an element lies in one row, a value in all
}

Result<double> Subject::score(const Tensor& input) const
{
    const std::vector<Tensor> inputs = inPrecision(m_model->graph(), inputsWith(input), m_question.precision);
    RETRO_TRY(const execute::ForwardResult result,
              execute::forward(m_model, inputs, execute::SavePolicy::Nothing, m_stop, {}, std::span(&m_value, 1)));
    return scoreOf(result.value(m_value), inputs);
}

void Subject::startBatch()
{
    m_batch = std::make_shared<ScoreBatch>(
        BatchedModel{m_loaded, m_model, m_question.inputs, m_at, m_value, bindOptionsFor(m_question.target), m_stop});
}

Result<std::vector<double>> Subject::scores(std::size_t count, const std::function<Tensor(std::size_t)>& input,
                                            const EvaluationProgress& progress) const
{
    const auto one = [this](const Tensor& changed) { return score(changed); };
    const auto ofRow = [this](const Tensor& row) { return scoreOf(row, m_question.inputs); };
    return m_batch->scores(count, input, one, ofRow, progress);
}

Result<std::vector<Tensor>> Subject::values(const std::vector<std::string>& names, const Tensor& input) const
{
    std::vector<ValueId> ids;
    for (const std::string& name : names) {
        const auto id = m_model->graph().findValue(name);
        if (!id) {
            return base::usageError("the graph has no value of this name (retrograde-cli ops lists none that a rewrite "
                                    "merged; --no-rewrite keeps it)",
                                    name);
        }
        ids.push_back(*id);
    }
    const std::vector<Tensor> inputs = inPrecision(m_model->graph(), inputsWith(input), m_question.precision);
    RETRO_TRY(const execute::ForwardResult result,
              execute::forward(m_model, inputs, execute::SavePolicy::Nothing, m_stop, {}, ids));
    std::vector<Tensor> values;
    for (const ValueId id : ids) {
        const auto at = std::ranges::find(m_model->graph().inputs(), id);
        values.push_back(at == m_model->graph().inputs().end()
                             ? result.value(id)
                             : inputs[static_cast<std::size_t>(at - m_model->graph().inputs().begin())]);
    }
    return values;
}

ExplainRequest Subject::requestFor(const Tensor& input, const std::string& composite, StartKind start) const
{
    ExplainRequest request = m_question;
    request.inputs = inputsWith(input);
    request.composite = composite;
    if (start != StartKind::Given) {
        request.start = {start, {}};
        request.start.against = m_question.start.against;
    }
    return request;
}

Result<Tensor> Subject::relevance(const Tensor& input, const std::string& composite, StartKind start) const
{
    RETRO_TRY(const ExplainResult result, m_explainer->explain(requestFor(input, composite, start), m_stop));
    const Tensor& relevance = result.relevance[result.model->graph().inputs()[m_at].index()];
    if (!relevance.isValid()) {
        return base::inputError(fmt::format("no relevance reaches it from {}", targetText()),
                                fmt::format("input \"{}\"", m_inputName));
    }
    return relevance.contiguous();
}

Result<Tensor> Subject::gradientAt(const std::string& value) const
{
    ExplainRequest request = requestFor(m_input, "gradient", StartKind::One);
    request.inputsOnly = false;
    request.checkpoints = {value};
    request.stopAtCheckpoints = true; // nothing before the value is needed
    RETRO_TRY(const ExplainResult result, m_explainer->explain(request, m_stop));
    const auto id = result.model->graph().findValue(value);
    if (!id || !result.relevance[id->index()].isValid()) {
        return base::usageError(fmt::format("no gradient of {} reaches this value", targetText()),
                                fmt::format("value \"{}\"", value));
    }
    return result.relevance[id->index()].contiguous();
}

Result<Tensor> Subject::embeddingTimesGradient() const
{
    ExplainRequest request = requestFor(m_input, "gradient", StartKind::One);
    request.inputsOnly = false;
    RETRO_TRY(const ExplainResult result, m_explainer->explain(request, m_stop));
    const std::optional<Lookup> lookup = lookupOf(result, result.model->graph().inputs()[m_at]);
    const Tensor found = lookup ? result.relevance[lookup->rows.index()] : Tensor();
    if (!found.isValid()) {
        return base::usageError("input_x_gradient of tokens needs one table of embeddings that they are looked up in; "
                                "leave the method out, or use lrp or occlusion",
                                fmt::format("input \"{}\"", m_inputName));
    }
    const Tensor gradient = found.contiguous();
    const Tensor& table = result.model->graph().value(lookup->table).constant;
    const std::int64_t width = table.shape()[1];
    std::vector<double> sums(static_cast<std::size_t>(m_input.size()), 0);
    for (std::int64_t i = 0; i < m_input.size(); ++i) {
        const auto token = static_cast<std::int64_t>(m_input.at(i));
        const std::int64_t row = token < 0 ? token + table.shape()[0] : token;
        for (std::int64_t k = 0; k < width; ++k) {
            sums[static_cast<std::size_t>(i)] += table.at(row * width + k) * gradient.at(i * width + k);
        }
    }
    return Tensor::of<double>(m_input.shape(), sums);
}

Subject Subject::withClass(std::int64_t index) const
{
    Subject other = *this;
    other.m_question.target.kind = TargetRequest::Kind::Element;
    other.m_question.target.classIndex = index;
    const tensor::Shape& shape = m_model->typeOf(m_value).shape;
    other.m_place = trace::placeText(trace::axisNames(m_model->graph(), m_value, shape.size()), shape, index);
    other.m_runnerUp = std::nullopt;
    return other;
}

Result<Subject> Subject::inDouble() const
{
    if (m_question.precision == execute::Precision::Double) {
        return *this;
    }
    Subject exact = *this;
    exact.m_question.precision = execute::Precision::Double;
    exact.m_input = inPrecision(m_model->graph(), m_question.inputs, exact.m_question.precision)[m_at].contiguous();
    return exact.withModel(m_loaded);
}

Result<Subject> Subject::withModel(const LoadedModelPointer& model) const
{
    Subject other = *this;
    other.m_loaded = model;
    other.m_explainer = std::make_shared<Explainer>(model);
    RETRO_TRY(other.m_model, bindModel(*model, m_question.inputs, m_question.precision, nullptr, m_stop,
                                       bindOptionsFor(other.m_question.target)));
    RETRO_TRY(other.m_value, targetValue(other.m_question.target, *other.m_model));
    other.startBatch();
    return other;
}

} // namespace retro::engine
