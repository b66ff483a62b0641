// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/linearlayer.h"

#include "core/graph/attributes.h"
#include "core/ops/elements.h"
#include "core/ops/layerkind.h"
#include "core/rewrite/batchnormaffine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

ChannelView viewOf(std::size_t rank, std::size_t axis, std::int64_t channels)
{
    ChannelView view{channels, std::vector<ChannelAxis>(rank)};
    view.axes[axis] = {channels, channels == 1 ? 0 : 1};
    return view;
}

namespace
{

/// The axis may have that extent, and channels have a known one.
bool isPossible(const ChannelAxis& axis, const GenericExtent& extent)
{
    return extent.isKnown() ? axis.extent == 0 || axis.extent == extent.first : axis.stride == 0;
}

} // namespace

std::optional<ChannelView> completed(const ChannelView& view, const GenericShape& shape)
{
    if (shape.size() < view.axes.size() || (view.isWhole && shape.size() != view.axes.size())) {
        return std::nullopt;
    }
    ChannelView whole{view.channels, std::vector<ChannelAxis>(shape.size() - view.axes.size())};
    whole.axes.insert(whole.axes.end(), view.axes.begin(), view.axes.end());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (!isPossible(whole.axes[i], shape[i])) {
            return std::nullopt;
        }
        whole.axes[i].extent = shape[i].isKnown() ? shape[i].first : 0;
    }
    return whole;
}

namespace
{

/// Where the elements of a constant stand that broadcasts over the axes of a view.
class SpreadConstant
{
public:
    SpreadConstant(const Tensor& constant, const ChannelView& view)
        : m_data(constant.to(tensor::DType::Float64).contiguous()), m_shape(constant.shape()),
          m_strides(tensor::rowMajorStrides(m_shape)),
          m_axes(std::span(view.axes).last(std::min(view.axes.size(), m_shape.size())))
    {}

    /// Broadcasting leaves the value's shape as it is.
    [[nodiscard]] bool fits() const
    {
        for (std::size_t i = 0; i < m_axes.size(); ++i) {
            if (m_shape[i] != 1 && (m_shape[i] != m_axes[i].extent || m_shape[i] == 0)) {
                return false;
            }
        }
        return m_axes.size() == m_shape.size();
    }

    [[nodiscard]] double at(std::int64_t channel) const
    {
        std::int64_t position = 0;
        for (std::size_t i = 0; i < m_axes.size(); ++i) {
            if (carries(i)) {
                position += channel / m_axes[i].stride % m_axes[i].extent * m_strides[i];
            }
        }
        return m_data.span<double>()[static_cast<std::size_t>(position)];
    }

    /// Elements that differ in other axes alone are equal.
    [[nodiscard]] bool isAlikeWithinChannels() const
    {
        const std::span<const double> data = m_data.span<double>();
        for (std::size_t i = 0; i < m_axes.size(); ++i) {
            if (m_shape[i] == 1 || carries(i)) {
                continue;
            }
            for (std::size_t p = 0; p < data.size(); ++p) {
                const std::int64_t index = static_cast<std::int64_t>(p) / m_strides[i] % m_shape[i];
                if (data[p] != data[p - static_cast<std::size_t>(index * m_strides[i])]) {
                    return false;
                }
            }
        }
        return true;
    }

private:
    [[nodiscard]] bool carries(std::size_t i) const { return m_shape[i] != 1 && m_axes[i].stride != 0; }

    Tensor m_data;
    tensor::Shape m_shape;
    tensor::Shape m_strides;
    std::span<const ChannelAxis> m_axes;
};

/// Axes of both shapes that hold the same elements, and none of whose parts do.
struct AxisBlock
{
    std::size_t from = 0; ///< first axis on either side
    std::size_t to = 0;
    std::size_t fromEnd = 0;
    std::size_t toEnd = 0;
};

/// Takes axes in until both sides hold the same number of elements.
class BlockReader
{
public:
    BlockReader(const GenericShape& from, const GenericShape& to) : m_from(from), m_to(to) {}

    [[nodiscard]] bool isAtEnd() const { return m_block.fromEnd == m_from.size() && m_block.toEnd == m_to.size(); }

    std::optional<AxisBlock> next()
    {
        m_block = {m_block.fromEnd, m_block.toEnd, m_block.fromEnd, m_block.toEnd};
        GenericExtent left{1, 1};
        GenericExtent right{1, 1};
        if (!take(m_from, m_block.fromEnd, left)) {
            take(m_to, m_block.toEnd, right);
        }
        while (left != right) {
            const bool isLeftSmaller =
                left.first != right.first ? left.first < right.first : left.second < right.second;
            const bool hasTaken =
                isLeftSmaller ? take(m_from, m_block.fromEnd, left) : take(m_to, m_block.toEnd, right);
            if (!hasTaken) {
                return std::nullopt;
            }
        }
        return m_block;
    }

private:
    static bool take(const GenericShape& shape, std::size_t& at, GenericExtent& product)
    {
        if (at == shape.size() || shape[at].first <= 0 || shape[at].second <= 0) {
            return false;
        }
        product = {product.first * shape[at].first, product.second * shape[at].second};
        ++at;
        return true;
    }

