// SPDX-License-Identifier: Apache-2.0
// Cards: a node with a small picture of its relevance.
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/graph/graphpainter.h"
#include "views/graph/graphwalk.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

constexpr double kCardInset = 6;      // design pixels around the picture
constexpr double kCardFoot = 18;      // height of the row below the picture
constexpr double kSmallSide = 60;     // pixels; larger pictures are of the larger size class
constexpr double kShapeWidth = 72;    // pixels of a card that has room for the shape
constexpr double kPartOpacity = 0.45; // of a picture of some of the parts
constexpr double kStripHeight = 10;
constexpr std::size_t kMostCells = 48; // of a strip; then each stands for several visits

QString cardText(const char* text) { return QCoreApplication::translate("retro::views::GraphView", text); }

} // namespace

QRectF cardPictureRect(const QRectF& card, double unit)
{
    const double top = card.top() + kCardTitle * unit;
    const double side = std::min(card.width() - 2 * kCardInset * unit, card.bottom() - kCardFoot * unit - top);
    const double width = std::floor(side);
    return {std::round(card.center().x() - width / 2), std::round(top), width, width};
}

QRectF groupStripRect(const QRectF& card, double unit)
{
    const double foot = card.bottom() - kCardFoot * unit;
    return {card.left() + kCardInset * unit, foot - (kStripHeight + 2) * unit, card.width() - 2 * kCardInset * unit,
            kStripHeight * unit};
}

int pictureSide(double unit)
{
    constexpr int kSmallPicture = 48;
    constexpr int kLargePicture = 96;
    return 74 * unit <= kSmallSide ? kSmallPicture : kLargePicture;
}

void paintSmallPicture(QPainter& painter, const QRectF& rect, const QImage& image)
{
    const double scale = std::min(rect.width() / image.width(), rect.height() / image.height());
    const QSizeF size(image.width() * scale, image.height() * scale);
    painter.setRenderHint(QPainter::SmoothPixmapTransform, false);
    painter.drawImage(QRectF(rect.center() - QPointF(size.width(), size.height()) / 2, size), image);
}

void GraphPainter::paintCards()
{
    for (const Index box : m_boxes) {
        const QRectF rect = pixelsOf(box);
        m_painter.setOpacity(m_picture.isFaint(box) ? kFaint : 1);
        switch (m_picture.scene->cardOf(box)) {
        case CardKind::Card:
            paintCard(box, rect);
            break;
        case CardKind::Group:
            paintGroupCard(box, rect);
            break;
        case CardKind::Pill:
            paintPill(box, rect);
            break;
        }
        paintMarksAt(box, rect);
    }
    m_painter.setOpacity(1);
}

void GraphPainter::paintCentred(const QRectF& rect, const QString& text, const QFont& font, const QColor& color)
{
    const QFontMetricsF metrics(font);
    const double width = metrics.horizontalAdvance(text);
    const bool fits = width <= rect.width();
    const QString shown = fits ? text : metrics.elidedText(text, Qt::ElideMiddle, rect.width());
    const double left = fits ? rect.center().x() - width / 2 : rect.left();
    m_painter.setFont(font);
    m_painter.setPen(color);
    m_painter.drawText(QPointF(left, rect.center().y() + metrics.capHeight() / 2), shown);
}

