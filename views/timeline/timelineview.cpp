// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timelineview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/paint/paintfile.h"
#include "views/common/paint/theme.h"
#include "views/common/run/runtexts.h"
#include "views/timeline/frontiermodes.h"
#include "views/timeline/timelinepane.h"

#include <string>

namespace retro::views
{

namespace
{

std::string csvOf(const trace::VisitSeries& series, const FrontierModes& modes, const graph::Graph& graph)
{
    CsvText text({"visit", "mode", "node", "frontier_landed", "frontier_held", "frontier_normal", "frontier_search",
                  "frontier_fulfilment", "frontier_bytes", "stack_depth", "queue_depth"});
    for (std::size_t i = 0; i < series.mode.size(); ++i) {
        const auto width = [&](event::Mode from) { return static_cast<std::int64_t>(modes.width(i, from)); };
        text.row(i + 1, event::shortName(series.mode[i]), graph.labelOf(series.node[i]), series.frontierLanded[i],
                 series.frontierHeld[i], width(event::Mode::Normal), width(event::Mode::Search),
                 width(event::Mode::Fulfilment), series.frontierBytes[i], series.stackDepth[i], series.queueDepth[i]);
    }
    return text.take();
}

} // namespace

TimelineView::TimelineView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_pane = new TimelinePane(model, cursor, this);
    setBody(m_pane);
    connect(m_pane, &TimelinePane::tracksChanged, this, &TimelineView::captionChanged);
    setEmptyText(tr("The run appears here, visit by visit, once something was explained."));
}

void TimelineView::followBreakpoints(BreakpointList& list)
{
    m_breakpoints = &list;
    const auto show = [this] { m_pane->setMarks(MarkKind::Breakpoint, m_breakpoints->stops()); };
    connect(&list, &BreakpointList::stopsChanged, this, show);
    show();
}

void TimelineView::followRange(TimeRange& range)
{
    m_range = &range;
    m_pane->setRange(range);
    connect(&range, &TimeRange::changed, this, &TimelineView::captionChanged);
}

void TimelineView::setBookmarks(const std::vector<std::uint64_t>& positions)
{
    m_bookmarks = positions;
    m_pane->setMarks(MarkKind::Bookmark, positions);
}

QString TimelineView::subject() const
{
    if (m_range != nullptr && m_range->visits()) {
        return tr("lists show %1").arg(m_range->text());
    }
    const QString hidden = m_pane->hiddenTracks();
    return hidden.isEmpty() ? tr("drag to scrub, wheel to zoom") : hidden;
}

QString TimelineView::hint() const
{
    const QString stretch = m_pane->stretchText();
    return stretch.isEmpty()
               ? tr("What is left of the line has happened. A stretch drawn on the ruler is counted here.")
               : stretch;
}

bool TimelineView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

base::Result<void> TimelineView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || model().series().mode.empty()) {
        return base::usageError("there is no run to export", path.string());
    }
    if (path.extension() == ".csv") {
        return base::writeFile(path, csvOf(model().series(), *model().derived<FrontierModes>(), model().graph()));
    }
    const QSizeF size(m_pane->size().expandedTo(m_pane->sizeHint())); // it may never have been on screen
    return paintToFile(
        path, size, [&](QPainter& painter) { m_pane->paint(painter, size, theme(this)); }, tr("Timeline"),
        runTexts(model().run(), model().position()), 2);
}

void TimelineView::refresh(Changes changes)
{
    if (changes & Change::Run) {
        m_pane->setRun();
        if (m_breakpoints != nullptr) {
            m_pane->setMarks(MarkKind::Breakpoint, m_breakpoints->stops());
        }
        if (m_bookmarks) {
            m_pane->setMarks(MarkKind::Bookmark, *m_bookmarks);
        }
    }
    m_pane->follow();
}

QString TimelineView::emptyReason() const
{
    return model().hasRun() && model().series().mode.empty() ? tr("Nothing was run yet. Choose an input and press Run.")
                                                             : QString();
}

} // namespace retro::views

#include "moc_timelineview.cpp"
