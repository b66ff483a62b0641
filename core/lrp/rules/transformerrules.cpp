// SPDX-License-Identifier: Apache-2.0
// Rules that AttnLRP and CP-LRP have beside the ones for the other networks (docs/composites.md).
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/statistics.h"
#include "core/lrp/rules/titledrule.h"
#include "core/lrp/traversal/parametersink.h"
#include "core/ops/algebraover.h"
#include "core/ops/detachable.h"
#include "core/ops/stabiliseddivision.h"

#include <fmt/format.h>

#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

class DetachedDeviationRule final : public TitledRule
{
public:
    explicit DetachedDeviationRule(const Stabiliser& stabiliser)
        : TitledRule("detached-deviation", {StructureKind::SelfNormalisation}, stabiliser), m_stabiliser(stabiliser)
    {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return centred(op) == nullptr ? ops::Reads::nothing()
                                      : ops::Reads{ops::Reads::allOperands().operands, ops::Reads::bit(0)};
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const ops::Detachable* norm = centred(context.op);
        const Tensor& w = context.weights[0];
        if (norm == nullptr || !w.isValid()) {
            return onlyFirst(context, w); // scale and bias take nothing
        }
        const Tensor y = context.outputs[0].isValid() ? context.outputs[0] : context.op.run(context.operands).front();
        const Tensor sum = norm->detachedForward(algebra::multiply(context.operands[0], w), context.operands);
        return onlyFirst(context, algebra::stabilisedQuotient(sum, y, m_stabiliser));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        const ops::Detachable* norm = centred(context.op);
        const Tensor& r = context.relevance[0];
        if (norm == nullptr || !r.isValid()) {
            Tensor part = withStatistics(context, m_stabiliser, balance, r.isValid() ? r : zeros(context));
            return balance.closeAs(event::Cause::Constant, onlySlot(context, 0, std::move(part)));
        }
        const Tensor& known = context.outputs[0];
        Tensor y = known.isValid() ? known : context.op.run(context.operands).front();
        algebra::DivisionAmounts amounts;
        const Tensor s = balance.quotient(r, {std::move(y)}, m_stabiliser, amounts);
        balance.bookDivision(amounts);
        if (balance.parameters() != nullptr) {
            balance.parameters()->throughOperands(s);
        }
        Tensor part = balance.product(norm->detachedPullback(s, context.operands), context.operands[0]);
        part = withStatistics(context, m_stabiliser, balance, std::move(part));
        return balance.closeAs(event::Cause::Bias, onlySlot(context, 0, std::move(part)));
    }

private:
    // Null for those that subtract no mean.
    static const ops::Detachable* centred(const ops::BoundOperator& op)
    {
        const auto* norm = dynamic_cast<const ops::Detachable*>(&op.structure());
        return norm != nullptr && norm->isCentred() ? norm : nullptr;
    }

    static Tensor zeros(const RuleContext& context)
    {
        return Tensor::zeros(context.operandTypes[0].dtype, context.operandTypes[0].shape);
    }

    Stabiliser m_stabiliser;
};

class SignalTakesAllRule final : public TitledRule
{
public:
    SignalTakesAllRule(std::size_t signal, const Stabiliser& stabiliser)
        : TitledRule({"signal-take-all",
                      {StructureKind::Product, StructureKind::Bilinear, StructureKind::SumOfOperands},
                      withParameter(toParameters(stabiliser), "signal", static_cast<double>(signal)),
                      fmt::format("signal-take-all, operand {}, epsilon {}", signal, textOf(stabiliser))}),
          m_signal(signal), m_stabiliser(stabiliser)
    {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return op.structure().kind() == StructureKind::Bilinear ? ops::Reads::allOperands() : ops::Reads::nothing();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const std::size_t taker = takerAmong(context.tracked);
        const Tensor& w = context.weights[taker];
        if (!w.isValid()) {
            return onlyFirst(context, {});
        }
        if (context.op.structure().kind() != StructureKind::Bilinear) {
            return onlyFirst(context, asResult(context, w));
        }
        const auto& product = as<ops::Bilinear>(context.op.structure());
        std::vector<Tensor> v(context.weights.size());
        v[taker] = algebra::multiply(context.operands[taker], w);
        return onlyFirst(context, algebra::stabilisedQuotient(alongDerivative(context, v)[0],
                                                              product.apply(context.operands[0], context.operands[1]),
                                                              m_stabiliser));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const std::size_t taker = takerAmong(context.tracked);
        Balance balance(context);
        const Tensor& r = context.relevance[0];
        if (context.op.structure().kind() != StructureKind::Bilinear) {
            return balance.close(onlySlot(context, taker, algebra::reduceTo(r, context.operandTypes[taker].shape)));
        }
        const auto& product = as<ops::Bilinear>(context.op.structure());
        const Tensor& a = context.operands[0];
        const Tensor& b = context.operands[1];
        const Tensor z = product.apply(a, b);
        const Tensor s = algebra::stabilisedQuotient(r, z, m_stabiliser);
        balance.bookDivision(r, s, z);
        Tensor part = algebra::multiply(product.pullback(s, a, b, taker), context.operands[taker]);
        return balance.close(onlySlot(context, taker, std::move(part)));
    }

private:
    /// The signal, else the first operand that carries relevance.
    [[nodiscard]] std::size_t takerAmong(std::span<const std::uint8_t> tracked) const
    {
        if (m_signal < tracked.size() && tracked[m_signal] != 0) {
            return m_signal;
        }
        return firstTaker(tracked);
    }

    std::size_t m_signal;
    Stabiliser m_stabiliser;
};

} // namespace

RulePointer detachedDeviationRule(const Stabiliser& stabiliser)
{
    return std::make_shared<const DetachedDeviationRule>(stabiliser);
}

RulePointer signalTakesAllRule(std::size_t signal, const Stabiliser& stabiliser)
{
    return std::make_shared<const SignalTakesAllRule>(signal, stabiliser);
}

namespace
{

RulePointer readSignalTakesAll(ParameterReader& reader)
{
    const double signal = reader.number("signal", 0, {0, 1});
    if (signal != 0 && signal != 1) {
        reader.fail("signal", "must be 0 or 1, the operand that takes all");
    }
    return signalTakesAllRule(signal == 1 ? 1 : 0, reader.stabiliser({}));
}

std::string signalFormula(const FormulaWords& words)
{
    const bool isSecond = words.after(", operand ") == "1";
    if (words.is(StructureKind::Bilinear)) {
        return fmt::format("z = ab; {}, s = R/stab(z)",
                           isSecond ? "R_b = b·(aᵀ·s), R_a = 0" : "R_a = a·(s·bᵀ), R_b = 0");
    }
    return "R_in = R for the signal, 0 for its gate";
}

} // namespace

extern const RuleDeclaration kDetachedDeviationRule{
    "detached-deviation", [](ParameterReader& reader) { return detachedDeviationRule(reader.stabiliser({})); },
    [](const FormulaWords&) {
        return std::string("g = R/stab(y)·w/σ; R_in = x·(g − mean(g)), R where no mean is subtracted");
    },
    "self-normalisation"};
extern const RuleDeclaration kSignalTakesAllRule{"signal-take-all", readSignalTakesAll, signalFormula,
                                                 "product, bilinear, sum of operands", "Arras et al. 2017"};

} // namespace retro::lrp
