// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/keeplargest.h"

#include <fmt/format.h>

namespace retro::lrp
{

namespace
{

class FilteredRule final : public Rule
{
public:
    FilteredRule(RulePointer rule, double fraction) : m_rule(std::move(rule)), m_fraction(fraction) {}

    [[nodiscard]] std::string_view name() const override { return m_rule->name(); }
    [[nodiscard]] std::string text() const override { return fmt::format("{}, filter {}", m_rule->text(), m_fraction); }
    [[nodiscard]] RuleParameters parameters() const override
    {
        RuleParameters result = m_rule->parameters();
        result["filter"] = m_fraction;
        return result;
    }
    [[nodiscard]] bool accepts(const ops::Structure& structure) const override { return m_rule->accepts(structure); }
    [[nodiscard]] const LinearForm* linearForm() const override { return m_rule->linearForm(); }
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator& op, std::span<const std::uint8_t> tracked) const override
    {
        return m_rule->reads(op, tracked);
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        std::vector<Tensor> kept;
        for (const Tensor& relevance : context.relevance) {
            kept.push_back(relevance.isValid() ? ops::keepLargest(relevance, m_fraction) : Tensor());
            bookDropped(context.ledger, relevance, kept.back());
        }
        RuleContext filtered = context;
        filtered.relevance = kept;
        return m_rule->apply(filtered);
    }

private:
    // What the rule itself does not see arrive.
    static void bookDropped(event::LedgerEntry* ledger, const Tensor& arrived, const Tensor& kept)
    {
        if (ledger == nullptr || !arrived.isValid()) {
            return;
        }
        const Tensor dropped = ops::algebra::subtract(arrived, kept);
        const double amount = ops::algebra::sum(dropped);
        ledger->arrived += amount;
        ledger->magnitude += ops::algebra::sumAbsolute(dropped);
        ledger->causes[static_cast<std::size_t>(event::Cause::Filter)] += amount;
    }

    RulePointer m_rule;
    double m_fraction;
};

} // namespace

RulePointer filteredRule(RulePointer rule, double fraction)
{
    return fraction == 1 ? rule : std::make_shared<const FilteredRule>(std::move(rule), fraction);
}

double readFraction(ParameterReader& reader, std::string_view name)
{
    const double fraction = reader.number(name, 1, {0, 1});
    if (fraction == 0) {
        reader.fail(name, "must be above 0: with 0 nothing is handed on; the rule \"stop\" says so");
    }
    return fraction;
}

} // namespace retro::lrp
