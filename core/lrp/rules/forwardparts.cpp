// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/forwardparts.h"

#include "core/base/failure.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/ops/algebra.h"
#include "core/ops/linearoperands.h"
#include "core/ops/lookup.h"
#include "core/ops/pickedplaces.h"
#include "core/ops/quantise/straightthrough.h"

#include <algorithm>
#include <numeric>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

/// The operator on `v` in the place of operand `slot`.
std::vector<Tensor> runOn(const WeighContext& context, std::size_t slot, const Tensor& v)
{
    std::vector<Tensor> operands(context.operands.begin(), context.operands.end());
    operands[slot] = v;
    return context.op.forward(operands);
}

Tensor alongProduct(const WeighContext& context, std::span<const Tensor> v)
{
    Tensor sum;
    for (std::size_t slot = 0; slot < 2; ++slot) {
        if (v[slot].isValid()) {
            addTo(sum, algebra::multiplyBroadcast(asResult(context, v[slot]), context.operands[1 - slot]));
        }
    }
    return sum;
}

Tensor alongQuotient(const WeighContext& context, std::span<const Tensor> v)
{
    const Tensor divisor = asResult(context, context.operands[1]);
    Tensor sum;
    if (v[0].isValid()) {
        sum = algebra::stabilisedQuotient(asResult(context, v[0]), divisor, kUnstabilised);
    }
    if (v[1].isValid()) {
        const Tensor once = algebra::stabilisedQuotient(asResult(context, v[1]), divisor, kUnstabilised);
        const Tensor twice = algebra::stabilisedQuotient(once, divisor, kUnstabilised);
        addTo(sum, algebra::scale(algebra::multiplyBroadcast(twice, context.operands[0]), -1));
    }
    return sum;
}

Tensor alongSum(const WeighContext& context, std::span<const Tensor> v)
{
    const auto signs = as<ops::SumOfOperands>(context.op.structure()).signs();
    Tensor sum;
    for (std::size_t slot = 0; slot < v.size(); ++slot) {
        if (v[slot].isValid()) {
            const Tensor wide = asResult(context, v[slot]);
            addTo(sum, signs[slot] == 1 ? wide : algebra::scale(wide, signs[slot]));
        }
    }
    return sum;
}

Tensor alongBilinear(const WeighContext& context, std::span<const Tensor> v)
{
    const auto& product = as<ops::Bilinear>(context.op.structure());
    Tensor sum;
    if (v[0].isValid()) {
        addTo(sum, product.apply(v[0], context.operands[1]));
    }
    if (v[1].isValid()) {
        addTo(sum, product.apply(context.operands[0], v[1]));
    }
    return sum;
}

/// Of y = ln p: v − Σ p·v.
Tensor alongLogarithm(const WeighContext& context, const Tensor& v)
{
    const Tensor p = algebra::exponential(context.outputs[0]);
    const Tensor total = as<ops::Softmax>(context.op.structure()).sumOverAxis(algebra::multiply(p, v));
    return algebra::subtract(v, algebra::broadcastTo(total, v.shape()));
}

/// Where J is its own transpose.
Tensor alongItself(const WeighContext& context, const Tensor& v) { return gradientPart(context.with({&v, 1}), 0); }

/// Σ over operands of the function on the direction: it is linear in each.
std::vector<Tensor> alongLinear(const WeighContext& context, std::span<const Tensor> v)
{
    std::vector<Tensor> sums(context.op.outputTypes().size());
    for (std::size_t slot = 0; slot < v.size(); ++slot) {
        if (v[slot].isValid()) {
            const std::vector<Tensor> results = runOn(context, slot, v[slot]);
            for (std::size_t k = 0; k < sums.size(); ++k) {
                addTo(sums[k], results[k]);
            }
        }
    }
    return sums;
}

/// Equal but for rounding.
bool isAlike(const Tensor& a, const Tensor& b)
{
    return algebra::sumAbsolute(algebra::subtract(a, b)) <= 1e-4 * algebra::sumAbsolute(b);
}

/// What is looked up by tokens: the weight of each token for all elements that it picked. Along which axes of the
/// result the tokens lie is what their way back says.
Tensor ofTokens(const WeighContext& context, const Tensor& perToken)
{
    const ops::TensorType& result = context.op.outputTypes()[0];
    const tensor::Shape& tokens = perToken.shape();
    std::vector<double> numbers(static_cast<std::size_t>(tensor::elementCount(result.shape)));
    std::iota(numbers.begin(), numbers.end(), 1.0);
    const std::vector<Tensor> probe{Tensor::of<double>(result.shape, numbers).to(result.dtype)};
    const Tensor back = carriedBack(context.with(probe), ops::Lookup::kIndices);
    for (std::size_t axis = 0; axis + tokens.size() <= result.shape.size(); ++axis) {
        tensor::Shape shape(result.shape.size(), 1);
        std::copy(tokens.begin(), tokens.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
        const bool fits =
            std::equal(tokens.begin(), tokens.end(), result.shape.begin() + static_cast<std::ptrdiff_t>(axis));
        if (fits && isAlike(algebra::reduceTo(probe[0], shape).contiguous().reshaped(tokens), back)) {
            return algebra::broadcastTo(perToken.contiguous().reshaped(shape), result.shape);
        }
    }
    base::guard(false, "tokens lie along axes of what they pick");
    return {};
}

/// 0 in the places of a shape map that no operand reaches: what fills them is a number of the operator's own.
void withoutFill(const ops::BoundOperator& op, std::vector<Tensor> operands, std::vector<Tensor>& results)
{
    for (Tensor& operand : operands) {
        if (operand.isValid() && tensor::isFloating(operand.dtype())) {
            operand = Tensor::zeros(operand.dtype(), operand.shape());
        }
    }
    const std::vector<Tensor> fill = op.forward(operands);
    for (std::size_t k = 0; k < results.size(); ++k) {
        if (!tensor::isFloating(results[k].dtype()) || algebra::sumAbsolute(fill[k]) == 0) {
            continue;
        }
        const Tensor size = algebra::absolute(fill[k]);
        const Tensor isFilled = algebra::stabilisedQuotient(size, size, kUnstabilised); // 1, or NaN of an infinity
        const Tensor isFree = algebra::subtract(algebra::filledLike(size, 1), isFilled);
        results[k] = algebra::keepWherePositive(results[k], isFree);
    }
}

/// Floating data of a shape map, which can be among its result.
bool isDataType(const ops::TensorType& type) { return tensor::isFloating(type.dtype); }

} // namespace

