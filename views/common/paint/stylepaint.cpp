// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/stylepaint.h"

#include "views/common/paint/marks.h"
#include "views/common/paint/theme.h"

#include <QPainter>
#include <QPainterPath>
#include <QStyle>
#include <QStyleOption>
#include <QToolButton>
#include <QVariant>
#include <QWidget>

#include <algorithm>

namespace retro::views::stylepaint
{

namespace
{

constexpr double kRadius = 4;

bool has(const QStyleOption& option, QStyle::StateFlag flag) { return option.state.testFlag(flag); }

void roundBox(QPainter& painter, const QRectF& box, const QBrush& fill, const QColor& line, double radius = kRadius)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(fill);
    painter.setPen(QPen(line, 1));
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), radius, radius);
    painter.restore();
}

bool hasProperty(const QWidget* widget, const char* name)
{
    return widget != nullptr && widget->property(name).toBool();
}

struct Neighbours
{
    bool left = false;
    bool right = false;
};

// Segments that touch another one share the edge with it.
Neighbours segmentsBeside(const QWidget* widget)
{
    Neighbours found;
    if (!hasProperty(widget, "segment") || widget->parentWidget() == nullptr) {
        return found;
    }
    for (const QObject* child : widget->parentWidget()->children()) {
        const auto* other = qobject_cast<const QToolButton*>(child);
        if (other == nullptr || other == widget || !hasProperty(other, "segment") || other->isHidden() ||
            other->y() != widget->y()) {
            continue;
        }
        found.left = found.left || other->geometry().right() + 1 == widget->x();
        found.right = found.right || widget->geometry().right() + 1 == other->x();
    }
    return found;
}

void buttonBox(QPainter& painter, const QRect& box, const QColor& fill, const QColor& line, const QWidget* widget)
{
    const Neighbours beside = segmentsBeside(widget);
    painter.save();
    painter.setClipRect(box);
    // Where a neighbour follows, the rounded end and one of the two lines lie outside of the clip.
    const int reach = static_cast<int>(2 * kRadius);
    roundBox(painter, box.adjusted(beside.left ? -reach : 0, 0, beside.right ? reach : 0, 0), fill, line);
    if (beside.right) {
        painter.setPen(QPen(line, 1));
        painter.drawLine(box.topRight(), box.bottomRight());
    }
    painter.restore();
}

bool isTouched(const QStyleOption& option)
{
    return has(option, QStyle::State_Enabled) &&
           (has(option, QStyle::State_MouseOver) || has(option, QStyle::State_Sunken));
}

QColor buttonFill(const QStyleOption& option, const Theme& colors)
{
    if (!has(option, QStyle::State_Enabled)) {
        return colors[Role::Window];
    }
    if (has(option, QStyle::State_Sunken)) {
        return colors[Role::Line];
    }
    if (has(option, QStyle::State_On)) {
        return colors[Role::Sel];
    }
    return colors[has(option, QStyle::State_MouseOver) ? Role::Grid : Role::Button];
}

void filledButton(const QStyleOption& option, QPainter& painter, const QWidget* widget)
{
    const Theme& colors = theme();
    QColor fill = colors[Role::Accent];
    if (has(option, QStyle::State_Sunken)) {
        fill = fill.darker(115);
    } else if (has(option, QStyle::State_MouseOver)) {
        fill = fill.lighter(108);
    }
    buttonBox(painter, option.rect, fill, fill, widget);
}

// ▾ drawn as two strokes, centred.
void arrowDown(QPainter& painter, const QPointF& center, double half, const QColor& color)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    const QPointF points[3] = {center + QPointF(-half, -half * 0.5), center + QPointF(half, -half * 0.5),
                               center + QPointF(0, half * 0.7)};
    painter.drawPolygon(points, 3);
    painter.restore();
}

} // namespace

bool isFilled(const QWidget* widget) { return hasProperty(widget, "filled"); }

bool isOnAccent(const QStyleOption& option, const QWidget* widget)
{
    const bool isSegment = hasProperty(widget, "segment");
    return isFilled(widget) && has(option, QStyle::State_Enabled) && (has(option, QStyle::State_On) || !isSegment);
}

