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

/// Forward values between the forward pass and the rules that read them, each in the form that a plan says: every rule
/// gets what it reads, and none what it does not. Used by one thread.
class ForwardedStore final : public execute::ValueStore
{
public:
    /// `alsoKept`: values that are kept as they are beside what the plan says, for kept(). `needs` must not be null.
    ForwardedStore(std::shared_ptr<const ForwardNeeds> needs, ForwardingPlan plan,
                   std::span<const base::ValueId> alsoKept);
    ForwardedStore(const ForwardedStore&) = delete;
    ForwardedStore& operator=(const ForwardedStore&) = delete;

    /// A graph input or a result of the forward pass; a result that no rule reads is not kept.
    void put(base::ValueId value, tensor::Tensor tensor) override;
    /// The value as its readers may see it; computed again where it was not kept, one of a loop with all of its
    /// segment. Invalid for data that an operator refuses.
    [[nodiscard]] tensor::Tensor get(base::ValueId value) const override;
    [[nodiscard]] tensor::Tensor kept(base::ValueId value) const override;
    /// No rule will read it any more.
    void forget(base::ValueId value);

    /// Told of each node that is computed again, in the order in which they are; empty = nobody.
    void listen(std::function<void(base::NodeId)> onRebuild) { m_onRebuild = std::move(onRebuild); }
    [[nodiscard]] const ForwardNeeds& needs() const { return *m_needs; }
    /// The decisions, with what each form took and whose memory an alias is.
    [[nodiscard]] const ForwardingPlan& plan() const { return m_plan; }
    /// Nodes that were computed again, with how often.
    [[nodiscard]] const std::map<base::NodeId, std::size_t>& rebuilds() const { return m_store.runs(); }

private:
    void keep(ForwardDecision& decision, const tensor::Tensor& data);
    void store(ForwardDecision& decision, const tensor::Tensor& data);
    void rebuild(std::size_t segment) const;
    [[nodiscard]] std::set<base::NodeId> nodesToRebuild(std::size_t segment) const;

    std::shared_ptr<const ForwardNeeds> m_needs;
    ForwardingPlan m_plan;
    std::function<void(base::NodeId)> m_onRebuild;
    std::map<base::ValueId, std::size_t> m_at; ///< position in the plan
    std::map<base::ValueId, tensor::Tensor> m_also;
    std::map<base::ValueId, PackedSigns> m_packed;
    std::map<const tensor::Storage*, base::ValueId> m_owners; ///< of memory that is kept
    mutable execute::RecomputingStore m_store;                ///< asking for a value may compute its segment again
    mutable std::set<std::size_t> m_rebuilt;                  ///< segments
};

} // namespace retro::engine
