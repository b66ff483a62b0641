// SPDX-License-Identifier: Apache-2.0
#include "core/trace/frontierwalk.h"

#include <utility>

namespace retro::trace
{

void FrontierWalk::apply(std::uint64_t step, const std::function<void(HandleId, bool)>& changed)
{
    const Event& event = m_run.events[step];
    m_touched.clear();
    touch(event); // what is overwritten
    m_state.apply(event, m_run, step);
    touch(event);
    for (const HandleId handle : m_touched) {
        const HandleUse& use = m_state.handleUses[handle.index()];
        const std::uint8_t isMember = use.landed > 0 || use.held > 0 ? 1 : 0;
        if (std::exchange(m_isMember[handle.index()], isMember) != isMember) {
            changed(handle, isMember != 0);
        }
    }
}

void FrontierWalk::touch(HandleId handle)
{
    if (handle.isValid() && handle.index() < m_isMember.size()) {
        m_touched.push_back(handle);
    }
}

void FrontierWalk::touchBranch(std::uint32_t promise, std::uint32_t branch)
{
    if (promise < m_state.promises.size() && branch < m_state.promises[promise].branches.size()) {
        touch(m_state.promises[promise].branches[branch].relevance);
    }
}

void FrontierWalk::touchPromise(const PromiseState& promise)
{
    for (const BranchState& branch : promise.branches) {
        touch(branch.argument);
    }
    for (const HandleId relevance : promise.relevance) {
        touch(relevance);
    }
    for (const ParentState& parent : promise.parents) {
        touchBranch(parent.branch.promise.value, parent.branch.branch);
    }
}

void FrontierWalk::touch(const Event& event)
{
    touch(HandleId(event.handle));
    touchBranch(event.promise, event.branch);
    touchBranch(event.other, event.branch2);
    const bool isPromise = event.promise < m_state.promises.size();
    if (isPromise && event.kind == event::EventKind::Complete) {
        touchPromise(m_state.promises[event.promise]);
    }
    if (isPromise && event.kind == event::EventKind::PromiseRelevance &&
        event.slot < m_state.promises[event.promise].relevance.size()) {
        touch(m_state.promises[event.promise].relevance[event.slot]);
    }
}

} // namespace retro::trace
