// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"

namespace retro::lrp
{

RulePointer uniformRule()
{
    using enum StructureKind;
    return formRule({"uniform", {SumOfOperands, Product, Reduction, AveragePool}}, [](const NodeSite& site) {
        if (site.kind() == AveragePool) {
            // The weights of a window are equal; what falls on padding that is counted belongs to nobody.
            return NodeForm{.way = Way::Gradient, .rest = event::Cause::Unread};
        }
        return site.kind() == Reduction ? NodeForm{.way = Way::Mean} : NodeForm{.factors = equalFactors(site)};
    });
}

extern const RuleDeclaration kUniformRule{"uniform", [](ParameterReader&) { return uniformRule(); },
                                          [](const FormulaWords&) { return std::string("R_in = R in equal parts"); },
                                          "sum of operands, product, reduction, average pool"};

} // namespace retro::lrp
