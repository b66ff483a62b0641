// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/event/sink.h"
#include "core/execute/forward.h"

#include <memory>
#include <span>
#include <vector>

namespace retro::engine
{

/// What the forward pass of a request saves; under policy Plan as the request says it, which goes into the result's
/// books. Errors: of the plan.
[[nodiscard]] base::Result<std::shared_ptr<const execute::SavePlan>> savePlan(const ExplainRequest& request,
                                                                              execute::SavePolicy policy,
                                                                              std::span<const base::ValueId> targets,
                                                                              ExplainResult& result);

/// Hands everything on, and under policy Plan books how dropped values were come by. Where the search for the plan is
/// recorded, its events come first, the visits of the pass are numbered behind its own, and what is computed again or
/// brought by a promise is an event.
class SavingSink final : public event::Sink
{
public:
    /// All are borrowed. The books are complete when the sink is gone.
    SavingSink(event::Sink& to, const execute::ForwardResult& forward, ExplainResult& result);
    ~SavingSink() override;
    SavingSink(const SavingSink&) = delete;
    SavingSink& operator=(const SavingSink&) = delete;

    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override;
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override { m_to.onTensor(handle, tensor); }

private:
    void book(const event::Event& event);
    void tellRuns();
    void send(event::Event event);
    void tellFetch(base::ValueId value, const event::Event& at);

    event::Sink& m_to;
    const execute::ForwardResult& m_forward;
    ExplainResult& m_result;
    std::vector<base::NodeId> m_starts; ///< per promise
    std::shared_ptr<const SearchRecord> m_search;
    std::map<base::NodeId, std::size_t> m_told; ///< of RecomputingStore::runs()
    std::uint32_t m_visit = 0;                  ///< of the pass
    bool m_hasVisited = false;
};

} // namespace retro::engine
