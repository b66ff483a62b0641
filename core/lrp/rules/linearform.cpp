// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/linearform.h"

#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/forwardparts.h"
#include "core/lrp/rules/nodeform.h"
#include "core/lrp/traversal/parametersink.h"
#include "core/ops/algebraover.h"
#include "core/ops/gammadivision.h"
#include "core/ops/samplewisemap.h"
#include "core/ops/signsupport.h"
#include "core/ops/stabiliseddivision.h"
#include "core/ops/stackedpullback.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

constexpr WeightVariant kOnes{WeightPart::Ones, 0};

/// x_k · W_k with x_k as a tensor of the shape of the map's operand.
struct Term
{
    Tensor input;
    WeightVariant weight;
};

/// A share at one linear map, on one input.
struct Distribution
{
    const ops::LinearMap& map;
    const LinearShare& share;
    std::vector<Term> terms;
    /// D where the forward pass has it; invalid: it is computed.
    Tensor result{};
    /// Σ_k x_k·W_k where it is known, but for what `shift` adds; invalid: it is computed.
    Tensor own{};
    /// Added to `own` in the denominator, broadcastable to it; invalid: nothing. It is no bias, and goes without one.
    Tensor shift{};
    /// What distribute() returns is handed on as it is: nothing is added to it or written over it.
    bool isWhole = false;

    [[nodiscard]] bool spreads() const { return share.options.bias == BiasPolicy::Spread; }
    /// The bias in the denominator; invalid where none is.
    [[nodiscard]] Tensor bias() const
    {
        const bool isIn = share.bias && map.hasBias() && share.options.bias != BiasPolicy::Zero;
        return isIn ? map.bias(*share.bias) : Tensor();
    }
};

// One number, or one per channel, in a shape that broadcasts to that of x.
Tensor asColumn(const Tensor& x, const std::vector<double>& bounds)
{
    tensor::Shape perChannel(x.rank(), 1);
    if (bounds.size() > 1) {
        perChannel[1] = x.shape()[1];
    }
    return Tensor::of<double>(std::move(perChannel), bounds).to(x.dtype());
}

/// The operand of a linear map, and what terms take of it.
class OperandParts
{
public:
    /// `x` may be invalid where no term reads it; `type` is its type.
    OperandParts(const LinearForm& form, Tensor x, const ops::TensorType& type)
        : m_form(form), m_x(std::move(x)), m_type(type)
    {}

    [[nodiscard]] const Tensor& x() const { return m_x; }

    /// Of an operand that is nowhere below 0, x⁺ is x and terms of x⁻ are left out.
    [[nodiscard]] std::vector<Term> termsOf(const LinearShare& share)
    {
        std::vector<Term> terms;
        for (const LinearTerm& term : share.terms) {
            if (term.input != InputPart::Negative || hasNegative()) {
                terms.push_back({partOf(term.input), term.weight});
            }
        }
        return terms;
    }

private:
    [[nodiscard]] Tensor partOf(InputPart part)
    {
        switch (part) {
        case InputPart::Positive:
            return hasNegative() ? made(m_positive, algebra::positivePart) : m_x;
        case InputPart::Negative:
            return made(m_negative, algebra::negativePart);
        case InputPart::AboveLow:
            return algebra::addBroadcast(m_x, algebra::scale(asColumn(m_x, m_form.low), -1));
        case InputPart::BelowHigh:
            return algebra::addBroadcast(m_x, algebra::scale(asColumn(m_x, m_form.high), -1));
        case InputPart::One:
            return Tensor::full(m_type.dtype, m_type.shape, 1);
        case InputPart::Whole:
            break;
        }
        return m_x;
    }

    [[nodiscard]] bool hasNegative()
    {
        if (!m_hasNegative) {
            m_hasNegative = algebra::anyNegative(m_x);
        }
        return *m_hasNegative;
    }

    template <class Make>
    [[nodiscard]] Tensor made(Tensor& kept, Make make) const
    {
        kept = kept.isValid() ? kept : make(m_x);
        return kept;
    }

