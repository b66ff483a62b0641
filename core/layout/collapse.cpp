// SPDX-License-Identifier: Apache-2.0
#include "core/layout/collapse.h"

#include "core/layout/cyclecomponents.h"
#include "core/layout/topology.h"

#include <fmt/format.h>

#include <numeric>

namespace retro::layout
{

namespace
{

/// Gives every node its box, cutting closed groups where they would feed themselves.
class BoxMaker
{
public:
    BoxMaker(const GroupedGraph& graph, const Topology& topology, std::vector<Index> closedGroups,
             const std::vector<bool>& isHidden)
        : m_graph(graph), m_topology(topology), m_isHidden(isHidden), m_closed(std::move(closedGroups)),
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
            if (!m_isHidden.empty() && m_isHidden[node]) {
                out.visibleOf.push_back(kNone);
                continue;
            }
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
    const std::vector<bool>& m_isHidden; // per node, or empty
    std::vector<Index> m_closed;         // per group: the outermost closed group around it
    Buckets m_in;
    std::vector<Index> m_itemOf;
    Index m_itemCount = 0;
    CycleComponents m_cycles;     // of items
    std::vector<Box> m_boxes;     // by the topological order of their first member
    std::vector<Index> m_current; // per item: its latest box
};

/// Edges between boxes.
class EdgeMerger
{
public:
    EdgeMerger(const GroupedGraph& graph, VisibleGraph& out) : m_out(out)
    {
        for (const LayoutEdge& edge : graph.edges) {
            const LayoutEdge ends{out.visibleOf[edge.from], out.visibleOf[edge.to]};
            m_ends.push_back(ends.from == kNone || ends.to == kNone ? LayoutEdge() : ends);
        }
    }

    /// Merges those that touch a closed group, in the order of their first edge.
    void run()
    {
        const auto count = static_cast<Index>(m_ends.size());
        const std::vector<Index> firstOf = findFirst();
        for (Index e = 0; e < count; ++e) {
            if (m_ends[e].from == m_ends[e].to) {
                m_out.visibleEdgeOf.push_back(kNone);
            } else if (firstOf[e] == e) {
                m_out.visibleEdgeOf.push_back(static_cast<Index>(m_out.edges.size()));
                m_out.edges.push_back(m_ends[e]);
            } else {
                m_out.visibleEdgeOf.push_back(m_out.visibleEdgeOf[firstOf[e]]);
            }
        }
        m_out.edgeMembers =
            groupBy(count, static_cast<Index>(m_out.edges.size()), [&](Index e) { return m_out.visibleEdgeOf[e]; });
    }

private:
    /// Per edge: the first edge that it is merged with, or itself.
    [[nodiscard]] std::vector<Index> findFirst() const
    {
        std::vector<Index> byEnds(m_ends.size());
        std::iota(byEnds.begin(), byEnds.end(), 0);
        const auto key = [&](Index e) { return std::pair(m_ends[e].from, m_ends[e].to); };
        std::stable_sort(byEnds.begin(), byEnds.end(), [&](Index a, Index b) { return key(a) < key(b); });
        std::vector<Index> first(m_ends.size(), kNone);
        for (std::size_t i = 0; i < byEnds.size(); ++i) {
            const Index e = byEnds[i];
            const bool isMerged =
                i > 0 && m_ends[e].from != kNone && m_ends[byEnds[i - 1]] == m_ends[e] && touchesGroup(m_ends[e]);
            first[e] = isMerged ? first[byEnds[i - 1]] : e;
        }
        return first;
    }

    [[nodiscard]] bool touchesGroup(const LayoutEdge& ends) const
    {
        return m_out.nodes[ends.from].isGroup() || m_out.nodes[ends.to].isGroup();
    }

    VisibleGraph& m_out;
    std::vector<LayoutEdge> m_ends; // per edge: boxes
};

/// The innermost open group around a box, or kNone.
Index innermostOpen(const GroupedGraph& graph, const VisibleNode& node)
{
    if (node.isGroup()) {
        return graph.groupParents[node.group];
    }
    return graph.nodeGroups.empty() ? kNone : graph.nodeGroups[node.node];
}

/// Per group: true when it is open and anything in it is visible.
std::vector<bool> findShown(const GroupedGraph& graph, const std::vector<VisibleNode>& nodes)
{
    std::vector<bool> isShown(graph.groupParents.size(), false);
    for (const VisibleNode& node : nodes) {
        for (Index at = innermostOpen(graph, node); at != kNone && !isShown[at]; at = graph.groupParents[at]) {
            isShown[at] = true;
        }
    }
    return isShown;
}

void setFrames(const GroupedGraph& graph, VisibleGraph& out)
{
    const std::vector<bool> isShown = findShown(graph, out.nodes);
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
        node.frame = frameOrNone(innermostOpen(graph, node));
    }
}

} // namespace

base::Result<VisibleGraph> collapse(const GroupedGraph& graph, const std::vector<bool>& isClosed,
                                    const std::vector<bool>& isHidden)
{
    RETRO_CHECK(checkGroups(graph.nodeGroups, graph.groupParents, graph.nodeCount));
    if (isClosed.size() != graph.groupParents.size()) {
        return base::inputError(fmt::format("{} groups are marked open or closed, but there are {}", isClosed.size(),
                                            graph.groupParents.size()));
    }
    if (!isHidden.empty() && isHidden.size() != static_cast<std::size_t>(graph.nodeCount)) {
        return base::inputError(
            fmt::format("{} nodes are marked hidden or shown, but there are {}", isHidden.size(), graph.nodeCount));
    }
    RETRO_TRY(const Topology topology, sortTopologically(graph.edges, graph.nodeCount));
    VisibleGraph out;
    BoxMaker(graph, topology, outermostMarked(graph.groupParents, isClosed), isHidden).run(out);
    out.members =
        groupBy(graph.nodeCount, static_cast<Index>(out.nodes.size()), [&](Index node) { return out.visibleOf[node]; });
    EdgeMerger(graph, out).run();
    setFrames(graph, out);
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
