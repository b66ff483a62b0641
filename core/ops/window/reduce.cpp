// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/axisreduction.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/window/reducebind.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;

struct Ratio
{
    static auto value(auto x, auto y, RowParameters) { return x / y; }
};

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
        const TensorType& type = m_outputTypes[0];
        if (!tensor::isFloating(type.dtype)) {
            return {integers(operands[0])};
        }
        const Tensor sum = sumOverAxes(operands[0], m_axes).reshaped(type.shape);
        const auto count = static_cast<double>(extentOf(m_operand, m_axes));
        return {m_isMean ? mapRows(binaryFloats<Ratio>().of(type.dtype), type.dtype, type.shape,
                                   {sum, Tensor::full(type.dtype, {}, count)})
                         : sum};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] double flops() const override { return static_cast<double>(tensor::elementCount(m_operand)); }
    [[nodiscard]] bool isMean() const override { return m_isMean; }
    [[nodiscard]] Tensor spread(const Tensor& reduced) const override
    {
        return algebra::broadcastTo(reduced.reshaped(m_kept), m_operand);
    }

private:
    /// Sums in 64 bits, which wrap around as narrower ones do; quotients towards zero.
    [[nodiscard]] Tensor integers(const Tensor& x) const
    {
        const TensorType& type = m_outputTypes[0];
        const Tensor sum = sumOverAxes(x.to(tensor::DType::Int64), m_axes).reshaped(type.shape);
        const std::int64_t count = std::max<std::int64_t>(extentOf(m_operand, m_axes), 1);
        return m_isMean ? mapNumbers(binaryIntegers<Ratio>(), type.dtype, type.shape,
                                     {sum.to(type.dtype), Tensor::scalar(count).to(type.dtype)})
                        : sum.to(type.dtype);
    }

    Shape m_operand;
    Shape m_kept; // the operand's shape with reduced axes of extent 1
    std::vector<std::size_t> m_axes;
    bool m_isMean;
};

BoundResult bindReduction(const BindContext& context, bool isMean, std::int64_t operandSince)
{
    RETRO_TRY(ReducePlan plan, reducePlan(context, operandSince));
    const TensorType& operand = firstType(context);
    if (operand.dtype == tensor::DType::Bool) {
        return context.error("the operand is bool, but must be a number; insert a Cast");
    }
    return bound<AxisReduction>(TensorType{operand.dtype, std::move(plan.result)}, operand.shape, std::move(plan.axes),
                                isMean);
}

BoundResult bindReduceSum(const BindContext& context) { return bindReduction(context, false, 13); }
BoundResult bindReduceMean(const BindContext& context) { return bindReduction(context, true, 18); }

} // namespace

const OperatorFamily kReduceOperators{
    {"", "ReduceSum", 1, 0, "reduction", true, bindReduceSum},
    {"", "ReduceMean", 1, 0, "reduction", true, bindReduceMean},
};

} // namespace retro::ops
