// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timelinepane.h"

#include "core/event/planevent.h"
#include "views/common/jobrunner.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"
#include "views/timeline/frontiermodes.h"
#include "views/timeline/frontierwords.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QTimer>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

void StillPicture::draw(QPainter& painter, const StillKey& key, const std::function<void(QPainter&)>& paint)
{
    if (m_key != key) {
        const QSizeF pixels = QSizeF(key.size) * key.pixelRatio;
        m_pixels = QPixmap(static_cast<int>(std::ceil(pixels.width())), static_cast<int>(std::ceil(pixels.height())));
        m_pixels.setDevicePixelRatio(key.pixelRatio);
        QPainter into(&m_pixels);
        paint(into);
        m_key = key;
        ++m_paintings;
    }
    painter.drawPixmap(QPointF(0, 0), m_pixels);
}

namespace
{

constexpr std::array kStacked{event::Mode::Normal, event::Mode::Search, event::Mode::Fulfilment};
constexpr int kFrame = 16;  // milliseconds between two seeks while scrubbing
constexpr int kRest = 150;  // milliseconds until the pointer counts as resting
constexpr double kNear = 7; // design pixels around a marker that count as on it

std::vector<std::uint64_t> bookmarksOf(const trace::Run& run)
{
    std::vector<std::uint64_t> positions;
    for (const trace::Bookmark& bookmark : run.bookmarks) {
        positions.push_back(bookmark.position);
    }
    return positions;
}

} // namespace

TimelinePane::TimelinePane(RunModel& model, Cursor& cursor, QWidget* parent)
    : DrawnPane(parent, {640, 220}, {260, 150}), m_model(model), m_cursor(cursor), m_jobs(new JobRunner(this)),
      m_frame(new QTimer(this)), m_rest(new QTimer(this))
{
    for (QTimer* timer : {m_frame, m_rest}) {
        timer->setSingleShot(true);
    }
    m_frame->setInterval(kFrame);
    m_rest->setInterval(kRest);
    connect(m_frame, &QTimer::timeout, this, &TimelinePane::seekNow);
    connect(&cursor, &Cursor::glided, this, [this] {
        if (isVisible() && !m_total.empty()) {
            updateAround();
        }
    });
    connect(m_rest, &QTimer::timeout, this, [this] { askForFrontier(m_pointer, m_globalPointer); });
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(tr("Visits of the run from left to right. Arrow keys step, Home and End go to the ends."));
}

void TimelinePane::setRun()
{
    m_byMode.fill({});
    m_total.clear();
    m_bytes.clear();
    m_events.clear();
    m_stacks.clear();
    m_queue.clear();
    m_marks.clear();
    m_promises = {};
    ++m_content;
    m_jobs->cancel();
    m_frame->stop();
    if (m_model.hasRun()) {
        const trace::VisitSeries& series = m_model.series();
        const auto modes = m_model.derived<FrontierModes>();
        for (auto* values :
             {&m_byMode[0], &m_byMode[1], &m_byMode[2], &m_total, &m_bytes, &m_stacks, &m_queue, &m_events}) {
            values->reserve(series.mode.size());
        }
        for (std::size_t i = 0; i < series.mode.size(); ++i) {
            double width = 0; // stacked
            for (std::size_t mode = 0; mode < m_byMode.size(); ++mode) {
                width += modes->width(i, kStacked[mode]);
                m_byMode[mode].push_back(width);
            }
            m_total.push_back(static_cast<double>(series.frontierLanded[i]) + series.frontierHeld[i]);
            m_bytes.push_back(static_cast<double>(series.frontierBytes[i]));
            m_stacks.push_back(series.stackDepth[i]);
            m_queue.push_back(series.queueDepth[i]);
            const auto visit = static_cast<std::uint32_t>(i);
            m_events.push_back(static_cast<double>(m_model.run().endOfVisit(visit) - m_model.run().visitStart[visit]));
        }
        m_promises = promiseBars(m_model.run(), series);
        m_marks = runMarks(m_model.run(), series, *m_model.derived<LossMarks>());
        setMarks(MarkKind::Bookmark, bookmarksOf(m_model.run()));
    }
    m_scale.count = std::max<double>(1, static_cast<double>(m_total.size()));
    fold();
    publishTracks();
    update();
}

