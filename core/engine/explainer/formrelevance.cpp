// SPDX-License-Identifier: Apache-2.0
// What a rule does at a node, as nodes of the standard: its form (lrp::NodeForm) is read as the engine reads it.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <numeric>

namespace retro::engine
{

using base::Result;
using lrp::Divisor;
using lrp::Way;
using lrp::Weight;
using ops::StructureKind;

namespace
{

/// From below this on a logit is masked.
constexpr double kMasked = -1e30;
/// Operator sets from which on Softmax means one axis.
constexpr std::int64_t kSoftmaxOfOneAxis = 13;

/// True for LayerNormalization, and for those that are divided by the root mean square alone.
bool isLayerNormalisation(const RelevanceSite& site) { return ops::isLayerNormalisation(site.node); }
bool isRmsNormalisation(const RelevanceSite& site) { return ops::isRmsNormalisation(site.node); }

/// s·w/σ with the deviation σ held constant, less its mean where a mean is subtracted.
Result<ValueId> throughDeviation(RelevanceSite& site, ValueId s)
{
    const bool isCentred = isLayerNormalisation(site);
    if (!isCentred && !isRmsNormalisation(site)) {
        return notWritten(site, "only LayerNormalization and RMSNormalization are written with their deviation held "
                                "constant");
    }
    RelevanceSteps& steps = site.steps;
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    const auto first = static_cast<std::int64_t>(
        tape::axisOf(graph::intAttribute(site.node, "axis", -1), static_cast<std::size_t>(rank)));
    std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - first));
    std::iota(axes.begin(), axes.end(), first);
    const ValueId x = site.operands[0];
    const ValueId centred = isCentred ? steps.subtract(x, steps.reduce("ReduceMean", x, axes)) : x;
    const ValueId square = steps.reduce("ReduceMean", steps.multiply(centred, centred), axes);
    const double epsilon = graph::floatAttribute(site.node, "epsilon", 1e-5);
    const ValueId deviation = steps.node("Sqrt", {steps.add(square, steps.scalar(epsilon))});
    const ValueId scaled = site.has(1) ? steps.multiply(s, site.operands[1]) : s;
    const ValueId g = steps.node("Div", {scaled, deviation});
    return isCentred ? steps.subtract(g, steps.reduce("ReduceMean", g, axes)) : g;
}

/// The axis of a softmax.
Result<std::int64_t> axisOfSoftmax(const RelevanceSite& site)
{
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    const bool isFlattening = site.node.opset < kSoftmaxOfOneAxis;
    std::int64_t axis = graph::intAttribute(site.node, "axis", isFlattening ? 1 : -1);
    axis += axis < 0 ? rank : 0;
    if (isFlattening && axis != rank - 1) {
        return notWritten(site, "it is over several axes at once; convert the model to operator set 13");
    }
    return axis;
}

bool isLogarithm(const RelevanceSite& site) { return lrp::as<ops::Softmax>(site.structure()).isLogarithm(); }

/// x·(g − p·Σg) over the logits that are shown, g = R or, of a logarithm, R/y.
Result<ValueId> bySoftmaxTaylor(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    RETRO_TRY(const std::int64_t axis, axisOfSoftmax(site));
    const ValueId x = site.operands[0];
    const ValueId y = site.outputs[0];
    const ValueId isShown = steps.node("Greater", {x, steps.scalar(kMasked)});
    const ValueId zero = steps.scalar(0);
    ValueId g = site.relevance[0];
    if (site.form.divisor == Divisor::Result) {
        g = steps.quotient(steps.where(isShown, g, zero), steps.where(isShown, y, zero), site.form.options.stabiliser,
                           site.shape(0).size());
    }
    const ValueId p = isLogarithm(site) ? steps.node("Exp", {y}) : y;
    const ValueId total = steps.sumOver(g, {axis});
    const ValueId part = steps.multiply(steps.where(isShown, x, zero), steps.subtract(g, steps.multiply(p, total)));
    return site.form.isCausal ? steps.node("Trilu", {part}, {{"upper", std::int64_t{0}}}) : part;
}

/// R/b, and −(R/b)·a/b of the divisor.
std::vector<ValueId> backThroughQuotient(RelevanceSite& site, ValueId s)
{
    RelevanceSteps& steps = site.steps;
    const ValueId once = steps.guardedQuotient(s, site.operands[1]);
    return site.forTracked([&](std::size_t slot) {
        if (slot == 0) {
            return site.toOperand(once, 0);
        }
        const ValueId again = steps.guardedQuotient(once, site.operands[1]);
        return site.toOperand(steps.node("Neg", {steps.multiply(again, site.operands[0])}), 1);
    });
}

