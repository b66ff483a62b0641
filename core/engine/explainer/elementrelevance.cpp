// SPDX-License-Identifier: Apache-2.0
// Rules of element-wise functions, normalisations, softmax and functions that are known by their reverse rule, as nodes
// of the standard.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/lrp/rules/linearform.h"

#include <numeric>

namespace retro::engine
{

namespace
{

/// From below this on a logit is masked.
constexpr double kMasked = -1e30;
/// Operator sets from which on Softmax means one axis.
constexpr std::int64_t kSoftmaxOfOneAxis = 13;

ValueId throughSecant(RelevanceSite& site)
{
    return site.steps.multiply(site.relevance[0], site.steps.guardedQuotient(site.outputs[0], site.operands[0]));
}

/// What arrived, divided by the result, per output.
std::vector<ValueId> quotients(RelevanceSite& site)
{
    std::vector<ValueId> divided(site.relevance.size());
    for (std::size_t k = 0; k < divided.size(); ++k) {
        if (site.relevance[k].isValid()) {
            divided[k] =
                site.steps.quotient(site.relevance[k], site.outputs[k], site.stabiliser(), site.outputShape(k).size());
        }
    }
    return divided;
}

/// A LayerNormalization or RMSNormalization: the axes that it is over.
std::vector<std::int64_t> normalisedAxes(const RelevanceSite& site)
{
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    std::int64_t axis = graph::intAttribute(site.node, "axis", -1);
    axis += axis < 0 ? rank : 0;
    std::vector<std::int64_t> axes(static_cast<std::size_t>(rank - axis));
    std::iota(axes.begin(), axes.end(), axis);
    return axes;
}

/// R·w/σ, less its mean where a mean is subtracted.
ValueId throughDeviation(RelevanceSite& site, ValueId r, bool isCentred)
{
    RelevanceSteps& steps = site.steps;
    tape::Emitter& emit = steps.emitter();
    const std::vector<std::int64_t> axes = normalisedAxes(site);
    const ValueId x = site.operands[0];
    const ValueId centred = isCentred ? steps.subtract(x, emit.reduce("ReduceMean", x, axes)) : x;
    const ValueId square = emit.reduce("ReduceMean", steps.multiply(centred, centred), axes);
    const double epsilon = graph::floatAttribute(site.node, "epsilon", 1e-5);
    const ValueId deviation = steps.op("Sqrt", {steps.add(square, steps.scalar(epsilon))});
    const ValueId scaled = site.has(1) ? steps.multiply(r, site.operands[1]) : r;
    const ValueId g = steps.op("Div", {scaled, deviation});
    return isCentred ? steps.subtract(g, emit.reduce("ReduceMean", g, axes)) : g;
}

} // namespace

RelevanceParts relevanceOfElements(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    const std::string_view name = site.rule.name();
    const ValueId r = site.relevance[0];
    if (name == "pass") {
        return site.only(0, r);
    }
    if (name == "gradient") {
        return pulledBackByElement(site, site.relevance);
    }
    if (name == "secant") {
        return site.only(0, throughSecant(site));
    }
    if (name == "norm") {
        RETRO_TRY(std::vector<ValueId> parts, pulledBackByElement(site, quotients(site)));
        parts[0] = steps.multiply(parts[0], site.operands[0]);
        return parts;
    }
    if (name == "deconvnet") {
        return site.only(0, steps.positivePart(r));
    }
    if (name == "guided-backprop") {
        return site.only(0, steps.where(steps.isPositive(site.outputs[0]), steps.positivePart(r), steps.scalar(0)));
    }
    if (name == "beta-smooth") {
        const ValueId slope = steps.op("Sigmoid", {steps.scaled(site.operands[0], site.number("beta", 10))});
        return site.only(0, steps.multiply(r, slope));
    }
    return noForm(site);
}

RelevanceParts relevanceOfNormalisation(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    const std::string_view name = site.rule.name();
    const ValueId r = site.relevance[0];
    const auto& affine = lrp::as<ops::Normalisation>(site.structure());
    if (name == "pass") {
        return site.only(0, r);
    }
    if (name == "gradient") {
        return site.only(0, steps.multiply(r, steps.constant(affine.scale())));
    }
    if (name == "secant") {
        return site.only(0, throughSecant(site));
    }
    if (name != "epsilon" && name != "lrp-0") {
        return noForm(site);
    }
    const lrp::LinearOptions options = name == "lrp-0" ? lrp::LinearOptions{{lrp::StabiliserKind::Add, 0, true}, {}}
                                                       : lrp::ParameterReader(site.parameters).linearOptions(1e-6);
    const ValueId own = steps.multiply(site.operands[0], steps.constant(affine.scale()));
    const bool withShift = options.bias != lrp::BiasPolicy::Zero;
    const ValueId y = withShift ? steps.add(own, steps.constant(affine.shift())) : own;
    const ValueId share = steps.multiply(steps.quotient(r, y, options.stabiliser, site.outputShape().size()), own);
    const double absorbed = options.bias == lrp::BiasPolicy::Spread ? 1 - options.biasFactor : 1;
    if (absorbed == 1) {
        return site.only(0, share);
    }
    return site.only(0, absorbed == 0 ? r : steps.add(share, steps.scaled(steps.subtract(r, share), 1 - absorbed)));
}

namespace
{

bool isLayerNormalisation(const RelevanceSite& site) { return site.node.op == "LayerNormalization"; }

bool isRmsNormalisation(const RelevanceSite& site)
{
    return site.node.op == "RMSNormalization" || site.node.op == "SimplifiedLayerNormalization";
}

/// Relevance with the deviation held constant.
RelevanceParts byDetachedDeviation(RelevanceSite& site)
{
    const ValueId r = site.relevance[0];
    if (isRmsNormalisation(site) || site.node.op == "LRN") {
        return site.only(0, r);
    }
    if (!isLayerNormalisation(site)) {
        return notWritten(site, "only LayerNormalization is written with its deviation held constant");
    }
    const ValueId s = site.steps.quotient(r, site.outputs[0], site.stabiliser(), site.outputShape().size());
    return site.only(0, site.steps.multiply(site.operands[0], throughDeviation(site, s, true)));
}

/// The gradient with the deviation held constant.
RelevanceParts byDetachedGradient(RelevanceSite& site)
{
    if (site.node.op == "LRN") {
        return site.only(0, throughSecant(site));
    }
    const bool isLayer = isLayerNormalisation(site);
    if (!isLayer && !isRmsNormalisation(site)) {
        return notWritten(site, "only LayerNormalization and RMSNormalization are written with their deviation "
                                "held constant");
    }
    return site.only(0, throughDeviation(site, site.relevance[0], isLayer));
}

} // namespace

RelevanceParts relevanceOfSelfNormalisation(RelevanceSite& site)
{
    const std::string_view name = site.rule.name();
    if (name == "gradient") {
        return pulledBack(site, site.relevance);
    }
    if (std::any_of(site.relevance.begin() + 1, site.relevance.end(), [](ValueId r) { return r.isValid(); })) {
        return notWritten(site, "relevance arrives at its mean or deviation, outputs beside the result; ask for the "
                                "relevance itself (without --graph-out), or choose the composite gradient_x_input");
    }
    if (!site.relevance[0].isValid()) {
        return site.only(site.tracked.size(), {});
    }
    if (name == "pass") {
        return site.only(0, site.relevance[0]);
    }
    if (name == "detached-deviation") {
        return byDetachedDeviation(site);
    }
    return name == "detached-gradient" ? byDetachedGradient(site) : noForm(site);
}

RelevanceParts relevanceOfSoftmax(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    const std::string_view name = site.rule.name();
    const ValueId r = site.relevance[0];
    if (name == "pass") {
        return site.only(0, r);
    }
    const auto rank = static_cast<std::int64_t>(site.shape(0).size());
    const bool isFlattening = site.node.opset < kSoftmaxOfOneAxis;
    std::int64_t axis = graph::intAttribute(site.node, "axis", isFlattening ? 1 : -1);
    axis += axis < 0 ? rank : 0;
    if (isFlattening && axis != rank - 1) {
        return notWritten(site, "it is over several axes at once; convert the model to operator set 13");
    }
    const bool isLogarithm = site.node.op == "LogSoftmax";
    const ValueId y = site.outputs[0];
    const ValueId p = isLogarithm ? steps.op("Exp", {y}) : y;
    if (name == "gradient") {
        const ValueId weighted = isLogarithm ? r : steps.multiply(r, p);
        const ValueId total = steps.sumOver(weighted, {axis});
        return site.only(0, steps.subtract(weighted, steps.multiply(p, total)));
    }
    if (name != "softmax-taylor") {
        return noForm(site);
    }
    const ValueId x = site.operands[0];
    const ValueId isShown = steps.op("Greater", {x, steps.scalar(kMasked)});
    const ValueId zero = steps.scalar(0);
    ValueId g = r;
    if (isLogarithm) {
        g = steps.quotient(steps.where(isShown, r, zero), steps.where(isShown, y, zero), site.stabiliser(),
                           static_cast<std::size_t>(rank));
    }
    const ValueId total = steps.sumOver(g, {axis});
    ValueId part = steps.multiply(steps.where(isShown, x, zero), steps.subtract(g, steps.multiply(p, total)));
    if (site.flag("causal")) {
        part = steps.op("Trilu", {part}, {{"upper", std::int64_t{0}}});
    }
    return site.only(0, part);
}

RelevanceParts relevanceOfFunction(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    const std::string_view name = site.rule.name();
    const auto& function = lrp::as<ops::Differentiable>(site.structure());
    if (name == "pass") {
        return pulledBack(site, site.relevance);
    }
    if (name == "gradient") {
        RETRO_TRY(std::vector<ValueId> parts, pulledBack(site, site.relevance));
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (site.isTracked(slot) && site.text("share") == "equal") {
                parts[slot] = steps.scaled(parts[slot], function.share(site.tracked, slot));
            }
        }
        return parts;
    }
    if (name != "norm") {
        return noForm(site);
    }
    RETRO_TRY(std::vector<ValueId> parts, pulledBack(site, quotients(site)));
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (site.isTracked(slot)) {
            parts[slot] =
                steps.scaled(steps.multiply(parts[slot], site.operands[slot]), function.share(site.tracked, slot));
        }
    }
    return parts;
}

} // namespace retro::engine
