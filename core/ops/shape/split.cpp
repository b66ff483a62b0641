// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/slices.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Pieces of the operand along an axis, as views: Split; Unbind takes the axis away.
class Splitting final : public Operator<ShapeMap>
{
public:
    Splitting(const TensorType& operand, std::vector<std::int64_t> extents, std::size_t axis, bool isUnbind)
        : Operator(outputsOf(operand, extents, axis, isUnbind)), m_operand(operand), m_extents(std::move(extents)),
          m_axis(axis), m_isUnbind(isUnbind)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        std::vector<Tensor> parts;
        std::int64_t begin = 0;
        for (const std::int64_t extent : m_extents) {
            const Tensor part = slice(operands[0], m_axis, begin, extent);
            parts.push_back(m_isUnbind ? withoutAxis(part, m_axis) : part);
            begin += extent;
        }
        return parts;
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        std::vector<Tensor> parts(perOutput.begin(), perOutput.end());
        for (Tensor& part : parts) {
            part = m_isUnbind && part.isValid() ? withAxis(part, m_axis) : part;
        }
        return joined(m_operand, parts, m_extents, m_axis);
    }

private:
    static std::vector<TensorType> outputsOf(const TensorType& operand, const std::vector<std::int64_t>& extents,
                                             std::size_t axis, bool isUnbind)
    {
        std::vector<TensorType> outputs;
        for (const std::int64_t extent : extents) {
            Shape shape = operand.shape;
            shape[axis] = extent;
            if (isUnbind) {
                shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
            }
            outputs.push_back({operand.dtype, std::move(shape)});
        }
        return outputs;
    }

    TensorType m_operand;
    std::vector<std::int64_t> m_extents;
    std::size_t m_axis;
    bool m_isUnbind;
};

/// `count` pieces of `extent`: equal ones, or from opset 18 on a smaller last one.
base::Result<std::vector<std::int64_t>> equalPieces(const BindContext& context, std::int64_t extent)
{
    const auto count = static_cast<std::int64_t>(context.node.outputs.size());
    if (context.node.opset < 18 && extent % count != 0) {
        return context.error(fmt::format("extent {} does not divide into {} equal pieces", extent, count));
    }
    if (context.node.opset >= 18 && context.intAttribute("num_outputs", count) != count) {
        return context.error(fmt::format("num_outputs is {}, but the node has {} outputs",
                                         context.intAttribute("num_outputs", count), count));
    }
    const std::int64_t piece = (extent + count - 1) / count;
    std::vector<std::int64_t> pieces(static_cast<std::size_t>(count), piece);
    pieces.back() = extent - piece * (count - 1);
    if (pieces.back() < 0) {
        return context.error(fmt::format("extent {} is too small for {} pieces of {}", extent, count, piece));
    }
    return pieces;
}

base::Result<std::vector<std::int64_t>> piecesOf(const BindContext& context, std::int64_t extent)
{
    const bool isFirstForm = context.node.opset < 2;
    const std::int64_t operandSince = isFirstForm && context.present(1) ? 1 : 13;
    const bool hasPieces = hasInts(context, "split", 1, operandSince);
    const bool hasCount = context.node.attributes.contains("num_outputs");
    if (context.node.opset >= 18 && hasPieces == hasCount) {
        return context.error(fmt::format("{} of split (operand 1) and attribute 'num_outputs' is given; one of them "
                                         "must be, and not the other",
                                         hasPieces ? "each" : "none"));
    }
    if (!hasPieces) {
        return equalPieces(context, extent);
    }
    RETRO_TRY(auto pieces, intsFrom(context, "split", 1, operandSince));
    const bool isSane =
        std::all_of(pieces.begin(), pieces.end(), [extent](std::int64_t p) { return p >= 0 && p <= extent; });
    if (!isSane || pieces.size() != context.node.outputs.size() ||
        std::accumulate(pieces.begin(), pieces.end(), std::int64_t{0}) != extent) {
        return context.error(fmt::format("pieces [{}] do not add up to extent {} over {} outputs",
                                         fmt::join(pieces, ", "), extent, context.node.outputs.size()));
    }
    return pieces;
}

BoundResult bindSplit(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), operand.shape.size()));
    RETRO_TRY(auto pieces, piecesOf(context, operand.shape[axis]));
    return bound<Splitting>(operand, std::move(pieces), axis, false);
}

BoundResult bindUnbind(const BindContext& context)
{
    const TensorType& operand = firstType(context);
    RETRO_TRY(const std::size_t axis, axisWithin(context, context.intAttribute("axis", 0), operand.shape.size()));
    const std::size_t count = context.node.outputs.size();
    if (operand.shape[axis] != static_cast<std::int64_t>(count)) {
        return context.error(
            fmt::format("axis {} has extent {}, but the node has {} outputs", axis, operand.shape[axis], count));
    }
    return bound<Splitting>(operand, std::vector<std::int64_t>(count, 1), axis, true);
}

} // namespace

const OperatorFamily kSplitOperators{
    {"", "Split", 1, 0, "shape map", true, bindSplit, false, Elements::Taken},
    {"ai.retrograde", "Unbind", 1, 0, "shape map", true, bindUnbind},
};

} // namespace retro::ops
