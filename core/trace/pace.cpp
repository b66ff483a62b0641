// SPDX-License-Identifier: Apache-2.0
#include "core/trace/pace.h"

#include <algorithm>

namespace retro::trace
{

using event::EventKind;

double Pace::weightOf(const Event& event)
{
    switch (event.kind) {
    case EventKind::Land:
        return 40;
    case EventKind::Complete:
        return 20;
    case EventKind::Visit:
    case EventKind::Relevance:
        return 15;
    case EventKind::Take:
    case EventKind::BranchRelevance:
    case EventKind::NewPromise:
    case EventKind::Rule:
        return 10;
    default:
        return 1;
    }
}

Pace::Pace(const Run& run)
{
    m_weights.reserve(run.events.size() + 1);
    m_weights.push_back(0);
    for (const Event& event : run.events) {
        m_weights.push_back(m_weights.back() + weightOf(event));
    }
    m_bounds.push_back(0);
    for (const std::uint64_t start : run.visitStart) {
        if (start > m_bounds.back() && start < run.events.size()) {
            m_bounds.push_back(start);
        }
    }
    if (!run.events.empty()) {
        m_bounds.push_back(run.events.size());
    }
}

double Pace::weightAt(double moment) const
{
    const double at = std::clamp(moment, 0.0, end());
    const auto whole = static_cast<std::size_t>(at);
    const double fraction = at - static_cast<double>(whole);
    return fraction == 0 ? m_weights[whole] : m_weights[whole] + fraction * (m_weights[whole + 1] - m_weights[whole]);
}

double Pace::momentOfWeight(double weight) const
{
    const auto after = std::upper_bound(m_weights.begin(), m_weights.end(), weight);
    if (after == m_weights.begin()) {
        return 0;
    }
    const auto whole = static_cast<std::size_t>(after - m_weights.begin()) - 1;
    if (after == m_weights.end()) {
        return end();
    }
    return static_cast<double>(whole) + (weight - m_weights[whole]) / (m_weights[whole + 1] - m_weights[whole]);
}

double Pace::visitsAt(double moment) const
{
    const double at = std::clamp(moment, 0.0, end());
    if (m_bounds.size() < 2 || at >= end()) {
        return length();
    }
    const auto after = std::upper_bound(m_bounds.begin(), m_bounds.end(), static_cast<std::uint64_t>(at));
    const auto unit = static_cast<std::size_t>(after - m_bounds.begin()) - 1;
    return static_cast<double>(unit) + share(at, m_bounds[unit], m_bounds[unit + 1]);
}

double Pace::momentAt(double visits) const
{
    if (visits <= 0 || m_bounds.size() < 2) {
        return 0;
    }
    if (visits >= length()) {
        return end();
    }
    const auto unit = static_cast<std::size_t>(visits);
    return between(m_bounds[unit], m_bounds[unit + 1], visits - static_cast<double>(unit));
}

double Pace::share(double moment, std::uint64_t from, std::uint64_t to) const
{
    const double low = weightAt(static_cast<double>(from));
    const double high = weightAt(static_cast<double>(to));
    return high == low ? 1 : std::clamp((weightAt(moment) - low) / (high - low), 0.0, 1.0);
}

double Pace::between(std::uint64_t from, std::uint64_t to, double share) const
{
    if (share <= 0) {
        return static_cast<double>(from);
    }
    if (share >= 1) {
        return static_cast<double>(to);
    }
    const double low = weightAt(static_cast<double>(from));
    const double high = weightAt(static_cast<double>(to));
    const double moment = momentOfWeight(low + share * (high - low));
    const auto [least, most] = std::minmax(from, to);
    return std::clamp(moment, static_cast<double>(least), static_cast<double>(most));
}

} // namespace retro::trace
