// SPDX-License-Identifier: Apache-2.0
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/visitnumber.h"

#include <array>

namespace retro::ops
{

namespace
{

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

/// The slope, which in the first forms has one value per channel.
Tensor slopeOf(const BindContext& context)
{
    const Tensor& slope = context.constants[1];
    const std::size_t rank = firstType(context).shape.size();
    if (context.node.opset >= 7 || slope.rank() != 1 || slope.size() == 1 || rank < 3) {
        return slope;
    }
    tensor::Shape perChannel(rank - 1, 1);
    perChannel[0] = slope.size();
    return slope.reshaped(std::move(perChannel));
}

BoundResult bindPRelu(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = 2, .most = 2, .types = OperandTypes::Floats}));
    if (!context.constant(1)) {
        return context.error("the slope must be a constant");
    }
    const TensorType& x = firstType(context);
    Tensor slope = slopeOf(context);
    RETRO_TRY(const tensor::Shape common, broadcastShape(context, x.shape, slope.shape()));
    if (common != x.shape) {
        return context.error("the slope does not broadcast to the operand");
    }
    return bound<ParametricRelu>(x, std::move(slope));
}

} // namespace

std::span<const OperatorDeclaration> preluDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "PRelu", 1, 0, "element-wise", true, bindPRelu},
    };
    return kDeclarations;
}

} // namespace retro::ops
