// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"
#include "core/trace/run.h"

namespace retro::trace
{

/// Collects a run in memory. Tensors are shared, not copied; beyond `tensorBudget` bytes the oldest are dropped (their
/// HandleInfo stays).
class Recorder final : public event::Sink
{
public:
    explicit Recorder(std::int64_t tensorBudget = 2LL << 30);
    void onEvent(const Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override;
    void onTensor(HandleId handle, const Tensor& tensor) override;
    /// Moves what was collected into a Run; graph, facts, values, rules and shapes are filled by the caller.
    [[nodiscard]] Run take() &&;

private:
    Run m_run;
    std::int64_t m_budget;
    std::int64_t m_held = 0;
    std::size_t m_oldest = 0;
};

} // namespace retro::trace
