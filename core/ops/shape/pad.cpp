// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/shape/mappedelements.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Pad with one value; negative pads cut off. The value is a constant, or operand 2 of the run when `fill` is invalid.
class ConstantPad final : public Operator<ShapeMap>
{
public:
    ConstantPad(TensorType output, Shape operand, Shape begins, Tensor fill, Shape fillShape)
        : Operator(std::move(output)), m_operand(std::move(operand)), m_begins(std::move(begins)),
          m_fill(std::move(fill)), m_fillShape(std::move(fillShape))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        return {moved(operands[0], type.shape, m_begins, m_fill.isValid() ? m_fill : operands[2])};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t slot) const override
    {
        const tensor::DType type = m_outputTypes[0].dtype;
        if (!perOutput[0].isValid()) {
            return Tensor::zeros(type, slot == 0 ? m_operand : Shape());
        }
        Shape back = m_begins;
        for (std::int64_t& begin : back) {
            begin = -begin;
        }
        const Tensor inside = moved(perOutput[0], m_operand, back, Tensor::zeros(type, {}));
        return slot == 0 ? inside : Tensor::full(type, m_fillShape, algebra::sum(perOutput[0]) - algebra::sum(inside));
    }

private:
    /// `t` with element 0 … 0 at `begins` of a tensor of `shape`; what falls outside is dropped, the rest is `fill`.
    static Tensor moved(const Tensor& t, const Shape& shape, const Shape& begins, const Tensor& fill)
    {
        const Shape strides = stridesInOrderOf(t, shape);
        tensor::TensorBuffer buffer(t.dtype(), shape, strides);
        place(buffer, strides, 0, Tensor(fill.dtype(), shape, Shape(shape.size(), 0), fill.offset(), fill.storage()));
        Tensor inside = t;
        std::int64_t offset = 0;
        for (std::size_t axis = 0; axis < shape.size(); ++axis) {
            const std::int64_t first = std::max<std::int64_t>(-begins[axis], 0);
            const std::int64_t end = std::min(t.shape()[axis], shape[axis] - begins[axis]);
            if (end <= first) {
                return std::move(buffer).freeze();
            }
            inside = slice(inside, axis, first, end - first);
            offset += (begins[axis] + first) * strides[axis];
        }
        place(buffer, strides, offset, inside);
        return std::move(buffer).freeze();
    }

    Shape m_operand;
    Shape m_begins;
    Tensor m_fill;
    Shape m_fillShape;
};

/// The axes that the pads are for: all, or those that operand 3 names.
base::Result<std::vector<std::size_t>> paddedAxes(const BindContext& context)
{
    const std::size_t rank = firstType(context).shape.size();
    std::vector<std::size_t> axes(rank);
    std::iota(axes.begin(), axes.end(), std::size_t{0});
    if (context.node.opset < 18 || !context.present(3)) {
        return axes;
    }
    RETRO_TRY(const auto named, context.constantInts(3));
    RETRO_TRY([[maybe_unused]] const auto sorted, axesWithin(context, named, rank)); // refuses what is named twice
    axes.clear();
    for (const std::int64_t axis : named) {
        axes.push_back(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis));
    }
    return axes;
}

/// The pads as the node gives them; some exporters write one row of them.
base::Result<std::vector<std::int64_t>> givenPads(const BindContext& context)
{
    const bool isRow = context.node.opset >= 11 && context.operandTypes[1].shape.size() == 2 &&
                       context.operandTypes[1].shape[0] == 1 && !tensor::isFloating(context.operandTypes[1].dtype);
    if (!isRow) {
        return intsFrom(context, context.node.opset < 2 ? "paddings" : "pads", 1, 11);
    }
    RETRO_TRY(const Tensor row, context.known(1));
    return integersOf(row);
}

/// Begins and ends for all axes.
base::Result<Shape> padsOf(const BindContext& context)
{
    const std::size_t rank = firstType(context).shape.size();
    RETRO_TRY(const auto given, givenPads(context));
    RETRO_TRY(const auto axes, paddedAxes(context));
    if (given.size() != 2 * axes.size()) {
        return context.error(
            fmt::format("pads has {} entries, but {} axes need {}", given.size(), axes.size(), 2 * axes.size()));
    }
    Shape pads(2 * rank, 0);
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] < -kMaxElements || given[i] > kMaxElements) {
            return context.error(fmt::format("pads contains {}, which is out of range", given[i]));
        }
        pads[axes[i % axes.size()] + (i < axes.size() ? 0 : rank)] = given[i];
    }
    return pads;
}

base::Result<Tensor> fillOf(const BindContext& context)
{
    const tensor::DType type = firstType(context).dtype;
    if (context.node.opset < 11) {
        return Tensor::full(type, {}, context.floatAttribute("value", 0));
    }
    if (!context.present(2)) {
        return Tensor::zeros(type, {});
    }
    const TensorType& given = context.operandTypes[2];
    if (tensor::elementCount(given.shape) != 1 || given.dtype != type) {
        return context.error("constant_value must be one element of the operand's type");
    }
    return context.constant(2) ? context.constants[2].reshaped({}) : Tensor();
}

