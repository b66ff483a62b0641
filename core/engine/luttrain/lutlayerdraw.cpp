// SPDX-License-Identifier: Apache-2.0
#include "core/engine/luttrain/lutlayerdraw.h"

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

} // namespace

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

std::vector<float> drawEmbedding(const LutNetworkPlan& network)
{
    return drawn(std::size_t{network.vocabulary} * network.inputs, 1, Random(network.seed, kEmbeddingDraw, 0));
}

} // namespace retro::engine
