// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/savingsink.h"
#include "core/engine/ways/promise.h"

namespace retro::engine
{

/// The traversal with promises over what a plan keeps: the forward steps of the plan, then promises, which bring what
/// it dropped (SavePolicy::Plan).
class PlannedWay final : public PromiseWay
{
public:
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    [[nodiscard]] const execute::SavedValues* saved(const Pass&) const override { return nullptr; }

protected:
    base::Result<void> carryTo(Pass& pass, const lrp::TraversalGraph& graph, event::Sink& sink) override;

private:
    ToldBefore m_before;
};

} // namespace retro::engine
