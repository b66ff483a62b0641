// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/ruleapplication.h"

#include "core/execute/tokenpath.h"
#include "core/ops/lookup.h"

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

namespace
{

// What tokens got, in the shape of the input that they are.
Tensor toInput(const execute::BoundModel& model, ValueId tokens, Tensor part)
{
    const auto path =
        execute::tokenPath(model.graph(), tokens, [&](NodeId id) -> const ops::BoundOperator& { return model.op(id); });
    for (std::size_t i = 0; path && i < path->nodes.size(); ++i) {
        part = dynamic_cast<const ops::ShapeMap&>(model.op(path->nodes[i])).carryBack({&part, 1}, 0);
    }
    return part;
}

} // namespace

RuleSite ruleSite(const execute::BoundModel& model, NodeId node, RulePointer rule, std::vector<std::uint8_t> tracked)
{
    RuleSite site{std::move(rule), std::move(tracked), {}, {}};
    for (std::size_t slot = 0; slot < site.tracked.size(); ++slot) {
        const ValueId operand = model.graph().node(node).inputs[slot];
        site.types.push_back(operand.isValid() ? model.typeOf(operand) : ops::TensorType{});
        if (site.tracked[slot] == 0) {
            continue;
        }
        site.types.back().dtype = execute::dtypeOf(model.precision()); // relevance of tokens, which are integers
        if (ops::isTokenSlot(model.op(node).structure(), slot)) {
            site.tokenSlots.push_back(slot);
        }
    }
    return site;
}

std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const RuleSite& site,
                              std::span<const Tensor> relevance, const NodeValues& values, event::LedgerEntry* row)
{
    std::vector<Tensor> parts =
        site.rule->apply({model.op(node), values.operands, values.outputs, relevance, site.tracked, site.types, row});
    for (const std::size_t slot : site.tokenSlots) {
        parts[slot] = toInput(model, model.graph().node(node).inputs[slot], std::move(parts[slot]));
    }
    return parts;
}

std::vector<Tensor> applyRule(const execute::BoundModel& model, NodeId node, const RulePointer& rule,
                              std::span<const std::uint8_t> tracked, std::span<const Tensor> relevance,
                              const NodeValues& values, event::LedgerEntry* row)
{
    return applyRule(model, node, ruleSite(model, node, rule, {tracked.begin(), tracked.end()}), relevance, values,
                     row);
}

} // namespace retro::lrp
