// SPDX-License-Identifier: Apache-2.0
#include "views/layers/layerstrip.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"

#include <QFontMetricsF>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kLeastWidest = 118; // what a cell may take in a low pane
constexpr double kKnob = 4;
// Thumbnails clip a little, so that one pixel does not bleach the rest.
constexpr double kPercentile = 99.5;

// Vectors as bars up (red) and down (blue) from a zero line.
QImage barPicture(const Plane& plane, int side)
{
    const ColorMap map;
    const Scale scale = symmetricScale(plane.values);
    QImage image(side, side, QImage::Format_RGB32);
    image.fill(map.at(0));
    QPainter painter(&image);
    const double middle = side / 2.0;
    const auto count = static_cast<double>(plane.values.size());
    for (std::size_t i = 0; i < plane.values.size(); ++i) {
        const double v = scale.toUnit(plane.values[i]);
        const double left = static_cast<double>(i) * side / count;
        const double width = std::max(1.0, side / count - (count * 3 < side ? 1 : 0));
        const double height = std::abs(v) * (middle - 2);
        painter.fillRect(QRectF(left, v > 0 ? middle - height : middle, width, height),
                         QColor(map.at(v > 0 ? 0.8 : -0.8)));
    }
    painter.fillRect(QRectF(0, middle - 0.5, side, 1), Theme::of(ThemeKind::Light)[Role::Strong]);
    return image;
}

bool isMap(const tensor::Shape& shape, bool isChannelsLast)
{
    return shape.size() == 4 && shape[isChannelsLast ? 1 : 2] > 1 && shape[isChannelsLast ? 2 : 3] > 1;
}

/// "97.1 %", or the magnitude of a gradient.
QString amountOf(const Layer& layer)
{
    return layer.magnitude ? valueText(*layer.magnitude, 3) : percentText(layer.share);
}

} // namespace

int StripLayout::cellAt(double x) const
{
    int best = -1;
    double nearest = 0;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const double distance = std::abs(cells[i].knob.x() - x);
        if (best < 0 || distance < nearest) {
            best = static_cast<int>(i);
            nearest = distance;
        }
    }
    return best;
}

StripLayout layoutStrip(std::size_t count, const QRectF& area)
{
    StripLayout layout;
    if (count == 0) {
        return layout;
    }
    const double line = std::ceil(QFontMetricsF(fonts::label()).height());
    const double knobRoom = 2 * kKnob + fonts::px(8);
    const double tall = area.height() - 2 * line - knobRoom - 10;
    const double widest = std::max<double>(kLeastWidest * fonts::scale(), tall + 3 * fonts::px(6)); // squares fill it
    const double pitch = std::min(widest, area.width() / static_cast<double>(count));
    const double pad = std::min<double>(fonts::px(6), pitch * 0.08);
    const double side = std::floor(std::max(8.0, std::min(pitch - 3 * pad, tall)));
    for (std::size_t i = 0; i < count; ++i) {
        StripLayout::Cell cell;
        const double left = std::round(area.left() + static_cast<double>(i) * pitch);
        cell.cell = QRectF(left, area.top(), std::floor(pitch - pad), 2 * line + side + 10);
        cell.name = QRectF(left + pad, area.top() + 3, cell.cell.width() - 2 * pad, line);
        cell.picture = QRectF(left + pad, cell.name.bottom() + 3, side, side);
        cell.share = QRectF(left + pad, cell.picture.bottom() + 2, cell.cell.width() - pad, line);
        cell.knob = QPointF(cell.picture.center().x(), cell.cell.bottom() + knobRoom / 2);
        layout.cells.push_back(cell);
    }
    layout.lineY = layout.cells.front().knob.y();
    return layout;
}

