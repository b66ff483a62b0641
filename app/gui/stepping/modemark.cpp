// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/modemark.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/marks.h"

#include <QPainter>

namespace retro::app
{

ModeMark::ModeMark(QWidget* parent) : QWidget(parent) { setFixedSize(views::fonts::px(16), views::fonts::px(16)); }

void ModeMark::setMode(event::Mode mode)
{
    m_mode = mode;
    setAccessibleName(views::wordOf(mode));
    setVisible(mode != event::Mode::None);
    update();
}

void ModeMark::paintEvent(QPaintEvent* /*event*/)
{
    QPainter painter(this);
    views::paintModeMark(painter, QRectF(rect()), m_mode, views::theme(this));
}

} // namespace retro::app
