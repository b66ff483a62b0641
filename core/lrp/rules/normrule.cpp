// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"

namespace retro::lrp
{

// The epsilon rule on functions without parameters.
RulePointer normRule(const Stabiliser& stabiliser)
{
    using enum StructureKind;
    const auto form = [stabiliser](const NodeSite& site) {
        NodeForm made{Way::Gradient, Weight::Operand, Divisor::Made, {stabiliser}};
        if (site.isAny({Differentiable, ElementWise})) { // as much as arrived only where f(c·x) = c·f(x)
            made.rest = event::Cause::Gradient;
        }
        for (std::size_t slot = 0; slot < site.tracked.size() && site.kind() == Differentiable; ++slot) {
            made.factors.push_back(as<ops::Differentiable>(site.op.structure()).share(site.tracked, slot));
        }
        return made;
    };
    return formRule(titleOf("norm", {SumOfOperands, Reduction, AveragePool, ElementWise, Differentiable}, stabiliser),
                    form);
}

namespace
{

std::string normFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::SumOfOperands)) {
        return "z = Σ±x_k; R_k = ±x_k·R/stab(z)";
    }
    if (words.is(StructureKind::Differentiable)) {
        return "z = f(x); R_k = share of operand k · x_k·Jᵀ(R/stab(z))";
    }
    if (words.is(StructureKind::ElementWise)) {
        return "z = f(x); R_in = x·f'(x)·R/stab(z)";
    }
    return "z = f(x); R_in = x·Jᵀ(R/stab(z))";
}

} // namespace

extern const RuleDeclaration kNormRule{"norm", [](ParameterReader& reader) { return normRule(reader.stabiliser({})); },
                                       normFormula, "sum of operands, reduction, average pool, element-wise, function"};

} // namespace retro::lrp
