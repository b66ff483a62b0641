// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/linearlayer.h"

#include "core/rewrite/attributes.h"
#include "core/rewrite/batchnormaffine.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

WeightLayout::Channels WeightLayout::at(std::int64_t position) const
{
    const std::int64_t column = position / inner % columns;
    const std::int64_t row = position / inner / columns % rows;
    const std::int64_t other = row / (rows / groups) * columns + column;
    return areRowsRead ? Channels{row, other} : Channels{other, row};
}

namespace
{

using Axes = std::vector<std::int64_t>;

bool areAll(const Axes& numbers, std::int64_t number)
{
    return std::ranges::all_of(numbers, [number](std::int64_t one) { return one == number; });
}

/// Every element of the result reads through the whole kernel, none of which lies beside the picture.
bool isWithoutPadding(const Node& node, const tensor::Shape& weight)
{
    const auto automatic = attributeOr<std::string>(node, "auto_pad", "NOTSET");
    const bool isPoint = areAll({weight.begin() + 2, weight.end()}, 1);
    return areAll(attributeOr<Axes>(node, "pads", {}), 0) && (automatic == "NOTSET" || automatic == "VALID" || isPoint);
}

/// Every element of the result of a ConvTranspose reads one element, through all of the weight.
bool isPointwise(const Node& node, const tensor::Shape& weight)
{
    return isWithoutPadding(node, weight) && areAll({weight.begin() + 2, weight.end()}, 1) &&
           areAll(attributeOr<Axes>(node, "strides", {}), 1) &&
           areAll(attributeOr<Axes>(node, "output_padding", {}), 0) &&
           attributeOr<Axes>(node, "output_shape", {}).empty();
}

std::optional<LinearLayer> convolution(const Node& node, const tensor::Shape& w)
{
    const bool isTransposed = node.op == "ConvTranspose";
    const std::int64_t groups = intAttribute(node, "group", 1);
    if (w.size() < 3 || groups < 1 || w[0] % groups != 0 || w[0] == 0) {
        return std::nullopt;
    }
    LinearLayer layer;
    layer.layout = {w[0], w[1], tensor::elementCount({w.begin() + 2, w.end()}), groups, isTransposed};
    layer.read = viewOf(w.size(), 1, layer.layout.readCount());
    layer.made = viewOf(w.size(), 1, layer.layout.madeCount());
    layer.biasShape = {layer.layout.madeCount()};
    layer.takesShift = isTransposed ? isPointwise(node, w) : isWithoutPadding(node, w);
    return layer;
}

std::optional<LinearLayer> gemm(const Node& node, const tensor::Shape& w)
{
    if (w.size() != 2) {
        return std::nullopt;
    }
    LinearLayer layer;
    layer.layout = {w[0], w[1], 1, 1, intAttribute(node, "transB", 0) == 0};
    layer.read = viewOf(2, intAttribute(node, "transA", 0) != 0 ? 0 : 1, layer.layout.readCount());
    layer.made = viewOf(2, 1, layer.layout.madeCount());
    layer.biasShape = {layer.layout.madeCount()};
    layer.productScale = floatAttribute(node, "alpha", 1);
    layer.biasScale = floatAttribute(node, "beta", 1);
    return layer;
}

/// x·W, or W·x, where the channels are rows.
std::optional<LinearLayer> product(const tensor::Shape& w, bool isWeightOnRight)
{
    if (w.size() < 2) {
        return std::nullopt;
    }
    LinearLayer layer;
    layer.slot = isWeightOnRight ? 0 : 1;
    layer.weightSlot = 1 - layer.slot;
    layer.layout = {w[w.size() - 2], w.back(), 1, 1, isWeightOnRight};
    layer.leastRank = isWeightOnRight ? 1 : 2;
    layer.read = viewOf(layer.leastRank, 0, layer.layout.readCount());
    layer.made = viewOf(layer.leastRank, 0, layer.layout.madeCount());
    layer.read.isWhole = layer.made.isWhole = false;
    layer.biasShape =
        isWeightOnRight ? tensor::Shape{layer.layout.madeCount()} : tensor::Shape{layer.layout.madeCount(), 1};
    layer.takesShift = tensor::elementCount({w.begin(), w.end() - 2}) == 1;
    return layer;
}

std::optional<LinearLayer> productOfNode(const Draft& draft, const Node& node)
{
    const bool isKnown = node.domain.empty() || node.domain == "retrograde";
    if (!isKnown || node.inputs.size() < 2) {
        return std::nullopt;
    }
    for (const std::size_t slot : {std::size_t{1}, std::size_t{0}}) {
        if (isFloatingConstant(draft, node, slot) && !draft.isConstant(node.inputs[1 - slot])) {
            return product(draft.value(node.inputs[slot]).constant.shape(), slot == 1);
        }
    }
    return std::nullopt;
}

std::optional<LinearLayer> layerOfKind(const Draft& draft, const Node& node)
{
    if (node.op == "MatMul") {
        return productOfNode(draft, node);
    }
    if (!node.domain.empty() || !isFloatingConstant(draft, node, 1)) {
        return std::nullopt;
    }
    const tensor::Shape& weight = draft.value(node.inputs[1]).constant.shape();
    if (node.op == "Gemm") {
        return gemm(node, weight);
    }
    return node.op == "Conv" || node.op == "ConvTranspose" ? convolution(node, weight) : std::nullopt;
}

/// One number per channel, or one for all, in a shape that broadcasts as such.
bool isChannelBias(const Draft& draft, const Node& node, const LinearLayer& layer)
{
    if (!hasOperand(node, 2)) {
        return true;
    }
    if (!isFloatingConstant(draft, node, 2)) {
        return false;
    }
    const tensor::Shape& shape = draft.value(node.inputs[2]).constant.shape();
    const std::int64_t count = tensor::elementCount(shape);
    const std::int64_t channels = layer.layout.madeCount();
    const bool isOne = count == 1 && (channels == 1 || node.op == "Gemm" || node.op == "MatMul");
    const std::size_t behind = layer.biasShape.size(); // the channels are the axis that many from the end
    return isOne || (count == channels && shape.size() >= behind && shape[shape.size() - behind] == channels);
}

/// Numbers that float32 holds with all its digits stay such numbers.
bool staysNormal(double before, double after, double factor)
{
    constexpr double kLeast = std::numeric_limits<float>::min();
    constexpr double kMost = std::numeric_limits<float>::max();
    const double size = std::abs(after);
    return size <= kMost && (size >= kLeast || std::abs(before) < kLeast || factor == 0);
}

template <class In, class Out>
bool scaleInto(std::span<const In> in, std::span<Out> out, const LinearLayer& layer, const LayerChange& change,
               bool isChecked)
{
    for (std::size_t i = 0; i < in.size(); ++i) {
        const WeightLayout::Channels channels = layer.layout.at(static_cast<std::int64_t>(i));
        const double factor = change.factor[static_cast<std::size_t>(change.isOfRead ? channels.read : channels.made)];
        const double before = static_cast<double>(in[i]);
        const double after = before * factor;
        if (isChecked && !staysNormal(before, after, factor)) {
            return false;
        }
        out[i] = static_cast<Out>(after);
    }
    return true;
}

/// The weight times its factors; nothing when it leaves the range of its type.
std::optional<Tensor> scaledWeight(const Draft& draft, const LinearLayer& layer, const LayerChange& change)
{
    const graph::Value& stored = draft.value(draft.node(layer.node).inputs[layer.weightSlot]);
    const bool isWide = stored.dtype == DType::Float64;
    const bool isKeptNarrow = !isWide && !draft.keepsDigits();
    tensor::TensorBuffer buffer(isKeptNarrow ? DType::Float32 : DType::Float64, stored.constant.shape());
    const auto scale = [&](const auto in) {
        return isKeptNarrow ? scaleInto(in, buffer.span<float>(), layer, change, true)
                            : scaleInto(in, buffer.span<double>(), layer, change, !isWide);
    };
    const Tensor data = stored.constant.dtype() == DType::Float32 ? stored.constant.contiguous() : asDouble(stored);
    const bool isDone = data.dtype() == DType::Float32 ? scale(data.span<float>()) : scale(data.span<double>());
    return isDone ? std::optional(std::move(buffer).freeze()) : std::nullopt;
}

} // namespace

