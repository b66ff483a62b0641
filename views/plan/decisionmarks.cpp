// SPDX-License-Identifier: Apache-2.0
#include "views/plan/decisionmarks.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QPainter>
#include <QPixmap>

#include <algorithm>
#include <array>

namespace retro::views
{

using fonts::px;

void paintCellMark(QPainter& painter, const QRectF& box, CellKind kind, const Theme& theme)
{
    switch (kind) {
    case CellKind::Compute:
        painter.fillRect(box, theme[Role::Ink]);
        return;
    case CellKind::Recompute: {
        painter.fillRect(box, theme[Role::SearchTint]);
        paintHatch(painter, box, theme[Role::SearchLine], 4, 1);
        painter.setPen(QPen(theme[Role::SearchLine], 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        return;
    }
    case CellKind::Gradient:
        painter.setPen(QPen(theme[Role::Ink], 1.2));
        painter.setBrush(theme[Role::Base]);
        painter.drawRect(box.adjusted(0.6, 0.6, -0.6, -0.6));
        return;
    case CellKind::Return: {
        const QPointF c = box.center();
        const double half = std::min({box.width(), box.height(), static_cast<double>(px(9))}) / 2;
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme[Role::FulfilLine]);
        painter.drawPolygon(
            QPolygonF({{c.x() - half, c.y()}, {c.x(), c.y() - half}, {c.x() + half, c.y()}, {c.x(), c.y() + half}}));
        painter.setRenderHint(QPainter::Antialiasing, false);
        return;
    }
    case CellKind::Offload:
    case CellKind::Prefetch: {
        painter.fillRect(box, theme[Role::FulfilTint]);
        painter.setPen(Qt::NoPen);
        painter.setBrush(theme[Role::FulfilLine]);
        const bool isOut = kind == CellKind::Offload;
        const std::array<QPointF, 3> arrow =
            isOut ? std::array{box.bottomLeft(), box.bottomRight(), QPointF(box.center().x(), box.top())}
                  : std::array{box.topLeft(), box.topRight(), QPointF(box.center().x(), box.bottom())};
        painter.drawPolygon(arrow.data(), 3);
        return;
    }
    }
}

void paintDecision(QPainter& painter, const QRectF& box, Decision decision, const Theme& theme)
{
    if (decision == Decision::Recompute) {
        paintCellMark(painter, box, CellKind::Recompute, theme);
        return;
    }
    if (decision == Decision::Keep) {
        painter.fillRect(box, theme[Role::Keep]);
        return;
    }
    painter.setPen(QPen(theme[Role::Ghost], 1, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
}

QPixmap decisionPixmap(Decision decision)
{
    constexpr int kRatio = 2;
    const QSize size(px(14), px(10));
    QPixmap pixmap(size * kRatio);
    pixmap.setDevicePixelRatio(kRatio);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    paintDecision(painter, QRectF(QPointF(), QSizeF(size)), decision, theme());
    return pixmap;
}

} // namespace retro::views
