// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/picture.h"

#include <QByteArray>
#include <QSizeF>

#include <functional>

class QPainter;

namespace retro::views
{

/// A drawing of `size` (design pixels) as the text of an SVG file. `title` and `texts` stand in it.
[[nodiscard]] QByteArray svgDrawing(const QSizeF& size, const std::function<void(QPainter&)>& paint,
                                    const QString& title, const PictureTexts& texts);

} // namespace retro::views