/// Shows all of the run; the search for a plan, where relevance follows it, in a narrow stretch.
void TimelinePane::fold()
{
    const bool isOfPass = m_model.hasRun() && m_model.run().facts.kind != "plan";
    m_scale.folded = isOfPass ? event::searchVisits(m_model.run().events) : 0;
    m_scale.fit();
}

void TimelinePane::follow()
{
    if (m_model.hasRun() && !m_isScrubbing) {
        m_scale.reveal(cursorVisit(m_model.run(), m_model.position()));
    }
    update();
}

void TimelinePane::setMarks(MarkKind kind, const std::vector<std::uint64_t>& positions)
{
    ++m_content;
    std::erase_if(m_marks, [&](const TimelineMark& mark) { return mark.kind == kind; });
    if (m_model.hasRun()) {
        const std::vector<TimelineMark> marks = marksAt(m_model.run(), kind, positions);
        m_marks.insert(m_marks.end(), marks.begin(), marks.end());
        arrangeMarks(m_marks);
    }
    update();
}

TimelineTracks TimelinePane::tracksOf(const QSizeF& size) const
{
    return layoutTracks(size.width(), size.height(), fonts::scale(), m_promises.rows,
                        static_cast<double>(m_total.size()) - m_scale.folded > kFewestForLens ? kLensRows : 0);
}

QString TimelinePane::hiddenTracks() const
{
    return m_total.empty() || !tracks().depth.isEmpty() ? QString()
                                                        : tr("stacks and queue hidden: make this pane higher");
}

void TimelinePane::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    publishTracks();
}

void TimelinePane::publishTracks()
{
    if (const QString hidden = hiddenTracks(); hidden != m_hidden) {
        m_hidden = hidden;
        emit tracksChanged();
    }
}

TimeScale TimelinePane::scaleFor(const TimelineTracks& tracks) const
{
    TimeScale scale = m_scale;
    scale.left = tracks.modes.left();
    scale.width = tracks.modes.width();
    return scale;
}

bool TimelinePane::isFolded(double x) const
{
    const TimeScale scale = scaleFor(tracks());
    return x >= scale.left && x < scale.x(scale.folded);
}

std::uint64_t TimelinePane::positionAt(double x) const
{
    const TimeScale scale = scaleFor(tracks());
    if (m_total.empty() || x < scale.left) {
        return 0;
    }
    return m_model.run().endOfVisit(scale.visitUnder(x));
}

void TimelinePane::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    const StillKey key = stillKey();
    StillKey withBars = key;
    withBars.state = promisesBehind();
    const auto drawBars = [&](QPainter& onto) {
        m_bars.draw(onto, withBars, [&](QPainter& into) {
            m_still.draw(into, key, [&](QPainter& below) { paintStill(below, QSizeF(size()), colors); });
            paintPromises(into, QSizeF(size()), colors);
        });
    };
    if (m_total.empty() || tracks().lens.isEmpty()) {
        drawBars(painter);
    } else {
        StillKey withLens = key;
        withLens.state = m_model.position();
        withLens.lens = lensRange().first;
        withLens.visit = cursorsVisit();
        m_lens.draw(painter, withLens, [&](QPainter& into) {
            drawBars(into);
            paintLens(into, QSizeF(size()), colors);
        });
    }
    paintMoving(painter, QSizeF(size()), colors);
    m_painted = m_total.empty() ? 0 : cursorsPlace();
}

