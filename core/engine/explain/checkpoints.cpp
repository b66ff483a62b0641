// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/checkpoints.h"

#include "core/ops/checkpoint.h"

#include <algorithm>

namespace retro::engine
{

namespace
{

/// True when relevance arrives at that output of the node.
bool isReached(const lrp::TraversalGraph& graph, const lrp::NodeOutput& output)
{
    const auto readsIt = [&](const lrp::InEdge& edge) { return edge.output == output.output; };
    return graph.contains(output.node) && std::ranges::any_of(graph.inEdges(output.node), readsIt);
}

void addOnce(std::vector<base::ValueId>& values, base::ValueId value)
{
    if (std::ranges::find(values, value) == values.end()) {
        values.push_back(value);
    }
}

} // namespace

std::vector<lrp::NodeOutput> outputsOf(std::span<const base::ValueId> values, const graph::Graph& graph)
{
    std::vector<lrp::NodeOutput> outputs;
    for (const base::ValueId value : values) {
        outputs.push_back({graph.nodeOf(value), graph.value(value).producerOutput});
    }
    return outputs;
}

base::Result<std::vector<base::ValueId>>
checkpointValues(std::span<const std::string> names, const execute::BoundModel& model, const lrp::TraversalGraph& graph)
{
    const graph::Graph& nodes = model.graph();
    std::vector<base::ValueId> values;
    for (const std::string& name : names) {
        const auto value = nodes.findValue(name);
        if (!value) {
            return base::usageError("the graph has no value of this name (a rewrite may have taken it: see `info` and "
                                    "--no-rewrite); choose a value that a node computes",
                                    "--checkpoint " + name);
        }
        if (!nodes.nodeOf(*value).isValid() || !isReached(graph, outputsOf({&*value, 1}, nodes).front())) {
            return base::usageError("relevance does not reach this value: it is a constant, or the target does not "
                                    "depend on it; choose a value between the target and the inputs",
                                    "--checkpoint " + name);
        }
        addOnce(values, *value);
    }
    for (const base::NodeId node : graph.postOrder()) {
        if (!nodes.isInput(node) && ops::isCheckpoint(model.op(node).structure())) {
            addOnce(values, nodes.firstOutput(node));
        }
    }
    return values;
}

std::vector<TakenCheckpoint> takenCheckpoints(std::span<const base::ValueId> values,
                                              std::span<const event::Event> snapshots,
                                              std::span<const tensor::Tensor> relevance, const graph::Graph& graph)
{
    std::vector<TakenCheckpoint> all;
    for (const base::ValueId value : values) {
        TakenCheckpoint taken{value, std::nullopt, relevance[value.index()]};
        for (const event::Event& snapshot : snapshots) {
            if (snapshot.node == graph.nodeOf(value).value && snapshot.slot == graph.value(value).producerOutput) {
                taken.visit = snapshot.visit;
            }
        }
        all.push_back(std::move(taken));
    }
    return all;
}

} // namespace retro::engine
