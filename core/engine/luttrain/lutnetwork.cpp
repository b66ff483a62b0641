// SPDX-License-Identifier: Apache-2.0
#include "core/engine/luttrain/lutnetwork.h"

#include "core/base/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace retro::engine
{

using base::Result;

namespace
{

lut::LayerDescription<float> descriptionOf(const LutTrainLayer& layer, std::span<const float> weights);

/// Of rows that later layers compare: without differences nothing would be learned through them.
constexpr float kHiddenWeights = 0.1F;
constexpr std::uint64_t kMostNumbers = std::uint64_t{1} << 30U;

/// Numbers that depend on what they are for, not on how many were drawn before (SplitMix64 over a mixed key).
class Random
{
public:
    Random(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index) : m_state(seed)
    {
        m_state = next() ^ purpose;
        m_state = next() ^ index;
    }
    std::uint64_t next()
    {
        m_state += 0x9E3779B97F4A7C15U;
        std::uint64_t z = m_state;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    /// Between −1 and 1.
    float unit() { return static_cast<float>(static_cast<double>(next() >> 11U) * 0x1p-52 - 1); }

private:
    std::uint64_t m_state;
};

enum Purpose : std::uint64_t { kAnchorDraw = 1, kCodeDraw, kWeightDraw, kEmbeddingDraw, kSynapseDraw };

std::vector<lut::Anchor> drawAnchors(const lut::LayerShape& shape, std::uint64_t seed, std::uint64_t layer)
{
    std::vector<lut::Anchor> anchors;
    const std::uint64_t others = shape.inputs - 1;
    for (std::uint64_t t = 0; t < shape.tables; ++t) {
        Random random(seed, kAnchorDraw + 16 * layer, t);
        std::set<std::uint64_t> drawn;
        while (drawn.size() < shape.comparisons) {
            const std::uint64_t code = random.below(shape.inputs * others);
            const auto a = static_cast<std::uint32_t>(code / others);
            auto b = static_cast<std::uint32_t>(code % others);
            b += b >= a ? 1U : 0U;
            const std::uint64_t pair = std::uint64_t{std::min(a, b)} * shape.inputs + std::max(a, b);
            if (drawn.insert(pair).second) {
                anchors.push_back({a, b});
            }
        }
    }
    return anchors;
}

std::vector<float> drawn(std::size_t count, float size, Random random)
{
    std::vector<float> values(count);
    for (float& value : values) {
        value = size * random.unit();
    }
    return values;
}

/// Outputs that a row reaches by a group.
std::uint32_t reachedBy(const LutSynapseGroup& group, std::uint32_t outputs)
{
    return std::max(1U, static_cast<std::uint32_t>(std::lround(static_cast<double>(group.share) * outputs)));
}

/// Synapses of all rows: each row draws the outputs of each group, none twice.
void drawSynapses(const std::vector<LutSynapseGroup>& groups, std::uint64_t seed, std::uint64_t index,
                  LutTrainLayer& layer)
{
    const std::uint32_t outputs = layer.shape.outputs;
    const bool hasRates = std::ranges::any_of(groups, [](const LutSynapseGroup& group) { return group.rate != 1; });
    layer.rowStarts.push_back(0);
    for (std::uint64_t row = 0; row < layer.shape.neurons(); ++row) {
        Random random(seed, kSynapseDraw + 16 * index, row);
        std::vector<std::uint32_t> order(outputs);
        std::iota(order.begin(), order.end(), 0U);
        std::vector<std::pair<std::uint32_t, float>> synapses;
        for (const LutSynapseGroup& group : groups) {
            for (std::uint32_t k = reachedBy(group, outputs); k > 0; --k) {
                const std::size_t at = synapses.size();
                std::swap(order[at], order[at + random.below(outputs - at)]);
                synapses.emplace_back(order[at], group.rate);
            }
        }
        std::ranges::sort(synapses);
        for (const auto& [column, rate] : synapses) {
            layer.columns.push_back(column);
            if (hasRates) {
                layer.rates.push_back(rate);
            }
        }
        layer.rowStarts.push_back(layer.columns.size());
    }
}

bool isRate(float rate) { return rate >= 0 && rate <= 1; }

Result<void> checkGroups(const std::vector<LutSynapseGroup>& groups, std::uint32_t outputs, const std::string& where)
{
    std::uint64_t reached = 0;
    for (const LutSynapseGroup& group : groups) {
        if (!(group.share > 0 && group.share <= 1) || !isRate(group.rate)) {
            return base::inputError(
                fmt::format("a group of synapses has the share {} and the rate {}; a share is above 0, to 1, a rate 0 "
                            "to 1",
                            group.share, group.rate),
                where);
        }
        reached += reachedBy(group, outputs);
    }
    if (reached > outputs) {
        return base::inputError(fmt::format("its groups of synapses reach {} outputs from each row, and there are {}; "
                                            "take smaller shares",
                                            reached, outputs),
                                where);
    }
    return {};
}

/// What a plan says of a layer that has no more than its own numbers to be judged by.
Result<void> checkPlan(const LutLayerPlan& plan, std::uint32_t inputs, std::uint32_t outputs, const std::string& where)
{
    const std::uint64_t pairs = std::uint64_t{inputs} * (inputs == 0 ? 0 : inputs - 1) / 2;
    if (plan.comparisons > pairs) {
        return base::inputError(
            fmt::format("{} comparisons of {} inputs: there are only {} pairs", plan.comparisons, inputs, pairs),
            where);
    }
    if (plan.isResidual && outputs != inputs) {
        return base::inputError(
            fmt::format("a residual layer has as many outputs as inputs, not {} of {}", outputs, inputs), where);
    }
    if (!isRate(plan.rateFactor)) {
        return base::inputError(fmt::format("the rate factor is {}; it must be 0 to 1", plan.rateFactor), where);
    }
    return checkGroups(plan.groups, outputs, where);
}

/// Weights of a full layer; a sparse one has no more.
Result<std::size_t> countOf(const lut::LayerShape& shape, const std::string& where)
{
    constexpr std::uint32_t kMostBits = lut::kMaxRowBits; // what is beyond is refused by the layer's own checks
    const auto numbers =
        lut::checkedProduct({shape.tables, std::uint64_t{1} << std::min(shape.rowBits(), kMostBits), shape.outputs});
    if (!numbers || *numbers > kMostNumbers) {
        return base::inputError(
            fmt::format("its tables have more than {} numbers; take fewer comparisons", kMostNumbers), where);
    }
    return static_cast<std::size_t>(*numbers);
}

Result<void> checkLayer(const LutTrainLayer& layer, const std::string& where)
{
    std::optional<lut::Layer<float>> made;
    const lut::Status status = lut::Layer<float>::create(descriptionOf(layer, layer.weights), made);
    return status.ok() ? Result<void>() : base::inputError(status.message, where);
}

/// A layer as its kernels read it; borrows it, and `weights` in place of its own.
lut::LayerDescription<float> descriptionOf(const LutTrainLayer& layer, std::span<const float> weights)
{
    lut::LayerDescription<float> description;
    description.shape = layer.shape;
    description.anchors = layer.anchors;
    description.weights = weights;
    description.codes = layer.codes;
    description.isSparse = layer.isSparse();
    description.rowStarts = layer.rowStarts;
    description.columns = layer.columns;
    return description;
}

/// Draws layer `index` of a plan: anchors, synapses of a sparse layer, codes, and weights, which are 0 in the last
/// layer and small in the others. Errors (Input): what the layer's own checks say, shares and rates out of their range,
/// a residual layer that changes the width, more than 2^30 weights.
Result<LutTrainLayer> drawLayer(const LutNetworkPlan& network, std::uint32_t inputs, std::size_t index)
{
    const LutLayerPlan& plan = network.layers[index];
    LutTrainLayer layer;
    layer.shape = {inputs,         plan.outputs == 0 ? network.classes : plan.outputs,
                   plan.tables,    plan.comparisons,
                   plan.codeBits,  plan.isSequence ? network.length : 1,
                   plan.isSequence};
    layer.isResidual = plan.isResidual;
    layer.rateFactor = plan.rateFactor;
    const std::string where = fmt::format("layer {}", index);
    RETRO_CHECK(checkPlan(plan, inputs, layer.shape.outputs, where));
    RETRO_TRY(std::size_t numbers, countOf(layer.shape, where));
    layer.anchors = drawAnchors(layer.shape, network.seed, index);
    if (!plan.groups.empty() && layer.shape.rowBits() <= lut::kMaxRowBits) {
        drawSynapses(plan.groups, network.seed, index, layer);
        numbers = layer.columns.size();
    }
    const bool isLast = index + 1 == network.layers.size();
    layer.weights = drawn(numbers, isLast ? 0.0F : kHiddenWeights, Random(network.seed, kWeightDraw, index));
    layer.codes =
        drawn(std::size_t{layer.shape.lags()} * plan.tables * plan.codeBits, 1, Random(network.seed, kCodeDraw, index));
    RETRO_CHECK(checkLayer(layer, where));
    return layer;
}

/// Rows of a fixed random embedding, [vocabulary, inputs].
std::vector<float> drawEmbedding(const LutNetworkPlan& network)
{
    return drawn(std::size_t{network.vocabulary} * network.inputs, 1, Random(network.seed, kEmbeddingDraw, 0));
}

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
