// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"

#include <QImage>
#include <QString>
#include <QWidget>

namespace retro::tests
{

/// Sets style, fonts and the theme as the program does. Call once from initTestCase().
void installLook();

/// A picture of the widget at `size` in a theme; also saved as <build>/grabs/<name>-<theme>.png for people.
[[nodiscard]] QImage grab(QWidget& widget, const QSize& size, views::ThemeKind kind, const QString& name);

/// Number of different colours of a picture: an empty widget has one or two.
[[nodiscard]] int colorCount(const QImage& image);
/// True when the colour occurs.
[[nodiscard]] bool hasColor(const QImage& image, const QColor& color);

} // namespace retro::tests
