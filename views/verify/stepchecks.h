// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <array>
#include <cstdint>
#include <vector>

namespace retro::views
{

/// What must hold at every step of a reverse pass, relevance or gradient (docs/tape.md, "Invariants").
enum class Invariant : std::uint8_t {
    Earlier,      ///< a part goes to an earlier node only (I3, P4)
    Declared,     ///< and to one that its sender reads (I3)
    Leaves,       ///< inputs send nothing (I4)
    Shapes,       ///< what arrives has the shape of the value (I5)
    Places,       ///< a slot has as many places at every time (I6)
    OncePerPlace, ///< one part per in-edge
    Joined,       ///< uses of one value by one node are added first (I8); of a gradient
    Final,        ///< nothing lands where the rule has run (I7)
    Untracked,    ///< nothing lands and no rule runs where nothing is carried (I9)
    Writes,       ///< a slot is written once per place: its counter
    OneRule,      ///< the rule of a node runs once
    KnownOnce,    ///< what arrived at an output is known once
    ZeroKept,     ///< a rule makes nothing of zeros (the probe of P6)
    Balance       ///< what a rule received is what it handed on and what the ledger books (P12)
};
inline constexpr std::size_t kInvariants = 14;

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
    /// A slot that was written more often than any before it.
    struct Most
    {
        std::uint64_t step = 0;
        base::NodeId node;
        std::uint32_t count = 0;
    };

    explicit StepChecks(const trace::Run& run);

    /// Events that the invariant was checked on, of the first `position`.
    [[nodiscard]] std::uint64_t checked(Invariant invariant, std::uint64_t position) const;
    /// The first of them that it does not hold for; null = it holds.
    [[nodiscard]] const Breach* firstBreach(Invariant invariant, std::uint64_t position) const;
    /// The slot that was written most often by the first `position` events; null = none was.
    [[nodiscard]] const Most* mostWrites(std::uint64_t position) const;
    /// False where the run cannot say: a gradient is not conserved, a run without a ledger.
    [[nodiscard]] bool isKnown(Invariant invariant) const { return m_tracks[at(invariant)].isKnown; }

private:
    struct Track
    {
        std::vector<std::uint64_t> steps; ///< of the events that were checked, ascending; kept once per kind of event
        std::vector<Breach> breaches;     ///< ascending by step
        bool isKnown = true;
    };
    class Walk;
    /// The invariant that is checked on the same events and keeps their steps.
    [[nodiscard]] static Invariant counterOf(Invariant invariant);
    static constexpr std::size_t at(Invariant invariant) { return static_cast<std::size_t>(invariant); }

    std::array<Track, kInvariants> m_tracks;
    std::vector<Most> m_most; ///< ascending by step and count
};

} // namespace retro::views
