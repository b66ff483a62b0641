// SPDX-License-Identifier: Apache-2.0
#include "views/graph/groupdepth.h"

#include "views/graph/graphwalk.h"

#include <algorithm>

namespace retro::views
{

using layout::Index;
using layout::kNone;

Index depthToClose(const GraphScene& scene, Index box)
{
    const std::vector<Index>& depths = scene.book->groupDepths;
    const Index frame = box == kNone ? kNone : frameAround(scene, box);
    if (frame != kNone) {
        return depths[scene.visible.frames[frame]];
    }
    Index deepest = kNone;
    for (const Index group : scene.visible.frames) {
        deepest = std::max(deepest, depths[group]);
    }
    return deepest;
}

Index depthToOpen(const GraphScene& scene, Index box)
{
    const std::vector<Index>& depths = scene.book->groupDepths;
    if (box != kNone && scene.visible.nodes[box].isGroup()) {
        return depths[scene.visible.nodes[box].group];
    }
    Index outermost = kNone;
    for (const layout::VisibleNode& node : scene.visible.nodes) {
        if (node.isGroup() && (outermost == kNone || depths[node.group] < outermost)) {
            outermost = depths[node.group];
        }
    }
    return outermost;
}

void setDepthClosed(const GraphBook& book, Index depth, bool isClosed, std::vector<bool>& closed)
{
    for (std::size_t group = 0; group < closed.size(); ++group) {
        if (book.groupDepths[group] == depth) {
            closed[group] = isClosed;
        }
    }
}

std::vector<Index> groupsLike(const GraphBook& book, Index group)
{
    const std::vector<Index>& like = book.drawn.groupLike;
    std::vector<Index> out;
    for (std::size_t other = 0; other < like.size(); ++other) {
        if (like[other] == like[group]) {
            out.push_back(static_cast<Index>(other));
        }
    }
    return out;
}

} // namespace retro::views
