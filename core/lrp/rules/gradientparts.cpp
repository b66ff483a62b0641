// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/gradientparts.h"

#include "core/lrp/rules/linearform.h"
#include "core/ops/algebra.h"
#include "core/ops/readsbyslot.h"

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::Reads;
using ops::StructureKind;

namespace
{

// Of a product, each tracked operand's gradient is the other operand.
Reads otherOperands(std::span<const std::uint8_t> tracked)
{
    Reads reads;
    for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
        if (tracked[slot] != 0) {
            reads.operands |= Reads::allOperands().operands & ~Reads::bit(slot);
        }
    }
    return reads;
}

// Less than is saved where the operator says what each part reads.
Reads readsOfFunction(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked)
{
    const auto* bySlot = dynamic_cast<const ops::ReadsBySlot*>(&op);
    return bySlot != nullptr ? bySlot->readsFor(tracked) : op.savedForGradient();
}

Reads readsOfQuotient(std::span<const std::uint8_t> tracked)
{
    const bool divisorOnly = tracked[1] == 0;
    return divisorOnly ? Reads{Reads::bit(1), 0} : Reads{Reads::bit(0) | Reads::bit(1), 0};
}

// Other computed operands of a linear map are scales of whole numbers, which say how values are stored.
Tensor ofLinearMap(const RuleContext& context, std::size_t slot)
{
    const auto& map = as<ops::LinearMap>(context.op.structure());
    const ops::TensorType& type = context.operandTypes[slot];
    return slot == map.operandSlot() ? map.pullback(context.relevance[0], {}) : Tensor::zeros(type.dtype, type.shape);
}

Tensor ofSum(const RuleContext& context, std::size_t slot)
{
    const Tensor part = algebra::reduceTo(context.relevance[0], context.operandTypes[slot].shape);
    const double sign = as<ops::SumOfOperands>(context.op.structure()).signs()[slot];
    return sign == 1 ? part : algebra::scale(part, sign);
}

Tensor ofProduct(const RuleContext& context, std::size_t slot)
{
    const Tensor product = algebra::multiplyBroadcast(context.relevance[0], context.operands[1 - slot]);
    return algebra::reduceTo(product, context.operandTypes[slot].shape);
}

// d(a/b)/da = 1/b, d(a/b)/db = −a/b².
Tensor ofQuotient(const RuleContext& context, std::size_t slot)
{
    const tensor::Shape& shape = context.relevance[0].shape();
    const Tensor divisor = algebra::broadcastTo(context.operands[1], shape);
    Tensor part = algebra::stabilisedQuotient(context.relevance[0], divisor, kUnstabilised);
    if (slot == 1) {
        const Tensor again = algebra::stabilisedQuotient(part, divisor, kUnstabilised);
        part = algebra::scale(algebra::multiplyBroadcast(again, context.operands[0]), -1);
    }
    return algebra::reduceTo(part, context.operandTypes[slot].shape);
}

Tensor ofShapeMap(const RuleContext& context, std::size_t slot)
{
    const auto& map = as<ops::ShapeMap>(context.op.structure());
    const Tensor part = carriedBack(context, slot);
    return map.sign() == 1 ? part : algebra::scale(part, map.sign());
}

Tensor ofElementWise(const RuleContext& context)
{
    const auto& map = as<ops::ElementWise>(context.op.structure());
    const bool byOutput = map.derivativeReadsOutput();
    const Tensor slope =
        map.derivative(byOutput ? Tensor() : context.operands[0], byOutput ? context.outputs[0] : Tensor());
    return algebra::multiply(context.relevance[0], slope);
}

Tensor ofReduction(const RuleContext& context)
{
    const auto& map = as<ops::Reduction>(context.op.structure());
    const Tensor part = map.spread(context.relevance[0]);
    const double count = static_cast<double>(part.size()) / static_cast<double>(context.relevance[0].size());
    return map.isMean() ? algebra::scale(part, 1 / count) : part;
}

// d(ln p_j)/dx_i = δ_ij − p_i.
Tensor ofLogSoftmax(const RuleContext& context)
{
    const Tensor& r = context.relevance[0];
    const Tensor total = as<ops::Softmax>(context.op.structure()).sumOverAxis(r);
    return algebra::subtract(r, algebra::multiplyBroadcast(algebra::exponential(context.outputs[0]), total));
}

