// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"
#include "core/trace/run.h"

namespace retro::trace
{

/// Collects a run in memory. Tensors are shared, not copied; beyond `tensorBudget` bytes those that came first are
/// dropped (their HandleInfo stays).
class Recorder final : public event::Sink
{
public:
    explicit Recorder(std::int64_t tensorBudget = 2LL << 30);
    /// A traversal of so many nodes and edges is to come: memory for its events is asked for once.
    void expect(std::size_t nodesAndEdges);
    void onEvent(const Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override;
    /// Keeps the tensor and its type, shape, size and sum.
    void onTensor(HandleId handle, const Tensor& tensor) override;
    /// How many came so far.
    [[nodiscard]] std::uint64_t eventCount() const { return m_run.eventCount(); }
    /// Moves what was collected into a Run; graph, facts, values, rules and shapes are filled by the caller.
    [[nodiscard]] Run take() &&;

private:
    void dropOldest();

    Run m_run;
    std::int64_t m_budget;
    std::int64_t m_held = 0;
    std::vector<HandleId> m_arrival; // handles in the order in which their tensors came
    std::size_t m_oldest = 0;        // position in m_arrival of the first tensor that is still kept
};

/// Σ of the elements in double, in storage order where the tensor is dense; 0 for an invalid tensor. Not finite when an
/// element is not.
[[nodiscard]] double sumOf(const Tensor& tensor);

} // namespace retro::trace
