// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/check.h"

namespace retro::diagnosis
{

void Probe::measured(const std::string& place, double statistic)
{
    ++m_sites;
    if (m_sites == 1 || statistic > m_largest) {
        m_largest = statistic;
        m_largestAt = place;
    }
}

Finding& Probe::found(Level level, double base, double effect, Place place)
{
    Finding& finding = m_findings.emplace_back();
    finding.id = m_id;
    finding.level = level;
    finding.base = base;
    finding.effect = effect;
    finding.place = std::move(place);
    return finding;
}

} // namespace retro::diagnosis
