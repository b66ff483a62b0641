// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/compressible.h"
#include "core/engine/forwarding/forwarding.h"
#include "core/execute/recomputingstore.h"
#include "core/execute/savedvalues.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>

namespace retro::engine
{

/// Forward values between the forward pass and the reverse rules, each in its form. Used by one thread.
class ForwardedValues
{
public:
    /// `needs` must outlive it. `onRebuild` is told of each node that is computed again, in the order in which they
    /// are.
    ForwardedValues(const ForwardNeeds& needs, const ForwardingPlan& plan,
                    std::function<void(base::NodeId)> onRebuild = {});

    /// A graph input.
    void putInput(base::ValueId value, const tensor::Tensor& data);
    /// A result of the forward pass; what no rule reads is not kept.
    void put(base::ValueId value, const tensor::Tensor& data);
    /// The value as its readers may see it; computed again where it was not kept, one of a loop with all of its
    /// segment. Invalid for data that an operator refuses.
    [[nodiscard]] tensor::Tensor get(base::ValueId value);
    /// The value where it is kept as it is; invalid where it is not.
    [[nodiscard]] tensor::Tensor kept(base::ValueId value) const { return m_store.kept(value); }
    /// No rule will read it any more.
    void forget(base::ValueId value);

    /// The decisions, with what each form took and whose memory an alias is.
    [[nodiscard]] ForwardingPlan takePlan() { return std::move(m_plan); }
    [[nodiscard]] const ForwardingPlan& plan() const { return m_plan; }
    /// Nodes that were computed again, with how often.
    [[nodiscard]] std::map<base::NodeId, std::size_t> rebuilds() const;

private:
    void store(ForwardDecision& decision, const tensor::Tensor& data);
    void rebuild(std::size_t segment);
    [[nodiscard]] std::set<base::NodeId> nodesToRebuild(std::size_t segment) const;

    const ForwardNeeds& m_needs;
    ForwardingPlan m_plan;
    std::function<void(base::NodeId)> m_onRebuild;
    std::map<base::ValueId, std::size_t> m_at; ///< position in the plan
    std::map<base::ValueId, PackedSigns> m_packed;
    std::map<const tensor::Storage*, base::ValueId> m_owners; ///< of memory that is kept
    execute::RecomputingStore m_store;
    std::set<std::size_t> m_rebuilt;             ///< segments
    std::map<base::NodeId, std::size_t> m_again; ///< nodes of segments that were run again
};

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
