// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/addrow.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"

#include <QHBoxLayout>
#include <QLineEdit>
#include <QToolButton>

namespace retro::views
{

AddRow::AddRow(const Words& words, QWidget* parent)
    : QWidget(parent), m_line(new QLineEdit(this)), m_button(new QToolButton(this))
{
    auto* row = makeBox<QHBoxLayout>(this, {fonts::px(8), fonts::px(4), fonts::px(8), fonts::px(4)}, fonts::px(8));
    m_line->setPlaceholderText(words.example);
    m_line->setAccessibleName(words.lineName);
    m_line->setToolTip(words.lineTip);
    m_line->setClearButtonEnabled(true);
    m_button->setText(tr("Add"));
    m_button->setAccessibleName(words.buttonName);
    m_button->setToolTip(words.buttonTip);
    m_button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    row->addWidget(m_line, 1);
    row->addWidget(m_button);
    connect(m_line, &QLineEdit::returnPressed, this, &AddRow::typed);
    connect(m_button, &QToolButton::clicked, this, &AddRow::pressed);
}

} // namespace retro::views

#include "moc_addrow.cpp"
