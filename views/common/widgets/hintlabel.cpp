// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/hintlabel.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QShowEvent>
#include <QTextLayout>
#include <QToolTip>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr double kOneLine = 24; // design pixels

/// Length of the part of `text` that fits into one line, broken between words.
int firstLineOf(const QString& text, const QFont& font, int width)
{
    QTextLayout layout(text, font);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid()) {
        line.setLineWidth(width);
    }
    layout.endLayout();
    return line.isValid() ? line.textLength() : 0;
}

/// `text` in `width`, cut between words; inside of the first one when even that is too long.
QString elidedAtWord(const QString& text, const QFontMetrics& metrics, int width)
{
    if (metrics.horizontalAdvance(text) <= width) {
        return text;
    }
    const QString ellipsis(QChar(0x2026));
    qsizetype end = text.lastIndexOf(QLatin1Char(' '));
    while (end > 0 && metrics.horizontalAdvance(text.left(end) + ellipsis) > width) {
        end = text.lastIndexOf(QLatin1Char(' '), end - 1);
    }
    return end > 0 ? text.left(end) + ellipsis : metrics.elidedText(text, Qt::ElideRight, width);
}

} // namespace

HintLabel::HintLabel(QWidget* parent) : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setFont(fonts::label());
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

QStringList HintLabel::shownLines() const
{
    const QFontMetrics metrics(font());
    const int width = contentsRect().width();
    if (!isVisible() || metrics.horizontalAdvance(text()) <= width) {
        return {text()};
    }
    const int first = firstLineOf(text(), font(), width);
    return {text().left(first).trimmed(), elidedAtWord(text().mid(first), metrics, width)};
}

int HintLabel::heightOf(qsizetype lines) const
{
    return fonts::px(kOneLine) + static_cast<int>(lines - 1) * QFontMetrics(font()).height();
}

QSize HintLabel::sizeHint() const
{
    const QMargins margins = contentsMargins();
    return {QFontMetrics(font()).horizontalAdvance(text()) + margins.left() + margins.right() + 1,
            heightOf(shownLines().size())};
}

QSize HintLabel::minimumSizeHint() const
{
    QSize size = sizeHint();
    size.setWidth(std::min(size.width(), QFontMetrics(font()).averageCharWidth() * 5));
    return size;
}

void HintLabel::resizeEvent(QResizeEvent* event)
{
    QLabel::resizeEvent(event);
    if (event->size().width() != event->oldSize().width()) {
        updateGeometry(); // another width may need another line
    }
}

void HintLabel::showEvent(QShowEvent* event)
{
    QLabel::showEvent(event);
    updateGeometry();
}

void HintLabel::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setPen(theme(this)[Role::Text2]);
    painter.drawText(contentsRect(), static_cast<int>(Qt::AlignLeft | Qt::AlignVCenter),
                     shownLines().join(QLatin1Char('\n')));
}

bool HintLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && shownLines().join(QLatin1Char(' ')) != text()) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text(), this);
        return true;
    }
    return QLabel::event(event);
}

} // namespace retro::views
