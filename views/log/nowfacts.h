// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/motion.h"
#include "views/common/viewcontext.h"

#include <QString>

#include <optional>
#include <vector>

namespace retro::views
{

/// An event near the cursor.
struct NowEvent
{
    enum class When : std::uint8_t { Before, Now, Next };
    std::uint64_t step = 0;
    When when = When::Before;
    QString kind;
    QString node; ///< empty for an event of no node
    QString what;
};
/// The event that was applied last, up to three before it and two behind it, in order. Empty for a run without events.
[[nodiscard]] std::vector<NowEvent> eventsAround(const RunModel& model);

/// Relevance of the node at the cursor, and where it is. Nothing of it is known before its event has been applied.
struct NowAmount
{
    enum class Kind : std::uint8_t { Arrived, Asked, HandedOn, Waits, OnItsWay, Absorbed };
    Kind kind = Kind::Arrived;
    QString name;              ///< "from block1.out", "to block1.second", "waits at stem.pool", "absorbed by bias"
    std::optional<double> sum; ///< nothing while only a promise has come
};
struct NowRelevance
{
    base::NodeId node; ///< invalid before the first visit
    QString name;
    std::vector<NowAmount> amounts;
    QString rule;    ///< "Rule z-plus at block1.second"; empty for a node without one
    QString formula; ///< "1.4830 handed on + 0.0122 absorbed by bias = 1.4952 arrived", or what it waits for
};
/// `motion` is that of the run. O(landings between the oldest part of the node and the cursor).
[[nodiscard]] NowRelevance relevanceNow(const RunModel& model, const trace::Motion& motion);

/// What a picture of fast play adds up: the visits of its last quarter of a second.
struct NowSpan
{
    std::int64_t visits = 0;
    std::int64_t nodes = 0; ///< that were visited, each once
    std::int64_t landed = 0;
    std::int64_t opened = 0;
    std::int64_t fulfilled = 0;
};
/// A function of run, position and speed (visits per second) alone; O(events in the span).
[[nodiscard]] NowSpan spanNow(const RunModel& model, const trace::Motion& motion, double speed);

/// An amount with so many digits that amounts of one node can be compared: those of `largest`.
[[nodiscard]] QString amountNowText(double amount, double largest);

} // namespace retro::views
