// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retro::event
{

using base::HandleId;
using base::NodeId;
using base::PromiseId;
using base::VisitId;

/// Traversal mode of a visit (docs/traversal.md, section 2.1). `None`: runs that are not traversals.
enum class Mode : std::uint8_t { None, Normal, Search, Fulfilment };

/// "NTM", "PTM", "PFM" or "-".
[[nodiscard]] std::string_view shortName(Mode mode);

/// Kind of a promise, by what it was raised for.
enum class PromiseKind : std::uint8_t {
    Pre,
    Aggregate,
    Add,
    Sub,
    Sum,
    Mean,
    Softmax,
    Cat,
    Stack,
    Unbind,
    Operator ///< any other operator whose rule needs operands that it did not save
};

/// "pre", "aggregate", "add", …
[[nodiscard]] std::string_view nameOf(PromiseKind kind);

/// What happened. Each kind says which fields it uses and what its delta is; undoing an event applies the inverse
/// delta, so every event that overwrites something carries what was there before.
enum class EventKind : std::uint8_t {
    /// A pick: `node` is visited in `mode`; `visit` counts from 0. Delta: current visit and node; visits of the node
    /// +1;
    /// last mode of the node := mode. extra = last mode of the node before (Mode as integer), other = current node
    /// before.
    Visit,
    /// `node` went on top of the normal stack (extra = 0) or the search stack (extra = 1).
    Push,
    /// `node` left the top of the normal stack (0) or the search stack (1). flag = 1: discarded without a visit.
    Pop,
    /// `node` was appended to the promise queue; extra = its enqueue number.
    Enqueue,
    /// `node` left the promise queue from position extra (0 = oldest).
    Dequeue,
    /// A part landed in in-edge `slot` of `node`: the tensor `handle`, or, when `promise` is valid, its branch. other =
    /// node it came from, branch2 = operand slot there, extra = number of in-edges of `node`. Delta: slot filled, parts
    /// missing at the node −1. flag = 1: it is first added to the part of the same sender before it (isJoined).
    Land,
    /// The part in in-edge `slot` of `node` was taken (consumed or handed to a promise). Fields as in Land. Delta: slot
    /// emptied.
    Take,
    /// `promise` of kind extra (PromiseKind) was created at `node` with `slot` branches; flag = 1 when it is open.
    NewPromise,
    /// `promise` got a parent: branch `branch2` of promise `other` (through in-edge `slot` of the start, which reads
    /// output `extra`).
    AddParent,
    /// Branch `branch` of `promise` crossed pass-through `node`.
    Record,
    /// Branch `branch` of `promise` got child promise `other`.
    AddChild,
    /// The search of branch `branch` of `promise` ended at `node`; extra = its arg node before (or NodeId::kInvalid).
    ArgNode,
    /// Argument of branch `branch` of `promise` (operand `slot` of its start) is `handle`. `node` = where it was found;
    /// invalid when a child promise or an untracked operand answered. Arguments are held until Complete.
    Arg,
    /// All arguments of `promise` are there.
    Ready,
    /// A branch landed on `node`, which is being searched already: it joins `promise` as parent (`other`, `branch2`).
    /// No
    /// delta of its own: AddParent and ArgNode follow.
    Join,
    /// Pre-Promise `promise` opened: all inputs of its node have landed. extra = number of parents.
    Open,
    /// `promise` is complete.
    Complete,
    /// Relevance collected for output `slot` of the start of `promise` is `handle`.
    PromiseRelevance,
    /// In-relevance of branch `branch` of `promise` is `handle` (before = extra, a HandleId or kInvalid).
    BranchRelevance,
    /// `node` waits for branch `branch` of `promise`.
    Wait,
    /// `node` no longer waits for branch `branch` of `promise`, which is complete.
    Resume,
    /// Relevance of output `slot` of `node` is known in full: `handle`. Once per (node, output).
    Relevance,
    /// The relevance rule of `node` was applied; extra = number of rules applied before (= index into the ledger, when
    /// the run is audited), promise valid when a promise split or chain did it.
    Rule,
    /// LRP checkpoint `node` took the snapshot `handle` of its output `slot`.
    Snapshot,
    /// The run ended: by itself, or (flag = 1) because all its checkpoints were taken and nothing else was asked for.
    Finished,
    /// A kernel ran for `node`, a table lookup: launch `slot` of the schedule of pass `branch` (lut::Pass: 0 forward, 1
    /// backward, 2 relevance) on stream `branch2`; extra = kernel (lut::KernelId) and its time, flag = where it ran
    /// (core/event/launchevent.h). No delta of its own.
    Launch,

    // A planner's search for a plan, and a plan that is carried out. `other` is a value of the graph, bit 0 of flag
    // says that its gradient (relevance) is meant instead; `node` makes the value. Numbers are packed as
    // core/event/planevent.h reads them.

    /// A planner's try was judged: `slot` counts tries from 0, `node` is where its peak is. flag = PlanTry bits; extra
    /// =
    /// its cost, branch and branch2 = its peak in bytes. Delta: tries +1; best try := slot where flag says so, other =
    /// best try before (or kInvalid).
    Candidate,
    /// Try `slot` cut the forward sweep behind `node`, at forward position extra. Delta: cuts +1.
    Split,
    /// Try `slot` lets value `other` go: flag >> 1 = why (PlanReason), extra = gain, branch and branch2 = cost. Delta:
    /// drops +1.
    Drop,
    /// Try `slot` has value `other` made again for its reader, node `branch`: extra = cost. Delta: rebuilds +1.
    Rebuild,
    /// Output `slot` of `node`, or its gradient, was made for the first time: the tensor `handle` is in memory as value
    /// `other`.
    Compute,
    /// The same once more. extra = 1: whoever asked for it (a rule, a promise, the segment of a loop) holds it and lets
    /// it go after use; then no delta but the count.
    Recompute,
    /// Value `other`, the tensor `handle`, left memory. Bit 1 of flag: to a tier, whose copy has ended.
    Free,
    /// Value `other`, the tensor `handle`, is being copied to tier `slot`; it stays in memory until Free. No delta but
    /// the count.
    Move,
    /// Value `other`, the tensor `handle`, came back into memory from a tier; or, when `promise` is valid, that promise
    /// found it as argument, which Arg books: no delta then but the count.
    Fetch,
    /// Launch `slot` of pass `branch` of `node`, the Launch before it, read (bit 0 of flag) or wrote (bit 1) buffer
    /// `branch2` (lut::BufferId) of extra elements, which is the tensor `handle` now; invalid where it is not kept. No
    /// delta of its own.
    Buffer
};
/// How many kinds there are.
inline constexpr std::size_t kEventKindCount = static_cast<std::size_t>(EventKind::Buffer) + 1;

/// Name for people and files: "visit", "push", …
[[nodiscard]] std::string_view nameOf(EventKind kind);

/// One state change of a run. Fixed size, no pointers.
struct Event
{
    EventKind kind = EventKind::Visit;
    Mode mode = Mode::None;
    std::uint8_t flag = 0;
    std::uint8_t reserved = 0;
    std::uint32_t visit = 0; ///< visit that the event belongs to, from 0
    std::uint32_t node = NodeId::kInvalid;
    std::uint32_t slot = 0;
    std::uint32_t promise = PromiseId::kInvalid;
    std::uint32_t branch = 0;
    std::uint32_t other = PromiseId::kInvalid;
    std::uint32_t branch2 = 0;
    std::uint32_t handle = HandleId::kInvalid;
    std::uint32_t reserved2 = 0;
    std::int64_t extra = 0;
};
static_assert(sizeof(Event) == 48);

/// Why relevance was lost or gained at a node.
enum class Cause : std::uint8_t {
    Bias,            ///< absorbed by a bias (or emitted by it)
    Stabiliser,      ///< kept back by the stabiliser of a denominator
    ZeroDenominator, ///< arrived at a unit with nothing to distribute to
    Constant,        ///< went to an untracked or constant operand
    Duplicate,       ///< handed in full to each of several operands
    Unread,          ///< arrived at elements that came from nowhere (padding)
    Gradient,        ///< the rule is a gradient: it does not conserve by design
    Filter,          ///< removed by a rule that lets nothing of it through: a stopped branch, a unit that was off
    Rounding,        ///< what is left within floating-point rounding
    ClippedSign,     ///< had the sign that the rule cuts off
    Mask,            ///< arrived at elements that a mask had blanked out
    Saturation,      ///< arrived at elements that a quantised type could not hold
    TaylorRest       ///< left out by an expansion of first order: its constant term
};
inline constexpr std::size_t kCauseCount = 13;

/// "bias", "stabiliser", "zero denominator", …
[[nodiscard]] std::string_view nameOf(Cause cause);

/// Balance of one application of a rule: arrived = handedOn + Σ causes + unexplained(). Sums over all elements, in
/// double.
struct LedgerEntry
{
    std::uint32_t node = NodeId::kInvalid;
    std::uint32_t visit = 0;
    double arrived = 0;
    double handedOn = 0;
    double magnitude = 0; ///< Σ|r| that arrived: the scale of rounding
    std::array<double, kCauseCount> causes{};
    double magnitudeHandedOn = 0; ///< Σ|r| that was handed on; 0 where nobody knows

    [[nodiscard]] double unexplained() const
    {
        double rest = arrived - handedOn;
        for (const double amount : causes) {
            rest -= amount;
        }
        return rest;
    }
};

} // namespace retro::event
