// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/linear/integerproduct.h"
#include "core/ops/linear/matrixmap.h"
#include "core/ops/linear/packedproduct.h"
#include "core/ops/linear/storedweight.h"

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

Shape batchOf(const Shape& matrix) { return {matrix.begin(), matrix.end() - 2}; }

/// A batch times one matrix is one product with longer rows.
void flattenBatch(Shapes& shapes)
{
    const std::int64_t batch = tensor::elementCount(batchOf(shapes.z));
    if (tensor::elementCount(batchOf(shapes.b)) == 1 && tensor::elementCount(batchOf(shapes.a)) == batch) {
        const std::int64_t rows = batch * shapes.a[shapes.a.size() - 2];
        shapes.a = {rows, shapes.a.back()};
        shapes.b = {shapes.a.back(), shapes.b.back()};
        shapes.z = {rows, shapes.b.back()};
    }
}

base::Result<Shapes> shapesOf(const BindContext& context)
{
    const Shape& outerA = context.operandTypes[0].shape;
    const Shape& outerB = context.operandTypes[1].shape;
    if (outerA.empty() || outerB.empty()) {
        return context.error("a scalar cannot be multiplied as a matrix; use Mul");
    }
    Shapes shapes{asMatrix(outerA, true), asMatrix(outerB, false), {}, {}};
    const std::int64_t rows = shapes.a[shapes.a.size() - 2];
    const std::int64_t columns = shapes.b.back();
    if (shapes.b[shapes.b.size() - 2] != shapes.a.back()) {
        return context.error(fmt::format("inner extents {} and {} differ; transpose or reshape one operand",
                                         shapes.a.back(), shapes.b[shapes.b.size() - 2]));
    }
    RETRO_TRY(shapes.z, broadcastShape(context, batchOf(shapes.a), batchOf(shapes.b)));
    shapes.output = shapes.z;
    shapes.z.insert(shapes.z.end(), {rows, columns});
    if (outerA.size() > 1) {
        shapes.output.push_back(rows);
    }
    if (outerB.size() > 1) {
        shapes.output.push_back(columns);
    }
    RETRO_CHECK(expectSize(context, shapes.output));
    flattenBatch(shapes);
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
        return matrixProduct(inner(a, m_shapes.a), inner(b, m_shapes.b)).reshaped(m_shapes.output);
    }
    [[nodiscard]] Tensor pullback(const Tensor& s, const Tensor& a, const Tensor& b, std::size_t slot) const override
    {
        const Tensor upstream = inner(s, m_shapes.z);
        const Tensor full = slot == 0 ? matrixProduct(upstream, swapped(inner(b, m_shapes.b)))
                                      : matrixProduct(swapped(inner(a, m_shapes.a)), upstream);
        return algebra::reduceTo(full, slot == 0 ? m_shapes.a : m_shapes.b).reshaped(m_outer[slot]);
    }

private:
    /// As it is multiplied. A batch that has that shape already stays as it lies: a product reads transposed matrices,
    /// and reshaping would copy them. A single one is made row-major, so that a transposed weight has the same bits
    /// whether it was folded or not.
    static Tensor inner(const Tensor& t, const Shape& shape)
    {
        return t.rank() > 2 && t.shape() == shape ? t : t.reshaped(shape);
    }

    std::array<Shape, 2> m_outer;
    Shapes m_shapes;
};

/// Product of integers, which wraps around; passes no relevance.
class IntegerMatMul final : public PassiveOperator
{
public:
    IntegerMatMul(tensor::DType dtype, Shapes shapes) : m_shapes(std::move(shapes))
    {
        m_outputTypes.push_back({dtype, m_shapes.output});
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const Tensor product = integerProduct(whole(operands[0], m_shapes.a), whole(operands[1], m_shapes.b));
        return {product.to(m_outputTypes[0].dtype).reshaped(m_shapes.output)};
    }

private:
    /// As int64, with the batch axes of the product.
    [[nodiscard]] Tensor whole(const Tensor& t, const Shape& inner) const
    {
        Shape shape = m_shapes.z;
        std::copy(inner.end() - 2, inner.end(), shape.end() - 2);
        return algebra::broadcastTo(t.to(tensor::DType::Int64).reshaped(inner), shape).contiguous();
    }

    Shapes m_shapes;
};

/// A matrix that is only turned stays as it lies: a product reads it so, and it may be most of a model.
Tensor asMultiplied(const Tensor& weight, const Shape& shape)
{
    const bool isTurned = weight.rank() == 2 && weight.shape() == shape && swapped(weight).isContiguous();
    return isTurned ? weight : weight.reshaped(shape);
}

BoundResult boundMap(const BindContext& context, const Shapes& shapes,
                     std::shared_ptr<const PackedMatrix> packed = nullptr)
{
    MatrixMapPlan plan;
    plan.isWeightOnRight = context.constant(1);
    plan.slot = plan.isWeightOnRight ? 0 : 1;
    plan.xOuter = context.operandTypes[plan.slot].shape;
    plan.xInner = plan.isWeightOnRight ? shapes.a : shapes.b;
    plan.zInner = shapes.z;
    if (packed) {
        plan.packed = std::move(packed);
    } else {
        plan.weight = asMultiplied(storedWeight(context, 1 - plan.slot), plan.isWeightOnRight ? shapes.b : shapes.a);
    }
    if (context.constant(2)) {
        plan.bias = context.constants[2].contiguous();
    }
    return bound<MatrixMap>(TensorType{firstType(context).dtype, shapes.output}, std::move(plan));
}

BoundResult bindMatMul(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::AllNumbers));
    RETRO_TRY(Shapes shapes, shapesOf(context));
    if (!tensor::isFloating(firstType(context).dtype)) {
        return bound<IntegerMatMul>(firstType(context).dtype, std::move(shapes));
    }
    if (context.constant(0) || context.constant(1)) {
        return boundMap(context, shapes);
    }
    return bound<MatMul>(context.operandTypes[0], context.operandTypes[1], std::move(shapes));
}

/// The shape of the result with a constant bias (operand 2).
base::Result<void> takeBias(const BindContext& context, Shapes& shapes)
{
    RETRO_TRY(const Shape common, broadcastShape(context, shapes.output, context.operandTypes[2].shape));
    if (tensor::elementCount(common) != tensor::elementCount(shapes.output)) {
        return context.error("the bias must have one number per column or row, or one for all");
    }
    shapes.output = common;
    return {};
}

/// x·W + b or W·x + b, which the rewrites of MatMul with Add, or with what scales and shifts, make.
BoundResult bindLinear(const BindContext& context)
{
    RETRO_CHECK(expect(context, OperandTypes::Floats));
    if ((!context.constant(0) && !context.constant(1)) || !context.constant(2)) {
        return context.error("MatMul with a bias needs constant weights and bias; use MatMul and Add");
    }
    RETRO_TRY(Shapes shapes, shapesOf(context));
    RETRO_CHECK(takeBias(context, shapes));
    return boundMap(context, shapes);
}

} // namespace

BoundResult bindPackedProduct(const BindContext& context, std::shared_ptr<const PackedMatrix> weight)
{
    RETRO_TRY(Shapes shapes, shapesOf(context));
    if (context.constant(2)) {
        RETRO_CHECK(takeBias(context, shapes));
    }
    return boundMap(context, shapes, std::move(weight));
}

const OperatorFamily kMatMulOperators{
    {"", "MatMul", 1, 0, "linear map, bilinear", true, bindMatMul},
    {"retrograde", "MatMul", 1, 0, "linear map", true, bindLinear},
};

} // namespace retro::ops