    const LinearForm& m_form;
    Tensor m_x;
    ops::TensorType m_type;
    std::optional<bool> m_hasNegative;
    Tensor m_positive;
    Tensor m_negative;
};

// A bound through the map; of one sample where the map does the same to all.
Tensor applyToBound(const ops::LinearMap& map, const Tensor& x, const std::vector<double>& bounds,
                    WeightVariant variant)
{
    const auto* sampleWise = dynamic_cast<const ops::SampleWiseMap*>(&map);
    return sampleWise != nullptr && x.size() > 0
               ? sampleWise->applyToConstant(bounds, variant)
               : map.apply(algebra::broadcastTo(asColumn(x, bounds), x.shape()), variant);
}

// −low·W⁺ − high·W⁻, less the bias where the forward pass has added it: the same for all samples of a convolution.
Tensor shiftOfBox(const LinearForm& form, const ops::LinearMap& map, const Tensor& x, bool isBiasIn)
{
    Tensor sum = algebra::scale(applyToBound(map, x, form.low, {WeightPart::Positive, 0}), -1);
    sum = algebra::addScaledOver(std::move(sum), applyToBound(map, x, form.high, {WeightPart::Negative, 0}), -1);
    return isBiasIn && map.hasBias() ? algebra::addScaledOver(std::move(sum), map.bias({}), -1) : sum;
}

Distribution distributionOf(const LinearForm& form, const LinearShare& share, const ops::LinearMap& map,
                            OperandParts& parts, std::span<const Tensor> outputs)
{
    Distribution made{map, share, parts.termsOf(share)};
    if (form.isBox()) { // x·W − low·W⁺ − high·W⁻ with W = W⁺ + W⁻: two passes instead of three
        const Tensor& z = outputs[0];
        made.own = z.isValid() ? z : map.apply(parts.x(), {});
        made.shift = shiftOfBox(form, map, parts.x(), z.isValid());
    } else if (share.dividesByResult()) {
        made.result = outputs[0];
    }
    return made;
}

// Σ_k x_k·W_k.
Tensor sumOfTerms(const Distribution& d)
{
    Tensor sum;
    for (const Term& term : d.terms) {
        Tensor product = d.map.apply(term.input, term.weight);
        sum = sum.isValid() ? algebra::addOver(std::move(sum), product) : std::move(product);
    }
    return sum;
}

// s·W_kᵀ for every term; in one call where the map can.
std::vector<Tensor> pulledBack(const Distribution& d, const Tensor& s)
{
    std::vector<WeightVariant> weights;
    for (const Term& term : d.terms) {
        weights.push_back(term.weight);
    }
    if (const auto* stacked = dynamic_cast<const ops::StackedPullback*>(&d.map)) {
        return stacked->pullbackAll(s, weights);
    }
    std::vector<Tensor> shares;
    for (const WeightVariant& weight : weights) {
        shares.push_back(d.map.pullback(s, weight));
    }
    return shares;
}

// Σ_k x_k · (s·W_kᵀ).
Tensor pullBack(const Distribution& d, const Tensor& s, Balance& balance)
{
    std::vector<Tensor> shares = pulledBack(d, s);
    if (d.isWhole && !d.spreads() && shares.size() == 1) {
        const Tensor x = algebra::laidOutAs(d.terms.front().input, shares.front());
        return balance.product(std::move(shares.front()), x);
    }
    Tensor sum;
    for (std::size_t k = 0; k < shares.size(); ++k) {
        // Element by element, the product of two orders takes longer than turning one of them round first.
        const Tensor x = algebra::laidOutAs(d.terms[k].input, shares[k]);
        Tensor part = algebra::multiplyOver(std::move(shares[k]), x);
        sum = sum.isValid() ? algebra::addOver(std::move(sum), part) : std::move(part);
    }
    return sum;
}

// What bias and stabiliser keep back of the relevance of each unit, where there are inputs to hand it to.
struct KeptBack
{
    Tensor rest;
    Tensor inputs; // of each unit, as a count
};

