// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/lookup.h"

#include <array>

namespace retro::lrp
{

namespace
{

constexpr std::array<std::string_view, 4> kGradientShareNames{"whole", "equal", "first", "second"};

std::string_view nameOf(GradientShare share) { return kGradientShareNames.at(static_cast<std::size_t>(share)); }

bool isEmbedding(const ops::BoundOperator& op) { return ops::isTokenSlot(op.structure(), ops::Lookup::kIndices); }

/// Of the gradient of a product, by operand slot.
std::vector<double> factorsOfTwo(GradientShare share, const NodeSite& site)
{
    if (share == GradientShare::Equal) {
        return equalFactors(site);
    }
    const std::size_t signal = share == GradientShare::First ? 0 : 1;
    return onlyFactor(site, site.tracked[signal] != 0 ? signal : 1 - signal);
}

NodeForm gradientForm(const GradientOptions& options, const NodeSite& site)
{
    NodeForm form{.way = Way::Gradient,
                  .rest = event::Cause::Gradient,
                  .timesResult = options.timesEmbedding && isEmbedding(site.op)};
    if (options.share != GradientShare::Whole && site.isAny({StructureKind::Bilinear, StructureKind::Product})) {
        form.factors = factorsOfTwo(options.share, site);
    }
    const bool hasShares = options.share == GradientShare::Equal && site.kind() == StructureKind::Differentiable;
    for (std::size_t slot = 0; slot < site.tracked.size() && hasShares; ++slot) {
        form.factors.push_back(as<ops::Differentiable>(site.op.structure()).share(site.tracked, slot));
    }
    return form;
}

} // namespace

RulePointer gradientRule(const GradientOptions& options)
{
    const std::string share =
        options.share == GradientShare::Whole ? "" : fmt::format(", share {}", nameOf(options.share));
    RuleParameters parameters;
    if (options != GradientOptions{}) {
        parameters = {{"share", std::string(nameOf(options.share))}, {"times_embedding", options.timesEmbedding}};
    }
    return formRule({.name = "gradient",
                     .parameters = std::move(parameters),
                     .text = fmt::format("gradient{}{}", share, options.timesEmbedding ? kTimesEmbedding : ""),
                     .isFor = passesRelevance},
                    [options](const NodeSite& site) { return gradientForm(options, site); });
}

namespace
{

RulePointer readGradient(ParameterReader& reader)
{
    GradientOptions options;
    options.share = static_cast<GradientShare>(reader.choice("share", kGradientShareNames, 0));
    options.timesEmbedding = reader.flag("times_embedding", false);
    return gradientRule(options);
}

// Which part of its gradient an operand gets.
std::string_view gradientShare(const FormulaWords& words)
{
    const std::string_view share = words.after(", share ");
    if (words.is(StructureKind::Differentiable)) {
        return share == "equal" ? ", times the operand's share" : "";
    }
    const bool isProduct =
        words.is(StructureKind::Bilinear) || words.is(StructureKind::Product) || words.structure.empty();
    if (!isProduct || share.empty()) {
        return "";
    }
    if (share == "equal") {
        return ", divided by the number of operands that carry relevance";
    }
    return share == "first" ? " for the first operand of a product, 0 for the other"
                            : " for the second operand of a product, 0 for the other";
}

std::string gradientFormula(const FormulaWords& words)
{
    return fmt::format("R_in = Jᵀ·R{}{}", words.has(kTimesEmbedding) ? ", of tokens Σ e·R over their embedding e" : "",
                       gradientShare(words));
}

} // namespace

extern const RuleDeclaration kGradientRule{"gradient",   readGradient, gradientFormula,
                                           "everything", {},           {.isGradient = true, .isOfGradients = true}};

} // namespace retro::lrp
