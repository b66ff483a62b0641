// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/resample/axisresampling.h"

namespace retro::lrp
{

namespace
{

bool isResampling(const ops::Structure& structure)
{
    return structure.kind() == StructureKind::Differentiable &&
           dynamic_cast<const ops::ResamplesAxes*>(&structure) != nullptr;
}

NodeForm passForm(const NodeSite& site)
{
    using enum StructureKind;
    switch (site.kind()) {
    case ShapeMap:
        return {.way = Way::Carried};
    case LinearMap:
        return {.factors = onlyFactor(site, as<ops::LinearMap>(site.op.structure()).operandSlot())};
    case Quotient:
    case SumOfOperands:
    case Product: // of a constant and what is computed, the latter takes all
        return {.factors = onlyFactor(site, firstTaker(site.tracked))};
    case Differentiable: // whatever the elements; what lies outside the operand came from nowhere
        return {.way = Way::Carried, .factors = onlyFactor(site, 0), .rest = event::Cause::Unread};
    default:
        return {.factors = onlyFactor(site, 0)};
    }
}

std::string passMisfit(const NodeSite& site, std::span<const ops::TensorType> operands)
{
    using enum StructureKind;
    if (site.isAny({SumOfOperands, Product})) {
        const std::size_t takers = takersOf(site.tracked);
        return takers < 2 ? std::string()
                          : fmt::format("passes relevance on to the one computed operand, but {} operands are "
                                        "computed; choose another rule",
                                        takers);
    }
    if (site.kind() != LinearMap) {
        return {};
    }
    const tensor::Shape& from = operands[as<ops::LinearMap>(site.op.structure()).operandSlot()].shape;
    const tensor::Shape& to = site.op.outputTypes().front().shape;
    return from == to ? std::string()
                      : fmt::format("passes relevance on unchanged, but the result is {} and the input {}; choose "
                                    "another rule",
                                    tensor::toText(to), tensor::toText(from));
}

} // namespace

RulePointer passRule()
{
    using enum StructureKind;
    return formRule({.name = "pass",
                     .structures = {ElementWise, Normalisation, SelfNormalisation, Softmax, ShapeMap, Quotient,
                                    LinearMap, SumOfOperands, Product},
                     .isFor = isResampling},
                    passForm, passMisfit);
}

RulePointer stopRule()
{
    return formRule({.name = "stop", .isFor = passesRelevance},
                    [](const NodeSite&) { return NodeForm{.way = Way::Nowhere, .rest = event::Cause::Filter}; });
}

namespace
{

std::string passFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::ShapeMap)) {
        return "R_in = R, each element where it came from";
    }
    if (words.is(StructureKind::SumOfOperands) || words.is(StructureKind::Product)) {
        return "R_in = R for the one operand that is computed";
    }
    if (words.is(StructureKind::Differentiable)) {
        return "R_in = Wᵀ·R, W the weights of the resampling";
    }
    return words.is(StructureKind::Quotient) ? "R_a = R, R_b = 0; R_b = R where a carries no relevance" : "R_in = R";
}

} // namespace

extern const RuleDeclaration kPassRule{"pass",      [](ParameterReader&) { return passRule(); },
                                       passFormula, "what hands its elements on (see below)",
                                       {},          {.handsOn = true}};
extern const RuleDeclaration kStopRule{"stop",
                                       [](ParameterReader&) { return stopRule(); },
                                       [](const FormulaWords&) { return std::string("R_in = 0"); },
                                       "everything",
                                       {},
                                       {.handsNothingOn = true, .isOfGradients = true}};

} // namespace retro::lrp
