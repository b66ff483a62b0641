// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/rowloop.h"

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// The larger one; NaN wins.
struct Larger
{
    static auto value(auto x, auto y, RowParameters) { return x > y || x != x ? x : y; }
};

struct Smaller
{
    static auto value(auto x, auto y, RowParameters) { return x < y || x != x ? x : y; }
};

/// s where x is the result y, else 0.
struct WhereEqual
{
    static auto value(auto s, auto x, auto y, RowParameters) { return x == y ? s : 0; }
};

struct WhereDifferent
{
    static auto value(auto s, auto x, auto y, RowParameters) { return x == y ? 0 : s; }
};

/// Max or Min of operands, broadcast. The first operand that has the extreme gets what arrives there.
class Extreme final : public Operator<Differentiable>
{
public:
    Extreme(TensorType output, bool isMax, std::vector<Shape> operands)
        : Operator(std::move(output)), m_isMax(isMax), m_operands(std::move(operands))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        const NumberRows rows = m_isMax ? binaryNumbers<Larger>() : binaryNumbers<Smaller>();
        Tensor result = operands[0];
        for (std::size_t slot = 1; slot < operands.size(); ++slot) {
            result = mapNumbers(rows, type.dtype, type.shape, {result, operands[slot]});
        }
        return {result};
    }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        const Tensor y = forward(operands).front();
        const auto keep = [&](const NumberRows& rows, const Tensor& part, std::size_t operand) {
            return mapNumbers(rows, y.dtype(), y.shape(), {part, operands[operand], y});
        };
        Tensor part = s[0];
        for (std::size_t earlier = 0; earlier < slot; ++earlier) {
            part = keep(ternaryFloats<WhereDifferent>(), part, earlier);
        }
        return algebra::reduceTo(keep(ternaryFloats<WhereEqual>(), part, slot), m_operands[slot]);
    }

private:
    bool m_isMax;
    std::vector<Shape> m_operands;
};

BoundResult boundExtreme(const BindContext& context, bool isMax)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    Shape shape;
    std::vector<Shape> operands;
    for (std::size_t slot = 0; slot < context.node.inputs.size(); ++slot) {
        operands.push_back(context.operandTypes[slot].shape);
        RETRO_TRY(shape, broadcastShape(context, shape, operands.back()));
    }
    return bound<Extreme>(TensorType{firstType(context).dtype, std::move(shape)}, isMax, std::move(operands));
}

BoundResult bindMax(const BindContext& context) { return boundExtreme(context, true); }
BoundResult bindMin(const BindContext& context) { return boundExtreme(context, false); }

} // namespace

// Before opset 8 there was no broadcasting, which this one includes.
const OperatorFamily kExtremeOperators{
    {"", "Max", 1, 0, "function", true, bindMax, false, Elements::Combined},
    {"", "Min", 1, 0, "function", true, bindMin, false, Elements::Combined},
};

} // namespace retro::ops
