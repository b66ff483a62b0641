// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/planners/plannerlist.h"

namespace retro::schedule
{

namespace
{

base::Result<Draft> storeAllDraft(const PlanRequest& request)
{
    Draft result;
    result.sequence = request.baseSequence();
    return result;
}

} // namespace

const Planner kStoreAll{"store_all", "store all", "every operator once; everything stays until its last reader",
                        &storeAllDraft};

} // namespace retro::schedule
