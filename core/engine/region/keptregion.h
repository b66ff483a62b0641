// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/region/region.h"
#include "core/trace/runregion.h"

namespace retro::engine
{

/// A region as a run file keeps it.
[[nodiscard]] std::shared_ptr<const trace::RunRegion> keptRegion(const RegionResult& region);
/// And back: the total is that of `relevance`, by ValueId.
[[nodiscard]] RegionResult regionOf(const trace::RunRegion& kept, std::span<const tensor::Tensor> relevance,
                                    const graph::Graph& graph);

} // namespace retro::engine
