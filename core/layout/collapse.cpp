// SPDX-License-Identifier: Apache-2.0
#include "core/layout/collapse.h"

#include "core/layout/cyclecomponents.h"
#include "core/layout/topology.h"

#include <fmt/format.h>

namespace retro::layout
{

namespace
{

/// Per group: the outermost closed group that holds it (itself included), or kNone.
std::vector<Index> findOutermostClosed(const std::vector<Index>& parents, const std::vector<bool>& isClosed)
{
    std::vector<Index> result(parents.size(), kNone);
    std::vector<bool> isKnown(parents.size(), false);
    std::vector<Index> chain;
    for (Index group = 0; group < static_cast<Index>(parents.size()); ++group) {
        Index at = group;
        for (; at != kNone && !isKnown[at]; at = parents[at]) {
            chain.push_back(at);
        }
        Index outer = at == kNone ? kNone : result[at];
        for (; !chain.empty(); chain.pop_back()) {
            const Index inner = chain.back();
            outer = outer == kNone && isClosed[inner] ? inner : outer;
            result[inner] = outer;
            isKnown[inner] = true;
        }
    }
    return result;
}

/// Gives every node its box, cutting closed groups where they would feed themselves.
class BoxMaker
{
public:
    BoxMaker(const GroupedGraph& graph, const Topology& topology, std::vector<Index> closedGroups)
        : m_graph(graph), m_topology(topology), m_closed(std::move(closedGroups)),
          m_in(groupBy(static_cast<Index>(graph.edges.size()), graph.nodeCount,
                       [&](Index e) { return graph.edges[e].to; }))
    {}

    /// Fills nodes and visibleOf.
    void run(VisibleGraph& out)
    {
        numberItems();
        findCycles();
        std::vector<Index> boxOf(static_cast<std::size_t>(m_graph.nodeCount), kNone);
        for (const Index node : m_topology.order) {
            boxOf[node] = boxFor(node, boxOf);
        }
        renumber(boxOf, out);
    }

private:
    /// A box under construction. Inside a cycle of items, an edge between two boxes always goes to a higher level.
    struct Box
    {
        Index item = kNone;
        Index part = 0;
        Index level = 0;
    };

    [[nodiscard]] Index closedGroupOf(Index node) const
    {
        return m_graph.nodeGroups.empty() || m_graph.nodeGroups[node] == kNone ? kNone
                                                                               : m_closed[m_graph.nodeGroups[node]];
    }

    /// Items: what would be one box if there were no cycles.
    void numberItems()
    {
        std::vector<Index> itemOfGroup(m_graph.groupParents.size(), kNone);
        for (Index node = 0; node < m_graph.nodeCount; ++node) {
            const Index group = closedGroupOf(node);
            Index item = group == kNone ? kNone : itemOfGroup[group];
            if (item == kNone) {
                item = m_itemCount++;
            }
            if (group != kNone) {
                itemOfGroup[group] = item;
            }
            m_itemOf.push_back(item);
        }
        m_current.assign(static_cast<std::size_t>(m_itemCount), kNone);
    }

    void findCycles()
    {
        std::vector<LayoutEdge> edges;
        for (const LayoutEdge& edge : m_graph.edges) {
            if (m_itemOf[edge.from] != m_itemOf[edge.to]) {
                edges.push_back({m_itemOf[edge.from], m_itemOf[edge.to]});
            }
        }
        m_cycles = findCycleComponents(edges, m_itemCount);
    }

    /// The box of a node whose operands have theirs. It joins the latest box of its item if that does not turn an edge
    /// upwards.
    Index boxFor(Index node, const std::vector<Index>& boxOf)
    {
        const Index item = m_itemOf[node];
        const Index current = m_current[item];
        const Index level = neededLevel(node, boxOf);
        if (current != kNone && level <= m_boxes[current].level) {
            return current;
        }
        m_boxes.push_back({item, current == kNone ? 0 : m_boxes[current].part + 1, level});
        m_current[item] = static_cast<Index>(m_boxes.size()) - 1;
        return m_current[item];
    }

    [[nodiscard]] Index neededLevel(Index node, const std::vector<Index>& boxOf) const
    {
        const Index item = m_itemOf[node];
        const Index cycle = m_cycles.component[item];
        Index level = 0;
        for (const Index edge : m_in[node]) {
            const Index box = boxOf[m_graph.edges[edge].from];
            if (box != m_current[item] && m_cycles.component[m_boxes[box].item] == cycle) {
                level = std::max(level, m_boxes[box].level + 1);
            }
        }
        return level;
    }

    /// Numbers the boxes by their first member.
    void renumber(const std::vector<Index>& boxOf, VisibleGraph& out) const
    {
        std::vector<Index> number(m_boxes.size(), kNone);
        for (Index node = 0; node < m_graph.nodeCount; ++node) {
            const Box& box = m_boxes[boxOf[node]];
            Index& visible = number[boxOf[node]];
            if (visible == kNone) {
                visible = static_cast<Index>(out.nodes.size());
                const Index group = closedGroupOf(node);
                out.nodes.push_back(
                    {group == kNone ? node : kNone, group, box.part, m_boxes[m_current[box.item]].part + 1, 0, kNone});
            }
            ++out.nodes[visible].memberCount;
            out.visibleOf.push_back(visible);
        }
    }

