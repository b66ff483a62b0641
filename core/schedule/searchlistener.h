// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/planevent.h"
#include "core/schedule/plan.h"

#include <string_view>

namespace retro::schedule
{

/// A cut of the forward sweep that a planner chose.
struct SplitNote
{
    OpId behind = 0;            ///< the forward operator in front of the cut
    std::uint32_t position = 0; ///< of it in the forward order
};

/// A value that a planner lets go.
struct DropNote
{
    OpValueId value = 0;
    event::PlanReason reason = event::PlanReason::Search;
    double gain = 0; ///< as the planner counts: byte-steps over the budget, byte-seconds, byte-steps
    double cost = 0; ///< of making it again
};

/// A value that is made again.
struct RebuildNote
{
    OpValueId value = 0;
    OpId reader = kNone; ///< the operator that it is made for
    double cost = 0;
};

/// A plan that was judged.
struct CandidateNote
{
    std::string_view planner; ///< with the order, where it is another one
    OpId peakAt = 0;
    std::uint64_t peak = 0;
    double cost = 0;
    bool fits = false;
    bool isBest = false;    ///< of the whole search so far
    bool isRefused = false; ///< the planner made none
};

/// Hears what planners do while they search. Calls come from the thread that plans, in the order of the search; drops
/// and cuts come before the candidate that they lead to.
class SearchListener
{
public:
    virtual ~SearchListener() = default;
    /// The planner of that name begins; candidates without a name are its own.
    virtual void onPlanner(std::string_view name) = 0;
    virtual void onSplit(const SplitNote& note) = 0;
    virtual void onDrop(const DropNote& note) = 0;
    virtual void onRebuild(const RebuildNote& note) = 0;
    virtual void onCandidate(const CandidateNote& note) = 0;
};

} // namespace retro::schedule