/// The one part of operand 0.
RelevanceParts ofFirst(RelevanceSite& site, Result<ValueId> part)
{
    return part.ok() ? RelevanceParts(site.only(0, *part)) : RelevanceParts(part.error());
}

/// Jᵀ·s.
RelevanceParts byGradient(RelevanceSite& site, std::vector<ValueId> s)
{
    RelevanceSteps& steps = site.steps;
    switch (site.structure().kind()) {
    case StructureKind::LinearMap:
        return backThroughLinearMap(site, s[0]);
    case StructureKind::SumOfOperands: {
        const std::span<const double> signs = lrp::as<ops::SumOfOperands>(site.structure()).signs();
        return site.forTracked([&](std::size_t slot) { return steps.scaled(site.toOperand(s[0], slot), signs[slot]); });
    }
    case StructureKind::Product:
        return site.forTracked(
            [&](std::size_t slot) { return site.toOperand(steps.multiply(s[0], site.operands[1 - slot]), slot); });
    case StructureKind::Quotient:
        return backThroughQuotient(site, s[0]);
    case StructureKind::ElementWise:
        return pulledBackByElement(site, std::move(s));
    case StructureKind::Normalisation:
        return site.only(0, steps.multiply(s[0], steps.floats(lrp::as<ops::Normalisation>(site.structure()).scale())));
    case StructureKind::MaxPool:
        return backToWinners(site, s[0]);
    case StructureKind::ShapeMap:
        return backThroughShapeMap(site, std::move(s));
    default:
        return pulledBack(site, std::move(s));
    }
}

/// By the way of the form, `s` in the place of what arrived.
RelevanceParts wayBack(RelevanceSite& site, std::vector<ValueId> s)
{
    const bool isOfLines = site.structure().kind() == StructureKind::ShapeMap; // TopK
    switch (site.form.way) {
    case Way::Mean:
        return ofFirst(site, inEqualParts(site, s[0]));
    case Way::Detached:
        return ofFirst(site, throughDeviation(site, s[0]));
    case Way::Windows:
        return isOfLines ? noForm(site) : ofFirst(site, backThroughWindows(site, s[0]));
    case Way::Softmax:
        return isOfLines ? noForm(site) : ofFirst(site, bySoftmaxOfWindows(site, s[0]));
    default:
        return byGradient(site, std::move(s));
    }
}

/// What the form multiplies by at an operand: on the way Same in the shape of the result.
ValueId weightOf(RelevanceSite& site, std::size_t slot)
{
    RelevanceSteps& steps = site.steps;
    const ValueId x = site.operands[slot];
    switch (site.form.weight) {
    case Weight::Operand:
        return x;
    case Weight::Magnitude: {
        if (site.form.way != Way::Same) {
            return steps.node("Abs", {x});
        }
        const ValueId wide = steps.expandLike(x, site.outputs[0]);
        const bool isDivisor = slot == 1 && site.structure().kind() == StructureKind::Quotient;
        return steps.node("Abs", {isDivisor ? steps.guardedQuotient(steps.scalar(1), wide) : wide});
    }
    case Weight::Slope:
        return steps.guardedQuotient(site.outputs[0], x);
    case Weight::Sigmoid:
        return steps.node("Sigmoid", {steps.scaled(x, site.form.beta)});
    case Weight::Scaled:
        return steps.multiply(x, steps.floats(lrp::as<ops::Normalisation>(site.structure()).scale()));
    case Weight::One:
        break;
    }
    return {};
}

/// The sum of the weights, with the shift of a normalisation where its form has it.
Result<ValueId> sumOfWeights(RelevanceSite& site, const std::vector<ValueId>& weights)
{
    RelevanceSteps& steps = site.steps;
    ValueId sum;
    for (const ValueId weight : weights) {
        if (weight.isValid()) {
            sum = sum.isValid() ? steps.add(sum, weight) : weight;
        }
    }
    if (site.form.way == Way::Windows) {
        return site.structure().kind() == StructureKind::ShapeMap ? noForm(site) : sumOfWindows(site, sum);
    }
    const bool hasShift = site.form.weight == Weight::Scaled && site.form.options.bias != lrp::BiasPolicy::Zero;
    return hasShift ? steps.add(sum, steps.floats(lrp::as<ops::Normalisation>(site.structure()).shift())) : sum;
}

