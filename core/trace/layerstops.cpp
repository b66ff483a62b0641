// SPDX-License-Identifier: Apache-2.0
#include "core/trace/breakpoints.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

namespace retro::trace
{

namespace
{

/// Structures (ops::nameOf) that people call a layer.
constexpr std::array<std::string_view, 4> kLayers{"linear map", "bilinear", "average pool", "max pool"};

bool isLayer(const Run& run, NodeId node)
{
    return node.index() < run.rules.size() &&
           std::find(kLayers.begin(), kLayers.end(), run.rules[node.index()].structure) != kLayers.end();
}

/// Remembers which nodes and scopes were visited.
class Visited
{
public:
    explicit Visited(const Run& run) : m_run(run), m_nodes(run.graph->runNodeCount(), false) {}

    /// Books a visit; true when it reaches a new layer.
    bool reachesLayer(NodeId node)
    {
        if (node.index() >= m_nodes.size() || m_nodes[node.index()]) {
            return false;
        }
        m_nodes[node.index()] = true;
        // An input lies in no scope: it begins nothing.
        const bool isNewScope = !m_run.graph->isInput(node) && m_scopes.insert(m_run.graph->scopeOf(node)).second;
        return isNewScope || isLayer(m_run, node);
    }

private:
    const Run& m_run;
    std::vector<bool> m_nodes;
    std::unordered_set<std::string_view> m_scopes;
};

} // namespace

std::vector<std::uint64_t> layerStops(const Run& run)
{
    std::vector<std::uint64_t> stops;
    Visited visited(run);
    for (const Event& event : run.events) {
        if (event.kind == event::EventKind::Visit && visited.reachesLayer(NodeId(event.node))) {
            stops.push_back(run.endOfVisit(event.visit));
        }
    }
    if (stops.empty() || stops.back() != run.eventCount()) {
        stops.push_back(run.eventCount());
    }
    return stops;
}

} // namespace retro::trace
