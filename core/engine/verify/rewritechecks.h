// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/target.h"
#include "core/engine/model/loadmodel.h"
#include "core/engine/verify/property.h"

#include <cstdint>
#include <stop_token>
#include <vector>

namespace retro::engine
{

/// Multiply-adds (counted as two) of a model whose rewrites are checked: each costs several passes in double.
inline constexpr double kMostRewriteFlops = 2e9;

/// One property per rewrite that changed the graph, in the order in which they were applied, its id the name of the
/// rewrite: behind it, P5, P6 and the slope of the whole model hold in double from a seed drawn by chance, and the
/// target and the gradients of the inputs from that seed are those of the graph before it. Not applicable beyond
/// kMostRewriteFlops and where the target is no value of both graphs. Errors: what a pass over the model refuses;
/// Cancelled.
[[nodiscard]] base::Result<PropertyResults> checkRewrites(const LoadedModel& model,
                                                          const std::vector<tensor::Tensor>& inputs,
                                                          const TargetRequest& target, std::uint64_t seed,
                                                          const std::stop_token& stop);

} // namespace retro::engine
