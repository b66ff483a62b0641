// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/cutchain.h"
#include "core/schedule/planners/blockends.h"
#include "core/schedule/planners/plannerlist.h"

#include <algorithm>
#include <cmath>

namespace retro::schedule
{

namespace
{

/// Chen et al. 2016: blocks of √n operators; what crosses a boundary stays, a block is rebuilt for its gradients.
base::Result<Draft> sqrtDraft(const PlanRequest& request)
{
    const std::vector<OpId> base = request.baseSequence();
    Halves halves = halvesOf(*request.graph, base);
    const std::size_t length = halves.forward.size();
    const auto size = std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(length))));
    if (length == 0) {
        return base::engineError("the graph has no forward operators: there is nothing to rebuild");
    }
    std::vector<std::uint32_t> ends = request.blocks.isAuto()
                                          ? regularEnds(length, size)
                                          : chosenBlockEnds(request.blocks, *request.graph, halves.forward);
    const CutChain chain(*request.graph, std::move(halves), std::move(ends));
    std::vector<bool> isKept(request.graph->values().size(), false);
    Draft result;
    for (std::size_t stage = 0; stage < chain.size(); ++stage) {
        for (const OpValueId id : chain.crossing(stage)) {
            if (!isKept[id]) {
                result.annotations.checkpoints.push_back(id);
            }
            isKept[id] = true;
        }
    }
    result.annotations.blocks = chain.ends();
    result.sequence = expandKept(*request.graph, base, isKept, Rebuilt::UntilLastGradient);
    return result;
}

} // namespace

const Planner kSqrt{"chen_sqrt", "blocks of √n",
                    "blocks of √n operators; what crosses their boundaries stays (Chen et al. 2016)", &sqrtDraft};

} // namespace retro::schedule
