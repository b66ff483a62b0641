// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/openfused.h"

#include "core/execute/forward.h"
#include "core/lrp/oracle.h"
#include "core/lrp/traversalgraph.h"

#include <algorithm>

namespace retro::lrp
{

namespace
{

base::Result<RuleAssignment> rulesOf(const OpenRequest& request, Composite composite, const execute::BoundModel& model)
{
    std::erase_if(composite.entries, [](const CompositeEntry& entry) { return entry.matcher.firstWeight; });
    RETRO_TRY(RuleAssignment rules, assignRules(composite, model));
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const bool isSame = model.op(NodeId(i)).structure().kind() == request.structure;
        if (rules[i].rule && request.rule && isSame) {
            rules[i] = {request.rule, "the fused node"};
        }
    }
    return rules;
}

void addValues(OpenedNode& opened, const execute::SavedValues& saved, const TraversalGraph& graph,
               const RelevanceTable& table)
{
    const graph::Graph& members = opened.model->graph();
    const auto add = [&](NodeId node, bool isOperand) {
        const auto outputs = members.outputsOf(node);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            if (outputs[k].isValid()) {
                const bool isReached = graph.contains(node) && k < table[node.index()].size();
                opened.values.push_back({members.value(outputs[k]).name, isOperand, saved.anyValue(outputs[k]),
                                         isReached ? table[node.index()][k] : Tensor()});
            }
        }
    };
    for (std::size_t i = members.nodeCount(); i < members.runNodeCount(); ++i) {
        add(NodeId(i), true);
    }
    for (std::size_t i = 0; i < members.nodeCount(); ++i) {
        add(NodeId(i), false);
    }
}

} // namespace

base::Result<OpenedNode> openFused(const OpenRequest& request, const Composite& composite, const std::stop_token& stop)
{
    std::vector<ops::TensorType> types;
    for (const Tensor& operand : request.operands) {
        types.push_back({operand.dtype(), operand.shape()});
    }
    OpenedNode opened;
    RETRO_TRY(opened.model, execute::BoundModel::bind(request.members, types, request.precision));
    RETRO_TRY(opened.rules, rulesOf(request, composite, *opened.model));
    RETRO_TRY(const execute::ForwardResult forward,
              execute::forward(opened.model, request.operands, execute::SavePolicy::All, stop));
    RETRO_TRY(const TraversalGraph graph, TraversalGraph::build(*opened.model, request.members->outputs()[0]));
    RETRO_TRY(const RelevanceTable table, oracle(forward.saved, opened.rules, graph, request.relevance, stop));
    addValues(opened, forward.saved, graph, table);
    return opened;
}

} // namespace retro::lrp
