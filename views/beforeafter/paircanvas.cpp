// SPDX-License-Identifier: Apache-2.0
#include "views/beforeafter/paircanvas.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kTitle = 24;
constexpr double kSum = 20;
constexpr double kGap = 14;
constexpr double kLeastWord = 22; ///< width of a bar below which its word is left out

/// A layer that is smaller than the picture is enlarged, so that it lies over it.
Plane overPicture(const Plane& plane, const QImage& picture)
{
    if (picture.isNull() || plane.isEmpty() || picture.width() == plane.width) {
        return plane;
    }
    Plane large{picture.width(), picture.height(), {}};
    large.values.reserve(static_cast<std::size_t>(large.width) * static_cast<std::size_t>(large.height));
    for (int y = 0; y < large.height; ++y) {
        for (int x = 0; x < large.width; ++x) {
            large.values.push_back(plane.at(x * plane.width / large.width, y * plane.height / large.height));
        }
    }
    return large;
}

} // namespace

PairLayout layoutPair(const QRectF& area, double aspect, bool isStacked)
{
    PairLayout layout;
    const double title = px(kTitle);
    const double sum = px(kSum);
    const double gap = px(kGap);
    if (isStacked) {
        const double height = std::max(20.0, (area.height() - 2 * gap) / 3);
        for (std::size_t i = 0; i < layout.cells.size(); ++i) {
            const double top = area.top() + static_cast<double>(i) * (height + gap);
            PairLayout::Cell& cell = layout.cells[i];
            cell.title = QRectF(area.left(), top, area.width() * 0.7, title);
            cell.sum = QRectF(area.left() + area.width() * 0.7, top, area.width() * 0.3, title);
            cell.picture = QRectF(area.left(), top + title, area.width(), std::max(10.0, height - title));
        }
        return layout;
    }
    const double room = (area.width() - 2 * gap) / 3;
    const double width = std::max(10.0, std::min(room, (area.height() - title - sum) * aspect));
    const double height = width / aspect;
    for (std::size_t i = 0; i < layout.cells.size(); ++i) {
        const double left = area.left() + static_cast<double>(i) * (room + gap);
        PairLayout::Cell& cell = layout.cells[i];
        cell.title = QRectF(left, area.top(), room, title);
        cell.picture = QRectF(left, area.top() + title, width, height);
        cell.sum = QRectF(left, cell.picture.bottom(), width, sum);
    }
    return layout;
}

PairCanvas::PairCanvas(QWidget* parent) : DrawnPane(parent, {660, 300}, {240, 120})
{
    setAccessibleName(tr("Before, after and the difference"));
}

void PairCanvas::setPair(RunPair pair)
{
    m_pair = std::move(pair);
    const auto imageOf = [&](const Plane& plane, const QImage& picture) {
        if (plane.isEmpty()) {
            return QImage();
        }
        const Plane large = overPicture(plane, picture);
        return heatmapOver(large, scaleWithLimit(large.values, m_pair.limit), ColorMap(), picture);
    };
    m_images = {imageOf(m_pair.before.plane, m_pair.before.picture), imageOf(m_pair.after.plane, m_pair.after.picture),
                imageOf(m_pair.difference, m_pair.after.picture)};
    update();
}

void PairCanvas::paintBars(QPainter& painter, const QRectF& box, const Plane& plane, const QStringList& words,
                           const Theme& colors) const
{
    static const ColorMap map;
    const double labels = words.isEmpty() ? 0 : px(18);
    const QRectF bars = box.adjusted(0, 2, 0, -labels);
    const double middle = bars.center().y();
    const double pitch = bars.width() / std::max(1, plane.width);
    for (int i = 0; i < plane.width; ++i) {
        const double v = m_pair.limit == 0 ? 0 : std::clamp(plane.at(i, 0) / m_pair.limit, -1.0, 1.0);
        const double height = std::abs(v) * bars.height() / 2;
        const QRectF bar(bars.left() + i * pitch + pitch * 0.1, v > 0 ? middle - height : middle,
                         std::max(1.0, pitch * 0.8), height);
        painter.fillRect(bar, QColor::fromRgb(map.at(v > 0 ? 0.75 : -0.75)));
        if (i < words.size() && pitch >= px(kLeastWord)) {
            painter.setFont(fonts::small());
            painter.setPen(colors[Role::Text2]);
            painter.drawText(QRectF(bars.left() + i * pitch, bars.bottom(), pitch, labels), Qt::AlignCenter,
                             QFontMetricsF(painter.font()).elidedText(words[i], Qt::ElideRight, pitch));
        }
    }
    paintHairline(painter, QPointF(bars.left(), middle), QPointF(bars.right(), middle), colors[Role::Strong]);
}

