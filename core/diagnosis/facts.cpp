// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/facts.h"

#include "core/diagnosis/attentionmaps.h"
#include "core/diagnosis/compared.h"
#include "core/graph/reach.h"
#include "core/ops/algebra.h"

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

Facts::Facts(Sources sources) : m_sources(std::move(sources)) {}

void Facts::findPass() const
{
    if (m_isAsked) {
        return;
    }
    m_isAsked = true;
    if (!m_sources.makePass) {
        return;
    }
    base::Result<Pass> made = m_sources.makePass();
    if (!made) {
        m_failure = m_failure ? m_failure : std::optional(made.error());
        return;
    }
    m_pass = std::move(made).value();
    const std::size_t count = m_pass->graph->valueCount();
    m_values.resize(count);
    m_statistics.resize(count);
    m_magnitudes.resize(count);
}

const Pass* Facts::pass() const
{
    findPass();
    return m_pass ? &*m_pass : nullptr;
}

const std::optional<base::Error>& Facts::failure() const
{
    findPass();
    return m_failure;
}

Tensor Facts::known(ValueId value) const
{
    if (Tensor kept = m_pass->kept ? m_pass->kept(value) : Tensor(); kept.isValid()) {
        return kept;
    }
    if (m_values[value.index()].isValid()) {
        return m_values[value.index()];
    }
    if (m_pass->model && m_pass->model->isConstant(value)) {
        return m_pass->model->constant(value);
    }
    return m_pass->graph->value(value).constant;
}

std::optional<std::set<NodeId>> Facts::nodesMaking(ValueId wanted) const
{
    const graph::Graph& graph = *m_pass->graph;
    const auto isLacking = [&](ValueId value) { // an input that nobody has
        return value.isValid() && !graph.value(value).producer.isValid() && !known(value).isValid();
    };
    std::set<NodeId> nodes =
        graph::nodesMaking(graph, wanted, [this](ValueId value) { return known(value).isValid(); });
    const bool isPossible = !isLacking(wanted) && std::ranges::none_of(nodes, [&](NodeId node) {
        return std::ranges::any_of(graph.node(node).inputs, isLacking);
    });
    return isPossible ? std::optional(std::move(nodes)) : std::nullopt;
}

bool Facts::runNode(NodeId id) const
{
    const graph::Node& node = m_pass->graph->node(id);
    std::vector<Tensor> operands;
    for (const ValueId operand : node.inputs) {
        operands.push_back(operand.isValid() ? known(operand) : Tensor());
    }
    const ops::BoundOperator& op = m_pass->model->op(id);
    if (!op.check(operands)) {
        return false;
    }
    const std::vector<Tensor> results = op.run(operands);
    for (std::size_t k = 0; k < results.size() && k < node.outputs.size(); ++k) {
        if (const ValueId output = node.outputs[k]; output.isValid()) {
            m_values[output.index()] = results[k];
        }
    }
    return true;
}

Tensor Facts::computed(ValueId wanted) const
{
    if (!m_pass->model || !m_pass->hasForward) {
        return {};
    }
    const std::optional<std::set<NodeId>> nodes = nodesMaking(wanted);
    if (!nodes) {
        return {};
    }
    for (const NodeId node : *nodes) {
        if (stop().stop_requested() || !runNode(node)) {
            return {};
        }
    }
    return known(wanted);
}

Tensor Facts::value(ValueId value) const
{
    if (!value.isValid() || pass() == nullptr) {
        return {};
    }
    const Tensor have = known(value);
    return have.isValid() ? have : computed(value);
}

const Statistics& Facts::statistics(ValueId value) const
{
    static const Statistics kNone;
    if (!value.isValid() || pass() == nullptr) {
        return kNone;
    }
    std::optional<Statistics>& kept = m_statistics[value.index()];
    if (!kept) {
        kept = statisticsOf(this->value(value));
    }
    return *kept;
}

Tensor Facts::relevance(ValueId value) const
{
    const Pass* pass = this->pass();
    return pass != nullptr && value.index() < pass->relevance.size() ? pass->relevance[value.index()] : Tensor();
}

double Facts::magnitude(ValueId value) const
{
    if (!value.isValid() || pass() == nullptr) {
        return 0;
    }
    std::optional<double>& kept = m_magnitudes[value.index()];
    if (!kept) {
        const Tensor relevance = this->relevance(value);
        const NodeId producer = graph().value(value).producer;
        if (relevance.isValid()) {
            kept = ops::algebra::sumAbsolute(relevance);
        } else if (producer.isValid() && graph().node(producer).outputs.size() == 1) {
            kept = balance(producer).magnitude; // of a tensor that a run file let go
        } else {
            kept = 0;
        }
    }
    return *kept;
}

