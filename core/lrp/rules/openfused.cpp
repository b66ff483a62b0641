// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/openfused.h"

#include "core/execute/forward.h"
#include "core/lrp/rules/decomposedrule.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "core/ops/algebra.h"

#include <algorithm>

namespace retro::lrp
{

namespace
{

base::Result<RuleAssignment> rulesOf(const OpenRequest& request, Composite composite, const execute::BoundModel& model)
{
    const RuleAssignment* const own = request.rule ? rulesOfParts(*request.rule) : nullptr;
    if (own != nullptr && own->size() == model.graph().nodeCount()) {
        return *own;
    }
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

void add(const RelevanceTable& more, RelevanceTable& table)
{
    for (std::size_t i = 0; i < more.size(); ++i) {
        table[i].resize(std::max(table[i].size(), more[i].size()));
        for (std::size_t k = 0; k < more[i].size(); ++k) {
            Tensor& sum = table[i][k];
            if (more[i][k].isValid()) {
                sum = sum.isValid() ? ops::algebra::add(sum, more[i][k]) : more[i][k];
            }
        }
    }
}

/// Relevance of everything inside, from all outputs that some arrived at.
base::Result<RelevanceTable> carriedBack(const OpenRequest& request, const OpenedNode& opened,
                                         const execute::SavedValues& saved, const std::stop_token& stop)
{
    const graph::Graph& members = opened.model->graph();
    RelevanceTable table(members.runNodeCount());
    for (std::size_t i = 0; i < members.outputs().size(); ++i) {
        const graph::ValueId output = members.outputs()[i];
        if (i < request.relevance.size() && request.relevance[i].isValid() && opened.model->isTracked(output)) {
            RETRO_TRY(const TraversalGraph graph, TraversalGraph::build(*opened.model, output));
            RETRO_TRY(const RelevanceTable more, oracle(saved, opened.rules, graph, request.relevance[i], stop));
            add(more, table);
        }
    }
    return table;
}

void addValues(OpenedNode& opened, const execute::SavedValues& saved, const RelevanceTable& table)
{
    const graph::Graph& members = opened.model->graph();
    const auto add = [&](NodeId node, bool isOperand) {
        const auto outputs = members.outputsOf(node);
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            if (outputs[k].isValid()) {
                const bool isReached = k < table[node.index()].size();
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
    RETRO_TRY(opened.model, execute::BoundModel::bind(request.members, types, execute::insideOf(request.precision)));
    RETRO_TRY(opened.rules, rulesOf(request, composite, *opened.model));
    RETRO_TRY(const execute::ForwardResult forward,
              execute::forward(opened.model, request.operands, execute::SavePolicy::All, stop));
    RETRO_TRY(const RelevanceTable table, carriedBack(request, opened, forward.saved, stop));
    addValues(opened, forward.saved, table);
    return opened;
}

} // namespace retro::lrp
