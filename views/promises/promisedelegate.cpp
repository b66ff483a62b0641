// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisedelegate.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/promises/promisetreemodel.h"

#include <QApplication>
#include <QPainter>

#include <cmath>

namespace retro::views
{

namespace
{

QColor textColor(PromiseRowState state, const Theme& colors)
{
    switch (state) {
    case PromiseRowState::Waits:
        return colors[Role::SearchText];
    case PromiseRowState::Fulfilled:
        return colors[Role::FulfilText];
    default:
        return colors[Role::Text3];
    }
}

void paintSymbol(QPainter& painter, const QPointF& center, PromiseRowState state, const Theme& colors)
{
    const double radius = fonts::px(5);
    switch (state) {
    case PromiseRowState::Waits:
        return paintDiamond(painter, center, radius, colors[Role::SearchLine], false);
    case PromiseRowState::Fulfilled:
        return paintDiamond(painter, center, radius, colors[Role::FulfilLine], true);
    case PromiseRowState::Found:
        return paintTick(painter, center, radius - 1, colors[Role::Text3]);
    case PromiseRowState::Constant:
        painter.setPen(colors[Role::Text3]);
        painter.setFont(fonts::content());
        painter.drawText(QRectF(center.x() - radius, center.y() - 10, 2 * radius, 20), Qt::AlignCenter,
                         QStringLiteral("="));
        return;
    case PromiseRowState::NotYet:
        return;
    }
}

void paintName(QPainter& painter, const QRectF& box, const QModelIndex& index, const QColor& color)
{
    const QString id = index.data(PromiseTreeModel::IdRole).toString();
    const QString place = index.data(PromiseTreeModel::PlaceRole).toString();
    const bool isPromise = id.contains(QLatin1Char('P'));
    const QFont bold = fonts::label(isPromise ? QFont::DemiBold : QFont::Normal);
    const QFont plain = fonts::label();
    painter.setPen(color);
    painter.setFont(bold);
    painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, id);
    const double width = fonts::widthOf(bold, id) + fonts::widthOf(plain, QStringLiteral(" "));
    painter.setFont(plain);
    const QRectF rest = box.adjusted(width, 0, 0, 0);
    painter.drawText(rest, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                     QFontMetricsF(plain).elidedText(place, Qt::ElideMiddle, rest.width()));
}

void paintFigure(QPainter& painter, const QRectF& box, const QModelIndex& index, const QColor& color)
{
    const bool isLeft = index.column() == PromiseTreeModel::ShapeColumn;
    const QFont font = fonts::smallNumbers();
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(box, (isLeft ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideMiddle, std::ceil(box.width())));
}

} // namespace

void PromiseDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    QStyleOptionViewItem plain = option;
    initStyleOption(&plain, index);
    plain.text.clear();
    plain.state.setFlag(QStyle::State_HasFocus, false);
    QApplication::style()->drawControl(QStyle::CE_ItemViewItem, &plain, painter, option.widget);

    const auto state = static_cast<PromiseRowState>(index.data(PromiseTreeModel::StateRole).toInt());
    const bool isLater = state == PromiseRowState::NotYet;
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(4), 0, -fonts::px(6), 0);
    painter->save();
    painter->setClipRect(option.rect);
    switch (index.column()) {
    case PromiseTreeModel::NameColumn:
        paintName(*painter, box, index, colors[isLater ? Role::Text3 : Role::Text]);
        break;
    case PromiseTreeModel::StateColumn: {
        const double symbol = fonts::px(14);
        paintSymbol(*painter, {box.left() + symbol / 2, box.center().y()}, state, colors);
        painter->setFont(fonts::label());
        painter->setPen(textColor(state, colors));
        painter->drawText(box.adjusted(symbol + 4, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, wordOf(state));
        break;
    }
    default:
        paintFigure(*painter, box, index, colors[Role::Text2]);
        break;
    }
    painter->restore();
}

QSize PromiseDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    QSize size = QStyledItemDelegate::sizeHint(option, index);
    size.setHeight(fonts::px(24));
    return size;
}

} // namespace retro::views
