// SPDX-License-Identifier: Apache-2.0
#include "views/text/wordstrip.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/text/textfocus.h"
#include "views/text/textpaint.h"

#include <QContextMenuEvent>
#include <QFontMetricsF>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kLine = 26;
constexpr double kSide = 10;
constexpr double kPadding = 4;
constexpr double kGap = 3;

QFont wordFont() { return fonts::content(); }

} // namespace

WordStrip::WordStrip(TextFocus& focus, QWidget* parent) : QAbstractScrollArea(parent), m_focus(focus)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAccessibleName(tr("Words with their relevance"));
    viewport()->setBackgroundRole(QPalette::Base);
    connect(&focus, &TextFocus::textChanged, this, &WordStrip::takeFocus);
    connect(&focus, &TextFocus::changed, this, &WordStrip::takeFocus);
    takeFocus(); // a text may be there already
}

std::vector<WordStrip::Cell> WordStrip::cellsFor(double width) const
{
    std::vector<Cell> cells;
    if (!m_focus.hasText()) {
        return cells;
    }
    const QFontMetricsF metrics(wordFont());
    const double side = fonts::px(kSide);
    const double gap = fonts::px(kGap);
    const double padding = 2 * fonts::px(kPadding);
    double x = side;
    int line = 0;
    for (std::size_t i = 0; i < m_focus.text()->tokens.size(); ++i) {
        const double wanted = std::ceil(metrics.horizontalAdvance(m_focus.word(static_cast<int>(i)))) + padding;
        const double cell = std::min(wanted, std::max(1.0, width - 2 * side));
        if (x > side && x + cell > width - side) {
            x = side;
            ++line;
        }
        cells.push_back({x, cell, line, cell < wanted});
        x += cell + gap;
        if (m_focus.text()->tokens[i].text.find('\n') != std::string::npos) {
            x = side;
            ++line;
        }
    }
    return cells;
}

double WordStrip::heightFor(double width) const
{
    const std::vector<Cell> cells = cellsFor(width);
    return (cells.empty() ? 1 : cells.back().line + 1) * fonts::px(kLine) + fonts::px(kPadding);
}

QSize WordStrip::sizeHint() const { return {fonts::px(500), fonts::px(3 * kLine)}; }

QSize WordStrip::minimumSizeHint() const { return {fonts::px(160), fonts::px(kLine + kPadding)}; }

void WordStrip::takeFocus()
{
    m_largest = 0;
    if (m_focus.hasText()) {
        for (const double value : m_focus.shown().relevance) {
            m_largest = std::max(m_largest, std::isfinite(value) ? std::abs(value) : 0.0);
        }
    }
    fit();
}

void WordStrip::fit()
{
    m_cells = cellsFor(viewport()->width());
    const double all = heightFor(viewport()->width());
    verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(all - viewport()->height()))));
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(fonts::px(kLine));
    viewport()->update();
}

void WordStrip::resizeEvent(QResizeEvent* event)
{
    QAbstractScrollArea::resizeEvent(event);
    fit();
}

int WordStrip::tokenAt(const QPointF& place) const
{
    const double line = fonts::px(kLine);
    const auto row = static_cast<int>(std::floor((place.y() + verticalScrollBar()->value()) / line));
    const auto found = std::find_if(m_cells.begin(), m_cells.end(), [&](const Cell& cell) {
        return cell.line == row && place.x() >= cell.x && place.x() < cell.x + cell.width;
    });
    return found == m_cells.end() ? -1 : static_cast<int>(found - m_cells.begin());
}

QRect WordStrip::boxOf(int token) const
{
    if (token < 0 || token >= static_cast<int>(m_cells.size())) {
        return {};
    }
    const Cell& cell = m_cells[static_cast<std::size_t>(token)];
    const QRectF box(cell.x, cell.line * fonts::px(kLine) - verticalScrollBar()->value(), cell.width, fonts::px(kLine));
    return viewport()->rect().contains(box.center().toPoint()) ? box.toRect() : QRect();
}

void WordStrip::mousePressEvent(QMouseEvent* event)
{
    const int token = tokenAt(event->position());
    if (event->button() == Qt::LeftButton && token >= 0) {
        emit chosen(token);
    }
}

void WordStrip::contextMenuEvent(QContextMenuEvent* event)
{
    const int token = tokenAt(viewport()->mapFromGlobal(event->globalPos()));
    if (token >= 0) {
        emit menuWanted(token, event->globalPos());
    }
}