bool GraphPainter::paintCardTitle(Index box, const QRectF& rect)
{
    const QRectF row(rect.left(), rect.top() + length(1), rect.width(), length(kCardTitle));
    double left = rect.left() + length(6);
    const QString sign = signOf(box);
    if (!sign.isEmpty()) {
        m_painter.setFont(m_letterFont);
        m_painter.setPen(m_picture.colouring != nullptr ? m_theme[Role::Text2] : m_theme.mode(status(box).mode).text);
        m_painter.drawText(QPointF(left, row.center().y() + m_wordDrop), sign);
        left += QFontMetricsF(m_letterFont).horizontalAdvance(sign) + length(4);
    }
    if (visible(box).isGroup()) {
        m_painter.setFont(m_nameFont);
        m_painter.setPen(m_theme[Role::Text]);
        m_painter.drawText(QPointF(rect.left() + length(21), row.center().y() + m_nameDrop), QStringLiteral("▸"));
        left = rect.left() + length(33);
    }
    QFont font = m_wordFont;
    font.setWeight(QFont::DemiBold);
    const QFontMetricsF metrics(font);
    const QString& name = textOf(box).name;
    const double whole = rect.right() - length(10) - left + length(6);
    const double wide = metrics.horizontalAdvance(name);
    const bool isBelow = wide > whole - badgesWidth(box) && badgesWidth(box) > 0;
    const double room = std::max(0.0, isBelow ? whole : paintBadges(box, row) + length(6) - left);
    m_painter.setFont(font);
    m_painter.setPen(m_theme[Role::Text]);
    m_painter.drawText(QPointF(left, row.center().y() + m_wordDrop),
                       wide <= room ? name : metrics.elidedText(name, Qt::ElideMiddle, room));
    return isBelow;
}

void GraphPainter::paintBadgesBelow(Index box, const QRectF& rect)
{
    paintBadges(box, {rect.left(), rect.top() + length(kCardTitle), rect.width(), length(kCardTitle)});
}

void GraphPainter::paintCard(Index box, const QRectF& rect)
{
    paintBox(box, rect);
    const bool isBelow = paintCardTitle(box, rect);
    paintCardPicture(box, cardPictureRect(rect, m_unit));
    if (isBelow) {
        paintBadgesBelow(box, rect);
    }
    const BoxText& text = textOf(box);
    const QFont& font = text.isFigure ? m_figureFont : m_wordFont;
    const double room = rect.width() - length(6);
    // A shape that would lose figures is left out; the tool tip has it.
    if (rect.width() >= kShapeWidth && (!text.isFigure || QFontMetricsF(font).horizontalAdvance(text.detail) <= room)) {
        paintCentred(QRectF(rect.left() + length(3), rect.bottom() - length(kCardFoot), room, length(kCardFoot - 1)),
                     text.detail, font, m_theme[Role::Text3]);
    }
}

/// In the place of a picture: the Σ of what has arrived, or why there is none.
void GraphPainter::paintCardWords(const CardStatus* card, const QRectF& rect)
{
    if (card != nullptr && card->hasSum) {
        paintCentred(rect, valueText(card->sum, 3), m_figureFont, m_theme[Role::Text2]);
    } else if (card != nullptr && card->isAsked) {
        paintCentred(rect, QStringLiteral("◇ ") + cardText("asked"), m_wordFont, m_theme[Role::SearchText]);
    } else {
        const bool isOver = card != nullptr && card->isOver;
        paintCentred(rect, isOver ? cardText("none") : cardText("not yet"), m_wordFont, m_theme[Role::Text3]);
    }
}

/// What has arrived, as a picture; while it is not made (or cannot be), its Σ.
void GraphPainter::paintCardPicture(Index box, const QRectF& rect)
{
    const CardStatus* card = m_picture.cards != nullptr ? &(*m_picture.cards)[static_cast<std::size_t>(box)] : nullptr;
    const base::HandleId handle = card == nullptr ? base::HandleId() : card->whole.isValid() ? card->whole : card->part;
    const bool canShow = handle.isValid() && m_picture.pictures != nullptr && m_picture.pictures->canShow(handle);
    const QImage* image = canShow ? m_picture.pictures->picture(handle, pictureSide(m_unit)) : nullptr;
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    if (image == nullptr) {
        m_painter.fillRect(rect, m_theme[Role::Alt]);
    } else {
        const double opacity = m_painter.opacity();
        m_painter.setOpacity(opacity * (card->whole.isValid() ? 1 : kPartOpacity));
        paintSmallPicture(m_painter, rect, *image);
        m_painter.setOpacity(opacity);
    }
    m_painter.setPen(QPen(m_theme[Role::Line], 1));
    m_painter.setBrush(Qt::NoBrush);
    m_painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
    if (image == nullptr) {
        paintCardWords(card, rect);
    }
}

