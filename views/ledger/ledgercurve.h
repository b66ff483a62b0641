// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "views/common/run/timerange.h"

#include <cstdint>
#include <vector>

namespace retro::views
{

/// What a run began with: what it says itself, else what arrived at the first rule; 0 without a ledger.
[[nodiscard]] double startedIn(const trace::Run& run);

/// Where the relevance of a run was after every visit, in the unit of the score: started = arrived + on its way +
/// absorbed + unexplained, at every visit. Empty when the run was not audited.
class LedgerCurve
{
public:
    LedgerCurve() = default;
    /// Walks events and ledger once.
    explicit LedgerCurve(const trace::Run& run);

    [[nodiscard]] bool isEmpty() const { return m_visits.empty(); }
    [[nodiscard]] std::uint32_t visitCount() const { return static_cast<std::uint32_t>(m_visits.size()); }
    [[nodiscard]] double started() const { return m_started; }
    /// At the inputs when that many visits are done; none = before the first.
    [[nodiscard]] double arrived(std::uint32_t visits) const { return at(visits).arrived; }
    /// Taken by causes with a name; below 0 (for a positive score) when they added some.
    [[nodiscard]] double absorbed(std::uint32_t visits) const { return at(visits).absorbed; }
    [[nodiscard]] double unexplained(std::uint32_t visits) const { return at(visits).unexplained; }
    [[nodiscard]] double onItsWay(std::uint32_t visits) const;

private:
    struct Sums
    {
        double arrived = 0;
        double absorbed = 0;
        double unexplained = 0;
    };
    [[nodiscard]] Sums at(std::uint32_t visits) const;
    void addArrivals(const trace::Run& run);

    double m_started = 0;
    std::vector<Sums> m_visits; // after each visit
};

} // namespace retro::views
