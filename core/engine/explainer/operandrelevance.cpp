// SPDX-License-Identifier: Apache-2.0
// Rules of sums, products and quotients of operands, as nodes of the standard.
#include "core/engine/explainer/relevancesite.h"
#include "core/lrp/rules/linearform.h"

namespace retro::engine
{

namespace
{

/// The value in the shape of an operand, what was broadcast added up.
ValueId toOperand(RelevanceSite& site, ValueId value, std::size_t slot)
{
    return site.steps.sumTo(value, site.outputShape(), site.shape(slot));
}

template <class Part>
std::vector<ValueId> forTracked(const RelevanceSite& site, Part part)
{
    std::vector<ValueId> parts(site.tracked.size());
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (site.isTracked(slot)) {
            parts[slot] = part(slot);
        }
    }
    return parts;
}

std::vector<ValueId> inEqualParts(RelevanceSite& site)
{
    const double share = 1 / static_cast<double>(site.trackedCount());
    return forTracked(
        site, [&](std::size_t slot) { return site.steps.scaled(toOperand(site, site.relevance[0], slot), share); });
}

/// Of a product or sum: `signal` takes all, else the first operand that carries relevance.
std::vector<ValueId> toSignal(RelevanceSite& site)
{
    const std::size_t wanted = site.number("signal", 0) == 1 ? 1 : 0;
    std::size_t taker = wanted;
    if (!site.isTracked(wanted)) {
        taker = 0;
        while (!site.isTracked(taker)) {
            ++taker;
        }
    }
    return site.only(taker, toOperand(site, site.relevance[0], taker));
}

/// R·m/(Σm + ε) with m = |x|, and |1/b| for a divisor.
std::vector<ValueId> byMagnitude(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    if (site.trackedCount() == 1) {
        return forTracked(site, [&](std::size_t slot) { return toOperand(site, site.relevance[0], slot); });
    }
    const bool isQuotient = site.structure().kind() == ops::StructureKind::Quotient;
    std::vector<ValueId> weights(site.tracked.size());
    ValueId total;
    for (std::size_t slot = 0; slot < weights.size(); ++slot) {
        if (!site.isTracked(slot)) {
            continue;
        }
        const ValueId whole = steps.expandLike(site.operands[slot], site.outputs[0]);
        weights[slot] =
            steps.op("Abs", {slot == 1 && isQuotient ? steps.guardedQuotient(steps.scalar(1), whole) : whole});
        total = total.isValid() ? steps.add(total, weights[slot]) : weights[slot];
    }
    const ops::algebra::Stabiliser stabiliser{lrp::StabiliserKind::Add, site.number("epsilon", 1e-11), false};
    const ValueId s = steps.quotient(site.relevance[0], total, stabiliser, site.outputShape().size(), true);
    return forTracked(site, [&](std::size_t slot) { return toOperand(site, steps.multiply(weights[slot], s), slot); });
}

/// By the rules that sums and products share.
RelevanceParts ofEither(RelevanceSite& site)
{
    const std::string_view name = site.rule.name();
    if (name == "uniform") {
        return inEqualParts(site);
    }
    if (name == "abs-ratio") {
        return byMagnitude(site);
    }
    if (name == "signal-take-all") {
        return toSignal(site);
    }
    if (name == "pass") {
        return forTracked(site, [&](std::size_t slot) { return toOperand(site, site.relevance[0], slot); });
    }
    return noForm(site);
}

} // namespace

RelevanceParts relevanceOfSum(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    const std::string_view name = site.rule.name();
    const std::span<const double> signs = lrp::as<ops::SumOfOperands>(site.structure()).signs();
    if (name == "norm") {
        const ValueId s =
            steps.quotient(site.relevance[0], site.outputs[0], site.stabiliser(), site.outputShape().size());
        return forTracked(site, [&](std::size_t slot) {
            return steps.multiply(steps.scaled(toOperand(site, s, slot), signs[slot]), site.operands[slot]);
        });
    }
    if (name == "gradient") {
        return forTracked(site, [&](std::size_t slot) {
            return steps.scaled(toOperand(site, site.relevance[0], slot), signs[slot]);
        });
    }
    return ofEither(site);
}

namespace
{

/// The gradient of a product, times the share that each factor gets.
RelevanceParts factorsByGradient(RelevanceSite& site)
{
    const std::string share = site.text("share");
    const std::size_t wanted = share == "first" ? 0 : 1;
    const std::size_t taker = site.isTracked(wanted) ? wanted : 1 - wanted;
    const bool isOne = share == "first" || share == "second";
    const double factor = share == "equal" ? 1 / static_cast<double>(site.trackedCount()) : 1;
    return forTracked(site, [&](std::size_t slot) {
        if (isOne && slot != taker) {
            return site.zeros(slot);
        }
        const ValueId product = site.steps.multiply(site.relevance[0], site.operands[1 - slot]);
        return site.steps.scaled(toOperand(site, product, slot), factor);
    });
}

} // namespace

RelevanceParts relevanceOfProduct(RelevanceSite& site)
{
    return site.rule.name() == "gradient" ? factorsByGradient(site) : ofEither(site);
}

RelevanceParts relevanceOfQuotient(RelevanceSite& site)
{
    RelevanceSteps& steps = site.steps;
    const std::string_view name = site.rule.name();
    const ValueId r = site.relevance[0];
    const std::size_t taker = site.isTracked(0) ? 0 : 1;
    if (name == "pass") {
        return site.only(taker, toOperand(site, r, taker));
    }
    if (name == "abs-ratio") {
        return byMagnitude(site);
    }
    if (name == "secant") {
        const ValueId shared = taker == 0 ? r : steps.multiply(r, site.outputs[0]);
        return site.only(taker, toOperand(site, steps.guardedQuotient(shared, site.operands[1]), taker));
    }
    if (name == "gradient") {
        const ValueId once = steps.guardedQuotient(r, site.operands[1]);
        return forTracked(site, [&](std::size_t slot) {
            if (slot == 0) {
                return toOperand(site, once, 0);
            }
            const ValueId again = steps.guardedQuotient(once, site.operands[1]);
            return toOperand(site, steps.op("Neg", {steps.multiply(again, site.operands[0])}), 1);
        });
    }
    return noForm(site);
}

} // namespace retro::engine
