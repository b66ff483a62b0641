// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/linear/einsumplan.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/linearoperands.h"
#include "core/tensor/stridedcopy.h"

#include <algorithm>
#include <array>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// The equation with the shapes of its operands: value and gradients.
class Equation
{
public:
    Equation(EinsumPlan plan, std::vector<Shape> operands)
        : m_plan(std::move(plan)), m_operands(std::move(operands)), m_result(m_plan.shapeOf(m_plan.output))
    {}

    [[nodiscard]] const Shape& result() const { return m_result; }
    [[nodiscard]] Tensor value(std::vector<Tensor> operands) const
    {
        return einsum(m_plan.operands, operands, m_plan.output, m_plan.extents);
    }
    /// Gradient of Σ s·z with respect to operand `slot`: the same product with s in its place.
    [[nodiscard]] Tensor gradient(const Tensor& s, std::vector<Tensor> operands, std::size_t slot) const
    {
        std::vector<std::string> letters = m_plan.operands;
        letters[slot] = m_plan.output;
        operands[slot] = s;
        std::string own;
        for (const char c : m_plan.operands[slot]) {
            own += own.find(c) == std::string::npos ? std::string(1, c) : "";
        }
        const Tensor part = einsum(letters, operands, own, m_plan.extents);
        return spread(part, own, slot);
    }
    [[nodiscard]] double flops() const
    {
        double count = 2;
        for (const std::int64_t extent : m_plan.extents) {
            count *= extent > 1 ? static_cast<double>(extent) : 1;
        }
        return count;
    }

private:
    /// Puts a letter that the operand has twice on its diagonal, and undoes broadcasting.
    [[nodiscard]] Tensor spread(const Tensor& part, const std::string& own, std::size_t slot) const
    {
        const std::string& letters = m_plan.operands[slot];
        if (own.size() == letters.size()) {
            return algebra::reduceTo(part, m_operands[slot]);
        }
        const Shape& shape = m_operands[slot];
        const Shape rows = tensor::rowMajorStrides(shape);
        Shape strides(own.size(), 0);
        Shape extents(own.size(), 1);
        for (std::size_t axis = 0; axis < letters.size(); ++axis) {
            const std::size_t at = own.find(letters[axis]);
            strides[at] += shape[axis] == 1 ? 0 : rows[axis];
            extents[at] = std::max(extents[at], shape[axis]);
        }
        tensor::TensorBuffer buffer(part.dtype(), shape);
        buffer.clear();
        tensor::copyStrided(algebra::reduceTo(part, extents), buffer.rawData(), strides);
        return std::move(buffer).freeze();
    }

    EinsumPlan m_plan;
    std::vector<Shape> m_operands;
    Shape m_result;
};

std::vector<Tensor> listOf(std::span<const Tensor> operands) { return {operands.begin(), operands.end()}; }

/// One operand, or more than two: linear in each.
class EinsumFunction final : public Operator<Differentiable>, public LinearOperands
{
public:
    EinsumFunction(tensor::DType dtype, Equation equation)
        : Operator(TensorType{dtype, equation.result()}), m_equation(std::move(equation))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_equation.value(listOf(operands))};
    }
    [[nodiscard]] bool isLinearIn(std::size_t) const override { return true; }
    [[nodiscard]] Reads savedForGradient() const override { return Reads::allOperands(); }
    [[nodiscard]] double flops() const override { return m_equation.flops(); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        return m_equation.gradient(s[0], listOf(operands), slot);
    }
    [[nodiscard]] double share(std::span<const std::uint8_t> tracked, std::size_t) const override
    {
        return 1.0 / static_cast<double>(
                         std::max<std::ptrdiff_t>(std::count(tracked.begin(), tracked.end(), std::uint8_t{1}), 1));
    }

private:
    Equation m_equation;
};

/// Two operands that are computed.
class EinsumOfTwo final : public Operator<Bilinear>
{
public:
    EinsumOfTwo(tensor::DType dtype, Equation equation)
        : Operator(TensorType{dtype, equation.result()}), m_equation(std::move(equation))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {m_equation.value(listOf(operands))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override { return m_equation.flops(); }
    [[nodiscard]] Tensor apply(const Tensor& a, const Tensor& b) const override { return m_equation.value({a, b}); }
    [[nodiscard]] Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b, std::size_t slot) const override
    {
        return m_equation.gradient(s, {a, b}, slot);
    }

private:
    Equation m_equation;
};

/// Two operands, one of them constant: a layer with weights.
class EinsumMap final : public Operator<LinearMap>
{
public:
    EinsumMap(tensor::DType dtype, Equation equation, Tensor weight, std::size_t slot)
        : Operator(TensorType{dtype, equation.result()}), m_equation(std::move(equation)),
          m_weight(std::move(weight), dtype), m_slot(slot)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {apply(operands[m_slot], {})};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override { return m_equation.flops(); }
    [[nodiscard]] std::size_t operandSlot() const override { return m_slot; }
    [[nodiscard]] bool hasBias() const override { return false; }
    [[nodiscard]] Tensor bias(WeightVariant) const override { return {}; }
    [[nodiscard]] Tensor apply(const Tensor& x, WeightVariant variant) const override
    {
        return m_equation.value(factors(x, variant));
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, WeightVariant variant) const override
    {
        return m_equation.gradient(s, factors({}, variant), m_slot);
    }

private:
    [[nodiscard]] std::vector<Tensor> factors(const Tensor& x, WeightVariant variant) const
    {
        std::vector<Tensor> operands(2, x);
        operands[1 - m_slot] = m_weight.get(variant);
        return operands;
    }

    Equation m_equation;
    WeightVariants m_weight;
    std::size_t m_slot;
};

BoundResult bindEinsum(const BindContext& context)
{
    RETRO_CHECK(expect(context, {.least = std::max<std::size_t>(context.node.inputs.size(), 1),
                                 .most = kAnyNumber,
                                 .types = OperandTypes::Floats,
                                 .attributes = {{"equation", AttributeKind::Text}}}));
    RETRO_TRY(EinsumPlan plan, readEinsum(context, context.textAttribute("equation", {})));
    RETRO_CHECK(expectSize(context, plan.shapeOf(plan.output)));
    const tensor::DType dtype = firstType(context).dtype;
    std::vector<Shape> shapes;
    for (const TensorType& type : context.operandTypes) {
        shapes.push_back(type.shape);
    }
    Equation equation(std::move(plan), std::move(shapes));
    if (context.node.inputs.size() != 2) {
        return bound<EinsumFunction>(dtype, std::move(equation));
    }
    if (context.constant(0) || context.constant(1)) {
        const std::size_t slot = context.constant(1) ? 0 : 1;
        return bound<EinsumMap>(dtype, std::move(equation), storedWeight(context, 1 - slot), slot);
    }
    return bound<EinsumOfTwo>(dtype, std::move(equation));
}

} // namespace

std::span<const OperatorDeclaration> einsumDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "Einsum", 12, 0, "linear map, bilinear, function", true, bindEinsum},
    };
    return kDeclarations;
}

} // namespace retro::ops
