// SPDX-License-Identifier: Apache-2.0
#include "views/text/layersmatrix.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/text/textfocus.h"
#include "views/text/textpaint.h"
#include "views/text/tokencolumns.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kLeastRow = 20;
constexpr double kMostRow = 36;
constexpr double kHeadLine = 20;
constexpr double kCellPad = 4;
constexpr int kCellDigits = 2;
constexpr double kWheelNotch = 120; // of a wheel
constexpr double kZoom = 1.15;
constexpr double kLeastWidth = 3;
constexpr double kMostWidth = 220;

} // namespace

LayersMatrix::LayersMatrix(TextFocus& focus, QWidget* parent) : QAbstractScrollArea(parent), m_focus(focus)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Relevance of each word at each layer"));
    viewport()->setBackgroundRole(QPalette::Base);
    viewport()->setMouseTracking(true);
    connect(&focus, &TextFocus::textChanged, this, &LayersMatrix::takeFocus);
    connect(&focus, &TextFocus::changed, this, &LayersMatrix::takeFocus);
    connect(&focus, &TextFocus::scrolled, this, &LayersMatrix::fitBars);
    takeFocus(); // a text may be there already
}

void LayersMatrix::setByHead(bool isByHead)
{
    m_isByHead = isByHead;
    takeFocus();
}

void LayersMatrix::setOwnScales(bool areOwn)
{
    m_areOwn = areOwn;
    viewport()->update();
}

void LayersMatrix::setArrived(std::vector<bool> arrived, int current)
{
    if (arrived != m_arrived || current != m_current) {
        m_arrived = std::move(arrived);
        m_current = current;
        viewport()->update();
    }
}

void LayersMatrix::takeFocus()
{
    makeRows();
    fitBars();
}

void LayersMatrix::makeRows()
{
    m_rows.clear();
    m_largest = 0;
    if (!m_focus.hasText()) {
        return;
    }
    const int rows =
        m_isByHead ? m_focus.headCount() : m_focus.layerCount() + (m_focus.shown().layers.isValid() ? 1 : 0);
    for (int row = 0; row < rows; ++row) {
        Row made;
        for (int token = 0; token < m_focus.tokenCount(); ++token) {
            const double value = valueAt(row, token);
            made.sum += value;
            made.largest = std::max(made.largest, std::isfinite(value) ? std::abs(value) : 0.0);
        }
        m_largest = std::max(m_largest, made.largest);
        m_rows.push_back(made);
    }
}

double LayersMatrix::valueAt(int row, int token) const
{
    return m_isByHead ? m_focus.atHead(row, token) : m_focus.atLayer(row, token);
}

double LayersMatrix::headHeight() const { return fonts::px(kHeadLine); }

double LayersMatrix::rowHeight(double height) const
{
    const double fitted = std::floor((height - headHeight()) / std::max(1, rowCount()));
    return std::clamp<double>(fitted, fonts::px(kLeastRow), fonts::px(kMostRow));
}

double LayersMatrix::heightOfAll() const
{
    return headHeight() + rowCount() * fonts::px(kLeastRow) + fonts::px(kCellPad);
}

double LayersMatrix::mostHeight() const
{
    return headHeight() + rowCount() * fonts::px(kMostRow) + fonts::px(kCellPad);
}

QSize LayersMatrix::sizeHint() const { return {fonts::px(640), static_cast<int>(heightOfAll())}; }

QSize LayersMatrix::minimumSizeHint() const { return {fonts::px(320), fonts::px(90)}; }

void LayersMatrix::fitBars()
{
    const TokenColumns columns = TokenColumns::of(m_focus, viewport()->width());
    const QSignalBlocker quietAcross(horizontalScrollBar());
    horizontalScrollBar()->setRange(0, static_cast<int>(std::ceil(columns.mostLeft() * columns.width)));
    horizontalScrollBar()->setPageStep(static_cast<int>(columns.room));
    horizontalScrollBar()->setSingleStep(static_cast<int>(std::max(1.0, columns.width)));
    horizontalScrollBar()->setValue(static_cast<int>(std::lround(columns.left * columns.width)));
    const double all = headHeight() + rowCount() * rowHeight(viewport()->height());
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(all - viewport()->height()))));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(fonts::px(kLeastRow));
    viewport()->update();
}

