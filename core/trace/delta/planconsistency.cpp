// SPDX-License-Identifier: Apache-2.0
// Checks of what planners tried and of what a plan has in memory.
#include "core/event/planevent.h"
#include "core/trace/delta/consistency.h"
#include "core/trace/delta/deltas.h"

#include <algorithm>

namespace retro::trace::delta
{

namespace
{

constexpr const char* kNoSuchValue = "it names a value that does not exist, or another node as its maker";
constexpr const char* kWrongNumber = "its cost or gain is no number";

/// The node makes the value.
const char* checkValue(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    const auto outputs = at.run.graph->outputsOf(NodeId(at.event.node));
    const bool isMade = std::find(outputs.begin(), outputs.end(), base::ValueId(at.event.other)) != outputs.end();
    const bool isKnown = at.event.kind < event::EventKind::Compute || at.event.other < at.state.planned.size() / 2;
    return isMade && isKnown ? nullptr : kNoSuchValue;
}

HandleId inMemory(const Context& at)
{
    return at.state.planned[at.state.plannedSlot(at.event.other, event::isOfGradient(at.event))].handle;
}

const char* checkEnters(const Context& at)
{
    if (const char* reason = checkValue(at)) {
        return reason;
    }
    if (!at.hasHandle()) {
        return kNoSuchHandle;
    }
    return inMemory(at).isValid() ? "that value is in memory already" : nullptr;
}

const char* checkIsThere(const Context& at)
{
    if (const char* reason = checkValue(at)) {
        return reason;
    }
    if (!at.hasHandle()) {
        return kNoSuchHandle;
    }
    return inMemory(at) == HandleId(at.event.handle) ? nullptr : "that value is not in memory";
}

bool isNumber(double value) { return value == value; }

} // namespace

const char* checkCandidate(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    if (at.event.slot != at.state.plan.tries || at.event.flag > 7) {
        return "tries of planners are not numbered in order";
    }
    if (at.event.other != at.state.plan.best) {
        return kOtherBefore;
    }
    return isNumber(event::numberIn(at.event)) ? nullptr : kWrongNumber;
}

const char* checkSplit(const Context& at)
{
    if (!at.hasNode()) {
        return kNoSuchNode;
    }
    return at.event.extra >= 0 ? nullptr : "it cuts at a position that does not exist";
}

const char* checkDrop(const Context& at)
{
    if (const char* reason = checkValue(at)) {
        return reason;
    }
    if ((at.event.flag >> 1U) >= event::kPlanReasonCount) {
        return "it gives a reason that does not exist";
    }
    return isNumber(event::numberIn(at.event)) && isNumber(event::dropCost(at.event)) ? nullptr : kWrongNumber;
}

const char* checkRebuild(const Context& at)
{
    if (const char* reason = checkValue(at)) {
        return reason;
    }
    if (at.event.branch != NodeId::kInvalid && at.event.branch >= at.state.nodes.size()) {
        return kNoSuchNode;
    }
    return isNumber(event::numberIn(at.event)) ? nullptr : kWrongNumber;
}

const char* checkCompute(const Context& at) { return checkEnters(at); }

const char* checkRecompute(const Context& at)
{
    if (at.event.extra == 1) {
        return checkValue(at);
    }
    return at.event.extra == 0 ? checkEnters(at) : "it says neither that it stays nor that it does not";
}

const char* checkFree(const Context& at) { return checkIsThere(at); }

const char* checkMove(const Context& at) { return checkIsThere(at); }

const char* checkFetch(const Context& at)
{
    if (at.event.promise == PromiseId::kInvalid) {
        return checkEnters(at);
    }
    if (!at.hasPromise()) {
        return kNoSuchPromise;
    }
    const bool isThere = bringsArgument(at.state, at.event) && (at.promise().isComplete || at.branch().holdsArgument);
    return isThere ? "that argument is there already" : checkValue(at);
}

} // namespace retro::trace::delta
