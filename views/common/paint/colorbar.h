// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/colormap.h"
#include "views/common/paint/plane.h"
#include "views/common/paint/theme.h"

#include <QRectF>
#include <QSizeF>
#include <QString>

#include <vector>

class QPainter;

namespace retro::views
{

/// What a colour bar says.
struct ColorBarSpec
{
    ColorMap map;
    Scale scale;
    QString upperWord; ///< "for mug"
    QString lowerWord; ///< "against"
};

/// A figure beside the bar.
struct ColorBarTick
{
    double y = 0; ///< centre, in the coordinates of the layout
    QString text;
    bool isZero = false;
};

/// Where the parts of a vertical colour bar lie. Plain geometry.
struct ColorBarLayout
{
    QRectF bar;
    QRectF upperWord;
    QRectF lowerWord;
    QRectF clipText;
    std::vector<ColorBarTick> ticks;
};

/// Figure at a tick: two significant digits of the limit, with sign.
[[nodiscard]] QString tickText(double value, double limit);
/// "12 clipped, 1 NaN"; empty when nothing is clipped and every value is a number.
[[nodiscard]] QString clipText(const Scale& scale);
/// Room that a bar with these words needs beside a picture.
[[nodiscard]] double colorBarWidth(const ColorBarSpec& spec);
/// Lays a bar out in `area`: words above and below, figures at the right, the clipping text at the lower end.
[[nodiscard]] ColorBarLayout layoutColorBar(const ColorBarSpec& spec, const QRectF& area);
/// Draws it; zero has a tick across the bar.
void paintColorBar(QPainter& painter, const ColorBarSpec& spec, const ColorBarLayout& layout, const Theme& theme);

} // namespace retro::views
