// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/timerange.h"
#include "views/common/viewcontext.h"
#include "views/common/widgets/drawnpane.h"
#include "views/timeline/promisebars.h"
#include "views/timeline/timelinelens.h"
#include "views/timeline/timelinemarks.h"
#include "views/timeline/timelinetracks.h"

#include <QPixmap>
#include <QPoint>
#include <QSize>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>

class QMenu;
class QTimer;
class QPainter;

namespace retro::views
{

class Theme;

/// All that a kept picture of a timeline looks like depends on, but for the moment between two steps.
struct StillKey
{
    QSize size;
    double pixelRatio = 1;
    const Theme* theme = nullptr;
    double fontScale = 1;
    double from = 0; ///< visits in sight
    double to = 0;
    double folded = 0;
    std::optional<VisitRange> range;
    std::uint64_t content = 0; ///< another number for another run or other marks
    std::uint64_t state = 0;   ///< and for what it shows of the state at the cursor
    std::uint32_t lens = 0;    ///< first visit of the lens …
    std::uint32_t visit = 0;   ///< … and the one that it names
    bool operator==(const StillKey&) const = default;
};

/// What stands still while the cursor moves, painted once and kept as pixels. GUI thread.
class StillPicture
{
public:
    /// Draws the picture at the origin; `paint` makes it when there is none of this key.
    void draw(QPainter& painter, const StillKey& key, const std::function<void(QPainter&)>& paint);
    /// The next draw() paints anew.
    void drop() { m_key.reset(); }
    /// How often the picture was painted.
    [[nodiscard]] int paintings() const { return m_paintings; }

private:
    std::optional<StillKey> m_key;
    QPixmap m_pixels;
    int m_paintings = 0;
};

class JobRunner;
class Theme;

/// The painted tracks of the timeline: ruler, mode strip, markers, frontier width, frontier bytes, depth of stacks and
/// queue, one cursor line through all of them; below a long run a lens with the visits around the cursor. Drag = scrub
/// (at most one seek per frame, the newest position wins), drag on the ruler = choose a range, click on a marker = go
/// there, wheel = zoom at the pointer, Shift+wheel = pan, double click = fit. Resting the pointer tells who is in the
/// frontier; that state is sought off the GUI thread.
class TimelinePane final : public DrawnPane
{
    Q_OBJECT

public:
    TimelinePane(RunModel& model, Cursor& cursor, QWidget* parent = nullptr);

