// SPDX-License-Identifier: Apache-2.0
// Rules of the winners of windows: max pooling, and TopK, which maps elements as its operand steers it.
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/windowsums.h"

namespace retro::lrp
{

namespace
{

bool hasWindows(const ops::Structure& structure) { return ops::windowsOf(structure) != nullptr; }

/// A title of a rule for all that has windows.
RuleTitle windowTitle(RuleTitle title)
{
    title.isFor = hasWindows;
    return title;
}

} // namespace

RulePointer winnerRule()
{
    return formRule(windowTitle({"winner-take-all", {StructureKind::MaxPool}}), [](const NodeSite& site) {
        return NodeForm{.way = site.kind() == StructureKind::MaxPool ? Way::Gradient : Way::Carried,
                        .factors = onlyFactor(site, 0)};
    });
}

RulePointer proportionalRule(const Stabiliser& stabiliser)
{
    return formRule(windowTitle(titleOf("proportional", {}, stabiliser)), [stabiliser](const NodeSite& site) {
        return NodeForm{Way::Windows, Weight::Operand, Divisor::Weights, {stabiliser}, onlyFactor(site, 0)};
    });
}

namespace
{

RulePointer readSoftmaxWeighted(ParameterReader& reader)
{
    const double beta = reader.number("beta", 1);
    return formRule(
        windowTitle({"softmax-weighted", {}, {{"beta", beta}}, fmt::format("softmax-weighted, beta {}", beta)}),
        [beta](const NodeSite& site) { // a window that reads padding alone has nobody to share among
            return NodeForm{
                .way = Way::Softmax, .factors = onlyFactor(site, 0), .rest = event::Cause::Unread, .beta = beta};
        });
}

// TopK maps elements; it has no first maximum but all that it gives.
std::string winnerFormula(const FormulaWords& words)
{
    return words.is(StructureKind::ShapeMap) ? "R_in = R, each element where it came from"
                                             : "R_in = R at the first maximum";
}

} // namespace

extern const RuleDeclaration kWinnerRule{"winner-take-all",
                                         [](ParameterReader&) { return winnerRule(); },
                                         winnerFormula,
                                         "max pool, TopK",
                                         {},
                                         {.isOfGradients = true, .firstTakesAll = true}};
extern const RuleDeclaration kProportionalRule{
    "proportional", [](ParameterReader& reader) { return proportionalRule(reader.stabiliser({})); },
    [](const FormulaWords&) { return std::string("R_in = x·ΣR/stab(Σx) over windows"); }, "max pool, TopK"};
extern const RuleDeclaration kSoftmaxWeightedRule{
    "softmax-weighted", readSoftmaxWeighted,
    [](const FormulaWords&) { return std::string("R_in = ΣR·softmax(βx) over windows, −β where the smallest wins"); },
    "max pool, TopK"};

} // namespace retro::lrp
