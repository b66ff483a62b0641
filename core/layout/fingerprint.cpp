// SPDX-License-Identifier: Apache-2.0
#include "core/layout/fingerprint.h"

#include "core/graph/graphbuilder.h"

#include <algorithm>
#include <bit>
#include <variant>

namespace retro::layout
{

namespace
{

constexpr std::uint64_t kSeed = 0x9e3779b97f4a7c15ULL;

// What an operand comes from.
constexpr std::uint64_t kMissing = 1;
constexpr std::uint64_t kConstant = 2;
constexpr std::uint64_t kInside = 3;
constexpr std::uint64_t kOutside = 4;

std::uint64_t mixedText(std::uint64_t hash, std::string_view text)
{
    for (const char c : text) {
        hash = mixed(hash, static_cast<unsigned char>(c));
    }
    return mixed(hash, text.size());
}

std::uint64_t mixedTensor(std::uint64_t hash, const tensor::Tensor& tensor)
{
    hash = mixed(hash, static_cast<std::uint64_t>(tensor.dtype()));
    for (const std::int64_t extent : tensor.shape()) {
        hash = mixed(hash, static_cast<std::uint64_t>(extent));
    }
    return mixed(hash, tensor.shape().size());
}

std::uint64_t mixedOne(std::uint64_t hash, std::int64_t value)
{
    return mixed(hash, static_cast<std::uint64_t>(value));
}
std::uint64_t mixedOne(std::uint64_t hash, double value) { return mixed(hash, std::bit_cast<std::uint64_t>(value)); }
std::uint64_t mixedOne(std::uint64_t hash, const std::string& value) { return mixedText(hash, value); }
std::uint64_t mixedOne(std::uint64_t hash, const tensor::Tensor& value) { return mixedTensor(hash, value); }
std::uint64_t mixedOne(std::uint64_t hash, const graph::Subgraph& value)
{
    return mixed(hash, graph::structuralHash(*value.graph));
}

template <class T>
std::uint64_t mixedOne(std::uint64_t hash, const std::vector<T>& values)
{
    for (const T& value : values) {
        hash = mixedOne(hash, value);
    }
    return mixed(hash, values.size());
}

std::uint64_t markOf(const graph::Graph& graph, const graph::Node& node)
{
    std::uint64_t hash = mixedText(mixedText(kSeed, node.op), node.domain);
    for (const auto& [name, attribute] : node.attributes) {
        hash = mixed(mixedText(hash, name), attribute.index());
        hash = std::visit([hash](const auto& value) { return mixedOne(hash, value); }, attribute);
    }
    for (const graph::ValueId operand : node.inputs) {
        const bool isConstant = operand.isValid() && graph.value(operand).kind == graph::ValueKind::Constant;
        hash = isConstant ? mixedTensor(hash, graph.value(operand).constant) : mixed(hash, kMissing);
    }
    return mixed(hash, node.outputs.size());
}

/// Reads one group after the other; the arrays are shared, entries of other groups count as absent.
class GroupReader
{
public:
    GroupReader(const graph::Graph& graph, const DrawnGraph& drawn, std::span<const std::uint64_t> marks)
        : m_graph(graph), m_drawn(drawn), m_marks(marks), m_nodes(graph.runNodeCount()), m_values(graph.valueCount()),
          m_groups(drawn.graph.groupParents.size()), m_isResult(graph.valueCount(), false)
    {
        for (const graph::ValueId output : graph.outputs()) {
            m_isResult[output.index()] = true;
        }
    }

    /// `members` in the order of execution.
    std::uint64_t read(Index group, std::span<const Index> members)
    {
        m_group = group;
        m_outsideCount = 0;
        m_insideGroups = 0;
        for (std::size_t i = 0; i < members.size(); ++i) {
            m_nodes[members[i]] = {group, static_cast<Index>(i)};
        }
        std::uint64_t hash = mixed(kSeed, members.size());
        for (const Index member : members) {
            hash = mixed(mixed(hash, m_marks[member]), static_cast<std::uint64_t>(placeOf(member)));
            hash = mixedOperands(hash, m_graph.nodes()[member]);
            hash = mixed(hash, isReadOutside(m_graph.nodes()[member]) ? 1 : 0);
        }
        return hash;
    }

private:
    /// A number that was given within a group.
    struct Numbered
    {
        Index group = kNone;
        Index number = 0;
    };

