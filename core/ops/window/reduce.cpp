// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

#include <array>
#include <numeric>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Sum or mean over axes.
class AxisReduction final : public Operator<Reduction>
{
public:
    AxisReduction(TensorType output, const Shape& operand, std::vector<std::size_t> axes, bool isMean)
        : Operator(std::move(output)), m_operand(operand), m_kept(operand), m_axes(std::move(axes)), m_isMean(isMean)
    {
        for (const std::size_t axis : m_axes) {
            m_kept[axis] = 1;
        }
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor sum = sumOverAxes(operands[0], m_axes).reshaped(m_outputTypes[0].shape);
        if (!m_isMean) {
            return {sum};
        }
        return visitNumber(sum.dtype(), [&](auto zero) -> std::vector<Tensor> {
            using T = decltype(zero);
            const std::int64_t count = extentOf(m_operand, m_axes);
            const T divisor = static_cast<T>(std::is_integral_v<T> ? std::max<std::int64_t>(count, 1) : count);
            return {mapElements<T>(sum, [divisor](T x) { return static_cast<T>(x / divisor); })};
        });
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] double flops() const override { return static_cast<double>(tensor::elementCount(m_operand)); }
    [[nodiscard]] bool isMean() const override { return m_isMean; }
    [[nodiscard]] Tensor spread(const Tensor& reduced) const override
    {
        return algebra::broadcastTo(reduced.reshaped(m_kept), m_operand);
    }

private:
    Shape m_operand;
    Shape m_kept; // the operand's shape with reduced axes of extent 1
    std::vector<std::size_t> m_axes;
    bool m_isMean;
};

/// Axes to reduce: those that the node names, else all, unless it asks for none.
base::Result<std::vector<std::size_t>> reducedAxes(const BindContext& context, std::int64_t operandSince)
{
    const std::size_t rank = firstType(context).shape.size();
    RETRO_TRY(const auto given, intsFrom(context, "axes", 1, operandSince));
    RETRO_TRY(auto axes, axesWithin(context, given, rank));
    const bool isNoop = context.node.opset >= operandSince && context.intAttribute("noop_with_empty_axes", 0) != 0;
    if (axes.empty() && !isNoop) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), std::size_t{0});
    }
    return axes;
}

Shape reducedShape(const Shape& operand, const std::vector<std::size_t>& axes, bool keeps)
{
    Shape shape = operand;
    for (std::size_t i = axes.size(); i-- > 0;) {
        shape[axes[i]] = 1;
        if (!keeps) {
            shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axes[i]));
        }
    }
    return shape;
}

BoundResult bindReduction(const BindContext& context, bool isMean, std::int64_t operandSince)
{
    RETRO_CHECK(expect(
        context, {.most = context.node.opset >= operandSince ? 2U : 1U,
                  .attributes = {{"keepdims", AttributeKind::Int}, {"noop_with_empty_axes", AttributeKind::Int}}}));
    RETRO_CHECK(expectNumber(context, 0));
    const TensorType& operand = firstType(context);
    RETRO_TRY(auto axes, reducedAxes(context, operandSince));
    Shape shape = reducedShape(operand.shape, axes, context.intAttribute("keepdims", 1) != 0);
    return bound<AxisReduction>(TensorType{operand.dtype, std::move(shape)}, operand.shape, std::move(axes), isMean);
}

BoundResult bindReduceSum(const BindContext& context) { return bindReduction(context, false, 13); }
BoundResult bindReduceMean(const BindContext& context) { return bindReduction(context, true, 18); }

} // namespace

std::span<const OperatorDeclaration> reduceDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "ReduceSum", 1, 0, "reduction", true, bindReduceSum},
        OperatorDeclaration{"", "ReduceMean", 1, 0, "reduction", true, bindReduceMean},
    };
    return kDeclarations;
}

} // namespace retro::ops
