// SPDX-License-Identifier: Apache-2.0
#include "core/trace/valuebreaks.h"

#include "core/event/launchevent.h"
#include "core/ops/algebra.h"
#include "core/trace/labels.h"
#include "core/trace/lutlaunch.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/runstate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

namespace retro::trace
{

using event::EventKind;

namespace
{

/// The value that a node's operand `slot` is; invalid where there is none.
ValueId operandOf(const Run& run, std::uint32_t node, std::uint32_t slot)
{
    if (node >= run.graph->nodeCount()) {
        return {};
    }
    const auto& inputs = run.graph->node(NodeId(node)).inputs;
    return slot < inputs.size() ? inputs[slot] : ValueId();
}

/// What a breakpoint measures of one tensor.
class Measure
{
public:
    Measure(const Run& run, const Breakpoint& breakpoint) : m_run(run), m_breakpoint(breakpoint) {}

    /// Nothing where the tensor was not kept, or has no such place.
    [[nodiscard]] std::optional<double> of(std::uint32_t handle) const
    {
        if (handle >= m_run.handles.size()) {
            return 0;
        }
        if (m_breakpoint.measure == ValueMeasure::Sum) {
            return meantSum(m_run, m_breakpoint.value, base::HandleId(handle));
        }
        const Tensor tensor = handle < m_run.tensors.size() ? m_run.tensors[handle] : Tensor();
        return tensor.isValid() ? of(meantRelevance(m_run, m_breakpoint.value, tensor)) : std::nullopt;
    }

    /// Of an element, or of the largest one.
    [[nodiscard]] std::optional<double> of(const Tensor& tensor) const
    {
        return m_breakpoint.measure == ValueMeasure::Element ? elementOf(tensor) : largestOf(tensor);
    }

    [[nodiscard]] std::string name() const
    {
        const std::string& value = m_run.graph->value(m_breakpoint.value).name;
        switch (m_breakpoint.measure) {
        case ValueMeasure::Sum:
            return fmt::format("Σ of {}'s relevance", value);
        case ValueMeasure::Largest:
            return fmt::format("the largest relevance in {}", value);
        case ValueMeasure::Element:
            return fmt::format("the relevance of {}[{}]", value, fmt::join(m_breakpoint.index, ","));
        }
        return value;
    }

private:
    [[nodiscard]] std::optional<double> elementOf(const Tensor& tensor) const
    {
        std::int64_t flat = 0;
        if (tensor.rank() != m_breakpoint.index.size()) {
            return std::nullopt;
        }
        for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
            if (m_breakpoint.index[axis] >= tensor.shape()[axis]) {
                return std::nullopt;
            }
            flat = flat * tensor.shape()[axis] + m_breakpoint.index[axis];
        }
        return tensor.at(flat);
    }

    static double largestOf(const Tensor& tensor)
    {
        double largest = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < tensor.size(); ++i) {
            const double element = tensor.at(i);
            if (std::isnan(element)) {
                return element;
            }
            largest = std::max(largest, element);
        }
        return tensor.size() == 0 ? 0 : largest;
    }

    const Run& m_run;
    const Breakpoint& m_breakpoint;
};

/// What is not known is no reason to stop.
bool isReached(const Breakpoint& breakpoint, std::optional<double> known, std::optional<double> isNow)
{
    if (!known || !isNow) {
        return false;
    }
    const double before = *known;
    const double now = *isNow;
    switch (breakpoint.change) {
    case ValueChange::Changes:
        return !(before == now) && !(std::isnan(before) && std::isnan(now));
    case ValueChange::Crosses:
        return (before < breakpoint.number) != (now < breakpoint.number) && !std::isnan(before) && !std::isnan(now);
    case ValueChange::ChangesSign:
        return (before < 0 && now > 0) || (before > 0 && now < 0);
    case ValueChange::BecomesNaN:
        return std::isnan(now) && !std::isnan(before);
    }
    return false;
}

