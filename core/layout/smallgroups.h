// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/layout/graphadapter.h"

namespace retro::layout
{

/// Removes groups that hold a single node: a frame around one box says nothing that its name cannot say. The node moves
/// to the group around. Keeps the order of the others. Call before addRepeats(). O(nodes + groups).
void dissolveSmallGroups(DrawnGraph& drawn);

} // namespace retro::layout
