// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/rules/titledrule.h"
#include "core/ops/algebraover.h"
#include "core/ops/stabiliseddivision.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using ops::StructureKind;

namespace
{

/// The epsilon rule on functions without parameters: a sum of operands, a reduction, an average pooling, an
/// element-wise function, and whatever is known by its reverse rule alone.
class NormRule final : public TitledRule
{
public:
    explicit NormRule(const Stabiliser& stabiliser)
        : TitledRule("norm",
                     {StructureKind::SumOfOperands, StructureKind::Reduction, StructureKind::AveragePool,
                      StructureKind::ElementWise, StructureKind::Differentiable},
                     stabiliser),
          m_stabiliser(stabiliser)
    {}

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::allOperands();
    }

    [[nodiscard]] std::string noForward(const ops::BoundOperator& op,
                                        std::span<const std::uint8_t> tracked) const override
    {
        return derivativeFault(op, tracked);
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const StructureKind kind = context.op.structure().kind();
        std::vector<Tensor> v(context.weights.size());
        for (std::size_t slot = 0; slot < v.size(); ++slot) {
            if (context.weights[slot].isValid()) {
                v[slot] = algebra::multiply(context.operands[slot], context.weights[slot]);
                if (kind == StructureKind::Differentiable) {
                    v[slot] = algebra::scale(
                        v[slot], as<ops::Differentiable>(context.op.structure()).share(context.tracked, slot));
                }
            }
        }
        const bool isKnown = context.outputs.size() == 1 && context.outputs[0].isValid();
        const std::vector<Tensor> z =
            isKnown ? std::vector<Tensor>{context.outputs[0]} : context.op.run(context.operands);
        WeighContext here = context;
        here.outputs = z;
        std::vector<Tensor> w = alongDerivative(here, v);
        for (std::size_t k = 0; k < w.size(); ++k) {
            w[k] = w[k].isValid() ? algebra::stabilisedQuotient(w[k], z[k], m_stabiliser) : Tensor();
        }
        return w;
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        if (context.op.structure().kind() == StructureKind::Differentiable) {
            return applyToFunction(context);
        }
        if (context.op.structure().kind() == StructureKind::ElementWise) {
            return applyToElements(context);
        }
        Balance balance(context);
        Tensor z =
            context.outputs[0].isValid() ? context.outputs[0] : std::move(context.op.run(context.operands).front());
        algebra::DivisionAmounts amounts;
        Tensor s = balance.quotient(context.relevance[0], {std::move(z)}, m_stabiliser, amounts);
        balance.bookDivision(amounts);
        // x·Jᵀs: the gradient of the same function, with s in the place of the relevance.
        RuleContext divided = context;
        divided.relevance = std::span(&s, 1);
        if (context.op.structure().kind() == StructureKind::SumOfOperands && balance.isWanted()) {
            bookConstants(context, divided, balance);
        }
        return balance.close(partsOf(divided, s, balance));
    }

private:
    // Each operand times its gradient by s, which `divided` has as what arrived.
    static std::vector<Tensor> partsOf(const RuleContext& divided, Tensor& s, Balance& balance)
    {
        std::vector<Tensor> parts(divided.tracked.size());
        const auto last = std::ranges::find_if(divided.tracked.rbegin(), divided.tracked.rend(),
                                               [](std::uint8_t isTracked) { return isTracked != 0; });
        const auto lastSlot = static_cast<std::size_t>(divided.tracked.rend() - last) - 1;
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (divided.tracked[slot] != 0) {
                Tensor gradient = gradientPart(divided, slot);
                if (slot == lastSlot) {
                    s = {}; // nobody reads it again: where the gradient is s itself, the part takes its memory
                }
                parts[slot] = balance.product(std::move(gradient), divided.operands[slot]);
            }
        }
        return parts;
    }

    static void bookConstants(const RuleContext& context, const RuleContext& divided, Balance& balance)
    {
        for (std::size_t slot = 0; slot < context.tracked.size(); ++slot) {
            if (context.tracked[slot] == 0) {
                balance.book(event::Cause::Constant, constantShare(context, divided, slot));
            }
        }
    }

    // What a constant operand of a sum takes. An infinite element (a mask) takes all that arrives there, the limit of
    // its share.
    static double constantShare(const RuleContext& context, const RuleContext& divided, std::size_t slot)
    {
        const Tensor& operand = context.operands[slot];
        const Tensor s = gradientPart(divided, slot);
        if (algebra::allFinite(operand)) {
            return algebra::dot(s, operand);
        }
        const Tensor arrived = algebra::reduceTo(context.relevance[0], operand.shape());
        double share = 0;
        for (std::int64_t i = 0; i < operand.size(); ++i) {
            share += std::isinf(operand.at(i)) ? arrived.at(i) : s.at(i) * operand.at(i);
        }
        return share;
    }

    // x·f'(x)·R / stab(f(x)), element by element: as much as arrived only where f(c·x) = c·f(x).
    [[nodiscard]] std::vector<Tensor> applyToElements(const RuleContext& context) const
    {
        Balance balance(context);
        const std::vector<Tensor> z = context.op.run(context.operands);
        algebra::DivisionAmounts amounts;
        const Tensor s = balance.quotient(context.relevance[0], {z[0]}, m_stabiliser, amounts);
        balance.bookDivision(amounts);
        RuleContext divided = context;
        divided.relevance = std::span(&s, 1);
        divided.outputs = z;
        Tensor part = algebra::multiplyOver(gradientPart(divided, 0), context.operands[0]);
        return balance.closeAs(event::Cause::Gradient, onlySlot(context, 0, std::move(part)));
    }

    // share · x ⊙ Jᵀ(R / stab(z)) over all outputs that relevance arrived at.
    [[nodiscard]] std::vector<Tensor> applyToFunction(const RuleContext& context) const
    {
        const auto& function = as<ops::Differentiable>(context.op.structure());
        Balance balance(context);
        const std::vector<Tensor> z = context.op.run(context.operands);
        std::vector<Tensor> divided(context.relevance.size());
        for (std::size_t k = 0; k < divided.size(); ++k) {
            if (context.relevance[k].isValid()) {
                divided[k] = algebra::stabilisedQuotient(context.relevance[k], z[k], m_stabiliser);
                balance.bookDivision(context.relevance[k], divided[k], z[k]);
            }
        }
        std::vector<Tensor> parts = forTracked(context, [&](std::size_t slot) {
            const Tensor gradient = function.pullback(divided, context.operands, z, slot);
            return algebra::scale(algebra::multiply(gradient, context.operands[slot]),
                                  function.share(context.tracked, slot));
        });
        return balance.closeAs(event::Cause::Gradient, std::move(parts));
    }

    Stabiliser m_stabiliser;
};

} // namespace

RulePointer normRule(const Stabiliser& stabiliser) { return std::make_shared<const NormRule>(stabiliser); }

namespace
{

std::string normFormula(const FormulaWords& words)
{
    if (words.is(StructureKind::SumOfOperands)) {
        return "z = Σ±x_k; R_k = ±x_k·R/stab(z)";
    }
    if (words.is(StructureKind::Differentiable)) {
        return "z = f(x); R_k = share of operand k · x_k·Jᵀ(R/stab(z))";
    }
    if (words.is(StructureKind::ElementWise)) {
        return "z = f(x); R_in = x·f'(x)·R/stab(z)";
    }
    return "z = f(x); R_in = x·Jᵀ(R/stab(z))";
}

} // namespace

extern const RuleDeclaration kNormRule{"norm", [](ParameterReader& reader) { return normRule(reader.stabiliser({})); },
                                       normFormula, "sum of operands, reduction, average pool, element-wise, function"};

} // namespace retro::lrp
