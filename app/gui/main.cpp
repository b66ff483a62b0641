// SPDX-License-Identifier: Apache-2.0
#include "app/common/guiapplication.h"
#include "app/gui/mainwindow.h"
#include "app/gui/options.h"
#include "app/gui/screenshot.h"
#include "views/common/style.h"
#include "views/common/theme.h"

#include <QApplication>

#include <fmt/format.h>

int main(int argc, char** argv)
{
    using namespace retro;
    app::WindowOptions options;
    if (const auto code = app::parseOptions(argc, argv, options)) {
        return *code;
    }
    app::quietRuntimeFolder();
    QApplication application(argc, argv);
    QApplication::setApplicationName(QStringLiteral("Retrograde"));
    QApplication::setApplicationVersion(QStringLiteral(RETRO_VERSION));
    views::Style::install(application, options.fontScale);
    views::ThemeHub::instance().setChoice(options.theme);
    app::MainWindow window;
    if (options.size.isValid()) {
        window.resize(options.size);
    }
    window.showWorkspace(options.workspace);
    window.open(options.model, options.inputs, options.composite);
    if (!options.screenshot.isEmpty()) {
        return app::takeScreenshot(window, options);
    }
    window.show();
    return QApplication::exec();
}
