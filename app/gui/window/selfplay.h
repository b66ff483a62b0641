// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/pace.h"
#include "views/common/paint/motion.h"

#include <QElapsedTimer>
#include <QObject>
#include <QString>

#include <vector>

class QTimer;

namespace retro::views
{
class Cursor;
class RunModel;
} // namespace retro::views

namespace retro::app
{

/// How a run is played by itself: twelve seconds from the score to the input, and at the first search and the first
/// fulfilment as long as their captions need. A pure function of the run. Times in milliseconds.
class SelfPlayScore
{
public:
    /// A stretch of visits at one speed.
    struct Part
    {
        double start = 0;
        double length = 0;
        double fromVisits = 0;
        double toVisits = 0;
        event::Mode mode = event::Mode::None; ///< of a visit with a caption; None = no caption
        base::NodeId node;                    ///< of that visit
    };

    SelfPlayScore() = default;
    SelfPlayScore(const trace::Run& run, const trace::Pace& pace);

    [[nodiscard]] const std::vector<Part>& parts() const { return m_parts; }
    [[nodiscard]] double length() const { return m_parts.empty() ? 0 : m_parts.back().start + m_parts.back().length; }
    /// The part at a time (clamped); needs parts.
    [[nodiscard]] const Part& partAt(double time) const;
    /// Visits that have passed at a time (clamped).
    [[nodiscard]] double visitsAt(double time) const;

    static constexpr double kLength = 12'000;
    static constexpr double kCaption = 2'500; ///< at least so long can a caption be read

private:
    std::vector<Part> m_parts;
};

/// Plays a run once, so that it is seen without a click. Any key, click or turn of the wheel ends it at that place, and
/// so does whoever else moves the cursor. Never with reduced motion, nor where nobody sees it. GUI thread.
class SelfPlay final : public QObject
{
    Q_OBJECT

public:
    SelfPlay(views::RunModel& model, views::Cursor& cursor, QObject* parent = nullptr);

    /// From the start; nothing where nothing may move.
    void begin(bool isSeen = views::isMotionSeen());
    /// Stays where it is.
    void end() { stop(false); }
    [[nodiscard]] bool isRunning() const { return m_isRunning; }
    [[nodiscard]] const SelfPlayScore& score() const { return m_score; }
    /// As if so many milliseconds had passed since the start.
    void skipTo(double time);
    /// From the next begin() on no clock runs: only skipTo() moves the time. For tests and pictures.
    void setDriven(bool isDriven) { m_isDriven = isDriven; }
    /// What is said of this moment; empty = nothing.
    [[nodiscard]] const QString& caption() const { return m_caption; }

    bool eventFilter(QObject* watched, QEvent* event) override;

signals:
    void captionChanged(const QString& caption);
    /// It plays no longer. `isDone`: it came to the end of the run.
    void ended(bool isDone);

private:
    void tick();
    /// Milliseconds since the start that the clock saw.
    [[nodiscard]] double elapsed() const { return m_isDriven ? 0 : static_cast<double>(m_clock.elapsed()); }
    void stop(bool isDone);
    void say(const QString& caption);
    [[nodiscard]] QString captionAt(double time) const;

    views::RunModel& m_model;
    views::Cursor& m_cursor;
    SelfPlayScore m_score;
    QTimer* m_timer = nullptr;
    QElapsedTimer m_clock;
    double m_skipped = 0; ///< milliseconds that the clock did not see
    double m_set = -1;    ///< the moment that was set last: another one is somebody else's
    QString m_caption;
    bool m_isRunning = false;
    bool m_isDriven = false; ///< the timer stands
};

} // namespace retro::app
