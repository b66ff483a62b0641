// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/hintlabel.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QHelpEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QShowEvent>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kOneLine = 24; // design pixels

/// Between the words before a sentence and the sentence.
const QString& gap()
{
    static const QString kGap(2, QLatin1Char(' '));
    return kGap;
}

/// One line of text as wide as it may become; null when there is no text.
QTextLine lineIn(QTextLayout& layout, double width)
{
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid()) {
        line.setLineWidth(width);
    }
    layout.endLayout();
    return line;
}

constexpr double kEndless = 1e6;

} // namespace

HintLabel::HintLabel(QWidget* parent) : QLabel(parent)
{
    setTextFormat(Qt::PlainText);
    setFont(fonts::label());
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

void HintLabel::setLead(const QString& name, const QString& subject)
{
    m_name = name;
    m_subject = subject;
    updateGeometry();
    update();
}

QString HintLabel::wholeText() const
{
    QStringList parts{m_name, m_subject, text()};
    parts.removeAll(QString());
    return parts.join(gap());
}

QList<QTextLayout::FormatRange> HintLabel::formats(qsizetype from) const
{
    QList<QTextLayout::FormatRange> ranges;
    qsizetype at = -from;
    const auto add = [&](const QString& part, Role role, const QFont& partFont) {
        if (part.isEmpty()) {
            return;
        }
        QTextCharFormat format;
        format.setFont(partFont);
        format.setForeground(theme(this)[role]);
        const qsizetype end = at + part.size() + gap().size();
        if (end > 0) {
            const qsizetype start = std::max<qsizetype>(0, at);
            ranges.append({static_cast<int>(start), static_cast<int>(end - start), format});
        }
        at = end;
    };
    add(m_name, Role::Text, fonts::label(QFont::DemiBold));
    add(m_subject, Role::Text3, font());
    add(text(), Role::Text2, font());
    return ranges;
}

double HintLabel::widthOf(const QString& part, qsizetype from) const
{
    QTextLayout layout(part, font());
    layout.setFormats(formats(from));
    const QTextLine line = lineIn(layout, kEndless);
    return line.isValid() ? line.naturalTextWidth() : 0;
}

/// Length of the part of the whole text that fits into one line, broken between words.
qsizetype HintLabel::firstLine(double width) const
{
    QTextLayout layout(wholeText(), font());
    layout.setFormats(formats(0));
    const QTextLine line = lineIn(layout, width);
    return line.isValid() ? line.textLength() : 0;
}

/// `part`, which begins at `from`, in `width`, cut between words; inside of the first one when even that is too long.
QString HintLabel::elidedAtWord(const QString& part, qsizetype from, double width) const
{
    if (widthOf(part, from) <= width) {
        return part;
    }
    const QString ellipsis(QChar(0x2026));
    qsizetype end = part.lastIndexOf(QLatin1Char(' '));
    while (end > 0 && widthOf(part.left(end) + ellipsis, from) > width) {
        end = part.lastIndexOf(QLatin1Char(' '), end - 1);
    }
    return end > 0 ? part.left(end) + ellipsis
                   : QFontMetrics(font()).elidedText(part, Qt::ElideRight, static_cast<int>(width));
}

QStringList HintLabel::shownLines() const
{
    const QString whole = wholeText();
    const int width = contentsRect().width();
    if (!isVisible() || widthOf(whole, 0) <= width) {
        return {whole};
    }
    const qsizetype first = firstLine(width);
    return {whole.left(first).trimmed(), elidedAtWord(whole.mid(first), first, width)};
}

int HintLabel::heightOf(qsizetype lines) const
{
    return fonts::px(kOneLine) + static_cast<int>(lines - 1) * QFontMetrics(font()).height();
}

QSize HintLabel::sizeHint() const
{
    const QMargins margins = contentsMargins();
    return {static_cast<int>(std::ceil(widthOf(wholeText(), 0))) + margins.left() + margins.right() + 1,
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
    const QStringList lines = shownLines();
    const QFontMetrics metrics(font());
    const QRect area = contentsRect();
    double top = area.top() + (area.height() - static_cast<int>(lines.size()) * metrics.height()) / 2;
    qsizetype from = 0;
    for (const QString& words : lines) {
        QTextLayout layout(words, font());
        layout.setFormats(formats(from));
        const QTextLine line = lineIn(layout, kEndless);
        if (line.isValid()) {
            layout.draw(&painter, QPointF(area.left(), top + metrics.ascent() - line.ascent()));
        }
        from = firstLine(area.width());
        top += metrics.height();
    }
}

bool HintLabel::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip && toolTip().isEmpty() && shownLines().last().endsWith(QChar(0x2026))) {
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), wholeText(), this);
        return true;
    }
    return QLabel::event(event);
}

} // namespace retro::views

#include "moc_hintlabel.cpp"
