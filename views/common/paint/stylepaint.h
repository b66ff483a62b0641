// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRect>
#include <QStyle>

class QPainter;
class QStyleOption;
class QStyleOptionComboBox;
class QStyleOptionMenuItem;
class QStyleOptionSlider;
class QStyleOptionSpinBox;
class QWidget;

/// The drawings of Style, one function per element.
namespace retro::views::stylepaint
{

/// True when the button lies on the accent.
[[nodiscard]] bool isFilled(const QWidget* widget);
/// Its ground is the accent now.
[[nodiscard]] bool isOnAccent(const QStyleOption& option, const QWidget* widget);

void button(const QStyleOption& option, QPainter& painter, const QWidget* widget);
void field(const QStyleOption& option, QPainter& painter);
void frame(const QStyleOption& option, QPainter& painter);
/// Window colour; with an outline for menus.
void flat(const QStyleOption& option, QPainter& painter, bool hasOutline);
void checkBox(const QStyleOption& option, QPainter& painter);
/// Guide lines and ▸ ▾ of a tree.
void branch(const QStyleOption& option, QPainter& painter);
void focusRing(const QStyleOption& option, QPainter& painter, const QWidget* widget);
void tab(const QStyleOption& option, QPainter& painter);
void headerSection(const QStyleOption& option, QPainter& painter);
void menuBarItem(const QStyleOptionMenuItem& option, QPainter& painter);
void comboBox(const QStyleOptionComboBox& option, QPainter& painter);
/// Frame of a spin box and its arrows, in the rectangles of the buttons.
void spinBox(const QStyleOptionSpinBox& option, const QRect& up, const QRect& down, QPainter& painter);
void slider(const QStyleOptionSlider& option, const QRect& groove, const QRect& handle, QPainter& painter);
/// Parts of a scroll bar without arrows: groove, slider, the pages before and after it.
[[nodiscard]] QRect scrollBarPart(const QStyleOptionSlider& option, QStyle::SubControl part, int leastSlider);
void scrollBar(const QStyleOptionSlider& option, const QRect& slider, QPainter& painter);
void progress(const QStyleOption& option, QPainter& painter, bool isContents);

} // namespace retro::views::stylepaint
