// SPDX-License-Identifier: Apache-2.0
#include "app/common/guiapplication.h"

#include "core/base/failure.h"
#include "core/base/log.h"
#include "core/base/memoryend.h"
#include "views/common/paint/background.h"
#include "views/common/paint/fonts.h"

#include <QFontMetrics>

#include <cstdio>
#include <new>

namespace retro::app
{

namespace
{

/// What Qt's platforms say on standard error although nothing is wrong: a process without a session has no
/// XDG_RUNTIME_DIR (Qt then uses a temporary folder), and an offscreen window has neither size hints nor a place among
/// others.
bool isRemark(const QString& message)
{
    return message.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR")) ||
           message.startsWith(QLatin1String("This plugin does not support propagateSizeHints")) ||
           message.startsWith(QLatin1String("This plugin does not support raise"));
}

void showMessage(QtMsgType type, const QMessageLogContext& context, const QString& message)
{
    if (!isRemark(message)) {
        fprintf(stderr, "%s\n", qPrintable(qFormatLogMessage(type, context, message)));
    }
}

} // namespace

bool GuardedApplication::notify(QObject* receiver, QEvent* event)
{
    const auto handled = base::caught([&]() -> base::Result<bool> { return QApplication::notify(receiver, event); });
    if (!handled) {
        base::log(base::logcategory::kWindow, handled.error());
        views::BackgroundFailures::instance().report(handled.error());
    }
    return handled ? *handled : false;
}

void quietPlatform() { qInstallMessageHandler(showMessage); }

void ensureGuiApplication()
{
    if (QCoreApplication::instance() != nullptr) {
        return;
    }
    base::endWithoutMemoryInLibraries();
    const base::MemoryTimer timer;
    static int count = 1;
    static char name[] = "retrograde-cli";
    static char* arguments[] = {name, nullptr};
    quietPlatform();
    if (!qputenv("QT_QPA_PLATFORM", "offscreen")) {
        throw std::bad_alloc(); // without it Qt looks for a display, and ends the program where there is none
    }
    // GLib stops a program that gets no memory, in any thread; nothing here needs its event loop.
    if (!qputenv("QT_NO_GLIB", "1")) {
        throw std::bad_alloc();
    }
    // Lives as long as the process: destroyed on exit it would outlive what it needs of Qt's own static objects.
    static auto* const application = new QApplication(count, arguments);
    static_cast<void>(application);
    views::fonts::install();
    QFontMetrics(QApplication::font()).lineSpacing(); // fonts are looked for here, not in the middle of a drawing
}

} // namespace retro::app
