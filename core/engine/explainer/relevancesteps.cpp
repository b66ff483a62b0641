// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explainer/relevancesteps.h"

#include "core/ops/numbertypes.h"

#include <numeric>

namespace retro::engine
{

ValueId RelevanceSteps::scaled(ValueId value, double factor)
{
    return factor == 1 ? value : multiply(value, scalar(factor));
}

ValueId RelevanceSteps::asFloat(ValueId value) { return node("Cast", {value}, {{"to", ops::onnxOf(floatType())}}); }

void RelevanceSteps::roundInto(ValueId value, tensor::DType type, ValueId result)
{
    named("Cast", {value}, result, {{"to", ops::onnxOf(type)}});
}

ValueId RelevanceSteps::sumOver(ValueId value, const std::vector<std::int64_t>& axes, bool keepsAxes)
{
    return node("ReduceSum", {value, ints(axes)}, {{"keepdims", std::int64_t{keepsAxes ? 1 : 0}}});
}

ValueId RelevanceSteps::firstSample(ValueId value) { return slice(value, {0}, {1}, {0}); }

ValueId RelevanceSteps::guardedQuotient(ValueId a, ValueId b)
{
    const ValueId isZero = node("Equal", {b, scalar(0)});
    return where(isZero, scalar(0), node("Div", {a, where(isZero, scalar(1), b)}));
}

ValueId RelevanceSteps::quotient(ValueId relevance, ValueId denominator, const ops::algebra::Stabiliser& stabiliser,
                                 std::size_t rank, bool isNotNegative)
{
    using ops::algebra::StabiliserKind;
    if (stabiliser.epsilon == 0) {
        return guardedQuotient(relevance, denominator);
    }
    ValueId epsilon = scalar(stabiliser.epsilon);
    if (stabiliser.kind == StabiliserKind::RmsScaled) {
        std::vector<std::int64_t> axes(rank < 2 ? 0 : rank - 1);
        std::iota(axes.begin(), axes.end(), 1);
        ValueId size;
        if (axes.empty()) { // of one element its size
            size = node("Abs", {denominator});
        } else {
            size = node("Sqrt", {reduce("ReduceMean", multiply(denominator, denominator), axes)});
        }
        epsilon = multiply(size, epsilon);
    }
    const bool hasSign = stabiliser.isSigned && !isNotNegative;
    const ValueId isUp = hasSign ? node("GreaterOrEqual", {denominator, scalar(0)}) : ValueId();
    if (stabiliser.kind == StabiliserKind::Clip) {
        const ValueId up = node("Max", {denominator, epsilon});
        const ValueId divisor = hasSign ? where(isUp, up, node("Min", {denominator, node("Neg", {epsilon})})) : up;
        return node("Div", {relevance, divisor});
    }
    const ValueId shift = hasSign ? where(isUp, epsilon, node("Neg", {epsilon})) : epsilon;
    const ValueId divisor = add(denominator, shift);
    // A scale that follows the denominator may be 0 with it.
    return stabiliser.kind == StabiliserKind::RmsScaled ? guardedQuotient(relevance, divisor)
                                                        : node("Div", {relevance, divisor});
}

} // namespace retro::engine
