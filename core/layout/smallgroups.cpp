// SPDX-License-Identifier: Apache-2.0
#include "core/layout/smallgroups.h"

#include <numeric>
#include <utility>

namespace retro::layout
{

namespace
{

/// Per group: nodes in it and in the groups inside it. Groups stand behind those around them.
std::vector<Index> countNodes(const GroupedGraph& graph)
{
    std::vector<Index> counts(graph.groupParents.size(), 0);
    for (const Index group : graph.nodeGroups) {
        if (group != kNone) {
            ++counts[group];
        }
    }
    for (std::size_t group = counts.size(); group-- > 0;) {
        if (graph.groupParents[group] != kNone) {
            counts[graph.groupParents[group]] += counts[group];
        }
    }
    return counts;
}

} // namespace

void dissolveSmallGroups(DrawnGraph& drawn)
{
    const std::vector<Index> counts = countNodes(drawn.graph);
    std::vector<std::string> paths;
    std::vector<Index> parents;
    std::vector<Index> numberOf(counts.size(), kNone); // per old group: itself, or what is left around it
    for (std::size_t group = 0; group < counts.size(); ++group) {
        const Index around = drawn.graph.groupParents[group];
        const Index parent = around == kNone ? kNone : numberOf[around];
        if (counts[group] < 2) {
            numberOf[group] = parent;
            continue;
        }
        numberOf[group] = static_cast<Index>(paths.size());
        paths.push_back(std::move(drawn.groupPaths[group]));
        parents.push_back(parent);
    }
    for (Index& group : drawn.graph.nodeGroups) {
        group = group == kNone ? kNone : numberOf[group];
    }
    drawn.groupRepeats.assign(paths.size(), 1);
    drawn.groupLike.resize(paths.size());
    std::iota(drawn.groupLike.begin(), drawn.groupLike.end(), 0);
    drawn.groupPaths = std::move(paths);
    drawn.graph.groupParents = std::move(parents);
}

} // namespace retro::layout
