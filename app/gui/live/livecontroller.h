// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/live/livelistener.h"
#include "app/gui/live/liveruns.h"
#include "views/common/actions.h"

#include <QObject>

namespace retro::app
{

class LiveRunsDialog;
class MainWindow;

/// Registers the action that shows the runs of notebooks.
void addLiveActions(views::ActionRegistry& actions);

/// Takes recorded runs from notebooks where that was asked for, lists them, and opens, compares or diagnoses one. GUI
/// thread.
class LiveController final : public QObject
{
    Q_OBJECT

public:
    explicit LiveController(MainWindow& window);

    /// Shows the list.
    void show();
    /// Listens from now on, or no longer; what goes wrong is a problem of the window.
    void listen(bool isOn);
    [[nodiscard]] LiveListener& listener() { return m_listener; }
    [[nodiscard]] LiveRuns& runs() { return m_runs; }
    [[nodiscard]] LiveRunsDialog* dialog() const { return m_dialog; }

signals:
    void failed(const retro::base::Error& error);

private:
    void makeDialog();
    void sayState();
    void compare(const QString& path);
    void diagnose(const QString& path);

    MainWindow& m_window;
    LiveListener m_listener;
    LiveRuns m_runs;
    LiveRunsDialog* m_dialog = nullptr; ///< made when it is first shown
    QString m_problem;
    bool m_wantsDifference = false; ///< once the run that was chosen is read
    bool m_wantsDiagnosis = false;  ///< once it is on screen
};

} // namespace retro::app
