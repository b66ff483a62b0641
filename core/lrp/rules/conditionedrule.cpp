// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/conditionedrule.h"

#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/nodeform.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace
{

class ConditionedRule final : public Rule, public LinearRule
{
public:
    ConditionedRule(RulePointer rule, std::size_t output, Tensor mask)
        : m_rule(std::move(rule)), m_output(output), m_mask(std::move(mask))
    {}

    [[nodiscard]] std::string_view name() const override { return m_rule->name(); }
    [[nodiscard]] std::string text() const override
    {
        return fmt::format("{}, on condition of {} elements", m_rule->text(),
                           static_cast<std::int64_t>(ops::algebra::sum(m_mask)));
    }
    [[nodiscard]] RuleParameters parameters() const override { return m_rule->parameters(); }
    [[nodiscard]] bool accepts(const ops::Structure& structure) const override { return m_rule->accepts(structure); }
    [[nodiscard]] std::optional<NodeForm> form(const ops::BoundOperator& op,
                                               std::span<const std::uint8_t> tracked) const override
    {
        return m_rule->form(op, tracked);
    }
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked) const override
    {
        return m_rule->reads(op, tracked);
    }
    [[nodiscard]] std::uint64_t workspace(const ops::BoundOperator& op, std::size_t slot) const override
    {
        return m_rule->workspace(op, slot);
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        std::vector<Tensor> kept(context.relevance.begin(), context.relevance.end());
        const Tensor arrived = kept[m_output];
        if (!arrived.isValid()) {
            return m_rule->apply(context);
        }
        kept[m_output] = masked(arrived);
        bookFiltered(context.ledger, arrived, kept[m_output]);
        RuleContext inside = context;
        inside.relevance = kept;
        return m_rule->apply(inside);
    }

    [[nodiscard]] bool isLinear() const override { return asLinear(*m_rule) != nullptr; }
    [[nodiscard]] std::string noForward(const ops::BoundOperator& op,
                                        std::span<const std::uint8_t> tracked) const override
    {
        return asLinear(*m_rule)->noForward(op, tracked);
    }
    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        std::vector<Tensor> weights = asLinear(*m_rule)->weigh(context);
        if (weights[m_output].isValid()) {
            weights[m_output] = masked(weights[m_output]);
        }
        return weights;
    }

private:
    [[nodiscard]] Tensor masked(const Tensor& t) const
    {
        return ops::algebra::multiply(t, ops::algebra::laidOutAs(m_mask.to(t.dtype()), t));
    }

    RulePointer m_rule;
    std::size_t m_output;
    Tensor m_mask;
};

} // namespace

RulePointer conditionedRule(RulePointer rule, std::size_t output, Tensor mask)
{
    return std::make_shared<const ConditionedRule>(std::move(rule), output, std::move(mask));
}

} // namespace retro::lrp
