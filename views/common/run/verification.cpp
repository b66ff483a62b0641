// SPDX-License-Identifier: Apache-2.0
#include "views/common/run/verification.h"

#include <algorithm>

namespace retro::views
{

bool ReverseStep::isEqual() const { return std::ranges::all_of(slotsAfter, &ReverseSlot::isEqual); }

std::size_t Verification::count(Verdict verdict) const
{
    return static_cast<std::size_t>(std::ranges::count(properties, verdict, &CheckedProperty::verdict));
}

const CheckedNode* Verification::find(base::NodeId node) const
{
    const auto at =
        std::ranges::lower_bound(nodes, node.index(), {}, [](const CheckedNode& one) { return one.node.index(); });
    return at != nodes.end() && at->node == node ? &*at : nullptr;
}

} // namespace retro::views