    const GroupedGraph& m_graph;
    const Topology& m_topology;
    std::vector<Index> m_closed; // per group: the outermost closed group around it
    Buckets m_in;
    std::vector<Index> m_itemOf;
    Index m_itemCount = 0;
    CycleComponents m_cycles;     // of items
    std::vector<Box> m_boxes;     // by the topological order of their first member
    std::vector<Index> m_current; // per item: its latest box
};

/// Merges edges that touch a closed group, in the order of their first edge.
void mergeEdges(const GroupedGraph& graph, VisibleGraph& out)
{
    const auto count = static_cast<Index>(graph.edges.size());
    const auto endsOf = [&](Index e) {
        return std::pair(out.visibleOf[graph.edges[e].from], out.visibleOf[graph.edges[e].to]);
    };
    std::vector<Index> byEnds(graph.edges.size());
    for (Index e = 0; e < count; ++e) {
        byEnds[e] = e;
    }
    std::stable_sort(byEnds.begin(), byEnds.end(), [&](Index a, Index b) { return endsOf(a) < endsOf(b); });
    std::vector<Index> firstOf(graph.edges.size(), kNone);
    for (Index i = 0; i < count; ++i) {
        const auto [from, to] = endsOf(byEnds[i]);
        const bool isMerged = i > 0 && endsOf(byEnds[i - 1]) == std::pair(from, to) &&
                              (out.nodes[from].isGroup() || out.nodes[to].isGroup());
        firstOf[byEnds[i]] = isMerged ? firstOf[byEnds[i - 1]] : byEnds[i];
    }
    for (Index e = 0; e < count; ++e) {
        const auto [from, to] = endsOf(e);
        if (from == to) {
            out.visibleEdgeOf.push_back(kNone);
        } else if (firstOf[e] == e) {
            out.visibleEdgeOf.push_back(static_cast<Index>(out.edges.size()));
            out.edges.push_back({from, to});
        } else {
            out.visibleEdgeOf.push_back(out.visibleEdgeOf[firstOf[e]]);
        }
    }
    out.edgeMembers =
        groupBy(count, static_cast<Index>(out.edges.size()), [&](Index e) { return out.visibleEdgeOf[e]; });
}

/// Frames: open groups around anything that is visible.
void findFrames(const GroupedGraph& graph, VisibleGraph& out)
{
    const auto innermostOpen = [&](const VisibleNode& node) {
        if (node.isGroup()) {
            return graph.groupParents[node.group];
        }
        return graph.nodeGroups.empty() ? kNone : graph.nodeGroups[node.node];
    };
    std::vector<bool> isShown(graph.groupParents.size(), false);
    for (const VisibleNode& node : out.nodes) {
        for (Index group = innermostOpen(node); group != kNone && !isShown[group]; group = graph.groupParents[group]) {
            isShown[group] = true;
        }
    }
    std::vector<Index> frameOf(graph.groupParents.size(), kNone);
    for (Index group = 0; group < static_cast<Index>(isShown.size()); ++group) {
        if (isShown[group]) {
            frameOf[group] = static_cast<Index>(out.frames.size());
            out.frames.push_back(group);
        }
    }
    const auto frameOrNone = [&](Index group) { return group == kNone ? kNone : frameOf[group]; };
    for (const Index group : out.frames) {
        out.frameParents.push_back(frameOrNone(graph.groupParents[group]));
    }
    for (VisibleNode& node : out.nodes) {
        node.frame = frameOrNone(innermostOpen(node));
    }
}

} // namespace

base::Result<VisibleGraph> collapse(const GroupedGraph& graph, const std::vector<bool>& isClosed)
{
    RETRO_CHECK(checkGroups(graph.nodeGroups, graph.groupParents, graph.nodeCount));
    if (isClosed.size() != graph.groupParents.size()) {
        return base::inputError(fmt::format("{} groups are marked open or closed, but there are {}", isClosed.size(),
                                            graph.groupParents.size()));
    }
    RETRO_TRY(const Topology topology, sortTopologically(graph.edges, graph.nodeCount));
    VisibleGraph out;
    BoxMaker(graph, topology, findOutermostClosed(graph.groupParents, isClosed)).run(out);
    out.members =
        groupBy(graph.nodeCount, static_cast<Index>(out.nodes.size()), [&](Index node) { return out.visibleOf[node]; });
    mergeEdges(graph, out);
    findFrames(graph, out);
    return out;
}

LayoutInput layoutInputOf(const VisibleGraph& graph, std::vector<Size> nodeSizes)
{
    LayoutInput input{std::move(nodeSizes), graph.edges, {}, graph.frameParents};
    for (const VisibleNode& node : graph.nodes) {
        input.nodeGroups.push_back(node.frame);
    }
    return input;
}

} // namespace retro::layout
