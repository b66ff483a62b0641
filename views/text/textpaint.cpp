// SPDX-License-Identifier: Apache-2.0
#include "views/text/textpaint.h"

#include "views/common/paint/theme.h"

#include <QWheelEvent>

namespace retro::views
{

QColor textOnCell(QRgb ground)
{
    constexpr double kDarkGround = 0.5;
    const double luma = (0.299 * qRed(ground) + 0.587 * qGreen(ground) + 0.114 * qBlue(ground)) / 255;
    return Theme::of(ThemeKind::Light)[luma < kDarkGround ? Role::Base : Role::Text];
}

double columnsTurned(const QWheelEvent& event)
{
    constexpr double kNotch = 120; // of QWheelEvent
    constexpr double kColumnsOfNotch = 3;
    const QPoint turned = event.angleDelta();
    return -(turned.x() != 0 ? turned.x() : turned.y()) / kNotch * kColumnsOfNotch;
}

} // namespace retro::views
