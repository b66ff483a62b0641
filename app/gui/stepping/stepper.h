// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <cstdint>
#include <vector>

namespace retro::app
{

/// How far one step of the transport goes. Group = stepping over (groupStops); people choose among the first three.
enum class Granularity { Layer, Visit, Event, Group };

/// Pure arithmetic of the transport: stops of a run per granularity, and the next and previous stop from any position.
/// Stepping back is the exact mirror of stepping forward. Position = number of events applied; stops always contain 0
/// and the end.
class Stepper
{
public:
    Stepper() = default;
    explicit Stepper(const trace::Run& run);

    [[nodiscard]] std::uint64_t next(std::uint64_t position, Granularity granularity) const;
    [[nodiscard]] std::uint64_t previous(std::uint64_t position, Granularity granularity) const;
    /// The step that a position is in or ends, and how many there are without the start: "27 / 54". 0 = the start.
    [[nodiscard]] std::uint64_t index(std::uint64_t position, Granularity granularity) const;
    /// Steps that are over at a position: one less than index() inside of a step.
    [[nodiscard]] std::uint64_t passed(std::uint64_t position, Granularity granularity) const;
    [[nodiscard]] std::uint64_t count(Granularity granularity) const;
    /// Position of stop `index` (clamped).
    [[nodiscard]] std::uint64_t positionOf(std::uint64_t index, Granularity granularity) const;

private:
    [[nodiscard]] const std::vector<std::uint64_t>* stops(Granularity granularity) const;
    std::uint64_t m_end = 0;
    std::vector<std::uint64_t> m_visits; // sorted, first 0, last m_end
    std::vector<std::uint64_t> m_layers;
    std::vector<std::uint64_t> m_groups;
};

} // namespace retro::app