KeptBack keptBack(const Distribution& d, const Tensor& rest, const Tensor& s, Balance& balance)
{
    KeptBack kept{{}, d.map.apply(algebra::filledLike(d.terms.front().input, 1), kOnes)};
    // s is 0 where nothing arrived or where 0/0 was met: there is nothing to spread then.
    kept.rest = algebra::keepWherePositive(algebra::keepWherePositive(rest, algebra::absolute(s)), kept.inputs);
    if (balance.isWanted()) {
        balance.book(event::Cause::ZeroDenominator, d.share.factor * algebra::sum(algebra::subtract(rest, kept.rest)));
    }
    return kept;
}

// Books the part of what was kept back that is not spread.
void bookAbsorbed(const Distribution& d, const KeptBack& kept, const Tensor& s, Balance& balance)
{
    const double part = d.share.factor * (1 - d.share.options.biasFactor);
    if (!balance.isWanted() || part == 0) {
        return;
    }
    double bias = 0;
    if (const Tensor own = d.bias(); own.isValid()) {
        const Tensor everywhere = algebra::addBroadcast(algebra::filledLike(s, 0), own);
        bias = algebra::dot(s, algebra::keepWherePositive(everywhere, kept.inputs));
    }
    balance.book(event::Cause::Bias, part * bias);
    balance.book(event::Cause::Stabiliser, part * (algebra::sum(kept.rest) - bias));
}

// Hands that part of it which is spread to all inputs of each unit in equal parts.
Tensor spreadEqually(const Distribution& d, const KeptBack& kept, const Balance& balance)
{
    const double factor = d.share.options.biasFactor;
    const Tensor each = algebra::stabilisedQuotient(kept.rest, kept.inputs, kUnstabilised);
    if (balance.parameters() != nullptr) {
        const Tensor ones = algebra::filledLike(d.terms.front().input, 1);
        balance.parameters()->throughWeights(ones, kOnes, each, d.share.factor * factor);
    }
    return d.map.pullback(factor == 1 ? each : algebra::scale(each, factor), kOnes);
}

// Tells what weights and bias carried: the bias that part of what it took which is not spread.
void tellParameters(const Distribution& d, const Tensor& s, const Balance& balance)
{
    ParameterSink* const sink = balance.parameters();
    if (sink == nullptr) {
        return;
    }
    for (const Term& term : d.terms) {
        sink->throughWeights(term.input, term.weight, s, d.share.factor);
    }
    if (d.bias().isValid() && !d.shift.isValid()) {
        sink->throughBias(*d.share.bias, s, d.share.factor * (d.spreads() ? 1 - d.share.options.biasFactor : 1));
    }
}

Tensor ownOf(Distribution& d) { return d.own.isValid() ? std::move(d.own) : sumOfTerms(d); }

// `own` with the bias.
Tensor withBias(const Distribution& d, const Tensor& own)
{
    const Tensor bias = d.bias();
    return bias.isValid() ? algebra::addBroadcast(own, bias) : own;
}

/// Σ R as it was when all is spread, whatever bias and stabiliser are.
Tensor distributeSpreading(Distribution& d, const Tensor& relevance, Balance& balance)
{
    const Tensor own = ownOf(d);
    const Tensor s = algebra::stabilisedQuotient(relevance, withBias(d, own), d.share.options.stabiliser);
    const Tensor shares = pullBack(d, s, balance);
    const Tensor rest = algebra::subtract(relevance, algebra::multiply(s, own));
    const KeptBack kept = keptBack(d, rest, s, balance);
    bookAbsorbed(d, kept, s, balance);
    tellParameters(d, s, balance);
    return algebra::add(shares, spreadEqually(d, kept, balance));
}

algebra::Denominator denominatorOf(Distribution& d)
{
    if (d.shift.isValid()) {
        return {std::move(d.own), d.shift, false};
    }
    Tensor bias = d.bias();
    return d.result.isValid() ? algebra::Denominator{std::move(d.result), std::move(bias), true}
                              : algebra::Denominator{ownOf(d), std::move(bias), false};
}

