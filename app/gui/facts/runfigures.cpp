// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/runfigures.h"

#include <algorithm>
#include <cmath>

namespace retro::app
{

namespace
{
constexpr double kBalanceTolerance = 1e-4;
}

RelevanceNow RunFigures::at(const trace::RunState& state) const
{
    RelevanceNow now;
    now.isAudited = m_isConserved && !m_summary.running.empty();
    now.sum = m_summary.start;
    const std::size_t rows = std::min<std::size_t>(state.ledgerRows, m_summary.running.size());
    if (rows > 0) {
        now.sum -= m_summary.running[rows - 1].lost;
        now.unexplained = m_summary.running[rows - 1].unexplained;
    }
    now.isExplained = std::abs(now.unexplained) <= kBalanceTolerance * std::abs(m_summary.start);
    return now;
}

} // namespace retro::app
