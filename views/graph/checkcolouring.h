// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphcolouring.h"

namespace retro::views
{

/// True for the colourings that tell what verifying found: their colours grow with what they measure.
[[nodiscard]] bool isOfChecks(ColourBy by);

/// Classes of the boxes by ColourBy::Check, Ulp, Reach, Finding or Region; a group has the class of its worst member,
/// by region of the one that puts most there. Without facts every box has the class "not checked".
void colourByChecks(const GraphScene& scene, const GraphChecks& checks, Colouring& out);

/// The nodes whose results put at least a hundredth of the region's relevance there.
[[nodiscard]] std::vector<base::NodeId> nodesOfRegion(const RegionFacts& region);

/// The mark of a class by Finding: ✕ error, ▲ warning, …; empty for nodes where nothing was found.
[[nodiscard]] QString findingSign(std::size_t which);
/// Colour of a class by Check, Ulp or Finding.
[[nodiscard]] QColor checkColor(ColourBy by, std::size_t which, const Theme& theme);
/// What stands at the right end of a box: the error, the distance in ulp, the reason.
[[nodiscard]] QString checkText(const Colouring& colouring, layout::Index box);
/// What was found out about a node, for its tool tip; empty when nothing was.
[[nodiscard]] QString checkTip(const GraphChecks& checks, base::NodeId node);

} // namespace retro::views
