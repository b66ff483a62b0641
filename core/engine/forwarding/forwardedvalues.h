// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/compressible.h"
#include "core/engine/forwarding/forwarding.h"
#include "core/execute/recomputingstore.h"

#include <functional>
#include <map>
#include <set>

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

} // namespace retro::engine
