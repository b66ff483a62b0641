// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace retro::trace
{

/// One planner's try for the plan of a run.
struct PlannerTry
{
    std::string planner;
    std::string order; ///< of the forward operators; empty = by id
    bool fits = false;
    std::uint64_t peak = 0; ///< bytes; 0 = it has none
    double cost = 0;        ///< in the unit of the planned graph
    double seconds = 0;
    std::string refusal; ///< why there is no plan of it
    bool operator==(const PlannerTry&) const = default;
};

/// How a value that the plan had dropped came back.
enum class ReturnWay : std::uint8_t {
    Promise,  ///< a promise found it
    Recompute ///< it was computed again for the rule that reads it
};
/// "promise", "recompute".
[[nodiscard]] constexpr std::string_view nameOf(ReturnWay way)
{
    return way == ReturnWay::Promise ? "promise" : "recompute";
}

/// One time that a dropped value came back.
struct ValueReturn
{
    ReturnWay way = ReturnWay::Promise;
    std::uint32_t visit = 0;         ///< of the run
    base::PromiseId promise;         ///< whose argument it is; invalid for a rule's own
    std::vector<base::NodeId> again; ///< nodes that ran again for it, in order
    bool operator==(const ValueReturn&) const = default;
};

/// A forward value that the plan let go before the second half.
struct DroppedValue
{
    base::ValueId value;
    std::int64_t bytes = 0;
    std::uint32_t step = 0;           ///< of the plan, at which it went
    std::vector<ValueReturn> returns; ///< empty: no rule reads it
    bool operator==(const DroppedValue&) const = default;
};

/// The plan that a run was carried out by, with all that is needed to look at it again without its model.
struct RunPlan
{
    std::string text;                 ///< the plan file (docs/formats/plan.md)
    std::string graph;                ///< the forward operators as planning sees them, JSON
    std::string question;             ///< what planners were asked and what they answered, JSON
    std::vector<PlannerTry> attempts; ///< of the planners
    std::vector<base::ValueId> kept;  ///< forward values in memory when the second half of a traversal begins
    std::vector<DroppedValue> dropped;
    bool operator==(const RunPlan&) const = default;
};

} // namespace retro::trace
