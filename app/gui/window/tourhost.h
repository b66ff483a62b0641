// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QElapsedTimer>
#include <QObject>

class QTimer;

namespace retro::views
{
class ActionRegistry;
class Cursor;
class RunModel;
} // namespace retro::views

namespace retro::app
{

class MainWindow;
class Tour;

/// Plays a run once, from the score to the input, in twelve seconds, so that it is seen without a click. Any key, click
/// or turn of the wheel ends it at that place, and so does whoever else moves the cursor. Never with reduced motion,
/// nor where nobody sees it (views::isMotionSeen). GUI thread.
class SelfPlay final : public QObject
{
    Q_OBJECT

public:
    SelfPlay(views::RunModel& model, views::Cursor& cursor, QObject* parent = nullptr);

    /// From the start; nothing where nothing may move.
    void begin();
    /// Stays where it is.
    void end();
    [[nodiscard]] bool isRunning() const { return m_isRunning; }
    /// The cursor goes where it is after this share of the time.
    void showShare(double share);

    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void tick();

    views::RunModel& m_model;
    views::Cursor& m_cursor;
    QTimer* m_timer = nullptr;
    QElapsedTimer m_clock;
    double m_set = -1; ///< the moment that was set last: another one is somebody else's
    bool m_isRunning = false;
};

/// Brings the window to where the tour begins, and starts or offers it. GUI thread.
class TourHost final : public QObject
{
    Q_OBJECT

public:
    /// The action help.tour must be registered.
    explicit TourHost(MainWindow& window);

    /// Opens the sample afresh and starts the tour once it is explained.
    void begin();
    /// Asks once on this machine, after the first run is on screen, whether to take the tour.
    void offerOnce();
    [[nodiscard]] Tour& tour() const { return *m_tour; }
    /// Where the tour comes to the layers, relevance goes through them by itself.
    [[nodiscard]] SelfPlay& play() const { return *m_play; }

private:
    /// Calls `step` once, when no job is under way any more and none failed.
    template <class Step>
    void whenSettled(Step step);

    MainWindow& m_window;
    Tour* m_tour = nullptr;
    SelfPlay* m_play = nullptr;
    bool m_hasPlayed = false;
};

/// Adds help.tour to the registry.
void addTourAction(views::ActionRegistry& actions);

} // namespace retro::app