void WordStrip::keyPressEvent(QKeyEvent* event)
{
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step == 0 || !m_focus.hasText()) {
        return QAbstractScrollArea::keyPressEvent(event);
    }
    const int token = std::clamp(m_focus.token() + step, 0, m_focus.tokenCount() - 1);
    emit chosen(token);
    if (boxOf(token).isEmpty()) {
        verticalScrollBar()->setValue(m_cells[static_cast<std::size_t>(token)].line * fonts::px(kLine));
    }
}

bool WordStrip::viewportEvent(QEvent* event)
{
    if (event->type() != QEvent::ToolTip || !m_focus.hasText()) {
        return QAbstractScrollArea::viewportEvent(event);
    }
    const auto* help = static_cast<QHelpEvent*>(event);
    const int token = tokenAt(help->pos());
    if (token < 0) {
        QToolTip::hideText();
        return true;
    }
    const std::vector<double>& relevance = m_focus.shown().relevance;
    double all = 0;
    for (const double value : relevance) {
        all += std::abs(value);
    }
    const auto at = static_cast<std::size_t>(token);
    const QString number = QString::number(m_focus.text()->tokens[at].id);
    QToolTip::showText(
        help->globalPos(),
        at < relevance.size()
            ? tr("Word %1, token %2: relevance %3, %4 of all")
                  .arg(token)
                  .arg(number, valueText(relevance[at]), percentText(all > 0 ? std::abs(relevance[at]) / all : 0))
            : tr("Word %1, token %2: behind what this step explains").arg(token).arg(number),
        this);
    return true;
}

void WordStrip::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(viewport());
    const Theme& colors = theme(this);
    paint(painter, m_cells, QRectF(viewport()->rect()), -verticalScrollBar()->value(), colors);
    if (hasFocus()) {
        painter.setPen(QPen(colors[Role::Accent], 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    }
}

void WordStrip::paintAll(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.save();
    painter.translate(area.topLeft());
    paint(painter, cellsFor(area.width()), QRectF(QPointF(), area.size()), 0, theme);
    painter.restore();
}

void WordStrip::paint(QPainter& painter, const std::vector<Cell>& cells, const QRectF& area, double top,
                      const Theme& theme) const
{
    const double line = fonts::px(kLine);
    const auto explained = m_focus.hasText() ? m_focus.text()->tokenOf(static_cast<std::size_t>(m_focus.step()))
                                             : std::optional<std::size_t>();
    m_words.begin(painter, wordFont());
    painter.setRenderHint(QPainter::Antialiasing);
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const Cell& cell = cells[i];
        const QRectF box(cell.x, top + cell.line * line + fonts::px(2), cell.width, line - fonts::px(4));
        if (box.bottom() < area.top()) {
            continue;
        }
        if (box.top() > area.bottom()) {
            break;
        }
        paintCell(painter, box, i, cell.isCut, explained == i, theme);
    }
}

void WordStrip::paintCell(QPainter& painter, const QRectF& box, std::size_t token, bool isCut, bool isExplained,
                          const Theme& theme) const
{
    const std::vector<double> none;
    const std::vector<double>& relevance = m_focus.hasText() ? m_focus.shown().relevance : none;
    const auto asked = m_focus.hasText() ? m_focus.shown().position : -1;
    const bool isThere = token < relevance.size();
    const double value = isThere && std::isfinite(relevance[token]) ? relevance[token] : 0;
    const QRgb ground = m_map.at(m_largest > 0 ? value / m_largest : 0);
    painter.setPen(static_cast<int>(token) == m_focus.token() ? QPen(theme[Role::Accent], 2)
                   : isExplained                              ? QPen(theme[Role::Ink], 1.5)
                                                              : QPen(theme[Role::Line], 1));
    painter.setBrush(isThere ? QColor::fromRgb(ground) : theme[Role::Base]);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    const QColor onCell = textOnCell(ground);
    painter.setPen(isThere ? onCell : theme[isExplained ? Role::Text : Role::Text3]);
    const QString word = m_focus.word(static_cast<int>(token));
    m_words.draw(painter, box, Qt::AlignCenter,
                 isCut ? QFontMetricsF(wordFont()).elidedText(word, Qt::ElideRight, box.width()) : word);
    if (static_cast<std::int64_t>(token) == asked) { // the next word is asked for behind this one
        painter.fillRect(QRectF(box.right() + 1, box.top(), 2, box.height()), theme[Role::Accent]);
    }
}

} // namespace retro::views

#include "moc_wordstrip.cpp"
