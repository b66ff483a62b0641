// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QRgb>

class QWheelEvent;

namespace retro::views
{

/// Text that is read on any colour of the map, in both themes: the ground is the map's, not the theme's.
[[nodiscard]] QColor textOnCell(QRgb ground);

/// How many columns of tokens a turn of the wheel moves to the right.
[[nodiscard]] double columnsTurned(const QWheelEvent& event);

} // namespace retro::views
