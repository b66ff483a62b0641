// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/planned.h"

#include "core/engine/plan/savingsink.h"

namespace retro::engine
{

base::Result<execute::ForwardResult> PlannedWay::forward(Pass& pass)
{
    const ForwardNeed need = needs(pass);
    RETRO_TRY(auto plan, savePlan(pass.request, need.policy, pass.targets, pass.result));
    return execute::forward(pass.result.model, pass.inputs, std::move(plan), pass.stop, pass.progressOf("forward"),
                            need.alsoKept);
}

base::Result<void> PlannedWay::carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink)
{
    SavingSink saving(sink, *pass.forward, pass.result);
    return PromiseWay::carryTo(pass, graph, saving);
}

} // namespace retro::engine
