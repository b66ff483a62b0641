// SPDX-License-Identifier: Apache-2.0
#include "core/layout/repeats.h"

#include "core/layout/fingerprint.h"
#include "core/layout/periods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

namespace retro::layout
{

namespace
{

std::string pathIn(const DrawnGraph& drawn, Index parent, const std::string& name)
{
    return parent == kNone ? name : drawn.groupPaths[parent] + "/" + name;
}

/// Nodes that lie in one group (or none) and follow each other in the order of execution.
class BlockFinder
{
public:
    BlockFinder(const graph::Graph& graph, DrawnGraph& drawn, std::span<const std::uint64_t> marks)
        : m_graph(graph), m_drawn(drawn), m_marks(marks), m_blocksIn(drawn.graph.groupParents.size() + 1, 0)
    {}

    /// Adds a group per block.
    void run()
    {
        const auto count = static_cast<Index>(m_graph.nodeCount());
        const std::vector<Index> groups = m_drawn.graph.nodeGroups;
        for (Index first = 0; first < count;) {
            Index end = first + 1;
            while (end < count && groups[end] == groups[first]) {
                ++end;
            }
            readStretch(first, end, groups[first]);
            first = end;
        }
    }

private:
    void readStretch(Index first, Index end, Index parent)
    {
        std::vector<std::uint64_t> marks;
        std::vector<Index> costs(static_cast<std::size_t>(end - first) + 1, 0);
        for (Index node = first; node < end; ++node) {
            marks.push_back(markIn(first, node));
            const Index last = std::min(lastReader(node), end - 1);
            for (Index at = node + 1; at <= std::min(last, node + kFarthest); ++at) {
                ++costs[at - first];
            }
        }
        for (const Period& period : findPeriods(marks, costs)) {
            addBlocks(period, first, parent);
        }
    }

    /// The operator, and how far back its operands come from.
    [[nodiscard]] std::uint64_t markIn(Index first, Index node) const
    {
        std::uint64_t mark = m_marks[node];
        for (const graph::ValueId operand : m_graph.nodes()[node].inputs) {
            const graph::NodeId source = operand.isValid() ? m_graph.nodeOf(operand) : graph::NodeId();
            const Index from =
                source.isValid() && !m_graph.isInput(source) ? static_cast<Index>(source.index()) : kNone;
            mark = mixed(mark, from >= first ? static_cast<std::uint64_t>(node - from) : 0);
        }
        return mark;
    }

    [[nodiscard]] Index lastReader(Index node) const
    {
        Index last = node;
        for (const graph::ValueId output : m_graph.nodes()[node].outputs) {
            for (const graph::Use& use : m_graph.uses(output)) {
                last = std::max(last, static_cast<Index>(use.node.index()));
            }
        }
        return last;
    }

    void addBlocks(const Period& period, Index first, Index parent)
    {
        for (Index block = 0; block < period.count; ++block) {
            const auto group = static_cast<Index>(m_drawn.groupPaths.size());
            const Index number = ++m_blocksIn[parent + 1];
            m_drawn.groupPaths.push_back(pathIn(m_drawn, parent, fmt::format("block.{}", number)));
            m_drawn.graph.groupParents.push_back(parent);
            const auto from = m_drawn.graph.nodeGroups.begin() + first + period.first + block * period.length;
            std::fill(from, from + period.length, group);
        }
    }

    static constexpr Index kFarthest = 512; // a longer edge crosses every border alike

    const graph::Graph& m_graph;
    DrawnGraph& m_drawn;
    std::span<const std::uint64_t> m_marks;
    std::vector<Index> m_blocksIn; // per group, shifted by one: blocks so far
};

/// Neighbouring groups of one structure.
struct Row
{
    Index parent = kNone;
    std::vector<Index> groups;
};

/// Per group its first and last node, in it or in a group inside it; kNone for an empty one.
std::vector<std::pair<Index, Index>> findSpans(const GroupedGraph& graph)
{
    std::vector<std::pair<Index, Index>> spans(graph.groupParents.size(), {kNone, kNone});
    for (Index node = 0; node < graph.nodeCount; ++node) {
        for (Index at = graph.nodeGroups[node]; at != kNone; at = graph.groupParents[at]) {
            spans[at] = {spans[at].first == kNone ? node : spans[at].first, node};
        }
    }
    return spans;
}

class RowFinder
{
public:
    RowFinder(const graph::Graph& graph, const DrawnGraph& drawn, const std::vector<std::uint64_t>& prints)
        : m_graph(graph), m_drawn(drawn), m_prints(prints), m_spans(findSpans(drawn.graph))
    {}

