// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/motion.h"
#include "views/graph/graphscene.h"

#include <vector>

namespace retro::views
{

/// Pulses that move between members of one closed group, added up.
struct InsidePulse
{
    layout::Index box = layout::kNone;
    trace::Pulse pulse; ///< the sums of all, and how far the foremost is
    int count = 0;
};

/// The pulses of a moment as a drawing shows them.
struct ShownPulses
{
    std::vector<trace::Pulse> between; ///< over edges of the drawing
    std::vector<int> counts;           ///< per pulse: how many it stands for
    std::vector<InsidePulse> inside;   ///< inside closed groups
};

/// More cards than this in sight are a crowd.
inline constexpr layout::Index kCrowdOfCards = 300;

/// Pulses that enter or leave the same closed group over the same edge are one, as thick as their sum; those at rest
/// and those on their way stay apart, and so do joined ones. In a crowd the same holds for every pair of open groups. Σ
/// over all of them is that of `pulses`. O(pulses²).
[[nodiscard]] ShownPulses shownPulses(const GraphScene& scene, const std::vector<trace::Pulse>& pulses,
                                      bool isCrowded = false);

/// How often a search ends inside each closed group, per box of the drawing with one; the others are not listed.
struct InsideSearch
{
    layout::Index box = layout::kNone;
    int count = 0;
};
/// True when the head of a search is inside the closed group that it has entered.
[[nodiscard]] bool isInsideGroup(const GraphScene& scene, const trace::SearchLine& searchLine);
[[nodiscard]] std::vector<InsideSearch> searchesInside(const GraphScene& scene,
                                                       const std::vector<trace::SearchLine>& searchLines);

} // namespace retro::views
