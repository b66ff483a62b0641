// SPDX-License-Identifier: Apache-2.0
#include "core/trace/breakpoints.h"

#include "core/trace/labels.h"
#include "core/trace/lutlaunch.h"
#include "core/trace/valuebreaks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::trace
{

using event::EventKind;
using event::Mode;

namespace
{

struct Place
{
    const Run& run;
    const Breakpoint& breakpoint;
    std::uint64_t step;
    const std::vector<NodeId>& starts; ///< by promise, when the breakpoint asks for them

    [[nodiscard]] const Event& event() const { return run.events[step]; }
    [[nodiscard]] bool isVisit() const { return event().kind == EventKind::Visit; }
};

/// Mode of the visit before a Visit event; None before the first.
Mode modeBefore(const Place& at)
{
    const std::uint32_t visit = at.event().visit;
    if (visit == 0 || visit > at.run.visitCount()) {
        return Mode::None;
    }
    std::uint64_t step = at.run.visitStart[visit - 1];
    while (step < at.step && at.run.events[step].kind != EventKind::Visit) {
        ++step;
    }
    return at.run.events[step].mode;
}

/// A visit in the mode that the breakpoint asks for, if it asks for one.
bool isWantedVisit(const Place& at)
{
    return at.isVisit() && (at.breakpoint.only == Mode::None || at.event().mode == at.breakpoint.only);
}

bool isNodeVisited(const Place& at) { return isWantedVisit(at) && at.event().node == at.breakpoint.node.value; }

bool isOperatorVisited(const Place& at)
{
    return isWantedVisit(at) && at.run.graph->opOf(NodeId(at.event().node)) == at.breakpoint.op;
}

bool isModeEntered(const Place& at)
{
    return at.isVisit() && at.event().mode == at.breakpoint.mode && modeBefore(at) != at.breakpoint.mode;
}

bool isModeChanged(const Place& at)
{
    return at.isVisit() && at.event().visit > 0 && modeBefore(at) != at.event().mode;
}

bool isPromiseOpened(const Place& at)
{
    return at.event().kind == EventKind::NewPromise &&
           (!at.breakpoint.node.isValid() || at.event().node == at.breakpoint.node.value);
}

bool isPromiseFulfilled(const Place& at)
{
    const std::uint32_t promise = at.event().promise;
    return at.event().kind == EventKind::Complete &&
           (!at.breakpoint.node.isValid() || (promise < at.starts.size() && at.starts[promise] == at.breakpoint.node));
}

bool isLedgerViolation(const Place& at)
{
    const auto row = static_cast<std::uint64_t>(at.event().extra);
    return at.event().kind == EventKind::Rule && row < at.run.ledger.size() &&
           isViolation(at.run.ledger[row], at.breakpoint.tolerance);
}

bool isRelevanceLost(const Place& at)
{
    const auto row = static_cast<std::uint64_t>(at.event().extra);
    return at.event().kind == EventKind::Rule && row < at.run.ledger.size() &&
           isLoss(at.run.ledger[row], at.breakpoint.tolerance);
}

bool carriesRelevance(EventKind kind)
{
    return kind == EventKind::Relevance || kind == EventKind::Land || kind == EventKind::PromiseRelevance ||
           kind == EventKind::BranchRelevance;
}

bool isNonFinite(const Place& at)
{
    const Event& event = at.event();
    return carriesRelevance(event.kind) && event.handle < at.run.handles.size() &&
           !std::isfinite(at.run.handles[event.handle].sum);
}

/// An event of a plan, at the node that the breakpoint names, if it names one.
template <EventKind kKind>
bool isOfPlan(const Place& at)
{
    return at.event().kind == kKind && (!at.breakpoint.node.isValid() || at.event().node == at.breakpoint.node.value);
}

bool isLaunch(const Place& at)
{
    return at.event().kind == EventKind::Launch &&
           (!at.breakpoint.node.isValid() || at.event().node == at.breakpoint.node.value) &&
           (at.breakpoint.op.empty() || kernelName(at.event()) == at.breakpoint.op);
}

using Condition = bool (*)(const Place&);
/// By BreakKind, up to RelevanceLost; layer stops are looked up instead.
constexpr std::array<Condition, 12> kConditions{isNodeVisited,
                                                isOperatorVisited,
                                                isModeEntered,
                                                isModeChanged,
                                                isPromiseOpened,
                                                isPromiseFulfilled,
                                                isLedgerViolation,
                                                isNonFinite,
                                                isOfPlan<EventKind::Recompute>,
                                                isOfPlan<EventKind::Drop>,
                                                isOfPlan<EventKind::Free>,
                                                isRelevanceLost};

/// A breakpoint with what it looks up in the whole run.
class Search
{
public:
    Search(const Run& run, const Breakpoint& breakpoint) : m_run(run), m_breakpoint(breakpoint)
    {
        if (breakpoint.kind == BreakKind::PromiseFulfilled && breakpoint.node.isValid()) {
            findStarts();
        }
        if (looksAtNumbers(breakpoint.kind)) {
            for (const NumberStop& stop : numberStops(run, breakpoint)) {
                m_stops.push_back(stop.step);
            }
        }
    }

    [[nodiscard]] bool holds(std::uint64_t step) const
    {
        if (looksAtNumbers(m_breakpoint.kind)) {
            return std::binary_search(m_stops.begin(), m_stops.end(), step);
        }
        const Place at{m_run, m_breakpoint, step, m_starts};
        return m_breakpoint.kind == BreakKind::LaunchRan ? isLaunch(at)
                                                         : kConditions[static_cast<std::size_t>(m_breakpoint.kind)](at);
    }

private:
    void findStarts()
    {
        for (const Event& event : m_run.events) {
            if (event.kind == EventKind::NewPromise) {
                m_starts.emplace_back(event.node);
            }
        }
    }

    const Run& m_run;
    const Breakpoint& m_breakpoint;
    std::vector<NodeId> m_starts;
    std::vector<std::uint64_t> m_stops; ///< steps of a breakpoint that looks at numbers, ascending
};

std::optional<std::uint64_t> nextLayer(const Run& run, std::uint64_t position)
{
    const std::vector<std::uint64_t> stops = layerStops(run);
    const auto at = std::upper_bound(stops.begin(), stops.end(), position);
    return at == stops.end() ? std::nullopt : std::optional(*at);
}

std::optional<std::uint64_t> previousLayer(const Run& run, std::uint64_t position)
{
    const std::vector<std::uint64_t> stops = layerStops(run);
    const auto at = std::lower_bound(stops.begin(), stops.end(), position);
    return at == stops.begin() ? std::nullopt : std::optional(*(at - 1));
}

std::string measureText(const Run& run, const Breakpoint& breakpoint)
{
    if (breakpoint.kind == BreakKind::BufferReached) {
        return bufferMeasureText(run, breakpoint);
    }
    const bool isKnown = breakpoint.value.isValid() && breakpoint.value.index() < run.graph->valueCount();
    const std::string value = isKnown ? run.graph->value(breakpoint.value).name : std::string("?");
    switch (breakpoint.measure) {
    case ValueMeasure::Sum:
        return fmt::format("Σ of {}'s relevance", value);
    case ValueMeasure::Largest:
        return fmt::format("the largest relevance in {}", value);
    case ValueMeasure::Element:
        return fmt::format("the relevance of {}[{}]", value, fmt::join(breakpoint.index, ","));
    }
    return value;
}

std::string changeText(const Breakpoint& breakpoint)
{
    switch (breakpoint.change) {
    case ValueChange::Changes:
        return "changes";
    case ValueChange::Crosses:
        return fmt::format("crosses {}", breakpoint.number);
    case ValueChange::ChangesSign:
        return "changes its sign";
    case ValueChange::BecomesNaN:
        return "becomes NaN";
    }
    return {};
}

} // namespace

bool isViolation(const event::LedgerEntry& entry, double tolerance)
{
    return !(std::abs(entry.unexplained()) <= tolerance * entry.magnitude) || !std::isfinite(entry.magnitude);
}

bool isLoss(const event::LedgerEntry& entry, double tolerance)
{
    using event::Cause;
    static constexpr std::array kLosses{Cause::ZeroDenominator, Cause::Unread, Cause::Filter,
                                        Cause::ClippedSign,     Cause::Mask,   Cause::Saturation};
    double lost = 0;
    for (const Cause cause : kLosses) {
        lost += std::abs(entry.causes[static_cast<std::size_t>(cause)]);
    }
    return isViolation(entry, tolerance) || lost > kLeastLoss * entry.magnitude;
}

std::optional<std::uint64_t> nextStop(const Run& run, const Breakpoint& breakpoint, std::uint64_t position)
{
    if (breakpoint.kind == BreakKind::LayerReached) {
        return nextLayer(run, position);
    }
    const Search search(run, breakpoint);
    for (std::uint64_t step = position; step < run.events.size(); ++step) {
        if (search.holds(step)) {
            return step + 1;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> previousStop(const Run& run, const Breakpoint& breakpoint, std::uint64_t position)
{
    if (breakpoint.kind == BreakKind::LayerReached) {
        return previousLayer(run, position);
    }
    const Search search(run, breakpoint);
    const std::uint64_t end = std::min<std::uint64_t>(position, run.events.size() + 1);
    for (std::uint64_t stop = end; stop-- > 1;) {
        if (search.holds(stop - 1)) {
            return stop;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> nextStop(const Run& run, std::span<const Breakpoint> breakpoints, std::uint64_t position)
{
    std::optional<std::uint64_t> nearest;
    for (const Breakpoint& breakpoint : breakpoints) {
        const auto stop = nextStop(run, breakpoint, position);
        nearest = stop && (!nearest || *stop < *nearest) ? stop : nearest;
    }
    return nearest;
}

std::optional<std::uint64_t> previousStop(const Run& run, std::span<const Breakpoint> breakpoints,
                                          std::uint64_t position)
{
    std::optional<std::uint64_t> nearest;
    for (const Breakpoint& breakpoint : breakpoints) {
        const auto stop = previousStop(run, breakpoint, position);
        nearest = stop && (!nearest || *stop > *nearest) ? stop : nearest;
    }
    return nearest;
}

std::vector<std::uint64_t> allStops(const Run& run, const Breakpoint& breakpoint)
{
    if (breakpoint.kind == BreakKind::LayerReached) {
        return layerStops(run);
    }
    std::vector<std::uint64_t> stops;
    const Search search(run, breakpoint);
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        if (search.holds(step)) {
            stops.push_back(step + 1);
        }
    }
    return stops;
}

std::string whyStopped(const Run& run, const Breakpoint& breakpoint, std::uint64_t position)
{
    if (position == 0) {
        return {};
    }
    if (looksAtNumbers(breakpoint.kind)) {
        const std::vector<NumberStop> stops = numberStops(run, breakpoint);
        const auto found = std::ranges::find(stops, position - 1, &NumberStop::step);
        return found == stops.end() ? std::string() : found->why;
    }
    const std::vector<std::uint64_t> stops = allStops(run, breakpoint);
    return std::ranges::binary_search(stops, position) ? text(run, breakpoint) : std::string();
}

std::string text(const Run& run, const Breakpoint& breakpoint)
{
    const std::string during =
        breakpoint.only == event::Mode::None ? std::string() : fmt::format(" in mode {}", shortName(breakpoint.only));
    const std::string at = breakpoint.node.isValid() ? " at " + nodeText(run, breakpoint.node) : std::string();
    switch (breakpoint.kind) {
    case BreakKind::NodeVisited:
        return fmt::format("when {} is visited{}", nodeText(run, breakpoint.node), during);
    case BreakKind::OperatorVisited:
        return fmt::format("when any {} is visited{}", breakpoint.op, during);
    case BreakKind::ModeEntered:
        return fmt::format("when mode {} begins", shortName(breakpoint.mode));
    case BreakKind::ModeChanged:
        return "when the mode changes";
    case BreakKind::PromiseOpened:
        return fmt::format("when a promise is opened{}", at);
    case BreakKind::PromiseFulfilled:
        return fmt::format("when a promise{} is complete", at);
    case BreakKind::LedgerViolation:
        return fmt::format("when a rule leaves more than {} · Σ|r| unexplained", breakpoint.tolerance);
    case BreakKind::NonFinite:
        return "when relevance is not finite";
    case BreakKind::Recomputed:
        return fmt::format("when a plan computes a value again{}", at);
    case BreakKind::Dropped:
        return fmt::format("when a planner drops a value{}", at);
    case BreakKind::Freed:
        return fmt::format("when a plan frees a value{}", at);
    case BreakKind::RelevanceLost:
        return "when a rule loses relevance";
    case BreakKind::LayerReached:
        return "when a new layer is reached";
    case BreakKind::ValueReached:
        return fmt::format("when {} {}", measureText(run, breakpoint), changeText(breakpoint));
    case BreakKind::LossAbove:
        return fmt::format("when a rule{} loses more than {} % of what arrived", at, breakpoint.number);
    case BreakKind::FrontierTensors:
        return fmt::format("when the frontier has more than {} tensors", breakpoint.number);
    case BreakKind::FrontierBytes:
        return fmt::format("when the frontier has more than {} bytes", breakpoint.number);
    case BreakKind::PromiseOlder:
        return fmt::format("when a promise is not complete after {} visits", breakpoint.number);
    case BreakKind::LaunchRan:
        return fmt::format("when {} runs{}", breakpoint.op.empty() ? "a kernel" : "kernel " + breakpoint.op, at);
    case BreakKind::BufferReached:
        return fmt::format("when {} {}", measureText(run, breakpoint), changeText(breakpoint));
    }
    return {};
}

} // namespace retro::trace
