// SPDX-License-Identifier: Apache-2.0
// Rules that AttnLRP, CP-LRP and gradients whose product with a value is its relevance (Arras et al. 2025) have beside
// the ones for the other networks (docs/composites.md).
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/detachable.h"

namespace retro::lrp
{

namespace
{

/// Null for what cannot be looked at with its deviation held constant.
const ops::Detachable* detachable(const NodeSite& site)
{
    return dynamic_cast<const ops::Detachable*>(&site.op.structure());
}

NodeForm secantForm(const NodeSite& site)
{
    if (site.kind() != StructureKind::Quotient) {
        return {.weight = Weight::Slope, .factors = onlyFactor(site, 0), .rest = event::Cause::Gradient};
    }
    const std::size_t taker = site.tracked[0] != 0 ? 0 : 1; // a/b goes as 1/b: R·(a/b)/b
    return {.divisor = Divisor::Operand,
            .factors = onlyFactor(site, taker),
            .rest = event::Cause::Gradient,
            .timesResult = taker == 1};
}

} // namespace

RulePointer secantRule()
{
    using enum StructureKind;
    return formRule({"secant", {ElementWise, Normalisation, Quotient}}, secantForm);
}

RulePointer detachedGradientRule()
{
    return formRule({"detached-gradient", {StructureKind::SelfNormalisation}}, [](const NodeSite& site) {
        return NodeForm{.way = detachable(site) != nullptr ? Way::Detached : Way::Same,
                        .weight = detachable(site) != nullptr ? Weight::One : Weight::Slope,
                        .factors = onlyFactor(site, 0),
                        .rest = event::Cause::Gradient};
    });
}

RulePointer detachedDeviationRule(const Stabiliser& stabiliser)
{
    const auto form = [stabiliser](const NodeSite& site) {
        const bool isCentred = detachable(site) != nullptr && detachable(site)->isCentred();
        return isCentred
                   ? NodeForm{Way::Detached, Weight::Operand,     Divisor::Result,
                              {stabiliser},  onlyFactor(site, 0), event::Cause::Bias}
                   : NodeForm{.options = {stabiliser}, .factors = onlyFactor(site, 0), .rest = event::Cause::Constant};
    };
    return formRule(titleOf("detached-deviation", {StructureKind::SelfNormalisation}, stabiliser), form);
}

RulePointer signalTakesAllRule(std::size_t signal, const Stabiliser& stabiliser)
{
    using enum StructureKind;
    const auto form = [signal, stabiliser](const NodeSite& site) {
        const bool carries = signal < site.tracked.size() && site.tracked[signal] != 0;
        NodeForm made{.factors = onlyFactor(site, carries ? signal : firstTaker(site.tracked))};
        if (site.kind() == Bilinear) {
            made = {Way::Gradient, Weight::Operand, Divisor::Made, {stabiliser}, std::move(made.factors)};
        }
        return made;
    };
    return formRule({"signal-take-all",
                     {Product, Bilinear, SumOfOperands},
                     withParameter(toParameters(stabiliser), "signal", static_cast<double>(signal)),
                     fmt::format("signal-take-all, operand {}, epsilon {}", signal, textOf(stabiliser))},
                    form);
}

namespace
{

RulePointer readSignalTakesAll(ParameterReader& reader)
{
    const double signal = reader.number("signal", 0, {0, 1});
    if (signal != 0 && signal != 1) {
        reader.fail("signal", "must be 0 or 1, the operand that takes all");
    }
    return signalTakesAllRule(signal == 1 ? 1 : 0, reader.stabiliser({}));
}

std::string signalFormula(const FormulaWords& words)
{
    const bool isSecond = words.after(", operand ") == "1";
    if (words.is(StructureKind::Bilinear)) {
        return fmt::format("z = ab; {}, s = R/stab(z)",
                           isSecond ? "R_b = b·(aᵀ·s), R_a = 0" : "R_a = a·(s·bᵀ), R_b = 0");
    }
    return "R_in = R for the signal, 0 for its gate";
}

std::string secantFormula(const FormulaWords& words)
{
    return words.is(StructureKind::Quotient) ? "R_a = R/b, R_b = 0; R_b = R·(a/b)/b where a carries no relevance"
                                             : "R_in = R·f(x)/x";
}

} // namespace

extern const RuleDeclaration kSecantRule{"secant", [](ParameterReader&) { return secantRule(); }, secantFormula,
                                         "element-wise, normalisation, quotient"};
extern const RuleDeclaration kDetachedGradientRule{
    "detached-gradient", [](ParameterReader&) { return detachedGradientRule(); },
    [](const FormulaWords&) {
        return std::string("g = R·w/σ; R_in = g − mean(g), without the mean where none is subtracted");
    },
    "self-normalisation"};
extern const RuleDeclaration kDetachedDeviationRule{
    "detached-deviation", [](ParameterReader& reader) { return detachedDeviationRule(reader.stabiliser({})); },
    [](const FormulaWords&) {
        return std::string("g = R/stab(y)·w/σ; R_in = x·(g − mean(g)), R where no mean is subtracted");
    },
    "self-normalisation"};
extern const RuleDeclaration kSignalTakesAllRule{"signal-take-all", readSignalTakesAll, signalFormula,
                                                 "product, bilinear, sum of operands", "Arras et al. 2017"};

} // namespace retro::lrp
