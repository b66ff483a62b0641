// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/parameterrelevance.h"

#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/rules/ruleapplication.h"
#include "core/lrp/rules/wherearrived.h"
#include "core/lrp/traversal/parametersink.h"
#include "core/ops/algebra.h"
#include "core/ops/detachable.h"
#include "core/ops/kernel/weightvariants.h"
#include "core/ops/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <variant>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using execute::BoundModel;
using ops::StructureKind;

namespace
{

/// The operator of `node`, which stands in the graph of `model` as `id` (or is that node with fewer operands), bound as
/// if its constant operands in the slots `open` were computed: then it knows its gradient by them. Errors (Input): the
/// operator has no such form.
base::Result<std::unique_ptr<ops::BoundOperator>>
openedOperator(const execute::BoundModel& model, NodeId id, const graph::Node& node, std::span<const std::size_t> open)
{
    std::vector<ops::TensorType> types(node.inputs.size());
    std::vector<tensor::Tensor> constants(node.inputs.size());
    for (std::size_t slot = 0; slot < node.inputs.size(); ++slot) {
        if (node.inputs[slot].isValid()) {
            types[slot] = model.typeOf(node.inputs[slot]);
            const bool isOpen = std::ranges::find(open, slot) != open.end();
            constants[slot] = isOpen ? tensor::Tensor() : model.constant(node.inputs[slot]);
        }
    }
    const std::vector<tensor::DType> numbers = model.operandNumbers(id);
    return ops::bind(
        {model.graph(), id, node, types, constants, execute::dtypeOf(model.precision()), nullptr, numbers});
}

/// Adds up what a rule tells of the weights and the bias of one linear map.
class LinearParameters final : public ParameterSink
{
public:
    /// All arguments must outlive this; `values` hold all operands.
    LinearParameters(const execute::BoundModel& model, NodeId node, const RuleSite& site, const NodeValues& values);

    void throughWeights(const Tensor& x, ops::WeightVariant weight, const Tensor& s, double factor) override;
    void throughBias(ops::WeightVariant bias, const Tensor& s, double factor) override;
    void gradient(const Tensor& arrived) override;
    void throughOperands(const Tensor&) override {} ///< not of a linear map

    /// False when the rule said nothing of its weights.
    [[nodiscard]] bool isTold() const { return m_isTold; }
    /// Why nothing can be told, in words; empty when it can.
    [[nodiscard]] const std::string& fault() const { return m_fault; }
    /// What the operand in that slot got, in its shape: zeros when nothing went through it. Invalid for an operand that
    /// is neither weights nor bias.
    [[nodiscard]] Tensor of(std::size_t slot) const;

private:
    [[nodiscard]] const ops::LinearMap& map() const;
    [[nodiscard]] bool isBias(std::size_t slot) const;
    /// xᵀs: the gradient of Σ s·(x·W) by the weights, in their shape; invalid where the operator has none.
    [[nodiscard]] Tensor weightGradient(const Tensor& x, const Tensor& s);
    /// The same map with its weights as a computed operand and without a bias.
    void open();
    void addTo(Tensor& sum, Tensor part) const;
    /// The sum of t in the shape of the bias.
    [[nodiscard]] Tensor reducedToBias(const Tensor& t) const;

    const execute::BoundModel& m_model;
    NodeId m_node;
    const RuleSite& m_site;
    const NodeValues& m_values;
    std::size_t m_weightSlot = 0;
    std::unique_ptr<ops::BoundOperator> m_opened;
    double m_alpha = 1; ///< of Gemm: the map's weights are alpha times the operand
    double m_beta = 1;  ///< of Gemm: its bias is beta times the operand
    Tensor m_weights;
    Tensor m_bias;
    bool m_isTold = false;
    std::string m_fault;
};

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

/// A node whose constants are asked about.
struct Site
{
    const BoundModel& model;
    NodeId node;
    const RuleSite& rule;
    std::span<const Tensor> relevance;
    const NodeValues& values;

