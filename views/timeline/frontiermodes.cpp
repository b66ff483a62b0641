// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/frontiermodes.h"

#include "core/trace/frontierwalk.h"

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

} // namespace

FrontierModes::FrontierModes(const trace::Run& run)
{
    trace::FrontierWalk walk(run);
    std::vector<std::uint8_t> cameIn(run.handles.size(), 0); // by handle: the mode
    Widths widths{};
    m_widths.reserve(run.visitCount());
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        if (m_widths.size() < run.visitCount() && step == run.endOfVisit(static_cast<std::uint32_t>(m_widths.size()))) {
            m_widths.push_back(widths);
        }
        walk.apply(step, [&](base::HandleId handle, bool isMember) {
            std::uint8_t& slot = cameIn[handle.index()];
            slot = isMember ? static_cast<std::uint8_t>(slotOf(walk.state().mode)) : slot;
            widths[slot] += isMember ? 1U : -1U;
        });
    }
    if (m_widths.size() < run.visitCount()) {
        m_widths.push_back(widths);
    }
}

std::uint32_t FrontierModes::width(std::size_t visit, event::Mode mode) const
{
    return visit < m_widths.size() ? m_widths[visit][slotOf(mode)] : 0;
}

} // namespace retro::views
