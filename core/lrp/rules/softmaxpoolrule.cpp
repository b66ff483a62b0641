// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/windowsums.h"

#include <fmt/format.h>

#include <utility>

namespace retro::lrp
{

namespace
{

/// A maximum of a window taken for the soft maximum of it (docs/composites.md).
class SoftmaxWeightedRule final : public TitledRule
{
public:
    explicit SoftmaxWeightedRule(double beta)
        : TitledRule({"softmax-weighted", {}, {{"beta", beta}}, fmt::format("softmax-weighted, beta {}", beta)}),
          m_beta(beta)
    {}

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

} // namespace

extern const RuleDeclaration kSoftmaxWeightedRule{
    "softmax-weighted",
    [](ParameterReader& reader) {
        return RulePointer(std::make_shared<const SoftmaxWeightedRule>(reader.number("beta", 1)));
    },
    [](const FormulaWords&) { return std::string("R_in = ΣR·softmax(βx) over windows, −β where the smallest wins"); },
    "max pool, TopK"};

} // namespace retro::lrp
