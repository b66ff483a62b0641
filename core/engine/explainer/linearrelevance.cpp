// SPDX-License-Identifier: Apache-2.0
// Rules of linear maps, as nodes of the standard.
#include "core/engine/explainer/relevancesite.h"
#include "core/graph/attributes.h"
#include "core/ops/layerkind.h"

#include <algorithm>
#include <map>
#include <optional>

namespace retro::engine
{

using lrp::BiasPolicy;
using lrp::InputPart;
using ops::WeightPart;
using ops::WeightVariant;

namespace
{

constexpr WeightVariant kOnes{WeightPart::Ones, 0};

bool isGemm(const graph::Node& node) { return node.domain.empty() && node.op == "Gemm"; }
/// The same for every sample.
bool isConvolving(const graph::Node& node) { return ops::isConvolution(node); }

/// Has a form in standard operators, of floats.
bool isWritten(const graph::Node& node)
{
    const bool isProduct = ops::isMatMul(node) || ops::isLinearLayer(node);
    return isProduct || isGemm(node) || (node.domain.empty() && (isConvolving(node) || ops::isEinsum(node)));
}

/// The map x·W with changed weights, and its transposed map.
class LinearSteps
{
public:
    [[nodiscard]] static base::Result<LinearSteps> of(RelevanceSite& site)
    {
        if (!isWritten(site.node)) {
            return notWritten(site, "this layer is no Conv, ConvTranspose, Gemm, MatMul or Einsum of floats; export "
                                    "the float model");
        }
        return LinearSteps(site);
    }

    [[nodiscard]] std::size_t slot() const { return m_map->operandSlot(); }
    [[nodiscard]] ValueId x() const { return m_site->operands[slot()]; }
    [[nodiscard]] bool hasBias() const { return m_map->hasBias(); }
    /// Broadcastable to the result.
    ValueId bias(WeightVariant variant) { return m_site->steps.floats(m_map->bias(variant)); }

    ValueId apply(ValueId x, WeightVariant variant)
    {
        const graph::Node& node = m_site->node;
        graph::Attributes attributes = node.attributes;
        attributes.erase("alpha"); // of Gemm: the weight has it
        attributes.erase("beta");
        const ValueId w = weight(variant);
        return m_site->steps.node(node.op, slot() == 0 ? std::vector{x, w} : std::vector{w, x}, std::move(attributes));
    }

    /// By the reverse rule of the operator with changed weights.
    ValueId pullback(ValueId s, WeightVariant variant)
    {
        RelevanceSite changed = *m_site;
        changed.operands[weightSlot()] = m_site->steps.scaled(weight(variant), 1 / alpha());
        const RelevanceParts parts = pulledBack(changed, {s});
        if (!parts.ok()) {
            m_error = parts.error();
            return s;
        }
        return (*parts)[slot()];
    }
    /// The part of the map's operand, or why a pull back could not be written.
    [[nodiscard]] RelevanceParts give(ValueId part)
    {
        return m_error ? RelevanceParts(*m_error) : RelevanceParts(m_site->only(slot(), part));
    }

private:
    explicit LinearSteps(RelevanceSite& site) : m_site(&site), m_map(&lrp::as<ops::LinearMap>(site.structure())) {}

    [[nodiscard]] std::size_t weightSlot() const { return 1 - slot(); }

    /// The factor that Gemm multiplies by.
    [[nodiscard]] double alpha() const
    {
        return isGemm(m_site->node) ? graph::floatAttribute(m_site->node, "alpha", 1) : 1;
    }
    /// W as the product has it.
    ValueId plainWeight() { return m_site->steps.scaled(m_site->operands[weightSlot()], alpha()); }

    ValueId weight(WeightVariant variant)
    {
        const auto [at, isNew] = m_weights.try_emplace(variant);
        if (!isNew) {
            return at->second;
        }
        RelevanceSteps& steps = m_site->steps;
        const ValueId w = plainWeight();
        ValueId made = w;
        switch (variant.part) {
        case WeightPart::All:
            break;
        case WeightPart::Positive:
            made = steps.positivePart(w);
            break;
        case WeightPart::Negative:
            made = steps.negativePart(w);
            break;
        case WeightPart::GammaPositive:
            made = steps.add(w, steps.scaled(steps.positivePart(w), variant.gamma));
            break;
        case WeightPart::GammaNegative:
            made = steps.add(w, steps.scaled(steps.negativePart(w), variant.gamma));
            break;
        case WeightPart::Square:
            made = steps.multiply(w, w);
            break;
        case WeightPart::Ones:
            made = steps.filledBy(steps.ints(m_site->shape(weightSlot())), 1);
            break;
        }
        m_weights[variant] = made;
        return made;
    }

    RelevanceSite* m_site;
    const ops::LinearMap* m_map;
    std::optional<base::Error> m_error;
    std::map<WeightVariant, ValueId> m_weights;
};

/// The shares of a rule at a linear map (lrp::LinearForm), in values of the graph that is built.
class ShareSteps
{
public:
    ShareSteps(RelevanceSite& site, LinearSteps& map, const lrp::LinearForm& form)
        : m_site(site), m_steps(site.steps), m_map(map), m_form(form)
    {}

