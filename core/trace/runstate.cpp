// SPDX-License-Identifier: Apache-2.0
#include "core/trace/runstate.h"

#include "core/trace/delta/deltas.h"

namespace retro::trace
{

namespace delta
{

const std::array<Delta, kEventKindCount> kDeltas{
    kVisit,           kPush,     kPop,     kEnqueue,   kDequeue, kLand,    kTake,    kNewPromise, kAddParent,
    kRecord,          kAddChild, kArgNode, kArg,       kReady,   kNothing, kOpen,    kComplete,   kPromiseRelevance,
    kBranchRelevance, kWait,     kResume,  kRelevance, kRule,    kNothing, kFinished};

void countUse(RunState& state, const Run& run, HandleId handle, int landed, int held)
{
    if (!handle.isValid()) {
        return;
    }
    const auto count = [&](const HandleUse& use, bool add) {
        const std::uint32_t isLanded = use.landed > 0 ? 1 : 0;
        const std::uint32_t isHeld = use.landed == 0 && use.held > 0 ? 1 : 0;
        const std::int64_t bytes = (isLanded + isHeld) * run.handles[handle.index()].bytes;
        state.frontierLanded += add ? isLanded : 0 - isLanded;
        state.frontierHeld += add ? isHeld : 0 - isHeld;
        state.frontierBytes += add ? bytes : -bytes;
    };
    HandleUse& use = state.handleUses.edit(handle.index());
    count(use, false);
    use.landed += static_cast<std::uint32_t>(landed);
    use.held += static_cast<std::uint32_t>(held);
    count(use, true);
}

} // namespace delta

RunState::RunState(const Run& run) : nodes(run.graph ? run.graph->runNodeCount() : 0), handleUses(run.handles.size()) {}

void RunState::apply(const Event& event, const Run& run, std::uint64_t step)
{
    delta::kDeltas[static_cast<std::size_t>(event.kind)].apply(*this, event, run, step);
}

void RunState::revert(const Event& event, const Run& run, std::uint64_t step)
{
    delta::kDeltas[static_cast<std::size_t>(event.kind)].revert(*this, event, run, step);
}

} // namespace retro::trace