    const GenericShape& m_from;
    const GenericShape& m_to;
    AxisBlock m_block;
};

/// By how much the channel grows with the position inside the block; 0 = not at all, nothing = not evenly.
std::optional<std::int64_t> evenStride(std::span<const ChannelAxis> axes)
{
    std::optional<std::int64_t> stride;
    std::int64_t inner = 1;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        if (axis->extent == 1) {
            continue;
        }
        stride = stride.value_or(axis->stride);
        if (axis->stride != *stride * inner) {
            return std::nullopt;
        }
        inner *= axis->extent;
    }
    return stride.value_or(0);
}

bool isKnown(const GenericShape& shape, std::size_t begin, std::size_t end)
{
    return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                       shape.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const GenericExtent& extent) { return extent.isKnown(); });
}

/// By how much the channel grows with the position inside a block; nothing where it does not do so evenly, or where
/// the block has channels and its extents are not known.
std::optional<std::int64_t> strideOf(const ChannelView& view, const AxisBlock& block, const GenericShape& from,
                                     const GenericShape& to)
{
    const auto axes = std::span(view.axes).subspan(block.from, block.fromEnd - block.from);
    if (std::ranges::all_of(axes, [](const ChannelAxis& axis) { return axis.stride == 0; })) {
        return 0;
    }
    const bool areKnown = isKnown(from, block.from, block.fromEnd) && isKnown(to, block.to, block.toEnd);
    return areKnown ? evenStride(axes) : std::nullopt;
}

/// Writes the axes of a block.
void spread(const AxisBlock& block, std::int64_t stride, const GenericShape& to, ChannelView& view)
{
    for (std::size_t i = block.toEnd; i-- > block.to;) {
        const std::int64_t extent = to[i].isKnown() ? to[i].first : 0;
        view.axes[i] = {extent, extent == 1 ? 0 : stride};
        stride *= std::max<std::int64_t>(extent, 1);
    }
}

/// The view of `from` on the same elements in the shape `to`.
std::optional<ChannelView> regrouped(const ChannelView& view, const GenericShape& from, const GenericShape& to)
{
    ChannelView result{view.channels, std::vector<ChannelAxis>(to.size())};
    for (BlockReader reader(from, to); !reader.isAtEnd();) {
        const std::optional<AxisBlock> block = reader.next();
        const std::optional<std::int64_t> stride = block ? strideOf(view, *block, from, to) : std::nullopt;
        if (!stride) {
            return std::nullopt;
        }
        spread(*block, *stride, to, result);
    }
    return result;
}

std::optional<ChannelView> transposed(const Node& node, const ChannelView& view, bool isForward)
{
    auto order = attributeOr<std::vector<std::int64_t>>(node, "perm", {});
    const std::size_t rank = view.axes.size();
    if (order.empty()) {
        order.resize(rank);
        std::iota(order.rbegin(), order.rend(), 0);
    }
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (sorted[i] != static_cast<std::int64_t>(i) || sorted.size() != rank) {
            return std::nullopt;
        }
    }
    ChannelView result = view;
    for (std::size_t i = 0; i < rank; ++i) {
        const auto source = static_cast<std::size_t>(order[i]);
        result.axes[isForward ? i : source] = view.axes[isForward ? source : i];
    }
    return result;
}

} // namespace

std::optional<std::vector<double>> perChannel(const Tensor& constant, const ChannelView& view)
{
    const SpreadConstant spread(constant, view);
    if (!spread.fits() || !spread.isAlikeWithinChannels()) {
        return std::nullopt;
    }
    std::vector<double> numbers(static_cast<std::size_t>(view.channels));
    for (std::size_t c = 0; c < numbers.size(); ++c) {
        numbers[c] = spread.at(static_cast<std::int64_t>(c));
    }
    return numbers;
}

bool isRearrangement(const Node& node)
{
    return node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0].isValid() &&
           ops::areElements(node, {ops::Elements::Reshaped, ops::Elements::Turned});
}

std::optional<ChannelView> across(const Node& node, const ChannelView& view, bool isForward, GenericShapes& shapes)
{
    const bool isTurned = ops::areElements(node, {ops::Elements::Turned});
    if (isTurned && view.isWhole) {
        return transposed(node, view, isForward);
    }
    const auto from = shapes.of(isForward ? node.inputs[0] : node.outputs[0]);
    const auto to = shapes.of(isForward ? node.outputs[0] : node.inputs[0]);
    const std::optional<ChannelView> whole = from && to ? completed(view, *from) : std::nullopt;
    if (!whole) {
        return std::nullopt;
    }
    return isTurned ? transposed(node, *whole, isForward) : regrouped(*whole, *from, *to);
}

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
    return ops::isConvolution(node) ? convolution(node, weight) : std::nullopt;
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
    const bool isOne = count == 1 && (channels == 1 || ops::isProduct(node));
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
    if (ops::isMatMul(node)) {
        node.domain = "retrograde";
        node.opset = 1;
    }
    return node;
}

} // namespace retro::rewrite
