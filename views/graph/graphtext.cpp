// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphfigure.h"

#include "core/base/jsonout.h"
#include "core/base/visibletext.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>

namespace retro::views
{

using layout::Index;
using layout::kNone;

namespace
{

/// Text in double quotes for JSON.
std::string json(std::string_view text) { return base::jsonOut(nlohmann::json(std::string(text))); }

/// Text in double quotes for DOT, in which a backslash begins an escape of its own.
std::string dot(std::string_view text)
{
    std::string out = "\"";
    for (const char c : base::visibleText(text, base::LineEnds::Kept)) {
        if (c == '\n') {
            out += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') {
            out += '\\';
        }
        out += c;
    }
    return out + '"';
}

std::string number(std::optional<double> value)
{
    return value && std::isfinite(*value) ? fmt::format("{}", *value) : "null";
}

/// What a run knows about a node at a state.
const trace::NodeState* stateOf(const FigureState& state, std::size_t node)
{
    const bool isKnown = state.run != nullptr && node < state.run->nodes.size();
    return isKnown ? &state.run->nodes[node] : nullptr;
}

std::optional<double> passed(const GraphBook& book, const FigureState& state, Index edge)
{
    return state.run == nullptr ? std::nullopt : book.flow.at(edge, state.position, *book.run, *state.run);
}

std::string shapeList(const GraphBook& book, base::NodeId node)
{
    const base::ValueId output = book.graph->firstOutput(node);
    if (output.index() >= book.run->shapes.size()) {
        return "null";
    }
    return fmt::format("[{}]", fmt::join(book.run->shapes[output.index()], ", "));
}

std::string nodeJson(const GraphBook& book, const FigureState& state, std::size_t i)
{
    const base::NodeId node(i);
    const trace::NodeState* known = stateOf(state, i);
    const bool isVisited = known != nullptr && known->visits > 0;
    return fmt::format(R"({{"id": {}, "label": {}, "op": {}, "scope": {}, "shape": {}, "mode": {}, "visits": {}}})", i,
                       json(book.graph->labelOf(node)), json(book.graph->opOf(node)), json(book.graph->scopeOf(node)),
                       shapeList(book, node), isVisited ? json(event::shortName(known->lastMode)) : "null",
                       isVisited ? known->visits : 0);
}

std::string edgeJson(const GraphBook& book, const FigureState& state, std::size_t i)
{
    const layout::LayoutEdge& edge = book.drawn.graph.edges[i];
    const layout::EdgeTensor& tensor = book.drawn.edgeTensors[i];
    return fmt::format(R"({{"from": {}, "to": {}, "value": {}, "operand": {}, "relevance": {}}})", edge.from, edge.to,
                       json(book.graph->value(tensor.value).name), tensor.slot,
                       number(passed(book, state, static_cast<Index>(i))));
}

/// The members of a list, one a line.
template <class Make>
std::string lines(std::size_t count, Make make)
{
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        out += (i == 0 ? "\n    " : ",\n    ") + make(i);
    }
    return out + (count == 0 ? "" : "\n  ");
}

/// Pen of a mode in the words of Graphviz: the patterns of the window without its colours.
std::string_view dotStyle(event::Mode mode)
{
    switch (mode) {
    case event::Mode::Normal:
        return "solid";
    case event::Mode::Search:
        return "dashed";
    case event::Mode::Fulfilment:
        return "bold";
    case event::Mode::None:
        break;
    }
    return "dotted";
}

std::string dotNode(const GraphBook& book, const FigureState& state, std::size_t i)
{
    const base::NodeId node(i);
    const trace::NodeState* known = stateOf(state, i);
    const event::Mode mode = known != nullptr ? known->lastMode : event::Mode::None;
    std::string label(book.graph->labelOf(node));
    label += fmt::format("\n{}", book.graph->opOf(node));
    if (mode != event::Mode::None) {
        label += fmt::format(" ({})", event::shortName(mode));
    }
    // `op` is what a reader of the file needs to know it again; the label is for the eye.
    return fmt::format("n{} [label={}, op={}, style={}];\n", i, dot(label), dot(book.graph->opOf(node)),
                       dotStyle(mode));
}

/// Writes groups as nested clusters, each with its nodes, by an explicit stack: nesting may be deep.
class ClusterWriter
{
public:
    ClusterWriter(const GraphBook& book, const FigureState& state)
        : m_book(book), m_state(state),
          m_nodes(layout::groupBy(book.drawn.graph.nodeCount, groupCount() + 1,
                                  [&](Index node) { return bucketOf(book.drawn.graph.nodeGroups[at(node)]); })),
          m_children(layout::groupBy(groupCount(), groupCount() + 1,
                                     [&](Index group) { return bucketOf(book.drawn.graph.groupParents[at(group)]); }))
    {}

