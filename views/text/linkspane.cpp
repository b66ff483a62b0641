// SPDX-License-Identifier: Apache-2.0
#include "views/text/linkspane.h"

#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/text/textfocus.h"
#include "views/text/textpaint.h"
#include "views/text/tokencolumns.h"

#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kBox = 38;
constexpr double kMargin = 6;
constexpr double kThickest = 9;
constexpr double kThinnest = 0.8;
constexpr double kLeastBetween = 60;
constexpr double kMostBetween = 150;
constexpr std::size_t kMostDrawn = 160; // the strongest of those in sight: more would hide each other
constexpr double kFaint = 0.25;         // of links that do not touch the chosen word
constexpr double kColour = 0.35;        // of the map, so that a thin link has a colour too
constexpr double kDashed = 0.1;         // a hairline in dashes is no line, and takes long to draw
constexpr int kWordDigits = 2;

double largestLink(const TextFocus& focus)
{
    return focus.links().empty() ? 0 : std::abs(focus.links().front().relevance);
}

} // namespace

LinksPane::LinksPane(TextFocus& focus, QWidget* parent)
    : DrawnPane(parent, {640, 2 * kBox + kMostBetween}, {320, 2 * kBox + kLeastBetween + 2 * kMargin}), m_focus(focus)
{
    setAccessibleName(tr("What one attention handed from word to word"));
    for (const auto signal : {&TextFocus::textChanged, &TextFocus::changed, &TextFocus::scrolled}) {
        connect(&focus, signal, this, qOverload<>(&QWidget::update));
    }
}

void LinksPane::setThreshold(double share)
{
    m_threshold = share;
    update();
}

std::vector<const DrawnLink*> LinksPane::linksInSight(const TokenColumns& columns) const
{
    std::vector<const DrawnLink*> links;
    const double least = m_threshold * largestLink(m_focus);
    const auto isInSight = [&](int token) { return token >= columns.first() && token < columns.last(); };
    for (const DrawnLink& link : m_focus.links()) {
        if (std::abs(link.relevance) < least || links.size() == kMostDrawn) {
            break; // the largest come first
        }
        if (isInSight(link.query) || isInSight(link.key)) {
            links.push_back(&link);
        }
    }
    std::ranges::reverse(links); // the strongest on top
    return links;
}

int LinksPane::drawnCount() const
{
    return m_focus.hasText() ? static_cast<int>(linksInSight(TokenColumns::of(m_focus, width())).size()) : 0;
}

void LinksPane::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    const Theme& colors = theme(this);
    painter.fillRect(rect(), colors[Role::Base]);
    paintAll(painter, QSizeF(size()), colors);
}

void LinksPane::paintAll(QPainter& painter, const QSizeF& size, const Theme& theme) const
{
    if (!m_focus.hasText() || m_focus.layerCount() == 0) {
        painter.setPen(theme[Role::Text2]);
        painter.setFont(fonts::label());
        const QString why = m_focus.hasText() && !m_focus.text()->note.empty()
                                ? QString::fromStdString(m_focus.text()->note)
                                : tr("No layers were found in this model, so there is no attention to show.");
        painter.drawText(QRectF(QPointF(), size).adjusted(fonts::px(10), fonts::px(4), -fonts::px(10), 0),
                         Qt::TextWordWrap, why);
        return;
    }
    const TokenColumns columns = TokenColumns::of(m_focus, size.width());
    const double margin = fonts::px(kMargin);
    const double box = fonts::px(kBox);
    const double between =
        std::clamp<double>(size.height() - 2 * box - 2 * margin, fonts::px(kLeastBetween), fonts::px(4 * kMostBetween));
    const QRectF above(0, margin, size.width(), box);
    const QRectF below(0, margin + box + between, size.width(), box);
    paintLinks(painter, columns, above.bottom(), below.top(), theme);
    paintWords(painter, columns, above, m_focus.layer() + 1, theme);
    paintWords(painter, columns, below, m_focus.layer(), theme);
    if (m_focus.links().empty()) {
        painter.setPen(theme[Role::Text2]);
        painter.setFont(fonts::label());
        painter.drawText(columns.area(above.bottom(), below.top()), Qt::AlignCenter | Qt::TextWordWrap,
                         m_focus.text()->note.empty() ? tr("No relevance passed this attention.")
                                                      : QString::fromStdString(m_focus.text()->note));
    }
}

