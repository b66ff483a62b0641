// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/timerange.h"

#include "core/trace/run.h"
#include "views/common/numbertext.h"

#include <algorithm>

namespace retro::views
{

PositionRange TimeRange::positionsIn(const trace::Run& run) const
{
    if (!m_visits || run.visitCount() == 0) {
        return {0, run.eventCount()};
    }
    const std::uint32_t end = run.visitCount() - 1;
    const std::uint32_t first = std::min(m_visits->first, end);
    return {run.visitStart[first], run.endOfVisit(std::min(m_visits->last, end))};
}

QString TimeRange::text() const
{
    if (!m_visits) {
        return {};
    }
    const QString first = countText(std::int64_t{m_visits->first} + 1);
    return m_visits->first == m_visits->last
               ? tr("visit %1").arg(first)
               : tr("visits %1 – %2").arg(first, countText(std::int64_t{m_visits->last} + 1));
}

void TimeRange::clear()
{
    if (m_visits) {
        m_visits.reset();
        emit changed();
    }
}

void TimeRange::set(std::uint32_t one, std::uint32_t other)
{
    const VisitRange range{std::min(one, other), std::max(one, other)};
    if (m_visits != range) {
        m_visits = range;
        emit changed();
    }
}

} // namespace retro::views

#include "moc_timerange.cpp"