void button(const QStyleOption& option, QPainter& painter, const QWidget* widget)
{
    const bool isSegment = hasProperty(widget, "segment");
    if (isOnAccent(option, widget)) {
        return filledButton(option, painter, widget);
    }
    const bool isFlat = has(option, QStyle::State_AutoRaise) && !isSegment && !has(option, QStyle::State_On);
    if (isFlat && !isTouched(option)) {
        return; // a tool button shows its frame only under the pointer
    }
    const Theme& colors = theme(widget);
    buttonBox(painter, option.rect, buttonFill(option, colors), colors[isFlat ? Role::Grid : Role::ButtonLine], widget);
}

void field(const QStyleOption& option, QPainter& painter)
{
    const Theme& colors = theme();
    const auto* frameOption = qstyleoption_cast<const QStyleOptionFrame*>(&option);
    if (frameOption != nullptr && frameOption->lineWidth == 0) {
        return; // a field inside another control
    }
    const bool hasFocus = has(option, QStyle::State_HasFocus) && has(option, QStyle::State_Enabled);
    roundBox(painter, option.rect, has(option, QStyle::State_Enabled) ? colors[Role::Base] : colors[Role::Window],
             hasFocus ? colors[Role::Accent] : colors[Role::ButtonLine]);
}

void frame(const QStyleOption& option, QPainter& painter)
{
    painter.save();
    painter.setPen(QPen(theme()[Role::Line], 1));
    painter.drawRect(option.rect.adjusted(0, 0, -1, -1));
    painter.restore();
}

void flat(const QStyleOption& option, QPainter& painter, bool hasOutline)
{
    const Theme& colors = theme();
    if (!hasOutline) {
        painter.fillRect(option.rect, colors[Role::Window]);
        return;
    }
    painter.save();
    painter.setPen(QPen(colors[Role::ButtonLine], 1));
    painter.drawRect(option.rect.adjusted(0, 0, -1, -1));
    painter.restore();
}

void checkBox(const QStyleOption& option, QPainter& painter)
{
    const Theme& colors = theme();
    const bool isOn = has(option, QStyle::State_On);
    const bool isEnabled = has(option, QStyle::State_Enabled);
    const QColor fill = isOn && isEnabled ? colors[Role::Accent] : colors[Role::Base];
    const QColor line = isOn && isEnabled ? colors[Role::Accent] : colors[isEnabled ? Role::Strong : Role::ButtonLine];
    const QRectF box(option.rect);
    roundBox(painter, box, fill, line, 2.5);
    if (isOn) {
        const QColor tick = isEnabled ? colors[Role::OnAccent] : colors[Role::Ghost];
        paintTick(painter, box.center(), box.width() * 0.27, tick);
    }
    if (has(option, QStyle::State_NoChange)) {
        painter.fillRect(box.adjusted(4, box.height() / 2 - 1, -4, -box.height() / 2 + 1), colors[Role::Text]);
    }
}

void branch(const QStyleOption& option, QPainter& painter)
{
    const Theme& colors = theme();
    const QRect box = option.rect;
    const QPoint middle = box.center();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors[Role::Line], 1));
    if (has(option, QStyle::State_Sibling) || has(option, QStyle::State_Item)) {
        const int lower = has(option, QStyle::State_Sibling) ? box.bottom() : middle.y();
        painter.drawLine(middle.x(), box.top(), middle.x(), lower);
    }
    if (has(option, QStyle::State_Item)) {
        painter.drawLine(middle.x(), middle.y(), box.right(), middle.y());
    }
    painter.restore();
    if (!has(option, QStyle::State_Children)) {
        return;
    }
    // The guide stops short of the arrow.
    const QColor ground = has(option, QStyle::State_Selected) ? colors[Role::Sel] : colors[Role::Base];
    painter.fillRect(QRect(middle.x() - 5, middle.y() - 5, 11, 11), ground);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors[Role::Text2]);
    const QPointF c = QPointF(middle) + QPointF(0.5, 0.5);
    if (has(option, QStyle::State_Open)) {
        const QPointF down[3] = {c + QPointF(-4, -2), c + QPointF(4, -2), c + QPointF(0, 3.5)};
        painter.drawPolygon(down, 3);
    } else {
        const QPointF right[3] = {c + QPointF(-2, -4), c + QPointF(3.5, 0), c + QPointF(-2, 4)};
        painter.drawPolygon(right, 3);
    }
    painter.restore();
}

