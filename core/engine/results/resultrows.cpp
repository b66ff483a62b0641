// SPDX-License-Identifier: Apache-2.0
#include "core/engine/results/resultrows.h"

#include "core/engine/results/results.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// Sample `i` of a tensor whose first axis is samples, without that axis.
tensor::Tensor sampleOf(const tensor::Tensor& tensor, std::int64_t i)
{
    tensor::Shape shape(tensor.shape().begin() + 1, tensor.shape().end());
    const std::int64_t count = tensor::elementCount(shape);
    const tensor::Tensor plain = tensor.to(tensor::DType::Float32).contiguous();
    const auto values =
        plain.span<float>().subspan(static_cast<std::size_t>(i * count), static_cast<std::size_t>(count));
    return tensor::Tensor::of<float>(shape, values);
}

bool hasSamples(const tensor::Tensor& tensor, std::int64_t samples)
{
    return !tensor.shape().empty() && tensor.shape().front() == samples;
}

double sumOfSample(const tensor::Tensor& tensor, std::int64_t i, std::int64_t samples)
{
    if (!tensor.isValid()) {
        return 0;
    }
    double sum = 0;
    const std::int64_t count = tensor.size() / samples;
    for (std::int64_t k = i * count; k < (i + 1) * count; ++k) {
        sum += tensor.at(k);
    }
    return sum;
}

/// All scores of a sample, where it has one list of them.
std::vector<float> scoresOf(const ExplainResult& result, std::int64_t i, std::int64_t samples)
{
    const auto& outputs = result.model->graph().outputs();
    const auto at = std::ranges::find(outputs, result.target.value);
    if (at == outputs.end()) {
        return {};
    }
    const tensor::Tensor& scores = result.outputs[static_cast<std::size_t>(at - outputs.begin())];
    if (!scores.isValid() || scores.shape().size() != 2 || scores.shape().front() != samples) {
        return {};
    }
    const tensor::Tensor own = sampleOf(scores, i);
    return {own.span<float>().begin(), own.span<float>().end()};
}

/// What one sample of each input has. Errors (Input): an input without an axis of the samples.
Result<void> addInputParts(const ExplainResult& result, std::int64_t sample, std::int64_t samples, rows::Row& row)
{
    const graph::Graph& graph = result.model->graph();
    for (const graph::ValueId input : graph.inputs()) {
        const tensor::Tensor& relevance = result.relevance[input.index()];
        if (!relevance.isValid()) {
            continue;
        }
        const bool isShared = !hasSamples(relevance, samples);
        if (isShared && samples != 1) {
            return base::inputError(fmt::format("it has no axis of the {} samples, so its relevance belongs to no "
                                                "row; give one sample per file",
                                                samples),
                                    fmt::format("input \"{}\"", graph.value(input).name));
        }
        row.reached += sumOfSample(relevance, sample, samples);
        row.parts.push_back(
            {graph.value(input).name, isShared ? relevance.to(tensor::DType::Float32) : sampleOf(relevance, sample)});
    }
    return {};
}

} // namespace

rows::RowHead rowHeadOf(const LoadedModel& model, const Question& question, const std::string& hash,
                        const std::string& version)
{
    return {hash,
            {{"retrograde.composite", question.composite.empty() ? "auto" : question.composite},
             {"retrograde.model", model.name},
             {"retrograde.version", version}}};
}

rows::RowKey rowKeyOf(const std::string& id, const std::vector<SourceStamp>& sources)
{
    rows::RowKey key{id, {}, -1, -1, 0};
    for (const SourceStamp& one : sources) { // several inputs of the model: the newest state of all
        key.source += (key.source.empty() ? "" : " ") + one.source;
        key.bytes = std::max(key.bytes, one.bytes);
        key.modified = std::max(key.modified, one.modified);
    }
    return key;
}

Result<std::vector<rows::Row>> rowsOf(const LoadedModel& model, const ExplainResult& result, const rows::RowKey& first)
{
    if (!result.alsoTargets.empty()) {
        return base::usageError("several targets start as one sum, and a row has one target; call it for each",
                                "--out");
    }
    const graph::Graph& graph = result.model->graph();
    const nlohmann::ordered_json targets = targetJson(model, graph, result.target);
    const auto samples = static_cast<std::int64_t>(std::max<std::size_t>(result.target.index.size(), 1));
    std::vector<rows::Row> rows;
    for (std::int64_t i = 0; i < samples; ++i) {
        const auto at = static_cast<std::size_t>(i);
        rows::Row row;
        row.key = first;
        row.key.sample = i;
        row.target = at < result.target.index.size() ? result.target.index[at] : -1;
        row.score = at < result.target.logit.size() ? result.target.logit[at] : 0;
        row.label = at < targets.size() ? targets[at].value("label", std::string()) : std::string();
        row.started = sumOfSample(result.target.start, i, samples);
        row.scores = scoresOf(result, i, samples);
        RETRO_CHECK(addInputParts(result, i, samples, row));
        rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace retro::engine
