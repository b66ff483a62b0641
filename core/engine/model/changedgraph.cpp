// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/changedgraph.h"

#include "core/graph/renumbered.h"
#include "core/rewrite/addvalue.h"

namespace retro::engine
{

using base::ValueId;
using graph::Value;

namespace
{

/// A value in the builder, with what is to be different.
ValueId addCopy(graph::GraphBuilder& builder, const Value& value, ValueId id, const GraphChanges& changes)
{
    Value changed = value;
    if (const auto shape = changes.shapes.find(id); shape != changes.shapes.end()) {
        changed.shape = shape->second;
    }
    if (const auto given = changes.constants.find(id); given != changes.constants.end()) {
        changed.constant = given->second;
        changed.dtype = given->second.dtype();
    }
    if (changes.value) {
        changes.value(id, changed);
    }
    const ValueId copy = rewrite::addValue(builder, changed, changed.kind);
    if (value.facts) {
        builder.note(copy, value.facts);
    }
    return copy;
}

/// Which values the copy has: inputs, what a kept node reads or makes, outputs; everything, where all nodes are kept.
std::vector<bool> keptValues(const graph::Graph& graph, const GraphChanges& changes, std::span<const ValueId> outputs)
{
    std::vector<bool> isKept(graph.valueCount(), !changes.keptNodes);
    const auto keep = [&isKept](std::span<const ValueId> values) {
        for (const ValueId value : values) {
            if (value.isValid()) {
                isKept[value.index()] = true;
            }
        }
    };
    keep(changes.ownInputs ? std::span(*changes.ownInputs) : graph.inputs());
    keep(outputs);
    for (std::size_t i = 0; changes.keptNodes && i < graph.nodeCount(); ++i) {
        if ((*changes.keptNodes)[i]) {
            keep(graph.node(base::NodeId(i)).inputs);
            keep(graph.node(base::NodeId(i)).outputs);
        }
    }
    return isKept;
}

} // namespace

base::Result<std::shared_ptr<const graph::Graph>> changedGraph(const graph::Graph& graph, const GraphChanges& changes,
                                                               const std::stop_token& stop)
{
    graph::GraphBuilder builder(changes.name.empty() ? graph.name() : changes.name);
    builder.setOpsets(graph);
    const std::span<const ValueId> outputs = changes.outputs ? std::span(*changes.outputs) : graph.outputs();
    std::vector<bool> isKept = keptValues(graph, changes, outputs);
    for (const NewInput& input : changes.inputs) {
        isKept[input.value.index()] = false;
    }
    std::vector<ValueId> ids(graph.valueCount());
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        if (isKept[i]) {
            ids[i] = addCopy(builder, graph.value(ValueId(i)), ValueId(i), changes);
        }
    }
    for (const NewInput& input : changes.inputs) {
        ids[input.value.index()] = builder.addInput(graph.value(input.value).name, input.dtype, input.shape);
    }
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        if (!changes.keptNodes || (*changes.keptNodes)[i]) {
            graph::Node node = renumbered(graph.node(base::NodeId(i)), ids);
            if (changes.node) {
                changes.node(builder, ids, base::NodeId(i), node);
            }
            builder.addNode(std::move(node));
        }
    }
    for (const ValueId output : outputs) {
        builder.addOutput(ids[output.index()]);
    }
    RETRO_TRY(graph::Graph copy, std::move(builder).build(stop));
    return std::make_shared<const graph::Graph>(std::move(copy));
}

} // namespace retro::engine
