// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>

namespace retro::views
{

/// A text of the classes in the user's language, for functions outside its class.
[[nodiscard]] inline QString classesText(const char* text)
{
    return QCoreApplication::translate("retro::views::ClassesView", text);
}

} // namespace retro::views
