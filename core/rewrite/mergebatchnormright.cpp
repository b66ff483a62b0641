// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/attributes.h"
#include "core/rewrite/batchnormaffine.h"
#include "core/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Where an element of a weight stands: which channel it reads and which it adds to.
struct Channels
{
    std::int64_t read = 0;
    std::int64_t made = 0;
};

/// How a layer's weight is laid out: Conv is (groups·made) × read × inner, Gemm read × made, or turned.
struct Layout
{
    std::int64_t read = 1; ///< channels per group
    std::int64_t made = 1; ///< channels of all groups
    std::int64_t inner = 1;
    std::int64_t groups = 1;
    bool isMadeLast = false;

    [[nodiscard]] Channels at(std::int64_t position) const
    {
        if (isMadeLast) {
            return {position / made, position % made};
        }
        const std::int64_t out = position / (read * inner);
        return {out / (made / groups) * read + position / inner % read, out};
    }
};

std::optional<Layout> layoutOf(const Node& node, const tensor::Shape& w, std::int64_t channels)
{
    const std::int64_t groups = intAttribute(node, "group", 1);
    if (node.op == "Conv" && w.size() >= 3 && groups > 0 && w[0] % groups == 0 && w[1] * groups == channels) {
        return Layout{w[1], w[0], tensor::elementCount({w.begin() + 2, w.end()}), groups, false};
    }
    const bool isGemm = node.op == "Gemm" && w.size() == 2 && intAttribute(node, "transA", 0) == 0;
    const bool isTurned = isGemm && intAttribute(node, "transB", 0) != 0;
    if (!isGemm || w[isTurned ? 1 : 0] != channels) {
        return std::nullopt;
    }
    return isTurned ? Layout{w[1], w[0], 1, 1, false} : Layout{w[0], w[1], 1, 1, true};
}

bool isPadded(const Node& node)
{
    const auto automatic = attributeOr<std::string>(node, "auto_pad", "NOTSET");
    const auto pads = attributeOr<std::vector<std::int64_t>>(node, "pads", {});
    return (automatic != "NOTSET" && automatic != "VALID") ||
           std::any_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad != 0; });
}

bool isShiftFree(const Affine& affine)
{
    for (std::size_t c = 0; c < affine.factor.size(); ++c) {
        if (affine.shiftOf(0, c) != 0) {
            return false;
        }
    }
    return true;
}

/// A layer that reads nothing but a BatchNormalization.
struct LayerBehind
{
    NodeId norm;
    NodeId layer;
    Layout layout;
    Affine affine;
};

/// b + (scale of the product)·Σ shift·w, per channel.
Tensor mergedBias(const Draft& draft, const LayerBehind& target, std::span<const double> weight)
{
    const Node& node = draft.node(target.layer);
    const bool isGemm = node.op == "Gemm";
    const double productScale = isGemm ? floatAttribute(node, "alpha", 1) : 1;
    const double biasScale = isGemm ? floatAttribute(node, "beta", 1) : 1;
    tensor::TensorBuffer buffer(DType::Float64, {target.layout.made});
    const std::span<double> out = buffer.span<double>();
    std::fill(out.begin(), out.end(), 0.0);
    for (std::size_t i = 0; i < weight.size(); ++i) {
        const Channels channels = target.layout.at(static_cast<std::int64_t>(i));
        out[static_cast<std::size_t>(channels.made)] +=
            productScale * weight[i] * target.affine.shiftOf(0, static_cast<std::size_t>(channels.read));
    }
    if (hasOperand(node, 2)) {
        const Tensor bias = asDouble(draft.value(node.inputs[2]));
        const std::size_t step = bias.size() == 1 ? 0 : 1;
        for (std::size_t c = 0; c < out.size(); ++c) {
            out[c] += biasScale * bias.data<double>()[c * step];
        }
    }
    return std::move(buffer).freeze();
}

