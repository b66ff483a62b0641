// SPDX-License-Identifier: Apache-2.0
#include "views/output/outputcanvas.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/arrowstep.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <vector>

namespace retro::views
{

using fonts::px;

namespace
{

constexpr double kShareRow = 27; // a name with its figures, and a bar below them
constexpr double kShareBar = 7;
constexpr double kShareTitle = 20;
constexpr double kMaskPart = 0.75; // of the height that the mask has in a high pane

/// Room below the mask, in whole rows; none where it would take the mask's.
double sharesHeight(const DenseFigure& figure, const QSizeF& room)
{
    if (figure.shares.empty()) {
        return 0;
    }
    const QSizeF size = figure.size();
    const double mask = kMaskPart * room.width() * size.height() / size.width();
    const double rows = std::floor((room.height() - mask - px(kShareTitle)) / px(kShareRow));
    return rows < 1 ? 0 : px(kShareTitle) + px(kShareRow) * std::min(rows, static_cast<double>(figure.shares.size()));
}

void paintShares(QPainter& painter, const DenseFigure& figure, QRectF room, const Theme& theme)
{
    if (figure.shares.empty() || room.height() < px(kShareTitle + kShareRow)) {
        return;
    }
    painter.setFont(fonts::small());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(QRectF(room.left(), room.top(), room.width(), px(kShareTitle)), Qt::AlignLeft | Qt::AlignVCenter,
                     OutputCanvas::tr("Where the positive relevance lies"));
    room.setTop(room.top() + px(kShareTitle));
    std::vector<SegmentShare> shares = figure.shares; // what is asked is seen in any case
    std::ranges::stable_partition(shares, &SegmentShare::isAsked);
    for (const SegmentShare& one : shares) {
        if (room.height() < px(kShareRow)) {
            return;
        }
        const QRectF line(room.left(), room.top(), room.width(), px(16));
        const QFont::Weight weight = one.isAsked ? QFont::DemiBold : QFont::Normal;
        painter.setPen(theme[Role::Text]);
        painter.setFont(fonts::numbers(weight));
        const QString share = one.share ? percentText(*one.share) : QStringLiteral("–");
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, share);
        painter.setFont(fonts::label(weight));
        const double width = std::max(0.0, line.width() - fonts::widthOf(fonts::numbers(weight), share) - px(8));
        painter.drawText(QRectF(line.left(), line.top(), width, line.height()), Qt::AlignLeft | Qt::AlignVCenter,
                         QFontMetricsF(fonts::label(weight))
                             .elidedText(OutputCanvas::tr("%1, %2 of the places").arg(one.name, percentText(one.area)),
                                         Qt::ElideMiddle, width));
        const QRectF bar(line.left(), line.bottom() + 1, line.width(), px(kShareBar));
        painter.setPen(theme[Role::Line]);
        painter.setBrush(theme[Role::Alt]);
        painter.drawRect(bar);
        painter.fillRect(
            QRectF(bar.left(), bar.top(), bar.width() * std::clamp(one.share.value_or(0), 0.0, 1.0), bar.height()),
            one.isAsked ? theme[Role::Accent] : theme[Role::Strong]);
        room.setTop(room.top() + px(kShareRow));
    }
}

} // namespace

OutputCanvas::OutputCanvas(QWidget* parent) : QWidget(parent)
{
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setMinimumSize(px(110), px(84));
    setAccessibleName(tr("Output of the model"));
    setAccessibleDescription(tr("Arrow keys move over the places of the output, Enter asks about one."));
}

void OutputCanvas::setFigure(DenseFigure figure)
{
    m_figure = std::move(figure);
    if (!QRect(QPoint(), m_figure.size()).contains(m_probed)) {
        m_probed = {-1, -1};
    }
    update();
}

QRectF OutputCanvas::room() const { return QRectF(rect()).adjusted(px(8), px(2), -px(8), -px(4)); }

QRectF OutputCanvas::boxIn(const QRectF& room) const
{
    return placeDense(m_figure, room.adjusted(0, 0, 0, -sharesHeight(m_figure, room.size())));
}

void OutputCanvas::paint(QPainter& painter, const QRectF& room, const Theme& theme) const
{
    const QRectF box = boxIn(room);
    paintDense(painter, m_figure, box, theme);
    paintShares(painter, m_figure, QRectF(QPointF(room.left(), box.bottom() + px(4)), room.bottomRight()), theme);
}

void OutputCanvas::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    paint(painter, room(), colors);
    if (m_probed.x() >= 0 && !m_figure.isEmpty()) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors[Role::Accent], hasFocus() ? 2 : 1));
        painter.drawRect(cellBox(m_figure, boxIn(room()), m_probed));
    }
}

QPoint OutputCanvas::cellAt(const QPointF& point) const
{
    const QRectF box = boxIn(room());
    if (m_figure.isEmpty() || !box.contains(point)) {
        return {-1, -1};
    }
    const QSize size = m_figure.size();
    const QSizeF cell = cellSize(m_figure, box);
    return {std::min(size.width() - 1, static_cast<int>((point.x() - box.left()) / cell.width())),
            std::min(size.height() - 1, static_cast<int>((point.y() - box.top()) / cell.height()))};
}

void OutputCanvas::probe(const QPoint& cell)
{
    if (cell != m_probed) {
        m_probed = cell;
        emit probed(cell);
        update();
    }
}

void OutputCanvas::mousePressEvent(QMouseEvent* event)
{
    const QPoint cell = cellAt(event->position());
    if (event->button() == Qt::LeftButton && cell.x() >= 0) {
        emit chosen(cell);
    }
}

void OutputCanvas::mouseMoveEvent(QMouseEvent* event) { probe(cellAt(event->position())); }

void OutputCanvas::leaveEvent(QEvent* /*event*/) { probe({-1, -1}); }

void OutputCanvas::keyPressEvent(QKeyEvent* event)
{
    const QSize size = m_figure.size();
    if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && m_probed.x() >= 0) {
        emit chosen(m_probed);
        return;
    }
    const QPoint step = arrowStep(event->key());
    if (step.isNull() || m_figure.isEmpty()) {
        return QWidget::keyPressEvent(event);
    }
    const QPoint from = m_probed.x() < 0 ? QPoint(size.width(), size.height()) / 2 : m_probed + step;
    probe({std::clamp(from.x(), 0, size.width() - 1), std::clamp(from.y(), 0, size.height() - 1)});
}

} // namespace retro::views

#include "moc_outputcanvas.cpp"
