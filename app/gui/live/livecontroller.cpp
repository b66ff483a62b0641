// SPDX-License-Identifier: Apache-2.0
#include "app/gui/live/livecontroller.h"

#include "app/gui/jobs/otherrunreader.h"
#include "app/gui/live/liverunsdialog.h"
#include "app/gui/window/mainwindow.h"
#include "views/heatmap/heatmapview.h"

#include <array>
#include <utility>

namespace retro::app
{

namespace
{

constexpr std::array kLiveActions{
    views::ActionSpec{"file.live", RETRO_ACTION("Runs from note&books…"),
                      RETRO_ACTION("List the runs that a running Python session sends, and take them or not"), "open",
                      ""},
};

} // namespace

void addLiveActions(views::ActionRegistry& actions) { actions.addAll(kLiveActions); }

LiveController::LiveController(MainWindow& window) : QObject(&window), m_window(window)
{
    connect(&window.actions().at(QStringLiteral("file.live")), &QAction::triggered, this, &LiveController::show);
    connect(&m_listener, &LiveListener::sent, &m_runs, &LiveRuns::add);
    connect(&m_listener, &LiveListener::sendersChanged, this, &LiveController::sayState);
    connect(&window.otherRuns(), &OtherRunReader::failed, this, [this] { m_wantsDifference = false; });
    connect(&window.otherRuns(), &OtherRunReader::taken, this, [this] {
        if (std::exchange(m_wantsDifference, false)) {
            m_window.actions().at(QStringLiteral("view.rundifference")).trigger();
        }
    });
    connect(&window, &MainWindow::settled, this, [this] {
        if (std::exchange(m_wantsDiagnosis, false) && m_window.model().hasRun()) {
            m_window.actions().at(QStringLiteral("run.diagnose")).trigger();
        }
    });
}

void LiveController::show()
{
    makeDialog();
    m_dialog->show();
    m_dialog->raise();
}

void LiveController::makeDialog()
{
    if (m_dialog != nullptr) {
        return;
    }
    m_dialog = new LiveRunsDialog(m_runs, &m_window);
    connect(m_dialog, &LiveRunsDialog::listenWanted, this, &LiveController::listen);
    connect(m_dialog, &LiveRunsDialog::openWanted, this, [this](const QString& path) { m_window.open(path); });
    connect(m_dialog, &LiveRunsDialog::compareWanted, this, &LiveController::compare);
    connect(m_dialog, &LiveRunsDialog::diagnoseWanted, this, &LiveController::diagnose);
    const auto look = [this] { m_dialog->setComparable(m_window.model().hasRun() && !m_window.isBusy()); };
    connect(&m_window, &MainWindow::settled, m_dialog, look);
    connect(&m_window.model(), &views::RunModel::stateChanged, m_dialog, look);
    look();
    sayState();
}

void LiveController::listen(bool isOn)
{
    m_problem.clear();
    if (!isOn) {
        m_listener.stop();
    } else if (const auto started = m_listener.start(); !started.ok()) {
        m_problem = QString::fromStdString(started.error().text());
        emit failed(started.error());
    }
    sayState();
}

void LiveController::sayState()
{
    if (m_dialog == nullptr) {
        return;
    }
    QString line = tr("Off. Nothing listens.");
    if (!m_problem.isEmpty()) {
        line = m_problem;
    } else if (m_listener.isListening() && m_listener.senders() == 0) {
        line = tr("Waiting. In Python: import retrograde as rg; rg.connect()");
    } else if (m_listener.isListening()) {
        line = tr("%n session(s) connected. Every recorded run comes here.", nullptr,
                  static_cast<int>(m_listener.senders()));
    }
    m_dialog->setState(m_listener.isListening(), line);
}

/// In the heatmaps, and value by value.
void LiveController::compare(const QString& path)
{
    m_wantsDifference = true;
    m_window.otherRuns().read(m_window.findChildren<views::HeatmapView*>(), path);
}

void LiveController::diagnose(const QString& path)
{
    m_window.open(path);
    m_wantsDiagnosis = true;
}

} // namespace retro::app

#include "moc_livecontroller.cpp"
