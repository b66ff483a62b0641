// SPDX-License-Identifier: Apache-2.0
#include "views/log/logdelegate.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"
#include "views/log/logmodel.h"

#include <QPainter>

#include <cmath>

namespace retro::views
{

namespace
{

void paintGround(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isCursor = index.data(LogModel::IsCursorRole).toBool();
    const bool isSelected = option.state.testFlag(QStyle::State_Selected);
    const Role ground = isCursor || isSelected ? Role::Sel : (index.row() % 2 == 1 ? Role::Alt : Role::Base);
    painter.fillRect(option.rect, colors[ground]);
    if (isCursor && index.column() == 0) {
        painter.fillRect(QRect(option.rect.left(), option.rect.top(), fonts::px(3), option.rect.height()),
                         colors[Role::Accent]);
    }
}

void paintMode(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const auto mode = static_cast<event::Mode>(index.data(LogModel::ModeRole).toInt());
    if (mode == event::Mode::None) {
        return;
    }
    const double side = fonts::px(15);
    const double top = std::round(option.rect.center().y() - side / 2 + 1);
    painter.setOpacity(index.data(LogModel::IsLaterRole).toBool() ? 0.6 : 1);
    paintModeMark(painter, QRectF(option.rect.left() + fonts::px(6), top, side, side), mode, colors);
}

void paintText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isFigure = index.column() == LogModel::EventColumn || index.column() == LogModel::VisitColumn ||
                          index.column() == LogModel::PromiseColumn || index.column() == LogModel::BytesColumn;
    const QFont font = isFigure ? fonts::smallNumbers() : fonts::label();
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(6), 0, -fonts::px(6), 0);
    painter.setFont(font);
    painter.setPen(colors[index.data(LogModel::IsLaterRole).toBool() ? Role::Text3 : Role::Text]);
    painter.drawText(box, index.data(Qt::TextAlignmentRole).toInt() | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideMiddle, std::ceil(box.width())));
}

} // namespace

void LogDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    paintGround(*painter, option, index, colors);
    if (index.column() == LogModel::ModeColumn) {
        paintMode(*painter, option, index, colors);
    } else {
        paintText(*painter, option, index, colors);
    }
    painter->restore();
}

} // namespace retro::views