    /// The part of a share, of what arrived at its units.
    ValueId part(const lrp::LinearShare& share, ValueId relevance)
    {
        const std::vector<Term> terms = termsOf(share);
        const bool spreads = share.options.bias == BiasPolicy::Spread;
        const ValueId own = share.dividesByResult() ? ValueId() : m_form.isBox() ? lessShift(terms) : sum(terms);
        const ValueId denominator = share.dividesByResult() ? m_site.outputs[0] : withBias(share, own);
        const ValueId s = m_steps.quotient(relevance, denominator, share.options.stabiliser,
                                           m_site.outputShape().size(), share.isNowhereNegative());
        const ValueId shares = back(terms, s);
        return spreads ? m_steps.add(shares, spread(share, relevance, s, own)) : shares;
    }

private:
    /// x_k·W_k.
    struct Term
    {
        ValueId input; ///< invalid: 1 at each element
        WeightVariant weight;
    };

    std::vector<Term> termsOf(const lrp::LinearShare& share)
    {
        const bool isNotNegative = isNowhereNegative(m_site.model, m_site.node.inputs[m_map.slot()]);
        std::vector<Term> terms;
        for (const lrp::LinearTerm& term : share.terms) {
            if (!isNotNegative || term.input != InputPart::Negative) {
                terms.push_back({inputOf(term.input, isNotNegative), term.weight});
            }
        }
        return terms;
    }

    ValueId inputOf(InputPart part, bool isNotNegative)
    {
        switch (part) {
        case InputPart::Positive:
            return isNotNegative ? m_map.x() : m_steps.positivePart(m_map.x());
        case InputPart::Negative:
            return m_steps.negativePart(m_map.x());
        case InputPart::AboveLow:
            return m_steps.subtract(m_map.x(), bound(m_form.low));
        case InputPart::BelowHigh:
            return m_steps.subtract(m_map.x(), bound(m_form.high));
        case InputPart::One:
            return {};
        case InputPart::Whole:
            break;
        }
        return m_map.x();
    }

    /// One number, or one per channel.
    ValueId bound(const std::vector<double>& bounds)
    {
        tensor::Shape shape(m_site.shape(m_map.slot()).size(), 1);
        if (bounds.size() > 1) {
            shape[1] = static_cast<std::int64_t>(bounds.size());
        }
        return m_steps.floats(tensor::Tensor::of<double>(shape, bounds));
    }

    ValueId sum(const std::vector<Term>& terms)
    {
        ValueId sum;
        for (const Term& term : terms) {
            const ValueId input = term.input.isValid() ? term.input : m_steps.filledLike(m_map.x(), 1);
            const ValueId product = m_map.apply(input, term.weight);
            sum = sum.isValid() ? m_steps.add(sum, product) : product;
        }
        return sum;
    }

    ValueId back(const std::vector<Term>& terms, ValueId s)
    {
        ValueId sum;
        for (const Term& term : terms) {
            const ValueId share = m_map.pullback(s, term.weight);
            const ValueId part = term.input.isValid() ? m_steps.multiply(share, term.input) : share;
            sum = sum.isValid() ? m_steps.add(sum, part) : part;
        }
        return sum;
    }

    /// z − low·W⁺ − high·W⁻ − b of a box.
    ValueId lessShift(const std::vector<Term>& terms)
    {
        const ValueId like = isConvolving(m_site.node) ? m_steps.firstSample(m_map.x()) : m_map.x();
        ValueId shift = m_steps.add(m_map.apply(m_steps.expandLike(bound(m_form.low), like), terms[0].weight),
                                    m_map.apply(m_steps.expandLike(bound(m_form.high), like), terms[1].weight));
        if (m_map.hasBias()) {
            shift = m_steps.add(shift, m_map.bias({}));
        }
        return m_steps.subtract(m_site.outputs[0], shift);
    }

    ValueId withBias(const lrp::LinearShare& share, ValueId own)
    {
        const bool isIn = share.bias && m_map.hasBias() && share.options.bias != BiasPolicy::Zero;
        return isIn ? m_steps.add(own, m_map.bias(*share.bias)) : own;
    }

    /// R − s·own of each unit in equal parts to its inputs.
    ValueId spread(const lrp::LinearShare& share, ValueId relevance, ValueId s, ValueId own)
    {
        const ValueId rest = m_steps.subtract(relevance, m_steps.multiply(s, own));
        const ValueId count = m_map.apply(m_steps.filledLike(m_map.x(), 1), kOnes);
        const ValueId isNot = m_steps.node("Equal", {s, m_steps.scalar(0)});
        const ValueId isOwed = m_steps.node("And", {m_steps.isPositive(count), m_steps.node("Not", {isNot})});
        const ValueId kept = m_steps.where(isOwed, rest, m_steps.scalar(0));
        const ValueId each = m_steps.guardedQuotient(kept, count);
        return m_map.pullback(m_steps.scaled(each, share.options.biasFactor), kOnes);
    }

