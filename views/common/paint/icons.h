// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>
#include <QStringList>

namespace retro::views::icons
{

/// Names of the drawings in resources/icons: "open", "save", "first", "back", "play", "pause", "forward", "last",
/// "runback", "runforward", "stepover", "stepout", "zoomin", "zoomout", "zoomfit", "export", "search", "float",
/// "close", "brush", "logo", …
[[nodiscard]] QStringList names();

/// A 16-px stroke icon tinted from the theme at the moment of painting: text, ghost when disabled, the accent's text
/// colour when it lies on the accent (mode On). Scales with the device. A null icon for an unknown name.
[[nodiscard]] QIcon icon(const QString& name);

/// One drawing in one colour, `pixels` device-independent pixels large.
[[nodiscard]] QPixmap pixmap(const QString& name, int pixels, const QColor& color, double deviceRatio = 1);

/// The mark of the program: ring in the accent, diamond in the search colour of the present theme.
[[nodiscard]] QPixmap logo(int pixels, double deviceRatio = 1);

/// The icon of windows and of the program, in several sizes, in the colours of the light theme.
[[nodiscard]] QIcon windowIcon();

} // namespace retro::views::icons
