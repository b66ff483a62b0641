// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/traversal/parametersink.h"
#include "core/ops/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace retro::lrp
{

namespace
{

namespace algebra = ops::algebra;
using ops::StructureKind;

constexpr std::array<std::string_view, 4> kGradientShareNames{"whole", "equal", "first", "second"};

std::string_view nameOf(GradientShare share) { return kGradientShareNames.at(static_cast<std::size_t>(share)); }

bool isEmbedding(const ops::BoundOperator& op) { return ops::isTokenSlot(op.structure(), ops::Lookup::kIndices); }

bool isProductOfTwo(const ops::Structure& structure)
{
    return structure.kind() == StructureKind::Bilinear || structure.kind() == StructureKind::Product;
}

class GradientRule final : public Rule, public LinearRule
{
public:
    explicit GradientRule(const GradientOptions& options) : m_options(options) {}

    [[nodiscard]] std::string_view name() const override { return "gradient"; }
    [[nodiscard]] std::string text() const override
    {
        const bool isPlain = m_options.share == GradientShare::Whole;
        return fmt::format("gradient{}{}", isPlain ? "" : fmt::format(", share {}", nameOf(m_options.share)),
                           m_options.timesEmbedding ? kTimesEmbedding : "");
    }
    [[nodiscard]] RuleParameters parameters() const override
    {
        if (m_options == GradientOptions{}) {
            return {};
        }
        return {{"share", std::string(nameOf(m_options.share))}, {"times_embedding", m_options.timesEmbedding}};
    }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() != StructureKind::NoRelevance;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked) const override
    {
        ops::Reads reads = gradientReads(op, tracked);
        if (m_options.timesEmbedding && isEmbedding(op)) {
            reads.outputs |= ops::Reads::bit(0);
        }
        return reads;
    }

    [[nodiscard]] std::string noForward(const ops::BoundOperator& op,
                                        std::span<const std::uint8_t> tracked) const override
    {
        return derivativeFault(op, tracked);
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        std::vector<Tensor> v(context.weights.begin(), context.weights.end());
        for (std::size_t slot = 0; slot < v.size(); ++slot) {
            const double share = v[slot].isValid() ? shareOf(context.with({}), slot) : 1;
            v[slot] = share == 0 ? Tensor() : share == 1 ? v[slot] : algebra::scale(v[slot], share);
        }
        if (std::ranges::none_of(v, [](const Tensor& each) { return each.isValid(); })) {
            return onlyFirst(context, {});
        }
        std::vector<Tensor> w = alongDerivative(context, v);
        if (m_options.timesEmbedding && isEmbedding(context.op)) {
            w[0] = algebra::multiply(w[0], context.outputs[0]);
        }
        return w;
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        if (balance.parameters() != nullptr) {
            balance.parameters()->gradient(context.relevance[0]);
        }
        const bool isProduct = m_options.timesEmbedding && isEmbedding(context.op);
        return balance.closeAs(event::Cause::Gradient, isProduct ? ofProducts(context) : partsOf(context));
    }

private:
    [[nodiscard]] std::vector<Tensor> partsOf(const RuleContext& context) const
    {
        return forTracked(context, [&](std::size_t slot) { return partOf(context, slot); });
    }

    [[nodiscard]] Tensor partOf(const RuleContext& context, std::size_t slot) const
    {
        const double share = shareOf(context, slot);
        if (share == 0) {
            return Tensor::zeros(context.operandTypes[slot].dtype, context.operandTypes[slot].shape);
        }
        Tensor part = gradientPart(context, slot);
        return share == 1 ? part : algebra::scale(part, share);
    }

    // Of e·R in place of R.
    [[nodiscard]] std::vector<Tensor> ofProducts(const RuleContext& context) const
    {
        const std::vector<Tensor> products{algebra::multiply(context.relevance[0], context.outputs[0])};
        const RuleContext changed{context.op,      context.operands,     context.outputs, products,
                                  context.tracked, context.operandTypes, context.ledger};
        return partsOf(changed);
    }

    [[nodiscard]] double shareOf(const RuleContext& context, std::size_t slot) const
    {
        const ops::Structure& structure = context.op.structure();
        if (m_options.share == GradientShare::Whole) {
            return 1;
        }
        if (isProductOfTwo(structure)) {
            return shareOfTwo(context.tracked, slot);
        }
        const bool hasShares =
            m_options.share == GradientShare::Equal && structure.kind() == StructureKind::Differentiable;
        return hasShares ? as<ops::Differentiable>(structure).share(context.tracked, slot) : 1;
    }

    [[nodiscard]] double shareOfTwo(std::span<const std::uint8_t> tracked, std::size_t slot) const
    {
        if (m_options.share == GradientShare::Equal) {
            return 1 / static_cast<double>(takersOf(tracked));
        }
        const std::size_t signal = m_options.share == GradientShare::First ? 0 : 1;
        const std::size_t taker = tracked[signal] != 0 ? signal : 1 - signal;
        return slot == taker ? 1 : 0;
    }

    GradientOptions m_options;
};

} // namespace

RulePointer gradientRule(const GradientOptions& options) { return std::make_shared<const GradientRule>(options); }

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

extern const RuleDeclaration kGradientRule{"gradient", readGradient, gradientFormula, "everything"};

} // namespace retro::lrp
