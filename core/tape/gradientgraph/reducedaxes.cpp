// SPDX-License-Identifier: Apache-2.0
#include "core/tape/gradientgraph/reducedaxes.h"

#include <algorithm>
#include <numeric>

namespace retro::tape
{

namespace
{

using AxisNumbers = std::vector<std::int64_t>;

/// Of an attribute or operand, all without either; none when noop_with_empty_axes says so.
AxisNumbers axesOf(const EmitSite& site)
{
    const std::size_t rank = site.shape(0).size();
    const bool isGlobal = site.node.op.starts_with("Global");
    AxisNumbers axes = site.known(1).value_or(site.integers("axes", {}));
    if (isGlobal || (axes.empty() && site.integer("noop_with_empty_axes", 0) == 0)) {
        axes.resize(isGlobal ? rank - 2 : rank);
        std::iota(axes.begin(), axes.end(), isGlobal ? 2 : 0);
    }
    for (std::int64_t& axis : axes) {
        axis = static_cast<std::int64_t>(axisOf(axis, rank));
    }
    std::ranges::sort(axes);
    return axes;
}

/// Its axes in another order.
ValueId turned(Emitter& emit, ValueId value, const AxisNumbers& order)
{
    return std::ranges::is_sorted(order) ? value : emit.node("Transpose", {value}, {{"perm", order}});
}

} // namespace

ReducedAxes::ReducedAxes(EmitSite& site)
    : m_site(site), m_axes(axesOf(site)),
      m_keepsAxes(site.node.op.starts_with("Global") || site.integer("keepdims", 1) != 0)
{}

ValueId ReducedAxes::widened(ValueId value) const
{
    Emitter& emit = m_site.emit;
    if (m_keepsAxes || m_axes.empty()) {
        return value;
    }
    return emit.opset() < 13 ? emit.node("Unsqueeze", {value}, {{"axes", m_axes}})
                             : emit.node("Unsqueeze", {value, emit.ints(m_axes)});
}

ValueId ReducedAxes::spread(ValueId value) const
{
    Emitter& emit = m_site.emit;
    const ValueId extents = m_site.isFree ? emit.node("Shape", {m_site.operands[0]}) : emit.ints(m_site.shape(0));
    return emit.node("Expand", {widened(value), extents});
}

ValueId ReducedAxes::perElement(ValueId value) const
{
    Emitter& emit = m_site.emit;
    double known = 1;
    AxisNumbers free;
    for (const std::int64_t axis : m_axes) {
        const auto at = static_cast<std::size_t>(axis);
        if (m_site.hasFree(0, at)) {
            free.push_back(axis);
        } else {
            known *= static_cast<double>(m_site.shape(0)[at]);
        }
    }
    if (known != 1) {
        value = emit.node("Mul", {value, emit.scalar(1 / known)});
    }
    if (free.empty()) {
        return value;
    }
    const ValueId extents = emit.node("Gather", {emit.node("Shape", {m_site.operands[0]}), emit.ints(free)});
    const ValueId floats = emit.node("CastLike", {extents, emit.scalar(1)});
    return emit.node("Div", {value, emit.node("ReduceProd", {floats}, {{"keepdims", std::int64_t{0}}})});
}

ValueId ReducedAxes::toWinners(std::string_view choose) const
{
    Emitter& emit = m_site.emit;
    const tensor::Shape& shape = m_site.shape(0);
    AxisNumbers order; // those that are reduced come last, as one row
    tensor::Shape known;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (!std::ranges::binary_search(m_axes, static_cast<std::int64_t>(axis))) {
            order.push_back(static_cast<std::int64_t>(axis));
            known.push_back(shape[axis]);
        }
    }
    const auto last = static_cast<std::int64_t>(order.size());
    known.push_back(tensor::elementCount(shape) / std::max<std::int64_t>(tensor::elementCount(known), 1));
    tensor::Shape rows = known;
    if (m_site.isFree) { // 0: as it is
        rows.assign(rows.size(), 0);
        rows.back() = -1;
    }
    tensor::Shape one = rows;
    one.back() = 1;
    order.insert(order.end(), m_axes.begin(), m_axes.end());
    AxisNumbers back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    const ValueId moved = turned(emit, m_site.operands[0], order);
    const ValueId x = emit.reshape(moved, rows);
    const ValueId arrived = emit.reshape(m_keepsAxes ? turned(emit, m_site.up(), order) : m_site.up(), one);
    const ValueId winners = emit.node(choose, {x}, {{"axis", last}, {"keepdims", std::int64_t{1}}});
    const ValueId zeros = m_site.isFree ? emit.filledLike(x, 0) : emit.filled(known, 0);
    const ValueId spread = emit.scatter(zeros, winners, arrived, last);
    return turned(emit, emit.node("Reshape", {spread, emit.node("Shape", {moved})}), back);
}

} // namespace retro::tape