/// The line glides: what is around it changes, there and where it was; of the lens all when it goes on by a visit.
void TimelinePane::updateAround()
{
    const double place = cursorsPlace();
    update(stripAround(m_painted).united(stripAround(place)));
    const TimelineTracks all = tracks();
    if (all.lens.isEmpty()) {
        return;
    }
    const QRectF lens(0, all.bottom(), width(), height() - all.bottom());
    const auto visits = static_cast<std::uint32_t>(m_total.size());
    if (std::floor(place) != std::floor(m_painted) || lensAround(place, visits) != lensAround(m_painted, visits)) {
        update(lens.toAlignedRect());
        return;
    }
    const TimeScale inside = lensScale(all);
    const auto [from, to] = std::minmax(inside.x(place), inside.x(m_painted));
    const double reach = fonts::px(4);
    update(QRectF(from - reach, lens.top(), to - from + 2 * reach, lens.height()).toAlignedRect());
}

QRect TimelinePane::stripAround(double place) const
{
    const TimeScale scale = scaleFor(tracks());
    const double reach = std::max(readOutReach(), scale.pixelsPerVisit()) + fonts::px(8);
    return {static_cast<int>(std::floor(scale.x(place) - reach)), 0, static_cast<int>(std::ceil(2 * reach)) + 1,
            height()};
}

StillKey TimelinePane::stillKey() const
{
    return {size(),         devicePixelRatioF(),
            &theme(this),   fonts::scale(),
            m_scale.from,   m_scale.to,
            m_scale.folded, m_range != nullptr ? m_range->visits() : std::nullopt,
            m_content,      0};
}

/// Fonts, style or language.
void TimelinePane::changeEvent(QEvent* event)
{
    m_still.drop();
    m_bars.drop();
    m_lens.drop();
    QWidget::changeEvent(event);
}

/// The first position of a drag is sought at once, later ones once per frame.
void TimelinePane::scrubTo(std::uint64_t position)
{
    m_wanted = position;
    if (!m_frame->isActive()) {
        seekNow();
        m_frame->start();
    }
}

const TimelineMark* TimelinePane::markAt(const QPointF& at) const
{
    const TimelineTracks all = tracks();
    if (at.y() < all.markers.top() || at.y() > all.markers.bottom()) {
        return nullptr;
    }
    const TimeScale scale = scaleFor(all);
    const TimelineMark* nearest = nullptr;
    double least = fonts::px(kNear);
    for (const TimelineMark& mark : m_marks) {
        const double distance = std::abs(scale.x(mark.visit + 0.5) - at.x());
        if (distance <= least) {
            least = distance;
            nearest = &mark; // of equals the one that is drawn on top
        }
    }
    return nearest;
}

void TimelinePane::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || !m_model.hasRun()) {
        return;
    }
    m_rest->stop();
    if (isOnRuler(event->position())) {
        m_rangeFrom = event->position().x(); // a click seeks, once it is known to be one
        return;
    }
    if (const auto visit = lensVisitAt(event->position())) { // which follows the cursor: it cannot be dragged along
        m_cursor.moveTo(m_model.run().endOfVisit(*visit));
        return;
    }
    m_isScrubbing = true;
    const TimelineMark* mark = markAt(event->position());
    scrubTo(mark != nullptr ? mark->position : positionAt(event->position().x()));
}

void TimelinePane::mouseMoveEvent(QMouseEvent* event)
{
    if (m_isScrubbing) {
        scrubTo(positionAt(event->position().x()));
        return;
    }
    if (m_rangeFrom) {
        chooseTo(event->position().x());
        return;
    }
    m_pointer = event->position();
    m_globalPointer = event->globalPosition().toPoint();
    m_jobs->cancel();
    m_rest->start();
    QToolTip::showText(m_globalPointer, tipAt(m_pointer), this);
}

