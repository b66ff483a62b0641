// SPDX-License-Identifier: Apache-2.0
#include "views/history/historyrows.h"

#include "views/common/numbertext.h"
#include "views/common/paint/colormap.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/heatmapimage.h"

#include <QKeyEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kRow = 54;
constexpr double kWide = 520; ///< from here on every column has its place
constexpr double kLeastShare = 0.005;

/// A share of the relevance that is asked about, as the colour of a strong or a faint part; its sign is that of the
/// part against the whole.
QColor shareColor(double share)
{
    static const ColorMap map;
    const double strength = std::clamp(0.35 + 0.65 * std::sqrt(std::abs(share)), 0.0, 1.0);
    return QColor::fromRgb(map.at(share < 0 ? -strength : strength));
}

} // namespace

HistoryRowLayout layoutHistoryRow(const QRectF& row)
{
    HistoryRowLayout layout;
    const double margin = px(10);
    const double side = row.height() - px(8);
    const bool isWide = row.width() >= px(kWide);
    const double textHeight = px(18);
    if (isWide) {
        const double names = px(128);
        const double figures = px(86);
        const double counts = px(64);
        layout.name = QRectF(row.left() + margin, row.top() + px(8), names, textHeight);
        layout.shape = layout.name.translated(0, textHeight);
        layout.picture = QRectF(layout.name.right() + px(8), row.top() + px(4), side, side);
        layout.sum = QRectF(row.right() - margin - figures, layout.name.top(), figures, textHeight);
        layout.elements = QRectF(layout.sum.left() - counts, layout.name.top(), counts, textHeight);
        const double left = layout.picture.right() + px(12);
        layout.bar = QRectF(left, row.top() + px(10), std::max(10.0, layout.elements.left() - px(8) - left), px(16));
    } else {
        layout.picture = QRectF(row.left() + margin, row.top() + px(4), side, side);
        const double left = layout.picture.right() + px(8);
        const double figures = px(76);
        layout.sum = QRectF(row.right() - margin - figures, row.top() + px(3), figures, textHeight);
        layout.name = QRectF(left, row.top() + px(3), std::max(10.0, layout.sum.left() - left - px(4)), textHeight);
        layout.bar = QRectF(left, layout.name.bottom(), std::max(10.0, row.right() - margin - left), px(14));
    }
    layout.shares = QRectF(layout.bar.left(), layout.bar.bottom(), layout.bar.width(), px(16));
    return layout;
}

HistoryRows::HistoryRows(QWidget* parent) : DrawnPane(parent)
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Values that the relevance came through"));
    setAccessibleDescription(tr("From the class down to the element; up and down choose a row."));
}

int HistoryRows::rowHeight() { return px(kRow); }

void HistoryRows::setHistory(HistoryPointer history, const QStringList& names, const QStringList& shapes)
{
    m_history = std::move(history);
    m_names = names;
    m_shapes = shapes;
    m_chosen = -1;
    const int rows = m_history ? static_cast<int>(m_history->layers.size()) : 0;
    setMinimumHeight(rows * rowHeight());
    updateGeometry();
    update();
}

void HistoryRows::mark(int row)
{
    if (row != m_chosen) {
        m_chosen = row;
        update();
    }
}

QSize HistoryRows::sizeHint() const
{
    return {px(280), m_history ? static_cast<int>(m_history->layers.size()) * rowHeight() : rowHeight()};
}

QString HistoryRows::segmentName(const HistoryLayer& layer, std::int64_t index) const
{
    const bool isInput = m_history->run->graph->isInput(layer.node);
    if (!layer.where.isEmpty()) {
        return tr("c %1").arg(index);
    }
    return isInput ? tr("place %1").arg(index) : QString::number(index);
}

void HistoryRows::paintBar(QPainter& painter, const HistoryRowLayout& layout, const HistoryLayer& layer,
                           const Theme& colors) const
{
    const double whole = m_history->relevance;
    painter.setPen(colors[Role::Line]);
    painter.setBrush(colors[Role::Alt]);
    painter.drawRect(layout.bar.adjusted(0.5, 0.5, -0.5, -0.5));
    if (whole == 0) {
        return;
    }
    double x = layout.bar.left();
    double behind = -1;
    painter.setFont(fonts::smallNumbers());
    for (const HistoryShare& channel : layer.channels) {
        const double share = channel.part / whole;
        if (share < kLeastShare) {
            continue; // what works against it has no length in the bar; the list of parts names it
        }
        const double width = std::min(share * layout.bar.width(), layout.bar.right() - x);
        if (width < 1.5) {
            break;
        }
        const QRectF box(x, layout.bar.top(), width - 1, layout.bar.height());
        const QColor fill = shareColor(share);
        painter.fillRect(box, fill);
        const QString name = segmentName(layer, channel.index);
        if (fonts::widthOf(fonts::smallNumbers(), name) + px(4) <= box.width()) {
            painter.setPen(qGray(fill.rgb()) > 150 ? Theme::of(ThemeKind::Light)[Role::Text]
                                                   : Theme::of(ThemeKind::Dark)[Role::Text]);
            painter.drawText(box, Qt::AlignCenter, name);
        }
        const QString percent = percentText(share);
        if (layout.shares.left() + (x - layout.bar.left()) >= behind &&
            x + fonts::widthOf(fonts::smallNumbers(), percent) <= layout.shares.right()) {
            painter.setPen(colors[Role::Text2]);
            painter.drawText(QRectF(x, layout.shares.top(), layout.shares.right() - x, layout.shares.height()),
                             Qt::AlignLeft | Qt::AlignVCenter, percent);
            behind = x + fonts::widthOf(fonts::smallNumbers(), percent) + px(8);
        }
        x += width;
    }
    if (layer.channels.empty()) {
        const double share = std::clamp(layer.sum / whole, 0.0, 1.0);
        painter.fillRect(QRectF(layout.bar.topLeft(), QSizeF(share * layout.bar.width(), layout.bar.height())),
                         shareColor(share));
    }
}

