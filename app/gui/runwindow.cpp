// SPDX-License-Identifier: Apache-2.0
#include "app/gui/runwindow.h"

#include "app/gui/mainwindow.h"
#include "app/gui/options.h"
#include "app/gui/shell/closeguard.h"
#include "app/gui/tourhost.h"

#include <QApplication>
#include <QTimer>

#include <cstdlib>

namespace retro::app
{

int runWindow(MainWindow& window, const WindowOptions& options)
{
    // Settings were written when the window closed, nothing else is open.
    QObject::connect(&window.closing(), &CloseGuard::abandoned, &window, [] { std::_Exit(EXIT_SUCCESS); });
    if (!options.isQuitWhenShown) {
        window.tours().offerOnce();
    }
    window.show();
    if (options.isQuitWhenShown) {
        // After the first paint, which the show event has queued.
        QTimer::singleShot(0, &window, [] { QTimer::singleShot(0, &QApplication::quit); });
    }
    return QApplication::exec();
}

} // namespace retro::app