    std::uint64_t mixedOperands(std::uint64_t hash, const graph::Node& node)
    {
        for (const graph::ValueId operand : node.inputs) {
            const graph::NodeId source = operand.isValid() ? m_graph.nodeOf(operand) : graph::NodeId();
            if (!source.isValid()) {
                hash = mixed(hash, operand.isValid() ? kConstant : kMissing);
            } else if (const Numbered& inside = m_nodes[source.index()]; inside.group == m_group) {
                hash = mixed(mixed(hash, kInside), static_cast<std::uint64_t>(inside.number));
                hash = mixed(hash, m_graph.value(operand).producerOutput);
            } else {
                hash = mixed(mixed(hash, kOutside), static_cast<std::uint64_t>(numberOf(m_values[operand.index()])));
            }
        }
        return hash;
    }

    Index numberOf(Numbered& value)
    {
        if (value.group != m_group) {
            value = {m_group, m_outsideCount++};
        }
        return value.number;
    }

    /// Which of the groups inside holds a node, numbered as they appear; 0 = none.
    Index placeOf(Index member)
    {
        Index place = 0;
        for (Index at = m_drawn.graph.nodeGroups[member]; at != m_group; at = m_drawn.graph.groupParents[at]) {
            Numbered& numbered = m_groups[at];
            if (numbered.group != m_group) {
                numbered = {m_group, ++m_insideGroups};
            }
            place = place * kMostPerLevel + numbered.number;
        }
        return place;
    }

    [[nodiscard]] bool isReadOutside(const graph::Node& node) const
    {
        return std::any_of(node.outputs.begin(), node.outputs.end(), [this](graph::ValueId output) {
            const auto uses = m_graph.uses(output);
            const bool isResult = output.isValid() && m_isResult[output.index()];
            return isResult || std::any_of(uses.begin(), uses.end(), [this](const graph::Use& use) {
                       return m_nodes[use.node.index()].group != m_group;
                   });
        });
    }

    static constexpr Index kMostPerLevel = 31; // spreads the numbers of nested groups; exactness is not needed

    const graph::Graph& m_graph;
    const DrawnGraph& m_drawn;
    std::span<const std::uint64_t> m_marks;
    std::vector<Numbered> m_nodes;  // place among the members
    std::vector<Numbered> m_values; // from outside, as they appear
    std::vector<Numbered> m_groups; // inside, as they appear
    std::vector<bool> m_isResult;   // per value: an output of the graph
    Index m_group = kNone;
    Index m_outsideCount = 0;
    Index m_insideGroups = 0;
};

} // namespace

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number)
{
    std::uint64_t z = hash * 31 + number + kSeed; // then the finaliser of splitmix64
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::vector<std::uint64_t> operatorMarks(const graph::Graph& graph)
{
    std::vector<std::uint64_t> marks;
    marks.reserve(graph.nodeCount());
    for (const graph::Node& node : graph.nodes()) {
        marks.push_back(markOf(graph, node));
    }
    return marks;
}

std::vector<std::uint64_t> groupFingerprints(const graph::Graph& graph, const DrawnGraph& drawn,
                                             std::span<const std::uint64_t> marks)
{
    std::vector<std::vector<Index>> members(drawn.graph.groupParents.size());
    for (Index node = 0; node < static_cast<Index>(graph.nodeCount()); ++node) {
        for (Index at = drawn.graph.nodeGroups[node]; at != kNone; at = drawn.graph.groupParents[at]) {
            members[at].push_back(node);
        }
    }
    GroupReader reader(graph, drawn, marks);
    std::vector<std::uint64_t> out;
    out.reserve(members.size());
    for (std::size_t group = 0; group < members.size(); ++group) {
        out.push_back(reader.read(static_cast<Index>(group), members[group]));
    }
    return out;
}

} // namespace retro::layout
