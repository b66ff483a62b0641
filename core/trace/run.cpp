// SPDX-License-Identifier: Apache-2.0
#include "core/trace/run.h"

#include <algorithm>

namespace retro::trace
{

namespace
{

constexpr std::array<std::string_view, 4> kForwardedForms{"store", "rebuild", "alias", "compress"};

} // namespace

std::string_view nameOf(ForwardedForm form) { return kForwardedForms[static_cast<std::size_t>(form)]; }

std::optional<ForwardedForm> forwardedForm(std::string_view name)
{
    const auto* const at = std::ranges::find(kForwardedForms, name);
    return at == kForwardedForms.end() ? std::nullopt
                                       : std::optional(static_cast<ForwardedForm>(at - kForwardedForms.begin()));
}

std::uint32_t Run::visitOf(std::uint64_t step) const
{
    const auto after = std::upper_bound(visitStart.begin(), visitStart.end(), step);
    return after == visitStart.begin() ? 0 : static_cast<std::uint32_t>(after - visitStart.begin() - 1);
}

std::uint64_t Run::endOfVisit(std::uint32_t visit) const
{
    return visit + std::size_t{1} < visitStart.size() ? visitStart[visit + std::size_t{1}] : events.size();
}

std::uint64_t firstEventOfPick(std::span<const Event> events, std::uint64_t visitStep)
{
    std::uint64_t first = visitStep;
    while (first > 0) {
        const Event& before = events[first - 1];
        const bool isPick = before.kind == event::EventKind::Pop || before.kind == event::EventKind::Dequeue;
        if (!isPick || before.visit != events[visitStep].visit) {
            break;
        }
        --first;
    }
    return first;
}

} // namespace retro::trace
