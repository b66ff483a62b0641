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
    return linearFormRule("flat", fmt::format("flat, epsilon {}", textOf(stabiliser)), toParameters(stabiliser),
                          withoutInput(WeightPart::Ones, {stabiliser, BiasPolicy::Zero}));
}

RulePointer wSquareRule(const LinearOptions& options)
{
    return linearFormRule("w-square", fmt::format("w-square, epsilon {}", textOf(options)), toParameters(options),
                          withoutInput(WeightPart::Square, options));
}

extern const RuleDeclaration kFlatRule{
    "flat",
    [](ParameterReader& reader) { return flatRule(reader.stabiliser({})); },
    [](const FormulaWords&) { return std::string("D = number of inputs; R_in = s·1ᵀ, s = R/stab(D)"); },
    "linear map",
    "Lapuschkin et al. 2019",
    {.isForOneLayer = true}};
extern const RuleDeclaration kWSquareRule{
    "w-square",
    [](ParameterReader& reader) { return wSquareRule(reader.linearOptions(1e-6)); },
    [](const FormulaWords& words) { return weightFormula(words, "ΣW²", "b²", "s·(W²)ᵀ", "ΣW²"); },
    "linear map",
    "Montavon et al. 2017",
    {.isForOneLayer = true}};

} // namespace retro::lrp