    [[nodiscard]] const ops::BoundOperator& op() const { return model.op(node); }
    /// What the rule says it does; nothing at all where it does not say so.
    [[nodiscard]] NodeForm form() const
    {
        return rule.rule->form(op(), rule.tracked).value_or(NodeForm{.way = Way::Nowhere});
    }
    [[nodiscard]] RuleContext context(std::span<const std::uint8_t> tracked) const
    {
        return {op(), values.operands, values.outputs, relevance, tracked, rule.types};
    }
};

ParameterShare withoutShare(const Site& site, std::size_t slot)
{
    const graph::Node& node = site.model.graph().node(site.node);
    return {slot,
            {},
            fmt::format("the rule \"{}\" of the {} \"{}\" does not say what this operand carries",
                        site.rule.rule->text(), node.op, node.name)};
}

bool isKnownByReverseRule(StructureKind kind)
{
    return kind == StructureKind::Differentiable || kind == StructureKind::SelfNormalisation ||
           kind == StructureKind::Composed;
}

/// What the rule gives to one operand as if it alone were computed: with others, a rule may share.
Tensor partOf(const Site& site, std::size_t slot)
{
    std::vector<std::uint8_t> tracked(site.rule.tracked.size(), 0);
    tracked[slot] = 1;
    return site.rule.rule->apply(site.context(tracked))[slot];
}

/// As the rule gives an operand that is computed.
std::vector<ParameterShare> asComputed(const Site& site, std::span<const std::size_t> slots)
{
    const bool isProduct = site.form().timesResult;
    std::vector<ParameterShare> shares;
    for (const std::size_t slot : slots) {
        if (!algebra::allFinite(site.values.operands[slot])) {
            shares.push_back({slot, {}, "it has elements that are not finite, as a mask has"});
            continue;
        }
        Tensor part = partOf(site, slot);
        shares.push_back(part.isValid() ? ParameterShare{slot, std::move(part), {}, isProduct}
                                        : withoutShare(site, slot));
    }
    return shares;
}

/// Of a product or a quotient: all that its other operand got went through the constant.
std::vector<ParameterShare> asCarriers(const Site& site, std::span<const std::size_t> slots)
{
    const std::vector<Tensor> parts = site.rule.rule->apply(site.context(site.rule.tracked));
    const auto taker = std::ranges::find_if(parts, [](const Tensor& part) { return part.isValid(); });
    std::vector<ParameterShare> shares;
    for (const std::size_t slot : slots) {
        const bool isWhole = taker != parts.end() && taker->shape() == site.op().outputTypes()[0].shape;
        shares.push_back(isWhole ? ParameterShare{slot, algebra::reduceTo(*taker, site.rule.types[slot].shape), {}}
                                 : ParameterShare{slot, {}, "the computed operand is repeated along this one"});
    }
    return shares;
}

/// The gradient of a constant by which the operator is prepared.
std::vector<ParameterShare> asOpened(const Site& site, std::span<const std::size_t> slots)
{
    const graph::Node& node = site.model.graph().node(site.node);
    const auto opened = openedOperator(site.model, site.node, node, slots);
    std::vector<ParameterShare> shares;
    for (const std::size_t slot : slots) {
        if (!opened || !isKnownByReverseRule((*opened)->structure().kind())) {
            shares.push_back({slot, {}, fmt::format("the gradient of {} by this operand is not implemented", node.op)});
            continue;
        }
        std::vector<std::uint8_t> tracked(node.inputs.size(), 0);
        tracked[slot] = 1;
        RuleContext context = site.context(tracked);
        shares.push_back(
            {slot,
             gradientPart(
                 {**opened, context.operands, context.outputs, context.relevance, tracked, context.operandTypes}, slot),
             {}});
    }
    return shares;
}

/// Remembers s of a normalisation.
class Quotient final : public ParameterSink
{
public:
    void throughWeights(const Tensor&, WeightVariant, const Tensor&, double) override {}
    void throughBias(WeightVariant, const Tensor&, double) override {}
    void gradient(const Tensor&) override {}
    void throughOperands(const Tensor& s) override { m_s = s; }
    [[nodiscard]] const Tensor& s() const { return m_s; }

private:
    Tensor m_s;
};

/// Of a normalisation: all that its operand got went through the scale.
ParameterShare asScale(const Site& site, std::size_t slot)
{
    const std::vector<Tensor> parts = site.rule.rule->apply(site.context(site.rule.tracked));
    const auto* detachable = dynamic_cast<const ops::Detachable*>(&site.op().structure());
    const bool isTaken = !parts.empty() && parts[0].isValid() && detachable != nullptr;
    return isTaken ? ParameterShare{slot, detachable->sumsPerScale(parts[0]), {}} : withoutShare(site, slot);
}

/// Scale and bias of a self-normalisation. Where its rule hands on what arrived as it is, all of that went through the
/// scale, and nothing through the bias.
std::vector<ParameterShare> ofSelfNormalisation(const Site& site, std::span<const std::size_t> slots)
{
    constexpr std::size_t kScale = 1;
    Quotient quotient;
    RuleContext context = site.context(site.rule.tracked);
    context.parameters = &quotient;
    static_cast<void>(site.rule.rule->apply(context));
    const auto& function = as<ops::Differentiable>(site.op().structure());
    std::vector<ParameterShare> shares;
    for (const std::size_t slot : slots) {
        if (quotient.s().isValid()) {
            const Tensor gradient = function.pullback({&quotient.s(), 1}, context.operands, context.outputs, slot);
            shares.push_back({slot, algebra::multiply(gradient, context.operands[slot]), {}});
        } else if (slot == kScale && site.form().handsOnAsItIs()) {
            shares.push_back(asScale(site, slot));
        } else {
            shares.push_back(withoutShare(site, slot));
        }
    }
    return shares;
}

std::vector<ParameterShare> withoutShares(const Site& site, std::span<const std::size_t> slots)
{
    std::vector<ParameterShare> shares;
    for (const std::size_t slot : slots) {
        shares.push_back(withoutShare(site, slot));
    }
    return shares;
}

/// What a linear map's weights and bias carried, by what its rule told.
std::vector<ParameterShare> ofLinearMap(const Site& site, std::span<const std::size_t> slots)
{
    LinearParameters parameters(site.model, site.node, site.rule, site.values);
    RuleContext context = site.context(site.rule.tracked);
    context.parameters = &parameters;
    static_cast<void>(site.rule.rule->apply(context));
    std::vector<ParameterShare> shares;
    for (const std::size_t slot : slots) {
        Tensor share = parameters.isTold() ? parameters.of(slot) : Tensor();
        const std::string& fault = parameters.fault();
        shares.push_back(share.isValid() ? ParameterShare{slot, std::move(share), {}}
                         : fault.empty() ? withoutShare(site, slot)
                                         : ParameterShare{slot, {}, fault});
    }
    return shares;
}

bool sharesAsComputed(const Site& site)
{
    const NodeForm form = site.form();
    switch (site.op().structure().kind()) {
    case StructureKind::SumOfOperands:
        return form.way == Way::Gradient;
    case StructureKind::ShapeMap:
        return form.way == Way::Gradient || form.way == Way::Carried;
    case StructureKind::Product:
    case StructureKind::Quotient:
        return form.isGradient();
    default:
        return form.isGradient() && isKnownByReverseRule(site.op().structure().kind());
    }
}

} // namespace

