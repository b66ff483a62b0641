// SPDX-License-Identifier: Apache-2.0
#include "views/log/nowpane.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

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

using fonts::px;

constexpr double kNowMargin = 12; // design pixels
constexpr double kNowRow = 24;
constexpr double kNowBar = 9;
constexpr int kNowEvents = 6; // rows; as many at both ends of a run, so that nothing moves

double nowRow() { return px(kNowRow); }

/// Where the columns of the events begin, and where they end.
struct NowColumns
{
    double step = 0; // right end of the number
    double kind = 0;
    double what = 0;
    double end = 0;
};

NowColumns nowColumns(const std::vector<NowEvent>& events, double width)
{
    NowColumns columns;
    double number = fonts::widthOf(fonts::label(QFont::DemiBold), NowPane::tr("Event"));
    double kind = fonts::widthOf(fonts::label(), QStringLiteral("answered by")); // no column moves while it steps
    for (const NowEvent& event : events) {
        const QString text = countText(static_cast<std::int64_t>(event.step) + 1);
        number = std::max(number, fonts::widthOf(fonts::numbers(), text));
        kind = std::max(kind, fonts::widthOf(fonts::label(), event.kind));
    }
    columns.step = px(kNowMargin) + std::ceil(number);
    columns.kind = columns.step + px(10);
    columns.what = columns.kind + std::ceil(std::min(kind, width * 0.3)) + px(10);
    columns.end = width - px(8);
    return columns;
}

void nowText(QPainter& painter, const QRectF& box, Qt::Alignment side, const QFont& font, const QColor& color,
             const QString& text)
{
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, static_cast<int>(side | Qt::AlignVCenter) | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(text, Qt::ElideRight, box.width()));
}

Role nowFill(NowAmount::Kind kind)
{
    switch (kind) {
    case NowAmount::Kind::Arrived:
        return Role::Ink;
    case NowAmount::Kind::HandedOn:
    case NowAmount::Kind::OnItsWay:
        return Role::Accent;
    case NowAmount::Kind::Waits:
        return Role::FulfilLine;
    case NowAmount::Kind::Asked:
    case NowAmount::Kind::Absorbed:
        break;
    }
    return Role::SearchLine;
}

/// Where the names of amounts, their bars and their figures stand.
struct AmountColumns
{
    double left = 0;
    double right = 0;
    double name = 0;   // width of the names
    double figure = 0; // width of the figures
};

AmountColumns amountColumns(const std::vector<NowAmount>& amounts, double most, double width)
{
    AmountColumns columns;
    for (const NowAmount& amount : amounts) {
        columns.name = std::max(columns.name, std::ceil(fonts::widthOf(fonts::label(), amount.name)) + 1);
        if (amount.sum) {
            columns.figure =
                std::max(columns.figure, std::ceil(fonts::widthOf(fonts::numbers(), amountNowText(*amount.sum, most))));
        }
    }
    columns.left = px(kNowMargin);
    columns.right = width - px(kNowMargin);
    columns.name = std::min(columns.name, (columns.right - columns.left) * 0.5);
    return columns;
}

/// One amount, as a bar and a figure; its name alone where the amount is not known.
void paintAmount(QPainter& painter, const Theme& theme, const NowAmount& amount, double most,
                 const AmountColumns& columns, double top)
{
    const double gap = px(8);
    const bool hasSum = amount.sum.has_value();
    nowText(painter, {columns.left, top, hasSum ? columns.name : columns.right - columns.left, nowRow()}, Qt::AlignLeft,
            fonts::label(), theme[hasSum ? Role::Text : Role::SearchText], amount.name);
    if (hasSum) {
        const QRectF bar(columns.left + columns.name + gap, std::round(top + (nowRow() - px(kNowBar)) / 2),
                         columns.right - columns.figure - gap - (columns.left + columns.name + gap), px(kNowBar));
        if (bar.width() > px(12)) {
            const double share = most > 0 && std::isfinite(*amount.sum) ? *amount.sum / most : 0;
            paintShareBar(painter, bar, share, theme[nowFill(amount.kind)], theme);
        }
        nowText(painter, {columns.right - columns.figure - 1, top, columns.figure + 1, nowRow()}, Qt::AlignRight,
                fonts::numbers(), theme[Role::Text], amountNowText(*amount.sum, most));
    }
}

} // namespace

NowPane::NowPane(QWidget* parent) : DrawnPane(parent, {}, {200, 80})
{
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Now"));
    QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
}

void NowPane::setEvents(std::vector<NowEvent> events)
{
    m_events = std::move(events);
    changed();
}

void NowPane::setRelevance(NowRelevance relevance)
{
    m_relevance = std::move(relevance);
    changed();
}