QString fittingName(const QString& name, const QFont& font, double width)
{
    if (fonts::widthOf(font, name) <= width) {
        return name;
    }
    QString last = name.section(QLatin1Char(' '), -1);
    if (!last.isEmpty() && last.front().isLetter()) {
        last.front() = last.front().toUpper();
        return QFontMetricsF(font).elidedText(last, Qt::ElideMiddle, width);
    }
    return QFontMetricsF(font).elidedText(name, Qt::ElideMiddle, width);
}

QImage layerPicture(const tensor::Tensor* relevance, int side, bool isChannelsLast)
{
    if (relevance == nullptr || relevance->size() == 0) {
        return {};
    }
    if (isMap(relevance->shape(), isChannelsLast)) {
        const auto plane = channelSum(*relevance, 0, isChannelsLast);
        if (plane.ok()) {
            return heatmapOnly(*plane, symmetricScale(plane->values, kPercentile), ColorMap());
        }
    }
    Plane row{static_cast<int>(relevance->size()), 1, {}};
    constexpr std::int64_t kMost = 512;
    const std::int64_t count = std::min(relevance->size(), kMost);
    for (std::int64_t i = 0; i < count; ++i) {
        row.values.push_back(relevance->at(i));
    }
    return barPicture(row, side);
}

LayerStrip::LayerStrip(QWidget* parent) : DrawnPane(parent, {720, 140}, {240, 96})
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Layers from the score to the input"));
}

void LayerStrip::setLayers(std::vector<Layer> layers, std::vector<QImage> pictures)
{
    m_layers = std::move(layers);
    m_pictures = std::move(pictures);
    m_arrived = 0;
    m_regionShares.clear();
    m_regionPictures.clear();
    updateGeometry();
    update();
}

void LayerStrip::setRegion(QStringList shares, std::vector<QImage> pictures)
{
    m_regionShares = std::move(shares);
    m_regionPictures = std::move(pictures);
    update();
}

void LayerStrip::setArrived(int count)
{
    m_arrived = count;
    if (count > 0) {
        const Layer& now = m_layers[static_cast<std::size_t>(count - 1)];
        setAccessibleDescription(now.magnitude ? tr("%1, magnitude %2").arg(now.name, amountOf(now))
                                               : tr("%1, %2 arrived").arg(now.name, amountOf(now)));
    }
    update();
}

StripLayout LayerStrip::layoutNow() const
{
    const double margin = fonts::px(8);
    return layoutStrip(m_layers.size(), QRectF(rect()).adjusted(margin, 0, -margin, -2));
}

void LayerStrip::paintCell(QPainter& painter, std::size_t i, const StripLayout::Cell& cell, const Theme& theme) const
{
    const Layer& layer = m_layers[i];
    const bool hasArrived = static_cast<int>(i) < m_arrived;
    const bool isNow = static_cast<int>(i) + 1 == m_arrived;
    const QFont::Weight weight = isNow ? QFont::DemiBold : QFont::Normal;
    if (isNow) {
        painter.fillRect(cell.cell, theme[Role::Sel]);
    }
    const QFont name = fonts::label(weight);
    painter.setFont(name);
    painter.setPen(theme[hasArrived ? Role::Text : Role::Text3]);
    painter.drawText(cell.name, Qt::AlignLeft | Qt::AlignVCenter, fittingName(layer.name, name, cell.name.width()));
    const bool isOfRegion = static_cast<qsizetype>(i) < m_regionShares.size();
    const QString amount = isOfRegion ? m_regionShares[static_cast<qsizetype>(i)] : amountOf(layer);
    const QString share = hasArrived ? amount : tr("not yet");
    const bool fits = fonts::widthOf(fonts::numbers(weight), share) < cell.cell.width();
    painter.setFont(fits ? fonts::numbers(weight) : fonts::smallNumbers(weight));
    painter.drawText(cell.share, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, share);
    paintPicture(painter, cell.picture, hasArrived ? (isOfRegion ? m_regionPictures[i] : m_pictures[i]) : QImage(),
                 theme);
}