std::vector<std::size_t> parameterSlots(const BoundModel& model, NodeId node)
{
    const std::vector<execute::ValueId>& inputs = model.graph().node(node).inputs;
    std::vector<std::size_t> slots;
    for (std::size_t slot = 0; slot < inputs.size(); ++slot) {
        if (inputs[slot].isValid() && model.isConstant(inputs[slot]) &&
            tensor::isFloating(model.typeOf(inputs[slot]).dtype)) {
            slots.push_back(slot);
        }
    }
    return slots;
}

ops::Reads readsForParameters(const BoundModel& model, NodeId node, const RuleSite& site)
{
    std::vector<std::uint8_t> tracked = site.tracked;
    for (const std::size_t slot : parameterSlots(model, node)) {
        tracked[slot] = 1;
    }
    ops::Reads reads = site.rule->reads(model.op(node), tracked);
    const StructureKind kind = model.op(node).structure().kind();
    if (kind == StructureKind::Normalisation || kind == StructureKind::SelfNormalisation) {
        reads.operands = ops::Reads::allOperands().operands;
        reads.outputs |= model.op(node).savedForGradient().outputs;
    }
    if (kind == StructureKind::LinearMap) {
        reads.operands |= ops::Reads::bit(as<ops::LinearMap>(model.op(node).structure()).operandSlot());
    }
    return reads;
}

namespace
{

std::vector<ParameterShare> sharesOf(const Site& at, std::span<const std::size_t> slots)
{
    const StructureKind kind = at.op().structure().kind();
    if (kind == StructureKind::LinearMap) {
        return ofLinearMap(at, slots);
    }
    if (sharesAsComputed(at)) {
        return asComputed(at, slots);
    }
    if (at.form().isGradient() && kind == StructureKind::Normalisation) {
        return asOpened(at, slots);
    }
    if (kind == StructureKind::SelfNormalisation) {
        return ofSelfNormalisation(at, slots);
    }
    const bool isScaling = kind == StructureKind::Product || kind == StructureKind::Quotient;
    return isScaling ? asCarriers(at, slots) : withoutShares(at, slots);
}

} // namespace

std::vector<ParameterShare> parameterShares(const BoundModel& model, NodeId node, const RuleSite& site,
                                            std::span<const Tensor> relevance, const NodeValues& values)
{
    const std::vector<std::size_t> slots = parameterSlots(model, node);
    std::vector<ParameterShare> shares;
    if (slots.empty()) {
        return shares;
    }
    makeWhereArrived({model.op(node), values.operands, values.outputs, relevance, site.tracked, site.types},
                     [&](std::span<const Tensor> operands, std::span<const Tensor> outputs) {
                         const NodeValues own{{operands.begin(), operands.end()}, {outputs.begin(), outputs.end()}};
                         shares = sharesOf({model, node, site, relevance, own}, slots);
                         std::vector<Tensor> parts;
                         std::ranges::transform(shares, std::back_inserter(parts), &ParameterShare::relevance);
                         return parts;
                     });
    return shares;
}

} // namespace retro::lrp
