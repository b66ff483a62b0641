// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/arithmetic/nullarithmetic.h"

namespace retro::lrp
{

HandleId NullArithmetic::newHandle()
{
    ++m_references;
    return HandleId(m_nextHandle++);
}

HandleId NullArithmetic::sum(NodeId, std::uint32_t, std::span<const HandleId> parts)
{
    if (parts.size() == 1) {
        retain(parts.front());
        return parts.front();
    }
    return newHandle();
}

std::vector<HandleId> NullArithmetic::applyRule(NodeId node, std::span<const HandleId>, std::span<const HandleId>)
{
    const std::span<const ChildSlot> children = m_graph.children(node);
    std::vector<HandleId> shares(children.size());
    for (std::size_t slot = 0; slot < children.size(); ++slot) {
        if (children[slot].child.isValid()) {
            shares[slot] = newHandle();
        }
    }
    return shares;
}

} // namespace retro::lrp