void LayersMatrix::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    fitBars();
}

void LayersMatrix::scrollContentsBy(int dx, int /*dy*/)
{
    if (dx != 0) {
        const TokenColumns columns = TokenColumns::of(m_focus, viewport()->width());
        m_focus.setLeft(horizontalScrollBar()->value() / columns.width);
    }
    viewport()->update();
}

void LayersMatrix::wheelEvent(QWheelEvent* event)
{
    const TokenColumns columns = TokenColumns::of(m_focus, viewport()->width());
    const QPoint turned = event->angleDelta();
    if (event->modifiers().testFlag(Qt::ControlModifier)) {
        const double wanted = columns.width * std::pow(kZoom, turned.y() / kWheelNotch);
        const double under = columns.left + (event->position().x() - columns.names) / columns.width;
        const double width = std::clamp(wanted, kLeastWidth, kMostWidth);
        m_focus.setColumnWidth(width);
        m_focus.setLeft(std::max(0.0, under - (event->position().x() - columns.names) / width));
        event->accept();
        return;
    }
    const bool isAcross =
        event->modifiers().testFlag(Qt::ShiftModifier) || turned.x() != 0 || verticalScrollBar()->maximum() == 0;
    if (isAcross) {
        m_focus.setLeft(std::clamp(columns.left + columnsTurned(*event), 0.0, columns.mostLeft()));
        event->accept();
        return;
    }
    QAbstractScrollArea::wheelEvent(event);
}

int LayersMatrix::rowAt(double y) const
{
    const double place = y - headHeight() + verticalScrollBar()->value();
    const auto fromTop = static_cast<int>(std::floor(place / rowHeight(viewport()->height())));
    return y >= headHeight() && fromTop >= 0 && fromTop < rowCount() ? rowCount() - 1 - fromTop : -1;
}

void LayersMatrix::press(const QPointF& at)
{
    const int row = rowAt(at.y());
    const int token = TokenColumns::of(m_focus, viewport()->width()).tokenAt(at.x());
    if (row >= 0 || (at.y() < headHeight() && token >= 0)) {
        emit chosen(row, token);
    }
}

void LayersMatrix::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton) {
        press(event->position());
    }
}

void LayersMatrix::mouseMoveEvent(QMouseEvent* event)
{
    if (event->buttons().testFlag(Qt::LeftButton)) {
        press(event->position());
    }
}

void LayersMatrix::keyPressEvent(QKeyEvent* event)
{
    const int across = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    const int up = event->key() == Qt::Key_Up ? 1 : event->key() == Qt::Key_Down ? -1 : 0;
    if ((across == 0 && up == 0) || rowCount() == 0 || !m_focus.hasText()) {
        return QAbstractScrollArea::keyPressEvent(event);
    }
    const int present = m_isByHead ? m_focus.head() : m_current;
    const int row = std::clamp(present + up, 0, rowCount() - 1);
    const int token = std::clamp(m_focus.token() + across, 0, m_focus.tokenCount() - 1);
    emit chosen(up != 0 ? row : present, across != 0 ? token : m_focus.token());
    if (across != 0) {
        bringIntoSight(token);
    }
}

void LayersMatrix::bringIntoSight(int token)
{
    const TokenColumns columns = TokenColumns::of(m_focus, viewport()->width());
    const double right = columns.left + columns.room / columns.width;
    if (token < columns.left || token + 1 > right) {
        m_focus.setLeft(std::clamp(token < columns.left ? token : token + 1 - columns.room / columns.width, 0.0,
                                   columns.mostLeft()));
    }
}

