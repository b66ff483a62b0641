// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardedvalues.h"
#include "core/execute/savedvalues.h"

#include <functional>
#include <memory>
#include <span>

namespace retro::engine
{

/// Forward values in their forms as a pass asks for them that knows saved values only: every rule gets what it reads,
/// and none what it does not. Used by one thread.
class ForwardedStore final : public execute::ValueStore
{
public:
    /// `alsoKept`: values that are kept as they are beside what the plan says, for kept(). `needs` must not be null.
    ForwardedStore(std::shared_ptr<const ForwardNeeds> needs, const ForwardingPlan& plan,
                   std::span<const base::ValueId> alsoKept);
    ForwardedStore(const ForwardedStore&) = delete;
    ForwardedStore& operator=(const ForwardedStore&) = delete;

    /// What no rule reads is not kept.
    void put(base::ValueId value, tensor::Tensor tensor) override;
    /// As ForwardedValues::get().
    [[nodiscard]] tensor::Tensor get(base::ValueId value) const override;
    [[nodiscard]] tensor::Tensor kept(base::ValueId value) const override;
    /// No rule will read it any more.
    void forget(base::ValueId value) { m_values.forget(value); }

    /// Told of each node that is computed again, in the order in which they are; empty = nobody.
    void listen(std::function<void(base::NodeId)> onRebuild) { m_onRebuild = std::move(onRebuild); }
    [[nodiscard]] const ForwardNeeds& needs() const { return *m_needs; }
    /// As ForwardedValues::takePlan().
    [[nodiscard]] const ForwardingPlan& plan() const { return m_values.plan(); }
    /// Nodes that were computed again, with how often.
    [[nodiscard]] std::map<base::NodeId, std::size_t> rebuilds() const { return m_values.rebuilds(); }

private:
    std::shared_ptr<const ForwardNeeds> m_needs;
    std::function<void(base::NodeId)> m_onRebuild;
    std::map<base::ValueId, tensor::Tensor> m_also;
    mutable ForwardedValues m_values; // asking for a value may compute it again, which is counted
};

} // namespace retro::engine
