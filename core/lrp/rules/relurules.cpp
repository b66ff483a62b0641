// SPDX-License-Identifier: Apache-2.0
// Rules that replace the derivative of ReLU.
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"

namespace retro::lrp
{

namespace
{

bool isRelu(const ops::Structure& structure)
{
    return structure.kind() == StructureKind::ElementWise && as<ops::ElementWise>(structure).isRelu();
}

} // namespace

RulePointer deconvNetRule()
{
    return formRule({.name = "deconvnet", .isFor = isRelu, .isLinear = false},
                    [](const NodeSite&) { return NodeForm{.rest = event::Cause::ClippedSign, .takesPositive = true}; });
}

RulePointer guidedBackpropRule()
{
    return formRule({.name = "guided-backprop", .isFor = isRelu, .isLinear = false}, [](const NodeSite&) {
        return NodeForm{.way = Way::Gradient, .rest = event::Cause::Filter, .takesPositive = true};
    });
}

RulePointer betaSmoothRule(double beta)
{
    return formRule({"beta-smooth", {}, {{"beta", beta}}, fmt::format("beta-smooth {}", beta), isRelu},
                    [beta](const NodeSite&) {
                        return NodeForm{.weight = Weight::Sigmoid, .rest = event::Cause::Gradient, .beta = beta};
                    });
}

extern const RuleDeclaration kDeconvNetRule{"deconvnet",
                                            [](ParameterReader&) { return deconvNetRule(); },
                                            [](const FormulaWords&) { return std::string("R_in = R⁺"); },
                                            "ReLU",
                                            "Zeiler and Fergus 2014",
                                            {.isOfGradients = true}};
extern const RuleDeclaration kGuidedBackpropRule{
    "guided-backprop",
    [](ParameterReader&) { return guidedBackpropRule(); },
    [](const FormulaWords&) { return std::string("R_in = R⁺ where x > 0"); },
    "ReLU",
    "Springenberg et al. 2015",
    {.isOfGradients = true}};
extern const RuleDeclaration kBetaSmoothRule{
    "beta-smooth",
    [](ParameterReader& reader) { return betaSmoothRule(reader.number("beta", 10)); },
    [](const FormulaWords&) { return std::string("R_in = R·sigmoid(βx)"); },
    "ReLU",
    "Dombrowski et al. 2019",
    {.isOfGradients = true}};

} // namespace retro::lrp
