// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timelinemarks.h"

#include "core/trace/breakpoints.h"

#include <QCoreApplication>

#include <algorithm>
#include <array>

namespace retro::views
{

namespace
{

/// Positions just after steps.
std::vector<std::uint64_t> after(std::vector<std::uint64_t> steps)
{
    for (std::uint64_t& step : steps) {
        ++step;
    }
    return steps;
}

void append(std::vector<TimelineMark>& all, const std::vector<TimelineMark>& more)
{
    all.insert(all.end(), more.begin(), more.end());
}

} // namespace

std::vector<TimelineMark> marksAt(const trace::Run& run, MarkKind kind, const std::vector<std::uint64_t>& positions)
{
    std::vector<TimelineMark> marks;
    marks.reserve(positions.size());
    for (const std::uint64_t position : positions) {
        if (position <= run.eventCount()) {
            marks.push_back({kind, position == 0 ? 0 : run.visitOf(position - 1), position});
        }
    }
    return marks;
}

LossMarks::LossMarks(const trace::Run& run)
{
    trace::Breakpoint violation;
    violation.kind = trace::BreakKind::LedgerViolation;
    marks = marksAt(run, MarkKind::Violation, trace::allStops(run, violation));
}

std::vector<TimelineMark> runMarks(const trace::Run& run, const trace::VisitSeries& series, const LossMarks& losses)
{
    std::vector<TimelineMark> marks = marksAt(run, MarkKind::Opened, after(series.promisesOpened));
    append(marks, marksAt(run, MarkKind::Fulfilled, after(series.promisesCompleted)));
    append(marks, losses.marks);
    return marks;
}

void arrangeMarks(std::vector<TimelineMark>& marks)
{
    std::stable_sort(marks.begin(), marks.end(),
                     [](const TimelineMark& one, const TimelineMark& other) { return one.kind < other.kind; });
    std::array<std::vector<std::uint32_t>, kMarkKinds> visits; // by kind, ascending
    for (const TimelineMark& mark : marks) {
        visits[static_cast<std::size_t>(mark.kind)].push_back(mark.visit);
    }
    for (std::vector<std::uint32_t>& of : visits) {
        std::sort(of.begin(), of.end());
    }
    const auto has = [&](MarkKind kind, std::uint32_t visit) {
        return std::ranges::binary_search(visits[static_cast<std::size_t>(kind)], visit);
    };
    for (TimelineMark& mark : marks) {
        mark.isAround = mark.kind == MarkKind::Breakpoint &&
                        (has(MarkKind::Opened, mark.visit) || has(MarkKind::Fulfilled, mark.visit) ||
                         has(MarkKind::Violation, mark.visit));
        mark.aside = mark.kind == MarkKind::Opened && has(MarkKind::Fulfilled, mark.visit)   ? -1
                     : mark.kind == MarkKind::Fulfilled && has(MarkKind::Opened, mark.visit) ? 1
                                                                                             : 0;
    }
}

QString wordOf(MarkKind kind)
{
    constexpr std::array<const char*, kMarkKinds> kWords{
        QT_TRANSLATE_NOOP("retro::views::TimelinePane", "a promise is opened"),
        QT_TRANSLATE_NOOP("retro::views::TimelinePane", "a promise is fulfilled"),
        QT_TRANSLATE_NOOP("retro::views::TimelinePane", "relevance is lost without a reason"),
        QT_TRANSLATE_NOOP("retro::views::TimelinePane", "breakpoint"),
        QT_TRANSLATE_NOOP("retro::views::TimelinePane", "bookmark")};
    return QCoreApplication::translate("retro::views::TimelinePane", kWords[static_cast<std::size_t>(kind)]);
}

} // namespace retro::views
