// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/pickedplaces.h"
#include "core/ops/windowsums.h"

namespace retro::lrp
{

namespace
{

class WinnerRule final : public TitledRule
{
public:
    WinnerRule() : TitledRule({"winner-take-all", {StructureKind::MaxPool}}) {}

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() == ops::StructureKind::MaxPool || ops::windowsOf(structure) != nullptr;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::firstOperand();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        return onlyFirst(context,
                         ops::pickedPlacesOf(context.op.structure())->pick(context.weights[0], context.operands));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const ops::Structure& structure = context.op.structure();
        // TopK is a map of elements that its operand steers: its winners are where they come from.
        Tensor part = structure.kind() == ops::StructureKind::MaxPool
                          ? as<ops::MaxPool>(structure).route(context.relevance[0], context.operands[0])
                          : carriedBack(context, 0);
        return Balance(context).close(onlySlot(context, 0, std::move(part)));
    }
};

} // namespace

RulePointer winnerRule() { return std::make_shared<const WinnerRule>(); }

namespace
{

// TopK maps elements; it has no first maximum but all that it gives.
std::string winnerFormula(const FormulaWords& words)
{
    return words.is(StructureKind::ShapeMap) ? "R_in = R, each element where it came from"
                                             : "R_in = R at the first maximum";
}

} // namespace

extern const RuleDeclaration kWinnerRule{"winner-take-all", [](ParameterReader&) { return winnerRule(); },
                                         winnerFormula, "max pool, TopK"};

} // namespace retro::lrp
