// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/window/selfplay.h"

#include <QObject>
#include <QRect>

namespace retro::views
{
class ActionRegistry;
} // namespace retro::views

namespace retro::app
{

class CallOut;
class MainWindow;
class Tour;

/// Brings the window to where the tour begins, and starts or offers it; and plays the first sample once by itself. GUI
/// thread.
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
    /// The run on screen plays by itself in Engine, with captions; then Explain says what it showed, and what to do
    /// next. Nothing where nothing may move.
    void playFilm(bool isSeen = views::isMotionSeen());
    [[nodiscard]] Tour& tour() const { return *m_tour; }
    /// In the tour, and the first time that the sample is opened.
    [[nodiscard]] SelfPlay& play() const { return *m_play; }
    [[nodiscard]] bool isFilm() const { return m_isFilm; }
    /// What the film says while it plays, and at its end.
    [[nodiscard]] const CallOut& filmWords() const { return *m_words; }

private:
    /// Calls `step` once, when no job is under way any more and none failed.
    template <class Step>
    void whenSettled(Step step);
    void connectTour();
    void connectFilm();
    void showCaption(const QString& caption);
    void endFilm(bool isDone);
    void showConclusion();
    void askFrom();
    void pointAtGraph();
    void pointWordsAt(const QWidget& view);
    [[nodiscard]] QRect paneOf(const QWidget& view) const;
    [[nodiscard]] QRect heatmapOfEngine() const;

    MainWindow& m_window;
    Tour* m_tour = nullptr;
    SelfPlay* m_play = nullptr;
    CallOut* m_words = nullptr;
    bool m_hasPlayed = false;
    bool m_isFilm = false;
    bool m_isFilmDue = false; ///< the sample was opened for the first time, and is not on screen yet
};

/// Adds help.tour to the registry.
void addTourAction(views::ActionRegistry& actions);

/// Whether the first sample has played by itself on this machine; and remembers that it has.
[[nodiscard]] bool wasFilmPlayed();
void rememberFilmPlayed();

} // namespace retro::app
