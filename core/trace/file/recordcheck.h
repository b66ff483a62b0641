// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

namespace retro::trace::file
{

/// Sizes of all handles of a run together stay below this, so that sums of them cannot overflow.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 60U;

/// What is wrong with a ledger row of `run`, or nullptr.
[[nodiscard]] const char* wrongEntry(const event::LedgerEntry& entry, const Run& run);

/// Checks events one by one as they come from a file: every id exists, every enumerator is known. Finds the visits.
/// What the events say about each other is the timeline's to check.
class EventCheck
{
public:
    /// Appends to run.visitStart; graph, handles and ledger must be there.
    explicit EventCheck(Run& run) : m_run(run) {}

    /// `event` is the last of run.events. Returns what is wrong, or nullptr.
    [[nodiscard]] const char* next(const Event& event);

private:
    [[nodiscard]] const char* checkKinds(const Event& event);
    [[nodiscard]] bool areIdsGood(const Event& event) const;

    Run& m_run;
    std::uint32_t m_promises = 0;
};

} // namespace retro::trace::file
