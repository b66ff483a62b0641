// SPDX-License-Identifier: Apache-2.0
// The part of the run that is chosen on the ruler of the timeline.
#include "core/trace/motion.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/timeline/timelinepane.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr float kVeil = 0.6F; // of the ground over what is not in the range

QAction* addCommand(QMenu& menu, const char* id, const QString& text, const QString& tip, bool isEnabled)
{
    QAction* action = menu.addAction(text);
    action->setObjectName(QLatin1String(id));
    action->setToolTip(tip);
    action->setStatusTip(tip);
    action->setEnabled(isEnabled);
    return action;
}

} // namespace

void TimelinePane::setRange(TimeRange& range)
{
    m_range = &range;
    connect(&range, &TimeRange::changed, this, qOverload<>(&QWidget::update));
}

bool TimelinePane::isOnRuler(const QPointF& at) const
{
    const QRectF ruler = tracks().ruler;
    return m_range != nullptr && !m_total.empty() && at.y() <= ruler.bottom() && at.x() >= ruler.left() &&
           at.x() <= ruler.right();
}

std::uint32_t TimelinePane::cursorsVisit() const
{
    const std::uint64_t position = m_model.position();
    return position == 0 ? 0 : m_model.run().visitOf(position - 1);
}

double TimelinePane::cursorsPlace() const
{
    const double moment = m_cursor.moment();
    const bool isBetween = moment != std::floor(moment) && static_cast<std::uint64_t>(moment) == m_model.position();
    return isBetween ? cursorVisit(m_model.run(), m_model.derived<trace::Motion>()->pace(), moment)
                     : cursorVisit(m_model.run(), m_model.position());
}

QString TimelinePane::stretchText() const
{
    const auto visits = m_range != nullptr ? m_range->visits() : std::nullopt;
    if (!visits || !m_model.hasRun() || m_model.series().mode.empty()) {
        return {};
    }
    const auto last =
        std::min<std::uint32_t>(visits->last, static_cast<std::uint32_t>(m_model.series().mode.size()) - 1);
    const StretchFigures figures = stretchFigures(m_model.run(), m_model.series(), std::min(visits->first, last), last);
    const auto count = [&](event::Mode mode) { return countText(figures.visits[static_cast<std::size_t>(mode)]); };
    return tr("Visits %1 – %2: %3 normal, %4 search, %5 fulfilment; frontier %6 – %7 tensors, mean %8, at most %9; ")
               .arg(countText(std::int64_t{std::min(visits->first, last)} + 1), countText(std::int64_t{last} + 1),
                    count(event::Mode::Normal), count(event::Mode::Search), count(event::Mode::Fulfilment),
                    countText(figures.leastFrontier), countText(figures.mostFrontier),
                    fixedText(figures.meanFrontier, 1), bytesText(figures.mostBytes)) +
           tr("promises: %1 opened, %2 fulfilled.")
               .arg(countText(static_cast<std::int64_t>(figures.opened)),
                    countText(static_cast<std::int64_t>(figures.fulfilled)));
}

void TimelinePane::chooseTo(double x)
{
    m_isChoosing = m_isChoosing || std::abs(x - *m_rangeFrom) >= QApplication::startDragDistance();
    if (m_isChoosing) {
        m_range->set(visitUnder(*m_rangeFrom), visitUnder(x));
    }
}

void TimelinePane::zoomToRange()
{
    if (m_range != nullptr && m_range->visits()) {
        m_scale.show(m_range->visits()->first, m_range->visits()->last + 1.0);
    } else {
        m_scale.fit();
    }
    update();
}

QMenu* TimelinePane::makeMenu()
{
    auto* menu = new QMenu(this);
    menu->setToolTipsVisible(true);
    const bool hasRun = m_range != nullptr && m_model.hasRun() && !m_total.empty();
    const bool hasRange = hasRun && m_range->visits().has_value();
    QAction* from = addCommand(*menu, "timeline.rangefrom", tr("List from the cursor on"),
                               tr("Lists and logs begin with the visit at the cursor"), hasRun);
    connect(from, &QAction::triggered, this, [this] {
        const auto& range = m_range->visits();
        const auto end = static_cast<std::uint32_t>(m_total.size()) - 1;
        m_range->set(cursorsVisit(), range && range->last >= cursorsVisit() ? range->last : end);
    });
    QAction* to = addCommand(*menu, "timeline.rangeto", tr("List up to the cursor"),
                             tr("Lists and logs end with the visit at the cursor"), hasRun);
    connect(to, &QAction::triggered, this, [this] {
        const auto& range = m_range->visits();
        m_range->set(range && range->first <= cursorsVisit() ? range->first : 0, cursorsVisit());
    });
    QAction* all = addCommand(*menu, "timeline.rangeclear", tr("List the whole run"),
                              tr("Lists and logs are no longer filtered to a part of the run"), hasRange);
    connect(all, &QAction::triggered, this, [this] { m_range->clear(); });
    menu->addSeparator();
    QAction* zoom = addCommand(*menu, "timeline.zoomrange", tr("Zoom to the range"),
                               tr("Shows only the chosen part of the run"), hasRange);
    connect(zoom, &QAction::triggered, this, &TimelinePane::zoomToRange);
    QAction* fit = addCommand(*menu, "timeline.fit", tr("Show the whole run"), tr("As a double click"), hasRun);
    connect(fit, &QAction::triggered, this, [this] {
        m_scale.fit();
        update();
    });
    return menu;
}

void TimelinePane::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu* menu = makeMenu();
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(event->globalPos());
}

/// What is not in the range is pale in all tracks; brackets on the ruler hold it.
void TimelinePane::paintRange(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                              const Theme& theme) const
{
    if (m_range == nullptr || !m_range->visits() || m_total.empty()) {
        return;
    }
    const QRectF all(tracks.modes.left(), tracks.modes.top(), tracks.modes.width(),
                     tracks.bottom() - tracks.modes.top());
    const double left = std::clamp(scale.x(m_range->visits()->first), all.left(), all.right());
    const double right = std::clamp(scale.x(m_range->visits()->last + 1.0), all.left(), all.right());
    QColor veil = theme[Role::Base];
    veil.setAlphaF(kVeil);
    painter.fillRect(QRectF(all.left(), all.top(), left - all.left(), all.height()), veil);
    painter.fillRect(QRectF(right, all.top(), all.right() - right, all.height()), veil);
    const double y = std::round(tracks.ruler.bottom()) + 0.5;
    const double height = fonts::px(5);
    painter.setPen(QPen(theme[Role::Accent], 2));
    painter.drawLine(QPointF(left, y), QPointF(right, y));
    painter.drawLine(QPointF(left, y - height), QPointF(left, y + 1));
    painter.drawLine(QPointF(right, y - height), QPointF(right, y + 1));
}

} // namespace retro::views
