// SPDX-License-Identifier: Apache-2.0
#include "core/engine/luttrain/lutnetwork.h"

#include "core/base/failure.h"
#include "core/engine/luttrain/lutlayerdraw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::engine
{

using base::Result;

namespace
{

/// Adds the cross-entropy of one sample's scores to a result, and whether they are right; writes the gradient of the
/// mean over `batch` samples.
void addSample(std::span<const float> scores, std::int64_t label, std::size_t batch, LutBatchResult& result,
               std::span<float> gradient)
{
    const auto best = std::max_element(scores.begin(), scores.end());
    result.right += best - scores.begin() == label ? 1 : 0;
    double total = 0;
    for (const float score : scores) {
        total += std::exp(static_cast<double>(score - *best));
    }
    const auto right = static_cast<std::size_t>(label);
    result.loss += std::log(total) - static_cast<double>(scores[right] - *best);
    for (std::size_t k = 0; k < scores.size(); ++k) {
        const double p = std::exp(static_cast<double>(scores[k] - *best)) / total;
        gradient[k] = static_cast<float>((p - (k == right ? 1 : 0)) / static_cast<double>(batch));
    }
}

/// Nothing was computed where a kernel refuses what it was given.
void expectDone(const lut::Status& status)
{
    if (!status.ok()) {
        throw base::Failure(base::engineError(status.message));
    }
}

} // namespace

/// Whose weights a backward pass changes, and how far.
struct LutNetwork::Descent
{
    std::vector<LutTrainLayer>& layers;
    float rate = 0;
};

/// What a forward pass leaves for the backward pass.
struct LutNetwork::Pass
{
    std::vector<std::vector<float>> values; ///< input of each layer, and the result of the last
    std::vector<lut::Tape<float>> tapes;
    std::size_t batch = 0;

    Pass(const LutNetwork& network, std::span<const float> input, int threads) : m_network(network), m_threads(threads)
    {
        values.emplace_back(input.begin(), input.end());
        batch = input.size() / (std::size_t{network.m_plan.inputs} * network.m_plan.length);
        for (const LutTrainLayer& layer : network.m_layers) {
            forward(layer);
        }
    }

    /// Samples as a layer sees them: one without positions takes every position for a sample.
    [[nodiscard]] std::uint64_t samplesOf(const LutTrainLayer& layer) const
    {
        return layer.shape.isSequence ? batch : batch * m_network.m_plan.length;
    }

    /// Carries gradients of the last layer's result back; fills those of each layer, or changes its weights.
    void backward(std::vector<float> gradient, LutGradients wanted, const Descent* descent,
                  LutBatchResult& result) const
    {
        std::vector<LutLayerGradients>& all = result.gradients;
        all.resize(m_network.m_layers.size());
        for (std::size_t i = all.size(); i-- > 0;) {
            std::vector<float> before(i == 0 ? 0 : values[i].size()); // nobody asks for the first one's
            backward(i, gradient, before, wanted, descent, result);
            for (std::size_t k = 0; m_network.m_layers[i].isResidual && k < before.size(); ++k) {
                before[k] += gradient[k];
            }
            gradient = std::move(before);
        }
    }

private:
    /// One layer: from the gradient of its result to those of its numbers and, where wanted, of its input.
    void backward(std::size_t i, const std::vector<float>& gradient, std::span<float> before, LutGradients wanted,
                  const Descent* descent, LutBatchResult& result) const
    {
        const LutTrainLayer& layer = m_network.m_layers[i];
        LutLayerGradients& gradients = result.gradients[i];
        gradients.codes.resize(layer.codes.size());
        const std::vector<float> own = scaled(gradient, layer.rateFactor);
        const std::vector<float> scored = rated(layer); // rows are scored with their synapses' rates
        lut::BackwardCall<float> call;
        call.batch = samplesOf(layer);
        call.tape = &tapes[i];
        call.outputGradients = own;
        call.inputGradients = before;
        call.codeGradients = gradients.codes;
        if (descent != nullptr) {
            call.step = {descent->layers[i].weights, descent->rate, layer.rates};
        } else {
            call.weightGradients = denseOf(layer, wanted, result, gradients);
        }
        lut::RunOptions<float> options;
        options.threads = m_threads;
        const lut::Status status =
            lut::backward(layerOf(layer, scored.empty() ? layer.weights : scored), call, options);
        expectDone(status);
        if (descent != nullptr) {
            return;
        }
        multiply(call.weightGradients, layer.rates);
        if (wanted == LutGradients::Sparse) {
            lut::compact(call.weightGradients, m_threads, gradients.sparseWeights);
        }
    }

    /// Where the gradients of a layer's weights are worked out. What another batch left there is overwritten.
    static std::span<float> denseOf(const LutTrainLayer& layer, LutGradients wanted, LutBatchResult& result,
                                    LutLayerGradients& own)
    {
        const std::size_t count = layer.weights.size();
        if (wanted == LutGradients::Sparse) {
            own.weights.clear();
            result.scratch.resize(std::max(result.scratch.size(), count));
            return std::span(result.scratch).first(count);
        }
        own.sparseWeights = {};
        own.weights.resize(count);
        return own.weights;
    }

    static void multiply(std::span<float> values, std::span<const float> rates)
    {
        for (std::size_t k = 0; k < rates.size(); ++k) {
            values[k] *= rates[k];
        }
    }

    /// Weights times rates; empty where all rates are 1.
    static std::vector<float> rated(const LutTrainLayer& layer)
    {
        std::vector<float> weights = layer.rates.empty() ? std::vector<float>() : layer.weights;
        multiply(weights, layer.rates);
        return weights;
    }

    /// All that a layer's gradients are made of is linear in that of its result: the factor scales them once, here.
    static std::vector<float> scaled(std::vector<float> gradient, float factor)
    {
        for (float& g : gradient) {
            g *= factor;
        }
        return gradient;
    }

    static lut::Layer<float> layerOf(const LutTrainLayer& layer, std::span<const float> weights)
    {
        std::optional<lut::Layer<float>> made;
        const lut::Status status = lut::Layer<float>::create(descriptionOf(layer, weights), made);
        expectDone(status); // checked when the network was made
        return *made;
    }

    void forward(const LutTrainLayer& layer)
    {
        const std::vector<float>& x = values.back();
        std::vector<float> y(samplesOf(layer) * layer.shape.length * layer.shape.outputs);
        lut::Tape<float> tape;
        lut::ForwardCall<float> call;
        call.batch = samplesOf(layer);
        call.input = x;
        call.output = y;
        call.tape = &tape;
        lut::RunOptions<float> options;
        options.threads = m_threads;
        const lut::Status status = lut::forward(layerOf(layer, layer.weights), call, options);
        expectDone(status);
        for (std::size_t k = 0; layer.isResidual && k < y.size(); ++k) {
            y[k] += x[k];
        }
        tapes.push_back(std::move(tape));
        values.push_back(std::move(y));
    }

    const LutNetwork& m_network;
    int m_threads;
};

Result<LutNetwork> LutNetwork::create(const LutNetworkPlan& plan)
{
    if (plan.layers.empty() || plan.classes < 2 || plan.length == 0) {
        return base::inputError("a network needs at least one layer, two classes and one position");
    }
    LutNetwork network;
    network.m_plan = plan;
    std::uint32_t width = plan.inputs;
    for (std::size_t i = 0; i < plan.layers.size(); ++i) {
        RETRO_TRY(LutTrainLayer layer, drawLayer(plan, width, i));
        width = layer.shape.outputs;
        network.m_layers.push_back(std::move(layer));
    }
    if (width != plan.classes) {
        return base::inputError(
            fmt::format("the last layer has {} outputs, but there are {} classes", width, plan.classes));
    }
    network.m_embedding = drawEmbedding(plan);
    return network;
}

std::vector<float> LutNetwork::embedded(std::span<const std::int64_t> tokens) const
{
    std::vector<float> result;
    result.reserve(tokens.size() * m_plan.inputs);
    for (const std::int64_t token : tokens) {
        const auto row = m_embedding.begin() + token * static_cast<std::int64_t>(m_plan.inputs);
        result.insert(result.end(), row, row + m_plan.inputs);
    }
    return result;
}

std::vector<float> LutNetwork::scores(std::span<const float> input, int threads) const
{
    const Pass pass(*this, input, threads);
    const std::vector<float>& all = pass.values.back();
    std::vector<float> last;
    for (std::size_t b = 0; b < pass.batch; ++b) {
        const auto at = all.begin() + static_cast<std::ptrdiff_t>(((b + 1) * m_plan.length - 1) * m_plan.classes);
        last.insert(last.end(), at, at + m_plan.classes);
    }
    return last;
}

LutBatchResult LutNetwork::run(std::span<const float> input, std::span<const std::int64_t> labels, LutGradients wanted,
                               int threads) const
{
    LutBatchResult result;
    run(input, labels, wanted, threads, result);
    return result;
}

void LutNetwork::run(std::span<const float> input, std::span<const std::int64_t> labels, LutGradients wanted,
                     int threads, LutBatchResult& result) const
{
    base::guard(wanted != LutGradients::Internal, "gradients that are kept inside have their own call");
    carryBack(Pass(*this, input, threads), labels, wanted, nullptr, result);
}

void LutNetwork::descend(std::span<const float> input, std::span<const std::int64_t> labels, float rate, int threads,
                         LutBatchResult& result)
{
    const Descent descent{m_layers, rate};
    carryBack(Pass(*this, input, threads), labels, LutGradients::Internal, &descent, result);
}

void LutNetwork::carryBack(const Pass& pass, std::span<const std::int64_t> labels, LutGradients wanted,
                           const Descent* descent, LutBatchResult& result) const
{
    const std::vector<float>& all = pass.values.back();
    result.loss = 0;
    result.right = 0;
    std::vector<float> gradient(all.size());
    for (std::size_t b = 0; b < pass.batch; ++b) {
        const std::size_t first = ((b + 1) * m_plan.length - 1) * m_plan.classes;
        addSample(std::span(all).subspan(first, m_plan.classes), labels[b], pass.batch, result,
                  std::span(gradient).subspan(first, m_plan.classes));
    }
    result.loss /= static_cast<double>(std::max<std::size_t>(pass.batch, 1));
    if (wanted == LutGradients::None) {
        result.gradients.clear();
        return;
    }
    pass.backward(std::move(gradient), wanted, descent, result);
}

std::size_t LutNetwork::parameterCount() const
{
    std::size_t count = 0;
    for (const LutTrainLayer& layer : m_layers) {
        count += layer.weights.size() + layer.codes.size();
    }
    return count;
}

} // namespace retro::engine
