// SPDX-License-Identifier: Apache-2.0
#include "app/common/guiapplication.h"

#include "views/common/fonts.h"

#include <QApplication>

#include <memory>

namespace retro::app
{

void ensureGuiApplication()
{
    if (QCoreApplication::instance() != nullptr) {
        return;
    }
    static int count = 1;
    static char name[] = "retrograde-cli";
    static char* arguments[] = {name, nullptr};
    qputenv("QT_QPA_PLATFORM", "offscreen");
    static const auto application = std::make_unique<QApplication>(count, arguments);
    views::fonts::install();
}

} // namespace retro::app
