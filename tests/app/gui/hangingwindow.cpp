// SPDX-License-Identifier: Apache-2.0
// The window with a job that never ends, closed by its user. For closetest, which waits for the process to end. The one
// argument is the file of the settings.
#include "app/gui/options.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/runwindow.h"
#include "views/common/paint/style.h"

#include <QApplication>
#include <QSettings>

#include <chrono>
#include <cstdio>
#include <thread>

using namespace retro;

int main(int argc, char** argv)
{
    QApplication application(argc, argv);
    views::Style::install(application);
    QSettings store(QString::fromLocal8Bit(argv[1]), QSettings::IniFormat);
    app::MainWindow window;
    window.shell().remember(store);
    // On the engine thread, as an operator would.
    QObject::connect(
        &window.engine(), &app::EngineWorker::progress, &window.engine(),
        [&window] {
            QMetaObject::invokeMethod(&window, &QWidget::close, Qt::QueuedConnection);
            for (;;) {
                std::this_thread::sleep_for(std::chrono::hours(1));
            }
        },
        Qt::DirectConnection);
    window.open({});
    app::WindowOptions options;
    const int code = app::runWindow(window, options);
    std::puts("the event loop ended"); // not reached: the job is left behind before
    return code;
}
