// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/linear/matrixmap.h"

#include <fmt/format.h>

#include <array>

namespace retro::ops
{

namespace
{

using tensor::Shape;

/// Shapes as they are multiplied: vectors made matrices, and a batch times one matrix flattened to one product.
struct Shapes
{
    Shape a;
    Shape b;
    Shape z;      // of the inner product
    Shape output; // as ONNX has it
};

base::Result<Shapes> shapesOf(const BindContext& context)
{
    Shape a = context.operandTypes[0].shape;
    Shape b = context.operandTypes[1].shape;
    if (a.empty() || b.empty()) {
        return context.error("a scalar cannot be multiplied as a matrix; use Mul");
    }
    const bool isRow = a.size() == 1;
    const bool isColumn = b.size() == 1;
    if (isRow) {
        a.insert(a.begin(), 1);
    }
    if (isColumn) {
        b.push_back(1);
    }
    const std::int64_t rows = a[a.size() - 2];
    const std::int64_t depth = a.back();
    const std::int64_t columns = b.back();
    if (b[b.size() - 2] != depth) {
        return context.error(
            fmt::format("inner extents {} and {} differ; transpose or reshape one operand", depth, b[b.size() - 2]));
    }
    RETRO_TRY(const Shape batch, broadcastShape(context, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2}));
    Shapes shapes{a, b, batch, batch};
    shapes.z.insert(shapes.z.end(), {rows, columns});
    if (!isRow) {
        shapes.output.push_back(rows);
    }
    if (!isColumn) {
        shapes.output.push_back(columns);
    }
    RETRO_CHECK(expectSize(context, shapes.output));
    const std::int64_t batchA = tensor::elementCount({a.begin(), a.end() - 2});
    if (tensor::elementCount({b.begin(), b.end() - 2}) == 1 && batchA == tensor::elementCount(batch)) {
        shapes.a = {batchA * rows, depth};
        shapes.b = {depth, columns};
        shapes.z = {batchA * rows, columns};
    }
    return shapes;
}

/// Product of two tracked operands.
class MatMul final : public Operator<Bilinear>
{
public:
    MatMul(const TensorType& a, const TensorType& b, Shapes shapes)
        : Operator(TensorType{a.dtype, shapes.output}), m_outer{a.shape, b.shape}, m_shapes(std::move(shapes))
    {}

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        return {apply(operands[0], operands[1])};
    }
    [[nodiscard]] Reads savedForGradient() const override { return {Reads::bit(0) | Reads::bit(1), 0}; }
    [[nodiscard]] double flops() const override
    {
        return 2.0 * static_cast<double>(tensor::elementCount(m_shapes.z)) * static_cast<double>(m_shapes.a.back());
    }

    [[nodiscard]] Tensor apply(const Tensor& a, const Tensor& b) const override
    {
        return matrixProduct(a.reshaped(m_shapes.a), b.reshaped(m_shapes.b)).reshaped(m_shapes.output);
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b, std::size_t slot) const override
    {
        const Tensor inner = s.reshaped(m_shapes.z);
        const Tensor full = slot == 0 ? matrixProduct(inner, swapped(b.reshaped(m_shapes.b)))
                                      : matrixProduct(swapped(a.reshaped(m_shapes.a)), inner);
        return algebra::reduceTo(full, slot == 0 ? m_shapes.a : m_shapes.b).reshaped(m_outer[slot]);
    }

private:
    std::array<Shape, 2> m_outer;
    Shapes m_shapes;
};

BoundResult bindMatMul(const BindContext& context)
{
    RETRO_CHECK(expectArity(context, 2, 2));
    RETRO_CHECK(expectFloats(context, {0, 1}));
    RETRO_TRY(Shapes shapes, shapesOf(context));
    const TensorType& a = context.operandTypes[0];
    const TensorType& b = context.operandTypes[1];
    if (!context.constant(0) && !context.constant(1)) {
        return bound<MatMul>(a, b, std::move(shapes));
    }
    MatrixMapPlan plan;
    plan.isWeightOnRight = context.constant(1);
    plan.slot = plan.isWeightOnRight ? 0 : 1;
    plan.xOuter = context.operandTypes[plan.slot].shape;
    plan.xInner = plan.isWeightOnRight ? shapes.a : shapes.b;
    plan.zInner = shapes.z;
    plan.weight = context.constants[1 - plan.slot].reshaped(plan.isWeightOnRight ? shapes.b : shapes.a);
    return bound<MatrixMap>(TensorType{a.dtype, shapes.output}, std::move(plan));
}

} // namespace

std::span<const OperatorDeclaration> matMulDeclarations()
{
    static constexpr std::array kDeclarations{
        OperatorDeclaration{"", "MatMul", 1, 0, "linear map, bilinear", true, bindMatMul},
    };
    return kDeclarations;
}

} // namespace retro::ops
