// SPDX-License-Identifier: Apache-2.0
#include "core/ops/algebra.h"
#include "core/ops/bind/bindcheck.h"
#include "core/ops/bind/operatorbase.h"
#include "core/ops/families.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/quantise/integers.h"

#include <fmt/format.h>

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

/// Which operands play which part; kNone: none does.
struct ProductSlots
{
    static constexpr std::size_t kNone = 99;
    std::size_t a = 0;
    std::size_t aScale = kNone;
    std::size_t aZero = kNone;
    std::size_t b = 1;
    std::size_t bScale = kNone;
    std::size_t bZero = kNone;
    std::size_t yScale = kNone;
    std::size_t yZero = kNone;
};
constexpr ProductSlots kMatMulInteger{0, ProductSlots::kNone, 2, 1, ProductSlots::kNone, 3};
constexpr ProductSlots kQLinearMatMul{0, 1, 2, 3, 4, 5, 6, 7};

/// What is the same for every run.
struct ProductShapes
{
    Shape a; ///< as matrices
    Shape b;
    Shape aZero; ///< as they broadcast to them
    Shape bZero;
};

/// (a − zero)·(b − zero), exactly, in double; rounded to the quantised type when the slots name scales.
class QuantisedMatMul final : public PassiveOperator
{
public:
    QuantisedMatMul(TensorType output, const ProductSlots& slots, ProductShapes shapes)
        : m_slots(slots), m_shapes(std::move(shapes))
    {
        m_outputTypes = {std::move(output)};
    }

    [[nodiscard]] std::vector<Tensor> forward(std::span<const Tensor> operands) const override
    {
        const std::vector<Tensor> matrices = asMatrices(operands);
        const Tensor a = shifted(matrices, m_slots.a, m_slots.aZero, m_shapes.aZero);
        const Tensor b = shifted(matrices, m_slots.b, m_slots.bZero, m_shapes.bZero);
        const Tensor product = matrixProduct(a, b);
        const TensorType& type = m_outputTypes[0];
        if (m_slots.yScale == ProductSlots::kNone) {
            return {product.to(type.dtype).reshaped(type.shape)};
        }
        const Tensor left = scale(operands, m_slots.aScale, m_shapes.aZero);
        const Tensor right = scale(operands, m_slots.bScale, m_shapes.bZero);
        const Tensor result = operands[m_slots.yScale].to(DType::Float64).contiguous().reshaped({});
        const Tensor zero = operands[m_slots.yZero].to(DType::Float64).contiguous().reshaped({});
        const Tensor scaled = algebra::multiplyBroadcast(algebra::multiplyBroadcast(product, left), right);
        return {requantised(scaled, Tensor::scalar<double>(1 / result.at(0)), zero, type.dtype).reshaped(type.shape)};
    }

private:
    [[nodiscard]] std::vector<Tensor> asMatrices(std::span<const Tensor> operands) const
    {
        std::vector<Tensor> matrices(operands.begin(), operands.end());
        matrices[m_slots.a] = matrices[m_slots.a].contiguous().reshaped(m_shapes.a);
        matrices[m_slots.b] = matrices[m_slots.b].contiguous().reshaped(m_shapes.b);
        return matrices;
    }
    static Tensor scale(std::span<const Tensor> operands, std::size_t slot, const Shape& shape)
    {
        return operands[slot].to(DType::Float64).contiguous().reshaped(shape);
    }

    ProductSlots m_slots;
    ProductShapes m_shapes;
};

/// How the zero point and scale of a matrix broadcast to it: one number, one per row (of a) or column (of b).
base::Result<Shape> parameterShape(const BindContext& context, std::size_t slot, const Shape& matrix, bool isLeft)
{
    if (!context.present(slot) || tensor::elementCount(context.operandTypes[slot].shape) == 1) {
        return Shape{};
    }
    const Shape& given = context.operandTypes[slot].shape;
    const std::size_t axis = matrix.size() - (isLeft ? 2 : 1);
    if (given == Shape{matrix[axis]}) {
        Shape shape(matrix.size(), 1);
        shape[axis] = matrix[axis];
        return shape;
    }
    RETRO_TRY(const Shape together, broadcastShape(context, given, matrix));
    if (together != matrix) {
        return context.error(
            fmt::format("operand {} of shape [{}] fits neither rows nor columns", slot, tensor::toText(given)));
    }
    return given;
}

