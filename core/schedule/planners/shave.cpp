// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/candidates.h"
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/planners/shaver.h"

namespace retro::schedule
{

namespace
{

/// Powers of the cost by which candidates are ranked; one may find what another misses.
constexpr double kPowers[] = {1.0, 0.7, 1.4, 0.4, 0.0};
/// Beyond this many operators one power has to do.
constexpr std::size_t kLargeToShave = 3000;

base::Result<Draft> shaveDraft(const PlanRequest& request)
{
    const Deadline deadline(request);
    const auto isOver = [&] { return deadline.isOver(); };
    BestDraft best(request);
    for (const double power : kPowers) {
        Draft draft;
        draft.sequence = request.baseSequence();
        ShaveOptions options;
        options.costPower = power;
        options.isOver = isOver;
        options.listener = request.listener;
        if (shave(*request.graph, request.budget, draft.sequence, options)) {
            prune(*request.graph, request.budget, draft.sequence, isOver);
        }
        best.offer(std::move(draft));
        if (deadline.isOver() || (best.fits() && request.graph->size() > kLargeToShave)) {
            break;
        }
    }
    return std::move(best).take();
}

} // namespace

const Planner kShave{"shave", "peak shaving",
                     "at each peak, drops the waiting value that takes most off for the cost of its rebuilding",
                     &shaveDraft};

} // namespace retro::schedule
