// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"
#include "core/schedule/subject.h"

#include <map>
#include <optional>

namespace retro::schedule
{

using analysis::kNone;
using analysis::OpGraph;
using analysis::OpId;
using analysis::OpValueId;

/// What a step of a plan does.
enum class StepKind : std::uint8_t {
    Compute, ///< runs operator `id`
    Free,    ///< drops value `id` from memory
    Offload, ///< copies value `id` to tier `tier` in the background, then drops it from memory
    Prefetch ///< copies value `id` back in the background; room for it is taken at once
};

/// One step.
struct Step
{
    StepKind kind = StepKind::Compute;
    std::uint32_t id = 0;   ///< operator (Compute) or value
    std::uint32_t tier = 0; ///< Offload: position in Plan::tiers
    bool operator==(const Step&) const = default;
};

/// A place outside memory that values can be moved to.
struct Tier
{
    std::string name;
    double bytesPerSecond = 0; ///< of copies both ways
    bool operator==(const Tier&) const = default;
};

/// A node of an interval tree over the forward operators of a plan: positions lo … hi − 1 of its order.
struct Interval
{
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    std::uint32_t left = kNone; ///< positions in Annotations::intervals
    std::uint32_t right = kNone;
    bool operator==(const Interval&) const = default;
};

/// What a planner says about its plan; views draw it, the simulator does not read it.
struct Annotations
{
    std::string planner;
    std::string order;                        ///< name of the order of the forward operators
    std::vector<std::uint32_t> blocks;        ///< forward positions at which blocks end, ascending
    std::vector<Interval> intervals;          ///< interval tree, root first; empty without one
    std::vector<OpValueId> checkpoints;       ///< values that are kept from the forward sweep
    std::map<OpValueId, std::string> reasons; ///< why a value is kept or rebuilt
    bool operator==(const Annotations&) const = default;
};

/// A schedule for one joint graph.
struct Plan
{
    std::uint64_t graphHash = 0;
    std::optional<std::uint64_t> budget; ///< bytes it was made for; none = unbounded
    std::vector<Tier> tiers;
    std::vector<Step> steps;
    Annotations annotations;
    std::optional<Subject> subject; ///< what it was made for, where that is known; the simulator does not read it
    bool operator==(const Plan&) const = default;
};

/// The plan that computes in this order and frees every value right after its last reader before the operator runs
/// again: for a sequence of computations no plan needs less memory. Required values are never freed, pinned ones
/// neither. O(operands of the sequence).
[[nodiscard]] Plan planOf(const OpGraph& graph, const std::vector<OpId>& sequence);
/// The computations of a plan, in order.
[[nodiscard]] std::vector<OpId> sequenceOf(const Plan& plan);
/// Every operator once, by id.
[[nodiscard]] std::vector<OpId> storeAllSequence(const OpGraph& graph);

/// Adds to the annotations what the planner left open: the values that stay from the forward sweep, where it names
/// none, and of each forward value that stays, is moved or is computed again, why, where it gives no reason.
void fillAnnotations(const OpGraph& graph, Plan& plan);

} // namespace retro::schedule