std::optional<LinearLayer> linearLayerAt(const Draft& draft, NodeId id)
{
    const Node& node = draft.node(id);
    if (node.outputs.size() != 1) {
        return std::nullopt;
    }
    std::optional<LinearLayer> layer = layerOfKind(draft, node);
    if (!layer || layer->layout.readCount() == 0 || layer->layout.madeCount() == 0 ||
        !node.inputs[layer->slot].isValid()) {
        return std::nullopt;
    }
    layer->node = id;
    layer->takesBias = isChannelBias(draft, node, *layer);
    return layer;
}

std::vector<double> biasOf(const Draft& draft, const LinearLayer& layer)
{
    const Node& node = draft.node(layer.node);
    std::vector<double> bias(static_cast<std::size_t>(layer.layout.madeCount()), 0.0);
    if (!hasOperand(node, 2)) {
        return bias;
    }
    const Tensor stored = asDouble(draft.value(node.inputs[2]));
    const std::size_t step = stored.size() == 1 ? 0 : 1;
    for (std::size_t c = 0; c < bias.size(); ++c) {
        bias[c] = layer.biasScale * stored.data<double>()[c * step];
    }
    return bias;
}

std::vector<double> shiftedBy(const Draft& draft, const LinearLayer& layer, std::span<const double> shift)
{
    const Tensor weight = asDouble(draft.value(draft.node(layer.node).inputs[layer.weightSlot]));
    const std::span<const double> numbers = weight.span<double>();
    std::vector<double> sums(static_cast<std::size_t>(layer.layout.madeCount()), 0.0);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const WeightLayout::Channels channels = layer.layout.at(static_cast<std::int64_t>(i));
        sums[static_cast<std::size_t>(channels.made)] +=
            layer.productScale * numbers[i] * shift[static_cast<std::size_t>(channels.read)];
    }
    return sums;
}

std::optional<Node> changedLayer(Draft& draft, const LinearLayer& layer, const LayerChange& change)
{
    Node node = draft.node(layer.node);
    const graph::Value& stored = draft.value(node.inputs[layer.weightSlot]);
    const std::string weightName = stored.name + ".merged";
    const DType declared = stored.dtype;
    std::optional<Tensor> weight = scaledWeight(draft, layer, change);
    const bool isHeld = !change.bias || declared == DType::Float64 ||
                        std::ranges::all_of(*change.bias, [](double b) { return staysNormal(0, b, 1); });
    if (!weight || !isHeld) {
        return std::nullopt;
    }
    node.inputs[layer.weightSlot] = draft.addConstant(weightName, std::move(*weight), declared);
    if (!change.bias) {
        return node;
    }
    node.inputs.resize(3);
    node.inputs[2] = draft.addConstant(change.biasName, Tensor::of<double>(layer.biasShape, *change.bias), declared);
    if (layer.biasScale != 1) {
        node.attributes["beta"] = 1.0;
    }
    if (node.op == "MatMul" && node.domain.empty()) {
        node.domain = "retrograde";
        node.opset = 1;
    }
    return node;
}

} // namespace retro::rewrite
