// SPDX-License-Identifier: Apache-2.0
#include "core/trace/runstate.h"

#include "core/trace/delta/deltas.h"

#include <algorithm>

namespace retro::trace
{

namespace delta
{

const std::array<Delta, kEventKindCount> kDeltas{
    kVisit,           kPush,     kPop,     kEnqueue,   kDequeue,   kLand,    kTake,     kNewPromise, kAddParent,
    kRecord,          kAddChild, kArgNode, kArg,       kReady,     kNothing, kOpen,     kComplete,   kPromiseRelevance,
    kBranchRelevance, kWait,     kResume,  kRelevance, kRule,      kNothing, kFinished, kNothing,    kCandidate,
    kSplit,           kDrop,     kRebuild, kCompute,   kRecompute, kFree,    kMove,     kFetch,      kNothing};

namespace
{

/// Adds what one tensor counts for to the frontier (sign 1), or takes it out (−1).
void count(RunState& state, const HandleUse& use, std::int64_t bytes, int sign)
{
    const int isLanded = use.landed > 0 ? sign : 0;
    const int isHeld = use.landed == 0 && use.held > 0 ? sign : 0;
    state.frontierLanded += static_cast<std::uint32_t>(isLanded);
    state.frontierHeld += static_cast<std::uint32_t>(isHeld);
    const bool isArgument = isHeld != 0 && use.arguments > 0;
    (isArgument ? state.frontierBytes.arguments : state.frontierBytes.relevance) += (isLanded + isHeld) * bytes;
}

} // namespace

void countUse(RunState& state, const Run& run, HandleId handle, int landed, int held, int arguments)
{
    if (!handle.isValid()) {
        return;
    }
    const std::int64_t bytes = run.handles[handle.index()].bytes;
    HandleUse& use = state.handleUses.edit(handle.index());
    count(state, use, bytes, -1);
    use.landed += static_cast<std::uint32_t>(landed);
    use.held += static_cast<std::uint32_t>(held);
    use.arguments += static_cast<std::uint32_t>(arguments);
    count(state, use, bytes, 1);
}

void hold(BranchState& branch, bool isHeld, RunState& state, const Run& run)
{
    if (branch.holdsArgument != isHeld) {
        branch.holdsArgument = isHeld;
        countUse(state, run, branch.argument, 0, isHeld ? 1 : -1, isHeld ? 1 : -1);
    }
}

bool bringsArgument(const RunState& state, const Event& event)
{
    const std::vector<BranchState>& branches = state.promises[event.promise].branches;
    return state.isByPlan && event.branch < branches.size() &&
           branches[event.branch].argument == HandleId(event.handle);
}

} // namespace delta

RunState::RunState(const Run& run) : nodes(run.graph ? run.graph->runNodeCount() : 0), handleUses(run.handles.size())
{
    constexpr std::int64_t kMostInEdges = std::numeric_limits<std::uint32_t>::max();
    std::vector<bool> isKnown(nodes.size(), false);
    const auto isOfPlan = [](const Event& event) {
        return event.kind >= event::EventKind::Compute && event.kind <= event::EventKind::Fetch;
    };
    if (run.graph && std::any_of(run.events.begin(), run.events.end(), isOfPlan)) {
        planned.resize(2 * run.graph->valueCount());
    }
    isByPlan = std::ranges::any_of(
        run.events, [](event::EventKind kind) { return kind == event::EventKind::Compute; }, &Event::kind);
    for (const Event& event : run.events) {
        const bool lands = event.kind == event::EventKind::Land && event.node < nodes.size();
        if (lands && !isKnown[event.node] && event.extra > 0 && event.extra <= kMostInEdges) {
            isKnown[event.node] = true;
            nodes.edit(event.node).missing = static_cast<std::uint32_t>(event.extra);
        }
    }
}

void RunState::apply(const Event& event, const Run& run, std::uint64_t step)
{
    delta::kDeltas[static_cast<std::size_t>(event.kind)].apply(*this, event, run, step);
}

void RunState::revert(const Event& event, const Run& run, std::uint64_t step)
{
    delta::kDeltas[static_cast<std::size_t>(event.kind)].revert(*this, event, run, step);
}

} // namespace retro::trace
