// SPDX-License-Identifier: Apache-2.0
#include "app/gui/facts/groupstops.h"

#include <string_view>
#include <unordered_map>

namespace retro::app
{

namespace
{

using Counts = std::unordered_map<std::string_view, std::size_t>;

/// "block1/first" of "block1/first/conv"; empty at the top.
std::string_view outer(std::string_view scope)
{
    const auto slash = scope.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : scope.substr(0, slash);
}

/// Nodes in and below every scope.
Counts countNodes(const graph::Graph& graph)
{
    Counts counts;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        for (std::string_view scope = graph.scopeOf(base::NodeId(i)); !scope.empty(); scope = outer(scope)) {
            ++counts[scope];
        }
    }
    return counts;
}

std::string_view groupOf(const graph::Graph& graph, const Counts& counts, base::NodeId node)
{
    std::string_view scope = graph.scopeOf(node);
    while (!scope.empty() && counts.at(scope) < 2) {
        scope = outer(scope);
    }
    return scope;
}

bool isInside(std::string_view scope, std::string_view group)
{
    return !group.empty() && scope.starts_with(group) && (scope.size() == group.size() || scope[group.size()] == '/');
}

} // namespace

std::vector<std::uint64_t> groupStops(const trace::Run& run)
{
    std::vector<std::uint64_t> stops;
    const Counts counts = countNodes(*run.graph);
    std::string_view stretch;
    for (const trace::Event& event : run.events) {
        const bool isVisit = event.kind == event::EventKind::Visit && event.node < run.graph->runNodeCount();
        if (!isVisit) {
            continue;
        }
        const std::string_view group = groupOf(*run.graph, counts, base::NodeId(event.node));
        if (!isInside(group, stretch)) {
            stretch = group;
            stops.push_back(run.endOfVisit(event.visit));
        }
    }
    return stops;
}

} // namespace retro::app
