// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/tensor/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace retro::lrp
{

using tensor::Tensor;

namespace
{

// A NaN counts as larger than every number, so that none is lost from sight.
template <class T>
bool isBefore(T a, T b)
{
    return std::isnan(b) ? false : std::isnan(a) || a > b;
}

template <class T>
void keepInSample(const T* from, T* to, std::size_t size, double fraction)
{
    const auto wanted = static_cast<std::size_t>(fraction * static_cast<double>(size));
    const std::size_t count = std::clamp<std::size_t>(wanted, 1, size);
    std::vector<std::size_t> order(size);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto isFirst = [from](std::size_t a, std::size_t b) {
        return isBefore(from[a], from[b]) || (!isBefore(from[b], from[a]) && a < b);
    };
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count - 1), order.end(), isFirst);
    for (std::size_t i = 0; i < count; ++i) {
        to[order[i]] = from[order[i]];
    }
}

/// `values` with all but the largest `fraction` (0 to 1) of the elements set to 0, for each index of the first axis on
/// its own (all at once below rank 2); at least one element stays. By signed order; of equal ones, the first in
/// row-major order. Floating types.
Tensor keepLargest(const Tensor& values, double fraction)
{
    if (values.size() == 0) {
        return values;
    }
    const Tensor dense = values.contiguous();
    const auto samples = static_cast<std::size_t>(dense.rank() < 2 ? 1 : dense.shape().front());
    const std::size_t size = static_cast<std::size_t>(dense.size()) / samples;
    return ops::visitFloat(dense.dtype(), [&](auto zero) {
        using T = decltype(zero);
        tensor::TensorBuffer result(dense.dtype(), dense.shape());
        std::fill_n(result.data<T>(), dense.size(), T{0});
        for (std::size_t sample = 0; sample < samples; ++sample) {
            keepInSample(dense.data<T>() + sample * size, result.data<T>() + sample * size, size, fraction);
        }
        return std::move(result).freeze();
    });
}

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
        std::vector<Tensor> kept;
        for (const Tensor& relevance : context.relevance) {
            kept.push_back(relevance.isValid() ? keepLargest(relevance, m_fraction) : Tensor());
            bookFiltered(context.ledger, relevance, kept.back());
        }
        RuleContext filtered = context;
        filtered.relevance = kept;
        return m_rule->apply(filtered);
    }

private:
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