Tensor scaledWeight(const LayerBehind& target, const Tensor& weight)
{
    tensor::TensorBuffer buffer(DType::Float64, weight.shape());
    const std::span<const double> in = weight.span<double>();
    const std::span<double> out = buffer.span<double>();
    for (std::size_t i = 0; i < in.size(); ++i) {
        const Channels channels = target.layout.at(static_cast<std::int64_t>(i));
        out[i] = in[i] * target.affine.factor[static_cast<std::size_t>(channels.read)];
    }
    return std::move(buffer).freeze();
}

void merge(Draft& draft, const LayerBehind& target)
{
    const Node& norm = draft.node(target.norm);
    Node node = draft.node(target.layer);
    const graph::Value& stored = draft.value(node.inputs[1]);
    const std::string stem = stored.name;
    const DType declared = stored.dtype;
    const Tensor weight = asDouble(stored);
    Tensor bias = mergedBias(draft, target, weight.span<double>());
    const ValueId weightId = draft.addConstant(stem + ".merged", scaledWeight(target, weight), declared);
    const ValueId biasId = draft.addConstant(stem + ".merged_bias", std::move(bias), declared);
    node.inputs = {norm.inputs[0], weightId, biasId};
    if (node.op == "Gemm") {
        node.attributes["beta"] = 1.0;
    }
    const std::array members{target.norm, target.layer};
    draft.fuse(target.layer, std::move(node), members);
}

/// The BatchNormalization that alone makes the layer's input.
std::optional<NodeId> normBefore(const Draft& draft, const Node& layer)
{
    const ValueId input = layer.inputs.empty() ? ValueId() : layer.inputs[0];
    if (!input.isValid() || draft.readerCount(input) != 1 || draft.isOutput(input) ||
        !draft.value(input).producer.isValid()) {
        return std::nullopt;
    }
    const NodeId id = draft.value(input).producer;
    const Node& node = draft.node(id);
    return node.op == "BatchNormalization" && node.domain.empty() ? std::optional(id) : std::nullopt;
}

std::optional<LayerBehind> targetAt(const Draft& draft, NodeId layerId)
{
    const Node& layer = draft.node(layerId);
    const std::optional<NodeId> norm = layer.domain.empty() ? normBefore(draft, layer) : std::nullopt;
    const std::optional<Affine> affine = norm ? affineOf(draft, draft.node(*norm)) : std::nullopt;
    if (!affine || !isFloatingConstant(draft, layer, 1)) {
        return std::nullopt;
    }
    const std::optional<Layout> layout = layoutOf(layer, draft.value(layer.inputs[1]).constant.shape(),
                                                  static_cast<std::int64_t>(affine->factor.size()));
    if (!layout || !isMergeableBias(draft, layer, layout->made)) {
        return std::nullopt;
    }
    return LayerBehind{*norm, layerId, *layout, *affine};
}

} // namespace

void mergeBatchNormRight(Draft& draft, std::vector<RewriteStep>& steps)
{
    for (std::size_t i = 0; i < draft.nodeCount() && !draft.isStopped(); ++i) {
        const std::optional<LayerBehind> target =
            draft.isRemoved(NodeId(i)) ? std::nullopt : targetAt(draft, NodeId(i));
        if (!target) {
            continue;
        }
        const Node& norm = draft.node(target->norm);
        const Node& layer = draft.node(target->layer);
        RewriteStep step;
        step.rewrite = "merge BatchNorm right";
        if (isPadded(layer) && !isShiftFree(target->affine)) {
            step.isNote = true;
            step.text = fmt::format("{} stays before {} {}: it shifts the picture but not the zeros that pad it, which "
                                    "no bias can express",
                                    norm.name, layer.op, layer.name);
            steps.push_back(std::move(step));
            continue;
        }
        step.text = fmt::format("{} + {} → {} {}", norm.name, layer.name, layer.op, layer.name);
        step.removed = {norm.name, layer.name};
        step.added = {layer.name};
        steps.push_back(std::move(step));
        merge(draft, *target);
    }
}

} // namespace retro::rewrite
