// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <array>

namespace retro::lrp
{

namespace
{

constexpr std::array<std::string_view, 2> kEpsilonShareNames{"half", "full"};

RuleTitle titleOf(const LinearOptions& options, BilinearShare share)
{
    using enum StructureKind;
    const bool isZero = options == LinearOptions{{StabiliserKind::Add, 0, true}, {}};
    RuleParameters parameters = isZero ? RuleParameters() : toParameters(options);
    parameters["bilinear"] = std::string(kEpsilonShareNames[static_cast<std::size_t>(share)]);
    std::string text = isZero ? std::string("lrp-0") : fmt::format("epsilon {}", textOf(options));
    text += share == BilinearShare::Full ? ", full share for each operand" : "";
    return {isZero ? "lrp-0" : "epsilon", {LinearMap, Bilinear, Normalisation}, std::move(parameters), text};
}

BilinearShare readShare(ParameterReader& reader)
{
    return static_cast<BilinearShare>(reader.choice("bilinear", kEpsilonShareNames, 0));
}

} // namespace

RulePointer epsilonRule(const LinearOptions& options, BilinearShare share)
{
    const LinearForm linear{{{{LinearTerm{}}, WeightVariant{}, options}}};
    return formRule(titleOf(options, share), [options, share, linear](const NodeSite& site) {
        switch (site.kind()) {
        case StructureKind::LinearMap:
            return NodeForm{.linear = &linear};
        case StructureKind::Bilinear:
            return NodeForm{Way::Gradient, Weight::Operand, Divisor::Result, options,
                            share == BilinearShare::Full ? std::vector<double>() : equalFactors(site)};
        default:
            return NodeForm{Way::Same, Weight::Scaled, Divisor::Weights, options, onlyFactor(site, 0)};
        }
    });
}

namespace
{

RulePointer readLrpZero(ParameterReader& reader)
{
    return epsilonRule({{StabiliserKind::Add, 0, true}, BiasPolicy::Absorb}, readShare(reader));
}

std::string linearFormula(const FormulaWords& words) { return weightFormula(words, "xW", "b", "x·(s·Wᵀ)", "xW"); }

std::string epsilonFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::Bilinear)) {
        const std::string_view half = words.has(", full share") ? "" : "½·";
        return fmt::format("z = ab; R_a = {0}a·(s·bᵀ), R_b = {0}b·(aᵀ·s), s = R/stab(z){1}", half,
                           half.empty() ? "" : "; whole where only one of the two carries relevance");
    }
    if (words.is(StructureKind::Normalisation)) {
        return weightFormula(words, "x·scale", "shift", "x·scale·s", "x·scale");
    }
    return linearFormula(words);
}

RulePointer readEpsilon(ParameterReader& reader)
{
    const LinearOptions options = reader.linearOptions(1e-6);
    return epsilonRule(options, readShare(reader));
}

} // namespace

extern const RuleDeclaration kLrpZeroRule{
    "lrp-0", readLrpZero, epsilonFormula, "linear map, bilinear", "Bach et al. 2015", {.dividesByResult = true}};
extern const RuleDeclaration kEpsilonRule{"epsilon",          readEpsilon,
                                          epsilonFormula,     "linear map, bilinear, normalisation",
                                          "Bach et al. 2015", {.dividesByResult = true}};

} // namespace retro::lrp
