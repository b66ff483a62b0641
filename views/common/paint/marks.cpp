// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/marks.h"

#include "views/common/paint/fonts.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kModeBorder = 1.6;

QString markText(const char* text) { return QCoreApplication::translate("retro::views::marks", text); }

QPen modePen(event::Mode mode, const QColor& color)
{
    QPen pen(color, mode == event::Mode::None ? 1.0 : kModeBorder);
    if (mode == event::Mode::Search) {
        pen.setDashPattern({2.6, 1.6});
        pen.setCapStyle(Qt::FlatCap);
    }
    return pen;
}

} // namespace

QString letterOf(event::Mode mode)
{
    switch (mode) {
    case event::Mode::Normal:
        return QStringLiteral("N");
    case event::Mode::Search:
        return QStringLiteral("T");
    case event::Mode::Fulfilment:
        return QStringLiteral("F");
    case event::Mode::None:
        break;
    }
    return {};
}

QString wordOf(event::Mode mode)
{
    switch (mode) {
    case event::Mode::Normal:
        return markText("normal");
    case event::Mode::Search:
        return markText("search");
    case event::Mode::Fulfilment:
        return markText("fulfilment");
    case event::Mode::None:
        break;
    }
    return markText("not visited");
}

void paintModeBox(QPainter& painter, const QRectF& box, event::Mode mode, const Theme& theme, double radius)
{
    const ModeColors colors = theme.mode(mode);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const double inset = mode == event::Mode::None ? 0.5 : kModeBorder / 2;
    const QRectF outer = box.adjusted(inset, inset, -inset, -inset);
    painter.setBrush(colors.tint);
    painter.setPen(modePen(mode, colors.line));
    painter.drawRoundedRect(outer, radius, radius);
    if (mode == event::Mode::Fulfilment && box.height() >= 10) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors.line, 1));
        const double inner = std::max(1.0, radius - 1);
        painter.drawRoundedRect(outer.adjusted(2.5, 2.5, -2.5, -2.5), inner, inner);
    }
    painter.restore();
}

void paintModeMark(QPainter& painter, const QRectF& box, event::Mode mode, const Theme& theme)
{
    const ModeColors colors = theme.mode(mode);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(colors.tint);
    QPen pen(colors.line, 1);
    if (mode == event::Mode::Search) {
        pen.setDashPattern({3, 2});
    }
    painter.setPen(pen);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    if (mode == event::Mode::Fulfilment) {
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(box.adjusted(2.5, 2.5, -2.5, -2.5), 1, 1);
    }
    painter.setPen(colors.text);
    painter.setFont(fonts::sized(mode == event::Mode::Fulfilment ? 9 : 10, QFont::DemiBold));
    painter.drawText(box, Qt::AlignCenter, letterOf(mode));
    painter.restore();
}

void paintDiamond(QPainter& painter, const QPointF& center, double radius, const QColor& color, bool isFilled)
{
    QPainterPath path;
    path.moveTo(center + QPointF(0, -radius));
    path.lineTo(center + QPointF(radius, 0));
    path.lineTo(center + QPointF(0, radius));
    path.lineTo(center + QPointF(-radius, 0));
    path.closeSubpath();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    QPen pen(color, 1.3);
    pen.setJoinStyle(Qt::MiterJoin);
    painter.setPen(pen);
    painter.setBrush(isFilled ? QBrush(color) : QBrush(Qt::NoBrush));
    painter.drawPath(path);
    painter.restore();
}

void paintTick(QPainter& painter, const QPointF& center, double radius, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.3, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const std::array<QPointF, 3> points{center + QPointF(-radius, 0.1 * radius),
                                        center + QPointF(-0.25 * radius, 0.8 * radius),
                                        center + QPointF(radius, -0.75 * radius)};
    painter.drawPolyline(points.data(), static_cast<int>(points.size()));
    painter.restore();
}

void paintCross(QPainter& painter, const QPointF& center, double radius, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.6, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(center + QPointF(-radius, -radius), center + QPointF(radius, radius));
    painter.drawLine(center + QPointF(-radius, radius), center + QPointF(radius, -radius));
    painter.restore();
}

void paintTriangle(QPainter& painter, const QPointF& center, double radius, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    const std::array<QPointF, 3> points{center + QPointF(0, -0.9 * radius), center + QPointF(radius, 0.8 * radius),
                                        center + QPointF(-radius, 0.8 * radius)};
    painter.drawPolygon(points.data(), static_cast<int>(points.size()));
    painter.restore();
}

void paintHatch(QPainter& painter, const QRectF& box, const QColor& color, double pitch, double width)
{
    painter.save();
    painter.setClipRect(box, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, width));
    // Lines run up to the right; x is where they meet the lower edge.
    for (double x = box.left() - box.height(); x < box.right(); x += pitch) {
        painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
    }
    painter.restore();
}

void paintHairline(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    QPen pen(color, 1);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawLine(QPointF(std::floor(from.x()) + 0.5, std::floor(from.y()) + 0.5),
                     QPointF(std::floor(to.x()) + 0.5, std::floor(to.y()) + 0.5));
    painter.restore();
}

void paintShareBar(QPainter& painter, const QRectF& box, double share, const QColor& fill, const Theme& theme)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QRectF frame(std::floor(box.left()) + 0.5, std::floor(box.top()) + 0.5, std::round(box.width()) - 1,
                       std::round(box.height()) - 1);
    painter.setPen(QPen(theme[Role::Line], 1));
    painter.setBrush(theme[Role::Alt]);
    painter.drawRect(frame);
    const double clamped = std::clamp(share, -1.0, 1.0);
    const QRectF whole = frame.adjusted(-0.5, -0.5, 0.5, 0.5);
    const double width = std::max(1.5, std::abs(clamped) * whole.width());
    painter.setRenderHint(QPainter::Antialiasing);
    if (clamped > 0) {
        painter.fillRect(QRectF(whole.left(), whole.top(), width, whole.height()), fill);
    } else if (clamped < 0) {
        const QRectF part(whole.right() - width, whole.top(), width, whole.height());
        paintHatch(painter, part, fill, 3, 1.5);
        painter.fillRect(QRectF(part.left(), part.top(), 1.5, part.height()), fill);
    }
    painter.restore();
}

} // namespace retro::views
