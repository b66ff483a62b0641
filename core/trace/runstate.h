// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/event.h"
#include "core/trace/cowvector.h"
#include "core/trace/run.h"

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace retro::trace
{

/// A promise branch, named.
struct BranchRef
{
    PromiseId promise;
    std::uint32_t branch = 0;
    bool operator==(const BranchRef&) const = default;
};

/// A part in an in-edge slot: a tensor, or a promise branch that stands for one. Both invalid = nothing has landed.
struct Part
{
    HandleId handle;
    BranchRef branch;
    [[nodiscard]] bool isEmpty() const { return !handle.isValid() && !branch.promise.isValid(); }
    bool operator==(const Part&) const = default;
};

struct BranchState
{
    std::vector<NodeId> path;
    NodeId argNode;
    HandleId argument;
    HandleId relevance;
    NodeId argumentFoundAt; ///< invalid while missing, or when a child promise answered
    /// The argument takes memory of its own until the promise is complete: it is no operand without relevance (those
    /// are constants, and values that the forward pass keeps), and nothing that a plan has in memory anyhow.
    bool holdsArgument = false;
    std::vector<PromiseId> children;
    /// Who will still take the in-relevance: an operator that waits for it, in-edge slots in which the branch lies, and
    /// promises that are not complete and have it as parent.
    bool isAwaited = false;
    std::uint32_t inSlots = 0;
    std::uint32_t feeds = 0;
    /// True when the in-relevance is there and somebody will still take it.
    [[nodiscard]] bool holdsRelevance() const { return relevance.isValid() && (isAwaited || inSlots > 0 || feeds > 0); }
    bool operator==(const BranchState&) const = default;
};

struct ParentState
{
    BranchRef branch;
    std::uint32_t slot = 0;
    std::uint32_t output = 0;
    bool operator==(const ParentState&) const = default;
};

struct PromiseState
{
    event::PromiseKind kind = event::PromiseKind::Operator;
    NodeId start;
    std::uint64_t openedAt = 0;    ///< step of NewPromise
    std::uint64_t completedAt = 0; ///< step of Complete; counts only when complete
    bool isOpen = false;
    bool isReady = false;
    bool isComplete = false;
    std::vector<HandleId> relevance; ///< per output of the start
    std::vector<ParentState> parents;
    std::vector<BranchState> branches;
    bool operator==(const PromiseState&) const = default;
};

struct NodeState
{
    event::Mode lastMode = event::Mode::None; ///< None = not visited yet
    std::uint32_t visits = 0;
    std::uint32_t missing = 0; ///< in-edges that have not landed; 0 when nothing ever lands here
    std::uint32_t landed = 0;  ///< in-edges that have landed so far, taken or not
    bool ruleApplied = false;
    BranchRef waitsFor;              ///< promise invalid = waits for nothing
    std::vector<Part> parts;         ///< by in-edge slot; empty until something has landed
    std::vector<HandleId> relevance; ///< per output; invalid until known in full, empty until one is known
    bool operator==(const NodeState&) const = default;
};

/// Who is in the frontier at a step: relevance landed and not consumed, and what promises hold.
struct FrontierMember
{
    HandleId handle;
    NodeId node; ///< where it landed, or the start of the promise
    bool heldByPromise = false;
    bool operator==(const FrontierMember&) const = default;
};

/// In how many in-edge slots a tensor lies, and how often promises hold it.
struct HandleUse
{
    std::uint32_t landed = 0;
    std::uint32_t held = 0;
    std::uint32_t arguments = 0; ///< of those held: as arguments
    bool operator==(const HandleUse&) const = default;
};

/// How far planners and a plan have come; counts of their events. All zero in runs without a plan.
struct PlanProgress
{
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
    std::uint32_t tries = 0;
    std::uint32_t best = kNone; ///< the best try so far
    std::uint32_t cuts = 0;
    std::uint32_t drops = 0;
    std::uint32_t rebuilds = 0;
    std::uint32_t computed = 0;
    std::uint32_t recomputed = 0;
    std::uint32_t freed = 0;
    std::uint32_t moved = 0;
    std::uint32_t fetched = 0;
    bool operator==(const PlanProgress&) const = default;
};

/// A value that a plan has in memory.
struct PlannedTensor
{
    HandleId handle; ///< invalid: it is not there
    NodeId node;     ///< that makes it
    bool operator==(const PlannedTensor&) const = default;
};

/// Bytes of the frontier, by what they are.
struct FrontierBytes
{
    std::int64_t kept = 0;      ///< forward values that a plan has in memory
    std::int64_t arguments = 0; ///< what promises hold as arguments
    std::int64_t relevance = 0; ///< relevance (gradients) that waits

    [[nodiscard]] std::int64_t sum() const { return kept + arguments + relevance; }
    bool operator==(const FrontierBytes&) const = default;
};

/// Everything that can be known at a step, rebuilt from events alone. apply() and revert() are exact inverses: apply
/// then revert leaves an equal state. Plain value; copying is a keyframe and shares what does not change.
///
/// The frontier counts tensors (handles), each once however many places have it:
/// - landed: tensors that lie in an in-edge slot and were not taken yet;
/// - landed, too: values that a plan has in memory;
/// - held: tensors that are not landed and that a promise holds: arguments (BranchState::holdsArgument) and collected
///   relevance of promises that are not complete, and in-relevance of a branch that somebody will still take
///   (BranchState::holdsRelevance).
/// Constants, values that the forward pass saved, checkpoints and the final relevance of nodes do not count.
class RunState
{
public:
    RunState() = default;
    /// State before the first event.
    explicit RunState(const Run& run);

    /// Applies (takes back) the event at `step`. The event must be consistent with the state (consistency.h); a
    /// Timeline has checked that for every event of its run.
    void apply(const Event& event, const Run& run, std::uint64_t step);
    void revert(const Event& event, const Run& run, std::uint64_t step);

    CowVector<NodeState, 16> nodes; ///< by NodeId (operators and inputs)
    CowVector<PromiseState, 8> promises;
    std::vector<NodeId> normalStack; ///< bottom first
    std::vector<NodeId> searchStack; ///< bottom first
    std::vector<NodeId> queue;       ///< oldest first
    NodeId current;
    event::Mode mode = event::Mode::None;
    std::uint32_t visit = 0;
    bool isFinished = false;
    /// Rules applied so far = ledger rows booked, when the run is audited.
    std::uint32_t ledgerRows = 0;
    /// Tensors landed and not consumed / held by promises, as counts, and the bytes of both.
    std::uint32_t frontierLanded = 0;
    std::uint32_t frontierHeld = 0;
    FrontierBytes frontierBytes;
    CowVector<HandleUse, 128> handleUses; ///< by HandleId
    PlanProgress plan;
    bool isByPlan = false; ///< a plan says what is in memory: arguments that it keeps are not held once more
    /// What a plan has in memory: by ValueId, then gradients by ValueId; invalid where nothing is. Empty in runs
    /// without a plan.
    CowVector<PlannedTensor, 64> planned;
    /// Place of a value, or of its gradient, in `planned`.
    [[nodiscard]] std::size_t plannedSlot(std::uint32_t value, bool isGradient) const
    {
        return value + (isGradient ? planned.size() / 2 : 0);
    }

    /// Members of the frontier: landed ones by node and slot, then held ones by promise. As many as the two counts, and
    /// their sizes add up to frontierBytes.sum(). Walks all nodes and promises.
    [[nodiscard]] std::vector<FrontierMember> frontier() const;
    bool operator==(const RunState&) const = default;
};

} // namespace retro::trace