/// A badge with a letter, and what is drawn below.
void PairCanvas::paintTitle(QPainter& painter, const QRectF& title, std::size_t which, const Theme& colors) const
{
    const QStringList letters{QStringLiteral("A"), QStringLiteral("B"), QStringLiteral("Δ")};
    const QStringList names{tr("Before"), tr("After"), tr("Difference, B − A")};
    const QRectF badge(title.left(), title.center().y() - px(9), px(18), px(18));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(colors[Role::Strong]);
    painter.setBrush(which == 1 ? colors[Role::Accent] : colors[Role::Base]);
    if (which == 0) {
        painter.drawEllipse(badge);
    } else {
        painter.drawRect(badge);
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(which == 1 ? colors[Role::OnAccent] : colors[Role::Text]);
    painter.drawText(badge, Qt::AlignCenter, letters[static_cast<qsizetype>(which)]);
    painter.setPen(colors[Role::Text]);
    painter.drawText(title.adjusted(px(24), 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     names[static_cast<qsizetype>(which)]);
}

void PairCanvas::paintCell(QPainter& painter, const PairLayout::Cell& cell, std::size_t which,
                           const Theme& colors) const
{
    paintTitle(painter, cell.title, which, colors);
    const Plane& plane = which == 0 ? m_pair.before.plane : which == 1 ? m_pair.after.plane : m_pair.difference;
    if (plane.isEmpty()) {
        painter.setFont(fonts::label());
        painter.setPen(colors[Role::Text2]);
        painter.drawText(cell.picture, int(Qt::AlignTop | Qt::AlignLeft) | Qt::TextWordWrap,
                         which == 2 ? tr("They have other sizes: there is no difference to draw.")
                                    : tr("No relevance of this value."));
        return;
    }
    if (m_pair.after.isSteps) {
        paintBars(painter, cell.picture, plane, which == 0 ? m_pair.before.words : m_pair.after.words, colors);
    } else {
        painter.setRenderHint(QPainter::SmoothPixmapTransform, m_images[which].width() > cell.picture.width());
        painter.drawImage(cell.picture, m_images[which]);
        painter.setPen(colors[Role::Line]);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(cell.picture.adjusted(-0.5, -0.5, 0.5, 0.5));
    }
    const double sum = which == 0   ? m_pair.before.sum
                       : which == 1 ? m_pair.after.sum
                                    : m_pair.after.sum - m_pair.before.sum;
    painter.setFont(fonts::numbers());
    painter.setPen(colors[Role::Text]);
    painter.drawText(cell.sum, Qt::AlignRight | Qt::AlignVCenter, tr("Σ %1").arg(valueText(sum)));
}

void PairCanvas::paint(QPainter& painter, const QRectF& area, const Theme& colors) const
{
    const Plane& plane = m_pair.after.plane.isEmpty() ? m_pair.before.plane : m_pair.after.plane;
    const bool isStacked = m_pair.after.isSteps;
    const double aspect = plane.isEmpty() || plane.height == 0 ? 1.0 : static_cast<double>(plane.width) / plane.height;
    const PairLayout layout = layoutPair(area, std::clamp(aspect, 0.2, 5.0), isStacked);
    for (std::size_t i = 0; i < layout.cells.size(); ++i) {
        paintCell(painter, layout.cells[i], i, colors);
    }
}

void PairCanvas::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    paint(painter, QRectF(rect()).adjusted(px(10), px(2), -px(10), -px(4)), colors);
}

} // namespace retro::views

#include "moc_paircanvas.cpp"
