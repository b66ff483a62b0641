// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/runwindow.h"

#include "app/gui/live/livecontroller.h"
#include "app/gui/options.h"
#include "app/gui/shell/closeguard.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/keystip.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tour.h"
#include "app/gui/window/tourhost.h"

#include <QApplication>
#include <QSettings>
#include <QStatusBar>
#include <QTimer>

#include <cstdlib>

namespace retro::app
{

namespace
{

/// The tip about keys, when the engine is shown for the first time.
void offerTips(MainWindow& window)
{
    auto* store = new QSettings(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("retrograde"),
                                QStringLiteral("retrograde"), &window);
    auto* tip = new KeysTip(window, *window.statusBar(), window.actions(), window.shell().preferences(), *store);
    const auto show = [tip, &window](const QString& id) {
        // Keys of the run are used in Engine and Kernels; one bubble at a time.
        const bool isThere = id == QLatin1String("engine") || id == QLatin1String("kernels");
        const Tour& tour = window.tours().tour();
        const bool isQuiet = !tour.isRunning() && !window.tours().isFilm();
        isThere&& window.model().hasRun() && isQuiet ? tip->offerOnce() : tip->hide();
    };
    // Queued: the panes of the workspace have their places then.
    QObject::connect(&window, &MainWindow::workspaceShown, tip, show, Qt::QueuedConnection);
}

} // namespace

int runWindow(MainWindow& window, const WindowOptions& options)
{
    // Settings were written when the window closed, nothing else is open.
    QObject::connect(&window.closing(), &CloseGuard::abandoned, &window, [] { std::_Exit(EXIT_SUCCESS); });
    if (!options.isQuitWhenShown) {
        window.tours().offerOnce();
        offerTips(window);
    }
    window.show();
    if (options.isLive) {
        auto* live = window.findChild<LiveController*>();
        live->listen(true);
        live->show();
    }
    if (options.isQuitWhenShown) {
        // After the first paint, which the show event has queued.
        QTimer::singleShot(0, &window, [] { QTimer::singleShot(0, &QApplication::quit); });
    }
    return QApplication::exec();
}

} // namespace retro::app