/// On the accent in the colour of its text, else nobody saw it.
void focusRing(const QStyleOption& option, QPainter& painter, const QWidget* widget)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme()[isOnAccent(option, widget) ? Role::OnAccent : Role::Accent], 1));
    painter.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
    painter.restore();
}

void tab(const QStyleOption& option, QPainter& painter)
{
    const Theme& colors = theme();
    const bool isOn = has(option, QStyle::State_Selected);
    const QRect box = option.rect;
    painter.fillRect(box, isOn ? colors[Role::Base] : colors[Role::Header]);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawLine(box.topRight(), box.bottomRight());
    if (isOn) {
        painter.fillRect(QRect(box.left(), box.top(), box.width(), 2), colors[Role::Accent]);
    } else {
        painter.drawLine(box.bottomLeft(), box.bottomRight());
    }
    painter.restore();
}

void headerSection(const QStyleOption& option, QPainter& painter)
{
    const Theme& colors = theme();
    painter.fillRect(option.rect, colors[Role::Header]);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawLine(option.rect.bottomLeft(), option.rect.bottomRight());
    painter.restore();
}

void menuBarItem(const QStyleOptionMenuItem& option, QPainter& painter)
{
    const Theme& colors = theme();
    const bool isActive = has(option, QStyle::State_Selected);
    painter.fillRect(option.rect, isActive ? colors[Role::Line] : colors[Role::Window]);
    painter.setPen(has(option, QStyle::State_Enabled) ? colors[Role::Text] : colors[Role::Ghost]);
    painter.drawText(option.rect, Qt::AlignCenter | Qt::TextShowMnemonic | Qt::TextDontClip | Qt::TextSingleLine,
                     option.text);
}

void comboBox(const QStyleOptionComboBox& option, QPainter& painter)
{
    const Theme& colors = theme();
    const bool isEnabled = has(option, QStyle::State_Enabled);
    const bool isTouched = isEnabled && has(option, QStyle::State_MouseOver);
    const bool hasFocus = isEnabled && has(option, QStyle::State_HasFocus);
    QColor fill = option.editable ? colors[Role::Base] : colors[Role::Button];
    if (!isEnabled) {
        fill = colors[Role::Window];
    } else if (isTouched && !option.editable) {
        fill = colors[Role::Grid];
    }
    roundBox(painter, option.rect, fill, hasFocus ? colors[Role::Accent] : colors[Role::ButtonLine]);
    const QPointF at(option.rect.right() - 11, option.rect.center().y() + 0.5);
    arrowDown(painter, at, 4, isEnabled ? colors[Role::Text2] : colors[Role::Ghost]);
}

void spinBox(const QStyleOptionSpinBox& option, const QRect& up, const QRect& down, QPainter& painter)
{
    const Theme& colors = theme();
    const bool isEnabled = has(option, QStyle::State_Enabled);
    const bool hasFocus = isEnabled && has(option, QStyle::State_HasFocus);
    if (option.frame) {
        roundBox(painter, option.rect, isEnabled ? colors[Role::Base] : colors[Role::Window],
                 hasFocus ? colors[Role::Accent] : colors[Role::ButtonLine]);
    }
    const auto arrow = [&](const QRect& room, QAbstractSpinBox::StepEnabledFlag step, double tip) {
        const QPointF at(room.center().x() + 0.5, room.center().y() + 0.5);
        const QPointF corners[]{at + QPointF(-3, -tip / 2), at + QPointF(3, -tip / 2), at + QPointF(0, tip / 2)};
        painter.save();
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(isEnabled && option.stepEnabled.testFlag(step) ? colors[Role::Text2] : colors[Role::Ghost]);
        painter.drawConvexPolygon(corners, 3);
        painter.restore();
    };
    arrow(up, QAbstractSpinBox::StepUpEnabled, -4);
    arrow(down, QAbstractSpinBox::StepDownEnabled, 4);
}

