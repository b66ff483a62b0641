// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphnote.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/graph/graphoverlays.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QToolButton>

namespace retro::views
{

GraphNote::GraphNote(const QString& button, const QString& tip, QWidget* parent) : QWidget(parent)
{
    auto* row = makeBox<QHBoxLayout>(this, {fonts::px(10), fonts::px(3), fonts::px(3), fonts::px(3)}, fonts::px(8));
    m_text = new QLabel(this);
    m_text->setFont(fonts::label());
    m_text->setTextFormat(Qt::PlainText);
    m_button = new QToolButton(this);
    m_button->setFont(fonts::label());
    m_button->setFocusPolicy(Qt::TabFocus);
    row->addWidget(m_text);
    row->addWidget(m_button);
    setButton(button, tip);
    connect(m_button, &QToolButton::clicked, this, &GraphNote::pressed);
    hide();
}

void GraphNote::say(const QString& text)
{
    m_text->setText(text);
    setAccessibleName(text);
    setVisible(!text.isEmpty());
}

void GraphNote::setButton(const QString& button, const QString& tip)
{
    m_button->setText(button);
    m_button->setToolTip(tip);
    m_button->setAccessibleName(tip);
}

QString GraphNote::text() const { return m_text->text(); }

void GraphNote::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintCornerPanel(painter, rect(), theme(this), Role::Header);
}

} // namespace retro::views

#include "moc_graphnote.cpp"