bool LayersMatrix::viewportEvent(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || !m_focus.hasText()) {
        return QAbstractScrollArea::viewportEvent(event);
    }
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = rowAt(help->pos().y());
    const int token = TokenColumns::of(m_focus, viewport()->width()).tokenAt(help->pos().x());
    if (row < 0 || token < 0) {
        QToolTip::hideText();
        return true;
    }
    const double value = valueAt(row, token);
    const double started = m_focus.shown().started;
    QString text = tr("%1, word %2 “%3”: %4").arg(nameOf(row)).arg(token).arg(m_focus.word(token), valueText(value));
    if (started != 0) {
        text += tr(", %1 of what started").arg(percentText(value / started));
    }
    QToolTip::showText(help->globalPos(), text, this);
    return true;
}

QString LayersMatrix::nameOf(int row) const
{
    if (m_isByHead) {
        return tr("Head %1").arg(row);
    }
    return row == m_focus.layerCount() ? tr("Out of layer %1").arg(row - 1) : tr("Into layer %1").arg(row);
}

bool LayersMatrix::isCurrent(int row) const { return m_isByHead ? row == m_focus.head() : row == m_current; }

void LayersMatrix::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(viewport());
    const Theme& colors = theme(this);
    const double height = viewport()->height();
    paint(painter, TokenColumns::of(m_focus, viewport()->width()), height, -verticalScrollBar()->value(),
          rowHeight(height), colors);
    if (hasFocus()) {
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    }
}

void LayersMatrix::paintAll(QPainter& painter, const QSizeF& size, const Theme& theme)
{
    painter.fillRect(QRectF(QPointF(), size), theme[Role::Base]);
    paint(painter, TokenColumns::of(m_focus, size.width()), size.height(), 0, rowHeight(size.height()), theme);
}

void LayersMatrix::paint(QPainter& painter, const TokenColumns& columns, double height, double top, double rowHeight,
                         const Theme& theme) const
{
    if (!m_focus.hasText()) {
        return;
    }
    const double head = headHeight();
    for (int fromTop = 0; fromTop < rowCount(); ++fromTop) {
        const QRectF line(0, top + head + fromTop * rowHeight, columns.names + columns.room + columns.sums, rowHeight);
        if (line.bottom() > head && line.top() < height) {
            paintRow(painter, columns, line, rowCount() - 1 - fromTop, theme);
        }
    }
    paintHead(painter, columns, theme);
}

void LayersMatrix::paintHead(QPainter& painter, const TokenColumns& columns, const Theme& theme) const
{
    const double height = headHeight();
    painter.fillRect(QRectF(0, 0, columns.names + columns.room + columns.sums, height), theme[Role::Base]);
    painter.save();
    painter.setClipRect(columns.area(0, height), Qt::IntersectClip);
    const QFont plain = fonts::label();
    const bool hasRoom = columns.width >= fonts::px(18);
    m_words.begin(painter, plain);
    painter.setPen(theme[Role::Text2]);
    for (int token = columns.first(); hasRoom && token < columns.last(); ++token) {
        const QRectF box(columns.xOf(token) + 1, 0, columns.width - 2, height);
        if (token != m_focus.token()) {
            m_words.draw(painter, box, Qt::AlignCenter, m_focus.wordWithin(token, columns.width - 2));
            continue;
        }
        painter.setFont(fonts::label(QFont::DemiBold));
        painter.setPen(theme[Role::Text]);
        painter.drawText(box, Qt::AlignCenter, m_focus.wordWithin(token, columns.width - 2));
        painter.setFont(plain);
        painter.setPen(theme[Role::Text2]);
    }
    painter.restore();
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text3]);
    const double right = columns.names + columns.room;
    painter.drawText(QRectF(right, 0, columns.sums * 0.55, height), Qt::AlignRight | Qt::AlignVCenter,
                     QStringLiteral("Σ"));
    painter.drawText(QRectF(right, 0, columns.sums - fonts::px(kCellPad), height), Qt::AlignRight | Qt::AlignVCenter,
                     tr("share"));
}

