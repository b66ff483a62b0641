// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/keyschemes.h"

#include <QCoreApplication>

namespace retro::app
{

std::vector<KeyScheme> keySchemes()
{
    const auto key = [](const char* text) { return QKeySequence(QLatin1String(text), QKeySequence::PortableText); };
    return {
        {QCoreApplication::translate("retro::app::KeysPage", "Retrograde: Shift is the same thing backwards"), {}},
        // There Shift+F11 leaves a function; here the step back has it, so these two change places.
        {QCoreApplication::translate("retro::app::KeysPage", "Visual Studio: Shift+F11 steps out"),
         {{QStringLiteral("go.out"), key("Shift+F11")}, {QStringLiteral("go.back"), key("Ctrl+F11")}}},
    };
}

} // namespace retro::app
