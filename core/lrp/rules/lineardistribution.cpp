// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/lineardistribution.h"

#include "core/lrp/traversal/parametersink.h"
#include "core/ops/algebraover.h"
#include "core/ops/stabiliseddivision.h"
#include "core/ops/stackedpullback.h"

#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

Tensor signedTerm(const Tensor& value, double sign) { return sign == 1 ? value : algebra::scale(value, sign); }

// Σ_k sign_k · x_k·W_k.
Tensor sumOfTerms(const LinearDistribution& d)
{
    Tensor sum;
    for (const LinearTerm& term : d.terms) {
        Tensor product = d.map.apply(term.input, term.weight);
        sum =
            sum.isValid() ? algebra::addScaledOver(std::move(sum), product, term.sign) : signedTerm(product, term.sign);
    }
    return sum;
}

// s·W_kᵀ for every term; in one call where the map can.
std::vector<Tensor> pulledBack(const LinearDistribution& d, const Tensor& s)
{
    std::vector<WeightVariant> weights;
    for (const LinearTerm& term : d.terms) {
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

// Σ_k sign_k · x_k · (s·W_kᵀ).
Tensor pullBack(const LinearDistribution& d, const Tensor& s, Balance& balance)
{
    std::vector<Tensor> shares = pulledBack(d, s);
    if (d.isWhole && d.options.bias != BiasPolicy::Spread && shares.size() == 1 && d.terms.front().sign == 1) {
        const Tensor x = algebra::laidOutAs(d.terms.front().input, shares.front());
        return balance.product(std::move(shares.front()), x);
    }
    Tensor sum;
    for (std::size_t k = 0; k < shares.size(); ++k) {
        const LinearTerm& term = d.terms[k];
        // Element by element, the product of two orders takes longer than turning one of them round first.
        const Tensor x = algebra::laidOutAs(term.input, shares[k]);
        Tensor part = algebra::multiplyOver(std::move(shares[k]), x);
        sum = sum.isValid() ? algebra::addScaledOver(std::move(sum), part, term.sign) : signedTerm(part, term.sign);
    }
    return sum;
}

// What bias and stabiliser keep back of the relevance of each unit, where there are inputs to hand it to.
struct KeptBack
{
    Tensor rest;
    Tensor inputs; // of each unit, as a count
};

KeptBack keptBack(const LinearDistribution& d, const Tensor& rest, const Tensor& s, Balance& balance, double factor)
{
    KeptBack kept{{}, d.map.apply(algebra::filledLike(d.terms.front().input, 1), {WeightPart::Ones, 0})};
    // s is 0 where nothing arrived or where 0/0 was met: there is nothing to spread then.
    kept.rest = algebra::keepWherePositive(algebra::keepWherePositive(rest, algebra::absolute(s)), kept.inputs);
    if (balance.isWanted()) {
        balance.book(event::Cause::ZeroDenominator, factor * algebra::sum(algebra::subtract(rest, kept.rest)));
    }
    return kept;
}

// Books the part of what was kept back that is not spread.
void bookAbsorbed(const LinearDistribution& d, const KeptBack& kept, const Tensor& s, Balance& balance, double factor)
{
    const double part = factor * (1 - d.options.biasFactor);
    if (!balance.isWanted() || part == 0) {
        return;
    }
    double bias = 0;
    if (d.bias && d.map.hasBias()) {
        const Tensor everywhere = algebra::addBroadcast(algebra::filledLike(s, 0), d.map.bias(*d.bias));
        bias = algebra::dot(s, algebra::keepWherePositive(everywhere, kept.inputs));
    }
    balance.book(event::Cause::Bias, part * bias);
    balance.book(event::Cause::Stabiliser, part * (algebra::sum(kept.rest) - bias));
}

// Hands that part of it which is spread to all inputs of each unit in equal parts.
Tensor spreadEqually(const LinearDistribution& d, const KeptBack& kept, double factorOfRule, const Balance& balance)
{
    const double factor = d.options.biasFactor;
    const Tensor each = algebra::stabilisedQuotient(kept.rest, kept.inputs, kUnstabilised);
    if (balance.parameters() != nullptr) {
        const Tensor ones = algebra::filledLike(d.terms.front().input, 1);
        balance.parameters()->throughWeights(ones, {WeightPart::Ones, 0}, each, factorOfRule * factor);
    }
    return d.map.pullback(factor == 1 ? each : algebra::scale(each, factor), {WeightPart::Ones, 0});
}

// Tells what weights and bias carried: the bias that part of what it took which is not spread.
void tellParameters(const LinearDistribution& d, const Tensor& s, double factor, const Balance& balance)
{
    ParameterSink* const sink = balance.parameters();
    if (sink == nullptr) {
        return;
    }
    for (const LinearTerm& term : d.terms) {
        sink->throughWeights(term.input, term.weight, s, factor * term.sign);
    }
    const double absorbed = d.options.bias == BiasPolicy::Spread ? 1 - d.options.biasFactor : 1;
    if (d.bias && d.map.hasBias() && d.options.bias != BiasPolicy::Zero && !d.shift.isValid()) {
        sink->throughBias(*d.bias, s, factor * absorbed);
    }
}

Tensor ownOf(LinearDistribution& d) { return d.own.isValid() ? std::move(d.own) : sumOfTerms(d); }

/// Σ R as it was when all is spread, whatever bias and stabiliser are.
Tensor distributeSpreading(LinearDistribution& d, const Tensor& relevance, Balance& balance, double factor)
{
    const Tensor own = ownOf(d);
    const bool withBias = d.bias && d.map.hasBias();
    const Tensor denominator = withBias ? algebra::addBroadcast(own, d.map.bias(*d.bias)) : own;
    const Tensor s = algebra::stabilisedQuotient(relevance, denominator, d.options.stabiliser);
    const Tensor shares = pullBack(d, s, balance);
    const Tensor rest = algebra::subtract(relevance, algebra::multiply(s, own));
    const KeptBack kept = keptBack(d, rest, s, balance, factor);
    bookAbsorbed(d, kept, s, balance, factor);
    tellParameters(d, s, factor, balance);
    return algebra::add(shares, spreadEqually(d, kept, factor, balance));
}

algebra::Denominator denominatorOf(LinearDistribution& d)
{
    if (d.shift.isValid()) {
        return {std::move(d.own), d.shift, false};
    }
    const bool withBias = d.bias && d.map.hasBias() && d.options.bias != BiasPolicy::Zero;
    Tensor bias = withBias ? d.map.bias(*d.bias) : Tensor();
    return d.result.isValid() ? algebra::Denominator{std::move(d.result), std::move(bias), true}
                              : algebra::Denominator{ownOf(d), std::move(bias), false};
}

} // namespace

Tensor distribute(LinearDistribution distribution, const Tensor& relevance, Balance& balance, double factor)
{
    if (distribution.options.bias == BiasPolicy::Spread) {
        return distributeSpreading(distribution, relevance, balance, factor);
    }
    algebra::DivisionAmounts amounts;
    const Tensor s = balance.quotient(relevance, denominatorOf(distribution), distribution.options.stabiliser, amounts);
    amounts.bias = distribution.shift.isValid() ? 0 : amounts.bias;
    balance.bookDivision(amounts, factor);
    tellParameters(distribution, s, factor, balance);
    return pullBack(distribution, s, balance);
}

namespace
{

// Σ_k sign_k · (x_k ⊙ w)·W_k.
Tensor pushThrough(const LinearDistribution& d, const Tensor& w)
{
    Tensor sum;
    for (const LinearTerm& term : d.terms) {
        Tensor product = d.map.apply(algebra::multiply(term.input, algebra::laidOutAs(w, term.input)), term.weight);
        sum =
            sum.isValid() ? algebra::addScaledOver(std::move(sum), product, term.sign) : signedTerm(product, term.sign);
    }
    return sum;
}

// What spreadEqually() adds, the other way round.
Tensor meanOfKeptBack(const LinearDistribution& d, const Tensor& own, const Tensor& denominator, const Tensor& w)
{
    const Tensor ones = algebra::filledLike(own, 1);
    const Tensor inverse = algebra::stabilisedQuotient(ones, denominator, d.options.stabiliser);
    const Tensor rest = algebra::subtract(ones, algebra::multiply(own, inverse));
    const Tensor inputs = d.map.apply(algebra::filledLike(d.terms.front().input, 1), {WeightPart::Ones, 0});
    const Tensor mean = algebra::stabilisedQuotient(d.map.apply(w, {WeightPart::Ones, 0}), inputs, kUnstabilised);
    const Tensor kept = algebra::keepWherePositive(algebra::multiply(rest, mean), algebra::absolute(inverse));
    return algebra::scale(algebra::keepWherePositive(kept, inputs), d.options.biasFactor);
}

} // namespace

Tensor weighThrough(LinearDistribution d, const Tensor& w, WeighMemory* memory)
{
    const Tensor sum = pushThrough(d, w);
    if (memory != nullptr && !d.result.isValid() && !d.own.isValid()) {
        d.own = memory->recall([&] { return sumOfTerms(d); });
    }
    if (d.options.bias == BiasPolicy::Spread) {
        const Tensor own = ownOf(d);
        const bool withBias = d.bias && d.map.hasBias();
        const Tensor denominator = withBias ? algebra::addBroadcast(own, d.map.bias(*d.bias)) : own;
        return algebra::add(algebra::stabilisedQuotient(sum, denominator, d.options.stabiliser),
                            meanOfKeptBack(d, own, denominator, w));
    }
    const LinearOptions options = d.options;
    algebra::Denominator by = denominatorOf(d);
    return algebra::stabilisedDivision(sum, std::move(by), options.stabiliser, nullptr);
}

std::vector<LinearTerm> signSplit(const Tensor& x, WeightVariant forPositive, WeightVariant forNegative)
{
    if (!algebra::anyNegative(x)) {
        return {{x, forPositive, 1}};
    }
    return {{algebra::positivePart(x), forPositive, 1}, {algebra::negativePart(x), forNegative, 1}};
}

ops::Reads readsOperandOf(const ops::LinearMap& map) { return {ops::Reads::bit(map.operandSlot()), 0}; }

} // namespace retro::lrp