/// Follows the relevance of one value through the events.
class ValueFollower
{
public:
    ValueFollower(const Run& run, const Breakpoint& breakpoint)
        : m_run(run), m_breakpoint(breakpoint), m_measure(run, breakpoint), m_node(run.graph->nodeOf(breakpoint.value))
    {}

    std::vector<NumberStop> stops()
    {
        for (std::uint64_t step = 0; step < m_run.eventCount(); ++step) {
            const event::Event& event = m_run.events[step];
            if (event.node != m_node.value) {
                continue;
            }
            if (event.kind == EventKind::Land && event.handle < m_run.handles.size() &&
                operandOf(m_run, event.other, event.branch2) == m_breakpoint.value) {
                take(step, landed(event.handle),
                     fmt::format("with what landed from {}", nodeText(m_run, NodeId(event.other))));
            } else if (event.kind == EventKind::Relevance && isOurs(event.slot)) {
                take(step, m_measure.of(event.handle), "when all of it was known");
            }
        }
        return std::move(m_stops);
    }

private:
    [[nodiscard]] bool isOurs(std::uint32_t slot) const
    {
        const auto outputs = m_run.graph->outputsOf(m_node);
        return slot < outputs.size() && outputs[slot] == m_breakpoint.value;
    }

    /// What has landed so far, with one part more.
    std::optional<double> landed(std::uint32_t handle)
    {
        if (m_breakpoint.measure != ValueMeasure::Largest) {
            const std::optional<double> part = m_measure.of(handle);
            return part && m_now ? std::optional(*m_now + *part) : std::nullopt;
        }
        const Tensor part = handle < m_run.tensors.size() ? m_run.tensors[handle] : Tensor();
        const bool fits = part.isValid() && (!m_landed.isValid() || m_landed.shape() == part.shape());
        if (!m_now || !fits) {
            return std::nullopt;
        }
        m_landed = m_landed.isValid() ? ops::algebra::add(m_landed, part) : part;
        return m_measure.of(m_landed);
    }

    void take(std::uint64_t step, std::optional<double> now, const std::string& how)
    {
        if (isReached(m_breakpoint, m_now, now)) {
            m_stops.push_back(
                {step, fmt::format("{} went from {:.6g} to {:.6g} {}", m_measure.name(), *m_now, *now, how)});
        }
        m_now = now;
    }

    const Run& m_run;
    const Breakpoint& m_breakpoint;
    Measure m_measure;
    NodeId m_node;
    std::optional<double> m_now = 0; ///< none: it was not kept
    Tensor m_landed;                 ///< Σ of the parts, of ValueMeasure::Largest
    std::vector<NumberStop> m_stops;
};

/// Follows one buffer of a table lookup through the launches that write it.
std::vector<NumberStop> bufferStops(const Run& run, const Breakpoint& breakpoint)
{
    const Measure measure(run, breakpoint);
    std::vector<NumberStop> stops;
    std::optional<double> before = 0;
    std::string kernel;
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        const event::Event& event = run.events[step];
        if (event.node != breakpoint.node.value) {
            continue;
        }
        if (event.kind == EventKind::Launch) {
            kernel = kernelName(event);
        }
        const bool isWritten = event.kind == EventKind::Buffer && (event.flag & event::kBufferWritten) != 0;
        if (!isWritten || event.handle >= run.handles.size() || bufferName(event) != breakpoint.op) {
            continue;
        }
        const std::optional<double> now = measure.of(event.handle);
        if (isReached(breakpoint, before, now)) {
            stops.push_back({step, fmt::format("{} went from {:.6g} to {:.6g} when {} wrote it",
                                               bufferMeasureText(run, breakpoint), *before, *now, kernel)});
        }
        before = now;
    }
    return stops;
}