    [[nodiscard]] std::vector<Row> run() const
    {
        const auto groupCount = static_cast<Index>(m_drawn.graph.groupParents.size());
        std::vector<Index> byFirst; // groups in the order of their first node
        for (Index group = 0; group < groupCount; ++group) {
            byFirst.push_back(group);
        }
        std::stable_sort(byFirst.begin(), byFirst.end(),
                         [&](Index a, Index b) { return m_spans[a].first < m_spans[b].first; });
        const Buckets children = groupBy(groupCount, groupCount + 1, [&](Index i) {
            const Index parent = m_drawn.graph.groupParents[byFirst[i]];
            return parent == kNone ? groupCount : parent;
        });
        std::vector<Row> rows;
        for (Index parent = 0; parent <= groupCount; ++parent) {
            std::vector<Index> siblings;
            for (const Index i : children[parent]) {
                siblings.push_back(byFirst[i]);
            }
            appendRows(siblings, parent == groupCount ? kNone : parent, rows);
        }
        return rows;
    }

private:
    void appendRows(const std::vector<Index>& siblings, Index parent, std::vector<Row>& rows) const
    {
        for (auto first = siblings.begin(); first != siblings.end();) {
            const auto end =
                std::find_if(first, siblings.end(), [&](Index group) { return m_prints[group] != m_prints[*first]; });
            Row row{parent, {first, end}};
            if (isRow(row)) {
                rows.push_back(std::move(row));
            }
            first = end;
        }
    }

    [[nodiscard]] bool isRow(const Row& row) const
    {
        const auto count = static_cast<Index>(row.groups.size());
        return count >= kLeastRepeats && count * nodesIn(row.groups.front()) >= kLeastRepeatedNodes &&
               !feedsItself(row);
    }

    [[nodiscard]] Index nodesIn(Index group) const
    {
        const auto [first, last] = m_spans[group];
        Index count = 0;
        for (Index node = first; node != kNone && node <= last; ++node) {
            count += isIn(node, group) ? 1 : 0;
        }
        return count;
    }

    [[nodiscard]] bool isIn(Index node, Index group) const
    {
        Index at = m_drawn.graph.nodeGroups[node];
        while (at != kNone && at != group) {
            at = m_drawn.graph.groupParents[at];
        }
        return at == group;
    }

    /// True when something outside reads from the row and is read by it.
    [[nodiscard]] bool feedsItself(const Row& row) const
    {
        Index first = m_graph.nodeCount() == 0 ? 0 : static_cast<Index>(m_graph.nodeCount()) - 1;
        Index last = 0;
        for (const Index group : row.groups) {
            first = std::min(first, m_spans[group].first);
            last = std::max(last, m_spans[group].second);
        }
        std::vector<bool> isBehind(static_cast<std::size_t>(last - first) + 1, false); // reads from the row
        for (Index node = first; node <= last; ++node) {
            const bool isInside = isInRow(node, row);
            const bool readsBehind = readsFrom(node, first, isBehind, isInside ? nullptr : &row);
            if (isInside && readsBehind) {
                return true;
            }
            isBehind[node - first] = !isInside && readsBehind;
        }
        return false;
    }

    /// True when an operand comes from a node that is behind the row, or (with `row`) from the row itself.
    [[nodiscard]] bool readsFrom(Index node, Index first, const std::vector<bool>& isBehind, const Row* row) const
    {
        const auto& inputs = m_graph.nodes()[node].inputs;
        return std::any_of(inputs.begin(), inputs.end(), [&](graph::ValueId operand) {
            const graph::NodeId source = operand.isValid() ? m_graph.nodeOf(operand) : graph::NodeId();
            if (!source.isValid() || m_graph.isInput(source) || static_cast<Index>(source.index()) < first) {
                return false;
            }
            const auto from = static_cast<Index>(source.index());
            return isBehind[from - first] || (row != nullptr && isInRow(from, *row));
        });
    }

    /// Siblings have one parent, so the ancestor below it decides.
    [[nodiscard]] bool isInRow(Index node, const Row& row) const
    {
        Index at = m_drawn.graph.nodeGroups[node];
        while (at != kNone && m_drawn.graph.groupParents[at] != row.parent) {
            at = m_drawn.graph.groupParents[at];
        }
        return at != kNone && m_prints[at] == m_prints[row.groups.front()] && spansOverlap(at, row);
    }

