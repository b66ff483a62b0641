// SPDX-License-Identifier: Apache-2.0
#include "views/plan/rowlink.h"

namespace retro::views
{

namespace
{

std::optional<std::uint32_t> rowNamed(const ShownPlan& plan, std::string_view name)
{
    const auto rows = plan.matrix.rows();
    for (std::uint32_t row = 0; row < rows.size(); ++row) {
        if (plan.graph().value(rows[row].value).name == name) {
            return row;
        }
    }
    return std::nullopt;
}

/// The row of the first result that has one.
std::optional<std::uint32_t> rowOfNode(const graph::Graph& graph, base::NodeId node, const ShownPlan& plan)
{
    for (const base::ValueId output : graph.outputsOf(node)) {
        const auto row = output.isValid() ? rowNamed(plan, graph.value(output).name) : std::nullopt;
        if (row) {
            return row;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::uint32_t> rowOfThing(const RunModel& model, const SelectedThing& thing, const ShownPlan& plan)
{
    if (!model.hasRun() || std::holds_alternative<std::monostate>(thing)) {
        return std::nullopt;
    }
    const graph::Graph& graph = model.graph();
    if (const auto* value = std::get_if<base::ValueId>(&thing)) {
        return rowNamed(plan, graph.value(*value).name);
    }
    const base::NodeId node = model.nodeOf(thing);
    if (!node.isValid() || node.index() >= graph.nodeCount()) { // an input: no plan computes it
        return std::nullopt;
    }
    return rowOfNode(graph, node, plan);
}

base::NodeId nodeOfRow(const graph::Graph& graph, const ShownPlan& plan, std::uint32_t row)
{
    const auto value = graph.findValue(plan.graph().value(plan.matrix.rows()[row].value).name);
    return value ? graph.nodeOf(*value) : base::NodeId();
}

void selectRowOf(const RunModel& model, Selection& selection, const ShownPlan& plan, std::uint32_t row)
{
    const base::NodeId node = model.hasRun() ? nodeOfRow(model.graph(), plan, row) : base::NodeId();
    if (node.isValid()) {
        selection.selectNode(node);
    }
}

std::vector<base::NodeId> liveNodes(const graph::Graph& graph, const ShownPlan& plan, std::uint32_t column)
{
    std::vector<base::NodeId> nodes;
    for (std::uint32_t row = 0; row < plan.matrix.rows().size(); ++row) {
        const base::NodeId node = plan.matrix.isLive(row, column) ? nodeOfRow(graph, plan, row) : base::NodeId();
        if (node.isValid()) {
            nodes.push_back(node);
        }
    }
    return nodes;
}

} // namespace retro::views
