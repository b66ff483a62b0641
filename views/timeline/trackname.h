// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>
#include <QString>

class QPainter;

namespace retro::views
{

class Theme;

/// The name of a track of the timeline, in the column left of it and in the middle of its height.
void paintTrackName(QPainter& painter, const QRectF& track, double columnWidth, const QString& name,
                    const Theme& theme);

} // namespace retro::views
