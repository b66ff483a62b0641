// SPDX-License-Identifier: Apache-2.0
// retrograde-layout: reads a graph of numbers in the language of Graphviz, lays it out, prints the places. The window
// starts it, bounds its time and reads what it prints (core/layout/exchange.h); it bounds its own memory. With
// --to-json it prints any DOT graph as graph JSON instead (docs/formats/graph.md).
#include "core/base/result.h"
#include "core/formats/graphjson.h"
#include "core/graph/graph.h"
#include "core/graph/graphbuilder.h"

#include <fmt/format.h>

#include <graphviz/cgraph.h>
#include <graphviz/gvc.h>
#include <sys/resource.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace retro::app
{

namespace
{

/// An attribute of a node; empty when it has none.
std::string attribute(Agnode_t* node, const char* name)
{
    std::string key(name); // cgraph wants names that it could write to
    const char* value = agget(node, key.data());
    return value == nullptr ? std::string() : std::string(value);
}

std::optional<double> numberOf(const std::string& text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool isNumber = !text.empty() && error == std::errc() && end == text.data() + text.size() && value >= 0;
    return isNumber ? std::optional(value) : std::nullopt;
}

class DotReader
{
public:
    explicit DotReader(Agraph_t* dot) : m_dot(dot), m_builder(agnameof(dot) == nullptr ? "" : agnameof(dot)) {}

    base::Result<graph::Graph> read()
    {
        for (Agnode_t* node = agfstnode(m_dot); node != nullptr; node = agnxtnode(m_dot, node)) {
            addValue(node);
        }
        for (Agnode_t* node = agfstnode(m_dot); node != nullptr; node = agnxtnode(m_dot, node)) {
            addNode(node);
        }
        return std::move(m_builder).build();
    }

private:
    void addValue(Agnode_t* node)
    {
        const graph::ValueId id = m_builder.addResult(agnameof(node));
        m_values.emplace(node, id);
        const std::optional<double> bytes = numberOf(attribute(node, "bytes"));
        if (bytes && *bytes < 1e18) {
            graph::ValueFacts facts;
            facts.bytes = static_cast<std::uint64_t>(*bytes);
            m_builder.note(id, std::make_shared<const graph::ValueFacts>(facts));
        }
    }

    void addNode(Agnode_t* dotNode)
    {
        graph::Node node;
        node.op = attribute(dotNode, "op");
        node.op = node.op.empty() ? "Node" : node.op;
        node.domain = "dot";
        node.name = agnameof(dotNode);
        for (Agedge_t* edge = agfstin(m_dot, dotNode); edge != nullptr; edge = agnxtin(m_dot, edge)) {
            node.inputs.push_back(m_values.at(agtail(edge)));
        }
        const graph::ValueId value = m_values.at(dotNode);
        node.outputs.push_back(value);
        const std::string label = attribute(dotNode, "label");
        if (!label.empty() && label != "\\N") {
            node.metadata["label"] = label;
        }
        graph::NodeFacts facts;
        facts.flops = numberOf(attribute(dotNode, "flops"));
        if (facts.flops) {
            node.facts = std::make_shared<const graph::NodeFacts>(facts);
        }
        m_builder.addNode(std::move(node));
        if (agfstout(m_dot, dotNode) == nullptr) {
            m_builder.addOutput(value);
        }
    }

    Agraph_t* m_dot;
    graph::GraphBuilder m_builder;
    std::unordered_map<Agnode_t*, graph::ValueId> m_values;
};

/// A DOT graph as a graph of ours: every node makes one value of its name, every edge is an operand, nodes without
/// readers are the outputs. The attribute `op` of a node is its operator (else "Node"), in the domain `dot`, so nothing
/// pretends that it could run; `flops` and `bytes` are taken as facts, `label` as a note. Errors (Input): cycles, more
/// than graph::kMaxNodes nodes, a graph without nodes.
base::Result<graph::Graph> graphFromDot(Agraph_t* dot) { return DotReader(dot).read(); }

} // namespace

} // namespace retro::app

