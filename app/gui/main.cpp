// SPDX-License-Identifier: Apache-2.0
#include "app/common/freedmemory.h"
#include "app/common/guiapplication.h"
#include "app/common/passivewaiting.h"
#include "app/gui/display.h"
#include "app/gui/options.h"
#include "app/gui/screenshot.h"
#include "app/gui/shell/logfile.h"
#include "app/gui/shell/settings.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/unsavedwork.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/runwindow.h"
#include "core/base/memorylimit.h"
#include "core/base/standardstreams.h"
#include "views/common/paint/style.h"
#include "views/common/paint/theme.h"
#include "views/graph/graphview.h"
#include "views/watch/watchview.h"

#include <QApplication>
#include <QSettings>
#include <QStandardPaths>

#include <filesystem>
#include <optional>
#include <unistd.h>
#include <utility>

namespace
{

using namespace retro;

/// Colours, text size and what was remembered; a picture is made without anybody's settings.
void applySettings(QApplication& application, const app::WindowOptions& options, QSettings& store)
{
    const bool isOwnScale = !options.screenshot.isEmpty() || options.fontScale != 1;
    views::Style::install(application, isOwnScale ? options.fontScale : app::readSettings(store).fontScale);
}

/// Layouts of large graphs, and those of Graphviz, are there again at the next start.
void keepLayouts(const app::MainWindow& window)
{
    const QString cache = QStandardPaths::writableLocation(QStandardPaths::CacheLocation);
    if (auto* graph = window.findChild<views::GraphView*>(); graph != nullptr && !cache.isEmpty()) {
        graph->setLayoutFolder(std::filesystem::path(cache.toStdString()) / "layouts");
    }
}

void addWatches(const app::MainWindow& window, const QStringList& expressions)
{
    auto* watch = window.findChild<views::WatchView*>();
    for (const QString& expression : expressions) {
        watch->add(expression);
    }
}

} // namespace

/// Before any library is loaded, see passivewaiting.h.
[[gnu::section(".preinit_array"),
  gnu::used]] static void (*beforeLibraries)(int, char**, char**) = &retro::app::PassiveWaiting::waitPassively;

int main(int argc, char** argv)
{
    retro::app::PassiveWaiting::giveBack(environ);
    retro::app::keepFreedMemory();
    app::WindowOptions options;
    if (const auto code = app::parseOptions(argc, argv, options)) {
        return *code;
    }
    app::quietPlatform();
    if (const std::string missing = app::missingDisplay(); !missing.empty()) {
        base::sayErrorLine("retrograde: " + missing);
        return app::kNoDisplay;
    }
    std::optional<app::DisplayWatch> watch(std::in_place);
    app::GuardedApplication application(argc, argv);
    watch.reset();
    QApplication::setApplicationName(QStringLiteral("Retrograde"));
    QApplication::setDesktopFileName(QStringLiteral("ai.retrograde.Retrograde"));
    QApplication::setApplicationVersion(QStringLiteral(RETRO_VERSION));
    const bool isPicture = !options.screenshot.isEmpty();
    app::LogFile log(app::stateFolder());
    if (!isPicture) {
        log.takeMessages();
        qCInfo(app::windowLog, "Retrograde %s begins, with Qt %s", RETRO_VERSION, qVersion());
    }
    QSettings store(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("retrograde"),
                    QStringLiteral("retrograde"));
    applySettings(application, options, store);
    app::MainWindow window;
    if (!isPicture) {
        window.shell().remember(store);
        window.unsaved().askInWindow();
        keepLayouts(window);
    }
    if (options.memory) {
        base::MemoryLimit::choose(options.memory); // for this time only
    }
    if (isPicture || options.theme != views::ThemeChoice::System) {
        views::ThemeHub::instance().setChoice(options.theme); // for this time only
    }
    if (options.size.isValid() && options.view.isEmpty()) {
        window.resize(options.size);
    }
    window.showWorkspace(options.workspace);
    if (!options.isWelcome()) {
        window.open(options.model, options.inputs, options.composite,
                    {options.shapes, options.isGraphOnly, options.texts});
        if (!options.plan.isEmpty()) {
            window.openPlan(options.plan);
        }
    }
    addWatches(window, options.watches);
    return isPicture ? app::takeScreenshot(window, options) : app::runWindow(window, options);
}