void NowPane::setSpan(const std::optional<NowSpan>& span)
{
    m_span = span;
    changed();
}

void NowPane::changed()
{
    setAccessibleDescription(text());
    updateGeometry();
    update();
}

double NowPane::largest() const
{
    double most = 0;
    for (const NowAmount& amount : m_relevance.amounts) {
        most = std::max(most, std::isfinite(amount.sum.value_or(0)) ? std::abs(amount.sum.value_or(0)) : 0);
    }
    return most;
}

std::vector<std::pair<QString, std::int64_t>> NowPane::spanRows() const
{
    return {{tr("visits"), m_span->visits},
            {tr("nodes visited"), m_span->nodes},
            {tr("tensors that landed"), m_span->landed},
            {tr("promises opened"), m_span->opened},
            {tr("promises fulfilled"), m_span->fulfilled}};
}

QString NowPane::text() const
{
    QStringList lines;
    for (const NowEvent& event : m_events) {
        if (event.when == NowEvent::When::Now) {
            lines << tr("Event %1, %2: %3 %4")
                         .arg(countText(static_cast<std::int64_t>(event.step) + 1), event.kind, event.node, event.what);
        }
    }
    if (m_span) {
        for (const auto& [name, count] : spanRows()) {
            lines << QStringLiteral("%1: %2").arg(name, countText(count));
        }
        return lines.join(QLatin1Char('\n'));
    }
    for (const NowAmount& amount : m_relevance.amounts) {
        lines << (amount.sum ? QStringLiteral("%1: %2").arg(amount.name, amountNowText(*amount.sum, largest()))
                             : amount.name);
    }
    if (!m_relevance.rule.isEmpty()) {
        lines << m_relevance.rule << m_relevance.formula;
    }
    return lines.join(QLatin1Char('\n'));
}

QSize NowPane::sizeHint() const { return {px(340), heightForWidth(std::max(width(), px(260)))}; }

int NowPane::heightForWidth(int width) const
{
    const double room = width - 2 * px(kNowMargin);
    const QFontMetricsF words(fonts::label());
    double height = (1 + kNowEvents) * nowRow() + px(8);
    if (m_span) {
        height += 2 * nowRow() * 2 + static_cast<double>(spanRows().size()) * nowRow();
        return static_cast<int>(std::ceil(height)) + px(8);
    }
    height += nowRow() + static_cast<double>(std::max<std::size_t>(m_relevance.amounts.size(), 1)) * nowRow();
    if (!m_relevance.rule.isEmpty()) {
        const QRectF box = QFontMetricsF(fonts::numbers())
                               .boundingRect(QRectF(0, 0, room, 1e4), Qt::TextWordWrap, m_relevance.formula);
        height += nowRow() + px(8) + box.height();
    }
    return static_cast<int>(std::ceil(height)) + px(8);
}

void NowPane::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    paintEvents(painter, colors);
    const double top = (1 + kNowEvents) * nowRow() + px(8);
    m_span ? paintSpan(painter, colors, top) : paintRelevance(painter, colors, top);
}

void NowPane::paintEvents(QPainter& painter, const Theme& theme) const
{
    const double row = nowRow();
    const NowColumns columns = nowColumns(m_events, width());
    painter.fillRect(QRectF(0, 0, width(), row), theme[Role::Header]);
    const QFont bold = fonts::label(QFont::DemiBold);
    nowText(painter, {0, 0, columns.step, row}, Qt::AlignRight, bold, theme[Role::Text], tr("Event"));
    nowText(painter, {columns.kind, 0, columns.what - columns.kind, row}, Qt::AlignLeft, bold, theme[Role::Text],
            tr("Kind"));
    nowText(painter, {columns.what, 0, columns.end - columns.what, row}, Qt::AlignLeft, bold, theme[Role::Text],
            tr("What happens"));
    double top = row;
    for (const NowEvent& event : m_events) {
        const bool isNow = event.when == NowEvent::When::Now;
        const bool isNext = event.when == NowEvent::When::Next;
        if (isNow) {
            painter.fillRect(QRectF(0, top, width(), row), theme[Role::Sel]);
            painter.fillRect(QRectF(0, top, 3, row), theme[Role::Accent]);
        }
        const QColor color = theme[isNext ? Role::Text3 : Role::Text];
        nowText(painter, {0, top, columns.step, row}, Qt::AlignRight, fonts::numbers(), color,
                countText(static_cast<std::int64_t>(event.step) + 1));
        nowText(painter, {columns.kind, top, columns.what - columns.kind - px(6), row}, Qt::AlignLeft, fonts::label(),
                color, event.kind);
        const QFont name = fonts::label(isNow ? QFont::DemiBold : QFont::Medium);
        const double room = columns.end - columns.what;
        // The name gives way only where both do not fit, and then at most to its half.
        const double rest = room - fonts::widthOf(fonts::label(), event.what) - px(6) - 1;
        const double wide =
            event.node.isEmpty() ? 0 : std::min(fonts::widthOf(name, event.node) + 1, std::max(rest, room * 0.5));
        painter.setFont(name);
        painter.setPen(color);
        painter.drawText(QRectF(columns.what, top, wide, row), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         QFontMetricsF(name).elidedText(event.node, Qt::ElideMiddle, wide));
        const double left = columns.what + wide + (wide > 0 ? px(6) : 0);
        nowText(painter, {left, top, columns.end - left, row}, Qt::AlignLeft, fonts::label(), color, event.what);
        top += row;
    }
    paintHairline(painter, {0, (1 + kNowEvents) * row + px(4)}, {double(width()), (1 + kNowEvents) * row + px(4)},
                  theme[Role::Line]);
}

