// SPDX-License-Identifier: Apache-2.0
#include "views/ledger/ledgercurve.h"

#include <algorithm>
#include <numeric>

namespace retro::views
{

double startedIn(const trace::Run& run)
{
    if (const auto found = run.facts.numbers.find("relevance_start"); found != run.facts.numbers.end()) {
        return found->second;
    }
    return run.ledger.empty() ? 0.0 : run.ledger.front().arrived;
}

LedgerCurve::LedgerCurve(const trace::Run& run) : m_started(startedIn(run))
{
    if (run.ledger.empty() || m_started == 0) {
        return;
    }
    m_visits.resize(run.visitCount());
    for (const event::LedgerEntry& entry : run.ledger) {
        if (entry.visit < m_visits.size()) {
            m_visits[entry.visit].absorbed += std::accumulate(entry.causes.begin(), entry.causes.end(), 0.0);
            m_visits[entry.visit].unexplained += entry.unexplained();
        }
    }
    addArrivals(run);
    for (std::size_t i = 1; i < m_visits.size(); ++i) {
        m_visits[i].arrived += m_visits[i - 1].arrived;
        m_visits[i].absorbed += m_visits[i - 1].absorbed;
        m_visits[i].unexplained += m_visits[i - 1].unexplained;
    }
}

void LedgerCurve::addArrivals(const trace::Run& run)
{
    for (const trace::Event& e : run.events) {
        const bool isArrival = e.kind == event::EventKind::Relevance && run.graph->isInput(base::NodeId(e.node));
        if (isArrival && e.handle < run.handles.size() && e.visit < m_visits.size()) {
            m_visits[e.visit].arrived += run.handles[e.handle].sum;
        }
    }
}

LedgerCurve::Sums LedgerCurve::at(std::uint32_t visits) const
{
    return visits == 0 || m_visits.empty() ? Sums() : m_visits[std::min<std::size_t>(visits, m_visits.size()) - 1];
}

double LedgerCurve::onItsWay(std::uint32_t visits) const
{
    const Sums sums = at(visits);
    return m_started - sums.arrived - sums.absorbed - sums.unexplained;
}

} // namespace retro::views
