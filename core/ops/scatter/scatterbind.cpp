// SPDX-License-Identifier: Apache-2.0
// ScatterElements (Scatter), ScatterND, TensorScatter.
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/indices.h"
#include "core/ops/scatter/scatter.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Each update goes to its own index, but for the index along one axis.
class ByElement final : public ScatterTarget
{
public:
    ByElement(Shape data, std::size_t axis) : m_data(std::move(data)), m_axis(axis) {}

    [[nodiscard]] ElementMap positions(std::span<const Tensor> operands) const override
    {
        return elementPositions(operands[1], m_data, m_axis);
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return indicesInside(operands[1], m_data[m_axis]);
    }

private:
    Shape m_data;
    std::size_t m_axis;
};

/// Slices of updates go to index tuples.
class ByTuple final : public ScatterTarget
{
public:
    explicit ByTuple(Shape data) : m_data(std::move(data)) {}

    [[nodiscard]] ElementMap positions(std::span<const Tensor> operands) const override
    {
        return tuplePositions(operands[1], m_data, 0);
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        return tuplesInside(operands[1], m_data, 0);
    }

private:
    Shape m_data;
};

/// A run of updates per batch goes to places from a start on, along one axis (a cache of keys or values).
class ByStart final : public ScatterTarget
{
public:
    ByStart(Shape data, Shape updates, std::size_t axis, bool isCircular)
        : m_data(std::move(data)), m_updates(std::move(updates)), m_axis(axis), m_isCircular(isCircular)
    {}

    [[nodiscard]] ElementMap positions(std::span<const Tensor> operands) const override
    {
        const std::vector<std::int64_t> starts = startsOf(operands);
        ElementMap map = roomForPositions(tensor::elementCount(m_updates));
        forEachIndex(m_updates, [&](const Shape& index) {
            map.push_back(positionOf(index, starts[static_cast<std::size_t>(index[0])] + index[m_axis]));
        });
        return map;
    }
    [[nodiscard]] base::Result<void> check(std::span<const Tensor> operands) const override
    {
        for (const std::int64_t start : startsOf(operands)) {
            const bool fits = start >= 0 && (m_isCircular || start + m_updates[m_axis] <= m_data[m_axis]);
            if (!fits) {
                return base::inputError(fmt::format("{} updates from {} on do not fit an extent of {}",
                                                    m_updates[m_axis], start, m_data[m_axis]));
            }
        }
        return {};
    }

private:
    /// Where an update goes whose place along the axis is `along`; −1 outside.
    [[nodiscard]] std::int64_t positionOf(const Shape& index, std::int64_t along) const
    {
        const std::int64_t extent = m_data[m_axis];
        along = m_isCircular && extent > 0 ? along % extent : along;
        if (along < 0 || along >= extent) {
            return -1;
        }
        std::int64_t position = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
            position = position * m_data[axis] + (axis == m_axis ? along : index[axis]);
        }
        return position;
    }
    [[nodiscard]] std::vector<std::int64_t> startsOf(std::span<const Tensor> operands) const
    {
        return operands.size() > 2 && operands[2].isValid()
                   ? integersOf(operands[2])
                   : std::vector<std::int64_t>(static_cast<std::size_t>(m_data[0]), 0);
    }

    Shape m_data;
    Shape m_updates;
    std::size_t m_axis;
    bool m_isCircular;
};

/// The attribute 'reduction', by the opset that knows it.
base::Result<ScatterReduction> reductionOf(const BindContext& context, std::int64_t sinceSum, std::int64_t sinceExtreme)
{
    static constexpr std::array<std::string_view, 5> kNames{"none", "add", "mul", "max", "min"};
    const std::string name = context.textAttribute("reduction", "none");
    const auto found = static_cast<std::size_t>(std::find(kNames.begin(), kNames.end(), name) - kNames.begin());
    const std::int64_t since = found == 0 ? 1 : found < 3 ? sinceSum : sinceExtreme;
    if (found == kNames.size() || context.node.opset < since) {
        return context.error(fmt::format("reduction '{}' is not known at this opset", name));
    }
    return static_cast<ScatterReduction>(found);
}

