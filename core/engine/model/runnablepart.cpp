// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/runnablepart.h"

#include "core/engine/model/changedgraph.h"
#include "core/graph/reach.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using graph::Graph;

namespace
{

bool lacksData(const graph::Value& value)
{
    return value.kind == graph::ValueKind::Constant && !value.constant.isValid();
}

/// Names of the constants without data of a graph and of those inside its nodes.
void collectAbsent(const Graph& graph, std::vector<std::string>& names)
{
    for (const graph::Value& value : graph.values()) {
        if (lacksData(value)) {
            names.push_back(value.name);
        }
    }
    for (const graph::Node& node : graph.nodes()) {
        for (const auto& [name, attribute] : node.attributes) {
            if (const auto* nested = std::get_if<graph::Subgraph>(&attribute)) {
                collectAbsent(*nested->graph, names);
            }
        }
    }
}

std::string placeOfNode(const graph::Node& node) { return fmt::format("node '{}' ({})", node.name, node.op); }

} // namespace

BlockedNodes::BlockedNodes(const LoadedModel& model, const Graph& graph)
    : m_graph(graph), m_causeOf(graph.nodeCount(), kFree), m_absentOf(graph.valueCount(), kFree)
{
    findCauses(model);
    if (!none()) {
        spread();
    }
}

void BlockedNodes::addCause(std::size_t node, std::string place, std::string reason)
{
    if (m_causeOf[node] == kFree) {
        m_causeOf[node] = m_causes.size();
        m_causes.push_back({std::move(place), std::move(reason)});
    }
}

void BlockedNodes::findCauses(const LoadedModel& model)
{
    for (const ops::UnsupportedNode& node : ops::unsupported(m_graph)) {
        addCause(node.node.index(), placeOfNode(m_graph.node(node.node)), node.reason);
    }
    for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
        const graph::Value& value = m_graph.value(ValueId(i));
        if (lacksData(value)) {
            m_absentOf[i] = m_causes.size();
            m_causes.push_back({fmt::format("weights '{}'", value.name), absenceOf(model, value.name)});
        }
    }
    for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
        std::vector<std::string> inner;
        for (const auto& [name, attribute] : m_graph.nodes()[i].attributes) {
            if (const auto* nested = std::get_if<graph::Subgraph>(&attribute)) {
                collectAbsent(*nested->graph, inner);
            }
        }
        if (!inner.empty()) {
            addCause(i, fmt::format("weights '{}' inside {}", inner.front(), placeOfNode(m_graph.nodes()[i])),
                     absenceOf(model, inner.front()));
        }
    }
}

/// Nodes are in a topological order.
void BlockedNodes::spread()
{
    for (std::size_t i = 0; i < m_graph.nodeCount(); ++i) {
        for (const ValueId operand : m_graph.nodes()[i].inputs) {
            if (!operand.isValid() || m_causeOf[i] != kFree) {
                continue;
            }
            const NodeId producer = m_graph.value(operand).producer;
            const std::size_t cause = producer.isValid() ? m_causeOf[producer.index()] : m_absentOf[operand.index()];
            if (cause != kFree) {
                m_causeOf[i] = cause;
                ++m_causes[cause].behind;
            }
        }
    }
}

std::optional<base::Error> BlockedNodes::of(ValueId value) const
{
    const NodeId producer = m_graph.value(value).producer;
    const std::size_t cause = producer.isValid() ? m_causeOf[producer.index()] : m_absentOf[value.index()];
    if (cause == kFree) {
        return std::nullopt;
    }
    const std::string where =
        fmt::format("value '{}', which needs {}", m_graph.value(value).name, m_causes[cause].place);
    return base::inputError(m_causes[cause].reason, where);
}

std::vector<std::string> BlockedNodes::lines() const
{
    std::vector<std::string> lines;
    for (const Cause& cause : m_causes) {
        const std::string behind =
            cause.behind == 0 ? "" : fmt::format(" and {} node{} behind", cause.behind, cause.behind == 1 ? "" : "s");
        lines.push_back(fmt::format("{}{} left out: {}", cause.place, behind, cause.reason));
    }
    return lines;
}

bool BlockedNodes::isPartial() const
{
    const auto free = std::ranges::count(m_causeOf, kFree);
    return free > 0 && free < std::ssize(m_causeOf);
}

bool runsInPart(const LoadedModel& model)
{
    const Graph& graph = *model.graph();
    const BlockedNodes blocked(model, graph);
    return blocked.isPartial() &&
           std::ranges::any_of(graph.outputs(), [&blocked](ValueId output) { return !blocked.of(output); });
}

std::optional<std::string> firstAbsent(const Graph& graph)
{
    std::vector<std::string> names;
    collectAbsent(graph, names);
    return names.empty() ? std::nullopt : std::optional(names.front());
}

base::Result<std::shared_ptr<const Graph>> partFor(const Graph& graph, const std::vector<ValueId>& values)
{
    GraphChanges changes;
    changes.outputs = values;
    changes.keptNodes = graph::ancestorsOf(graph, values).nodes;
    return changedGraph(graph, changes);
}

} // namespace retro::engine
