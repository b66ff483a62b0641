// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/plannerlist.h"
#include "core/schedule/replay.h"

namespace retro::schedule
{

namespace
{

base::Result<Draft> recomputeAllDraft(const PlanRequest& request)
{
    Draft result;
    result.sequence = expandKept(*request.graph, request.baseSequence(), {}, Rebuilt::OnlyHere);
    return result;
}

} // namespace

const Planner kRecomputeAll{"recompute_all", "recompute all",
                            "nothing stays: each gradient operator rebuilds what it reads", &recomputeAllDraft};

} // namespace retro::schedule