double Facts::sum(ValueId value) const
{
    const Tensor relevance = this->relevance(value);
    return relevance.isValid() ? ops::algebra::sum(relevance) : 0;
}

void Facts::findBalances() const
{
    if (!m_balances.empty()) {
        return;
    }
    m_balances.resize(graph().runNodeCount());
    for (std::size_t i = 0; i < m_balances.size(); ++i) {
        m_balances[i].node = NodeId(i);
    }
    trace::addRows(m_balances, m_pass->ledger);
}

const trace::NodeBalance& Facts::balance(NodeId node) const
{
    static const trace::NodeBalance kNone;
    if (pass() == nullptr || !node.isValid()) {
        return kNone;
    }
    findBalances();
    return node.index() < m_balances.size() ? m_balances[node.index()] : kNone;
}

double Facts::share(NodeId node, event::Cause cause) const
{
    const trace::NodeBalance& balance = this->balance(node);
    return balance.magnitude > 0 ? std::abs(balance.causes[static_cast<std::size_t>(cause)]) / balance.magnitude : 0;
}

double Facts::start() const { return pass() != nullptr ? magnitude(pass()->target) : 0; }

const std::vector<bool>& Facts::leadsToTarget() const
{
    if (m_leads.empty() && pass() != nullptr) {
        m_leads = ancestorsOf(graph(), m_pass->target);
    }
    return m_leads;
}

const ops::BoundOperator* Facts::op(NodeId node) const
{
    return pass() != nullptr && m_pass->model && node.index() < graph().nodeCount() ? &m_pass->model->op(node)
                                                                                    : nullptr;
}

bool Facts::isKind(NodeId node, ops::StructureKind kind) const
{
    if (const ops::BoundOperator* op = this->op(node)) {
        return op->structure().kind() == kind;
    }
    const Pass* pass = this->pass();
    return pass != nullptr && node.index() < pass->rules.size() &&
           pass->rules[node.index()].structure == ops::nameOf(kind);
}

tensor::Shape Facts::shape(ValueId value) const
{
    return pass() != nullptr && value.index() < m_pass->shapes.size() ? m_pass->shapes[value.index()] : tensor::Shape();
}

std::string Facts::ruleName(NodeId node) const
{
    const Pass* pass = this->pass();
    if (pass == nullptr || node.index() >= pass->rules.size()) {
        return {};
    }
    const std::string& text = pass->rules[node.index()].rule;
    return text.substr(0, text.find_first_of(" ,"));
}

const std::vector<AttentionMap>& Facts::attentionMaps() const
{
    if (m_attention == nullptr) {
        m_attention = std::make_shared<const std::vector<AttentionMap>>(attentionMapsOf(*this));
    }
    return *m_attention;
}

const Compared* Facts::compared() const
{
    if (!m_compared && m_reference) {
        m_compared = compareModels(*this, *m_reference);
    }
    return m_compared.get();
}

const ComparedPasses* Facts::comparedPasses() const
{
    if (!m_comparedPasses && m_reference) {
        m_comparedPasses = comparePasses(*this, *m_reference);
    }
    return m_comparedPasses.get();
}

NodeId Facts::nodeOfPass(const std::string& name) const
{
    if (pass() == nullptr) {
        return {};
    }
    std::string now = name;
    for (const rewrite::RewriteStep& step : m_sources.steps) {
        const bool isTaken = std::ranges::find(step.removed, now) != step.removed.end();
        if (isTaken && step.added.size() == 1) {
            now = step.added.front();
        }
    }
    const std::optional<NodeId> found = graph().findNode(now);
    return found ? *found : NodeId();
}

ValueId Facts::valueOfPass(const std::string& name) const
{
    const std::optional<ValueId> found = pass() != nullptr ? graph().findValue(name) : std::nullopt;
    return found ? *found : ValueId();
}

Place Facts::place(NodeId node) const
{
    const bool isInput = graph().isInput(node);
    return {isInput ? PlaceKind::Input : PlaceKind::Node, graph().labelOf(node), node,
            isInput ? graph().outputsOf(node).front() : ValueId()};
}

Place Facts::place(ValueId value) const
{
    const bool isInput = graph().value(value).kind == graph::ValueKind::Input;
    return {isInput ? PlaceKind::Input : PlaceKind::Value, graph().value(value).name, graph().nodeOf(value), value};
}

} // namespace retro::diagnosis
