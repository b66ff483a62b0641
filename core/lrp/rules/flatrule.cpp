// SPDX-License-Identifier: Apache-2.0
// Flat and w-square: weight rules that look at the weights alone, as if every input were 1.
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace
{

LinearForm withoutInput(WeightPart part, const LinearOptions& options)
{
    const WeightVariant weight{part, 0};
    return {{{{{InputPart::One, weight}}, weight, options}}};
}

} // namespace

RulePointer flatRule(const Stabiliser& stabiliser)
{
    RuleParameters parameters;
    write(stabiliser, parameters);
    return linearFormRule("flat", fmt::format("flat, epsilon {}", textOf(stabiliser)), std::move(parameters),
                          withoutInput(WeightPart::Ones, {stabiliser, BiasPolicy::Zero}));
}

RulePointer wSquareRule(const LinearOptions& options)
{
    RuleParameters parameters;
    write(options, parameters);
    return linearFormRule("w-square", fmt::format("w-square, epsilon {}", textOf(options)), std::move(parameters),
                          withoutInput(WeightPart::Square, options));
}

namespace
{

RulePointer readFlat(ParameterReader& reader) { return flatRule(reader.stabiliser({})); }

std::string flatFormula(const FormulaWords&) { return "D = number of inputs; R_in = s·1ᵀ, s = R/stab(D)"; }

RulePointer readWSquare(ParameterReader& reader) { return wSquareRule(reader.linearOptions(1e-6)); }

std::string wSquareFormula(const FormulaWords& words) { return weightFormula(words, "ΣW²", "b²", "s·(W²)ᵀ", "ΣW²"); }

} // namespace

extern const RuleDeclaration kFlatRule{"flat", readFlat, flatFormula, "linear map", "Lapuschkin et al. 2019"};
extern const RuleDeclaration kWSquareRule{"w-square", readWSquare, wSquareFormula, "linear map",
                                          "Montavon et al. 2017"};

} // namespace retro::lrp
