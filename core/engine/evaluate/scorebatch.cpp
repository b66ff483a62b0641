// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/scorebatch.h"

#include "core/base/cancel.h"
#include "core/execute/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace retro::engine
{

using base::Result;
using tensor::Tensor;

namespace
{

constexpr std::int64_t kMostElements = 1 << 22; ///< of the largest value of several samples
constexpr std::int64_t kMostRows = 128;

/// Samples of one shape along the first axis, of extent 1 each.
Tensor stacked(const std::vector<Tensor>& samples)
{
    tensor::Shape shape = samples.front().shape();
    shape[0] = static_cast<std::int64_t>(samples.size());
    tensor::TensorBuffer buffer(samples.front().dtype(), shape);
    std::byte* out = buffer.rawData();
    for (const Tensor& sample : samples) {
        const Tensor plain = sample.contiguous();
        std::memcpy(out, plain.rawData(), static_cast<std::size_t>(plain.bytes()));
        out += plain.bytes();
    }
    return std::move(buffer).freeze();
}

/// Entry `row` of the first axis, which stays with extent 1.
Tensor sampleAt(const Tensor& plain, std::size_t row)
{
    tensor::Shape shape = plain.shape();
    const std::int64_t bytes = plain.bytes() / shape[0];
    shape[0] = 1;
    tensor::TensorBuffer buffer(plain.dtype(), shape);
    std::memcpy(buffer.rawData(), plain.rawData() + static_cast<std::int64_t>(row) * bytes,
                static_cast<std::size_t>(bytes));
    return std::move(buffer).freeze();
}

/// Elements of the largest value that a run computes.
std::int64_t largestValueOf(const execute::BoundModel& model)
{
    std::int64_t most = 1;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        const base::ValueId value(i);
        most = model.isConstant(value) ? most : std::max(most, tensor::elementCount(model.typeOf(value).shape));
    }
    return most;
}

bool isClose(double a, double b) { return std::abs(a - b) <= 1e-4 * std::max(std::abs(a), std::abs(b)) + 1e-6; }

} // namespace

/// True for an input whose first axis is free and has one sample.
bool ScoreBatch::isBatched(std::size_t input) const
{
    const graph::Graph& graph = *m_of.model->graph();
    const auto& declared = graph.value(graph.inputs()[input]).shape;
    const tensor::Shape& shape = m_of.inputs[input].shape();
    return declared && !declared->empty() && !declared->front().extent && !shape.empty() && shape[0] == 1;
}

/// Binds the model for several samples, where it takes them.
Result<void> ScoreBatch::bind()
{
    m_isTried = true;
    const std::int64_t rows = std::clamp<std::int64_t>(kMostElements / largestValueOf(*m_of.single), 1, kMostRows);
    const bool readsData = std::ranges::any_of(m_of.single->boundInputs(), &Tensor::isValid);
    if (rows < 2 || readsData || !isBatched(m_of.at)) {
        return {};
    }
    std::vector<Tensor> inputs = m_of.inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i] = isBatched(i) ? stacked(std::vector<Tensor>(static_cast<std::size_t>(rows), inputs[i])) : inputs[i];
    }
    std::vector<std::string> written; // a model with loops runs by the data of its inputs
    const auto bound = bindModel(*m_of.model, inputs, m_of.single->precision(), &written, m_of.stop, m_of.wish);
    RETRO_CHECK(base::checkStop(m_of.stop));
    if (!bound || !written.empty()) {
        return {};
    }
    const auto value = (*bound)->graph().findValue(m_of.single->graph().value(m_of.value).name);
    tensor::Shape expected = m_of.single->typeOf(m_of.value).shape;
    if (!value || expected.empty() || expected[0] != 1) {
        return {};
    }
    expected[0] = rows;
    if ((*bound)->typeOf(*value).shape == expected) {
        m_model = *bound;
        m_value = *value;
        m_rows = static_cast<std::size_t>(rows);
    }
    return {};
}

Result<std::vector<double>> ScoreBatch::together(const std::vector<Tensor>& inputs, const Score& ofRow) const
{
    std::vector<Tensor> all = m_of.inputs;
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = isBatched(i) && i != m_of.at ? stacked(std::vector<Tensor>(m_rows, all[i])) : all[i];
    }
    std::vector<Tensor> samples = inputs;
    samples.resize(m_rows, inputs.back());
    all[m_of.at] = stacked(samples);
    RETRO_TRY(const execute::ForwardResult result,
              execute::forward(m_model, inPrecision(m_model->graph(), all, m_model->precision()),
                               execute::SavePolicy::Nothing, m_of.stop, {}, std::span(&m_value, 1)));
    const Tensor value = result.value(m_value).contiguous();
    std::vector<double> scores;
    for (std::size_t row = 0; row < inputs.size(); ++row) {
        RETRO_TRY(const double score, ofRow(sampleAt(value, row)));
        scores.push_back(score);
    }
    return scores;
}

/// Scores of the inputs; of the first one alone where they do not go together.
Result<std::vector<double>> ScoreBatch::next(const std::vector<Tensor>& inputs, const Score& one, const Score& ofRow)
{
    if (!m_model || inputs.size() < 2) {
        RETRO_TRY(const double score, one(inputs.front()));
        return std::vector{score};
    }
    RETRO_TRY(std::vector<double> scores, together(inputs, ofRow));
    if (m_isChecked) {
        return scores;
    }
    RETRO_TRY(const double first, one(inputs.front()));
    RETRO_TRY(const double last, one(inputs.back()));
    m_isChecked = true;
    if (isClose(scores.front(), first) && isClose(scores.back(), last)) {
        return scores;
    }
    m_model = nullptr; // samples change each other
    return std::vector{first};
}

Result<std::vector<double>> ScoreBatch::scores(std::size_t count, const Input& input, const Score& one,
                                               const Score& ofRow, const EvaluationProgress& progress)
{
    if (!m_isTried && count > 2) {
        RETRO_CHECK(bind());
    }
    std::vector<double> all;
    while (all.size() < count) {
        RETRO_CHECK(base::checkStop(m_of.stop));
        std::vector<Tensor> inputs;
        for (std::size_t i = all.size(); i < std::min(count, all.size() + (m_model ? m_rows : 1)); ++i) {
            inputs.push_back(input(i));
        }
        RETRO_TRY(const std::vector<double> scores, next(inputs, one, ofRow));
        all.insert(all.end(), scores.begin(), scores.end());
        report(progress, all.size(), count);
    }
    return all;
}

} // namespace retro::engine
