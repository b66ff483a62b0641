// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/notes.h"
#include "views/common/run/place.h"
#include "views/common/viewcontext.h"

#include <QString>

#include <optional>

namespace retro::views
{

/// Where each promise of a run starts, by PromiseId (a RunDerived).
struct PromiseStarts
{
    explicit PromiseStarts(const trace::Run& run);
    std::vector<base::NodeId> nodes;
};

/// A place in words and figures: what a row of the notebook shows.
struct NotebookEntry
{
    Place place;
    std::optional<std::uint32_t> visit; ///< from 0; none = before the first visit
    event::Mode mode = event::Mode::None;
    base::NodeId node;         ///< what was selected belongs to it; without a selection the node that was visited
    QString what;              ///< its name: "block1/Add", "P3 of fc"; empty = there was nothing yet
    std::optional<double> sum; ///< Σ of its relevance (of the selected value, else of the first output) at the step
    QString comment;

    [[nodiscard]] bool hasSelection() const { return !std::holds_alternative<std::monostate>(place.thing); }
};

/// Fills in everything but the comment. Without walking over the run; any position and thing will do.
[[nodiscard]] NotebookEntry describePlace(const RunModel& model, const Place& place);

/// As a run file keeps it, and back.
[[nodiscard]] trace::Note toNote(const NotebookEntry& entry);
[[nodiscard]] Place placeOf(const trace::Note& note);

/// "12 normal: block1/Add was selected, relevance 3.41" for people who hear it.
[[nodiscard]] QString sentenceOf(const NotebookEntry& entry);

} // namespace retro::views
