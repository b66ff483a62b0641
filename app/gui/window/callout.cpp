// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/callout.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>
#include <array>

namespace retro::app
{

using views::Role;
using views::fonts::px;

namespace
{

// Design pixels.
constexpr double kCalloutWidth = 300;
constexpr double kArrow = 12;
constexpr double kMargin = 14;
constexpr int kRing = 3;
constexpr int kEdge = 8; // never closer to the window's edge

/// The box of a call-out on one side of its target, slid along the window's edges.
QRect boxOn(CallOutPlace::Side side, const QRect& target, const QSize& size, const QRect& room, int arrow)
{
    using Side = CallOutPlace::Side;
    QRect box(QPoint(), size);
    box.moveCenter(target.center());
    if (side == Side::Left || side == Side::Right) {
        box.setWidth(size.width() + arrow);
        box.moveLeft(side == Side::Right ? target.right() + 1 : target.left() - box.width());
        box.moveTop(std::clamp(box.top(), room.top(), std::max(room.top(), room.bottom() - box.height())));
    } else if (side != Side::Over) {
        box.setHeight(size.height() + arrow);
        box.moveTop(side == Side::Below ? target.bottom() + 1 : target.top() - box.height());
        box.moveLeft(std::clamp(box.left(), room.left(), std::max(room.left(), room.right() - box.width())));
    }
    return box;
}

QPoint tipOn(CallOutPlace::Side side, const QRect& box, const QRect& target)
{
    using Side = CallOutPlace::Side;
    switch (side) {
    case Side::Right:
        return {box.left(), std::clamp(target.center().y(), box.top() + 24, box.bottom() - 24)};
    case Side::Left:
        return {box.right(), std::clamp(target.center().y(), box.top() + 24, box.bottom() - 24)};
    case Side::Below:
        return {std::clamp(target.center().x(), box.left() + 24, box.right() - 24), box.top()};
    case Side::Above:
        return {std::clamp(target.center().x(), box.left() + 24, box.right() - 24), box.bottom()};
    default:
        return target.center();
    }
}

/// The part of the box that holds the words.
QRect wordsIn(const CallOutPlace& place, int arrow)
{
    using Side = CallOutPlace::Side;
    const QRect whole(QPoint(), place.box.size());
    switch (place.side) {
    case Side::Right:
        return whole.adjusted(arrow, 0, 0, 0);
    case Side::Left:
        return whole.adjusted(0, 0, -arrow, 0);
    case Side::Below:
        return whole.adjusted(0, arrow, 0, 0);
    case Side::Above:
        return whole.adjusted(0, 0, 0, -arrow);
    default:
        return whole;
    }
}

QPainterPath bubble(const CallOutPlace& place, int arrow)
{
    using Side = CallOutPlace::Side;
    const QRectF words = QRectF(wordsIn(place, arrow)).adjusted(1, 1, -1, -1);
    QPainterPath path;
    path.addRoundedRect(words, 6, 6);
    if (place.side == Side::Over) {
        return path;
    }
    const QPointF tip = place.tip - place.box.topLeft();
    const bool isSideways = place.side == Side::Left || place.side == Side::Right;
    const double root = place.side == Side::Right   ? words.left() + 1
                        : place.side == Side::Left  ? words.right() - 1
                        : place.side == Side::Below ? words.top() + 1
                                                    : words.bottom() - 1;
    QPainterPath pointer(tip);
    pointer.lineTo(isSideways ? QPointF(root, tip.y() - arrow) : QPointF(tip.x() - arrow, root));
    pointer.lineTo(isSideways ? QPointF(root, tip.y() + arrow) : QPointF(tip.x() + arrow, root));
    pointer.closeSubpath();
    return path.united(pointer);
}

} // namespace

CallOutPlace placeCallOut(const QRect& target, const QSize& size, const QRect& window, int arrow, const QRect& kept)
{
    using Side = CallOutPlace::Side;
    const QRect room = window.adjusted(kEdge, kEdge, -kEdge, -kEdge);
    const bool isLeft = target.center().x() < window.center().x();
    const bool isHigh = target.center().y() < window.center().y();
    const std::array sides{isLeft ? Side::Right : Side::Left, isHigh ? Side::Below : Side::Above,
                           isLeft ? Side::Left : Side::Right, isHigh ? Side::Above : Side::Below};
    for (const QRect& free : {kept, QRect()}) {
        for (const Side side : sides) {
            const QRect box = boxOn(side, target, size, room, arrow);
            if (room.contains(box) && !box.intersects(free)) {
                return {box, tipOn(side, box, target), side};
            }
        }
    }
    return {boxOn(Side::Over, target, size, room, arrow), target.center(), Side::Over};
}

CallOut::CallOut(QWidget& window) : QWidget(&window), m_window(window)
{
    m_body = new QWidget(this);
    auto* column = new QVBoxLayout(m_body);
    const int margin = px(kMargin);
    column->setContentsMargins(margin, px(kMargin - 2), margin, margin);
    column->setSpacing(px(6));
    m_title = new QLabel(m_body);
    m_title->setFont(views::fonts::content(QFont::DemiBold));
    m_text = new QLabel(m_body);
    for (QLabel* label : {m_title, m_text}) {
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        column->addWidget(label);
    }
    auto* row = new QHBoxLayout;
    row->setSpacing(px(6));
    m_skip = new QPushButton(m_body);
    m_back = new QPushButton(m_body);
    m_next = new QPushButton(m_body);
    m_progress = new QLabel(m_body);
    m_progress->setFont(views::fonts::label());
    row->addWidget(m_skip);
    row->addStretch(1);
    row->addWidget(m_progress);
    row->addWidget(m_back);
    row->addWidget(m_next);
    column->addSpacing(px(4));
    column->addLayout(row);
    connect(m_skip, &QPushButton::clicked, this, &CallOut::skipped);
    connect(m_back, &QPushButton::clicked, this, &CallOut::backRequested);
    connect(m_next, &QPushButton::clicked, this, &CallOut::nextRequested);
    setTabOrder(m_next, m_back);
    setTabOrder(m_back, m_skip);
    applyColors();
    hide();
}

void CallOut::setWords(const QString& title, const QString& text, const QString& progress)
{
    m_title->setText(title);
    m_text->setText(text);
    m_progress->setText(progress);
    setAccessibleName(title);
    setAccessibleDescription(text);
    // The focus is on this button: a reader says the words with it.
    m_next->setAccessibleDescription(title + QStringLiteral(". ") + text);
}

void CallOut::setButtons(const QString& skip, const QString& back, const QString& next)
{
    const auto set = [](QPushButton& button, const QString& text) {
        button.setText(text);
        button.setToolTip(text);
        button.setVisible(!text.isEmpty());
    };
    set(*m_skip, skip);
    set(*m_back, back);
    set(*m_next, next);
}

void CallOut::pointAt(const QRect& target)
{
    m_body->layout()->activate();
    const int width = std::max(px(kCalloutWidth), m_body->minimumSizeHint().width()); // every button says its words
    const QSize size(width, std::max(m_body->layout()->totalHeightForWidth(width), m_body->minimumSizeHint().height()));
    m_place = placeCallOut(target, size, m_window.rect(), px(kArrow), m_kept ? m_kept() : QRect());
    setGeometry(m_place.box);
    m_body->setGeometry(wordsIn(m_place, px(kArrow)));
    show();
    raise();
    update();
}

void CallOut::focusNext()
{
    QWidget* now = m_window.focusWidget();
    if (now == nullptr || !isAncestorOf(now)) {
        m_focusBefore = now;
    }
    m_next->setFocus(Qt::OtherFocusReason);
}

void CallOut::hideEvent(QHideEvent* event)
{
    const QWidget* now = m_window.focusWidget();
    if (now != nullptr && isAncestorOf(now)) { // Qt would take the next widget in the chain, whatever it is
        QWidget* next = m_focusBefore != nullptr && m_focusBefore->isVisible() ? m_focusBefore.data() : &m_window;
        next->setFocus(Qt::OtherFocusReason);
    }
    QWidget::hideEvent(event);
}

QString CallOut::title() const { return m_title->text(); }

QString CallOut::text() const { return m_text->text(); }

void CallOut::paintEvent(QPaintEvent* /*event*/)
{
    const views::Theme& colors = views::theme(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(colors[Role::Accent], 1.5));
    painter.setBrush(colors[Role::Base]);
    painter.drawPath(bubble(m_place, px(kArrow)));
}

void CallOut::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && m_progress != nullptr) {
        applyColors();
    }
}

void CallOut::applyColors()
{
    QPalette palette = m_progress->palette();
    const QColor& quiet = views::theme(this)[Role::Text3];
    if (palette.color(QPalette::WindowText) != quiet) {
        palette.setColor(QPalette::WindowText, quiet);
        m_progress->setPalette(palette);
    }
}

CallOutRing::CallOutRing(QWidget& window) : QWidget(&window)
{
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setFocusPolicy(Qt::NoFocus);
    hide();
}

void CallOutRing::surround(const QRect& target)
{
    setGeometry(target);
    show();
    raise();
}

void CallOutRing::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(views::theme(this)[Role::Accent], kRing));
    painter.drawRoundedRect(QRectF(rect()).adjusted(kRing / 2.0, kRing / 2.0, -kRing / 2.0, -kRing / 2.0), 3, 3);
}

} // namespace retro::app

#include "moc_callout.cpp"
