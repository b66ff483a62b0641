// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/ops/kernel/elementmap.h"

namespace retro::ops
{

/// What becomes of an element that updates go to.
enum class ScatterReduction : std::uint8_t { None, Add, Mul, Max, Min };

/// y[map[i]] = y[map[i]] ∘ updates[i] on a copy of `data`, in the order of i; any number type, bool as 0 and 1.
[[nodiscard]] tensor::Tensor scatterReduced(const tensor::Tensor& data, const ElementMap& map,
                                            const tensor::Tensor& updates, ScatterReduction reduction);

/// Gradients of Σ s·y with respect to data and updates; float32, float64. Of equal extremes the first gets it, data
/// before updates.
struct ScatterGradients
{
    tensor::Tensor data;
    tensor::Tensor updates;
};
/// See ScatterGradients; shapes of data and updates.
[[nodiscard]] ScatterGradients scatterGradients(const tensor::Tensor& s, const tensor::Tensor& data,
                                                const ElementMap& map, const tensor::Tensor& updates,
                                                ScatterReduction reduction);

} // namespace retro::ops
