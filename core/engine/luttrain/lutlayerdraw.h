// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/luttrain/lutnetwork.h"

// The numbers with which the layers of a network begin. They depend on the seed, the layer and what they are for, not
// on how many were drawn before.
namespace retro::engine
{

/// A layer as its kernels read it; borrows it, and `weights` in place of its own.
[[nodiscard]] lut::LayerDescription<float> descriptionOf(const LutTrainLayer& layer, std::span<const float> weights);

/// Draws layer `index` of a plan: anchors, synapses of a sparse layer, codes, and weights, which are 0 in the last
/// layer and small in the others. Errors (Input): what the layer's own checks say, shares and rates out of their range,
/// a residual layer that changes the width, more than 2^30 weights.
[[nodiscard]] base::Result<LutTrainLayer> drawLayer(const LutNetworkPlan& network, std::uint32_t inputs,
                                                    std::size_t index);

/// Rows of a fixed random embedding, [vocabulary, inputs].
[[nodiscard]] std::vector<float> drawEmbedding(const LutNetworkPlan& network);

} // namespace retro::engine