void TimelinePane::mouseReleaseEvent(QMouseEvent*)
{
    if (m_isScrubbing && m_frame->isActive()) {
        m_frame->stop();
        seekNow();
    }
    m_isScrubbing = false;
    if (const auto from = std::exchange(m_rangeFrom, std::nullopt); from && !std::exchange(m_isChoosing, false)) {
        m_cursor.moveTo(positionAt(*from));
    }
}

/// On what is folded, opens it; elsewhere shows everything.
void TimelinePane::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (isFolded(event->position().x())) {
        const double folded = std::exchange(m_scale.folded, 0);
        m_scale.show(0, folded);
    } else {
        fold();
    }
    update();
}

void TimelinePane::wheelEvent(QWheelEvent* event)
{
    TimeScale scale = scaleFor(tracks());
    const QPoint delta = event->angleDelta();
    if (event->modifiers() & Qt::ShiftModifier || delta.y() == 0) {
        scale.pan(-(delta.x() + delta.y()));
    } else {
        scale.zoomAt(event->position().x(), std::pow(1.0015, delta.y()));
    }
    m_scale = scale;
    event->accept();
    update();
}

void TimelinePane::keyPressEvent(QKeyEvent* event)
{
    const bool isArrow = event->key() == Qt::Key_Right || event->key() == Qt::Key_Left;
    if (!isArrow || !m_model.hasRun() || m_total.empty()) {
        QWidget::keyPressEvent(event);
        return;
    }
    const std::uint32_t visits = m_model.run().visitCount();
    const std::uint32_t step = event->modifiers() & Qt::ShiftModifier ? std::max(1U, visits / 100) : 1;
    stepBy(step, event->key() == Qt::Key_Right);
}

void TimelinePane::stepBy(std::uint32_t visits, bool isForward)
{
    const trace::Run& run = m_model.run();
    const std::uint64_t position = m_model.position();
    const std::uint32_t visit = position == 0 ? 0 : run.visitOf(position - 1);
    if (isForward) {
        const std::uint32_t target = position == 0 ? visits - 1 : std::min(run.visitCount() - 1, visit + visits);
        m_cursor.moveTo(run.endOfVisit(target));
    } else {
        m_cursor.moveTo(visit < visits ? 0 : run.endOfVisit(visit - visits));
    }
}

void TimelinePane::leaveEvent(QEvent*)
{
    m_rest->stop();
    m_jobs->cancel();
    QToolTip::hideText();
}

const PromiseBar* TimelinePane::barAt(const QPointF& at, const TimelineTracks& tracks) const
{
    const TimeScale scale = scaleFor(tracks);
    const auto row = static_cast<std::uint32_t>((at.y() - tracks.promises.top()) / fonts::px(kPromiseRow));
    const auto found = std::ranges::find_if(m_promises.bars, [&](const PromiseBar& bar) {
        return bar.row == row && scale.x(bar.from) <= at.x() && at.x() <= scale.x(bar.to + 1.0);
    });
    return found != m_promises.bars.end() ? &*found : nullptr;
}

/// All that is marked at a visit.
QString TimelinePane::wordsAt(std::uint32_t visit) const
{
    QStringList words;
    for (const TimelineMark& other : m_marks) {
        words.append(other.visit == visit ? wordOf(other.kind) : QString());
    }
    words.removeAll(QString());
    words.removeDuplicates();
    return words.join(QStringLiteral(", "));
}

