// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/schedule/lifetimes.h"
#include "core/schedule/planner.h"
#include "core/schedule/planners/shaver.h"
#include "core/schedule/searchnotes.h"

namespace retro::schedule
{

/// Keeps the best draft: within the budget the cheapest, else the one with the least peak; the first of equals.
class BestDraft
{
public:
    explicit BestDraft(const PlanRequest& request) : m_request(request) {}

    /// Scores a draft without the repeated computations that nobody reads; true when it is the best now.
    bool offer(Draft draft)
    {
        if (draft.sequence.empty()) {
            return false;
        }
        dropUseless(*m_request.graph, draft.sequence);
        const std::uint64_t peak = peakOf(*m_request.graph, draft.sequence);
        const double cost = costOf(*m_request.graph, draft.sequence);
        const bool fits = peak <= m_request.budget;
        const bool isBetter = !m_best || (fits && !m_fits) || (fits && m_fits && cost < m_cost) ||
                              (!fits && !m_fits && (peak < m_peak || (peak == m_peak && cost < m_cost)));
        reportCandidate(m_request, {}, draft.sequence, cost, false);
        if (isBetter) {
            m_best = std::move(draft);
            m_fits = fits;
            m_peak = peak;
            m_cost = cost;
        }
        return isBetter;
    }

    [[nodiscard]] bool hasAny() const { return m_best.has_value(); }
    [[nodiscard]] bool fits() const { return m_fits; }
    [[nodiscard]] double cost() const { return m_cost; }
    [[nodiscard]] std::uint64_t peak() const { return m_peak; }
    [[nodiscard]] const Draft& best() const { return *m_best; }
    /// The best, or an Engine error when nothing was offered.
    [[nodiscard]] base::Result<Draft> take() &&
    {
        if (!m_best) {
            return base::engineError("nothing could be proposed: operators that may run once would have to run again");
        }
        return std::move(*m_best);
    }

private:
    const PlanRequest& m_request;
    std::optional<Draft> m_best;
    bool m_fits = false;
    std::uint64_t m_peak = 0;
    double m_cost = 0;
};

} // namespace retro::schedule
