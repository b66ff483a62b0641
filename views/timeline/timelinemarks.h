// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/timeline.h"

#include <QString>

#include <cstdint>
#include <vector>

namespace retro::views
{

/// What a sign over the timeline stands for, in the order in which they are drawn.
enum class MarkKind : std::uint8_t {
    Opened,     ///< ◇ a promise is opened
    Fulfilled,  ///< ◆ a promise is fulfilled
    Violation,  ///< ✕ relevance is lost without a reason
    Breakpoint, ///< ● a breakpoint holds
    Bookmark    ///< a flag
};
inline constexpr std::size_t kMarkKinds = 5;

/// A sign over a visit; `position` is where a click goes.
struct TimelineMark
{
    MarkKind kind = MarkKind::Opened;
    std::uint32_t visit = 0;
    std::uint64_t position = 0;
    bool isAround = false; ///< a ring around the other signs of its visit
    int aside = 0;         ///< ◇ and ◆ of one visit: -1 and 1, to the left and to the right of its middle
};

/// Where relevance is lost without a reason, in order of time: a walk over the run, for RunDerived.
struct LossMarks
{
    explicit LossMarks(const trace::Run& run);
    std::vector<TimelineMark> marks;
};

/// Promises and violations of a run, by kind, each in order of time.
[[nodiscard]] std::vector<TimelineMark> runMarks(const trace::Run& run, const trace::VisitSeries& series,
                                                 const LossMarks& losses);
/// Signs of one kind at positions of the run.
[[nodiscard]] std::vector<TimelineMark> marksAt(const trace::Run& run, MarkKind kind,
                                                const std::vector<std::uint64_t>& positions);
/// Sorts signs by kind, and arranges those of one visit so that none hides another.
void arrangeMarks(std::vector<TimelineMark>& marks);
/// "a promise is opened", "breakpoint", …
[[nodiscard]] QString wordOf(MarkKind kind);

} // namespace retro::views