void LinksPane::paintLinks(QPainter& painter, const TokenColumns& columns, double top, double bottom,
                           const Theme& theme) const
{
    const double largest = largestLink(m_focus);
    if (largest <= 0) {
        return;
    }
    painter.save();
    painter.setClipRect(columns.area(top, bottom), Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    for (const DrawnLink* link : linksInSight(columns)) {
        const double share = std::abs(link->relevance) / largest;
        const bool touches = m_focus.token() < 0 || link->query == m_focus.token() || link->key == m_focus.token();
        QColor color = QColor::fromRgb(m_map.at((kColour + (1 - kColour) * share) * (link->relevance < 0 ? -1 : 1)));
        color.setAlphaF(touches ? 1.0F : static_cast<float>(kFaint));
        QPen pen(color, std::max(kThinnest, share * fonts::px(kThickest)));
        pen.setCapStyle(Qt::FlatCap);
        if (link->relevance < 0 && share >= kDashed) { // told apart without colour as well
            pen.setStyle(Qt::DashLine);
        }
        painter.setRenderHint(QPainter::Antialiasing, share >= kDashed); // hairlines are many
        const double from = columns.xOf(link->query + 0.5);
        const double to = columns.xOf(link->key + 0.5);
        const double bend = (bottom - top) * 0.5;
        QPainterPath path(QPointF(from, top));
        path.cubicTo(from, top + bend, to, bottom - bend, to, bottom);
        painter.setPen(pen);
        painter.drawPath(path);
    }
    painter.restore();
    Q_UNUSED(theme)
}

void LinksPane::paintWords(QPainter& painter, const TokenColumns& columns, const QRectF& row, int layer,
                           const Theme& theme) const
{
    double largest = 0;
    double sum = 0;
    for (int token = 0; token < m_focus.tokenCount(); ++token) {
        const double value = m_focus.atLayer(layer, token);
        sum += value;
        largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0.0);
    }
    painter.setFont(fonts::label());
    painter.setPen(theme[Role::Text]);
    const QString name =
        layer == m_focus.layer() ? tr("into layer %1").arg(layer) : tr("out of layer %1").arg(layer - 1);
    const QRectF names(fonts::px(10), row.top(), columns.names - fonts::px(14), row.height() / 2);
    painter.drawText(names, Qt::AlignBottom, name);
    painter.setFont(fonts::smallNumbers());
    painter.setPen(theme[Role::Text2]);
    painter.drawText(names.translated(0, row.height() / 2), Qt::AlignTop, QStringLiteral("Σ ") + valueText(sum, 4));
    painter.save();
    painter.setClipRect(columns.area(row.top() - 1, row.bottom() + 1), Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    const double gap = columns.width >= 8 ? 2 : 0;
    for (int token = columns.first(); token < columns.last(); ++token) {
        const QRectF box(columns.xOf(token) + gap, row.top(), std::max(1.0, columns.width - 2 * gap), row.height());
        const double value = m_focus.atLayer(layer, token);
        paintWord(painter, columns, box, token, value, largest > 0 && std::isfinite(value) ? value / largest : 0,
                  theme);
    }
    painter.restore();
}

void LinksPane::paintWord(QPainter& painter, const TokenColumns& columns, const QRectF& box, int token, double value,
                          double part, const Theme& theme) const
{
    const bool hasWords = columns.width >= fonts::px(18);
    const bool hasFigures = columns.width >= fonts::px(44);
    const QRgb ground = m_map.at(part);
    painter.setPen(token == m_focus.token() ? QPen(theme[Role::Accent], 2) : QPen(theme[Role::Line], 1));
    painter.setBrush(QColor::fromRgb(ground));
    if (hasWords) {
        painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
    } else {
        painter.fillRect(box, QColor::fromRgb(ground));
    }
    painter.setPen(textOnCell(ground));
    if (hasWords) {
        m_words.begin(painter, fonts::label());
        m_words.draw(painter,
                     QRectF(box.left() + 2, box.top(), box.width() - 4, box.height() * (hasFigures ? 0.55 : 1)),
                     Qt::AlignCenter, m_focus.wordWithin(token, box.width() - 4));
    }
    if (hasFigures) {
        m_figures.begin(painter, fonts::smallNumbers());
        m_figures.draw(painter, box.adjusted(0, box.height() * 0.48, 0, 0), Qt::AlignCenter,
                       valueText(value, kWordDigits));
    }
}

void LinksPane::mousePressEvent(QMouseEvent* event)
{
    const int token = m_focus.hasText() ? TokenColumns::of(m_focus, width()).tokenAt(event->position().x()) : -1;
    if (event->button() == Qt::LeftButton && token >= 0) {
        emit chosen(token);
    }
}

void LinksPane::wheelEvent(QWheelEvent* event)
{
    const TokenColumns columns = TokenColumns::of(m_focus, width());
    m_focus.setLeft(std::clamp(columns.left + columnsTurned(*event), 0.0, columns.mostLeft()));
    event->accept();
}

} // namespace retro::views

#include "moc_linkspane.cpp"
