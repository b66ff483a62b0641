// SPDX-License-Identifier: Apache-2.0
#include "core/event/planevent.h"

#include <algorithm>

namespace retro::event
{

namespace
{

Event ofValue(EventKind kind, const PlannedValue& value, std::uint32_t slot)
{
    Event event;
    event.kind = kind;
    event.flag = value.isGradient ? 1 : 0;
    event.node = value.node;
    event.slot = slot;
    event.other = value.value;
    return event;
}

void setWide(Event& event, std::uint64_t bits)
{
    event.branch = static_cast<std::uint32_t>(bits);
    event.branch2 = static_cast<std::uint32_t>(bits >> 32U);
}

} // namespace

std::string_view nameOf(PlanReason reason)
{
    static constexpr std::array<std::string_view, kPlanReasonCount> kNames{"it waits while memory is at its peak",
                                                                           "memory was full",
                                                                           "it lies within a block",
                                                                           "it is not on the narrowest cut",
                                                                           "others are worth more for the room",
                                                                           "the integer programme lets it go",
                                                                           "chosen by hand",
                                                                           "nothing is kept",
                                                                           "a cheaper plan goes without it"};
    return kNames[static_cast<std::size_t>(reason)];
}

PlanReason reasonOf(const Event& event)
{
    return static_cast<PlanReason>(std::min<std::size_t>(event.flag >> 1U, kPlanReasonCount - 1));
}

Event candidateEvent(std::uint32_t node, std::uint32_t attempt, std::uint8_t bits, double cost, std::uint64_t peak,
                     std::uint32_t bestBefore)
{
    Event event;
    event.kind = EventKind::Candidate;
    event.flag = bits;
    event.node = node;
    event.slot = attempt;
    event.other = bestBefore;
    event.extra = std::bit_cast<std::int64_t>(cost);
    setWide(event, peak);
    return event;
}

Event splitEvent(std::uint32_t node, std::uint32_t attempt, std::int64_t position)
{
    Event event;
    event.kind = EventKind::Split;
    event.node = node;
    event.slot = attempt;
    event.extra = position;
    return event;
}

Event dropEvent(const PlannedValue& value, std::uint32_t attempt, PlanReason reason, double gain, double cost)
{
    Event event = ofValue(EventKind::Drop, value, attempt);
    event.flag = static_cast<std::uint8_t>(event.flag | static_cast<unsigned>(reason) << 1U);
    event.extra = std::bit_cast<std::int64_t>(gain);
    setWide(event, std::bit_cast<std::uint64_t>(cost));
    return event;
}

Event rebuildEvent(const PlannedValue& value, std::uint32_t attempt, std::uint32_t reader, double cost)
{
    Event event = ofValue(EventKind::Rebuild, value, attempt);
    event.branch = reader;
    event.extra = std::bit_cast<std::int64_t>(cost);
    return event;
}

Event valueEvent(EventKind kind, const PlannedValue& value, std::uint32_t slot, HandleId handle)
{
    Event event = ofValue(kind, value, slot);
    event.handle = handle.value;
    return event;
}

std::uint32_t searchVisits(std::span<const Event> events)
{
    std::uint32_t visits = 0;
    for (const Event& event : events) {
        if (isOfSearch(event)) {
            visits = event.visit + 1;
        } else if (event.kind != EventKind::Visit) {
            break;
        }
    }
    return visits;
}

} // namespace retro::event
