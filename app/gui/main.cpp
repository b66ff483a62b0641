// SPDX-License-Identifier: Apache-2.0
#include "app/common/guiapplication.h"
#include "app/gui/mainwindow.h"
#include "app/gui/options.h"
#include "app/gui/screenshot.h"
#include "app/gui/shell/closeguard.h"
#include "app/gui/shell/settings.h"
#include "app/gui/shell/shell.h"
#include "app/gui/tourhost.h"
#include "views/common/style.h"
#include "views/common/theme.h"

#include <QApplication>
#include <QSettings>
#include <QTimer>

#include <cstdlib>

#include <fmt/format.h>

namespace
{

using namespace retro;

/// Colours, text size and what was remembered; a picture is made without anybody's settings.
void applySettings(QApplication& application, const app::WindowOptions& options, QSettings& store)
{
    const bool isOwnScale = !options.screenshot.isEmpty() || options.fontScale != 1;
    views::Style::install(application, isOwnScale ? options.fontScale : app::readSettings(store).fontScale);
}

/// Shows the window until it is closed.
int runWindow(app::MainWindow& window, const app::WindowOptions& options)
{
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

} // namespace

int main(int argc, char** argv)
{
    app::WindowOptions options;
    if (const auto code = app::parseOptions(argc, argv, options)) {
        return *code;
    }
    app::quietPlatform();
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("Retrograde"));
    QApplication::setApplicationVersion(QStringLiteral(RETRO_VERSION));
    const bool isPicture = !options.screenshot.isEmpty();
    QSettings store(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("retrograde"),
                    QStringLiteral("retrograde"));
    applySettings(application, options, store);
    app::MainWindow window;
    if (!isPicture) {
        window.shell().remember(store);
    }
    if (isPicture || options.theme != views::ThemeChoice::System) {
        views::ThemeHub::instance().setChoice(options.theme); // for this time only
    }
    // Nobody waits for an operator that does not stop: settings are written, nothing else is open.
    QObject::connect(&window.closing(), &app::CloseGuard::abandoned, &window, [] { std::_Exit(EXIT_SUCCESS); });
    if (options.size.isValid()) {
        window.resize(options.size);
    }
    window.showWorkspace(options.workspace);
    if (!options.isWelcome()) {
        window.open(options.model, options.inputs, options.composite);
    }
    return isPicture ? app::takeScreenshot(window, options) : runWindow(window, options);
}
