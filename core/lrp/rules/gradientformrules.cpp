// SPDX-License-Identifier: Apache-2.0
// What takes the place of pass and detached-deviation where a gradient flows whose product with a value is its
// relevance (Arras et al. 2025).
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/detachable.h"

namespace retro::lrp
{

namespace
{

namespace algebra = ops::algebra;
using ops::Reads;
using ops::StructureKind;

// R·f(x)/x, 0 where x is 0.
Tensor throughSecant(const RuleContext& context)
{
    const Tensor slope = algebra::stabilisedQuotient(context.outputs[0], context.operands[0], kUnstabilised);
    return algebra::multiply(context.relevance[0], slope);
}

Reads secantReads() { return {Reads::bit(0), Reads::bit(0)}; }

// R·z/b: z goes as 1/b.
Tensor throughDivisor(const RuleContext& context)
{
    const Tensor product = algebra::multiply(context.relevance[0], context.outputs[0]);
    const Tensor divisor = algebra::broadcastTo(context.operands[1], product.shape());
    return algebra::reduceTo(algebra::stabilisedQuotient(product, divisor, kUnstabilised),
                             context.operandTypes[1].shape);
}

class SecantRule final : public TitledRule
{
public:
    SecantRule()
        : TitledRule({"secant", {StructureKind::ElementWise, StructureKind::Normalisation, StructureKind::Quotient}})
    {}

    [[nodiscard]] Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return op.structure().kind() == StructureKind::Quotient ? Reads{Reads::bit(1), Reads::bit(0)} : secantReads();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        if (context.op.structure().kind() != StructureKind::Quotient) {
            const Tensor slope = algebra::stabilisedQuotient(context.outputs[0], context.operands[0], kUnstabilised);
            return onlyFirst(context, algebra::multiply(context.weights[0], slope));
        }
        if (context.tracked[0] != 0 && !context.weights[0].isValid()) {
            return onlyFirst(context, {}); // the divisor takes nothing
        }
        const Tensor divisor = asResult(context, context.operands[1]);
        const Tensor w = asResult(context, context.weights[context.tracked[0] != 0 ? 0 : 1]);
        const Tensor s = algebra::stabilisedQuotient(w, divisor, kUnstabilised);
        return onlyFirst(context, context.tracked[0] != 0 ? s : algebra::multiply(s, context.outputs[0]));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        return balance.closeAs(event::Cause::Gradient, context.op.structure().kind() == StructureKind::Quotient
                                                           ? ofQuotient(context)
                                                           : onlySlot(context, 0, throughSecant(context)));
    }

private:
    static std::vector<Tensor> ofQuotient(const RuleContext& context)
    {
        const bool hasNumerator = context.tracked[0] != 0;
        return onlySlot(context, hasNumerator ? 0 : 1,
                        hasNumerator ? gradientPart(context, 0) : throughDivisor(context));
    }
};

class DetachedGradientRule final : public TitledRule
{
public:
    DetachedGradientRule() : TitledRule({"detached-gradient", {StructureKind::SelfNormalisation}}) {}

    [[nodiscard]] Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return detachable(op) != nullptr ? Reads::allOperands() : secantReads();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const Tensor& w = context.weights[0];
        if (!w.isValid()) {
            return onlyFirst(context, {}); // scale and bias take nothing
        }
        const ops::Detachable* norm = detachable(context.op);
        return onlyFirst(context,
                         norm != nullptr
                             ? norm->detachedForward(w, context.operands)
                             : algebra::multiply(w, algebra::stabilisedQuotient(context.outputs[0], context.operands[0],
                                                                                kUnstabilised)));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        return balance.closeAs(event::Cause::Gradient, onlySlot(context, 0, partOf(context)));
    }

private:
    // What arrived at mean or deviation themselves goes by their gradient.
    static Tensor partOf(const RuleContext& context)
    {
        const ops::Detachable* norm = detachable(context.op);
        if (norm == nullptr) {
            return throughSecant(context);
        }
        std::vector<Tensor> ofStatistics(context.relevance.begin(), context.relevance.end());
        ofStatistics[0] = {};
        const auto isValid = [](const Tensor& t) { return t.isValid(); };
        const bool hasThem = std::ranges::any_of(ofStatistics, isValid);
        Tensor part = hasThem ? as<ops::Differentiable>(context.op.structure())
                                    .pullback(ofStatistics, context.operands, context.outputs, 0)
                              : Tensor();
        if (!context.relevance[0].isValid()) {
            return part;
        }
        Tensor own = norm->detachedPullback(context.relevance[0], context.operands);
        return part.isValid() ? algebra::add(part, own) : own;
    }

    static const ops::Detachable* detachable(const ops::BoundOperator& op)
    {
        return dynamic_cast<const ops::Detachable*>(&op.structure());
    }
};

} // namespace

RulePointer secantRule() { return std::make_shared<const SecantRule>(); }

RulePointer detachedGradientRule() { return std::make_shared<const DetachedGradientRule>(); }

namespace
{

std::string secantFormula(const FormulaWords& words)
{
    return words.is(StructureKind::Quotient) ? "R_a = R/b, R_b = 0; R_b = R·(a/b)/b where a carries no relevance"
                                             : "R_in = R·f(x)/x";
}

} // namespace

extern const RuleDeclaration kSecantRule{"secant", [](ParameterReader&) { return secantRule(); }, secantFormula,
                                         "element-wise, normalisation, quotient"};
extern const RuleDeclaration kDetachedGradientRule{
    "detached-gradient", [](ParameterReader&) { return detachedGradientRule(); },
    [](const FormulaWords&) {
        return std::string("g = R·w/σ; R_in = g − mean(g), without the mean where none is subtracted");
    },
    "self-normalisation"};

} // namespace retro::lrp
