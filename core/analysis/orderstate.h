// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/analysis/opgraph.h"

#include <vector>

namespace retro::analysis
{

/// A partial order: what was run, what is ready, what is live. Running an operator costs O(operands + readers).
class OrderState
{
public:
    explicit OrderState(const OpGraph& graph);

    /// Ready operators, in no particular order.
    [[nodiscard]] const std::vector<OpId>& ready() const { return m_ready; }
    [[nodiscard]] std::uint64_t live() const { return m_live; }
    [[nodiscard]] std::uint64_t peak() const { return m_peak; }
    [[nodiscard]] std::uint64_t peakLive() const { return m_peakLive; }
    [[nodiscard]] const std::vector<OpId>& order() const { return m_order; }
    /// Bytes in memory while `op` (ready) would run.
    [[nodiscard]] std::uint64_t transientOf(OpId op) const;
    /// Bytes in memory after `op` (ready) would have run.
    [[nodiscard]] std::uint64_t liveAfter(OpId op) const { return m_live + keptBytes(op) - freedBytes(op); }
    /// Runs a ready operator. `changed` (may be null) gets the operators whose liveAfter − live changed or that became
    /// ready.
    void run(OpId op, std::vector<OpId>* changed = nullptr);

    /// Bytes that running it would add for good, and take away.
    [[nodiscard]] std::uint64_t keptBytes(OpId op) const;
    [[nodiscard]] std::uint64_t freedBytes(OpId op) const;

private:
    void release(OpValueId output, std::vector<OpId>* changed);
    void noteLastReader(OpValueId value, std::vector<OpId>* changed) const;

    const OpGraph* m_graph;
    std::vector<std::uint32_t> m_missing; ///< producers that have not run, per operator
    std::vector<std::uint32_t> m_readersLeft;
    std::vector<bool> m_isDone;
    std::vector<OpId> m_ready;
    std::vector<std::uint32_t> m_readyAt; ///< position in m_ready
    std::vector<OpId> m_order;
    std::uint64_t m_live = 0;
    std::uint64_t m_peak = 0;
    std::uint64_t m_peakLive = 0;
};

} // namespace retro::analysis
