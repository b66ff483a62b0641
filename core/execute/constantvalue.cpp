// SPDX-License-Identifier: Apache-2.0
#include "core/execute/constantvalue.h"

#include "core/execute/runnode.h"

#include <map>
#include <optional>
#include <set>

namespace retro::execute
{

namespace
{

/// The nodes that make a value of constants, in an order in which they can run; nothing where an input is below it.
std::optional<std::set<NodeId>> nodesBelow(const BoundModel& model, ValueId wanted)
{
    std::set<NodeId> nodes;
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        if (!value.isValid() || model.isConstant(value)) {
            continue;
        }
        const NodeId node = model.graph().nodeOf(value);
        if (!node.isValid() || model.graph().isInput(node)) {
            return std::nullopt;
        }
        if (nodes.insert(node).second) {
            const std::vector<ValueId>& operands = model.graph().node(node).inputs;
            open.insert(open.end(), operands.begin(), operands.end());
        }
    }
    return nodes;
}

} // namespace

Tensor constantValue(const BoundModel& model, ValueId value)
{
    if (model.isConstant(value)) {
        return model.constant(value);
    }
    const auto nodes = nodesBelow(model, value);
    if (!nodes) {
        return {};
    }
    std::map<ValueId, Tensor> made;
    for (const NodeId id : *nodes) {
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
