// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/rules/rule.h"
#include "core/ops/algebra.h"
#include "core/ops/algebrasums.h"
#include "core/ops/stabiliseddivision.h"

#include <algorithm>
#include <vector>

namespace retro::lrp
{

/// Relative size up to which a rest counts as rounding: of Σ|r| in float32 and in float64.
inline constexpr double kRoundingFloat = 1e-6;
inline constexpr double kRoundingDouble = 1e-12;

/// Fills the ledger row of one application of a rule, when the caller wants one, and knows who is told what parameters
/// carried. Lives as long as the application; never changes what the rule computes.
class Balance
{
public:
    explicit Balance(const RuleContext& context);

    /// False: amounts need not be computed.
    [[nodiscard]] bool isWanted() const { return m_ledger != nullptr; }
    /// Null: nobody asks what parameters carried.
    [[nodiscard]] ParameterSink* parameters() const { return m_parameters; }
    void book(event::Cause cause, double amount);
    /// Books what a stabilised division s = r / stab(d) keeps back, times `factor`: r where d is exactly 0 as zero
    /// denominator, the rest of Σr − Σs·d as stabiliser. Returns Σs·d (0 when no row is wanted).
    double bookDivision(const Tensor& r, const Tensor& s, const Tensor& d, double factor = 1);
    /// The same of a division whose amounts are known already, and what the bias took.
    void bookDivision(const ops::algebra::DivisionAmounts& amounts, double factor = 1);

    /// s = r / stab(d) by stabilisedDivision(). Where a row is wanted, `amounts` gets what it did; Σ r is not taken
    /// again where it is known.
    [[nodiscard]] Tensor quotient(const Tensor& r, ops::algebra::Denominator d,
                                  const ops::algebra::Stabiliser& stabiliser,
                                  ops::algebra::DivisionAmounts& amounts) const;

    /// a·b·factor in a's memory, for a part that is handed on as it is: its sums are taken on the way. Nothing may be
    /// written over the product before close().
    [[nodiscard]] Tensor product(Tensor a, const Tensor& b, double factor = 1);

    /// Books the relevance that is handed on and, when the row then closes within rounding, the rest as rounding.
    /// Returns `parts`.
    [[nodiscard]] std::vector<Tensor> close(std::vector<Tensor> parts);
    /// As close(), for rules that lose relevance in one way only: a rest beyond rounding belongs to `cause`.
    [[nodiscard]] std::vector<Tensor> closeAs(event::Cause cause, std::vector<Tensor> parts);
    /// As close(), for the one part that has the elements of the one tensor that arrived, in whatever order.
    [[nodiscard]] std::vector<Tensor> closeRearranged(std::vector<Tensor> parts);

private:
    [[nodiscard]] const ops::algebra::SumAndMagnitude& sumsOf(const Tensor& part);

    event::LedgerEntry* m_ledger;
    ParameterSink* m_parameters;
    event::LedgerEntry m_row; // of this application alone
    double m_tolerance = 0;   // absolute
    Tensor m_arrived;         // the last one that arrived, and its sums
    ops::algebra::SumAndMagnitude m_sumsOfArrived;
    Tensor m_part; // the last part that was summed
    ops::algebra::SumAndMagnitude m_sumsOfPart;
};

/// `tensor` for one slot of the node, zeros for the other tracked ones.
[[nodiscard]] std::vector<Tensor> onlySlot(const RuleContext& context, std::size_t slot, Tensor tensor);

/// Books what arrived and is not kept, which the rule itself does not see; `ledger` may be null.
void bookFiltered(event::LedgerEntry* ledger, const Tensor& arrived, const Tensor& kept);

/// `part`(slot) for each tracked slot.
template <class Part>
[[nodiscard]] std::vector<Tensor> forTracked(const RuleContext& context, const Part& part)
{
    std::vector<Tensor> parts(context.tracked.size());
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (context.tracked[slot] != 0) {
            parts[slot] = part(slot);
        }
    }
    return parts;
}

/// How many operands take relevance.
[[nodiscard]] inline std::size_t takersOf(std::span<const std::uint8_t> tracked)
{
    return static_cast<std::size_t>(std::ranges::count_if(tracked, [](std::uint8_t takes) { return takes != 0; }));
}
/// The first operand that takes relevance.
[[nodiscard]] inline std::size_t firstTaker(std::span<const std::uint8_t> tracked)
{
    const auto first = std::ranges::find_if(tracked, [](std::uint8_t takes) { return takes != 0; });
    return static_cast<std::size_t>(first - tracked.begin());
}

} // namespace retro::lrp
