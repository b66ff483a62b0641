// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/linear/integerproduct.h"
#include "core/ops/linear/matrixmap.h"
#include "core/ops/linear/storedweight.h"
#include "core/ops/readsbyslot.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace retro::ops
{

namespace
{

using tensor::Shape;

Tensor swappedIf(bool swaps, const Tensor& t) { return swaps ? swapped(t).contiguous() : t; }

Tensor scaledBy(double factor, const Tensor& t) { return factor == 1 ? t : algebra::scale(t, factor); }

/// alpha · op(A) · op(B) of two tracked operands.
class Gemm final : public Operator<Bilinear>
{
public:
    Gemm(TensorType output, std::int64_t depth, std::array<bool, 2> swaps, double alpha)
        : Operator(std::move(output)), m_depth(depth), m_swaps(swaps), m_alpha(alpha)
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {apply(operands[0], operands[1])};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(tensor::elementCount(m_outputTypes[0].shape)) * static_cast<double>(m_depth);
    }

    [[nodiscard]] Tensor apply(const Tensor& a, const Tensor& b) const override
    {
        const Tensor left = swappedIf(m_swaps[0], a).contiguous();
        const Tensor right = swappedIf(m_swaps[1], b).contiguous();
        return scaledBy(m_alpha, matrixProduct(left, right));
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b, std::size_t slot) const override
    {
        const Tensor inner = scaledBy(m_alpha, s.contiguous());
        const Tensor r = slot == 0 ? matrixProduct(inner, swapped(swappedIf(m_swaps[1], b).contiguous()))
                                   : matrixProduct(swapped(swappedIf(m_swaps[0], a).contiguous()), inner);
        return swappedIf(m_swaps[slot], r);
    }

private:
    std::int64_t m_depth;
    std::array<bool, 2> m_swaps;
    double m_alpha;
};

struct Parameters
{
    std::array<bool, 2> swaps{};
    double alpha = 1;
    double beta = 1;
    std::int64_t depth = 0;
    Shape output;
};

/// Shape of operand `slot` as it is multiplied.
Shape matrixShape(const BindContext& context, std::size_t slot, bool swaps)
{
    Shape shape = context.operandTypes[slot].shape;
    if (swaps) {
        std::swap(shape[0], shape[1]);
    }
    return shape;
}

base::Result<Parameters> parametersOf(const BindContext& context)
{
    Parameters p;
    p.swaps = {context.intAttribute("transA", 0) != 0, context.intAttribute("transB", 0) != 0};
    p.alpha = context.floatAttribute("alpha", 1);
    p.beta = context.floatAttribute("beta", 1);
    if (context.operandTypes[0].shape.size() != 2 || context.operandTypes[1].shape.size() != 2) {
        return context.error("A and B must be matrices (rank 2); use MatMul for batches");
    }
    const Shape a = matrixShape(context, 0, p.swaps[0]);
    const Shape b = matrixShape(context, 1, p.swaps[1]);
    if (a[1] != b[0]) {
        return context.error(fmt::format("inner extents {} and {} differ; check transA and transB", a[1], b[0]));
    }
    p.depth = a[1];
    p.output = {a[0], b[1]};
    RETRO_CHECK(expectSize(context, p.output));
    return p;
}

/// alpha · op(A) · op(B) + beta · C, with whatever is computed.
class GemmWithSum final : public Operator<Differentiable>, public ReadsBySlot
{
public:
    GemmWithSum(TensorType output, std::array<bool, 2> swaps, std::array<double, 2> factors, Shape addend)
        : Operator(std::move(output)), m_swaps(swaps), m_alpha(factors[0]), m_beta(factors[1]),
          m_addend(std::move(addend))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor product = matrixProduct(matrix(operands, 0), matrix(operands, 1));
        return {algebra::addBroadcast(scaledBy(m_alpha, product), scaledBy(m_beta, operands[2]))};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] Reads readsFor(std::span<const std::uint8_t> slots) const override { return readsOfProduct(slots); }
    [[nodiscard]] Tensor pullback(std::span<const Tensor> s, std::span<const Tensor> operands, std::span<const Tensor>,
                                  std::size_t slot) const override
    {
        if (slot == 2) {
            return scaledBy(m_beta, algebra::reduceTo(s[0], m_addend));
        }
        const Tensor inner = scaledBy(m_alpha, s[0].contiguous());
        const Tensor part = slot == 0 ? matrixProduct(inner, swapped(matrix(operands, 1)))
                                      : matrixProduct(swapped(matrix(operands, 0)), inner);
        return swappedIf(m_swaps[slot], part);
    }
    /// Half of the product each when both factors are computed; the addend takes its own.
    [[nodiscard]] double share(std::span<const std::uint8_t> tracked, std::size_t slot) const override
    {
        return slot < 2 && tracked[0] != 0 && tracked[1] != 0 ? 0.5 : 1;
    }

private:
    [[nodiscard]] Tensor matrix(std::span<const Tensor> operands, std::size_t slot) const
    {
        return swappedIf(m_swaps[slot], operands[slot]).contiguous();
    }

    std::array<bool, 2> m_swaps;
    double m_alpha;
    double m_beta;
    Shape m_addend;
};

