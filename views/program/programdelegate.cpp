// SPDX-License-Identifier: Apache-2.0
#include "views/program/programdelegate.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/program/programmodel.h"

#include <QPainter>

#include <cmath>

namespace retro::views
{

namespace
{

bool isBufferColumn(int column)
{
    return column == ProgramModel::NumberColumn || column == ProgramModel::MakesColumn ||
           column == ProgramModel::ReadsColumn || column == ProgramModel::PromiseColumn ||
           column == ProgramModel::FreesColumn;
}

Role groundOf(const QStyleOptionViewItem& option, const QModelIndex& index)
{
    if (index.data(ProgramModel::IsHeadingRole).toBool()) {
        return Role::Alt;
    }
    const bool isMarked = option.state.testFlag(QStyle::State_Selected) ||
                          index.data(ProgramModel::IsChosenRole).toBool() ||
                          index.data(ProgramModel::IsCursorRole).toBool();
    return isMarked ? Role::Sel : Role::Base;
}

void paintText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isHeading = index.data(ProgramModel::IsHeadingRole).toBool();
    const bool isPale = index.data(ProgramModel::IsLaterRole).toBool();
    const QFont font = isHeading                        ? fonts::label(QFont::DemiBold)
                       : isBufferColumn(index.column()) ? fonts::smallNumbers()
                                                        : fonts::label();
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(6), 0, -fonts::px(6), 0);
    painter.setFont(font);
    painter.setPen(colors[isPale ? Role::Text3 : Role::Text]);
    painter.drawText(box, index.data(Qt::TextAlignmentRole).toInt() | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), Qt::ElideRight, std::ceil(box.width())));
}

} // namespace

void ProgramDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    painter->fillRect(option.rect, colors[groundOf(option, index)]);
    if (index.column() == 0 && index.data(ProgramModel::IsCursorRole).toBool()) {
        painter->fillRect(QRect(option.rect.left(), option.rect.top(), fonts::px(3), option.rect.height()),
                          colors[Role::Accent]);
    }
    paintText(*painter, option, index, colors);
    painter->restore();
}

} // namespace retro::views
