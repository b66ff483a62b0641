// SPDX-License-Identifier: Apache-2.0
// The rules of the composite "dynamic" that no other composite has (docs/composites.md).
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/softmaxshare.h"

#include <fmt/format.h>

#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

// 1 on and below the diagonal of the last two axes, else 0, in the shape and type of `like`.
Tensor lowerTriangle(const Tensor& like)
{
    const std::int64_t columns = like.rank() < 1 ? 1 : like.shape().back();
    const std::int64_t rows = like.rank() < 2 ? 1 : like.shape()[like.rank() - 2];
    tensor::TensorBuffer mask(tensor::DType::Float64, {rows, columns});
    for (std::int64_t i = 0; i < rows * columns; ++i) {
        mask.data<double>()[i] = i % columns <= i / columns ? 1 : 0;
    }
    const Tensor finished = std::move(mask).freeze().to(like.dtype());
    return algebra::broadcastTo(like.rank() < 2 ? finished.reshaped(like.shape()) : finished, like.shape());
}

class SoftmaxTaylorRule final : public TitledRule
{
public:
    SoftmaxTaylorRule(bool causal, const Stabiliser& stabiliser)
        : TitledRule({"softmax-taylor",
                      {StructureKind::Softmax},
                      withParameter(toParameters(stabiliser), "causal", causal),
                      causal ? "softmax-taylor, lower triangle" : ""}),
          m_causal(causal), m_stabiliser(stabiliser)
    {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return {ops::Reads::bit(0), ops::Reads::bit(0)};
    }

    [[nodiscard]] std::optional<NodeForm> form(const ops::BoundOperator& op,
                                               std::span<const std::uint8_t>) const override
    {
        const bool isLogarithm = as<ops::Softmax>(op.structure()).isLogarithm();
        return NodeForm{.way = Way::Taylor,
                        .weight = Weight::Operand,
                        .divisor = isLogarithm ? Divisor::Result : Divisor::None,
                        .options = {m_stabiliser},
                        .isCausal = m_causal};
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto& softmax = as<ops::Softmax>(context.op.structure());
        const Tensor& x = context.operands[0];
        const Tensor& y = context.outputs[0];
        const Tensor shown = algebra::add(x, algebra::filledLike(x, algebra::kMaskedLogit));
        Tensor v = algebra::keepWherePositive(algebra::multiply(x, context.weights[0]), shown);
        v = m_causal ? algebra::keepWherePositive(v, lowerTriangle(x)) : v;
        const Tensor p = algebra::positivePart(softmax.isLogarithm() ? algebra::exponential(y) : y);
        const Tensor total = softmax.sumOverAxis(algebra::multiply(p, v));
        const Tensor w = algebra::subtract(v, algebra::broadcastTo(total, v.shape()));
        return onlyFirst(
            context,
            softmax.isLogarithm()
                ? algebra::keepWherePositive(
                      algebra::stabilisedQuotient(w, algebra::keepWherePositive(y, shown), m_stabiliser), shown)
                : w);
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& softmax = as<ops::Softmax>(context.op.structure());
        const Tensor& x = context.operands[0];
        Balance balance(context);
        algebra::SoftmaxShare share =
            softmax.isLogarithm()
                ? throughLogarithm(context, softmax, balance)
                : algebra::softmaxShare(x, context.outputs[0], context.relevance[0],
                                        softmax.sumOverAxis(context.relevance[0]), balance.isWanted());
        // What arrived at masked logits, and what the others would get that the triangle hides.
        balance.book(event::Cause::Mask, share.masked);
        if (m_causal) {
            const Tensor all = std::exchange(share.part, algebra::keepWherePositive(share.part, lowerTriangle(x)));
            balance.book(event::Cause::Mask, balance.isWanted() ? algebra::sum(all) - algebra::sum(share.part) : 0);
        }
        return balance.closeAs(event::Cause::TaylorRest, onlySlot(context, 0, std::move(share.part)));
    }

private:
    // y = ln p: its expansion at x shares g = R/y among the logits as that of p shares R/p·p. A masked y is −∞ or
    // nearly so, and no logit answers for it.
    [[nodiscard]] algebra::SoftmaxShare throughLogarithm(const RuleContext& context, const ops::Softmax& softmax,
                                                         Balance& balance) const
    {
        const Tensor& x = context.operands[0];
        const Tensor& y = context.outputs[0];
        const Tensor shown = algebra::add(x, algebra::filledLike(x, algebra::kMaskedLogit));
        const Tensor r = algebra::keepWherePositive(context.relevance[0], shown);
        const Tensor d = algebra::keepWherePositive(y, shown);
        const Tensor g = algebra::stabilisedQuotient(r, d, m_stabiliser);
        balance.bookDivision(r, g, d);
        algebra::SoftmaxShare share =
            algebra::softmaxShare(x, algebra::exponential(y), g, softmax.sumOverAxis(g), false);
        share.masked = balance.isWanted() ? algebra::sum(context.relevance[0]) - algebra::sum(r) : 0;
        return share;
    }

    bool m_causal;
    Stabiliser m_stabiliser; // of the logarithm alone: probabilities are not divided by
};

} // namespace

RulePointer absRatioRule(double epsilon)
{
    using enum StructureKind;
    const auto form = [epsilon](const NodeSite& site) {
        const bool isReduction = site.kind() == Reduction;
        return isReduction || takersOf(site.tracked) > 1 ? NodeForm{isReduction ? Way::Windows : Way::Same,
                                                                    Weight::Magnitude,
                                                                    Divisor::Weights,
                                                                    {{StabiliserKind::Add, epsilon, false}}}
                                                         : NodeForm();
    };
    return formRule({"abs-ratio",
                     {SumOfOperands, Product, Quotient, Reduction},
                     {{"epsilon", epsilon}},
                     fmt::format("abs-ratio, epsilon {}", epsilon)},
                    form);
}

RulePointer softmaxTaylorRule(bool causal, const Stabiliser& stabiliser)
{
    return std::make_shared<const SoftmaxTaylorRule>(causal, stabiliser);
}

namespace
{

std::string absRatioFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::Reduction)) {
        return "R_i = R·|x_i|/(Σ|x| + ε)";
    }
    const std::string_view weight = words.is(StructureKind::Quotient) ? ", |1/b| for a divisor b" : "";
    return fmt::format("R_k = R·|x_k|/(Σ|x| + ε){} over the operands that carry relevance; R for the only one", weight);
}

RulePointer readSoftmaxTaylor(ParameterReader& reader)
{
    const bool isCausal = reader.flag("causal", false);
    return softmaxTaylorRule(isCausal, reader.stabiliser({}));
}

std::string softmaxTaylorFormula(const FormulaWords& words)
{
    return fmt::format("R_in = x·(g − p·Σg), g = R; g = R/stab(y) of a logarithm y = ln p{}",
                       words.has(", lower triangle") ? "; 0 above the diagonal" : "");
}

} // namespace

extern const RuleDeclaration kAbsRatioRule{
    "abs-ratio", [](ParameterReader& reader) { return absRatioRule(reader.number("epsilon", 1e-11)); }, absRatioFormula,
    "sum of operands, product, quotient, reduction"};
extern const RuleDeclaration kSoftmaxTaylorRule{"softmax-taylor", readSoftmaxTaylor, softmaxTaylorFormula,
                                                "softmax, logarithm of a softmax"};

} // namespace retro::lrp
