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

/// The middle of each axis, cut out or surrounded by zeros.
class CenterCropPad final : public Operator<ShapeMap>
{
public:
    CenterCropPad(TensorType output, Shape operand) : Operator(std::move(output)), m_operand(std::move(operand)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {fitted(operands[0], m_operand, m_outputTypes[0].shape)};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] Tensor carryBack(std::span<const Tensor> perOutput, std::size_t) const override
    {
        if (!perOutput[0].isValid()) {
            return Tensor::zeros(m_outputTypes[0].dtype, m_operand);
        }
        return fitted(perOutput[0], m_outputTypes[0].shape, m_operand);
    }

private:
    /// Where the part that both shapes have begins: (larger − smaller)/2, for cutting and for padding alike.
    static Tensor fitted(const Tensor& t, const Shape& from, const Shape& to)
    {
        Tensor part = t;
        std::int64_t offset = 0;
        const Shape strides = tensor::rowMajorStrides(to);
        for (std::size_t axis = 0; axis < from.size(); ++axis) {
            const std::int64_t gap = (std::max(from[axis], to[axis]) - std::min(from[axis], to[axis])) / 2;
            if (from[axis] > to[axis]) {
                part = slice(part, axis, gap, to[axis]);
            } else {
                offset += gap * strides[axis];
            }
        }
        tensor::TensorBuffer buffer(t.dtype(), to);
        buffer.clear();
        if (part.size() > 0) {
            place(buffer, strides, offset, part);
        }
        return std::move(buffer).freeze();
    }

    Shape m_operand;
};

BoundResult bindCenterCropPad(const BindContext& context)
{
    const TensorType& x = firstType(context);
    RETRO_TRY(const auto sizes, context.constantInts(1));
    std::vector<std::int64_t> axes(x.shape.size());
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
    axes = context.intsAttribute("axes", axes);
    if (axes.size() != sizes.size()) {
        return context.error(fmt::format("{} axes, but {} extents", axes.size(), sizes.size()));
    }
    RETRO_CHECK(axesWithin(context, axes, x.shape.size()));
    Shape shape = x.shape;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        RETRO_TRY(const std::size_t axis, axisWithin(context, axes[i], x.shape.size()));
        shape[axis] = sizes[i];
    }
    RETRO_CHECK(expectSize(context, shape));
    return bound<CenterCropPad>(TensorType{x.dtype, std::move(shape)}, x.shape);
}

} // namespace

const OperatorFamily kCenterCropPadOperators{
    {"", "CenterCropPad", 18, 0, "shape map", true, bindCenterCropPad},
};

} // namespace retro::ops
