// SPDX-License-Identifier: Apache-2.0
// retrograde-layout: reads a graph of numbers in the language of Graphviz, lays it out, prints the places. The window
// starts it, bounds its time and reads what it prints (core/layout/exchange.h); it bounds its own memory. With
// --to-json it prints any DOT graph as graph JSON instead (docs/formats/graph.md).
#include "app/layout/dotgraph.h"
#include "core/formats/graphjson.h"

#include <fmt/format.h>

#include <graphviz/gvc.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

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
