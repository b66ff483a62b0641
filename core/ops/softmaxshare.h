// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/algebra.h"

namespace retro::ops::algebra
{

/// Logits of −kMaskedLogit and less are masked out: −∞, or the large finite numbers that exporters put there.
inline constexpr double kMaskedLogit = 1e30;

/// What a softmax hands to its logits.
struct SoftmaxShare
{
    Tensor part;       ///< x ⊙ (r − p ⊙ total), 0 where a logit is masked out; shape of the logits
    double masked = 0; ///< Σ (r − p ⊙ total) over the logits that are masked out
};

/// x ⊙ (r − p ⊙ total) in one walk: the rule softmax-taylor (docs/composites.md), with `total`
/// the sum of r over the softmax axis, broadcastable to r's shape. The others have one shape, all four one type, float
/// or double. Probabilities that are not above 0, NaN among them, count as 0. `masked` is made when it is wanted.
[[nodiscard]] SoftmaxShare softmaxShare(const Tensor& logits, const Tensor& probabilities, const Tensor& r,
                                        const Tensor& total, bool wantsMasked);

} // namespace retro::ops::algebra