/// Three pictures, and a cell per visit of its members that fills in their order.
void GraphPainter::paintGroupCard(Index box, const QRectF& rect)
{
    paintBox(box, rect);
    const bool isBelow = paintCardTitle(box, rect);
    const CardStatus* card = m_picture.cards != nullptr ? &(*m_picture.cards)[static_cast<std::size_t>(box)] : nullptr;
    const double gap = length(4);
    const double side = std::floor((rect.width() - 2 * length(kCardInset) - 2 * gap) / 3);
    const double top = std::round(rect.top() + length(kCardTitle + 2));
    for (std::size_t i = 0; i < 3; ++i) {
        const QRectF place(std::round(rect.left() + length(kCardInset) + static_cast<double>(i) * (side + gap)), top,
                           side, side);
        const base::HandleId handle = card != nullptr ? card->members[i] : base::HandleId();
        const bool canShow = handle.isValid() && m_picture.pictures != nullptr && m_picture.pictures->canShow(handle);
        const QImage* image = canShow ? m_picture.pictures->picture(handle, pictureSide(m_unit / 2)) : nullptr;
        m_painter.setRenderHint(QPainter::Antialiasing, false);
        if (image == nullptr) {
            m_painter.fillRect(place, m_theme[Role::Alt]);
        } else {
            paintSmallPicture(m_painter, place, *image);
        }
        m_painter.setPen(QPen(m_theme[Role::Line], 1));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRect(place.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    if (isBelow) {
        paintBadgesBelow(box, rect);
    }
    const double foot = rect.bottom() - length(kCardFoot);
    paintGroupStrip(box, groupStripRect(rect, m_unit));
    if (rect.width() >= kShapeWidth && m_picture.groupVisits != nullptr && card != nullptr) {
        const auto all = m_picture.groupVisits->boxes[static_cast<std::size_t>(box)].size();
        const QString words =
            all == 0
                ? textOf(box).detail
                : cardText("%1 of %2 visits").arg(countText(card->visits), countText(static_cast<std::int64_t>(all)));
        paintCentred(QRectF(rect.left() + length(3), foot, rect.width() - length(6), length(kCardFoot - 1)), words,
                     m_wordFont, m_theme[Role::Text2]);
    }
}

void GraphPainter::paintGroupStrip(Index box, const QRectF& strip)
{
    if (m_picture.groupVisits == nullptr || m_picture.cards == nullptr) {
        return;
    }
    const auto& all = m_picture.groupVisits->boxes[static_cast<std::size_t>(box)];
    const auto done = static_cast<std::size_t>((*m_picture.cards)[static_cast<std::size_t>(box)].visits);
    const std::size_t cells = std::min(all.size(), kMostCells);
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    for (std::size_t cell = 0; cell < cells; ++cell) {
        const std::size_t visit = cell * all.size() / cells;
        // Relevance comes from the right, so the first visit is at the right end of a drawing that runs sideways.
        const std::size_t place = m_camera.isTransposed() ? cells - 1 - cell : cell;
        const double left =
            std::round(strip.left() + strip.width() * static_cast<double>(place) / static_cast<double>(cells));
        const double right =
            std::round(strip.left() + strip.width() * static_cast<double>(place + 1) / static_cast<double>(cells));
        const QRectF rect(left, strip.top(), std::max(1.0, right - left - (right - left > 2 ? 1 : 0)), strip.height());
        const bool isDone = visit < done;
        m_painter.fillRect(rect, isDone ? m_theme.mode(all[visit].mode).line : m_theme[Role::Grid]);
    }
}

void GraphPainter::paintPill(Index box, const QRectF& rect)
{
    const double radius = rect.height() / 2;
    if (m_picture.colouring != nullptr) {
        paintClassBox(box, rect, radius);
    } else {
        paintModeBox(m_painter, rect, status(box).mode, m_theme, radius);
    }
    paintCentred(rect.adjusted(length(3), 0, -length(3), 0), textOf(box).name, m_wordFont, m_theme[Role::Text]);
}

} // namespace retro::views
