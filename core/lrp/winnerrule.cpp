// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/balance.h"
#include "core/lrp/lineardistribution.h"
#include "core/lrp/ruleregistry.h"

namespace retro::lrp
{

namespace
{

class WinnerRule final : public Rule
{
public:
    [[nodiscard]] std::string_view name() const override { return "winner-take-all"; }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() == ops::StructureKind::MaxPool;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::firstOperand();
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& pool = as<ops::MaxPool>(context.op.structure());
        Tensor part = pool.route(context.relevance[0], context.operands[0]);
        return Balance(context).close(onlySlot(context, 0, std::move(part)));
    }
};

} // namespace

RulePointer winnerRule() { return std::make_shared<const WinnerRule>(); }

RulePointer readWinner(ParameterReader&) { return winnerRule(); }

} // namespace retro::lrp
