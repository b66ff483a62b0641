// SPDX-License-Identifier: Apache-2.0
#include "core/engine/region/keptregion.h"

namespace retro::engine
{

std::shared_ptr<const trace::RunRegion> keptRegion(const RegionResult& region)
{
    return std::make_shared<const trace::RunRegion>(
        trace::RunRegion{region.text, region.masks, region.weights, region.arriving});
}

RegionResult regionOf(const trace::RunRegion& kept, std::span<const tensor::Tensor> relevance,
                      const graph::Graph& graph)
{
    return {kept.text, kept.masks, kept.weights, kept.arriving, regionTotal(kept.masks, relevance, graph), 0};
}

} // namespace retro::engine