/// Rules that hand on less, or more, than the given part of what arrived.
std::vector<NumberStop> lossStops(const Run& run, const Breakpoint& breakpoint)
{
    std::vector<NumberStop> stops;
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        const event::Event& event = run.events[step];
        const auto row = static_cast<std::uint64_t>(event.extra);
        if (event.kind != EventKind::Rule || row >= run.ledger.size() ||
            (breakpoint.node.isValid() && event.node != breakpoint.node.value)) {
            continue;
        }
        const event::LedgerEntry& entry = run.ledger[row];
        const double lost = std::abs(entry.arrived - entry.handedOn);
        if (!(lost <= breakpoint.number / 100 * entry.magnitude)) {
            stops.push_back({step, fmt::format("{} loses {:.4g} % of the relevance that arrived ({:.6g} of {:.6g})",
                                               nodeText(run, NodeId(event.node)), 100 * lost / entry.magnitude,
                                               entry.arrived - entry.handedOn, entry.magnitude)});
        }
    }
    return stops;
}

std::vector<NumberStop> frontierStops(const Run& run, const Breakpoint& breakpoint)
{
    const bool inBytes = breakpoint.kind == BreakKind::FrontierBytes;
    RunState state(run);
    std::vector<NumberStop> stops;
    bool wasAbove = false;
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        state.apply(run.events[step], run, step);
        const double now = inBytes ? static_cast<double>(state.frontierBytes.sum())
                                   : static_cast<double>(state.frontierLanded + state.frontierHeld);
        const bool isAbove = now > breakpoint.number;
        if (isAbove && !wasAbove) {
            stops.push_back({step, fmt::format("the frontier has {} {}, more than {}", now,
                                               inBytes ? "bytes" : "tensors", breakpoint.number)});
        }
        wasAbove = isAbove;
    }
    return stops;
}

/// Promises that are not complete after so many visits.
std::vector<NumberStop> ageStops(const Run& run, const Breakpoint& breakpoint)
{
    std::map<std::uint32_t, std::uint32_t> openedAt; // visit by promise
    std::map<std::uint32_t, std::uint32_t> completeAt;
    for (const event::Event& event : run.events) {
        if (event.kind == EventKind::NewPromise) {
            openedAt[event.promise] = event.visit;
        } else if (event.kind == EventKind::Complete) {
            completeAt[event.promise] = event.visit;
        }
    }
    std::vector<NumberStop> stops;
    for (const auto& [promise, opened] : openedAt) {
        const double due = opened + breakpoint.number + 1;
        const auto complete = completeAt.find(promise);
        if (due >= run.visitCount() || (complete != completeAt.end() && complete->second < due)) {
            continue;
        }
        stops.push_back({run.visitStart[static_cast<std::size_t>(due)],
                         fmt::format("{} was opened at visit {} and is not complete after {} visits",
                                     promiseText(PromiseId(promise)), opened, breakpoint.number)});
    }
    std::ranges::stable_sort(stops, {}, &NumberStop::step);
    return stops;
}

} // namespace

std::string bufferMeasureText(const Run& run, const Breakpoint& breakpoint)
{
    const std::string what = fmt::format("{} of {}", breakpoint.op, nodeText(run, breakpoint.node));
    switch (breakpoint.measure) {
    case ValueMeasure::Sum:
        return "Σ of " + what;
    case ValueMeasure::Largest:
        return "the largest in " + what;
    case ValueMeasure::Element:
        return fmt::format("{}[{}]", what, fmt::join(breakpoint.index, ","));
    }
    return what;
}

bool looksAtNumbers(BreakKind kind)
{
    return kind == BreakKind::ValueReached || kind == BreakKind::LossAbove || kind == BreakKind::FrontierTensors ||
           kind == BreakKind::FrontierBytes || kind == BreakKind::PromiseOlder || kind == BreakKind::BufferReached;
}

std::vector<NumberStop> numberStops(const Run& run, const Breakpoint& breakpoint)
{
    switch (breakpoint.kind) {
    case BreakKind::ValueReached:
        return ValueFollower(run, breakpoint).stops();
    case BreakKind::LossAbove:
        return lossStops(run, breakpoint);
    case BreakKind::FrontierTensors:
    case BreakKind::FrontierBytes:
        return frontierStops(run, breakpoint);
    case BreakKind::PromiseOlder:
        return ageStops(run, breakpoint);
    case BreakKind::BufferReached:
        return bufferStops(run, breakpoint);
    default:
        return {};
    }
}

} // namespace retro::trace
