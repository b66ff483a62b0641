// SPDX-License-Identifier: Apache-2.0
// The columns below a drawing that runs sideways.
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/graph/graphmotion.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace retro::views
{

using layout::Index;

namespace
{

QString sharesText(const char* text) { return QCoreApplication::translate("retro::views::GraphView", text); }

constexpr double kMostShare = 1.1; // that has a place, on either side of 0

/// The column of a box; what has not arrived for good is dashed.
void paintArrived(QPainter& painter, const QRectF& bar, const CardStatus& card, bool isNow, const Theme& theme)
{
    if (card.whole.isValid() && !card.isHeld) {
        painter.fillRect(bar, theme[isNow ? Role::Accent : Role::Keep]);
    } else {
        painter.setPen(QPen(theme[Role::SearchLine], 1, Qt::DashLine));
        painter.setBrush(theme[Role::SearchTint]);
        painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

} // namespace

void paintShares(QPainter& painter, const GraphPicture& picture, const GraphCamera& camera, const Theme& theme,
                 const QRectF& strip)
{
    const double start = picture.scene->book->relevanceStart;
    if (start == 0 || picture.cards == nullptr) {
        return;
    }
    const GraphScene& scene = *picture.scene;
    const double below = std::min(kMostShare, -scene.book->leastShare);
    const double top = strip.top() + fonts::px(8);
    const double whole = (strip.bottom() - fonts::px(18) - top) / (kMostShare + below); // of 100 %
    const double floor_ = std::round(top + kMostShare * whole);                         // of 0 %
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(theme[Role::Line], 1, Qt::DotLine));
    painter.drawLine(QPointF(strip.left(), std::round(floor_ - whole) + 0.5),
                     QPointF(strip.right(), std::round(floor_ - whole) + 0.5));
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text3]);
    painter.drawText(QPointF(strip.left() + fonts::px(4), floor_ - whole - fonts::px(3)), QStringLiteral("100 %"));
    painter.setFont(fonts::small());
    painter.drawText(QPointF(strip.left() + fonts::px(4), strip.bottom() - fonts::px(4)),
                     sharesText("share of the score that arrived"));
    painter.setPen(QPen(theme[Role::Strong], 1));
    painter.drawLine(QPointF(strip.left(), floor_ + 0.5), QPointF(strip.right(), floor_ + 0.5));
    const double legend =
        strip.left() + fonts::widthOf(fonts::small(), sharesText("share of the score that arrived")) + fonts::px(16);
    double free = -1e9; // columns that would lie on each other are left out
    std::vector<Index> boxes;
    scene.layout.nodesIn(camera.toScene(QRectF(strip.left(), -1e6, strip.width(), 2e6)), boxes);
    std::vector<std::pair<double, Index>> order;
    for (const Index box : boxes) {
        order.emplace_back(camera.toScreen(scene.layout.nodes[static_cast<std::size_t>(box)]).left(), box);
    }
    std::ranges::sort(order);
    for (const auto& [left, box] : order) {
        const CardStatus& card = (*picture.cards)[static_cast<std::size_t>(box)];
        const QRectF rect = camera.toScreen(scene.layout.nodes[static_cast<std::size_t>(box)]);
        const double width = std::round(rect.width() * 0.55);
        const double column = std::round(rect.center().x() - width / 2);
        if (!card.hasSum || column < free) {
            continue;
        }
        free = column + width + 2;
        const double share = card.sum / start;
        const double height = std::round(std::clamp(share, -below, kMostShare) * whole);
        paintArrived(painter, QRectF(column, floor_ - height, width, height).normalized(), card,
                     picture.status->now == box, theme);
        const QString text = fixedText(100 * share, 1);
        const double words = fonts::widthOf(fonts::smallNumbers(), text);
        if (rect.center().x() - words / 2 > legend && scene.cardOf(box) != CardKind::Pill) {
            painter.setFont(fonts::smallNumbers());
            painter.setPen(theme[Role::Text2]);
            painter.drawText(QPointF(rect.center().x() - words / 2, strip.bottom() - fonts::px(4)), text);
        }
    }
}

} // namespace retro::views
