// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/linearparameters.h"

#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/openedoperator.h"
#include "core/ops/algebra.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <variant>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

/// Slot of the bias of every linear map that can have one.
constexpr std::size_t kBiasSlot = 2;

double numberOf(const graph::Node& node, const std::string& name)
{
    const auto found = node.op == "Gemm" ? node.attributes.find(name) : node.attributes.end();
    const double* number = found == node.attributes.end() ? nullptr : std::get_if<double>(&found->second);
    return number == nullptr ? 1 : *number;
}

/// The node without its bias; a linear layer that a rewrite made of MatMul and Add is a MatMul again.
graph::Node withoutBias(graph::Node node)
{
    node.inputs.resize(std::min(node.inputs.size(), kBiasSlot));
    const bool isOwn = node.domain == "retrograde" || node.domain == "retrograde.integer";
    if (isOwn && (node.op == "MatMul" || node.domain == "retrograde.integer")) {
        node.domain.clear();
        node.opset = ops::kNewestOpset;
    }
    return node;
}

} // namespace

LinearParameters::LinearParameters(const execute::BoundModel& model, NodeId node, const RuleSite& site,
                                   const NodeValues& values)
    : m_model(model), m_node(node), m_site(site), m_values(values), m_weightSlot(map().operandSlot() == 0 ? 1 : 0),
      m_alpha(numberOf(model.graph().node(node), "alpha")), m_beta(numberOf(model.graph().node(node), "beta"))
{
    open();
}

const ops::LinearMap& LinearParameters::map() const { return as<ops::LinearMap>(m_model.op(m_node).structure()); }

/// Operators that make a layer of packed or stacked operands have others there.
bool LinearParameters::isBias(std::size_t slot) const
{
    return slot == kBiasSlot && map().hasBias() && slot < m_site.types.size() &&
           tensor::elementCount(m_site.types[slot].shape) == map().bias({}).size();
}

void LinearParameters::open()
{
    const graph::Node node = withoutBias(m_model.graph().node(m_node));
    auto opened = openedOperator(m_model, m_node, node, std::span(&m_weightSlot, 1));
    const auto kind = opened ? (*opened)->structure().kind() : ops::StructureKind::NoRelevance;
    const bool isFunction = kind == ops::StructureKind::Bilinear || kind == ops::StructureKind::Differentiable;
    if (!isFunction || m_alpha == 0) {
        m_fault = fmt::format("the gradient of {} by its weights is not implemented", node.op);
        return;
    }
    m_opened = std::move(opened).value();
}

Tensor LinearParameters::weightGradient(const Tensor& x, const Tensor& s)
{
    if (!m_opened) {
        return {};
    }
    std::vector<Tensor> operands(m_values.operands.begin(), m_values.operands.begin() + 2);
    operands[map().operandSlot()] = x;
    std::vector<std::uint8_t> tracked(2, 0);
    tracked[m_weightSlot] = 1;
    const RuleContext context{*m_opened, operands, {}, {&s, 1}, tracked, m_site.types};
    return gradientPart(context, m_weightSlot);
}

void LinearParameters::addTo(Tensor& sum, Tensor part) const
{
    sum = sum.isValid() ? algebra::add(sum, part) : std::move(part);
}

void LinearParameters::throughWeights(const Tensor& x, ops::WeightVariant weight, const Tensor& s, double factor)
{
    m_isTold = true;
    const Tensor gradient = weightGradient(x, s); // has alpha in it
    if (gradient.isValid()) {
        const Tensor& stored = m_values.operands[m_weightSlot];
        const Tensor own = m_alpha == 1 ? stored : algebra::scale(stored, m_alpha);
        const Tensor product = algebra::multiply(gradient, ops::variantOf(own.contiguous(), weight));
        addTo(m_weights, algebra::scale(product, factor / m_alpha));
    }
}

void LinearParameters::throughBias(ops::WeightVariant bias, const Tensor& s, double factor)
{
    m_isTold = true;
    if (const Tensor own = map().bias(bias); own.isValid() && isBias(kBiasSlot)) {
        addTo(m_bias, algebra::scale(reducedToBias(algebra::multiplyBroadcast(s, own)), factor));
    }
}

void LinearParameters::gradient(const Tensor& arrived)
{
    m_isTold = true;
    if (Tensor own = weightGradient(m_values.operands[map().operandSlot()], arrived); own.isValid()) {
        addTo(m_weights, std::move(own));
    }
    if (isBias(kBiasSlot)) {
        addTo(m_bias, algebra::scale(reducedToBias(arrived), m_beta));
    }
}

Tensor LinearParameters::reducedToBias(const Tensor& t) const
{
    return algebra::reduceTo(t, map().bias({}).shape()).reshaped(m_site.types[kBiasSlot].shape);
}

Tensor LinearParameters::of(std::size_t slot) const
{
    const bool isWeights = slot == m_weightSlot;
    if ((!isWeights && !isBias(slot)) || (isWeights && !m_opened)) {
        return {};
    }
    const Tensor& sum = isWeights ? m_weights : m_bias;
    return sum.isValid() ? sum : Tensor::zeros(m_site.types[slot].dtype, m_site.types[slot].shape);
}

} // namespace retro::lrp
