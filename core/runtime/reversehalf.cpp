// SPDX-License-Identifier: Apache-2.0
#include "core/runtime/reversehalf.h"

#include <ranges>

namespace retro::runtime
{

PartGroups gradientParts(const execute::BoundModel& model, base::ValueId value)
{
    PartGroups groups;
    base::NodeId last;
    for (const graph::Use& use : model.graph().uses(value) | std::views::reverse) {
        if (groups.empty() || use.node != last) {
            groups.emplace_back();
            last = use.node;
        }
        groups.back().insert(groups.back().begin(), {use.node, use.slot}); // slots of one reader ascend
    }
    return groups;
}

} // namespace retro::runtime
