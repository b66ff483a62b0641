// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

// Equal parts of a sum or product for the operands that carry relevance.
std::vector<Tensor> amongOperands(const RuleContext& context)
{
    const std::size_t takers = takersOf(context.tracked);
    std::vector<Tensor> parts = toTracked(context);
    for (Tensor& part : parts) {
        part = takers == 1 || !part.isValid() ? part : algebra::scale(part, 1.0 / static_cast<double>(takers));
    }
    return parts;
}

Tensor amongElements(const RuleContext& context)
{
    const Tensor spread = as<ops::Reduction>(context.op.structure()).spread(context.relevance[0]);
    return algebra::scale(spread,
                          static_cast<double>(context.relevance[0].size()) / static_cast<double>(spread.size()));
}

class UniformRule final : public TitledRule
{
public:
    UniformRule()
        : TitledRule({"uniform",
                      {StructureKind::SumOfOperands, StructureKind::Product, StructureKind::Reduction,
                       StructureKind::AveragePool}})
    {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::nothing();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const StructureKind kind = context.op.structure().kind();
        if (kind == StructureKind::Reduction || kind == StructureKind::AveragePool) {
            std::vector<Tensor> operands(context.operands.begin(), context.operands.end());
            operands[0] = context.weights[0];
            const Tensor whole = context.op.forward(operands)[0];
            const bool isSum = kind == StructureKind::Reduction && !as<ops::Reduction>(context.op.structure()).isMean();
            return onlyFirst(context, isSum ? algebra::scale(whole, static_cast<double>(whole.size()) /
                                                                        static_cast<double>(operands[0].size()))
                                            : whole);
        }
        Tensor sum;
        for (const Tensor& w : context.weights) {
            addTo(sum, w.isValid() ? asResult(context, w) : Tensor());
        }
        const std::size_t takers = takersOf(context.tracked);
        return onlyFirst(context, takers == 1 ? sum : algebra::scale(sum, 1.0 / static_cast<double>(takers)));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        switch (context.op.structure().kind()) {
        case StructureKind::Reduction:
            return balance.close(onlySlot(context, 0, amongElements(context)));
        case StructureKind::AveragePool: {
            // The weights of a window are equal; what falls on padding that is counted belongs to nobody.
            Tensor part = as<ops::AveragePool>(context.op.structure()).pullback(context.relevance[0]);
            return balance.closeAs(event::Cause::Unread, onlySlot(context, 0, std::move(part)));
        }
        default:
            return balance.close(amongOperands(context));
        }
    }
};

} // namespace

RulePointer uniformRule() { return std::make_shared<const UniformRule>(); }

extern const RuleDeclaration kUniformRule{"uniform", [](ParameterReader&) { return uniformRule(); },
                                          [](const FormulaWords&) { return std::string("R_in = R in equal parts"); },
                                          "sum of operands, product, reduction, average pool"};

} // namespace retro::lrp
