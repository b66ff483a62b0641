// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/travel.h"

namespace retro::app
{

namespace
{

using event::EventKind;

/// The promise that waits at a state and was raised last, before `limit`; invalid when none.
base::PromiseId innermost(const trace::RunState& state, std::uint64_t limit)
{
    for (std::size_t i = state.promises.size(); i-- > 0;) {
        const trace::PromiseState& promise = state.promises[i];
        if (!promise.isComplete && promise.openedAt + 1 < limit) {
            return base::PromiseId(i);
        }
    }
    return {};
}

bool isAbout(const trace::Event& event, base::PromiseId promise)
{
    return (event.kind == EventKind::NewPromise || event.kind == EventKind::Complete) && event.promise == promise.value;
}

Destination meetPromise(const trace::Run& run, base::PromiseId promise, std::uint64_t position, bool isForward)
{
    if (isForward) {
        for (std::uint64_t step = position; step < run.eventCount(); ++step) {
            if (isAbout(run.events[step], promise)) {
                return step + 1;
            }
        }
        return std::nullopt;
    }
    for (std::uint64_t stop = std::min(position, run.eventCount() + 1); stop-- > 1;) {
        if (isAbout(run.events[stop - 1], promise)) {
            return stop;
        }
    }
    return std::nullopt;
}

} // namespace

Destination finishPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position)
{
    const base::PromiseId promise = innermost(state, position + 1);
    for (std::uint64_t step = position; promise.isValid() && step < run.eventCount(); ++step) {
        if (run.events[step].kind == EventKind::Complete && run.events[step].promise == promise.value) {
            return step + 1;
        }
    }
    return std::nullopt;
}

Destination openingOfPromise(const trace::Run& run, const trace::RunState& state, std::uint64_t position)
{
    if (position == 0 || position > run.eventCount()) {
        return std::nullopt;
    }
    const trace::Event& last = run.events[position - 1];
    const base::PromiseId promise =
        last.kind == EventKind::Complete ? base::PromiseId(last.promise) : innermost(state, position);
    if (!promise.isValid()) {
        return std::nullopt;
    }
    return state.promises[promise.index()].openedAt + 1;
}

Destination nextOfSelection(const trace::Run& run, const views::SelectedThing& selected, base::NodeId node,
                            std::uint64_t position, bool isForward)
{
    if (const auto* promise = std::get_if<base::PromiseId>(&selected)) {
        return meetPromise(run, *promise, position, isForward);
    }
    if (!node.isValid()) {
        return std::nullopt;
    }
    trace::Breakpoint visit;
    visit.node = node;
    return isForward ? trace::nextStop(run, visit, position) : trace::previousStop(run, visit, position);
}

} // namespace retro::app
