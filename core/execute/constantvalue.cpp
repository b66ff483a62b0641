// SPDX-License-Identifier: Apache-2.0
#include "core/execute/constantvalue.h"

#include "core/execute/runnode.h"
#include "core/graph/reach.h"

#include <algorithm>
#include <map>
#include <set>

namespace retro::execute
{

namespace
{

/// The nodes that make a value of constants, in an order in which they can run; none where an input is below it.
std::set<NodeId> nodesBelow(const BoundModel& model, ValueId wanted)
{
    const graph::Graph& graph = model.graph();
    std::set<NodeId> nodes =
        graph::nodesMaking(graph, wanted, [&model](ValueId value) { return model.isConstant(value); });
    const auto isGiven = [&](ValueId value) {
        return value.isValid() && !model.isConstant(value) && !graph.value(value).producer.isValid();
    };
    const auto readsGiven = [&](NodeId node) { return std::ranges::any_of(graph.node(node).inputs, isGiven); };
    return std::ranges::any_of(nodes, readsGiven) ? std::set<NodeId>() : nodes;
}

} // namespace

Tensor constantValue(const BoundModel& model, ValueId value)
{
    if (model.isConstant(value)) {
        return model.constant(value);
    }
    std::map<ValueId, Tensor> made;
    for (const NodeId id : nodesBelow(model, value)) {
        auto results = runNode(
            model, id, [&made](ValueId operand) { return made[operand]; }, RunKind::Aside);
        if (!results.ok()) {
            return {};
        }
        const std::vector<ValueId>& outputs = model.graph().node(id).outputs;
        for (std::size_t k = 0; k < std::min(outputs.size(), results->size()); ++k) {
            made[outputs[k]] = std::move((*results)[k]);
        }
    }
    return made[value];
}

} // namespace retro::execute