// The part of the share, without its factor. Losses are booked times the factor.
Tensor distribute(Distribution d, const Tensor& relevance, Balance& balance)
{
    if (d.spreads()) {
        return distributeSpreading(d, relevance, balance);
    }
    algebra::DivisionAmounts amounts;
    const Tensor s = balance.quotient(relevance, denominatorOf(d), d.share.options.stabiliser, amounts);
    amounts.bias = d.shift.isValid() ? 0 : amounts.bias;
    balance.bookDivision(amounts, d.share.factor);
    tellParameters(d, s, balance);
    return pullBack(d, s, balance);
}

// Σ_k (x_k ⊙ w)·W_k.
Tensor pushThrough(const Distribution& d, const Tensor& w)
{
    Tensor sum;
    for (const Term& term : d.terms) {
        Tensor product = d.map.apply(algebra::multiply(term.input, algebra::laidOutAs(w, term.input)), term.weight);
        sum = sum.isValid() ? algebra::addOver(std::move(sum), product) : std::move(product);
    }
    return sum;
}

// What spreadEqually() adds, the other way round.
Tensor meanOfKeptBack(const Distribution& d, const Tensor& own, const Tensor& denominator, const Tensor& w)
{
    const LinearOptions& options = d.share.options;
    const Tensor ones = algebra::filledLike(own, 1);
    const Tensor inverse = algebra::stabilisedQuotient(ones, denominator, options.stabiliser);
    const Tensor rest = algebra::subtract(ones, algebra::multiply(own, inverse));
    const Tensor inputs = d.map.apply(algebra::filledLike(d.terms.front().input, 1), kOnes);
    const Tensor mean = algebra::stabilisedQuotient(d.map.apply(w, kOnes), inputs, kUnstabilised);
    const Tensor kept = algebra::keepWherePositive(algebra::multiply(rest, mean), algebra::absolute(inverse));
    return algebra::scale(algebra::keepWherePositive(kept, inputs), options.biasFactor);
}

// The transpose of distribute(); `memory` keeps the denominator, null: it is made.
Tensor weighThrough(Distribution d, const Tensor& w, WeighMemory* memory)
{
    const Tensor sum = pushThrough(d, w);
    if (memory != nullptr && !d.result.isValid() && !d.own.isValid()) {
        d.own = memory->recall([&] { return sumOfTerms(d); });
    }
    const algebra::Stabiliser stabiliser = d.share.options.stabiliser;
    if (d.spreads()) {
        const Tensor own = ownOf(d);
        const Tensor denominator = withBias(d, own);
        return algebra::add(algebra::stabilisedQuotient(sum, denominator, stabiliser),
                            meanOfKeptBack(d, own, denominator, w));
    }
    return algebra::stabilisedDivision(sum, denominatorOf(d), stabiliser, nullptr);
}

// Where z has the sign of the units.
Tensor keptAt(Units units, const Tensor& relevance, const Tensor& z)
{
    return units == Units::Positive ? algebra::keepWherePositive(relevance, z)
                                    : algebra::keepWhereNegative(relevance, z);
}

/// One application to a linear map.
class Application
{
public:
    Application(const LinearForm& form, const RuleContext& context, const ops::LinearMap& map)
        : m_form(form), m_map(map), m_outputs(context.outputs), m_relevance(context.relevance[0]), m_balance(context),
          m_parts(form, context.operands[map.operandSlot()], context.operandTypes[map.operandSlot()])
    {}

    [[nodiscard]] Balance& balance() { return m_balance; }

    [[nodiscard]] Tensor part()
    {
        if (m_form.shares.front().units != Units::All) {
            return partBySign();
        }
        const bool isWhole = m_form.shares.size() == 1 && m_form.shares.front().factor == 1;
        Tensor sum;
        for (const LinearShare& share : m_form.shares) {
            Distribution d = at(share);
            d.isWhole = isWhole;
            Tensor part = distribute(std::move(d), m_relevance, m_balance);
            if (sum.isValid()) {
                sum = algebra::addScaledOver(std::move(sum), part, share.factor);
            } else {
                sum = share.factor == 1 ? std::move(part) : algebra::scale(part, share.factor);
            }
        }
        return sum;
    }

private:
    [[nodiscard]] Distribution at(const LinearShare& share)
    {
        return distributionOf(m_form, share, m_map, m_parts, m_outputs);
    }

