// SPDX-License-Identifier: Apache-2.0
// Operators that read between the places of an image: Resize, Upsample, DeformConv.
#include "core/ops/resample/axisresampling.h"
#include "core/tape/gradientgraph/windowgeometry.h"

#include <algorithm>
#include <array>

namespace retro::tape
{

namespace
{

using ops::AxisWeights;
using tensor::Shape;
using tensor::Tensor;

/// True when every element is repeated so many times in a row, each with weight 1.
bool repeatsElements(const AxisWeights& axis)
{
    const bool isWhole = axis.from > 0 && axis.to() % axis.from == 0 && axis.indices.size() == axis.starts.size() - 1;
    for (std::size_t i = 0; isWhole && i < axis.indices.size(); ++i) {
        const auto repeats = static_cast<std::size_t>(axis.to() / axis.from);
        const bool isOwn = axis.weights[i] == 1 && axis.indices[i] == static_cast<std::int64_t>(i / repeats);
        if (!isOwn || axis.isOutside[i]) {
            return false;
        }
    }
    return isWhole;
}

/// The transposed matrix of an axis: operand × result.
std::vector<double> transposed(const AxisWeights& axis)
{
    std::vector<double> matrix(static_cast<std::size_t>(axis.from * axis.to()), 0.0);
    for (std::int64_t o = 0; o < axis.to(); ++o) {
        const auto row = static_cast<std::size_t>(o);
        for (std::int64_t i = axis.starts[row]; i < axis.starts[row + 1]; ++i) {
            const auto entry = static_cast<std::size_t>(i);
            matrix[static_cast<std::size_t>(axis.indices[entry] * axis.to() + o)] += axis.weights[entry];
        }
    }
    return matrix;
}

/// up without the elements that lie outside the operand along this axis.
ValueId inside(EmitSite& site, ValueId up, std::size_t axis, const AxisWeights& weights)
{
    if (std::ranges::find(weights.isOutside, true) == weights.isOutside.end()) {
        return up;
    }
    Shape shape(site.outputShape().size(), 1);
    shape[axis] = weights.to();
    std::vector<double> kept;
    std::ranges::transform(weights.isOutside, std::back_inserter(kept), [](bool out) { return out ? 0.0 : 1.0; });
    return site.emit.node("Mul", {up, site.emit.constant(Tensor::of<double>(shape, kept).to(site.emit.floatType()))});
}

/// Lines of whole factors are summed up in groups, others meet the transposed matrix.
ValueId axisBack(EmitSite& site, ValueId value, Shape& shape, std::size_t axis, const AxisWeights& weights)
{
    const std::int64_t to = weights.to();
    shape[axis] = weights.from;
    if (repeatsElements(weights)) {
        Shape folded = shape;
        folded.insert(folded.begin() + static_cast<std::ptrdiff_t>(axis) + 1, to / weights.from);
        const ValueId wide = site.emit.reshape(value, folded);
        return site.emit.reshape(site.emit.reduce("ReduceSum", wide, {static_cast<std::int64_t>(axis) + 1}), shape);
    }
    Shape before = shape;
    before[axis] = to;
    return site.emit.alongAxis(value, before, axis, transposed(weights), weights.from);
}

/// Places that roi and scales move have a derivative by them, which has no nodes here.
std::string hasFixedPlaces(const EmitSite& site)
{
    const bool isNearest = site.text("mode", "nearest") == "nearest";
    const bool readsRoi = site.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    const std::size_t scales = site.node.op == "Resize" && site.node.opset > 10 ? 2 : 1;
    for (std::size_t slot = readsRoi ? 1 : scales; slot <= scales && !isNearest; ++slot) {
        if (site.wants(slot)) {
            return "its roi or scales depend on an input, and the slope by them has no nodes; export it with constants";
        }
    }
    return {};
}

EmittedParts resize(EmitSite& site)
{
    const auto& axes = dynamic_cast<const ops::ResamplesAxes&>(site.op()).axisWeights();
    ValueId part = site.up();
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        part = inside(site, part, axis, axes[axis]);
    }
    Shape shape = site.outputShape();
    for (std::size_t axis = axes.size(); axis-- > 0;) {
        if (!axes[axis].isIdentity()) {
            part = axisBack(site, part, shape, axis, axes[axis]);
        }
    }
    EmittedParts parts(site.operands.size());
    parts[0] = part;
    return parts;
}

enum DeformSlot : std::size_t { kImage, kWeight, kOffset, kBias, kMask };

/// Gradient of a deformable convolution. Lines hold a tap in a window each: L = taps · windows; columns are
/// batch × offset groups × channels of a group × L.
class DeformGradient
{
public:
    explicit DeformGradient(EmitSite& site)
        : m_site(site), m_emit(site.emit), m_x(site.shape(kImage)), m_w(site.shape(kWeight)),
          m_group(site.integer("group", 1)), m_moved(site.integer("offset_group", 1)),
          m_geometry(site, {m_w.begin() + 2, m_w.end()}, m_x, site.outputShape()), m_taps(m_w[2] * m_w[3]),
          m_windows(m_geometry.windows[0] * m_geometry.windows[1]), m_channels(m_x[1] / m_moved)
    {}

