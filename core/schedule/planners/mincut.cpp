// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/mincutsolver.h"
#include "core/schedule/planners/plannerlist.h"

#include <algorithm>

namespace retro::schedule
{

namespace
{

/// Shares of the operators, dearest first, that may not run again.
constexpr double kBans[] = {1.0, 0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02, 0.0};

std::vector<OpId> forwardByCost(const OpGraph& graph)
{
    std::vector<OpId> ops;
    for (OpId op = 0; op < graph.size(); ++op) {
        if (graph.op(op).phase == analysis::Phase::Forward) {
            ops.push_back(op);
        }
    }
    std::stable_sort(ops.begin(), ops.end(), [&](OpId a, OpId b) { return graph.op(a).cost > graph.op(b).cost; });
    return ops;
}

/// Fewer and fewer of the dear operators banned until the plan fits.
base::Result<Draft> minCutDraft(const PlanRequest& request)
{
    const OpGraph& graph = *request.graph;
    std::vector<std::uint64_t> price;
    for (const analysis::OpValue& value : graph.values()) {
        price.push_back(value.bytes);
    }
    const std::vector<OpId> dearest = forwardByCost(graph);
    const Deadline deadline(request);
    BestDraft best(request);
    for (const double share : kBans) {
        std::vector<bool> isBanned(graph.size(), false);
        const auto count = static_cast<std::size_t>(share * static_cast<double>(dearest.size()));
        for (std::size_t i = 0; i < count; ++i) {
            isBanned[dearest[i]] = true;
        }
        Draft draft;
        const MinCut cut = minimumCut(graph, price, isBanned);
        draft.annotations.checkpoints = cut.saved;
        draft.sequence = sequenceOfSaved(graph, request.baseSequence(), cut.saved);
        best.offer(std::move(draft));
        if (deadline.isOver()) {
            break;
        }
    }
    return std::move(best).take();
}

} // namespace

const Planner kMinCut{"min_cut", "min-cut",
                      "the fewest bytes saved between forward and gradients, dear operators never run again",
                      &minCutDraft};

} // namespace retro::schedule
