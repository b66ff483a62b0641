// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/parameterrelevance.h"

#include "core/base/cancel.h"
#include "core/lrp/rules/gradientorder.h"
#include "core/lrp/traversal/parameterrelevance.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "core/ops/algebra.h"
#include "core/trace/wrongnumber.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace retro::engine
{

namespace algebra = ops::algebra;
using base::NodeId;
using base::Result;
using base::ValueId;
using tensor::Tensor;

namespace
{

/// A node that relevance reached and that reads floating constants.
struct Reader
{
    NodeId node;
    lrp::RuleSite site;
    std::vector<Tensor> relevance; ///< per output
};

class Parameters
{
public:
    Parameters(const ParameterQuestion& question, const lrp::TraversalGraph& reached)
        : m_question(question), m_graph(question.model->graph())
    {
        for (const NodeId node : reached.postOrder()) {
            if (!m_graph.isInput(node)) {
                addReader(node, reached);
            }
        }
    }

    Result<std::vector<ParameterRelevance>> find()
    {
        RETRO_CHECK(findValues());
        for (const Reader& reader : m_readers) {
            RETRO_CHECK(base::checkStop(m_question.stop));
            RETRO_CHECK(addSharesOf(reader));
        }
        std::vector<ParameterRelevance> all;
        for (std::size_t i = 0; i < m_graph.valueCount(); ++i) {
            if (isParameter(ValueId(i))) {
                all.push_back(taken(ValueId(i)));
            }
        }
        return all;
    }

private:
    void addReader(NodeId node, const lrp::TraversalGraph& reached)
    {
        const lrp::AssignedRule& assigned = m_question.rules[node.index()];
        if (!assigned.rule || lrp::parameterSlots(*m_question.model, node).empty()) {
            return;
        }
        std::vector<Tensor> relevance;
        for (const ValueId output : m_graph.outputsOf(node)) {
            relevance.push_back(output.isValid() ? m_question.relevance[output.index()] : Tensor());
        }
        if (std::ranges::any_of(relevance, [](const Tensor& each) { return each.isValid(); })) {
            m_readers.push_back(
                {node, lrp::ruleSite(*m_question.model, node, assigned.rule, lrp::trackedSlots(reached, node)),
                 std::move(relevance)});
        }
    }

    [[nodiscard]] bool isParameter(ValueId value) const
    {
        return m_graph.value(value).kind == graph::ValueKind::Constant && !m_graph.uses(value).empty() &&
               tensor::isFloating(m_question.model->typeOf(value).dtype);
    }

    /// Computed operands and outputs that the shares of a reader are made of.
    [[nodiscard]] std::vector<ValueId> valuesOf(const Reader& reader) const
    {
        const ops::Reads reads = lrp::readsForParameters(*m_question.model, reader.node, reader.site);
        const std::vector<ValueId>& inputs = m_graph.node(reader.node).inputs;
        const auto outputs = m_graph.outputsOf(reader.node);
        std::vector<ValueId> values;
        for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
            if (reads.operand(slot) && inputs[slot].isValid() && !m_question.model->isConstant(inputs[slot])) {
                values.push_back(inputs[slot]);
            }
        }
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            if (reads.output(k) && outputs[k].isValid()) {
                values.push_back(outputs[k]);
            }
        }
        return values;
    }

    /// Takes the values that were kept.
    [[nodiscard]] std::set<ValueId> takeKept()
    {
        std::set<ValueId> missing;
        for (const Reader& reader : m_readers) {
            for (const ValueId value : valuesOf(reader)) {
                m_values[value] = m_question.saved != nullptr ? m_question.saved->anyValue(value) : Tensor();
                if (!m_values[value].isValid()) {
                    missing.insert(value);
                }
            }
        }
        return missing;
    }

    /// What was not kept comes from a forward pass.
    Result<void> findValues()
    {
        const std::set<ValueId> missing = takeKept();
        if (missing.empty()) {
            return {};
        }
        const auto store = std::make_shared<execute::MemoryValueStore>(m_graph.valueCount());
        const std::vector<ValueId> asked(missing.begin(), missing.end());
        RETRO_CHECK(execute::forwardInto(store, m_question.model, m_question.inputs, asked, m_question.stop));
        for (const ValueId value : asked) {
            m_values[value] = store->get(value);
        }
        for (std::size_t i = 0; i < m_graph.inputs().size(); ++i) {
            m_values[m_graph.inputs()[i]] = m_question.inputs[i];
        }
        return {};
    }

    [[nodiscard]] Tensor valueOf(ValueId value) const
    {
        if (!value.isValid()) {
            return {};
        }
        const auto found = m_values.find(value);
        return found == m_values.end() ? m_question.model->constant(value) : found->second;
    }

    Result<void> addSharesOf(const Reader& reader)
    {
        lrp::NodeValues values;
        for (const ValueId operand : m_graph.node(reader.node).inputs) {
            values.operands.push_back(valueOf(operand));
        }
        for (const ValueId output : m_graph.outputsOf(reader.node)) {
            values.outputs.push_back(valueOf(output));
        }
        for (lrp::ParameterShare& share :
             lrp::parameterShares(*m_question.model, reader.node, reader.site, reader.relevance, values)) {
            RETRO_CHECK(addShare(reader, m_graph.node(reader.node).inputs[share.slot], std::move(share)));
        }
        return {};
    }

    Result<void> addShare(const Reader& reader, ValueId value, lrp::ParameterShare share)
    {
        if (!share.relevance.isValid()) {
            m_reasons[value].insert(share.reason);
            return {};
        }
        if (m_question.timesInput && !share.isProduct) {
            share.relevance = algebra::multiply(share.relevance, m_question.model->constant(value));
        }
        if (const std::string wrong = trace::wrongElementOf(share.relevance);
            !wrong.empty() && !m_question.goesOnWhenNotFinite) {
            return base::Error{
                base::ErrorCode::Engine,
                fmt::format("the relevance of the parameter \"{}\" is {}; rule {}; look at the weights, "
                            "choose another rule or a larger epsilon for the node, or go on with --go-on",
                            m_graph.value(value).name, wrong, reader.site.rule->text()),
                fmt::format("node \"{}\"", m_graph.node(reader.node).name)};
        }
        Tensor& sum = m_sums[value];
        sum = sum.isValid() ? algebra::add(sum, share.relevance) : std::move(share.relevance);
        return {};
    }

    ParameterRelevance taken(ValueId value)
    {
        const auto reasons = m_reasons.find(value);
        if (reasons != m_reasons.end()) {
            return {value, {}, {reasons->second.begin(), reasons->second.end()}};
        }
        const auto sum = m_sums.find(value);
        return sum == m_sums.end() ? ParameterRelevance{value, {}, {"no relevance reached a node that reads it"}}
                                   : ParameterRelevance{value, std::move(sum->second), {}};
    }

    const ParameterQuestion& m_question;
    const graph::Graph& m_graph;
    std::vector<Reader> m_readers;
    std::map<ValueId, Tensor> m_values;
    std::map<ValueId, Tensor> m_sums;
    std::map<ValueId, std::set<std::string>> m_reasons;
};

} // namespace

Result<std::vector<ParameterRelevance>> parameterRelevance(const ParameterQuestion& question)
{
    RETRO_TRY(const lrp::TraversalGraph graph,
              lrp::TraversalGraph::build(*question.model, question.targets, lrp::edgeOrder(question.rules)));
    return Parameters(question, graph).find();
}

} // namespace retro::engine
