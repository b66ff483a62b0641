// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphfile.h"

#include "views/graph/graphfigure.h"

namespace retro::views
{

namespace
{

/// The node or input of that name, or every node of the group of that name. Errors: Usage.
base::Result<void> addNamed(const GraphBook& book, const std::string& name, std::vector<base::NodeId>& nodes)
{
    const graph::Graph& graph = *book.graph;
    const std::size_t before = nodes.size();
    for (std::size_t i = 0; i < graph.runNodeCount(); ++i) {
        const base::NodeId node(i);
        const std::string_view scope = graph.scopeOf(node);
        const bool isInside = scope == name || (scope.starts_with(name) && scope[name.size()] == '/');
        if (graph.labelOf(node) == name || isInside) {
            nodes.push_back(node);
        }
    }
    if (name.empty() || nodes.size() == before) {
        return base::usageError("the graph has no node and no group of this name", "--select " + name);
    }
    return {};
}

} // namespace

base::Result<void> writeGraphFigure(const std::filesystem::path& path, const graph::Graph& graph,
                                    const trace::RunState* state, const trace::Run& run,
                                    std::optional<std::uint64_t> position, const std::vector<std::string>& select)
{
    // Borrowed for the length of this call: the pointers own nothing.
    const auto book =
        makeBook(std::shared_ptr<const trace::Run>(std::shared_ptr<void>(), &run),
                 std::shared_ptr<const graph::Graph>(std::shared_ptr<void>(), &graph), BoxMetrics::ofFonts());
    const std::uint64_t assumed = state != nullptr ? positionOf(run, *state) : 0;
    FigureOptions options;
    options.closed = select.empty() ? initiallyClosed(*book) : std::vector<bool>(book->groupParts.size(), false);
    for (const std::string& name : select) {
        RETRO_CHECK(addNamed(*book, name, options.only));
    }
    return writeFigure(path, book, {state, position.value_or(assumed), {}}, options);
}

} // namespace retro::views
