// SPDX-License-Identifier: Apache-2.0
#include "views/region/channelstrip.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kCellWidth = 190;
constexpr double kLeastHeight = 92;

void paintPlane(QPainter& painter, const QRectF& box, const Plane& plane, const Theme& colors)
{
    if (plane.isEmpty()) {
        painter.fillRect(box, colors[Role::Alt]);
    } else {
        const double scale = std::min(box.width() / plane.width, box.height() / plane.height);
        const QRectF fitted(box.left(), box.top(), plane.width * scale, plane.height * scale);
        painter.fillRect(box, colors[Role::Alt]);
        painter.drawImage(fitted, heatmapOnly(plane, symmetricScale(plane.values, 99.5), ColorMap()));
    }
    painter.setPen(colors[Role::Line]);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(box.adjusted(-0.5, -0.5, 0.5, 0.5));
}

} // namespace

ChannelStrip::ChannelStrip(QWidget* parent) : QWidget(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Channels by what they put into the region"));
    setAccessibleDescription(tr("Left and right choose one; Ctrl adds it to what is chosen."));
}

void ChannelStrip::setChannels(std::vector<RegionChannel> channels, double total, const QString& word)
{
    m_channels = std::move(channels);
    m_total = total;
    m_word = word;
    m_maps.clear();
    m_chosen.clear();
    update();
    emit chosenChanged();
}

void ChannelStrip::setMap(std::int64_t index, Plane map)
{
    m_maps[index] = std::move(map);
    update();
}

void ChannelStrip::clearMaps()
{
    m_maps.clear();
    update();
}

void ChannelStrip::choose(std::int64_t index, bool isAdded)
{
    if (!isAdded) {
        const bool isAlone = m_chosen.size() == 1 && m_chosen.contains(index);
        m_chosen.clear();
        if (!isAlone) {
            m_chosen.insert(index);
        }
    } else if (!m_chosen.erase(index)) {
        m_chosen.insert(index);
    }
    update();
    emit chosenChanged();
}

QSize ChannelStrip::sizeHint() const { return {px(kCellWidth) * 5, px(kLeastHeight) + px(20)}; }

QSize ChannelStrip::minimumSizeHint() const { return {px(kCellWidth), px(kLeastHeight)}; }

std::vector<QRectF> ChannelStrip::cells(const QRectF& area) const
{
    std::vector<QRectF> boxes;
    const auto count = static_cast<int>(m_channels.size());
    const int perRow = std::max(1, static_cast<int>(area.width() / px(kCellWidth)));
    const int rows = std::max(1, static_cast<int>(area.height() / px(kLeastHeight)));
    const int shown = std::min(count, perRow * rows);
    const int used = std::max(1, (shown + perRow - 1) / perRow);
    const double height = std::min<double>(area.height() / used, px(kLeastHeight) * 1.6);
    for (int i = 0; i < shown; ++i) {
        boxes.emplace_back(area.left() + (i % perRow) * (area.width() / perRow), area.top() + (i / perRow) * height,
                           area.width() / perRow - px(6), height - px(4));
    }
    return boxes;
}

void ChannelStrip::paintCell(QPainter& painter, const QRectF& cell, const RegionChannel& channel,
                             const Theme& colors) const
{
    if (m_chosen.contains(channel.index)) {
        painter.fillRect(cell, colors[Role::Sel]);
    }
    const double line = px(16);
    painter.setFont(fonts::label(QFont::DemiBold));
    painter.setPen(colors[Role::Text]);
    painter.drawText(QRectF(cell.left() + px(4), cell.top(), cell.width() - px(4), line + px(2)),
                     Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("%1 %2").arg(m_word).arg(channel.index));
    const double top = cell.top() + line + px(4);
    const double side = std::max(10.0, std::min(cell.bottom() - top - px(2), cell.width() - px(126)));
    double x = cell.left() + px(4);
    const auto map = m_maps.find(channel.index);
    if (map != m_maps.end() || !channel.map.isEmpty()) {
        const double own =
            map != m_maps.end() && !channel.map.isEmpty() ? std::min(side, (cell.width() - px(80)) / 2) : side;
        if (!channel.map.isEmpty()) {
            paintPlane(painter, QRectF(x, top, own, own), channel.map, colors);
            x += own + px(4);
        }
        if (map != m_maps.end()) {
            paintPlane(painter, QRectF(x, top, own, own), map->second, colors);
            x += own + px(4);
        }
    }
    painter.setFont(fonts::smallNumbers());
    const double room = cell.right() - x - px(4);
    const auto say = [&](int row, const QString& text, Role role) {
        painter.setPen(colors[role]);
        painter.drawText(QRectF(x + px(2), top + row * (line - px(1)), room, line), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(painter.font()).elidedText(text, Qt::ElideRight, room));
    };
    say(0, valueText(channel.part, 3), Role::Text);
    say(1, m_total == 0 ? QString() : tr("%1 of region").arg(percentText(channel.part / m_total)), Role::Text2);
    say(2, channel.relevance == 0 ? QString() : tr("%1 of itself").arg(percentText(channel.part / channel.relevance)),
        Role::Text2);
}

void ChannelStrip::paint(QPainter& painter, const QRectF& area, const Theme& colors) const
{
    const std::vector<QRectF> boxes = cells(area);
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        paintCell(painter, boxes[i], m_channels[i], colors);
    }
}

void ChannelStrip::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    paint(painter, QRectF(rect()).adjusted(px(4), px(2), -px(4), -px(2)), colors);
    if (hasFocus()) {
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
    }
}

void ChannelStrip::mousePressEvent(QMouseEvent* event)
{
    const std::vector<QRectF> boxes = cells(QRectF(rect()).adjusted(px(4), px(2), -px(4), -px(2)));
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        if (boxes[i].contains(event->position())) {
            return choose(m_channels[i].index, event->modifiers().testFlag(Qt::ControlModifier));
        }
    }
}

void ChannelStrip::keyPressEvent(QKeyEvent* event)
{
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step == 0 || m_channels.empty()) {
        return QWidget::keyPressEvent(event);
    }
    const auto at = std::ranges::find_if(m_channels, [&](const RegionChannel& channel) {
        return !m_chosen.empty() && channel.index == *m_chosen.rbegin();
    });
    const auto from = static_cast<int>(at - m_channels.begin());
    const int to = at == m_channels.end() ? 0 : std::clamp(from + step, 0, static_cast<int>(m_channels.size()) - 1);
    choose(m_channels[static_cast<std::size_t>(to)].index, event->modifiers().testFlag(Qt::ControlModifier));
}

} // namespace retro::views

#include "moc_channelstrip.cpp"
