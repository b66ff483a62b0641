// SPDX-License-Identifier: Apache-2.0
#include "views/input/covertools.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"

#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

CoverTools::CoverTools(QWidget* parent) : QWidget(parent)
{
    auto* rows = makeBox<QVBoxLayout>(this, {fonts::px(8), 0, fonts::px(8), fonts::px(8)}, fonts::px(6));
    auto* first = new QHBoxLayout;
    first->setSpacing(fonts::px(8));
    m_size = new QSlider(Qt::Horizontal, this);
    m_size->setMinimum(1);
    m_size->setMinimumWidth(fonts::px(48));
    m_size->setAccessibleName(tr("Brush size in pixels"));
    m_size->setToolTip(tr("Size of the brush in pixels of the picture ([ and ], or the wheel)"));
    m_sizeText = new QLabel(this);
    m_sizeText->setFont(fonts::numbers());
    m_sizeText->setMinimumWidth(static_cast<int>(fonts::widthOf(fonts::numbers(), tr("%1 px").arg(888))) + 1);
    m_color = new QComboBox(this);
    m_color->addItem(tr("Surroundings"), static_cast<int>(CoverColor::Surroundings));
    m_color->addItem(tr("Grey"), static_cast<int>(CoverColor::Grey));
    m_color->setAccessibleName(tr("What is put in place of covered pixels"));
    m_color->setToolTip(tr("What is put in place of covered pixels: the colours around them, or grey"));
    first->addWidget(m_size, 1);
    first->addWidget(m_sizeText);
    first->addWidget(m_color);
    rows->addLayout(first);
    m_buttons = new QHBoxLayout;
    m_buttons->setSpacing(fonts::px(2)); // their words are whole in a low window, too
    rows->addLayout(m_buttons);
    connect(m_size, &QSlider::valueChanged, this, &CoverTools::brushSizeChanged);
    connect(m_color, &QComboBox::currentIndexChanged, this, &CoverTools::colorChanged);
}

void CoverTools::addButtons(const QList<QAction*>& actions)
{
    for (QAction* action : actions) {
        auto* button = new QToolButton(this);
        button->setDefaultAction(action);
        button->setToolButtonStyle(Qt::ToolButtonTextOnly);
        button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        m_buttons->addWidget(button);
    }
}

void CoverTools::setBrushSize(int pixels, int widest)
{
    const QSignalBlocker quiet(m_size);
    m_size->setMaximum(widest);
    m_size->setValue(pixels);
    m_sizeText->setText(tr("%1 px").arg(pixels, 2));
}

CoverColor CoverTools::color() const { return static_cast<CoverColor>(m_color->currentData().toInt()); }

QSize CoverTools::minimumSizeHint() const { return {fonts::px(200), QWidget::minimumSizeHint().height()}; }

} // namespace retro::views

#include "moc_covertools.cpp"
