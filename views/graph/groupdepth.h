// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/graph/graphscene.h"

#include <vector>

namespace retro::views
{

/// The depth at which groups are closed next: that of the innermost open group around a box, else (kNone) the deepest
/// that is open. kNone when there is none.
[[nodiscard]] layout::Index depthToClose(const GraphScene& scene, layout::Index box);
/// The depth at which groups are opened next: that of a box which is a closed group, else the outermost that is closed.
/// kNone when there is none.
[[nodiscard]] layout::Index depthToOpen(const GraphScene& scene, layout::Index box);
/// Opens or closes every group of one depth; those inside keep their state.
void setDepthClosed(const GraphBook& book, layout::Index depth, bool isClosed, std::vector<bool>& closed);

/// Groups that are built like one, itself included, ascending.
[[nodiscard]] std::vector<layout::Index> groupsLike(const GraphBook& book, layout::Index group);

} // namespace retro::views
