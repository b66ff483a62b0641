// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lrp/composite/composite.h"
#include "core/lrp/traversal/traversalgraph.h"

namespace retro::lrp
{

/// The order in which a pass with these rules adds parts: that of the tape where every rule is the plain gradient, so
/// that such a pass has the bits of the tape; else that of the walk.
[[nodiscard]] EdgeOrder edgeOrder(const RuleAssignment& rules);

} // namespace retro::lrp
