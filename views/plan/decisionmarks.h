// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/plan/schedulematrix.h"

class QPainter;
class QPixmap;
class QRectF;

namespace retro::views
{

class Theme;

/// A sample of the mark of a cell, for legends and tables.
void paintCellMark(QPainter& painter, const QRectF& box, CellKind kind, const Theme& theme);
/// A sample of the mark of a decision.
void paintDecision(QPainter& painter, const QRectF& box, Decision decision, const Theme& theme);
/// The same as an icon of tables, in the colours of the present theme.
[[nodiscard]] QPixmap decisionPixmap(Decision decision);

} // namespace retro::views
