// SPDX-License-Identifier: Apache-2.0
// The rules of the composite "dynamic" that no other composite has (docs/composites.md).
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/softmaxshare.h"

#include <fmt/format.h>

#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

class AbsRatioRule final : public TitledRule
{
public:
    explicit AbsRatioRule(double epsilon)
        : TitledRule({"abs-ratio",
                      {StructureKind::SumOfOperands, StructureKind::Product, StructureKind::Quotient,
                       StructureKind::Reduction},
                      {{"epsilon", epsilon}},
                      fmt::format("abs-ratio, epsilon {}", epsilon)}),
          m_stabiliser{StabiliserKind::Add, epsilon, false}
    {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked) const override
    {
        if (op.structure().kind() == StructureKind::Reduction) {
            return ops::Reads::firstOperand();
        }
        ops::Reads reads;
        if (takersOf(tracked) > 1) {
            for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
                reads.operands |= tracked[slot] != 0 ? ops::Reads::bit(slot) : 0;
            }
        }
        return reads;
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        if (context.op.structure().kind() == StructureKind::Reduction) {
            return onlyFirst(context, weighElements(context));
        }
        if (takersOf(context.tracked) == 1) {
            return onlyFirst(context, asResult(context, context.weights[firstTaker(context.tracked)]));
        }
        const Tensor like = Tensor::zeros(context.op.outputTypes()[0].dtype, context.op.outputTypes()[0].shape);
        const RuleContext here = context.with({&like, 1});
        Tensor total;
        Tensor sum;
        for (std::size_t slot = 0; slot < context.tracked.size(); ++slot) {
            if (context.tracked[slot] != 0) {
                const Tensor size = weightOf(here, slot);
                addTo(total, size);
                const Tensor& w = context.weights[slot];
                addTo(sum, w.isValid() ? algebra::multiply(size, asResult(context, w)) : Tensor());
            }
        }
        return onlyFirst(context, algebra::stabilisedQuotient(sum, total, m_stabiliser));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        if (context.op.structure().kind() == StructureKind::Reduction) {
            return amongElements(context);
        }
        return takersOf(context.tracked) == 1 ? Balance(context).close(toTracked(context)) : amongOperands(context);
    }

private:
    // What operand `slot` weighs, in the shape of the result.
    static Tensor weightOf(const RuleContext& context, std::size_t slot)
    {
        Tensor value = algebra::broadcastTo(context.operands[slot], context.relevance[0].shape());
        if (slot == 1 && context.op.structure().kind() == StructureKind::Quotient) {
            value = algebra::stabilisedQuotient(algebra::filledLike(value, 1), value, {StabiliserKind::Add, 0, true});
        }
        return algebra::absolute(value);
    }

    [[nodiscard]] std::vector<Tensor> amongOperands(const RuleContext& context) const
    {
        Balance balance(context);
        std::vector<Tensor> parts(context.tracked.size());
        Tensor total;
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (context.tracked[slot] != 0) {
                parts[slot] = weightOf(context, slot);
                total = total.isValid() ? algebra::add(total, parts[slot]) : parts[slot];
            }
        }
        const Tensor s = algebra::stabilisedQuotient(context.relevance[0], total, m_stabiliser);
        balance.bookDivision(context.relevance[0], s, total);
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (parts[slot].isValid()) {
                parts[slot] = algebra::reduceTo(algebra::multiply(parts[slot], s), context.operandTypes[slot].shape);
            }
        }
        return balance.close(std::move(parts));
    }

    [[nodiscard]] Tensor weighElements(const WeighContext& context) const
    {
        std::vector<Tensor> operands(context.operands.begin(), context.operands.end());
        const Tensor sizes = algebra::absolute(context.operands[0]);
        operands[0] = sizes;
        const Tensor total = context.op.forward(operands).front();
        operands[0] = algebra::multiply(sizes, context.weights[0]);
        const Tensor sum = context.op.forward(operands).front();
        const bool isMean = as<ops::Reduction>(context.op.structure()).isMean();
        const double count = isMean ? static_cast<double>(sizes.size()) / static_cast<double>(total.size()) : 1;
        return algebra::stabilisedQuotient(algebra::scale(sum, count), algebra::scale(total, count), m_stabiliser);
    }

    // A mean uses the ratio of the sum.
    [[nodiscard]] std::vector<Tensor> amongElements(const RuleContext& context) const
    {
        const auto& map = as<ops::Reduction>(context.op.structure());
        Balance balance(context);
        const Tensor weights = algebra::absolute(context.operands[0]);
        std::vector<Tensor> operands(context.operands.begin(), context.operands.end());
        operands[0] = weights;
        Tensor total = context.op.forward(operands).front();
        if (map.isMean()) {
            total = algebra::scale(total, static_cast<double>(weights.size()) / static_cast<double>(total.size()));
        }
        const Tensor s = algebra::stabilisedQuotient(context.relevance[0], total, m_stabiliser);
        balance.bookDivision(context.relevance[0], s, total);
        return balance.close(onlySlot(context, 0, algebra::multiply(weights, map.spread(s))));
    }

    Stabiliser m_stabiliser;
};

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

RulePointer absRatioRule(double epsilon) { return std::make_shared<const AbsRatioRule>(epsilon); }

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