    EmittedParts parts()
    {
        const ValueId offsets = m_emit.reshape(m_site.operands[kOffset], {m_x[0], m_moved, m_taps, 2, m_windows});
        m_axes = {placeAlong(offsets, 0), placeAlong(offsets, 1)};
        readCorners();
        const ValueId columns = columnGradient();
        m_weighted = m_site.has(kMask) ? m_emit.node("Mul", {columns, mask()}) : columns;
        EmittedParts parts(m_site.operands.size());
        if (m_site.wants(kImage)) {
            parts[kImage] = imagePart();
        }
        if (m_site.wants(kWeight)) {
            parts[kWeight] = weightPart();
        }
        if (m_site.wants(kOffset)) {
            parts[kOffset] = offsetPart();
        }
        if (m_site.has(kBias) && m_site.wants(kBias)) {
            const std::int64_t filters = m_w[0];
            parts[kBias] =
                m_emit.reshape(m_emit.sumTo(m_site.up(), m_site.outputShape(), {1, filters, 1, 1}), {filters});
        }
        if (m_site.has(kMask) && m_site.wants(kMask)) {
            const ValueId part = m_emit.reduce("ReduceSum", m_emit.node("Mul", {columns, blended()}), {2});
            parts[kMask] = m_emit.reshape(part, m_site.shape(kMask));
        }
        return parts;
    }

private:
    /// Of all samples along one axis of the image: the element before, and how far behind it the sample lies.
    struct Place
    {
        ValueId low;
        ValueId share;
    };
    /// One of the four elements around each sample.
    struct Corner
    {
        ValueId index;                 ///< in the image of a channel, repeated per channel
        ValueId value;                 ///< 0 outside the image
        ValueId inside;                ///< 1 or 0
        std::array<ValueId, 2> weight; ///< along either axis
    };

    [[nodiscard]] Shape lines(std::int64_t channels) const { return {m_x[0], m_moved, channels, m_taps * m_windows}; }

    ValueId mask() { return m_emit.reshape(m_site.operands[kMask], lines(1)); }

    /// Where taps lie before offsets move them.
    Tensor grid(std::size_t axis) const
    {
        std::vector<double> at;
        for (std::int64_t tap = 0; tap < m_taps; ++tap) {
            for (std::int64_t window = 0; window < m_windows; ++window) {
                const std::int64_t k = axis == 0 ? tap / m_w[3] : tap % m_w[3];
                const std::int64_t columns = m_geometry.windows[1];
                const std::int64_t o = axis == 0 ? window / columns : window % columns;
                at.push_back(static_cast<double>(o * m_geometry.strides[axis] - m_geometry.pads[axis] +
                                                 k * m_geometry.dilations[axis]));
            }
        }
        return Tensor::of<double>({1, 1, 1, m_taps * m_windows}, at).to(m_emit.floatType());
    }

    Place placeAlong(ValueId offsets, std::size_t axis)
    {
        const auto from = static_cast<std::int64_t>(axis);
        const ValueId own =
            m_emit.node("Slice", {offsets, m_emit.ints({from}), m_emit.ints({from + 1}), m_emit.ints({3})});
        const ValueId at = m_emit.node("Add", {m_emit.reshape(own, lines(1)), m_emit.constant(grid(axis))});
        const ValueId low = m_emit.node("Floor", {at});
        return {low, m_emit.node("Sub", {at, low})};
    }

    /// 1 where 0 ≤ at < extent.
    ValueId isWithin(ValueId at, std::int64_t extent)
    {
        const ValueId one = m_emit.scalar(1);
        const ValueId zero = m_emit.scalar(0);
        const ValueId isLow = m_emit.node("Less", {at, zero});
        const ValueId isHigh = m_emit.node("Greater", {at, m_emit.scalar(static_cast<double>(extent - 1))});
        return m_emit.node("Where", {m_emit.node("Or", {isLow, isHigh}), zero, one});
    }

    void readCorners()
    {
        const ValueId flat = m_emit.reshape(m_site.operands[kImage], {m_x[0], m_moved, m_channels, m_x[2] * m_x[3]});
        for (std::size_t i = 0; i < 4; ++i) {
            const std::array<bool, 2> isHigh{i / 2 == 1, i % 2 == 1};
            std::array<ValueId, 2> at;
            Corner& corner = m_corners[i];
            std::array<ValueId, 2> within;
            for (std::size_t axis = 0; axis < 2; ++axis) {
                const Place& place = m_axes[axis];
                const ValueId one = m_emit.scalar(1);
                const ValueId raw = isHigh[axis] ? m_emit.node("Add", {place.low, one}) : place.low;
                within[axis] = isWithin(raw, m_x[axis + 2]);
                const ValueId least = m_emit.node("Max", {raw, m_emit.scalar(0)});
                at[axis] = m_emit.node("Min", {least, m_emit.scalar(static_cast<double>(m_x[axis + 2] - 1))});
                corner.weight[axis] = isHigh[axis] ? place.share : m_emit.node("Sub", {one, place.share});
            }
            const ValueId row = m_emit.node("Mul", {at[0], m_emit.scalar(static_cast<double>(m_x[3]))});
            const ValueId index = m_emit.node("Cast", {m_emit.node("Add", {row, at[1]})}, {{"to", kInt64}});
            corner.index = m_emit.node("Expand", {index, m_emit.ints(lines(m_channels))});
            corner.inside = m_emit.node("Mul", {within[0], within[1]});
            const ValueId read = m_emit.node("GatherElements", {flat, corner.index}, {{"axis", std::int64_t{3}}});
            corner.value = m_emit.node("Mul", {read, corner.inside});
        }
    }

