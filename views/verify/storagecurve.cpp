// SPDX-License-Identifier: Apache-2.0
#include "views/verify/storagecurve.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

std::size_t StorageTrack::peakStep() const
{
    return static_cast<std::size_t>(std::ranges::max_element(bytes) - bytes.begin());
}

StorageCurve::StorageCurve(QWidget* parent) : DrawnPane(parent, {320, 180}, {120, 80})
{
    setAccessibleName(tr("Memory curve"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void StorageCurve::setTracks(StorageTrack now, StorageTrack all)
{
    m_now = std::move(now);
    m_all = std::move(all);
    setAccessibleDescription(m_now.bytes.empty() ? QString()
                                                 : tr("Peak %1 at step %2 of %3; storing everything %4")
                                                       .arg(bytesText(m_now.peak))
                                                       .arg(m_now.peakStep() + 1)
                                                       .arg(m_now.bytes.size())
                                                       .arg(bytesText(m_all.peak)));
    update();
}

QRectF StorageCurve::ground() const
{
    const double left = std::ceil(fonts::widthOf(fonts::smallNumbers(), QStringLiteral("000.0 MB"))) + px(10);
    return QRectF(rect()).adjusted(left, px(34), -px(12), -px(20));
}

double StorageCurve::yOf(std::int64_t bytes, const QRectF& ground) const
{
    const double top = static_cast<double>(std::max<std::int64_t>({m_now.peak, m_all.peak, 1}));
    return ground.bottom() - ground.height() * static_cast<double>(bytes) / top;
}

/// Steps are drawn as steps.
QPolygonF StorageCurve::pathOf(const StorageTrack& track, const QRectF& ground) const
{
    QPolygonF path;
    const double width = ground.width() / static_cast<double>(std::max<std::size_t>(track.bytes.size(), 1));
    for (std::size_t step = 0; step < track.bytes.size(); ++step) {
        const double y = yOf(track.bytes[step], ground);
        path << QPointF(ground.left() + width * static_cast<double>(step), y)
             << QPointF(ground.left() + width * static_cast<double>(step + 1), y);
    }
    return path;
}

void StorageCurve::paintAxes(QPainter& painter, const QRectF& ground) const
{
    const Theme& colors = theme(this);
    paintHairline(painter, ground.bottomLeft(), ground.bottomRight(), colors[Role::Strong]);
    painter.setFont(fonts::smallNumbers());
    const std::int64_t top = std::max(m_now.peak, m_all.peak);
    for (const std::int64_t bytes : {std::int64_t{0}, top / 2, top}) {
        const double y = yOf(bytes, ground);
        if (bytes > 0) {
            paintHairline(painter, {ground.left(), y}, {ground.right(), y}, colors[Role::Grid]);
        }
        painter.setPen(colors[Role::Text3]);
        painter.drawText(QRectF(0, y - px(8), ground.left() - px(6), px(16)), Qt::AlignRight | Qt::AlignVCenter,
                         bytesText(bytes));
    }
    const double share = static_cast<double>(m_now.forwardSteps) / static_cast<double>(m_now.bytes.size());
    const double middle = ground.left() + ground.width() * share;
    paintHairline(painter, {middle, ground.top()}, {middle, ground.bottom()}, colors[Role::Strong]);
    painter.setFont(fonts::small());
    painter.setPen(colors[Role::Text3]);
    const QRectF below(ground.left(), ground.bottom() + px(2), ground.width(), px(16));
    painter.drawText(below, Qt::AlignLeft | Qt::AlignVCenter, tr("forward"));
    painter.drawText(below, Qt::AlignRight | Qt::AlignVCenter, tr("backward"));
}

void StorageCurve::paintPeak(QPainter& painter, const QRectF& ground) const
{
    const Theme& colors = theme(this);
    const double width = ground.width() / static_cast<double>(m_now.bytes.size());
    const QPointF at(ground.left() + width * (static_cast<double>(m_now.peakStep()) + 0.5), yOf(m_now.peak, ground));
    paintTriangle(painter, at - QPointF(0, px(5)), px(4), colors[Role::Accent]);
    const QString text = tr("peak %1").arg(bytesText(m_now.peak));
    const double textWidth = fonts::widthOf(fonts::smallNumbers(), text) + px(8);
    const double left =
        std::clamp(at.x() - textWidth / 2, ground.left(), std::max(ground.left(), ground.right() - textWidth));
    painter.setFont(fonts::smallNumbers());
    painter.setPen(colors[Role::Text]);
    painter.drawText(QRectF(left, at.y() - px(26), textWidth, px(16)), Qt::AlignCenter, text);
}

void StorageCurve::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    if (m_now.bytes.empty()) {
        return;
    }
    const QRectF inside = ground();
    paintAxes(painter, inside);
    const QPolygonF now = pathOf(m_now, inside);
    QPolygonF area = now;
    area << inside.bottomRight() << inside.bottomLeft();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors[Role::FulfilTint]);
    painter.drawPolygon(area);
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(colors[Role::Ghost], 1.2, Qt::DotLine));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(pathOf(m_all, inside));
    painter.setPen(QPen(colors[Role::FulfilLine], 1.8));
    painter.drawPolyline(now);
    paintPeak(painter, inside);
}

} // namespace retro::views

#include "moc_storagecurve.cpp"
