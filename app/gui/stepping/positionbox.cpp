// SPDX-License-Identifier: Apache-2.0
#include "app/gui/stepping/positionbox.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>

namespace retro::app
{

using views::fonts::px;

PositionBox::PositionBox(const QString& name, const QString& tip, QWidget* parent) : QWidget(parent)
{
    auto* row = views::makeBox<QHBoxLayout>(this, {px(8), 0, px(12), 0}, 0);
    m_field = new QLineEdit(this);
    m_field->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    m_field->setFont(views::fonts::numbers());
    m_field->setFixedWidth(px(64));
    m_field->setAccessibleName(name);
    m_field->setToolTip(tip);
    m_count = new QLabel(this);
    m_count->setFont(views::fonts::numbers());
    row->addWidget(m_field);
    row->addWidget(m_count);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
}

} // namespace retro::app

#include "moc_positionbox.cpp"