/// The same of integers with whole factors, which wraps around; passes no relevance.
class IntegerGemm final : public PassiveOperator
{
public:
    IntegerGemm(TensorType output, const Parameters& parameters)
        : m_swaps(parameters.swaps), m_alpha(static_cast<std::int64_t>(parameters.alpha)),
          m_beta(static_cast<std::int64_t>(parameters.beta))
    {
        m_outputTypes.push_back(std::move(output));
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const TensorType& type = m_outputTypes[0];
        const Tensor product = integerProduct(matrix(operands, 0), matrix(operands, 1));
        const bool hasAddend = operands.size() > 2 && operands[2].isValid();
        const Tensor addend =
            hasAddend ? algebra::broadcastTo(operands[2].to(tensor::DType::Int64), type.shape).contiguous() : Tensor();
        tensor::TensorBuffer buffer(tensor::DType::Int64, type.shape);
        for (std::int64_t i = 0; i < product.size(); ++i) {
            const std::int64_t own = times(m_alpha, product.data<std::int64_t>()[i]);
            buffer.data<std::int64_t>()[i] = hasAddend ? plus(own, times(m_beta, addend.data<std::int64_t>()[i])) : own;
        }
        return {std::move(buffer).freeze().to(type.dtype)};
    }

private:
    [[nodiscard]] Tensor matrix(std::span<const Tensor> operands, std::size_t slot) const
    {
        return swappedIf(m_swaps[slot], operands[slot].to(tensor::DType::Int64)).contiguous();
    }

    std::array<bool, 2> m_swaps;
    std::int64_t m_alpha;
    std::int64_t m_beta;
};

/// C, if present, broadcasts to the product.
base::Result<void> expectAddend(const BindContext& context, const Shape& output)
{
    if (!context.present(2)) {
        return {};
    }
    RETRO_TRY(const Shape common, broadcastShape(context, context.operandTypes[2].shape, output));
    if (common != output) {
        return context.error("C does not broadcast to the shape of the product");
    }
    return {};
}

BoundResult boundMap(const BindContext& context, const Parameters& p)
{
    MatrixMapPlan plan;
    plan.isWeightOnRight = context.constant(1);
    plan.slot = plan.isWeightOnRight ? 0 : 1;
    plan.isTransposed = p.swaps[plan.slot];
    plan.xOuter = context.operandTypes[plan.slot].shape;
    plan.xInner = matrixShape(context, plan.slot, plan.isTransposed);
    plan.zInner = p.output;
    const std::size_t other = 1 - plan.slot;
    const bool isScaled = p.alpha != 1;
    const Tensor weight = (isScaled ? context.constants[other] : storedWeight(context, other)).contiguous();
    plan.weight = scaledBy(p.alpha, p.swaps[other] ? swapped(weight) : weight); // a view: nothing is moved
    if (context.present(2)) {
        plan.bias = scaledBy(p.beta, context.constants[2]).contiguous();
    }
    return bound<MatrixMap>(TensorType{firstType(context).dtype, p.output}, std::move(plan));
}

BoundResult boundIntegers(const BindContext& context, const Parameters& p, TensorType output)
{
    constexpr double kMostFactor = 1LL << 53; // every whole number up to here is a double
    for (const double factor : {p.alpha, p.beta}) {
        if (std::trunc(factor) != factor || std::abs(factor) > kMostFactor) {
            return context.error(fmt::format(
                "alpha and beta must be whole numbers where the matrices are integers, not {}; multiply after a Cast",
                factor));
        }
    }
    return bound<IntegerGemm>(std::move(output), p);
}

BoundResult bindGemm(const BindContext& context)
{
    const bool isInteger =
        context.node.opset >= 9 && context.present(0) && !tensor::isFloating(firstType(context).dtype);
    RETRO_CHECK(expect(context, isInteger ? OperandTypes::Integers : OperandTypes::Floats));
    RETRO_TRY(const Parameters p, parametersOf(context));
    RETRO_CHECK(expectAddend(context, p.output));
    const bool hasWeight = context.constant(0) || context.constant(1);
    TensorType output{firstType(context).dtype, p.output};
    if (isInteger) {
        return boundIntegers(context, p, std::move(output));
    }
    if (context.present(2) && !(hasWeight && context.constant(2))) {
        return bound<GemmWithSum>(std::move(output), p.swaps, std::array{p.alpha, p.beta},
                                  context.operandTypes[2].shape);
    }
    return hasWeight ? boundMap(context, p) : bound<Gemm>(std::move(output), p.depth, p.swaps, p.alpha);
}

} // namespace

const OperatorFamily kGemmOperators{
    {"", "Gemm", 1, 0, "linear map, bilinear, function", true, bindGemm},
};

} // namespace retro::ops
