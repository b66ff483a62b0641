// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/rules/rulefixture.h"

#include "core/lrp/rules/columnweights.h"
#include "core/lrp/rules/linearrule.h"

#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace retro::tests
{

Tensor doubles(Shape shape, const std::vector<double>& values) { return Tensor::of<double>(std::move(shape), values); }

Tensor noise(Shape shape, unsigned seed)
{
    std::mt19937 random(seed);
    std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (double& value : values) {
        const double unit = (static_cast<double>(random() >> 8U) + 0.5) / static_cast<double>(1U << 24U);
        value = 2 * unit - 1;
    }
    return doubles(std::move(shape), values);
}

std::vector<double> valuesOf(const Tensor& tensor)
{
    std::vector<double> values;
    for (std::int64_t i = 0; tensor.isValid() && i < tensor.size(); ++i) {
        values.push_back(tensor.at(i));
    }
    return values;
}

double distance(const std::vector<double>& a, const std::vector<double>& b)
{
    if (a.size() != b.size()) {
        return 1e300;
    }
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double gap = std::abs(a[i] - b[i]);
        largest = gap <= largest ? largest : gap; // NaN is carried on
    }
    return largest;
}

OneNode::OneNode(std::string op, std::vector<Operand> operands, graph::Attributes attributes,
                 execute::Precision precision, std::size_t outputCount, std::string domain)
{
    graph::GraphBuilder builder("one node");
    const std::int64_t opset = op == "LayerNormalization" ? 17 : op == "GroupNormalization" ? 21 : 13; // newer ones
    builder.setOpset("", opset);
    builder.setOpset("ai.retrograde", 1);
    graph::Node node;
    node.op = std::move(op);
    node.name = "node";
    node.opset = domain.empty() ? opset : 1;
    node.domain = std::move(domain);
    node.attributes = std::move(attributes);
    std::vector<ops::TensorType> types;
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const Tensor& value = operands[slot].value;
        const std::string name = fmt::format("v{}", slot);
        if (operands[slot].isConstant) {
            node.inputs.push_back(builder.addConstant(name, value));
        } else {
            node.inputs.push_back(builder.addInput(name, value.dtype(), value.shape()));
            types.push_back({value.dtype(), value.shape()});
        }
    }
    for (std::size_t k = 0; k < outputCount; ++k) {
        node.outputs.push_back(builder.addResult(fmt::format("y{}", k)));
    }
    const std::vector<graph::ValueId> inputs = node.inputs;
    const std::vector<graph::ValueId> outputs = node.outputs;
    builder.addNode(std::move(node));
    for (const graph::ValueId output : outputs) {
        builder.addOutput(output);
    }
    auto built = std::move(builder).build();
    auto bound =
        execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(built).value()), types, precision);
    if (!bound.ok()) {
        qFatal("%s", bound.error().text().c_str());
    }
    m_model = std::move(bound).value();
    for (std::size_t slot = 0; slot < operands.size(); ++slot) {
        const bool floating = tensor::isFloating(operands[slot].value.dtype());
        m_operands.push_back(floating ? operands[slot].value.to(execute::dtypeOf(precision)) : operands[slot].value);
        m_tracked.push_back(m_model->isTracked(inputs[slot]) ? 1 : 0);
    }
}

namespace
{

/// Σ a·b and Σ|a·b| over tensors that are there on both sides.
std::pair<double, double> product(const std::vector<Tensor>& a, const std::vector<Tensor>& b)
{
    double sum = 0;
    double magnitude = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        for (std::int64_t at = 0; a[i].isValid() && b[i].isValid() && at < a[i].size(); ++at) {
            sum += a[i].at(at) * b[i].at(at);
            magnitude += std::abs(a[i].at(at) * b[i].at(at));
        }
    }
    return {sum, magnitude};
}