// dp_j/dx_i = p_j·(δ_ij − p_i).
Tensor ofSoftmax(const RuleContext& context)
{
    if (as<ops::Softmax>(context.op.structure()).isLogarithm()) {
        return ofLogSoftmax(context);
    }
    const Tensor& p = context.outputs[0];
    const Tensor weighted = algebra::multiply(context.relevance[0], p);
    const Tensor total = as<ops::Softmax>(context.op.structure()).sumOverAxis(weighted);
    return algebra::subtract(weighted, algebra::multiplyBroadcast(p, total));
}

} // namespace

Reads carryReads(const ops::BoundOperator& op)
{
    return as<ops::ShapeMap>(op.structure()).isSteered() ? op.savedForGradient() : Reads::nothing();
}

Tensor carriedBack(const RuleContext& context, std::size_t slot)
{
    const auto& map = as<ops::ShapeMap>(context.op.structure());
    return map.isSteered() ? map.carryBack(context.relevance, context.operands, slot)
                           : map.carryBack(context.relevance, slot);
}

Reads parameterReads(const ops::BoundOperator& op, std::span<const std::uint8_t> constants)
{
    const ops::Structure& structure = op.structure();
    switch (structure.kind()) {
    case StructureKind::LinearMap: // W·x + b: dW reads x
        return {Reads::bit(as<ops::LinearMap>(structure).operandSlot()), 0};
    case StructureKind::Product:
        return otherOperands(constants);
    case StructureKind::Quotient: // of a/b with a constant b, in proportion to a
        return constants[1] != 0 ? Reads::firstOperand() : Reads{Reads::bit(1), 0};
    case StructureKind::ElementWise:
    case StructureKind::Normalisation:
        return Reads::firstOperand();
    case StructureKind::ShapeMap:
        return carryReads(op);
    case StructureKind::Differentiable:
    case StructureKind::SelfNormalisation:
    case StructureKind::Composed:
    case StructureKind::TableLookup:
        return op.savedForGradient();
    default:
        return Reads::nothing();
    }
}

Reads gradientReads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked)
{
    const ops::Structure& structure = op.structure();
    switch (structure.kind()) {
    case StructureKind::Bilinear:
    case StructureKind::Product:
        return otherOperands(tracked);
    case StructureKind::Quotient:
        return readsOfQuotient(tracked);
    case StructureKind::ElementWise:
        return as<ops::ElementWise>(structure).derivativeReadsOutput() ? Reads::firstOutput() : Reads::firstOperand();
    case StructureKind::MaxPool:
        return Reads::firstOperand();
    case StructureKind::Softmax:
        return Reads::firstOutput();
    case StructureKind::ShapeMap:
        return carryReads(op);
    case StructureKind::Differentiable:
    case StructureKind::SelfNormalisation:
    case StructureKind::Composed:
    case StructureKind::TableLookup:
        return readsOfFunction(op, tracked);
    default:
        return Reads::nothing();
    }
}

Tensor gradientPart(const RuleContext& context, std::size_t slot)
{
    const ops::Structure& structure = context.op.structure();
    const Tensor& r = context.relevance[0];
    switch (structure.kind()) {
    case StructureKind::LinearMap:
        return ofLinearMap(context, slot);
    case StructureKind::Bilinear:
        return as<ops::Bilinear>(structure).pullback(r, context.operands[0], context.operands[1], slot);
    case StructureKind::SumOfOperands:
        return ofSum(context, slot);
    case StructureKind::Product:
        return ofProduct(context, slot);
    case StructureKind::Quotient:
        return ofQuotient(context, slot);
    case StructureKind::ShapeMap:
        return ofShapeMap(context, slot);
    case StructureKind::ElementWise:
        return ofElementWise(context);
    case StructureKind::Reduction:
        return ofReduction(context);
    case StructureKind::AveragePool:
        return as<ops::AveragePool>(structure).pullback(r);
    case StructureKind::MaxPool:
        return as<ops::MaxPool>(structure).route(r, context.operands[0]);
    case StructureKind::Normalisation:
        return algebra::multiplyBroadcast(r, as<ops::Normalisation>(structure).scale());
    case StructureKind::Softmax:
        return ofSoftmax(context);
    case StructureKind::Differentiable:
    case StructureKind::SelfNormalisation:
    case StructureKind::Composed:
    case StructureKind::TableLookup:
        return as<ops::Differentiable>(structure).pullback(context.relevance, context.operands, context.outputs, slot);
    case StructureKind::NoRelevance:
        break;
    }
    return {};
}

} // namespace retro::lrp
