// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/rowloop.h"
#include "core/ops/kernel/visitnumber.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// x for x > 0, else slope·x, with a constant slope that broadcasts to x.
class ParametricRelu final : public Operator<ElementWise>
{
public:
    ParametricRelu(TensorType output, Tensor slope) : Operator(std::move(output)), m_slope(std::move(slope)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor& x = operands[0];
        return visitFloat(x.dtype(), [&](auto zero) -> std::vector<Tensor> {
            using T = decltype(zero);
            return {mapElements<T>(x, m_slope, x.shape(), [](T v, T slope) { return v > T{0} ? v : slope * v; })};
        });
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::firstOperand(); }
    [[nodiscard]] Tensor derivative(const Tensor& x, const Tensor&) const override
    {
        return visitFloat(x.dtype(), [&](auto zero) {
            using T = decltype(zero);
            return mapElements<T>(x, m_slope, x.shape(), [](T v, T slope) { return v > T{0} ? T{1} : slope; });
        });
    }
    [[nodiscard]] bool derivativeReadsOutput() const override { return false; }

private:
    Tensor m_slope;
};

/// What the operand gets, and what the slope gets, of s.
struct ToOperand
{
    static auto value(auto s, auto x, auto slope, RowParameters) { return x > 0 ? s : s * slope; }
};
struct ToSlope
{
    template <class T>
    static T value(T s, T x, T, RowParameters)
    {
        return x > T{0} ? T{0} : s * x;
    }
};
struct Bent
{
    static auto value(auto x, auto slope, RowParameters) { return x > 0 ? x : times(slope, x); }
};

/// The same with a slope that is computed; of integers too.
class ComputedSlope final : public Operator<Differentiable>
{
public:
    ComputedSlope(TensorType output, Shape slope, Shape asBroadcast)
        : Operator(std::move(output)), m_slope(std::move(slope)), m_asBroadcast(std::move(asBroadcast))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        return {mapNumbers(binaryNumbers<Bent>(), type.dtype, type.shape,
                           {operands[0], operands[1].reshaped(m_asBroadcast)})};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const TensorType& type = m_outputTypes[0];
        const NumberRows rows = slot == 0 ? ternaryFloats<ToOperand>() : ternaryFloats<ToSlope>();
        const Tensor part =
            mapNumbers(rows, type.dtype, type.shape, {s[0], operands[0], operands[1].reshaped(m_asBroadcast)});
        return slot == 0 ? part : algebra::reduceTo(part, m_asBroadcast).reshaped(m_slope);
    }

private:
    Shape m_slope;
    Shape m_asBroadcast;
};

/// The shape of the slope, which in the first forms has one value per channel, as it broadcasts.
Shape slopeShape(const BindContext& context)
{
    const Shape& slope = context.operandTypes[1].shape;
    const std::size_t rank = firstType(context).shape.size();
    if (context.node.opset >= 7 || slope.size() != 1 || slope[0] == 1 || rank < 3) {
        return slope;
    }
    Shape perChannel(rank - 1, 1);
    perChannel[0] = slope[0];
    return perChannel;
}

BoundResult bindPRelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    const TensorType& x = firstType(context);
    Shape asBroadcast = slopeShape(context);
    RETRO_TRY(const Shape common, broadcastShape(context, x.shape, asBroadcast));
    if (common != x.shape) {
        return context.error("the slope does not broadcast to the operand");
    }
    if (context.constant(1) && tensor::isFloating(x.dtype)) {
        return bound<ParametricRelu>(x, context.constants[1].reshaped(std::move(asBroadcast)));
    }
    return bound<ComputedSlope>(x, context.operandTypes[1].shape, std::move(asBroadcast));
}

} // namespace

const OperatorFamily kPreluOperators{
    {"", "PRelu", 1, 0, "element-wise, function", true, bindPRelu, false, Elements::Combined},
};

} // namespace retro::ops
