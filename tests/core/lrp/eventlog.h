// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/event/sink.h"

#include <functional>
#include <string>
#include <vector>

namespace retro::lrptest
{

using base::HandleId;
using base::NodeId;

/// Keeps the events of a run, to be read as text.
class EventLog final : public event::Sink
{
public:
    void onEvent(const event::Event& event) override { events.push_back(event); }
    void onLedger(const event::LedgerEntry& entry) override { ledger.push_back(entry); }
    void onTensor(HandleId, const tensor::Tensor&) override {}

    std::vector<event::Event> events;
    std::vector<event::LedgerEntry> ledger;
};

/// In-relevance of the branches of a promise when it was complete.
struct Completion
{
    std::string who;
    std::vector<HandleId> relevance;
};

/// A run in the words of the golden files.
struct RunText
{
    std::vector<std::string> trace;  ///< "3:PTM:h"
    std::vector<std::string> events; ///< "2 new P1 pre at h parents P0.0"
    std::vector<Completion> completions;
    std::vector<Completion> beginnings; ///< of promises that sum parts and are no Pre-Promise: by output
};

using NodeName = std::function<std::string(NodeId)>;

[[nodiscard]] RunText textOf(const std::vector<event::Event>& events, const NodeName& nameOf);
/// The same of a traversal by the document, which also tells of tails, rescues and the end.
[[nodiscard]] RunText documentTextOf(const std::vector<event::Event>& events, const NodeName& nameOf);

/// Replays the deltas of a run and says what does not fit (a pop of what is not on top, a part taken from an empty
/// slot, an overwritten value that differs from what the event says was there, …); empty when the run is consistent and
/// ends with nothing waiting.
[[nodiscard]] std::string inconsistency(const std::vector<event::Event>& events);

} // namespace retro::lrptest
