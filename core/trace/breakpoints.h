// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/trace/run.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::trace
{

/// What a breakpoint waits for.
enum class BreakKind : std::uint8_t {
    NodeVisited,      ///< a visit of `node`
    OperatorVisited,  ///< a visit of a node of operator type `op`
    ModeEntered,      ///< a visit in `mode`, after one in another mode (or as the first)
    ModeChanged,      ///< a visit in another mode than the visit before
    PromiseOpened,    ///< a promise is created (at `node`, when valid)
    PromiseFulfilled, ///< a promise is complete (one that started at `node`, when valid)
    LedgerViolation,  ///< a rule leaves more than tolerance · Σ|r| unexplained
    NonFinite,        ///< relevance with an element that is not a number or infinite
    Recomputed,       ///< a plan makes a value once more (of `node`, when valid)
    Dropped,          ///< a planner lets a value go that it could have kept (of `node`, when valid)
    Freed,            ///< a value leaves memory in a pass by a plan (of `node`, when valid)
    RelevanceLost,    ///< a rule loses relevance (isLoss)
    LayerReached,     ///< a layer stop (layerStops)
    ValueReached,     ///< `measure` of the relevance of `value` does what `change` says
    LossAbove,        ///< a rule (of `node`, when valid) loses more than `number` per cent of what arrived
    FrontierTensors,  ///< the frontier rises above `number` tensors
    FrontierBytes,    ///< the frontier rises above `number` bytes
    PromiseOlder,     ///< a promise is not complete after `number` visits
    LaunchRan,        ///< a kernel of a table lookup ran: `op`, when not empty, at `node`, when valid
    BufferReached ///< `measure` of buffer `op` of `node`, a table lookup, does what `change` says when it is written
};

/// What is looked at of the relevance of a value.
enum class ValueMeasure : std::uint8_t { Sum, Largest, Element };
/// What it does at a stop.
enum class ValueChange : std::uint8_t { Changes, Crosses, ChangesSign, BecomesNaN };

/// A condition on a run. Only the fields that the kind names count.
struct Breakpoint
{
    BreakKind kind = BreakKind::NodeVisited;
    NodeId node;
    std::string op;
    event::Mode mode = event::Mode::Search;
    double tolerance = 1e-4; ///< relative to the magnitude of the relevance that arrived
    /// NodeVisited and OperatorVisited: only visits in this mode; None = in any.
    event::Mode only = event::Mode::None;
    ValueId value{};
    ValueMeasure measure = ValueMeasure::Sum;
    ValueChange change = ValueChange::Changes;
    std::vector<std::int64_t> index{}; ///< of ValueMeasure::Element
    double number = 0;
    bool operator==(const Breakpoint&) const = default;
};

/// First position after `position` (last before it) at which the breakpoint holds; nothing when there is none. A
/// position is a number of events applied, so the stop is just after the event that makes the condition true. Pure
/// search over the recorded run, linear in its events.
[[nodiscard]] std::optional<std::uint64_t> nextStop(const Run& run, const Breakpoint& breakpoint,
                                                    std::uint64_t position);
[[nodiscard]] std::optional<std::uint64_t> previousStop(const Run& run, const Breakpoint& breakpoint,
                                                        std::uint64_t position);

/// The nearest stop of any of several breakpoints.
[[nodiscard]] std::optional<std::uint64_t> nextStop(const Run& run, std::span<const Breakpoint> breakpoints,
                                                    std::uint64_t position);
[[nodiscard]] std::optional<std::uint64_t> previousStop(const Run& run, std::span<const Breakpoint> breakpoints,
                                                        std::uint64_t position);
/// Every position at which the breakpoint holds, ascending. Linear in the events of the run.
[[nodiscard]] std::vector<std::uint64_t> allStops(const Run& run, const Breakpoint& breakpoint);

/// Why a run stops at a position, in a line for people: numbers before and after where the breakpoint looks at numbers,
/// else the breakpoint's own words. Empty where it does not stop there.
[[nodiscard]] std::string whyStopped(const Run& run, const Breakpoint& breakpoint, std::uint64_t position);

/// The condition as text that parseBreakpoint() reads: "node block1/conv in search", "op Conv", "mode search", "mode
/// changes", "promise opened at block1/add", "promise fulfilled", "promise older 10", "violation 0.0001", "nan",
/// "recompute", "drop at conv", "free", "layer", "value conv1 sum changes", "value conv1 max crosses 0.5", "value
/// conv1:0,3,1,1 sign", "value conv1 sum nan", "loss 5 at conv1", "frontier 12 tensors", "frontier 1048576 bytes",
/// "launch gather_x at lut", "buffer Output of lut max crosses 0.5".
[[nodiscard]] std::string source(const Run& run, const Breakpoint& breakpoint);
/// Reads a condition. Errors (Usage): unknown word, node or operator that the run's graph does not have, bad number.
[[nodiscard]] base::Result<Breakpoint> parseBreakpoint(const Run& run, std::string_view text);

/// One line for people: "when Conv conv2 is visited", "when the mode changes".
[[nodiscard]] std::string text(const Run& run, const Breakpoint& breakpoint);

/// Positions at which stepping by layers stops, ascending: the ends of the visits that reach a new layer, and the end
/// of the run. A visit reaches a new layer when its node is visited for the first time and
/// - is a linear map, a bilinear map or a pooling (NodeRule::structure), or
/// - lies in a scope in which no node was visited before.
/// Without scopes and structures that leaves the first visit and the end.
[[nodiscard]] std::vector<std::uint64_t> layerStops(const Run& run);

/// Row of the ledger that leaves more than tolerance · magnitude unexplained, or that is not finite.
[[nodiscard]] bool isViolation(const event::LedgerEntry& entry, double tolerance);

/// A smaller part of what arrives is no loss that anybody would stop at.
inline constexpr double kLeastLoss = 0.01;

/// Row of the ledger that is a violation, or that loses more than kLeastLoss of its magnitude to what keeps relevance
/// from going on: zero denominators, elements that come from nowhere, stops, signs that are cut off, masks, quantised
/// types. Biases, constants and stabilisers take a share of a result by design and are none.
[[nodiscard]] bool isLoss(const event::LedgerEntry& entry, double tolerance);

} // namespace retro::trace
