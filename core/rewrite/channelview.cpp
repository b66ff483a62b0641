// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/channelview.h"

#include "core/rewrite/attributes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>

namespace retro::rewrite
{

using graph::Node;
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
    constexpr std::array<std::string_view, 5> kOperators{"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};
    return node.domain.empty() && node.outputs.size() == 1 && !node.inputs.empty() && node.inputs[0].isValid() &&
           std::ranges::find(kOperators, node.op) != kOperators.end();
}

std::optional<ChannelView> across(const Node& node, const ChannelView& view, bool isForward, GenericShapes& shapes)
{
    if (node.op == "Transpose" && view.isWhole) {
        return transposed(node, view, isForward);
    }
    const auto from = shapes.of(isForward ? node.inputs[0] : node.outputs[0]);
    const auto to = shapes.of(isForward ? node.outputs[0] : node.inputs[0]);
    const std::optional<ChannelView> whole = from && to ? completed(view, *from) : std::nullopt;
    if (!whole) {
        return std::nullopt;
    }
    return node.op == "Transpose" ? transposed(node, *whole, isForward) : regrouped(*whole, *from, *to);
}

} // namespace retro::rewrite
