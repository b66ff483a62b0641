// SPDX-License-Identifier: Apache-2.0
#include "views/notebook/notebookdelegate.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/marks.h"
#include "views/notebook/notebookmodel.h"

#include <QLineEdit>
#include <QPainter>

#include <cmath>

namespace retro::views
{

namespace
{

void paintGround(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const bool isHere = index.data(NotebookModel::IsHereRole).toBool();
    const bool isSelected = option.state.testFlag(QStyle::State_Selected);
    const Role ground = isSelected ? Role::Sel : (index.row() % 2 == 1 ? Role::Alt : Role::Base);
    painter.fillRect(option.rect, colors[ground]);
    if (isHere && index.column() == 0) {
        painter.fillRect(QRect(option.rect.left(), option.rect.top(), fonts::px(3), option.rect.height()),
                         colors[Role::Accent]);
    }
}

void paintPin(QPainter& painter, const QStyleOptionViewItem& option, const Theme& colors)
{
    const int side = fonts::px(14);
    const double ratio = option.widget != nullptr ? option.widget->devicePixelRatioF() : 1;
    painter.drawPixmap(option.rect.left() + fonts::px(6), option.rect.center().y() - side / 2 + 1,
                       icons::pixmap(QStringLiteral("pin"), side, colors[Role::Accent], ratio));
}

void paintMode(QPainter& painter, const QStyleOptionViewItem& option, event::Mode mode, const Theme& colors)
{
    if (mode != event::Mode::None) {
        const double side = fonts::px(15);
        const double top = std::round(option.rect.center().y() - side / 2 + 1);
        paintModeMark(painter, QRectF(option.rect.left() + fonts::px(6), top, side, side), mode, colors);
    }
}

void paintText(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index, const Theme& colors)
{
    const int column = index.column();
    const bool isFigure = column == NotebookModel::StepColumn || column == NotebookModel::SumColumn;
    const QFont font = isFigure ? fonts::smallNumbers() : fonts::label();
    const QRectF box = QRectF(option.rect).adjusted(fonts::px(6), 0, -fonts::px(6), 0);
    painter.setFont(font);
    painter.setPen(colors[index.data(NotebookModel::IsQuietRole).toBool() ? Role::Text2 : Role::Text]);
    const auto elide = column == NotebookModel::CommentColumn ? Qt::ElideRight : Qt::ElideMiddle;
    painter.drawText(box, index.data(Qt::TextAlignmentRole).toInt() | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(index.data().toString(), elide, std::ceil(box.width())));
}

} // namespace

void NotebookDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const Theme& colors = theme(option.widget);
    painter->save();
    painter->setClipRect(option.rect);
    paintGround(*painter, option, index, colors);
    if (index.column() == NotebookModel::StepColumn && index.data(NotebookModel::IsPinnedRole).toBool()) {
        paintPin(*painter, option, colors);
    }
    if (index.column() == NotebookModel::ModeColumn) {
        paintMode(*painter, option, static_cast<event::Mode>(index.data(NotebookModel::ModeRole).toInt()), colors);
    } else {
        paintText(*painter, option, index, colors);
    }
    painter->restore();
}

QWidget* NotebookDelegate::createEditor(QWidget* parent, const QStyleOptionViewItem& /*option*/,
                                        const QModelIndex& /*index*/) const
{
    auto* line = new QLineEdit(parent);
    line->setFrame(false);
    line->setFont(fonts::label());
    line->setMaxLength(NotebookModel::kMostCharacters);
    line->setPlaceholderText(tr("What is to be seen here"));
    line->setAccessibleName(tr("Comment of the pinned place"));
    return line;
}

} // namespace retro::views
