// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/facts.h"

namespace retro::diagnosis
{

/// The magnitude share of a part p of sums z = p + Σt, m = Σ_j |R_j|·|p_j| / (|p_j| + Σ_i|t_ij|) / Σ_j|R_j|: 0 … 1,
/// whatever the signs are. `part` is broadcastable to `others`, which holds Σ_i|t_ij| in the shape of `relevance`. With
/// |z − p| in its place the result is an upper bound. 0 where no relevance arrived.
[[nodiscard]] double magnitudeShare(const Tensor& relevance, const Tensor& part, const Tensor& others);

/// Σ_i |w_ij·x_i| of each result of a linear map: the map once more on |x| and |W|, without its bias.
[[nodiscard]] Tensor termMagnitudes(const ops::LinearMap& map, const Tensor& x);

/// log10 of m / (1 − m), for m kept away from 0 and 1.
[[nodiscard]] double logOdds(double share);

/// True for a linear map; false where the model is not bound.
[[nodiscard]] bool isLinearMap(const Facts& facts, NodeId node);

} // namespace retro::diagnosis