    [[nodiscard]] Tensor partBySign()
    {
        const Tensor& z = m_outputs[0];
        const algebra::SignSupport support = algebra::signSupport(m_relevance, z);
        Distribution forPositive = at(m_form.shares[0]);
        if (support == algebra::SignSupport::Positive) { // as behind a ReLU: the second share costs nothing
            forPositive.isWhole = true;
            return distribute(std::move(forPositive), m_relevance, m_balance);
        }
        const bool hasNegative = support == algebra::SignSupport::Negative;
        if (hasNegative && forPositive.terms.size() == 1 && isGamma() && !forPositive.spreads()) {
            return gammaFromResult();
        }
        const Tensor onPositive = keptAt(Units::Positive, m_relevance, z);
        const Tensor onNegative = keptAt(Units::Negative, m_relevance, z);
        if (m_balance.isWanted()) {
            const Tensor onZero = algebra::subtract(algebra::subtract(m_relevance, onPositive), onNegative);
            m_balance.book(event::Cause::ZeroDenominator, algebra::sum(onZero));
        }
        Tensor part = distribute(std::move(forPositive), onPositive, m_balance);
        if (!hasNegative) {
            return part;
        }
        return algebra::addOver(std::move(part), distribute(at(m_form.shares[1]), onNegative, m_balance));
    }

    [[nodiscard]] WeightVariant firstWeight(std::size_t share) const
    {
        return m_form.shares[share].terms.front().weight;
    }

    [[nodiscard]] bool isGamma() const
    {
        return firstWeight(0).part == WeightPart::GammaPositive &&
               firstWeight(1) == WeightVariant{WeightPart::GammaNegative, firstWeight(0).gamma};
    }

    /// Of an x that is nowhere negative one pass, x·W⁺, gives both denominators of gamma, since x·W is known. What both
    /// shares hand on is multiplied by x at once.
    [[nodiscard]] Tensor gammaFromResult()
    {
        const Tensor& x = m_parts.x();
        algebra::GammaDenominators denominators{m_outputs[0], m_map.apply(x, {WeightPart::Positive, 0}),
                                                firstWeight(0).gamma};
        if (m_map.hasBias()) {
            denominators.bias = m_map.bias({});
            denominators.up = at(m_form.shares[0]).bias();
            denominators.down = at(m_form.shares[1]).bias();
        }
        algebra::GammaQuotients s = algebra::gammaDivision(m_relevance, std::move(denominators),
                                                           m_form.shares[0].options.stabiliser, m_balance.isWanted());
        m_balance.book(event::Cause::ZeroDenominator, s.atZero);
        m_balance.bookDivision(s.positive);
        m_balance.bookDivision(s.negative);
        tellParameters(at(m_form.shares[0]), s.onPositive, m_balance);
        tellParameters(at(m_form.shares[1]), s.onNegative, m_balance);
        Tensor share = m_map.pullback(s.onPositive, firstWeight(0));
        share = algebra::addOver(std::move(share), m_map.pullback(s.onNegative, firstWeight(1)));
        const Tensor in = algebra::laidOutAs(x, share);
        return m_balance.product(std::move(share), in);
    }

    const LinearForm& m_form;
    const ops::LinearMap& m_map;
    std::span<const Tensor> m_outputs;
    const Tensor& m_relevance;
    Balance m_balance;
    OperandParts m_parts;
};

// Bounds per channel have one for each of axis 1; of two lists one is single or both are as long.
std::string boxMisfit(std::size_t bounds, const tensor::Shape& shape)
{
    const bool fits = bounds <= 1 || (shape.size() > 1 && shape[1] == static_cast<std::int64_t>(bounds));
    return fits ? std::string()
                : fmt::format("has bounds for {} channels, but its input is {}; give one number, or one per channel "
                              "(axis 1)",
                              bounds, tensor::toText(shape));
}

} // namespace