namespace
{

constexpr rlim_t kMostMemory = rlim_t{1} << 30; // bytes of address space
constexpr std::string_view kCluster = "cluster_";

bool limitMemory()
{
    const rlimit limit{kMostMemory, kMostMemory};
    const rlimit none{0, 0};
    return setrlimit(RLIMIT_AS, &limit) == 0 && setrlimit(RLIMIT_CORE, &none) == 0;
}

/// Graphviz counts upwards from the lower left corner, in points of 1/72 inch.
class Printer
{
public:
    explicit Printer(Agraph_t* graph) : m_graph(graph), m_top(GD_bb(graph).UR.y) {}

    std::string print()
    {
        m_out = "retrograde-layout 1\n";
        for (Agnode_t* node = agfstnode(m_graph); node != nullptr; node = agnxtnode(m_graph, node)) {
            add("node {} {:.3f} {:.3f}\n", agnameof(node), ND_coord(node).x, m_top - ND_coord(node).y);
        }
        for (Agnode_t* node = agfstnode(m_graph); node != nullptr; node = agnxtnode(m_graph, node)) {
            for (Agedge_t* edge = agfstout(m_graph, node); edge != nullptr; edge = agnxtout(m_graph, edge)) {
                printEdge(edge);
            }
        }
        printGroups(m_graph);
        m_out += "end\n";
        return std::move(m_out);
    }

private:
    template <class... Values>
    void add(fmt::format_string<Values...> format, Values&&... values)
    {
        fmt::format_to(std::back_inserter(m_out), format, std::forward<Values>(values)...);
    }

    /// An edge without an id is "-". Every third control point lies on the line; with polylines the pieces between are
    /// straight.
    void printEdge(Agedge_t* edge)
    {
        static char name[] = "id";
        const splines* way = ED_spl(edge);
        if (way == nullptr || way->size < 1) {
            return; // the reader names what is missing
        }
        const bezier& line = way->list[0];
        const char* const id = agget(edge, name); // null where no edge of the graph has one
        add("edge {} {}", id == nullptr || *id == '\0' ? "-" : id, (line.size + 2) / 3);
        for (std::size_t i = 0; i < static_cast<std::size_t>(line.size); i += 3) {
            add(" {:.3f} {:.3f}", line.list[i].x, m_top - line.list[i].y);
        }
        m_out += '\n';
    }

    /// Clusters are nested no deeper than the groups of the window, which are bounded.
    void printGroups(Agraph_t* graph)
    {
        for (Agraph_t* inner = agfstsubg(graph); inner != nullptr; inner = agnxtsubg(inner)) {
            const char* const given = agnameof(inner);
            const std::string_view name = given == nullptr ? "" : given;
            if (name.substr(0, kCluster.size()) == kCluster) {
                const boxf& box = GD_bb(inner);
                add("group {} {:.3f} {:.3f} {:.3f} {:.3f}\n", name.substr(kCluster.size()), box.LL.x, m_top - box.UR.y,
                    box.UR.x - box.LL.x, box.UR.y - box.LL.y);
            }
            printGroups(inner);
        }
    }

    Agraph_t* m_graph;
    double m_top;
    std::string m_out;
};

int fail(const char* what)
{
    fmt::print(stderr, "retrograde-layout: {}\n", what);
    return EXIT_FAILURE;
}

int print(const std::string& out)
{
    const bool isWritten = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
    return isWritten ? EXIT_SUCCESS : fail("cannot write");
}

int printJson(Agraph_t* dot)
{
    const auto graph = retro::app::graphFromDot(dot);
    return graph.ok() ? print(retro::formats::toGraphJson(*graph)) : fail(graph.error().text().c_str());
}

} // namespace

int main(int argc, char** argv)
{
    const bool wantsJson = argc == 2 && std::string_view(argv[1]) == "--to-json";
    if (argc > 1 && !wantsJson) {
        return fail("usage: retrograde-layout [--to-json] < GRAPH.dot");
    }
    if (!limitMemory()) {
        return fail("cannot bound its memory");
    }
    Agraph_t* graph = agread(stdin, nullptr);
    if (graph == nullptr) {
        return fail("the input is no graph");
    }
    if (wantsJson) {
        return printJson(graph);
    }
    GVC_t* context = gvContext();
    if (context == nullptr || gvLayout(context, graph, "dot") != 0) {
        return fail("Graphviz found no layout");
    }
    return print(Printer(graph).print());
}