void HistoryRows::paintRow(QPainter& painter, const QRectF& area, int row, const Theme& colors) const
{
    const HistoryLayer& layer = m_history->layers[static_cast<std::size_t>(row)];
    const HistoryRowLayout layout = layoutHistoryRow(area);
    if (row == m_chosen) {
        painter.fillRect(area, colors[Role::Sel]);
        painter.fillRect(QRectF(area.left(), area.top(), px(3), area.height()), colors[Role::Accent]);
    }
    if (layer.where.isEmpty()) {
        painter.setPen(colors[Role::Line]);
        painter.setBrush(shareColor(m_history->relevance == 0 ? 0 : layer.sum / m_history->relevance));
        const double inset = layout.picture.width() / 3;
        painter.drawRect(layout.picture.adjusted(inset, 0.5, -inset, -0.5));
    } else {
        painter.drawImage(layout.picture,
                          heatmapOnly(layer.where, symmetricScale(layer.where.values, 100), ColorMap()));
        painter.setPen(colors[Role::Strong]);
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(layout.picture.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    const QFont nameFont = fonts::label(row == m_chosen ? QFont::DemiBold : QFont::Normal);
    painter.setFont(nameFont);
    painter.setPen(colors[layer.isWhole ? Role::Text : Role::Text2]);
    painter.drawText(layout.name, Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetricsF(nameFont).elidedText(m_names.value(row), Qt::ElideMiddle, layout.name.width()));
    painter.setFont(fonts::smallNumbers());
    painter.setPen(colors[Role::Text3]);
    if (!layout.shape.isNull()) {
        painter.drawText(layout.shape, Qt::AlignLeft | Qt::AlignVCenter, m_shapes.value(row));
        painter.setPen(colors[Role::Text]);
        painter.drawText(layout.elements, Qt::AlignRight | Qt::AlignVCenter, countText(layer.elements));
    }
    painter.setFont(fonts::numbers());
    painter.setPen(colors[layer.isWhole ? Role::Text : Role::Text2]);
    painter.drawText(layout.sum, Qt::AlignRight | Qt::AlignVCenter, valueText(layer.sum));
    paintBar(painter, layout, layer, colors);
}

void HistoryRows::paint(QPainter& painter, int width, const Theme& colors, int first, int last) const
{
    for (int row = std::max(0, first); m_history && row <= last && row < m_names.size(); ++row) {
        paintRow(painter, QRectF(0, row * rowHeight(), width, rowHeight()), row, colors);
    }
}

void HistoryRows::paintEvent(QPaintEvent* event)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(event->rect(), colors[Role::Base]);
    paint(painter, width(), colors, event->rect().top() / rowHeight(), event->rect().bottom() / rowHeight());
}

void HistoryRows::choose(int row)
{
    if (m_history && row >= 0 && row < static_cast<int>(m_history->layers.size())) {
        mark(row);
        emit rowChosen(row);
    }
}

void HistoryRows::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        choose(static_cast<int>(event->position().y()) / rowHeight());
    }
}

void HistoryRows::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down) {
        choose(std::max(0, m_chosen + (event->key() == Qt::Key_Down ? 1 : -1)));
        return;
    }
    QWidget::keyPressEvent(event);
}

QString HistoryRows::tipAt(const QPointF& at) const
{
    const int row = static_cast<int>(at.y()) / rowHeight();
    if (!m_history || row < 0 || row >= static_cast<int>(m_history->layers.size())) {
        return {};
    }
    const HistoryLayer& layer = m_history->layers[static_cast<std::size_t>(row)];
    const QString text =
        tr("%1: %2 by %3 elements").arg(m_names.value(row), valueText(layer.sum), countText(layer.elements));
    return layer.isWhole ? text : text + QLatin1Char('\n') + tr("The rest goes round this value.");
}

} // namespace retro::views

#include "moc_historyrows.cpp"
