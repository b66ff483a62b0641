// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <array>
#include <cstdint>
#include <vector>

namespace retro::views
{

/// What must hold at every step of a reverse pass, relevance or gradient (tape specification, section 1.2: I3, I7, I8,
/// and the ledger).
enum class Invariant : std::uint8_t {
    Earlier,      ///< a part goes to an earlier node only
    OncePerPlace, ///< one part per in-edge
    Final,        ///< nothing lands where the rule has run
    OneRule,      ///< the rule of a node runs once
    KnownOnce,    ///< what arrived at an output is known once
    Balance       ///< what a rule received is what it handed on and what the ledger books
};
inline constexpr std::size_t kInvariants = 6;

/// The invariants of a run, event by event: one walk over the events, then every position is answered in logarithmic
/// time. Made off the GUI thread (RunDerived). Immutable.
class StepChecks
{
public:
    /// An event that an invariant does not hold for.
    struct Breach
    {
        std::uint64_t step = 0;
        base::NodeId node;
        base::NodeId other; ///< where a part came from; may be invalid
    };

    explicit StepChecks(const trace::Run& run);

    /// Events that the invariant was checked on, of the first `position`.
    [[nodiscard]] std::uint64_t checked(Invariant invariant, std::uint64_t position) const;
    /// The first of them that it does not hold for; null = it holds.
    [[nodiscard]] const Breach* firstBreach(Invariant invariant, std::uint64_t position) const;
    /// False where the run cannot say: a gradient is not conserved, a run without a ledger.
    [[nodiscard]] bool isKnown(Invariant invariant) const { return m_tracks[at(invariant)].isKnown; }

private:
    struct Track
    {
        std::vector<std::uint64_t> steps; ///< of the events that were checked, ascending; landings are counted once
        std::vector<Breach> breaches;     ///< ascending by step
        bool isKnown = true;
    };
    class Walk;
    static constexpr std::size_t at(Invariant invariant) { return static_cast<std::size_t>(invariant); }

    std::array<Track, kInvariants> m_tracks;
};

} // namespace retro::views
