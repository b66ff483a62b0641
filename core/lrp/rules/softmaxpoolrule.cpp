// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/windowsums.h"

#include <fmt/format.h>

#include <utility>

namespace retro::lrp
{

namespace
{

/// A maximum of a window taken for the soft maximum of it (docs/composites.md).
class SoftmaxWeightedRule final : public Rule, public LinearRule
{
public:
    explicit SoftmaxWeightedRule(double beta) : m_beta(beta) {}

    [[nodiscard]] std::string_view name() const override { return "softmax-weighted"; }

    [[nodiscard]] std::string text() const override { return fmt::format("softmax-weighted, beta {}", m_beta); }

    [[nodiscard]] RuleParameters parameters() const override { return {{"beta", m_beta}}; }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return ops::windowsOf(structure) != nullptr;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::firstOperand();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const ops::WindowSums& windows = *ops::windowsOf(context.op.structure());
        return onlyFirst(context, windows.averageBySoftmax(context.weights[0], context.operands[0], m_beta));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const ops::WindowSums& windows = *ops::windowsOf(context.op.structure());
        Tensor part = windows.shareBySoftmax(context.relevance[0], context.operands[0], m_beta);
        // A window that reads padding alone has nobody to share among.
        return Balance(context).closeAs(event::Cause::Unread, onlySlot(context, 0, std::move(part)));
    }

private:
    double m_beta;
};

RulePointer readSoftmaxWeighted(ParameterReader& reader)
{
    return std::make_shared<const SoftmaxWeightedRule>(reader.number("beta", 1));
}

std::string softmaxWeightedFormula(const FormulaWords&)
{
    return "R_in = ΣR·softmax(βx) over windows, −β where the smallest wins";
}

} // namespace

extern const RuleDeclaration kSoftmaxWeightedRule{"softmax-weighted", readSoftmaxWeighted, softmaxWeightedFormula,
                                                  "max pool, TopK"};

} // namespace retro::lrp