/// ⟨weigh(w), R⟩ = ⟨w, apply(R)⟩ for weights drawn by chance, where the rule is linear.
void checkTranspose(const lrp::Rule& rule, const lrp::WeighContext& place, const std::vector<Tensor>& relevance,
                    const std::vector<Tensor>& parts)
{
    const lrp::LinearRule* const linear = lrp::asLinear(rule);
    const bool isKnown = linear != nullptr && linear->noForward(place.op, place.tracked).empty();
    if (linear == nullptr || (!isKnown && !lrp::hasFewResults(place.op))) {
        return;
    }
    std::vector<Tensor> weights(parts.size());
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        if (parts[slot].isValid()) {
            weights[slot] = noise(parts[slot].shape(), static_cast<unsigned>(17 + slot)).to(parts[slot].dtype());
        }
    }
    lrp::WeighContext context = place;
    context.weights = weights;
    const std::vector<Tensor> made = isKnown ? linear->weigh(context) : lrp::weighByColumns(rule, context);
    const auto [forwards, sizeForwards] = product(made, relevance);
    const auto [backwards, sizeBackwards] = product(weights, parts);
    const bool isDouble = parts.empty() || place.op.outputTypes()[0].dtype == tensor::DType::Float64;
    const double tolerance = (isDouble ? 1e-10 : 1e-4) * std::max(sizeForwards, sizeBackwards);
    if (std::isfinite(backwards) && !(std::abs(forwards - backwards) <= tolerance)) {
        const std::string text =
            fmt::format("rule {} forwards is not the transpose: {} and {}", rule.text(), forwards, backwards);
        QTest::qFail(text.c_str(), __FILE__, __LINE__);
    }
}

} // namespace

std::vector<Tensor> OneNode::apply(const lrp::RulePointer& rule, const std::vector<Tensor>& relevance)
{
    const std::vector<Tensor> outputs = forward();
    const ops::Reads reads = rule->reads(op(), m_tracked);
    std::vector<Tensor> readOperands = m_operands;
    std::vector<ops::TensorType> types;
    for (std::size_t slot = 0; slot < readOperands.size(); ++slot) {
        types.push_back({m_operands[slot].dtype(), m_operands[slot].shape()});
        readOperands[slot] = reads.operand(slot) ? m_operands[slot] : Tensor();
    }
    std::vector<Tensor> readOutputs = outputs;
    std::vector<Tensor> typed;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
        readOutputs[k] = reads.output(k) ? outputs[k] : Tensor();
        typed.push_back(relevance[k].isValid() ? relevance[k].to(outputs[k].dtype()) : Tensor());
    }
    m_ledger = {};
    lrp::RuleContext context{op(), readOperands, readOutputs, typed, m_tracked, types, nullptr};
    const std::vector<Tensor> plain = rule->apply(context);
    context.ledger = &m_ledger;
    std::vector<Tensor> parts = rule->apply(context);
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        const bool isRight = parts[slot].isValid()
                                 ? parts[slot].bitEqual(plain[slot]) && parts[slot].shape() == types[slot].shape
                                 : !plain[slot].isValid();
        if (!isRight || parts[slot].isValid() != (m_tracked[slot] != 0)) {
            QTest::qFail("a part is missing, or the ledger changed it", __FILE__, __LINE__);
        }
    }
    const double tolerance = (m_model->precision() == execute::Precision::Double ? 1e-9 : 1e-5) * m_ledger.magnitude;
    if (!(std::abs(m_ledger.unexplained()) <= tolerance)) {
        const std::string text = fmt::format("unexplained {}", m_ledger.unexplained());
        QTest::qFail(text.c_str(), __FILE__, __LINE__);
    }
    for (std::size_t slot = 0; slot < readOperands.size(); ++slot) {
        readOperands[slot] = m_tracked[slot] == 0 ? m_operands[slot] : readOperands[slot];
    }
    checkTranspose(*rule, {op(), readOperands, readOutputs, m_tracked, types, {}}, typed, parts);
    return parts;
}

std::vector<lrp::ParameterShare> OneNode::parameters(const lrp::RulePointer& rule,
                                                     const std::vector<Tensor>& relevance) const
{
    const graph::NodeId node(std::size_t{0});
    const lrp::RuleSite site = lrp::ruleSite(*m_model, node, rule, m_tracked);
    const ops::Reads reads = lrp::readsForParameters(*m_model, node, site);
    const std::vector<graph::ValueId>& inputs = m_model->graph().node(node).inputs;
    lrp::NodeValues values{m_operands, forward()};
    for (std::size_t slot = 0; slot < m_operands.size(); ++slot) {
        if (!reads.operand(slot) && !m_model->isConstant(inputs[slot])) {
            values.operands[slot] = {};
        }
    }
    std::vector<Tensor> typed;
    for (std::size_t k = 0; k < values.outputs.size(); ++k) {
        typed.push_back(relevance[k].isValid() ? relevance[k].to(values.outputs[k].dtype()) : Tensor());
        values.outputs[k] = reads.output(k) ? values.outputs[k] : Tensor();
    }
    return lrp::parameterShares(*m_model, node, site, typed, values);
}

} // namespace retro::tests