    [[nodiscard]] bool spansOverlap(Index group, const Row& row) const
    {
        return m_spans[row.groups.front()].first <= m_spans[group].first &&
               m_spans[group].first <= m_spans[row.groups.back()].first;
    }

    const graph::Graph& m_graph;
    const DrawnGraph& m_drawn;
    const std::vector<std::uint64_t>& m_prints;
    std::vector<std::pair<Index, Index>> m_spans;
};

/// "layer.0" and "layer.11": "layer.0–11".
std::string rangeName(std::string_view first, std::string_view last)
{
    std::size_t same = 0;
    while (same < first.size() && same < last.size() && first[same] == last[same]) {
        ++same;
    }
    const auto isDigit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    while (same > 0 && isDigit(first[same - 1])) {
        --same;
    }
    const std::string_view rest = last.substr(same);
    const bool isNumber = !rest.empty() && std::all_of(rest.begin(), rest.end(), isDigit);
    return isNumber ? fmt::format("{}–{}", first, rest) : fmt::format("{} – {}", first, last);
}

/// Writes the group tree again with a group around each row; those around others first.
class TreeWriter
{
public:
    TreeWriter(const std::vector<Row>& rows, const std::vector<std::uint64_t>& prints, DrawnGraph& drawn)
        : m_rows(rows), m_prints(prints), m_drawn(drawn), m_rowOf(drawn.groupPaths.size(), kNone),
          m_numberOf(drawn.groupPaths.size(), kNone), m_numberOfRow(rows.size(), kNone)
    {
        for (std::size_t row = 0; row < rows.size(); ++row) {
            for (const Index group : rows[row].groups) {
                m_rowOf[group] = static_cast<Index>(row);
            }
        }
    }

    void run()
    {
        for (std::size_t group = 0; group < m_drawn.groupPaths.size(); ++group) {
            const Index number = append(m_drawn.groupPaths[group], parentOf(static_cast<Index>(group)), 1);
            m_numberOf[group] = number;
            m_out.groupLike[number] = m_firstLike.try_emplace(m_prints[group], number).first->second;
        }
        for (Index& group : m_drawn.graph.nodeGroups) {
            group = group == kNone ? kNone : m_numberOf[group];
        }
        m_drawn.groupPaths = std::move(m_out.groupPaths);
        m_drawn.graph.groupParents = std::move(m_out.graph.groupParents);
        m_drawn.groupRepeats = std::move(m_out.groupRepeats);
        m_drawn.groupLike = std::move(m_out.groupLike);
    }

private:
    Index append(std::string path, Index parent, Index repeats)
    {
        const auto number = static_cast<Index>(m_out.groupPaths.size());
        m_out.groupPaths.push_back(std::move(path));
        m_out.graph.groupParents.push_back(parent);
        m_out.groupRepeats.push_back(repeats);
        m_out.groupLike.push_back(number);
        return number;
    }

    /// The new number of the group around one; that of its row is made with the row's first group.
    Index parentOf(Index group)
    {
        const Index around = m_drawn.graph.groupParents[group];
        const Index parent = around == kNone ? kNone : m_numberOf[around];
        const Index row = m_rowOf[group];
        if (row == kNone) {
            return parent;
        }
        if (m_numberOfRow[row] == kNone) {
            const std::vector<Index>& groups = m_rows[row].groups;
            const std::string name = rangeName(m_drawn.groupName(groups.front()), m_drawn.groupName(groups.back()));
            m_numberOfRow[row] = append(pathIn(m_out, parent, name), parent, static_cast<Index>(groups.size()));
        }
        return m_numberOfRow[row];
    }

    const std::vector<Row>& m_rows;
    const std::vector<std::uint64_t>& m_prints;
    DrawnGraph& m_drawn;
    DrawnGraph m_out;
    std::vector<Index> m_rowOf;    // per old group
    std::vector<Index> m_numberOf; // per old group: its new number
    std::vector<Index> m_numberOfRow;
    std::unordered_map<std::uint64_t, Index> m_firstLike;
};

} // namespace

void addRepeats(const graph::Graph& graph, DrawnGraph& drawn)
{
    const std::vector<std::uint64_t> marks = operatorMarks(graph);
    BlockFinder(graph, drawn, marks).run();
    const std::vector<std::uint64_t> prints = groupFingerprints(graph, drawn, marks);
    const std::vector<Row> rows = RowFinder(graph, drawn, prints).run();
    TreeWriter(rows, prints, drawn).run();
}

} // namespace retro::layout
