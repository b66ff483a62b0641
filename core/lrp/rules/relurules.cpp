// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/ruledeclaration.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

/// A rule that replaces the derivative of ReLU.
class ReluRule : public Rule
{
public:
    [[nodiscard]] bool accepts(const ops::Structure& structure) const final
    {
        return structure.kind() == ops::StructureKind::ElementWise && as<ops::ElementWise>(structure).isRelu();
    }
};

class DeconvNetRule final : public ReluRule
{
public:
    [[nodiscard]] std::string_view name() const override { return "deconvnet"; }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::nothing();
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Tensor part = algebra::positivePart(context.relevance[0]);
        return Balance(context).closeAs(event::Cause::ClippedSign, onlySlot(context, 0, std::move(part)));
    }
};

class GuidedBackpropRule final : public ReluRule
{
public:
    [[nodiscard]] std::string_view name() const override { return "guided-backprop"; }

    // y > 0 exactly where x > 0, and ReLU saves y.
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::firstOutput();
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const Tensor positive = algebra::positivePart(context.relevance[0]);
        Balance balance(context);
        if (balance.isWanted()) {
            balance.book(event::Cause::ClippedSign, algebra::sum(algebra::negativePart(context.relevance[0])));
        }
        Tensor part = algebra::keepWherePositive(positive, context.outputs[0]);
        return balance.closeAs(event::Cause::Filter, onlySlot(context, 0, std::move(part)));
    }
};

class BetaSmoothRule final : public ReluRule, public LinearRule
{
public:
    explicit BetaSmoothRule(double beta) : m_beta(beta) {}

    [[nodiscard]] std::string_view name() const override { return "beta-smooth"; }
    [[nodiscard]] std::string text() const override { return fmt::format("beta-smooth {}", m_beta); }
    [[nodiscard]] RuleParameters parameters() const override { return {{"beta", m_beta}}; }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        return ops::Reads::firstOperand();
    }

    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const Tensor slope = algebra::sigmoid(algebra::scale(context.operands[0], m_beta));
        return onlyFirst(context, algebra::multiply(context.weights[0], slope));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const Tensor slope = algebra::sigmoid(algebra::scale(context.operands[0], m_beta));
        Tensor part = algebra::multiply(context.relevance[0], slope);
        return Balance(context).closeAs(event::Cause::Gradient, onlySlot(context, 0, std::move(part)));
    }

private:
    double m_beta;
};

} // namespace

RulePointer deconvNetRule() { return std::make_shared<const DeconvNetRule>(); }

RulePointer guidedBackpropRule() { return std::make_shared<const GuidedBackpropRule>(); }

RulePointer betaSmoothRule(double beta) { return std::make_shared<const BetaSmoothRule>(beta); }

extern const RuleDeclaration kDeconvNetRule{"deconvnet", [](ParameterReader&) { return deconvNetRule(); },
                                            [](const FormulaWords&) { return std::string("R_in = R⁺"); }, "ReLU",
                                            "Zeiler and Fergus 2014"};
extern const RuleDeclaration kGuidedBackpropRule{
    "guided-backprop", [](ParameterReader&) { return guidedBackpropRule(); },
    [](const FormulaWords&) { return std::string("R_in = R⁺ where x > 0"); }, "ReLU", "Springenberg et al. 2015"};
extern const RuleDeclaration kBetaSmoothRule{
    "beta-smooth", [](ParameterReader& reader) { return betaSmoothRule(reader.number("beta", 10)); },
    [](const FormulaWords&) { return std::string("R_in = R·sigmoid(βx)"); }, "ReLU", "Dombrowski et al. 2019"};

} // namespace retro::lrp