/// Which operand element stands at position i, counted from the operand's first element, along an axis of `extent`.
struct Continuation
{
    std::int64_t (*at)(std::int64_t i, std::int64_t extent) = nullptr;
};

std::int64_t atEdge(std::int64_t i, std::int64_t extent) { return std::clamp<std::int64_t>(i, 0, extent - 1); }

std::int64_t wrapped(std::int64_t i, std::int64_t extent) { return (i % extent + extent) % extent; }

/// Mirrored at the first and the last element, which are not repeated.
std::int64_t mirrored(std::int64_t i, std::int64_t extent)
{
    const std::int64_t period = std::max<std::int64_t>(2 * (extent - 1), 1);
    const std::int64_t inside = wrapped(i, period);
    return inside < extent ? inside : period - inside;
}

base::Result<Continuation> continuationOf(const BindContext& context, const std::string& mode)
{
    if (mode == "edge") {
        return Continuation{atEdge};
    }
    if (mode == "reflect") {
        return Continuation{mirrored};
    }
    if (mode == "wrap" && context.node.opset >= 19) {
        return Continuation{wrapped};
    }
    return context.error(fmt::format("mode '{}' is not known at this opset; only constant, edge, reflect and (from 19 "
                                     "on) wrap are",
                                     mode));
}

/// What negative pads leave of an axis of the operand, and how many elements are put in front of that.
struct KeptAxis
{
    std::int64_t first = 0;
    std::int64_t extent = 0;
    std::int64_t before = 0;
};

/// The operand is cut first, then what is left of it is continued. A mirror shows each element once on either side.
base::Result<KeptAxis> keptAxis(const BindContext& context, const Shape& pads, std::size_t axis, bool isMirror)
{
    const std::int64_t begin = pads[axis];
    const std::int64_t end = pads[pads.size() / 2 + axis];
    const std::int64_t first = std::max<std::int64_t>(-begin, 0);
    const std::int64_t extent = firstType(context).shape[axis] - first - std::max<std::int64_t>(-end, 0);
    const std::int64_t longest = std::max({begin, end, std::int64_t{0}});
    if (longest > 0 && extent < 1) {
        return context.error(fmt::format("axis {} has no elements to continue with", axis));
    }
    if (isMirror && longest >= extent && longest > 0) {
        return context.error(fmt::format("mode reflect puts {} elements on a side of axis {}, but its {} elements "
                                         "mirror at most {}",
                                         longest, axis, extent, extent - 1));
    }
    return KeptAxis{first, extent, std::max<std::int64_t>(begin, 0)};
}

/// A map by which no element of the pad value, which may be given all the same, is read.
class ContinuedPad final : public FixedMap
{
public:
    ContinuedPad(TensorType output, Shape operand, ElementMap map, Shape fillShape)
        : FixedMap(std::move(output), std::move(operand), std::move(map)), m_fillShape(std::move(fillShape))
    {}

    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::span<const Tensor> operands,
                                   std::size_t slot) const override
    {
        return slot == 0 ? FixedMap::carryBack(perOutput, operands, slot)
                         : Tensor::zeros(m_outputTypes[0].dtype, m_fillShape);
    }

private:
    Shape m_fillShape;
};

Shape fillShapeOf(const BindContext& context) { return context.present(2) ? context.operandTypes[2].shape : Shape(); }

/// Pad with elements of the operand.
BoundResult boundContinuation(const BindContext& context, const Shape& pads, Shape shape, Continuation f)
{
    const TensorType& operand = firstType(context);
    std::vector<KeptAxis> axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        RETRO_TRY(const KeptAxis kept, keptAxis(context, pads, axis, f.at == mirrored));
        axes.push_back(kept);
    }
    const Shape strides = tensor::rowMajorStrides(operand.shape);
    ElementMap map = roomForPositions(tensor::elementCount(shape));
    forEachIndex(shape, [&](const Shape& index) {
        std::int64_t position = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
            const KeptAxis& kept = axes[axis];
            position += (kept.first + f.at(index[axis] - kept.before, kept.extent)) * strides[axis];
        }
        map.push_back(position);
    });
    return bound<ContinuedPad>(TensorType{operand.dtype, std::move(shape)}, operand.shape, std::move(map),
                               fillShapeOf(context));
}

BoundResult bindPad(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    const std::size_t rank = operand.shape.size();
    RETRO_TRY(Shape pads, padsOf(context));
    Shape shape = operand.shape;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        shape[axis] += pads[axis] + pads[rank + axis];
    }
    RETRO_CHECK(expectSize(context, shape));
    const std::string mode = context.textAttribute("mode", "constant");
    if (mode != "constant") {
        RETRO_TRY([[maybe_unused]] const Tensor unread, fillOf(context));
        RETRO_TRY(const Continuation f, continuationOf(context, mode));
        return boundContinuation(context, pads, std::move(shape), f);
    }
    pads.resize(rank);
    RETRO_TRY(Tensor fill, fillOf(context));
    return bound<ConstantPad>(TensorType{operand.dtype, std::move(shape)}, operand.shape, std::move(pads),
                              std::move(fill), fillShapeOf(context));
}

} // namespace

const OperatorFamily kPadOperators{
    {"", "Pad", 1, 0, "shape map", true, bindPad, true, Elements::Padded},
};

} // namespace retro::ops