    /// What the taps read.
    ValueId blended()
    {
        ValueId sum;
        for (const Corner& corner : m_corners) {
            const ValueId weight = m_emit.node("Mul", {corner.weight[0], corner.weight[1]});
            const ValueId part = m_emit.node("Mul", {corner.value, weight});
            sum = sum.isValid() ? m_emit.node("Add", {sum, part}) : part;
        }
        return sum;
    }

    /// What arrives at the columns, before the mask.
    ValueId columnGradient()
    {
        const std::int64_t depth = m_w[1] * m_taps;
        const ValueId weights = m_emit.reshape(m_site.operands[kWeight], {1, m_group, m_w[0] / m_group, depth});
        const ValueId arrived = m_emit.reshape(m_site.up(), {m_x[0], m_group, m_w[0] / m_group, m_windows});
        return m_emit.reshape(m_emit.node("MatMul", {m_emit.swapLast(weights, 4), arrived}), lines(m_channels));
    }

    ValueId imagePart()
    {
        ValueId sum = m_emit.filled({m_x[0], m_moved, m_channels, m_x[2] * m_x[3]}, 0);
        for (const Corner& corner : m_corners) {
            const ValueId weight =
                m_emit.node("Mul", {m_emit.node("Mul", {corner.weight[0], corner.weight[1]}), corner.inside});
            sum = m_emit.node("ScatterElements", {sum, corner.index, m_emit.node("Mul", {m_weighted, weight})},
                              {{"axis", std::int64_t{3}}, {"reduction", std::string("add")}});
        }
        return m_emit.reshape(sum, m_x);
    }

    ValueId weightPart()
    {
        const ValueId read = m_site.has(kMask) ? m_emit.node("Mul", {blended(), mask()}) : blended();
        const ValueId columns = m_emit.reshape(read, {m_x[0], m_group, m_w[1] * m_taps, m_windows});
        const ValueId arrived = m_emit.reshape(m_site.up(), {m_x[0], m_group, m_w[0] / m_group, m_windows});
        const ValueId each = m_emit.node("MatMul", {arrived, m_emit.swapLast(columns, 4)});
        return m_emit.reshape(m_emit.reduce("ReduceSum", each, {0}), m_w);
    }

    /// The slope of what a tap reads, along either axis.
    ValueId offsetPart()
    {
        std::vector<ValueId> parts;
        for (std::size_t axis = 0; axis < 2; ++axis) {
            ValueId slope;
            for (std::size_t i = 0; i < 4; ++i) {
                const bool isHigh = (axis == 0 ? i / 2 : i % 2) == 1;
                const ValueId part = m_emit.node("Mul", {m_corners[i].value, m_corners[i].weight[1 - axis]});
                const ValueId first = isHigh ? part : m_emit.node("Neg", {part});
                slope = slope.isValid() ? m_emit.node("Add", {slope, first}) : first;
            }
            const ValueId sum = m_emit.reduce("ReduceSum", m_emit.node("Mul", {m_weighted, slope}), {2});
            parts.push_back(m_emit.reshape(sum, {m_x[0], m_moved, m_taps, 1, m_windows}));
        }
        return m_emit.reshape(m_emit.node("Concat", std::move(parts), {{"axis", std::int64_t{3}}}),
                              m_site.shape(kOffset));
    }

    static constexpr std::int64_t kInt64 = 7; // TensorProto.DataType

    EmitSite& m_site;
    Emitter& m_emit;
    const Shape& m_x;
    const Shape& m_w;
    std::int64_t m_group;
    std::int64_t m_moved; ///< groups of channels that are moved alike
    WindowGeometry m_geometry;
    std::int64_t m_taps;
    std::int64_t m_windows;
    std::int64_t m_channels; ///< of an offset group
    std::array<Place, 2> m_axes;
    std::array<Corner, 4> m_corners;
    ValueId m_weighted; ///< what arrives at the columns, behind the mask
};

EmittedParts deformConvolution(EmitSite& site) { return DeformGradient(site).parts(); }

} // namespace

const EmitRules kResampleRules{
    {"DeformConv", never, deformConvolution},
    {"Resize", hasFixedPlaces, resize, 1},
    {"Upsample", hasFixedPlaces, resize, 1},
};

} // namespace retro::tape
