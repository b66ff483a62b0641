// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timelineview.h"

#include "core/base/file.h"
#include "views/common/paintfile.h"
#include "views/common/theme.h"
#include "views/timeline/timelinepane.h"

#include <string>

namespace retro::views
{

namespace
{

std::string csvOf(const trace::VisitSeries& series, const graph::Graph& graph)
{
    std::string csv = "visit,mode,node,frontier_landed,frontier_held,frontier_bytes,stack_depth,queue_depth\n";
    for (std::size_t i = 0; i < series.mode.size(); ++i) {
        std::string name = graph.labelOf(series.node[i]);
        for (std::size_t at = name.find('"'); at != std::string::npos; at = name.find('"', at + 2)) {
            name.insert(at, 1, '"');
        }
        csv += std::to_string(i + 1) + ',' + std::string(event::shortName(series.mode[i])) + ",\"" + name + "\"," +
               std::to_string(series.frontierLanded[i]) + ',' + std::to_string(series.frontierHeld[i]) + ',' +
               std::to_string(series.frontierBytes[i]) + ',' + std::to_string(series.stackDepth[i]) + ',' +
               std::to_string(series.queueDepth[i]) + '\n';
    }
    return csv;
}

} // namespace

TimelineView::TimelineView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    m_pane = new TimelinePane(model, cursor, this);
    setBody(m_pane);
    setEmptyText(tr("The run appears here, visit by visit, once something was explained."));
}

bool TimelineView::canShow(const SelectedThing& thing) const { return std::holds_alternative<std::monostate>(thing); }

QStringList TimelineView::exportFormats() const
{
    return {QStringLiteral("svg"), QStringLiteral("png"), QStringLiteral("pdf"), QStringLiteral("csv")};
}

base::Result<void> TimelineView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || model().series().mode.empty()) {
        return base::usageError("there is no run to export", path.string());
    }
    if (path.extension() == ".csv") {
        return base::writeFile(path, csvOf(model().series(), model().graph()));
    }
    const QSizeF size(m_pane->size());
    return paintToFile(
        path, size, [&](QPainter& painter) { m_pane->paint(painter, size, theme(this)); }, tr("Timeline"), {}, 2);
}

void TimelineView::refresh(Changes changes)
{
    if (changes & Change::Run) {
        m_pane->setRun();
    }
    m_pane->follow();
}

QString TimelineView::emptyReason() const
{
    return model().hasRun() && model().series().mode.empty() ? tr("Nothing was run yet. Choose an input and press Run.")
                                                             : QString();
}

} // namespace retro::views
