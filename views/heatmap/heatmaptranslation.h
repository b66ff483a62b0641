// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QCoreApplication>

namespace retro::views
{

/// A text of the heatmap in the user's language, for functions outside its class.
[[nodiscard]] inline QString heatmapText(const char* text)
{
    return QCoreApplication::translate("retro::views::HeatmapView", text);
}

} // namespace retro::views
