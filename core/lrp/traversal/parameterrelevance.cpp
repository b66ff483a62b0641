// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/parameterrelevance.h"

#include "core/lrp/rules/gradientparts.h"
#include "core/lrp/rules/linearform.h"
#include "core/lrp/rules/linearparameters.h"
#include "core/lrp/rules/openedoperator.h"
#include "core/lrp/rules/rules.h"
#include "core/lrp/rules/wherearrived.h"
#include "core/ops/algebra.h"
#include "core/ops/detachable.h"
#include "core/ops/lookup.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using execute::BoundModel;
using ops::StructureKind;

namespace
{

/// A node whose constants are asked about.
struct Site
{
    const BoundModel& model;
    NodeId node;
    const RuleSite& rule;
    std::span<const Tensor> relevance;
    const NodeValues& values;

    [[nodiscard]] const ops::BoundOperator& op() const { return model.op(node); }
    [[nodiscard]] bool isGradient() const { return rule.rule->name() == "gradient"; }
    [[nodiscard]] bool isHandedOnAsItIs() const
    {
        return rule.rule->name() == "pass" || rule.rule->name() == "detached-deviation";
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
    const bool isProduct = site.rule.rule->text().ends_with(kTimesEmbedding) &&
                           ops::isTokenSlot(site.op().structure(), ops::Lookup::kIndices);
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
        } else if (slot == kScale && site.isHandedOnAsItIs()) {
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
    switch (site.op().structure().kind()) {
    case StructureKind::SumOfOperands:
        return site.isGradient() || site.rule.rule->name() == "norm";
    case StructureKind::ShapeMap:
        return site.isGradient() || site.rule.rule->name() == "pass";
    case StructureKind::Product:
    case StructureKind::Quotient:
        return site.isGradient();
    default:
        return site.isGradient() && isKnownByReverseRule(site.op().structure().kind());
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
    if (at.isGradient() && kind == StructureKind::Normalisation) {
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
