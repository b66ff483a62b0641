// SPDX-License-Identifier: Apache-2.0
#include "app/gui/screenshot.h"

#include "app/gui/mainwindow.h"
#include "views/common/picture.h"

#include <QApplication>
#include <QTimer>

#include <fmt/format.h>

namespace retro::app
{

namespace
{

/// Time for deferred layouts and the last repaint after everything has arrived.
constexpr int kSettleMilliseconds = 120;

int report(const std::string& message, int code)
{
    fmt::print(stderr, "retrograde: {}\n", message);
    return code;
}

void goTo(MainWindow& window, const WindowOptions& options)
{
    if (!window.model().hasRun() || !options.step) {
        return;
    }
    const trace::Run& run = window.model().run();
    const std::uint64_t visits = *options.step;
    const bool isEnd = visits > run.visitCount();
    window.cursor().moveTo(
        visits == 0 ? 0 : (isEnd ? run.eventCount() : run.endOfVisit(static_cast<std::uint32_t>(visits - 1))));
}

int finish(MainWindow& window, const WindowOptions& options)
{
    window.flush();
    const QImage image = window.grab().toImage();
    const auto written = views::writePicture(options.screenshot.toStdString(), image);
    return written ? 0 : report(written.error().text(), written.error().code == base::ErrorCode::Usage ? 2 : 5);
}

} // namespace

int takeScreenshot(MainWindow& window, const WindowOptions& options)
{
    int code = 0;
    const auto leave = [&code](int result) {
        code = result;
        QApplication::exit(result);
    };
    QObject::connect(&window, &MainWindow::settled, &window, [&] {
        if (!window.lastError().isEmpty()) {
            leave(report(window.lastError().toStdString(), 3));
            return;
        }
        goTo(window, options);
        if (!options.selectNode.isEmpty()) {
            const auto node = window.model().graph().findNode(options.selectNode.toStdString());
            if (!node) {
                leave(report("the graph has no node '" + options.selectNode.toStdString() + "'", 2));
                return;
            }
            window.selection().selectNode(*node);
        }
        window.flush();
        QTimer::singleShot(kSettleMilliseconds, &window, [&] { leave(finish(window, options)); });
    });
    window.show();
    if (!window.isBusy()) { // the welcome page: nothing will settle
        QTimer::singleShot(kSettleMilliseconds, &window, [&] { leave(finish(window, options)); });
    }
    QApplication::exec();
    return code;
}

} // namespace retro::app
