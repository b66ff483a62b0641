// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <cstdint>
#include <vector>

namespace retro::trace
{

/// How long the events of a run take while it is played. A visit lasts one unit; its events share that by weight, so
/// that what lands takes most of it. A moment τ is a real number: its whole part is the number of applied events, its
/// fraction how far the next event is. Immutable; any thread.
class Pace
{
public:
    explicit Pace(const Run& run);

    /// Weight of an event in its visit.
    [[nodiscard]] static double weightOf(const Event& event);

    /// Largest moment: the number of events.
    [[nodiscard]] double end() const { return static_cast<double>(m_weights.size() - 1); }
    /// Visits that have passed at a moment (clamped to 0…end()), as a real number. Rises strictly with it.
    [[nodiscard]] double visitsAt(double moment) const;
    /// The moment at which so many visits have passed (clamped). Inverse of visitsAt().
    [[nodiscard]] double momentAt(double visits) const;
    /// How many units of time there are: visits, and the events before the first one as one more.
    [[nodiscard]] double length() const { return static_cast<double>(m_bounds.size() - 1); }
    /// How far a moment is between two positions, 0…1, by weight; 1 when they are the same.
    [[nodiscard]] double share(double moment, std::uint64_t from, std::uint64_t to) const;
    /// The moment `share` (0…1) of the way between two positions. Inverse of share().
    [[nodiscard]] double between(std::uint64_t from, std::uint64_t to, double share) const;

private:
    [[nodiscard]] double weightAt(double moment) const;
    [[nodiscard]] double momentOfWeight(double weight) const;

    std::vector<double> m_weights;       // weight of all events before each position
    std::vector<std::uint64_t> m_bounds; // positions between units of time, ascending, first 0
};

} // namespace retro::trace
