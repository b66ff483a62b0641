// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/lineardistribution.h"

namespace retro::lrp
{

namespace algebra = ops::algebra;

namespace
{

// Divides without moving the denominator: 0/0 := 0 alone.
constexpr Stabiliser kPlain{StabiliserKind::Add, 0, true};

Tensor signedTerm(const Tensor& value, double sign) { return sign == 1 ? value : algebra::scale(value, sign); }

// Σ_k sign_k · x_k·W_k.
Tensor sumOfTerms(const LinearDistribution& d)
{
    Tensor sum;
    for (const LinearTerm& term : d.terms) {
        const Tensor product = d.map.apply(term.input, term.weight);
        sum = sum.isValid() ? algebra::addScaled(sum, product, term.sign) : signedTerm(product, term.sign);
    }
    return sum;
}

// Σ_k sign_k · x_k · (s·W_kᵀ).
Tensor pullBack(const LinearDistribution& d, const Tensor& s)
{
    Tensor sum;
    for (const LinearTerm& term : d.terms) {
        const Tensor part = algebra::multiply(d.map.pullback(s, term.weight), term.input);
        sum = sum.isValid() ? algebra::addScaled(sum, part, term.sign) : signedTerm(part, term.sign);
    }
    return sum;
}

// Hands `rest` (shape of z) to all inputs of each unit in equal parts; books what has no input to go to.
Tensor spreadEqually(const LinearDistribution& d, const Tensor& rest, const Tensor& s, Balance& balance, double factor)
{
    const WeightVariant ones{WeightPart::Ones, 0};
    const Tensor inputs = d.map.apply(algebra::filledLike(d.terms.front().input, 1), ones);
    // s is 0 where nothing arrived or where 0/0 was met: there is nothing to spread then.
    const Tensor spread = algebra::keepWherePositive(algebra::keepWherePositive(rest, algebra::absolute(s)), inputs);
    if (balance.isWanted()) {
        balance.book(event::Cause::ZeroDenominator, factor * algebra::sum(algebra::subtract(rest, spread)));
    }
    return d.map.pullback(algebra::stabilisedQuotient(spread, inputs, kPlain), ones);
}

} // namespace

Tensor distribute(const LinearDistribution& distribution, const Tensor& relevance, Balance& balance, double factor)
{
    const LinearOptions& options = distribution.options;
    const bool withBias = distribution.bias && distribution.map.hasBias() && options.bias != BiasPolicy::Zero;
    const Tensor own = sumOfTerms(distribution);
    const Tensor denominator = withBias ? algebra::addBroadcast(own, distribution.map.bias(*distribution.bias)) : own;
    const Tensor s = algebra::stabilisedQuotient(relevance, denominator, options.stabiliser);
    const Tensor shares = pullBack(distribution, s);
    if (options.bias == BiasPolicy::Spread) {
        const Tensor rest = algebra::subtract(relevance, algebra::multiply(s, own));
        return algebra::add(shares, spreadEqually(distribution, rest, s, balance, factor));
    }
    if (balance.isWanted()) {
        const double shared = balance.bookDivision(relevance, s, denominator, factor);
        if (withBias) {
            balance.book(event::Cause::Bias, factor * (shared - algebra::dot(s, own)));
        }
    }
    return shares;
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