void LayersMatrix::paintCells(QPainter& painter, const TokenColumns& columns, const QRectF& line, int row, bool isEmpty,
                              const Theme& theme) const
{
    const double largest = m_areOwn ? m_rows[static_cast<std::size_t>(row)].largest : m_largest;
    m_figures.begin(painter, fonts::smallNumbers());
    const double gap = columns.width >= 8 ? 1 : 0;
    const bool hasFigures = columns.width >= fonts::px(44);
    for (int token = columns.first(); token < columns.last(); ++token) {
        const QRectF cell(columns.xOf(token), line.top(), columns.width, line.height());
        const QRectF inside = cell.adjusted(gap, gap, -gap, -gap);
        if (isEmpty) {
            painter.fillRect(inside, theme[Role::Alt]);
            continue;
        }
        const double value = valueAt(row, token);
        const QRgb ground = m_map.at(largest > 0 ? std::clamp(value / largest, -1.0, 1.0) : 0);
        painter.fillRect(inside, QColor::fromRgb(ground));
        if (hasFigures) {
            painter.setPen(textOnCell(ground));
            m_figures.draw(painter, inside, Qt::AlignCenter, valueText(value, kCellDigits));
        }
    }
}

void LayersMatrix::paintRow(QPainter& painter, const TokenColumns& columns, const QRectF& line, int row,
                            const Theme& theme) const
{
    const Row& own = m_rows[static_cast<std::size_t>(row)];
    const bool isEmpty =
        !m_isByHead && static_cast<std::size_t>(row) < m_arrived.size() && !m_arrived[static_cast<std::size_t>(row)];
    if (isCurrent(row)) {
        painter.fillRect(line, theme[Role::Sel]);
    }
    const QRectF name(fonts::px(10), line.top(), columns.names - fonts::px(14), line.height());
    painter.setPen(theme[isEmpty ? Role::Text3 : Role::Text]);
    if (isCurrent(row)) {
        painter.setFont(fonts::label(QFont::DemiBold));
        painter.drawText(name, Qt::AlignVCenter, nameOf(row));
    } else {
        m_names.begin(painter, fonts::label());
        m_names.draw(painter, name, Qt::AlignLeft, nameOf(row));
    }
    painter.save();
    painter.setClipRect(columns.area(line.top(), line.bottom()), Qt::IntersectClip);
    paintCells(painter, columns, line, row, isEmpty, theme);
    if (m_focus.token() >= columns.first() && m_focus.token() < columns.last()) {
        painter.setPen(QPen(theme[Role::Accent], 1));
        const double x = columns.xOf(m_focus.token());
        painter.drawLine(QPointF(x + 0.5, line.top()), QPointF(x + 0.5, line.bottom()));
        painter.drawLine(QPointF(x + columns.width - 0.5, line.top()), QPointF(x + columns.width - 0.5, line.bottom()));
    }
    painter.restore();
    if (isCurrent(row) && !m_isByHead) {
        painter.fillRect(QRectF(columns.names, line.bottom() - 2, columns.room, 2), theme[Role::Accent]);
    }
    const double right = columns.names + columns.room;
    painter.setPen(theme[Role::Text]);
    m_figures.begin(painter, fonts::smallNumbers());
    m_figures.draw(painter, QRectF(right, line.top(), columns.sums * 0.55, line.height()), Qt::AlignRight,
                   isEmpty ? QStringLiteral("…") : valueText(own.sum, 4));
    const double started = m_focus.shown().started;
    if (!isEmpty && started != 0) {
        painter.setPen(theme[Role::Text2]);
        m_figures.draw(painter, QRectF(right, line.top(), columns.sums - fonts::px(kCellPad), line.height()),
                       Qt::AlignRight, percentText(own.sum / started, 0));
    }
}

} // namespace retro::views

#include "moc_layersmatrix.cpp"