double NowPane::paintHeading(QPainter& painter, const Theme& theme, double top, const QString& text) const
{
    const QRectF box(px(kNowMargin), top, width() - 2 * px(kNowMargin), nowRow());
    nowText(painter, box, Qt::AlignLeft, fonts::label(QFont::DemiBold), theme[Role::Text2], text);
    return top + nowRow();
}

double NowPane::paintParagraph(QPainter& painter, const Theme& theme, double top, const QString& text,
                               bool isFigure) const
{
    const QRectF room(px(kNowMargin), top, width() - 2 * px(kNowMargin), 1e4);
    painter.setFont(isFigure ? fonts::numbers() : fonts::label());
    painter.setPen(theme[isFigure ? Role::Text : Role::Text2]);
    QRectF used;
    painter.drawText(room, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap, text, &used);
    return used.bottom();
}

double NowPane::paintRelevance(QPainter& painter, const Theme& theme, double top) const
{
    top = paintHeading(painter, theme, top,
                       m_relevance.node.isValid() ? tr("Where the relevance of %1 is").arg(m_relevance.name)
                                                  : tr("Nothing has been visited yet."));
    const double most = largest();
    const AmountColumns columns = amountColumns(m_relevance.amounts, most, width());
    for (const NowAmount& amount : m_relevance.amounts) {
        paintAmount(painter, theme, amount, most, columns, top);
        top += nowRow();
    }
    if (m_relevance.rule.isEmpty()) {
        return top;
    }
    paintHairline(painter, {0, top + px(4)}, {double(width()), top + px(4)}, theme[Role::Line]);
    top = paintHeading(painter, theme, top + px(6), m_relevance.rule);
    return paintParagraph(painter, theme, top, m_relevance.formula, true);
}

double NowPane::paintSpan(QPainter& painter, const Theme& theme, double top) const
{
    top = paintHeading(painter, theme, top, tr("This picture stands for"));
    for (const auto& [name, count] : spanRows()) {
        const QRectF row(px(kNowMargin), top, width() - 2 * px(kNowMargin), nowRow());
        nowText(painter, row, Qt::AlignLeft, fonts::label(), theme[Role::Text], name);
        nowText(painter, row, Qt::AlignRight, fonts::numbers(), theme[Role::Text], countText(count));
        top += nowRow();
    }
    return paintParagraph(painter, theme, top + px(4),
                          tr("Too fast to show each visit: groups and edges glow with the sum of what passed in the "
                             "last quarter of a second. Up to 60 visits per second each is shown."),
                          false);
}

const NowEvent* NowPane::eventAt(double y) const
{
    const auto row = static_cast<std::ptrdiff_t>(std::floor(y / nowRow())) - 1;
    return row >= 0 && row < static_cast<std::ptrdiff_t>(m_events.size()) ? &m_events[static_cast<std::size_t>(row)]
                                                                          : nullptr;
}

void NowPane::mousePressEvent(QMouseEvent* event)
{
    if (const NowEvent* row = eventAt(event->position().y()); row != nullptr && event->button() == Qt::LeftButton) {
        emit eventChosen(row->step);
    }
}

void NowPane::mouseDoubleClickEvent(QMouseEvent* event)
{
    if (const NowEvent* row = eventAt(event->position().y()); row != nullptr && event->button() == Qt::LeftButton) {
        emit eventWanted(row->step);
    }
}

void NowPane::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Up || event->key() == Qt::Key_Down) {
        emit stepWanted(event->key() == Qt::Key_Down ? 1 : -1);
        return;
    }
    QWidget::keyPressEvent(event);
}

QString NowPane::tipAt(const QPointF& at) const
{
    const NowEvent* row = eventAt(at.y());
    return row != nullptr ? (row->node + QLatin1Char(' ') + row->what).trimmed() : QString();
}

} // namespace retro::views

#include "moc_nowpane.cpp"
