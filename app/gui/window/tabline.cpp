// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tabline.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/hintlabel.h"

#include <QHBoxLayout>
#include <QPainter>

#include <algorithm>

namespace retro::app
{

using views::fonts::px;

TabLine::TabLine(QWidget* parent) : QWidget(parent)
{
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(px(10), 0, px(10), 0);
    m_words = new views::HintLabel(this);
    row->addWidget(m_words, 1);
}

void TabLine::setCaption(const DockCaption& caption, const QString& tab)
{
    m_words->setLead(caption.name == tab ? QString() : caption.name, caption.subject);
    m_words->setText(caption.hint);
    m_words->setAccessibleName(words());
    m_words->setVisible(!words().isEmpty());
    updateGeometry();
}

QString TabLine::words() const { return m_words->wholeText(); }

QSize TabLine::sizeHint() const
{
    return {layout()->sizeHint().width(), words().isEmpty() ? 0 : std::max(px(24), layout()->sizeHint().height())};
}

QSize TabLine::minimumSizeHint() const { return {layout()->minimumSize().width(), sizeHint().height()}; }

void TabLine::paintEvent(QPaintEvent* /*event*/)
{
    QPainter(this).fillRect(rect(), views::theme(this)[views::Role::Base]);
}

} // namespace retro::app

#include "moc_tabline.cpp"
