// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/regionpass.h"

#include "core/base/cancel.h"
#include "core/lrp/rules/columnweights.h"
#include "core/ops/algebra.h"
#include "core/ops/runoperator.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::lrp
{

namespace
{

base::Error refusal(const execute::BoundModel& model, NodeId node, const AssignedRule& assigned,
                    const std::string& fault)
{
    const graph::Node& definition = model.graph().node(node);
    const std::string rule = assigned.rule ? assigned.rule->text() : "none";
    const std::string why =
        fault.empty()
            ? fmt::format("its rule \"{}\" shares out by the relevance itself, so the way back has no weights", rule)
            : fmt::format("how relevance passes {} ({}, rule {}) forwards is not known: {}", definition.name,
                          definition.op, rule, fault);
    return base::inputError(why + "; choose another rule for it with --rule, or ask for no region",
                            ops::placeOf(definition));
}

} // namespace

ops::Reads readsForWeights(const execute::BoundModel& model, NodeId node, const RuleSite& site)
{
    ops::Reads reads = site.rule->reads(model.op(node), site.tracked);
    for (std::size_t slot = 0; slot < site.tracked.size(); ++slot) {
        reads.operands |= site.tracked[slot] == 0 ? ops::Reads::bit(slot) : 0;
    }
    return reads;
}

base::Result<void> checkWeighable(const execute::BoundModel& model, const RuleAssignment& rules,
                                  const TraversalGraph& graph)
{
    for (const NodeId node : graph.postOrder()) {
        if (graph.children(node).empty()) {
            continue;
        }
        const AssignedRule& assigned = rules[node.index()];
        const LinearRule* linear = assigned.rule ? asLinear(*assigned.rule) : nullptr;
        if (linear == nullptr) {
            return refusal(model, node, assigned, {});
        }
        const std::string fault = linear->noForward(model.op(node), trackedSlots(graph, node));
        if (!fault.empty() && !hasFewResults(model.op(node))) {
            return refusal(model, node, assigned, fault + ", and its results are too many to try each by itself");
        }
    }
    return {};
}

namespace
{

class RegionPass
{
public:
    explicit RegionPass(const RegionQuestion& question)
        : m_question(question), m_graph(question.model.graph()), m_weights(m_graph.valueCount())
    {}

    base::Result<std::vector<Tensor>> run()
    {
        std::size_t done = 0;
        const auto order = m_question.graph.postOrder();
        for (const NodeId node : order) {
            RETRO_CHECK(base::checkStop(m_question.stop));
            if (m_graph.isInput(node)) {
                takeMask(node);
            } else {
                weigh(node);
            }
            if (m_question.seed.isValid() && m_graph.nodeOf(m_question.seed) == node) {
                m_weights[m_question.seed.index()] = m_question.seedWeights;
            }
            if (m_question.progress) {
                m_question.progress(++done, order.size());
            }
        }
        return std::move(m_weights);
    }

private:
    void takeMask(NodeId node)
    {
        const ValueId value = m_graph.outputsOf(node)[0];
        const auto inputs = m_graph.inputs();
        const auto at = static_cast<std::size_t>(std::ranges::find(inputs, value) - inputs.begin());
        if (at < m_question.masks.size()) {
            m_weights[value.index()] = m_question.masks[at];
        }
    }

    /// Per operand slot of a node; true when one of them is not zero.
    bool operandWeights(NodeId node, std::vector<Tensor>& weights) const
    {
        const std::span<const ChildSlot> children = m_question.graph.children(node);
        bool isAny = false;
        for (std::size_t slot = 0; slot < children.size(); ++slot) {
            Tensor w;
            if (children[slot].child.isValid()) {
                const ValueId value = m_graph.outputsOf(children[slot].child)[children[slot].output];
                w = m_weights[value.index()];
            }
            if (const auto* tokens = m_question.model.tokensAt(node, slot); tokens != nullptr && w.isValid()) {
                w = tokens->fromInput(w);
            }
            isAny = isAny || w.isValid();
            weights.push_back(std::move(w));
        }
        return isAny;
    }

    void weigh(NodeId node)
    {
        const RulePointer& rule = m_question.rules[node.index()].rule;
        const RuleSite site = ruleSite(m_question.model, node, rule, trackedSlots(m_question.graph, node));
        std::vector<Tensor> weights;
        if (!operandWeights(node, weights)) {
            return; // out of sight of the region
        }
        const NodeValues values = m_question.values(node, readsForWeights(m_question.model, node, site));
        const auto made = base::placed(
            [&] { return ops::placeOf(m_graph.node(node)); },
            [&] {
                if (m_question.memory != nullptr) {
                    m_question.memory->begin(node);
                }
                const ops::BoundOperator& op = m_question.model.op(node);
                const WeighContext context{op,         values.operands, values.outputs,    site.tracked,
                                           site.types, weights,         m_question.memory, m_question.stop};
                return asLinear(*rule)->noForward(op, site.tracked).empty() ? asLinear(*rule)->weigh(context)
                                                                            : weighByColumns(*rule, context);
            });
        const auto outputs = m_graph.outputsOf(node);
        for (std::size_t k = 0; k < outputs.size() && k < made.size(); ++k) {
            if (outputs[k].isValid() && made[k].isValid() && tensor::isFloating(made[k].dtype())) {
                m_weights[outputs[k].index()] = made[k];
            }
        }
    }

    const RegionQuestion& m_question;
    const graph::Graph& m_graph;
    std::vector<Tensor> m_weights;
};

} // namespace

base::Result<std::vector<Tensor>> regionWeights(const RegionQuestion& question)
{
    RETRO_CHECK(checkWeighable(question.model, question.rules, question.graph));
    return RegionPass(question).run();
}

} // namespace retro::lrp