bool LinearShare::dividesByResult() const
{
    return options.bias == BiasPolicy::Absorb && terms.size() == 1 && terms.front().input == InputPart::Whole &&
           terms.front().weight == WeightVariant{} && bias == WeightVariant{};
}

bool LinearShare::isNowhereNegative() const
{
    const auto isNot = [](const LinearTerm& term) {
        const bool isWeightNot = term.weight.part == WeightPart::Square || term.weight.part == WeightPart::Ones;
        return (term.input == InputPart::One && isWeightNot) ||
               (term.input == InputPart::Positive && term.weight.part == WeightPart::Positive) ||
               (term.input == InputPart::Negative && term.weight.part == WeightPart::Negative);
    };
    const bool isBiasNot = !bias || options.bias == BiasPolicy::Zero || bias->part == WeightPart::Positive ||
                           bias->part == WeightPart::Square || bias->part == WeightPart::Ones;
    return isBiasNot && std::ranges::all_of(terms, isNot);
}

bool LinearShare::vanishesWithInput() const
{
    return options.bias != BiasPolicy::Spread && std::ranges::all_of(terms, [](const LinearTerm& term) {
               return term.input == InputPart::Whole || term.input == InputPart::Positive ||
                      term.input == InputPart::Negative;
           });
}

ops::Reads readsOf(const LinearForm& form, const ops::LinearMap& map)
{
    ops::Reads reads = ops::Reads::nothing();
    for (const LinearShare& share : form.shares) {
        const bool readsInput =
            std::ranges::any_of(share.terms, [](const LinearTerm& term) { return term.input != InputPart::One; });
        const bool readsResult = form.isBox() || share.dividesByResult() || share.units != Units::All;
        reads.operands |= readsInput ? ops::Reads::bit(map.operandSlot()) : 0;
        reads.outputs |= readsResult ? ops::Reads::bit(0) : 0;
    }
    return reads;
}

std::vector<Tensor> applyForm(const LinearForm& form, const RuleContext& context)
{
    const auto& map = as<ops::LinearMap>(context.op.structure());
    Application application(form, context, map);
    return application.balance().close(onlySlot(context, map.operandSlot(), application.part()));
}

std::vector<Tensor> weighForm(const LinearForm& form, const WeighContext& context)
{
    const auto& map = as<ops::LinearMap>(context.op.structure());
    const Tensor& w = context.weights[map.operandSlot()];
    OperandParts parts(form, context.operands[map.operandSlot()], {w.dtype(), w.shape()});
    Tensor sum;
    for (const LinearShare& share : form.shares) {
        if (share.units == Units::Negative && !algebra::anyNegative(context.outputs[0])) {
            continue;
        }
        Tensor part = weighThrough(distributionOf(form, share, map, parts, context.outputs), w, context.memory);
        if (share.units != Units::All) {
            part = keptAt(share.units, part, context.outputs[0]);
        }
        if (sum.isValid()) {
            sum = algebra::addScaled(sum, part, share.factor);
        } else {
            sum = share.factor == 1 ? part : algebra::scale(part, share.factor);
        }
    }
    return onlyFirst(context, sum);
}

RulePointer linearFormRule(std::string_view name, std::string text, RuleParameters parameters, LinearForm form)
{
    MisfitOfNode misfit;
    if (form.isBox()) {
        misfit = [most = std::max(form.low.size(), form.high.size())](const NodeSite& site, auto operands) {
            const tensor::Shape& shape = operands[as<ops::LinearMap>(site.op.structure()).operandSlot()].shape;
            return boxMisfit(most, shape);
        };
    }
    return formRule(
        {name, {ops::StructureKind::LinearMap}, std::move(parameters), std::move(text)},
        [form = std::move(form)](const NodeSite&) { return NodeForm{.linear = &form}; }, std::move(misfit));
}

} // namespace retro::lrp
