// SPDX-License-Identifier: Apache-2.0
#include "views/graph/shownpulses.h"

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

bool isClosedGroup(const GraphScene& scene, Index box)
{
    return box != kNone && scene.visible.nodes[static_cast<std::size_t>(box)].isGroup();
}

void addPulse(trace::Pulse& to, const trace::Pulse& from)
{
    to.sum += from.sum;
    to.positive += from.positive; // NaN when one of them is not known
    to.travelled = std::max(to.travelled, from.travelled);
    to.entered = std::max(to.entered, from.entered);
    if (to.promise != from.promise) {
        to.promise = base::PromiseId();
    }
}

/// The box, or in a crowd the open group around it, as a number of its own.
std::int64_t endOf(const GraphScene& scene, Index box, bool isCrowded)
{
    const Index frame = isCrowded && box != kNone ? scene.visible.nodes[static_cast<std::size_t>(box)].frame : kNone;
    return frame == kNone ? std::int64_t{box} : -2 - std::int64_t{frame};
}

constexpr std::int64_t kNoEnd = -1; // kNone of a box

/// What pulses must share to be shown as one.
struct PulseEnds
{
    std::int64_t from = kNoEnd;
    std::int64_t to = kNoEnd;
    bool isResting = false;
    bool operator==(const PulseEnds&) const = default;
};

/// A pulse inside a closed group, which has one for all of them.
void addInside(std::vector<InsidePulse>& inside, Index box, const trace::Pulse& pulse)
{
    const auto same = std::ranges::find(inside, box, &InsidePulse::box);
    if (same == inside.end()) {
        inside.push_back({box, pulse, 1});
    } else {
        addPulse(same->pulse, pulse);
        ++same->count;
    }
}

} // namespace

ShownPulses shownPulses(const GraphScene& scene, const std::vector<trace::Pulse>& pulses, bool isCrowded)
{
    ShownPulses shown;
    std::vector<PulseEnds> ends; // per pulse that is shown; from = none where none may be added
    for (const trace::Pulse& pulse : pulses) {
        const Index from = scene.boxOf(pulse.way.front());
        const Index to = scene.boxOf(pulse.way.back());
        if (from == to && isClosedGroup(scene, to)) {
            addInside(shown.inside, to, pulse);
            continue;
        }
        const bool mayJoin = !pulse.isJoined && (isCrowded || isClosedGroup(scene, from) || isClosedGroup(scene, to));
        const PulseEnds wanted{endOf(scene, from, isCrowded), endOf(scene, to, isCrowded), pulse.travelled >= 1};
        const auto same = mayJoin ? std::ranges::find(ends, wanted) : ends.end();
        if (same != ends.end()) {
            const auto at = static_cast<std::size_t>(same - ends.begin());
            addPulse(shown.between[at], pulse);
            ++shown.counts[at];
            continue;
        }
        shown.between.push_back(pulse);
        shown.counts.push_back(1);
        ends.push_back(mayJoin ? wanted : PulseEnds());
    }
    return shown;
}

bool isInsideGroup(const GraphScene& scene, const trace::SearchLine& searchLine)
{
    const Index head = scene.boxOf(searchLine.nodes.back());
    return isClosedGroup(scene, head) && scene.boxOf(searchLine.nodes[searchLine.nodes.size() - 2]) == head;
}

std::vector<InsideSearch> searchesInside(const GraphScene& scene, const std::vector<trace::SearchLine>& searchLines)
{
    std::vector<InsideSearch> inside;
    for (const trace::SearchLine& searchLine : searchLines) {
        if (searchLine.isFound || searchLine.answer > 0 || !isInsideGroup(scene, searchLine)) {
            continue;
        }
        const Index box = scene.boxOf(searchLine.nodes.back());
        const auto same = std::ranges::find(inside, box, &InsideSearch::box);
        same == inside.end() ? inside.push_back({box, 1}) : static_cast<void>(++same->count);
    }
    return inside;
}

} // namespace retro::views