    RelevanceSite& m_site;
    RelevanceSteps& m_steps;
    LinearSteps& m_map;
    const lrp::LinearForm& m_form;
};

bool vanishesAtZero(const RelevanceSite& site, graph::ValueId value, int depth = 0);

/// True where the reader hands each part of relevance whole to one element, which is 0 where the result is.
bool movesRelevance(const ops::Structure& reader, const lrp::NodeForm& form)
{
    switch (reader.kind()) {
    case ops::StructureKind::ShapeMap:
        return form.way == lrp::Way::Carried && lrp::as<ops::ShapeMap>(reader).isRearrangement();
    case ops::StructureKind::ElementWise:
        return form.handsOnAsItIs() && lrp::as<ops::ElementWise>(reader).isRelu();
    default:
        return reader.kind() == ops::StructureKind::MaxPool && form.isGradient();
    }
}

/// What the rule of a node does, as if all of its computed operands took relevance.
std::optional<lrp::NodeForm> formAt(const RelevanceSite& site, base::NodeId id)
{
    const lrp::RulePointer& rule = site.rules[id.index()].rule;
    std::vector<std::uint8_t> tracked;
    for (const graph::ValueId input : site.model.graph().node(id).inputs) {
        tracked.push_back(input.isValid() && site.model.isTracked(input) ? 1 : 0);
    }
    return rule ? rule->form(site.model.op(id), tracked) : std::nullopt;
}

/// True when what the reader hands to its operand is 0 wherever the operand is 0.
bool multipliesByOperand(const RelevanceSite& site, base::NodeId id, int depth)
{
    constexpr int kDeepest = 32;
    const graph::Node& reader = site.model.graph().node(id);
    const lrp::RulePointer& rule = site.rules[id.index()].rule;
    if (!rule) {
        return !site.model.isTracked(reader.outputs.front());
    }
    const std::optional<lrp::NodeForm> form = formAt(site, id);
    return form &&
           (form->vanishesWithOperand() || (movesRelevance(site.model.op(id).structure(), *form) && depth < kDeepest &&
                                            vanishesAtZero(site, reader.outputs.front(), depth + 1)));
}

/// True where relevance at the value is 0 wherever the value is 0: each reader's rule multiplies by it.
bool vanishesAtZero(const RelevanceSite& site, graph::ValueId value, int depth)
{
    const graph::Graph& graph = site.model.graph();
    return !graph.uses(value).empty() && std::ranges::find(graph.outputs(), value) == graph.outputs().end() &&
           std::ranges::all_of(graph.uses(value),
                               [&](const graph::Use& use) { return multipliesByOperand(site, use.node, depth); });
}

/// True when relevance arrives only where the result is above 0: a ReLU alone reads it.
bool arrivesOnPositiveAlone(const RelevanceSite& site)
{
    const graph::Graph& graph = site.model.graph();
    const graph::ValueId z = site.node.outputs[0];
    const auto uses = graph.uses(z);
    if (uses.size() != 1 || std::ranges::find(graph.outputs(), z) != graph.outputs().end()) {
        return false;
    }
    const ops::Structure& reader = site.model.op(uses.front().node).structure();
    const std::optional<lrp::NodeForm> form = formAt(site, uses.front().node);
    return reader.kind() == ops::StructureKind::ElementWise && form && movesRelevance(reader, *form) &&
           vanishesAtZero(site, graph.node(uses.front().node).outputs[0]);
}

ValueId byForm(RelevanceSite& site, LinearSteps& map, const lrp::LinearForm& form)
{
    RelevanceSteps& steps = site.steps;
    ShareSteps shares(site, map, form);
    const ValueId r = site.relevance[0];
    ValueId sum;
    for (const lrp::LinearShare& share : form.shares) {
        if (share.units == lrp::Units::Negative && arrivesOnPositiveAlone(site)) {
            continue;
        }
        ValueId arrived = r;
        if (share.units != lrp::Units::All) {
            const ValueId z = site.outputs[0];
            const ValueId isOne = share.units == lrp::Units::Positive ? steps.isPositive(z) : steps.isNegative(z);
            arrived = steps.where(isOne, r, steps.scalar(0));
        }
        const bool isTaken = sum.isValid() && share.factor < 0;
        const ValueId part = steps.scaled(shares.part(share, arrived), isTaken ? -share.factor : share.factor);
        sum = !sum.isValid() ? part : isTaken ? steps.subtract(sum, part) : steps.add(sum, part);
    }
    return sum;
}

} // namespace

RelevanceParts relevanceOfLinearMap(RelevanceSite& site)
{
    RETRO_TRY(LinearSteps map, LinearSteps::of(site));
    return map.give(byForm(site, map, *site.form.linear));
}

RelevanceParts backThroughLinearMap(RelevanceSite& site, ValueId s)
{
    RETRO_TRY(LinearSteps map, LinearSteps::of(site));
    return map.give(map.pullback(s, {}));
}

} // namespace retro::engine
