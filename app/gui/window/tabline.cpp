// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tabline.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/elidedlabel.h"
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
    row->setSpacing(px(8));
    m_name = new views::ElidedLabel({}, views::Role::Text, views::fonts::label(QFont::DemiBold), this);
    m_subject = new views::ElidedLabel({}, views::Role::Text3, views::fonts::label(), this);
    m_hint = new views::HintLabel(this);
    row->addWidget(m_name);
    row->addWidget(m_subject);
    row->addWidget(m_hint, 1);
}

void TabLine::setCaption(const DockCaption& caption, const QString& tab)
{
    const QString name = caption.name == tab ? QString() : caption.name;
    m_name->setText(name);
    m_name->setVisible(!name.isEmpty());
    m_subject->setText(caption.subject);
    m_subject->setVisible(!caption.subject.isEmpty());
    m_hint->setText(caption.hint);
    m_hint->setVisible(!caption.hint.isEmpty());
    m_hasWords = !(name + caption.subject + caption.hint).isEmpty();
    updateGeometry();
}

QSize TabLine::sizeHint() const
{
    return {layout()->sizeHint().width(), m_hasWords ? std::max(px(24), layout()->sizeHint().height()) : 0};
}

QSize TabLine::minimumSizeHint() const { return {layout()->minimumSize().width(), sizeHint().height()}; }

void TabLine::paintEvent(QPaintEvent* /*event*/)
{
    QPainter(this).fillRect(rect(), views::theme(this)[views::Role::Base]);
}

} // namespace retro::app
