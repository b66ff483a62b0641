// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/frontiermodes.h"

#include "core/trace/runstate.h"

namespace retro::views
{

namespace
{

using Widths = std::array<std::uint32_t, FrontierModes::kModes>;

std::size_t slotOf(event::Mode mode)
{
    switch (mode) {
    case event::Mode::Search:
        return 1;
    case event::Mode::Fulfilment:
        return 2;
    default:
        return 0;
    }
}

/// Follows the state and notes who comes into the frontier and who leaves it. An event changes that for few tensors:
/// the one that it names, those of the branches that it names, and, when a promise is fulfilled, all that it held.
class Walk
{
public:
    explicit Walk(const trace::Run& run) : m_run(run), m_state(run), m_memberOf(run.handles.size(), kOutside) {}

    void apply(std::uint64_t step)
    {
        const trace::Event& e = m_run.events[step];
        m_touched.clear();
        touch(e); // what is overwritten
        m_state.apply(e, m_run, step);
        touch(e);
        const auto slot = static_cast<std::uint8_t>(slotOf(m_state.mode));
        for (const std::uint32_t handle : m_touched) {
            settle(handle, slot);
        }
    }
    [[nodiscard]] const Widths& widths() const { return m_widths; }

private:
    static constexpr std::uint8_t kOutside = 0xFF;

    void touch(base::HandleId handle)
    {
        if (handle.isValid() && handle.index() < m_memberOf.size()) {
            m_touched.push_back(handle.value);
        }
    }

    void touchBranch(std::uint32_t promise, std::uint32_t branch)
    {
        if (promise < m_state.promises.size() && branch < m_state.promises[promise].branches.size()) {
            touch(m_state.promises[promise].branches[branch].relevance);
        }
    }

    void touchPromise(const trace::PromiseState& promise)
    {
        for (const trace::BranchState& branch : promise.branches) {
            touch(branch.argument);
        }
        for (const base::HandleId relevance : promise.relevance) {
            touch(relevance);
        }
        for (const trace::ParentState& parent : promise.parents) {
            touchBranch(parent.branch.promise.value, parent.branch.branch);
        }
    }

    void touch(const trace::Event& e)
    {
        touch(base::HandleId(e.handle));
        touchBranch(e.promise, e.branch);
        touchBranch(e.other, e.branch2);
        const bool isPromise = e.promise < m_state.promises.size();
        if (isPromise && e.kind == event::EventKind::Complete) {
            touchPromise(m_state.promises[e.promise]);
        }
        if (isPromise && e.kind == event::EventKind::PromiseRelevance &&
            e.slot < m_state.promises[e.promise].relevance.size()) {
            touch(m_state.promises[e.promise].relevance[e.slot]);
        }
    }

    void settle(std::uint32_t handle, std::uint8_t slot)
    {
        const trace::HandleUse& use = m_state.handleUses[handle];
        const bool isMember = use.landed > 0 || use.held > 0;
        std::uint8_t& member = m_memberOf[handle];
        if (isMember && member == kOutside) {
            member = slot;
            ++m_widths[slot];
        } else if (!isMember && member != kOutside) {
            --m_widths[member];
            member = kOutside;
        }
    }

    const trace::Run& m_run;
    trace::RunState m_state;
    std::vector<std::uint8_t> m_memberOf; // by handle: the mode in which it came, or kOutside
    std::vector<std::uint32_t> m_touched;
    Widths m_widths{};
};

} // namespace

FrontierModes::FrontierModes(const trace::Run& run)
{
    Walk walk(run);
    m_widths.reserve(run.visitCount());
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        if (m_widths.size() < run.visitCount() && step == run.endOfVisit(static_cast<std::uint32_t>(m_widths.size()))) {
            m_widths.push_back(walk.widths());
        }
        walk.apply(step);
    }
    if (m_widths.size() < run.visitCount()) {
        m_widths.push_back(walk.widths());
    }
}

std::uint32_t FrontierModes::width(std::size_t visit, event::Mode mode) const
{
    return visit < m_widths.size() ? m_widths[visit][slotOf(mode)] : 0;
}

} // namespace retro::views
