// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/magnitudeshare.h"

#include "core/ops/algebra.h"

#include <algorithm>
#include <cmath>

namespace retro::diagnosis
{

namespace algebra = ops::algebra;

namespace
{

/// Shares nearer to 0 or 1 than this have the same odds.
constexpr double kLeastShare = 1e-6;

} // namespace

double magnitudeShare(const Tensor& relevance, const Tensor& part, const Tensor& others)
{
    const bool fits = relevance.isValid() && part.isValid() && others.isValid() && relevance.shape() == others.shape();
    const double all = fits ? algebra::sumAbsolute(relevance) : 0;
    if (!(all > 0)) {
        return 0;
    }
    const Tensor size = algebra::absolute(part);
    const Tensor whole = algebra::addBroadcast(others, size);
    const Tensor share =
        algebra::stabilisedQuotient(algebra::laidOutAs(algebra::broadcastTo(size, others.shape()), whole), whole,
                                    {algebra::StabiliserKind::Add, 0, true});
    return algebra::dot(algebra::laidOutAs(algebra::absolute(relevance), share), share) / all;
}

Tensor termMagnitudes(const ops::LinearMap& map, const Tensor& x)
{
    constexpr double kTurned = -2; // w − 2·w⁻ = |w|
    return map.apply(algebra::absolute(x), {ops::WeightPart::GammaNegative, kTurned});
}

double logOdds(double share)
{
    const double kept = std::clamp(share, kLeastShare, 1 - kLeastShare);
    return std::log10(kept / (1 - kept));
}

bool isLinearMap(const Facts& facts, NodeId node)
{
    const ops::BoundOperator* op = facts.op(node);
    return op != nullptr && op->structure().kind() == ops::StructureKind::LinearMap;
}

} // namespace retro::diagnosis