    /// Another run: takes its series and shows the whole of it.
    void setRun();
    /// Where breakpoints hold, and what is bookmarked; positions ascending.
    void setMarks(MarkKind kind, const std::vector<std::uint64_t>& positions);
    /// The part of the run that lists are filtered to; the pane shows it and lets it be chosen. It must outlive this.
    void setRange(TimeRange& range);
    /// Shows only the chosen range, or all when there is none.
    void zoomToRange();
    /// Commands for the range, for a menu at the cursor; the caller owns it.
    [[nodiscard]] QMenu* makeMenu();
    /// The cursor moved.
    void follow();
    /// Draws the pane at any size; screen and files use the same painter.
    void paint(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    /// Position of the run under a pixel: the end of the visit there.
    [[nodiscard]] std::uint64_t positionAt(double x) const;
    /// What stands under a point, in words; over the names of the tracks, what has no room. Else empty.
    [[nodiscard]] QString tipAt(const QPointF& at) const override;
    /// What the chosen part of the run holds, in words; empty when none is chosen.
    [[nodiscard]] QString stretchText() const;
    /// What a pane as low as this one leaves out, in words; empty when everything is there.
    [[nodiscard]] QString hiddenTracks() const;
    [[nodiscard]] const std::vector<TimelineMark>& marks() const { return m_marks; }
    [[nodiscard]] const PromiseBars& promises() const { return m_promises; }
    /// Where everything lies on screen.
    [[nodiscard]] TimelineTracks tracks() const { return tracksOf(QSizeF(size())); }
    /// The same at another size, as files have it.
    [[nodiscard]] TimelineTracks tracksOf(const QSizeF& size) const;
    /// The tracks as they are on screen, kept while only the cursor moves.
    [[nodiscard]] const StillPicture& still() const { return m_still; }
    /// The same with the bars of promises, kept until one is opened or fulfilled.
    [[nodiscard]] const StillPicture& bars() const { return m_bars; }
    /// And over both the lens.
    [[nodiscard]] const StillPicture& lens() const { return m_lens; }

signals:
    /// hiddenTracks() changed.
    void tracksChanged();

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    void fold();
    /// What is folded lies at this pixel.
    [[nodiscard]] bool isFolded(double x) const;
    [[nodiscard]] TimeScale scaleFor(const TimelineTracks& tracks) const;
    [[nodiscard]] StillKey stillKey() const;
    void paintStill(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    void paintMoving(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    void paintRuler(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintModes(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintMarks(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintEvents(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintFrontier(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                       const Theme& theme) const;
    void paintBytes(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintDepth(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintLegends(QPainter& painter, const TimelineTracks& tracks, const Theme& theme) const;
    void paintCursor(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintLater(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintPromises(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    /// The visits around the cursor one by one.
    [[nodiscard]] LensRange lensRange() const;
    [[nodiscard]] TimeScale lensScale(const TimelineTracks& tracks) const;
    /// All of the lens but what moves between two steps: the line, and the ends of promises that wait.
    void paintLens(QPainter& painter, const QSizeF& size, const Theme& theme) const;
    void paintInLens(QPainter& painter, const TimelineTracks& tracks, const Theme& theme) const;
    void paintLensCells(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                        const Theme& theme) const;
    void paintLensPromises(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                           const Theme& theme) const;
    void paintLensAxis(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                       const Theme& theme) const;
    [[nodiscard]] std::optional<std::uint32_t> lensVisitAt(const QPointF& at) const;
    [[nodiscard]] QString lensTip(const QPointF& at, std::uint32_t visit) const;
    [[nodiscard]] QString wordsAt(std::uint32_t visit) const;
    [[nodiscard]] QString promiseTip(const PromiseBar& bar) const;
    void paintWaiting(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                      const Theme& theme) const;
    [[nodiscard]] std::uint64_t promisesBehind() const;
    void paintMembers(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                      const Theme& theme) const;
    void paintReadOut(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale,
                      const Theme& theme) const;
    void paintFold(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    void paintRange(QPainter& painter, const TimelineTracks& tracks, const TimeScale& scale, const Theme& theme) const;
    [[nodiscard]] bool isOnRuler(const QPointF& at) const;
    [[nodiscard]] std::uint32_t visitUnder(double x) const { return scaleFor(tracks()).visitUnder(x); }
    [[nodiscard]] std::uint32_t cursorsVisit() const;
    /// Where the line stands: between two visits while something plays.
    [[nodiscard]] double cursorsPlace() const;
    /// What changes when the line leaves a place or comes to it.
    [[nodiscard]] QRect stripAround(double place) const;
    void updateAround();
    [[nodiscard]] QString readOutText() const;
    /// How far the read-out reaches from the line.
    [[nodiscard]] double readOutReach() const;
    void chooseTo(double x);
    void publishTracks();
    [[nodiscard]] QString frontierTip(std::uint32_t visit) const;
    void scrubTo(std::uint64_t position);
    void seekNow() { m_cursor.moveTo(m_wanted); }
    void stepBy(std::uint32_t visits, bool isForward);
    void askForFrontier(const QPointF& at, const QPoint& global);
    [[nodiscard]] const PromiseBar* barAt(const QPointF& at, const TimelineTracks& tracks) const;
    [[nodiscard]] const TimelineMark* markAt(const QPointF& at) const;

    RunModel& m_model;
    Cursor& m_cursor;
    TimeScale m_scale;                           // visible part; pixels are filled in by scaleFor
    std::array<std::vector<double>, 3> m_byMode; ///< frontier: normal; and search; and fulfilment = m_total
    std::vector<double> m_total;
    std::vector<double> m_bytes;
    std::vector<double> m_events; ///< of each visit
    std::vector<double> m_stacks;
    std::vector<double> m_queue;
    std::vector<TimelineMark> m_marks;
    PromiseBars m_promises;
    JobRunner* m_jobs = nullptr;
    QTimer* m_frame = nullptr; ///< holds scrubbing to one seek per frame
    QTimer* m_rest = nullptr;  ///< the pointer rests: ask who is in the frontier
    std::uint64_t m_wanted = 0;
    QPointF m_pointer;
    QPoint m_globalPointer;
    bool m_isScrubbing = false;
    TimeRange* m_range = nullptr;      ///< borrowed; null = no range can be chosen
    std::optional<double> m_rangeFrom; ///< pixel where the ruler was pressed
    bool m_isChoosing = false;         ///< and drawn on from there
    QString m_hidden;                  ///< hiddenTracks() as last told
    StillPicture m_still;
    StillPicture m_bars;         ///< and over it the promises
    StillPicture m_lens;         ///< and over both the lens
    double m_painted = 0;        ///< where the line was painted last, in visits
    std::uint64_t m_content = 0; ///< grows with every change of run or marks
};

} // namespace retro::views