void slider(const QStyleOptionSlider& option, const QRect& groove, const QRect& handle, QPainter& painter)
{
    const Theme& colors = theme();
    const bool isFlat = option.orientation == Qt::Horizontal;
    const bool isEnabled = has(option, QStyle::State_Enabled);
    const QColor line = isEnabled ? colors[Role::Accent] : colors[Role::Ghost];
    const QPointF middle = QRectF(handle).center();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    QRectF track = isFlat ? QRectF(groove.left(), middle.y() - 1.5, groove.width(), 3)
                          : QRectF(middle.x() - 1.5, groove.top(), 3, groove.height());
    painter.setPen(Qt::NoPen);
    painter.setBrush(colors[Role::ButtonLine]);
    painter.drawRoundedRect(track, 1.5, 1.5);
    if (isFlat) {
        track.setRight(middle.x());
    } else {
        track.setTop(middle.y());
    }
    painter.setBrush(line);
    painter.drawRoundedRect(track, 1.5, 1.5);
    painter.setBrush(colors[Role::Base]);
    painter.setPen(QPen(line, 1.5));
    const double radius = std::min(handle.width(), handle.height()) / 2.0 - 1.5;
    painter.drawEllipse(middle, radius, radius);
    painter.restore();
}

QRect scrollBarPart(const QStyleOptionSlider& option, QStyle::SubControl part, int leastSlider)
{
    const bool isFlat = option.orientation == Qt::Horizontal;
    const QRect bar = option.rect;
    const int length = isFlat ? bar.width() : bar.height();
    const qint64 range = qint64{option.maximum} - option.minimum;
    int slider = length;
    if (range > 0) {
        slider = static_cast<int>(qint64{option.pageStep} * length / (range + option.pageStep));
        slider = std::clamp(slider, std::min(leastSlider, length), length);
    }
    const int start = QStyle::sliderPositionFromValue(option.minimum, option.maximum, option.sliderPosition,
                                                      length - slider, option.upsideDown);
    const auto stretch = [&](int from, int size) {
        return isFlat ? QRect(bar.left() + from, bar.top(), size, bar.height())
                      : QRect(bar.left(), bar.top() + from, bar.width(), size);
    };
    switch (part) {
    case QStyle::SC_ScrollBarGroove:
        return bar;
    case QStyle::SC_ScrollBarSlider:
        return QStyle::visualRect(option.direction, bar, stretch(start, slider));
    case QStyle::SC_ScrollBarSubPage:
        return QStyle::visualRect(option.direction, bar, stretch(0, start));
    case QStyle::SC_ScrollBarAddPage:
        return QStyle::visualRect(option.direction, bar, stretch(start + slider, length - start - slider));
    default:
        return {};
    }
}

void scrollBar(const QStyleOptionSlider& option, const QRect& slider, QPainter& painter)
{
    const Theme& colors = theme();
    painter.fillRect(option.rect, colors[Role::Alt]);
    const bool isTouched = option.activeSubControls.testFlag(QStyle::SC_ScrollBarSlider) &&
                           (has(option, QStyle::State_MouseOver) || has(option, QStyle::State_Sunken));
    const QRectF box = QRectF(slider).adjusted(2.5, 2.5, -2.5, -2.5);
    const double radius = std::min(box.width(), box.height()) / 2;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(isTouched ? colors[Role::Strong] : colors[Role::Ghost]);
    painter.drawRoundedRect(box, radius, radius);
    painter.restore();
}

void progress(const QStyleOption& option, QPainter& painter, bool isContents)
{
    const Theme& colors = theme();
    const auto* bar = qstyleoption_cast<const QStyleOptionProgressBar*>(&option);
    if (!isContents) {
        return paintShareBar(painter, option.rect, 0, colors[Role::Accent], colors);
    }
    if (bar == nullptr) {
        return;
    }
    const bool isBusy = bar->maximum <= bar->minimum;
    const double share = isBusy ? 0 : double(bar->progress - bar->minimum) / (bar->maximum - bar->minimum);
    if (isBusy) {
        return paintHatch(painter, QRectF(option.rect).adjusted(1, 1, -1, -1), colors[Role::Accent], 8, 3);
    }
    paintShareBar(painter, option.rect, share, colors[Role::Accent], colors);
}

} // namespace retro::views::stylepaint
