// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/plan/returnbook.h"
#include "core/event/sink.h"
#include "core/execute/forward.h"

#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace retro::engine
{

/// What was told before the second half of a pass: the search for its plan and the forward steps of it.
class ToldBefore final : public event::Sink
{
public:
    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry&) override {}
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override
    {
        m_tensors.emplace_back(handle, tensor);
    }

    /// Says it again.
    void tell(event::Sink& to) const;
    [[nodiscard]] bool isEmpty() const { return m_events.empty(); }
    /// What is in memory behind it: the events that brought it there, by value.
    [[nodiscard]] const std::map<std::uint32_t, event::Event>& inMemory() const { return m_inMemory; }
    [[nodiscard]] std::uint32_t visits() const { return m_visits; }
    [[nodiscard]] std::uint32_t handles() const { return m_handles; }
    [[nodiscard]] base::NodeId current() const { return m_current; }

private:
    std::vector<event::Event> m_events;
    std::vector<std::pair<base::HandleId, tensor::Tensor>> m_tensors;
    std::map<std::uint32_t, event::Event> m_inMemory;
    base::NodeId m_current; ///< of the last visit
    std::uint32_t m_visits = 0;
    std::uint32_t m_handles = 0;
};

/// A pass whose saving is booked; everything is borrowed.
struct SavingSources
{
    const execute::ForwardResult& forward;
    const lrp::RuleAssignment& rules;
    const lrp::TraversalGraph& graph;
    const ToldBefore& before;
    bool isRecorded = false; ///< what comes back is an event, too
};

/// Hands everything on, and under policy Plan books how dropped values were come by. Of a recorded pass, what was told
/// before comes first: visits and tensors of the pass are numbered behind its own, and what is computed again or
/// brought by a promise is an event.
class SavingSink final : public event::Sink
{
public:
    /// The books are complete when the sink is gone.
    SavingSink(event::Sink& to, const SavingSources& from, ExplainResult& result);
    ~SavingSink() override;
    SavingSink(const SavingSink&) = delete;
    SavingSink& operator=(const SavingSink&) = delete;

    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override;
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override;

private:
    void book(const event::Event& event);
    void reportRuns();
    void reportEnd();
    void reportRecomputed(const event::Event& rule);
    void reportReturn(base::ValueId value);
    void send(event::Event event);
    void reportFetch(base::ValueId value, const event::Event& at);
    void holdArgument(const event::Event& event);
    void letGo(std::uint32_t promise);

    event::Sink& m_to;
    SavingSources m_from;
    ExplainResult& m_result;
    ReturnBook m_book;
    std::map<base::NodeId, std::size_t> m_told;              ///< of RecomputingStore::runs()
    std::map<base::NodeId, std::size_t> m_remade;            ///< by rules, for outputs that they read
    std::vector<std::int64_t> m_bytes;                       ///< per handle of the pass
    std::map<std::uint32_t, std::set<std::uint32_t>> m_held; ///< per promise: handles
    std::map<std::uint32_t, std::uint32_t> m_holders;        ///< per handle: how many promises
    std::uint64_t m_heldBytes = 0;
    std::uint32_t m_visit = 0; ///< of the pass
    bool m_hasVisited = false;
};

} // namespace retro::engine
