// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/lineardistribution.h"
#include "core/lrp/ruleregistry.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

class ZBoxRule final : public Rule
{
public:
    ZBoxRule(double low, double high, const Stabiliser& stabiliser) : m_low(low), m_high(high), m_stabiliser(stabiliser)
    {}

    [[nodiscard]] std::string_view name() const override { return "z-box"; }

    [[nodiscard]] std::string text() const override
    {
        return fmt::format("z-box {} to {}, epsilon {}", m_low, m_high, textOf(m_stabiliser));
    }

    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result;
        write(m_stabiliser, result);
        result["low"] = m_low;
        result["high"] = m_high;
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
        const Tensor& x = context.operands[map.operandSlot()];
        Balance balance(context);
        // b − b⁺ − b⁻ = 0: the bias never enters.
        const LinearDistribution distribution{map,
                                              {{x, WeightVariant{}, 1},
                                               {algebra::filledLike(x, m_low), {WeightPart::Positive, 0}, -1},
                                               {algebra::filledLike(x, m_high), {WeightPart::Negative, 0}, -1}},
                                              std::nullopt,
                                              {m_stabiliser, BiasPolicy::Zero}};
        Tensor part = distribute(distribution, context.relevance[0], balance);
        return balance.close(onlySlot(context, map.operandSlot(), std::move(part)));
    }

private:
    double m_low;
    double m_high;
    Stabiliser m_stabiliser;
};

constexpr Range kAnything{std::numeric_limits<double>::lowest(), std::numeric_limits<double>::max()};

} // namespace

RulePointer zBoxRule(double low, double high, const Stabiliser& stabiliser)
{
    return std::make_shared<const ZBoxRule>(low, high, stabiliser);
}

RulePointer readZBox(ParameterReader& reader)
{
    const double low = reader.number("low", -3, kAnything);
    const double high = reader.number("high", 3, kAnything);
    if (!(low <= high)) {
        reader.fail("low", fmt::format("low ({}) must not be above high ({})", low, high));
    }
    return zBoxRule(low, high, reader.stabiliser({}));
}

} // namespace retro::lrp