BoundResult boundScatter(const BindContext& context, std::unique_ptr<const ScatterTarget> target,
                         ScatterReduction reduction)
{
    const TensorType& updates = context.operandTypes[2];
    if (updates.dtype != firstType(context).dtype) {
        return context.error(fmt::format("the updates are {}, but the data is {}; insert a Cast",
                                         tensor::nameOf(updates.dtype), tensor::nameOf(firstType(context).dtype)));
    }
    if (context.constant(1)) {
        const std::array operands{Tensor(), context.constants[1]};
        if (const base::Result<void> inside = target->check(operands); !inside.ok()) {
            return context.error(inside.error().message);
        }
    }
    ScatterLayout layout{firstType(context), updates.shape, 2, 1};
    if (reduction == ScatterReduction::None) {
        return bound<ScatterOverwrite>(std::move(layout), std::move(target));
    }
    return bound<ScatterCombine>(std::move(layout), std::move(target), reduction);
}

BoundResult bindScatterElements(const BindContext& context)
{
    RETRO_CHECK(expect(
        context,
        {.least = 3, .most = 3, .attributes = {{"axis", AttributeKind::Int}, {"reduction", AttributeKind::Text}}}));
    RETRO_CHECK(expectIndices(context, 1));
    const Shape& data = firstType(context).shape;
    const Shape& indices = context.operandTypes[1].shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), data.size()));
    bool fits = indices == context.operandTypes[2].shape && indices.size() == data.size();
    for (std::size_t i = 0; fits && i < data.size(); ++i) {
        fits = i == axis || indices[i] <= data[i];
    }
    if (!fits) {
        return context.error("indices and updates must have one shape that does not reach over the data");
    }
    RETRO_TRY(const ScatterReduction reduction, reductionOf(context, 16, 18));
    return boundScatter(context, std::make_unique<ByElement>(data, axis), reduction);
}

BoundResult bindScatterNd(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 3, .most = 3, .attributes = {{"reduction", AttributeKind::Text}}}));
    RETRO_CHECK(expectIndices(context, 1));
    const Shape& data = firstType(context).shape;
    const Shape& indices = context.operandTypes[1].shape;
    RETRO_TRY(const std::size_t axes, tupleAxes(context, indices, data, 0));
    Shape expected(indices.begin(), indices.end() - 1);
    expected.insert(expected.end(), data.begin() + static_cast<std::ptrdiff_t>(axes), data.end());
    if (context.operandTypes[2].shape != expected) {
        return context.error(fmt::format("the updates must have the shape [{}]", tensor::toText(expected)));
    }
    RETRO_TRY(const ScatterReduction reduction, reductionOf(context, 16, 18));
    return boundScatter(context, std::make_unique<ByTuple>(data), reduction);
}

base::Result<void> expectCache(const BindContext& context, std::size_t axis)
{
    const Shape& data = firstType(context).shape;
    Shape updates = context.operandTypes[1].shape;
    if (updates.size() == data.size()) {
        updates[axis] = data[axis];
    }
    if (updates != data || axis == 0 || context.operandTypes[1].dtype != firstType(context).dtype) {
        return context.error("the update must have the type and the shape of the cache, but for the extent along an "
                             "axis that is not the first");
    }
    if (context.present(2) && context.operandTypes[2].shape != Shape{data[0]}) {
        return context.error(fmt::format("write_indices must have the shape [{}]", data[0]));
    }
    return {};
}

BoundResult bindTensorScatter(const BindContext& context)
{
    RETRO_CHECK(expect(
        context, {.least = 2, .most = 3, .attributes = {{"axis", AttributeKind::Int}, {"mode", AttributeKind::Text}}}));
    const Shape& data = firstType(context).shape;
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", -2), data.size()));
    RETRO_CHECK(expectCache(context, axis));
    if (context.present(2)) {
        RETRO_CHECK(expectIndices(context, 2));
    }
    const std::string mode = context.textAttribute("mode", "linear");
    if (mode != "linear" && mode != "circular") {
        return context.error(fmt::format("mode '{}' is unknown; only 'linear' and 'circular' are", mode));
    }
    const Shape& updates = context.operandTypes[1].shape;
    return bound<ScatterOverwrite>(ScatterLayout{firstType(context), updates, 1, 2},
                                   std::make_unique<ByStart>(data, updates, axis, mode == "circular"));
}

} // namespace

std::span<const OperatorDeclaration> scatterDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Scatter", 9, 10, "shape map", true, bindScatterElements},
        OperatorDeclaration{"", "ScatterElements", 11, 0, "shape map, function", true, bindScatterElements},
        OperatorDeclaration{"", "ScatterND", 11, 0, "shape map, function", true, bindScatterNd},
        OperatorDeclaration{"", "TensorScatter", 24, 0, "shape map", true, bindTensorScatter},
    };
    return kDeclarations;
}

} // namespace retro::ops
