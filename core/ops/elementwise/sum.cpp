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

using tensor::Shape;

/// Add, Sub and Sum: operands added from the first to the last.
class SignedSum final : public Operator<SumOfOperands>
{
public:
    SignedSum(TensorType output, std::vector<double> signs) : Operator(std::move(output)), m_signs(std::move(signs)) {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Shape& shape = m_outputTypes[0].shape;
        return visitNumber(m_outputTypes[0].dtype, [&](auto zero) -> std::vector<Tensor> {
            using T = decltype(zero);
            Tensor total = operands[0];
            for (std::size_t i = 1; i < m_signs.size(); ++i) {
                total = m_signs[i] < 0 ? mapElements<T>(total, operands[i], shape, minus<T>)
                                       : mapElements<T>(total, operands[i], shape, plus<T>);
            }
            return {total};
        });
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::nothing(); }
    [[nodiscard]] std::span<const double> signs() const override { return m_signs; }

private:
    std::vector<double> m_signs;
};

BoundResult bindSum(const BindContext& context, double lastSign)
{
    Shape shape = firstType(context).shape;
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        RETRO_TRY(shape, broadcastShape(context, shape, context.operandTypes[slot].shape));
    }
    std::vector<double> signs(context.node.inputs.size(), 1);
    signs.back() = lastSign;
    return bound<SignedSum>(TensorType{firstType(context).dtype, std::move(shape)}, std::move(signs));
}

constexpr Signature kPair{.least = 2, .most = 2, .types = OperandTypes::Numbers};

BoundResult bindAdd(const BindContext& context)
{
    RETRO_CHECK(expect(context, kPair));
    return bindSum(context, 1);
}

BoundResult bindSub(const BindContext& context)
{
    RETRO_CHECK(expect(context, kPair));
    return bindSum(context, -1);
}

BoundResult bindSumOfAll(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.most = kAnyNumber, .types = OperandTypes::Numbers}));
    return bindSum(context, 1);
}

} // namespace

std::span<const OperatorDeclaration> sumDeclarations()
{
    // Before opset 7, Add and Sub had a broadcasting of their own; Sum had none before 8, which this one includes.
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Add", 7, 0, "sum of operands", true, bindAdd},
        OperatorDeclaration{"", "Sub", 7, 0, "sum of operands", true, bindSub},
        OperatorDeclaration{"", "Sum", 1, 0, "sum of operands", true, bindSumOfAll},
    };
    return kDeclarations;
}

} // namespace retro::ops