/// What arrived, as the form divides it; per output.
RelevanceParts divided(RelevanceSite& site, const std::vector<ValueId>& weights)
{
    RelevanceSteps& steps = site.steps;
    std::vector<ValueId> s = site.relevance;
    const ops::algebra::Stabiliser& stabiliser = site.form.options.stabiliser;
    switch (site.form.divisor) {
    case Divisor::None:
        break;
    case Divisor::Operand:
        s[0] = steps.guardedQuotient(s[0], site.operands[1]);
        break;
    case Divisor::Weights: {
        RETRO_TRY(const ValueId sum, sumOfWeights(site, weights));
        s[0] = steps.quotient(s[0], sum, stabiliser, site.outputShape().size(), site.form.weight == Weight::Magnitude);
        break;
    }
    case Divisor::Result:
    case Divisor::Made:
        for (std::size_t k = 0; k < s.size(); ++k) {
            if (s[k].isValid()) {
                s[k] = steps.quotient(s[k], site.outputs[k], stabiliser, site.outputShape(k).size(),
                                      isNowhereNegative(site.model, site.node.outputs[k]));
            }
        }
    }
    return s;
}

/// Of a normalisation, what is spread of what the shift and the stabiliser keep back goes to the one input of a unit.
ValueId spreadToOne(RelevanceSite& site, ValueId share)
{
    const lrp::LinearOptions& options = site.form.options;
    const double absorbed = options.bias == lrp::BiasPolicy::Spread ? 1 - options.biasFactor : 1;
    const ValueId r = site.relevance[0];
    if (absorbed == 1) {
        return share;
    }
    RelevanceSteps& steps = site.steps;
    return absorbed == 0 ? r : steps.add(share, steps.scaled(steps.subtract(r, share), 1 - absorbed));
}

/// Relevance arrives at outputs beside the result of such a structure.
bool arrivesBeside(const RelevanceSite& site, StructureKind kind)
{
    return site.structure().kind() == kind &&
           std::any_of(site.relevance.begin() + 1, site.relevance.end(), [](ValueId r) { return r.isValid(); });
}

/// R⁺ or R·f(x).
void takeArrived(RelevanceSite& site)
{
    ValueId& r = site.relevance[0];
    r = site.form.takesPositive ? site.steps.positivePart(r) : r;
    r = site.form.timesResult ? site.steps.multiply(r, site.outputs[0]) : r;
}

/// The parts of those slots that take something; all others are not tracked here.
RelevanceParts partsOfTakers(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    takeArrived(site);
    const bool isSame = site.form.way == Way::Same;
    const std::vector<ValueId> weights = site.forTracked([&](std::size_t slot) { return weightOf(site, slot); });
    RETRO_TRY(std::vector<ValueId> s, divided(site, weights));
    std::vector<ValueId> back(site.tracked.size(), s[0]);
    if (!isSame) {
        RETRO_TRY(back, wayBack(site, std::move(s)));
    }
    return site.forTracked([&](std::size_t slot) {
        ValueId part = weights[slot].isValid() ? steps.multiply(back[slot], weights[slot]) : back[slot];
        part = site.form.weight == Weight::Scaled ? spreadToOne(site, part) : part;
        return steps.scaled(isSame ? site.toOperand(part, slot) : part, site.form.factor(slot));
    });
}

} // namespace

RelevanceParts relevanceByForm(RelevanceSite& site)
{
    const lrp::NodeForm& form = site.form;
    if (form.linear != nullptr) {
        return relevanceOfLinearMap(site);
    }
    if (arrivesBeside(site, StructureKind::MaxPool)) {
        return noForm(site);
    }
    if (arrivesBeside(site, StructureKind::SelfNormalisation) && form.way != Way::Gradient) {
        return notWritten(site, "relevance arrives at its mean or deviation, outputs beside the result; ask for the "
                                "relevance itself (without --graph-out), or choose the composite gradient_x_input");
    }
    if (form.way == Way::Taylor) {
        return ofFirst(site, bySoftmaxTaylor(site));
    }
    RelevanceSite takers = site;
    for (std::size_t slot = 0; slot < takers.tracked.size(); ++slot) {
        const bool takes = site.isTracked(slot) && form.way != Way::Nowhere && form.factor(slot) != 0;
        takers.tracked[slot] = takes ? 1 : 0;
    }
    std::vector<ValueId> parts(takers.tracked.size());
    if (std::ranges::count(takers.tracked, 1) > 0) {
        RETRO_TRY(parts, partsOfTakers(takers));
    }
    return site.forTracked([&](std::size_t slot) { return parts[slot].isValid() ? parts[slot] : site.zeros(slot); });
}

} // namespace retro::engine