void LayerStrip::paintPicture(QPainter& painter, const QRectF& box, const QImage& picture, const Theme& theme)
{
    painter.setRenderHint(QPainter::Antialiasing, false);
    if (picture.isNull()) {
        painter.fillRect(box, theme[Role::Alt]);
        painter.setPen(QPen(theme[Role::Ghost], 1, Qt::DotLine));
    } else {
        painter.setRenderHint(QPainter::SmoothPixmapTransform, picture.width() > box.width());
        painter.drawImage(box, picture);
        painter.setPen(QPen(theme[Role::Line], 1));
    }
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
}

void LayerStrip::paintLine(QPainter& painter, const StripLayout& layout, const Theme& theme) const
{
    const QPointF first = layout.cells.front().knob;
    const QPointF last = layout.cells.back().knob;
    const auto now = static_cast<std::size_t>(std::max(0, m_arrived - 1));
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme[Role::ButtonLine], 3, Qt::SolidLine, Qt::RoundCap));
    painter.drawLine(first, last);
    if (m_arrived > 0) {
        painter.setPen(QPen(theme[Role::Accent], 3, Qt::SolidLine, Qt::RoundCap));
        painter.drawLine(first, layout.cells[now].knob);
    }
    for (std::size_t i = 0; i < layout.cells.size(); ++i) {
        const bool isNow = m_arrived > 0 && i == now;
        const bool hasArrived = static_cast<int>(i) < m_arrived;
        painter.setPen(QPen(hasArrived ? theme[Role::Accent] : theme[Role::Strong], 1.5));
        painter.setBrush(isNow ? theme[Role::Accent] : theme[Role::Base]);
        const double radius = isNow ? kKnob + 1.5 : kKnob - 0.5;
        painter.drawEllipse(layout.cells[i].knob, radius, radius);
    }
}

void LayerStrip::paint(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    const StripLayout layout = layoutStrip(m_layers.size(), area);
    if (layout.cells.empty()) {
        return;
    }
    for (std::size_t i = 0; i < layout.cells.size(); ++i) {
        paintCell(painter, i, layout.cells[i], theme);
    }
    paintLine(painter, layout, theme);
}

void LayerStrip::paintEvent(QPaintEvent* /*event*/)
{
    const double margin = fonts::px(8);
    QPainter painter(this);
    paint(painter, QRectF(rect()).adjusted(margin, 0, -margin, -2), theme(this));
    paintFocus(painter);
}

void LayerStrip::mousePressEvent(QMouseEvent* event)
{
    const int cell = layoutNow().cellAt(event->position().x());
    if (event->button() == Qt::LeftButton && cell >= 0) {
        emit chosen(cell);
    }
}

void LayerStrip::mouseMoveEvent(QMouseEvent* event)
{
    const int cell = layoutNow().cellAt(event->position().x());
    if (event->buttons().testFlag(Qt::LeftButton) && cell >= 0 && cell + 1 != m_arrived) {
        emit chosen(cell);
    }
}

void LayerStrip::keyPressEvent(QKeyEvent* event)
{
    const int step = event->key() == Qt::Key_Right ? 1 : (event->key() == Qt::Key_Left ? -1 : 0);
    const int wanted = m_arrived - 1 + step;
    if (step == 0 || wanted < 0 || wanted >= static_cast<int>(m_layers.size())) {
        return QWidget::keyPressEvent(event);
    }
    emit chosen(wanted);
}

QString LayerStrip::tipAt(const QPointF& at) const
{
    if (m_layers.empty()) {
        return {};
    }
    const Layer& layer = m_layers[static_cast<std::size_t>(layoutNow().cellAt(at.x()))];
    return (layer.magnitude ? tr("%1: the magnitudes of the gradient sum to %2")
                            : tr("%1: %2 of the score arrives here"))
        .arg(layer.name, amountOf(layer));
}

} // namespace retro::views

#include "moc_layerstrip.cpp"