base::Result<void> expectBytes(const BindContext& context, std::size_t slot)
{
    const TensorType& type = context.operandTypes[slot];
    if (type.dtype != DType::Int8 && type.dtype != DType::UInt8) {
        return context.error(
            fmt::format("operand {} is {}, but must be int8 or uint8", slot, tensor::nameOf(type.dtype)));
    }
    if (type.shape.empty()) {
        return context.error(fmt::format("operand {} is a scalar and no matrix", slot));
    }
    return {};
}

base::Result<Shape> productShape(const BindContext& context, const ProductSlots& slots, const ProductShapes& shapes)
{
    const std::int64_t depth = shapes.a.back();
    if (depth != shapes.b[shapes.b.size() - 2]) {
        return context.error(
            fmt::format("{} columns cannot be multiplied by {} rows", depth, shapes.b[shapes.b.size() - 2]));
    }
    RETRO_TRY(Shape shape,
              broadcastShape(context, {shapes.a.begin(), shapes.a.end() - 2}, {shapes.b.begin(), shapes.b.end() - 2}));
    if (context.operandTypes[slots.a].shape.size() > 1) {
        shape.push_back(shapes.a[shapes.a.size() - 2]);
    }
    if (context.operandTypes[slots.b].shape.size() > 1) {
        shape.push_back(shapes.b.back());
    }
    RETRO_CHECK(expectSize(context, shape));
    return shape;
}

base::Result<ProductShapes> shapesOf(const BindContext& context, const ProductSlots& slots)
{
    RETRO_CHECK(expectBytes(context, slots.a));
    RETRO_CHECK(expectBytes(context, slots.b));
    ProductShapes shapes;
    shapes.a = asMatrix(context.operandTypes[slots.a].shape, true);
    shapes.b = asMatrix(context.operandTypes[slots.b].shape, false);
    RETRO_TRY(shapes.aZero, parameterShape(context, slots.aZero, shapes.a, true));
    RETRO_TRY(shapes.bZero, parameterShape(context, slots.bZero, shapes.b, false));
    return shapes;
}

BoundResult bindMatMulInteger(const BindContext& context)
{
    RETRO_TRY(ProductShapes shapes, shapesOf(context, kMatMulInteger));
    RETRO_TRY(Shape shape, productShape(context, kMatMulInteger, shapes));
    return bound<QuantisedMatMul>(TensorType{DType::Int32, std::move(shape)}, kMatMulInteger, std::move(shapes));
}

base::Result<void> expectScalesLikeZeros(const BindContext& context)
{
    for (const std::size_t slot : {kQLinearMatMul.aScale, kQLinearMatMul.bScale, kQLinearMatMul.yScale}) {
        if (!tensor::isFloating(context.operandTypes[slot].dtype) ||
            tensor::elementCount(context.operandTypes[slot].shape) !=
                tensor::elementCount(context.operandTypes[slot + 1].shape)) {
            return context.error(
                fmt::format("operand {} must be a floating scale of the shape of its zero point", slot));
        }
    }
    if (tensor::elementCount(context.operandTypes[kQLinearMatMul.yScale].shape) != 1) {
        return context.error("the result's scale must be one number");
    }
    return {};
}

BoundResult bindQLinearMatMul(const BindContext& context)
{
    RETRO_CHECK(expectScalesLikeZeros(context));
    const DType type = context.operandTypes[kQLinearMatMul.yZero].dtype;
    if (!isQuantised(type)) {
        return context.error("the result's zero point must be int8 or uint8");
    }
    RETRO_TRY(ProductShapes shapes, shapesOf(context, kQLinearMatMul));
    RETRO_TRY(Shape shape, productShape(context, kQLinearMatMul, shapes));
    return bound<QuantisedMatMul>(TensorType{type, std::move(shape)}, kQLinearMatMul, std::move(shapes));
}

} // namespace

const OperatorFamily kIntegerMatMulOperators{
    {"", "MatMulInteger", 10, 0, "no relevance", false, bindMatMulInteger},
    {"", "QLinearMatMul", 10, 0, "no relevance", false, bindQLinearMatMul},
};

} // namespace retro::ops
