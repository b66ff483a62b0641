// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/lineardistribution.h"
#include "core/lrp/ruleregistry.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

bool isZero(const Tensor& relevance) { return algebra::sumAbsolute(relevance) == 0; }

class GammaRule final : public Rule
{
public:
    GammaRule(double gamma, const LinearOptions& options) : m_gamma(gamma), m_options(options) {}

    [[nodiscard]] std::string_view name() const override { return "gamma"; }

    [[nodiscard]] std::string text() const override
    {
        return fmt::format("gamma {}, epsilon {}", m_gamma, textOf(m_options));
    }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_options, result);
        result["gamma"] = m_gamma;
        return result;
    }

    [[nodiscard]] bool accepts(const ops::Structure& structure) const override
    {
        return structure.kind() == ops::StructureKind::LinearMap;
    }

    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t>) const override
    {
        return readsOperandOf(as<ops::LinearMap>(op.structure()));
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        const auto& map = as<ops::LinearMap>(context.op.structure());
        const WeightVariant up{WeightPart::GammaPositive, m_gamma};
        const WeightVariant down{WeightPart::GammaNegative, m_gamma};
        const Tensor& x = context.operands[map.operandSlot()];
        const Tensor& relevance = context.relevance[0];
        Balance balance(context);
        const Tensor z = trueOutput(map, x);
        const Tensor onPositive = algebra::keepWherePositive(relevance, z);
        const Tensor onNegative = algebra::keepWhereNegative(relevance, z);
        Tensor part = distribute({map, signSplit(x, up, down), up, m_options}, onPositive, balance);
        // Behind a ReLU no relevance sits on z < 0, and the second branch costs nothing.
        if (!isZero(onNegative)) {
            part = algebra::add(part, distribute({map, signSplit(x, down, up), down, m_options}, onNegative, balance));
        }
        if (balance.isWanted()) {
            const Tensor onZero = algebra::subtract(algebra::subtract(relevance, onPositive), onNegative);
            balance.book(event::Cause::ZeroDenominator, algebra::sum(onZero));
        }
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    double m_gamma;
    LinearOptions m_options;
};

} // namespace

RulePointer gammaRule(double gamma, const LinearOptions& options)
{
    return std::make_shared<const GammaRule>(gamma, options);
}

RulePointer readGamma(ParameterReader& reader)
{
    const double gamma = reader.number("gamma", 0.25);
    return gammaRule(gamma, reader.linearOptions(1e-6));
}

} // namespace retro::lrp
