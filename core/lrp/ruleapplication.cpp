// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/ruleapplication.h"

namespace retro::lrp
{

std::vector<std::uint8_t> trackedSlots(const TraversalGraph& graph, NodeId node)
{
    std::vector<std::uint8_t> tracked;
    for (const ChildSlot& slot : graph.children(node)) {
        tracked.push_back(slot.child.isValid() ? 1 : 0);
    }
    return tracked;
}

std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const Rule& rule,
                              std::span<const std::uint8_t> tracked, std::span<const Tensor> relevance,
                              const NodeValues& values, event::LedgerEntry* row)
{
    std::vector<ops::TensorType> types;
    for (std::size_t slot = 0; slot < tracked.size(); ++slot) {
        const ValueId operand = model.graph().node(node).inputs[slot];
        types.push_back(operand.isValid() ? model.typeOf(operand) : ops::TensorType{});
        if (tracked[slot] != 0) {
            types.back().dtype = execute::dtypeOf(model.precision()); // relevance of tokens, which are integers
        }
    }
    return rule.apply({model.op(node), values.operands, values.outputs, relevance, tracked, types, row});
}

} // namespace retro::lrp
