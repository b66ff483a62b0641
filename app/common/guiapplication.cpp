// SPDX-License-Identifier: Apache-2.0
#include "app/common/guiapplication.h"

#include "views/common/fonts.h"

#include <QApplication>

#include <cstdio>
#include <memory>

namespace retro::app
{

namespace
{

/// A process without a session has no XDG_RUNTIME_DIR; Qt then uses a temporary folder and says so on standard error,
/// where nobody asked.
void showMessage(QtMsgType type, const QMessageLogContext& context, const QString& message)
{
    if (!message.startsWith(QLatin1String("QStandardPaths: XDG_RUNTIME_DIR"))) {
        fprintf(stderr, "%s\n", qPrintable(qFormatLogMessage(type, context, message)));
    }
}

} // namespace

void quietRuntimeFolder() { qInstallMessageHandler(showMessage); }

void ensureGuiApplication()
{
    if (QCoreApplication::instance() != nullptr) {
        return;
    }
    static int count = 1;
    static char name[] = "retrograde-cli";
    static char* arguments[] = {name, nullptr};
    quietRuntimeFolder();
    qputenv("QT_QPA_PLATFORM", "offscreen");
    static const auto application = std::make_unique<QApplication>(count, arguments);
    views::fonts::install();
}

} // namespace retro::app