QString TimelinePane::tipAt(const QPointF& at) const
{
    const TimelineTracks all = tracks();
    if (!m_model.hasRun() || m_total.empty() || at.x() > all.modes.right()) {
        return {};
    }
    if (at.x() < all.modes.left()) {
        return hiddenTracks().isEmpty() ? QString()
                                        : tr("No room for the chart Waiting: nodes on the stacks and in the promise "
                                             "queue.\nMake this pane higher to see it.");
    }
    if (isOnRuler(at)) {
        return tr("Drag to list only a part of the run");
    }
    if (const auto here = lensVisitAt(at)) {
        return lensTip(at, *here);
    }
    if (isFolded(at.x())) {
        return tr("The search for the plan, %1 visits\nDouble click to open it")
            .arg(countText(static_cast<std::int64_t>(m_scale.folded)));
    }
    const TimelineMark* mark = markAt(at);
    const std::uint32_t visit = mark != nullptr ? mark->visit : scaleFor(all).visitUnder(at.x());
    const trace::VisitSeries& series = m_model.series();
    const QString what = tr("Visit %1: %2").arg(countText(visit + 1), m_model.label(series.node[visit]));
    if (mark != nullptr) { // and whatever else stands there
        return tr("%1, %2").arg(what, wordsAt(mark->visit));
    }
    if (const PromiseBar* bar = all.promises.contains(at) ? barAt(at, all) : nullptr) {
        return promiseTip(*bar);
    }
    if (all.events.contains(at)) {
        return tr("%1\n%2 events").arg(what, countText(static_cast<std::int64_t>(m_events[visit])));
    }
    if (all.depth.contains(at)) {
        return tr("%1\n%2 on the stacks, %3 in the promise queue")
            .arg(what, countText(series.stackDepth[visit]), countText(series.queueDepth[visit]));
    }
    return what + QLatin1Char('\n') + frontierTip(visit);
}

QString TimelinePane::promiseTip(const PromiseBar& bar) const
{
    const QString from =
        tr("P%1 at %2: opened at visit %3")
            .arg(QString::number(bar.promise), m_model.label(base::NodeId(m_model.run().events[bar.openedAt].node)),
                 countText(std::int64_t{bar.from} + 1));
    return bar.fulfilledAt < m_model.run().eventCount()
               ? tr("%1, fulfilled at visit %2").arg(from, countText(std::int64_t{bar.to} + 1))
               : tr("%1, never fulfilled").arg(from);
}

/// "3 tensors in the frontier, 27.0 kB: 2 from normal, 1 from search; 1 held by promises".
QString TimelinePane::frontierTip(std::uint32_t visit) const
{
    const trace::VisitSeries& series = m_model.series();
    QStringList parts;
    double below = 0;
    for (std::size_t mode = 0; mode < m_byMode.size(); ++mode) {
        const double width = m_byMode[mode][visit] - std::exchange(below, m_byMode[mode][visit]);
        if (width > 0) {
            parts.append(tr("%1 from %2").arg(countText(static_cast<std::int64_t>(width)), wordOf(kStacked[mode])));
        }
    }
    QString text =
        tr("%1 tensors in the frontier, %2")
            .arg(countText(static_cast<std::int64_t>(m_total[visit])), bytesText(series.frontierBytes[visit]));
    text += parts.isEmpty() ? QString() : QStringLiteral(": ") + parts.join(QStringLiteral(", "));
    const std::int64_t held = series.frontierHeld[visit];
    return held == 0 ? text : tr("%1; %2 held by promises").arg(text, countText(held));
}

void TimelinePane::askForFrontier(const QPointF& at, const QPoint& global)
{
    const QString tip = tipAt(at);
    const TimelineTracks all = tracks();
    if (tip.isEmpty() || at.x() < all.modes.left() || markAt(at) != nullptr || at.y() < all.frontier.top() ||
        at.y() > all.bytes.bottom()) {
        return;
    }
    const std::uint64_t position = positionAt(at.x());
    m_jobs->start([this, global, tip, position, copy = std::make_shared<trace::Timeline>(m_model.timeline())](
                      const std::stop_token&) -> JobRunner::Delivery {
        copy->seek(position);
        const QStringList lines = frontierWords(copy->run(), copy->state());
        return [this, global, text = (QStringList{tip} + lines).join(QLatin1Char('\n'))] {
            QToolTip::showText(global, text, this);
        };
    });
}

} // namespace retro::views

#include "moc_timelinepane.cpp"
