// SPDX-License-Identifier: Apache-2.0
#include "views/palette/palettedelegate.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/palette/palettemodel.h"

#include <QPainter>

#include <algorithm>

namespace retro::views
{

namespace
{

struct Pen
{
    QPainter& painter;
    const Theme& colors;
    bool isEnabled;

    [[nodiscard]] const QColor& text() const { return colors[isEnabled ? Role::Text : Role::Text3]; }
};

double drawText(QPainter& painter, const QRectF& box, const QString& text, const QFont& font, const QColor& color,
                Qt::Alignment alignment = Qt::AlignLeft)
{
    painter.setFont(font);
    painter.setPen(color);
    const QString shown = QFontMetricsF(font).elidedText(text, Qt::ElideMiddle, box.width());
    painter.drawText(box, static_cast<int>(alignment | Qt::AlignVCenter) | Qt::TextSingleLine, shown);
    return fonts::widthOf(font, shown);
}

/// The text in runs of typed and other letters; typed ones are bold. Returns the width.
double drawMarked(const Pen& pen, QRectF box, const PaletteItem& item)
{
    const double left = box.left();
    const auto isTyped = [&](int at) { return std::binary_search(item.places.begin(), item.places.end(), at); };
    const auto size = static_cast<int>(item.text.size());
    for (int from = 0, to = 0; from < size && box.width() > 1; from = to) {
        for (to = from + 1; to < size && isTyped(to) == isTyped(from); ++to) {
        }
        const QFont font = fonts::content(isTyped(from) ? QFont::Bold : QFont::Normal);
        const QColor& color = isTyped(from) && pen.isEnabled ? pen.colors[Role::Accent] : pen.text();
        box.setLeft(box.left() + drawText(pen.painter, box, item.text.mid(from, to - from), font, color));
    }
    return box.left() - left;
}

} // namespace

void PaletteDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const auto* model = qobject_cast<const PaletteModel*>(index.model());
    if (model == nullptr) {
        return;
    }
    const PaletteItem& item = model->itemAt(index.row());
    const Pen pen{*painter, theme(option.widget), item.isEnabled};
    painter->save();
    const bool isCurrent = option.state.testFlag(QStyle::State_Selected);
    painter->fillRect(option.rect, pen.colors[isCurrent ? Role::Sel : Role::Base]);
    QRectF box = QRectF(option.rect).adjusted(fonts::px(12), 0, -fonts::px(12), 0);
    const int side = fonts::px(16);
    const double ratio = painter->device()->devicePixelRatioF();
    const QColor& tint = pen.colors[item.isEnabled ? Role::Text2 : Role::Ghost];
    painter->drawPixmap(QPointF(box.left(), box.center().y() - side / 2.0),
                        icons::pixmap(item.icon, side, tint, ratio));
    box.setLeft(box.left() + side + fonts::px(10));
    const double keyWidth = item.key.isEmpty() ? 0 : fonts::widthOf(fonts::numbers(), item.key) + fonts::px(16);
    drawText(*painter, box, item.key, fonts::numbers(), pen.colors[Role::Text3], Qt::AlignRight);
    box.setRight(box.right() - keyWidth);
    box.setLeft(box.left() + drawMarked(pen, box, item) + fonts::px(12));
    if (box.width() > fonts::px(40)) {
        drawText(*painter, box, item.detail, fonts::label(), pen.colors[Role::Text3]);
    }
    painter->restore();
}

QSize PaletteDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& /*index*/) const
{
    return {option.rect.width(), fonts::px(28)};
}

} // namespace retro::views
