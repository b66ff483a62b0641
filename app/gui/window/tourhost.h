// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

class MainWindow;
class Tour;

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

private:
    /// Calls `step` once, when no job is under way any more and none failed.
    template <class Step>
    void whenSettled(Step step);

    MainWindow& m_window;
    Tour* m_tour = nullptr;
};

/// Adds help.tour to the registry.
void addTourAction(views::ActionRegistry& actions);

} // namespace retro::app
