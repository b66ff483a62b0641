// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardedstore.h"
#include "core/event/sink.h"

namespace retro::engine
{

/// Hands a pass on, with an event for every operator that is computed again, in the visit that asks for its result.
class ForwardingSink final : public event::Sink
{
public:
    /// Borrowed for the life of the sink. `forgets`: what no rule will read any more is let go.
    ForwardingSink(event::Sink& to, ForwardedStore& store, bool forgets);
    ~ForwardingSink() override;
    ForwardingSink(const ForwardingSink&) = delete;
    ForwardingSink& operator=(const ForwardingSink&) = delete;

    void onEvent(const event::Event& event) override;
    void onLedger(const event::LedgerEntry& entry) override { m_to.onLedger(entry); }
    void onTensor(base::HandleId handle, const tensor::Tensor& tensor) override { m_to.onTensor(handle, tensor); }

private:
    void tellRebuild(base::NodeId node);
    void forgetResults(base::NodeId node);

    event::Sink& m_to;
    ForwardedStore& m_store;
    bool m_forgets;
    std::uint32_t m_visit = 0; ///< of the last event
};

} // namespace retro::engine