    [[nodiscard]] std::string write()
    {
        open(kNone);
        while (!m_open.empty()) {
            Level& level = m_open.back();
            const auto children = m_children[bucketOf(level.group)];
            if (level.next < children.size()) {
                open(children[level.next++]);
            } else {
                close();
            }
        }
        return std::move(m_out);
    }

private:
    struct Level
    {
        Index group = kNone;
        std::size_t next = 0;
    };

    [[nodiscard]] static std::size_t at(Index index) { return static_cast<std::size_t>(index); }
    [[nodiscard]] Index groupCount() const { return static_cast<Index>(m_book.drawn.groupPaths.size()); }
    /// The last bucket is for what lies in no group.
    [[nodiscard]] Index bucketOf(Index group) const { return group == kNone ? groupCount() : group; }

    void open(Index group)
    {
        m_open.push_back({group, 0});
        if (group != kNone) {
            m_out += fmt::format("{:{}}subgraph cluster_{} {{\n", "", indent() - 2, group);
            m_out += fmt::format("{:{}}label={};\n", "", indent(), dot(m_book.drawn.groupName(group)));
        }
        for (const Index node : m_nodes[bucketOf(group)]) {
            m_out += fmt::format("{:{}}{}", "", indent(), dotNode(m_book, m_state, at(node)));
        }
    }

    void close()
    {
        if (m_open.back().group != kNone) {
            m_out += fmt::format("{:{}}}}\n", "", indent() - 2);
        }
        m_open.pop_back();
    }

    [[nodiscard]] std::size_t indent() const { return 2 * m_open.size(); }

    const GraphBook& m_book;
    const FigureState& m_state;
    layout::Buckets m_nodes;    // by group
    layout::Buckets m_children; // groups by the group around them
    std::vector<Level> m_open;
    std::string m_out;
};

} // namespace

std::string dotOf(const GraphBook& book, const FigureState& state)
{
    std::string out = fmt::format("digraph {} {{\n  rankdir=TB;\n  node [shape=box];\n", dot(book.graph->name()));
    out += ClusterWriter(book, state).write();
    for (std::size_t i = 0; i < book.drawn.graph.edges.size(); ++i) {
        const layout::LayoutEdge& edge = book.drawn.graph.edges[i];
        const std::optional<double> sum = passed(book, state, static_cast<Index>(i));
        std::string label = book.graph->value(book.drawn.edgeTensors[i].value).name;
        if (sum) {
            label += fmt::format("\nR {:.4g}", *sum);
        }
        out += fmt::format("  n{} -> n{} [label={}];\n", edge.from, edge.to, dot(label));
    }
    return out + "}\n";
}

std::string jsonOf(const GraphBook& book, const FigureState& state)
{
    std::string out = fmt::format("{{\n  \"format\": \"retrograde-figure/1\",\n  \"graph\": {},\n  \"model\": {},\n",
                                  json(book.graph->name()), json(book.run->facts.modelName));
    out += fmt::format("  \"position\": {},\n", state.run != nullptr ? std::to_string(state.position) : "null");
    out += fmt::format("  \"nodes\": [{}],\n",
                       lines(book.graph->runNodeCount(), [&](std::size_t i) { return nodeJson(book, state, i); }));
    out += fmt::format("  \"edges\": [{}]\n}}\n",
                       lines(book.drawn.graph.edges.size(), [&](std::size_t i) { return edgeJson(book, state, i); }));
    return out;
}

} // namespace retro::views
