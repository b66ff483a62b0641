// SPDX-License-Identifier: Apache-2.0
#include "core/layout/ranking.h"

#include "core/layout/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace retro::layout
{

namespace
{

/// Disjoint sets with path halving; the smaller index is the root, which keeps the result independent of the order of
/// joining.
class DisjointSets
{
public:
    explicit DisjointSets(std::size_t count) : m_parent(count) { std::iota(m_parent.begin(), m_parent.end(), 0); }

    [[nodiscard]] Index root(Index item)
    {
        while (m_parent[item] != item) {
            m_parent[item] = m_parent[m_parent[item]];
            item = m_parent[item];
        }
        return item;
    }

    void join(Index a, Index b)
    {
        const Index first = root(a);
        const Index second = root(b);
        m_parent[std::max(first, second)] = std::min(first, second);
    }

private:
    std::vector<Index> m_parent;
};

/// Connects the nodes of each outermost group: a frame must not be torn apart.
void joinGroups(const LayoutInput& input, DisjointSets& sets)
{
    std::vector<Index> firstOf(input.groupParents.size(), kNone);
    for (Index node = 0; node < static_cast<Index>(input.nodeGroups.size()); ++node) {
        Index group = input.nodeGroups[node];
        if (group == kNone) {
            continue;
        }
        while (input.groupParents[group] != kNone) {
            group = input.groupParents[group];
        }
        if (firstOf[group] == kNone) {
            firstOf[group] = node;
        }
        sets.join(firstOf[group], node);
    }
}

/// Fills component: numbered by falling size, then by the first node.
Index findComponents(const LayoutInput& input, std::vector<Index>& component)
{
    const auto count = static_cast<Index>(input.nodeSizes.size());
    DisjointSets sets(input.nodeSizes.size());
    for (const LayoutEdge& edge : input.edges) {
        sets.join(edge.from, edge.to);
    }
    joinGroups(input, sets);
    std::vector<Index> size(input.nodeSizes.size(), 0);
    std::vector<Index> roots;
    component.resize(input.nodeSizes.size());
    for (Index node = 0; node < count; ++node) {
        component[node] = sets.root(node);
        if (size[component[node]]++ == 0) {
            roots.push_back(component[node]);
        }
    }
    std::stable_sort(roots.begin(), roots.end(), [&](Index a, Index b) { return size[a] > size[b]; });
    std::vector<Index>& number = size;
    for (Index i = 0; i < static_cast<Index>(roots.size()); ++i) {
        number[roots[i]] = i;
    }
    for (Index& c : component) {
        c = number[c];
    }
    return static_cast<Index>(roots.size());
}

/// Pins of the first layer have it to themselves in their component.
void leaveRoomForPins(const LayoutInput& input, Ranking& ranking)
{
    std::vector<bool> hasFirst(input.pins.size(), false); // per component
    for (std::size_t node = 0; node < input.pins.size(); ++node) {
        if (input.pins[node] == Pin::First) {
            hasFirst[ranking.component[node]] = true;
        }
    }
    for (std::size_t node = 0; node < input.pins.size(); ++node) {
        ranking.above[node] = hasFirst[ranking.component[node]] && input.pins[node] != Pin::First ? 1 : 0;
    }
}

/// above and below: longest paths in both directions along the topological order.
void measurePaths(const LayoutInput& input, const Topology& topology, Ranking& ranking)
{
    ranking.above.assign(input.nodeSizes.size(), 0);
    leaveRoomForPins(input, ranking);
    ranking.below.assign(input.nodeSizes.size(), 0);
    for (const Index node : topology.order) {
        for (const Index edge : topology.out[node]) {
            Index& above = ranking.above[input.edges[edge].to];
            above = std::max(above, ranking.above[node] + 1);
        }
    }
    for (std::size_t i = topology.order.size(); i-- > 0;) {
        const Index node = topology.order[i];
        for (const Index edge : topology.out[node]) {
            ranking.below[node] = std::max(ranking.below[node], ranking.below[input.edges[edge].to] + 1);
        }
    }
}

/// Marks the nodes that can be reached from a source at the start of a longest path of its component.
std::vector<bool> findAnchored(const LayoutInput& input, const Topology& topology, const Ranking& ranking,
                               Index components)
{
    std::vector<Index> longest(static_cast<std::size_t>(components), 0);
    for (const Index node : topology.order) {
        Index& best = longest[ranking.component[node]];
        best = std::max(best, ranking.above[node] + ranking.below[node]);
    }
    std::vector<bool> anchored(input.nodeSizes.size(), false);
    for (const Index node : topology.order) {
        if (ranking.above[node] == 0 && ranking.below[node] == longest[ranking.component[node]]) {
            anchored[node] = true;
        }
        for (const Index edge : topology.out[node]) {
            if (anchored[node]) {
                anchored[input.edges[edge].to] = true;
            }
        }
    }
    return anchored;
}

/// Pins of the last layer go below everything else in their component.
void sinkPins(const LayoutInput& input, Index components, Ranking& ranking)
{
    std::vector<Index> last(static_cast<std::size_t>(components), -1);
    for (std::size_t node = 0; node < input.pins.size(); ++node) {
        if (input.pins[node] != Pin::Last) {
            last[ranking.component[node]] = std::max(last[ranking.component[node]], ranking.layer[node]);
        }
    }
    for (std::size_t node = 0; node < input.pins.size(); ++node) {
        if (input.pins[node] == Pin::Last) {
            ranking.layer[node] = last[ranking.component[node]] + 1;
        }
    }
}

/// Layers inside the component. A node slides down to its first reader when it hangs on nothing, or when that shortens
/// more edges than it lengthens.
void slideDown(const LayoutInput& input, const Topology& topology, Index components, Ranking& ranking)
{
    const std::vector<bool> anchored = findAnchored(input, topology, ranking, components);
    ranking.layer = ranking.above;
    sinkPins(input, components, ranking);
    for (std::size_t i = topology.order.size(); i-- > 0;) {
        const Index node = topology.order[i];
        const auto out = topology.out[node];
        const bool isHeld = anchored[node] && static_cast<Index>(out.size()) <= topology.inCount[node];
        if (out.empty() || input.pinOf(node) == Pin::First || isHeld) {
            continue;
        }
        Index lowest = ranking.layer[input.edges[out[0]].to];
        for (const Index edge : out) {
            lowest = std::min(lowest, ranking.layer[input.edges[edge].to]);
        }
        ranking.layer[node] = lowest - 1;
    }
}

/// Puts the layers of the components one below the other.
void stackComponents(Index components, Ranking& ranking)
{
    ranking.componentLayer.assign(static_cast<std::size_t>(components) + 1, 0);
    for (std::size_t node = 0; node < ranking.layer.size(); ++node) {
        Index& height = ranking.componentLayer[ranking.component[node] + 1];
        height = std::max(height, ranking.layer[node] + 1);
    }
    std::partial_sum(ranking.componentLayer.begin(), ranking.componentLayer.end(), ranking.componentLayer.begin());
    for (std::size_t node = 0; node < ranking.layer.size(); ++node) {
        ranking.layer[node] += ranking.componentLayer[ranking.component[node]];
    }
}

/// Pins stand where the edges of a piece begin and end.
base::Result<void> checkPins(const LayoutInput& input)
{
    const bool hasSizes = (input.pins.empty() || input.pins.size() == input.nodeSizes.size()) &&
                          (input.edgePins.empty() || input.edgePins.size() == input.edges.size());
    if (!hasSizes) {
        return base::inputError(fmt::format("{} pins and {} edge pins do not fit {} nodes and {} edges",
                                            input.pins.size(), input.edgePins.size(), input.nodeSizes.size(),
                                            input.edges.size()));
    }
    for (const LayoutEdge& edge : input.edges) {
        if (input.pinOf(edge.from) == Pin::Last || input.pinOf(edge.to) == Pin::First) {
            return base::inputError("an edge runs out of the last layer or into the first",
                                    fmt::format("edge from node {} to node {}", edge.from, edge.to));
        }
    }
    return {};
}

} // namespace

base::Result<Ranking> rankNodes(const LayoutInput& input)
{
    const auto count = static_cast<Index>(input.nodeSizes.size());
    RETRO_CHECK(checkGroups(input.nodeGroups, input.groupParents, count));
    RETRO_TRY(const Topology topology, sortTopologically(input.edges, count));
    RETRO_CHECK(checkPins(input));
    Ranking ranking;
    const Index components = findComponents(input, ranking.component);
    measurePaths(input, topology, ranking);
    slideDown(input, topology, components, ranking);
    stackComponents(components, ranking);
    return ranking;
}

} // namespace retro::layout
