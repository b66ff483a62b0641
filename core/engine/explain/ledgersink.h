// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"

#include <vector>

namespace retro::engine
{

/// Keeps ledger rows and snapshots, drops everything else: for runs that are not recorded.
class LedgerSink final : public event::Sink
{
public:
    void onEvent(const event::Event& event) override
    {
        if (event.kind == event::EventKind::Snapshot) {
            snapshots.push_back(event);
        }
    }
    void onLedger(const event::LedgerEntry& entry) override { rows.push_back(entry); }
    void onTensor(base::HandleId, const tensor::Tensor&) override {}
    std::vector<event::LedgerEntry> rows;
    std::vector<event::Event> snapshots;
};

} // namespace retro::engine
