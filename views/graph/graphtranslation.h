// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>

namespace retro::views
{

/// A text of the graph in the user's language, for functions outside its class.
[[nodiscard]] inline QString graphText(const char* text)
{
    return QCoreApplication::translate("retro::views::GraphView", text);
}

} // namespace retro::views
