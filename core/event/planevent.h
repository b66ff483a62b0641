// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"

#include <bit>
#include <span>

namespace retro::event
{

/// What became of a planner's try: bits of Event::flag.
enum PlanTry : std::uint8_t {
    kTryFits = 1,   ///< within the budget
    kTryIsBest = 2, ///< the cheapest that fits so far
    kTryRefused = 4 ///< there is no plan; cost and peak mean nothing
};

/// Why a planner lets a value go.
enum class PlanReason : std::uint8_t {
    Peak,       ///< it waits while memory is at its peak, and takes most off for its cost
    Eviction,   ///< memory was full and it was the cheapest to lose for its bytes and age
    Block,      ///< it lies within a block; only what crosses a cut stays
    Cut,        ///< it is not on the narrowest cut between the two halves
    Capacity,   ///< what stays is worth more for the room
    Programme,  ///< the integer programme says so
    User,       ///< somebody chose so
    Everything, ///< nothing is kept
    Search      ///< a cheaper plan was found without it
};
inline constexpr std::size_t kPlanReasonCount = 9;

/// "waits at the peak", "evicted when memory was full", …
[[nodiscard]] std::string_view nameOf(PlanReason reason);

/// A value of the graph, or its gradient (relevance).
struct PlannedValue
{
    std::uint32_t node = NodeId::kInvalid; ///< that makes it
    std::uint32_t value = 0;               ///< its number in the graph
    bool isGradient = false;
};

/// The number in extra, a float64 by its bits.
[[nodiscard]] inline double numberIn(const Event& event) { return std::bit_cast<double>(event.extra); }
/// The 64 bits in branch (low) and branch2.
[[nodiscard]] inline std::uint64_t wideIn(const Event& event)
{
    return (std::uint64_t{event.branch2} << 32U) | event.branch;
}
/// True when a plan's event is of a gradient (relevance).
[[nodiscard]] inline bool isOfGradient(const Event& event) { return (event.flag & 1U) != 0; }
/// True when a Free ends the way to a tier.
[[nodiscard]] inline bool isMovedOut(const Event& event) { return (event.flag & 2U) != 0; }
/// Why a Drop; the last of PlanReason for numbers that do not exist.
[[nodiscard]] PlanReason reasonOf(const Event& event);
/// True for what a planner did while it searched.
[[nodiscard]] inline bool isOfSearch(const Event& event)
{
    return event.kind >= EventKind::Candidate && event.kind <= EventKind::Rebuild;
}
/// How many visits of a run, its first, are the search for its plan. O(events of the search).
[[nodiscard]] std::uint32_t searchVisits(std::span<const Event> events);
/// The cost in a Drop.
[[nodiscard]] inline double dropCost(const Event& event) { return std::bit_cast<double>(wideIn(event)); }

/// The events. Visit numbers are set by whoever sends them.
[[nodiscard]] Event candidateEvent(std::uint32_t node, std::uint32_t attempt, std::uint8_t bits, double cost,
                                   std::uint64_t peak, std::uint32_t bestBefore);
[[nodiscard]] Event splitEvent(std::uint32_t node, std::uint32_t attempt, std::int64_t position);
[[nodiscard]] Event dropEvent(const PlannedValue& value, std::uint32_t attempt, PlanReason reason, double gain,
                              double cost);
[[nodiscard]] Event rebuildEvent(const PlannedValue& value, std::uint32_t attempt, std::uint32_t reader, double cost);
/// Compute, Recompute, Free, Move or Fetch of a value.
[[nodiscard]] Event valueEvent(EventKind kind, const PlannedValue& value, std::uint32_t slot, HandleId handle);

} // namespace retro::event
