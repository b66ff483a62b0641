// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/tabrow.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/docktitle.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QToolButton>

namespace retro::app
{

TabRow::TabRow(QTabBar& tabs, QWidget* parent) : QWidget(parent), m_tabs(&tabs)
{
    m_buttons = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(m_buttons, {0, 0, views::fonts::px(2), 1}, 0);
    auto* floatButton =
        views::makeTitleButton(QStringLiteral("float"), tr("Make this pane a window of its own"), m_buttons);
    auto* closeButton =
        views::makeTitleButton(QStringLiteral("close"), tr("Close this pane (menu Window brings it back)"), m_buttons);
    row->addWidget(floatButton);
    row->addWidget(closeButton);
    connect(floatButton, &QToolButton::clicked, this, [this] {
        if (m_front != nullptr) {
            m_front->setFloating(true);
        }
    });
    connect(closeButton, &QToolButton::clicked, this, [this] {
        if (m_front != nullptr) {
            m_front->close();
        }
    });
}

void TabRow::follow(QDockWidget* front)
{
    m_front = front;
    setVisible(front != nullptr);
    if (front == nullptr || m_tabs == nullptr) {
        return;
    }
    const QRect area(front->x(), m_tabs->y(), front->width(), m_tabs->height());
    const int buttons = m_buttons->sizeHint().width();
    m_tabs->setMaximumWidth(std::max(1, area.width() - buttons));
    views::fitTabs(*m_tabs, m_tabs->maximumWidth());
    if (m_tabs->width() != m_tabs->maximumWidth()) {
        m_tabs->resize(m_tabs->maximumWidth(), m_tabs->height());
    }
    setGeometry(area);
    m_buttons->setGeometry(area.width() - buttons, 0, buttons, area.height());
    stackUnder(m_tabs);
}

void TabRow::paintEvent(QPaintEvent* /*event*/)
{
    const views::Theme& colors = views::theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[views::Role::Header]);
    painter.setPen(QPen(colors[views::Role::Line], 1));
    painter.drawLine(rect().bottomLeft(), rect().bottomRight());
}

} // namespace retro::app

#include "moc_tabrow.cpp"
