// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/algebraover.h"
#include "core/ops/stabiliseddivision.h"
#include "core/ops/windowsums.h"

#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

/// A maximum of a window taken for a sum over it (docs/composites.md).
class ProportionalRule final : public TitledRule
{
public:
    explicit ProportionalRule(const Stabiliser& stabiliser)
        : TitledRule("proportional", {}, stabiliser), m_stabiliser(stabiliser)
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
        const Tensor& x = context.operands[0];
        return onlyFirst(context,
                         algebra::stabilisedQuotient(windows.sumWindows(algebra::multiply(x, context.weights[0])),
                                                     windows.sumWindows(x), m_stabiliser));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const ops::WindowSums& windows = *ops::windowsOf(context.op.structure());
        const Tensor& x = context.operands[0];
        Balance balance(context);
        algebra::DivisionAmounts amounts;
        const Tensor s = balance.quotient(context.relevance[0], {windows.sumWindows(x)}, m_stabiliser, amounts);
        balance.bookDivision(amounts);
        Tensor part = algebra::multiplyOver(windows.spreadWindows(s), x);
        return balance.close(onlySlot(context, 0, std::move(part)));
    }

private:
    Stabiliser m_stabiliser;
};

} // namespace

RulePointer proportionalRule(const Stabiliser& stabiliser)
{
    return std::make_shared<const ProportionalRule>(stabiliser);
}

extern const RuleDeclaration kProportionalRule{
    "proportional", [](ParameterReader& reader) { return proportionalRule(reader.stabiliser({})); },
    [](const FormulaWords&) { return std::string("R_in = x·ΣR/stab(Σx) over windows"); }, "max pool, TopK"};

} // namespace retro::lrp