void addTo(Tensor& sum, const Tensor& part)
{
    if (part.isValid()) {
        sum = sum.isValid() ? algebra::add(sum, part) : part;
    }
}

Tensor asResult(const WeighContext& context, const Tensor& t)
{
    return algebra::broadcastTo(t, context.op.outputTypes()[0].shape);
}

std::vector<Tensor> onlyFirst(const WeighContext& context, Tensor first)
{
    std::vector<Tensor> all(context.op.outputTypes().size());
    all[0] = std::move(first);
    return all;
}

std::vector<Tensor> carriedForward(const WeighContext& context)
{
    const ops::Structure& structure = context.op.structure();
    const auto& map = as<ops::ShapeMap>(structure);
    if (ops::isTokenSlot(structure, ops::Lookup::kIndices) && context.weights[ops::Lookup::kIndices].isValid()) {
        return onlyFirst(context, ofTokens(context, context.weights[ops::Lookup::kIndices]));
    }
    if (const ops::PickedPlaces* places = ops::pickedPlacesOf(structure)) {
        return onlyFirst(context, places->pick(context.weights[0], context.operands));
    }
    if (ops::isSaturating(context.op)) {
        const std::vector<Tensor> ones{Tensor::full(context.weights[0].dtype(), context.op.outputTypes()[0].shape, 1)};
        return onlyFirst(context, algebra::multiply(context.weights[0], carriedBack(context.with(ones), 0)));
    }
    std::vector<Tensor> operands(context.operands.begin(), context.operands.end());
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const ops::TensorType& type = context.operandTypes[slot];
        if (context.weights[slot].isValid()) {
            operands[slot] = context.weights[slot];
        } else if (isDataType(type) && (context.tracked[slot] != 0 || operands[slot].isValid())) {
            operands[slot] = Tensor::zeros(context.op.outputTypes()[0].dtype, type.shape);
        }
    }
    std::vector<Tensor> results = context.op.forward(operands);
    if (!map.isRearrangement()) {
        withoutFill(context.op, std::move(operands), results);
    }
    for (Tensor& result : results) {
        result = map.sign() == 1 ? result : algebra::scale(result, map.sign());
    }
    return results;
}

std::string derivativeFault(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked)
{
    switch (op.structure().kind()) {
    case StructureKind::Differentiable:
    case StructureKind::SelfNormalisation:
    case StructureKind::Composed:
    case StructureKind::TableLookup:
        for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
            if (tracked[slot] != 0 && !ops::isLinearIn(op.structure(), slot)) {
                return "the derivative of this function is known backwards alone";
            }
        }
        return {};
    case StructureKind::MaxPool:
        return ops::pickedPlacesOf(op.structure()) != nullptr ? std::string() : "its winners are not known forwards";
    default:
        return {};
    }
}

std::vector<Tensor> alongDerivative(const WeighContext& context, std::span<const Tensor> v)
{
    const ops::Structure& structure = context.op.structure();
    switch (structure.kind()) {
    case StructureKind::LinearMap: {
        const auto& map = as<ops::LinearMap>(structure);
        const Tensor& x = v[map.operandSlot()];
        return onlyFirst(context, x.isValid() ? map.apply(x, {}) : Tensor());
    }
    case StructureKind::Bilinear:
        return onlyFirst(context, alongBilinear(context, v));
    case StructureKind::SumOfOperands:
        return onlyFirst(context, alongSum(context, v));
    case StructureKind::Product:
        return onlyFirst(context, alongProduct(context, v));
    case StructureKind::Quotient:
        return onlyFirst(context, alongQuotient(context, v));
    case StructureKind::ShapeMap: {
        WeighContext along = context;
        along.weights = v;
        std::vector<Tensor> results = carriedForward(along);
        const double sign = as<ops::ShapeMap>(structure).sign();
        for (Tensor& result : results) {
            result = sign == 1 || !result.isValid() ? result : algebra::scale(result, sign);
        }
        return results;
    }
    case StructureKind::ElementWise:
    case StructureKind::Normalisation:
        return onlyFirst(context, alongItself(context, v[0]));
    case StructureKind::Reduction:
    case StructureKind::AveragePool:
        return runOn(context, 0, v[0]);
    case StructureKind::MaxPool:
        return onlyFirst(context, ops::pickedPlacesOf(structure)->pick(v[0], context.operands));
    case StructureKind::Softmax:
        return onlyFirst(context, as<ops::Softmax>(structure).isLogarithm() ? alongLogarithm(context, v[0])
                                                                            : alongItself(context, v[0]));
    case StructureKind::Differentiable:
    case StructureKind::SelfNormalisation:
    case StructureKind::Composed:
    case StructureKind::TableLookup:
        return alongLinear(context, v);
    case StructureKind::NoRelevance:
        break;
    }
    return std::vector<Tensor>(context.op.outputTypes().size());
}

} // namespace retro::lrp
