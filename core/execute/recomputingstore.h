// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/savedvalues.h"

#include <functional>
#include <map>
#include <memory>
#include <set>

namespace retro::execute
{

/// Values that a plan keeps; the others are computed again from them, from inputs and constants, whenever somebody
/// asks, with the bits of the forward pass. Nothing that is computed again is kept. Used by one thread.
class RecomputingStore final : public ValueStore
{
public:
    /// `onRun` is told of each node that is run again, in the order of the runs.
    explicit RecomputingStore(std::shared_ptr<const BoundModel> model, std::function<void(NodeId)> onRun = {})
        : m_model(std::move(model)), m_kept(m_model->graph().valueCount()), m_onRun(std::move(onRun))
    {}

    void put(ValueId value, Tensor tensor) override { m_kept.put(value, std::move(tensor)); }
    /// Never invalid once the inputs were put, but for data that an operator refuses.
    [[nodiscard]] Tensor get(ValueId value) const override;
    [[nodiscard]] Tensor kept(ValueId value) const override { return m_kept.get(value); }
    /// What these nodes make, run again in their order; operands as get() has them.
    [[nodiscard]] std::map<ValueId, Tensor> made(const std::set<NodeId>& nodes) const;
    /// How often each node was run again.
    [[nodiscard]] const std::map<NodeId, std::size_t>& runs() const { return m_runs; }

private:
    [[nodiscard]] std::set<NodeId> nodesFor(ValueId wanted) const;

    std::shared_ptr<const BoundModel> m_model;
    MemoryValueStore m_kept;
    std::function<void(NodeId)> m_onRun;
    mutable std::map<NodeId, std::size_t> m_runs; // asking for a value says how it was come by
};

} // namespace retro::execute
