// SPDX-License-Identifier: Apache-2.0
#include "views/common/widgets/docktitle.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/common/widgets/hintlabel.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QMouseEvent>
#include <QPainter>
#include <QToolButton>
#include <QVBoxLayout>

namespace retro::views
{

QToolButton* makeTitleButton(const QString& icon, const QString& tip, QWidget* parent)
{
    auto* button = new QToolButton(parent);
    button->setAutoRaise(true);
    button->setIcon(icons::icon(icon));
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

DockTitle::DockTitle(QDockWidget& dock) : QWidget(&dock), m_dock(dock)
{
    auto* column = makeBox<QVBoxLayout>(this, {}, 0);

    m_bar = new QWidget(this);
    m_bar->setFixedHeight(fonts::px(28));
    auto* row = makeBox<QHBoxLayout>(m_bar, {fonts::px(10), 0, fonts::px(2), 1}, fonts::px(8));
    m_name = new ElidedLabel(dock.windowTitle(), Role::Text, fonts::content(QFont::DemiBold), m_bar);
    m_subject = new ElidedLabel({}, Role::Text3, fonts::label(), m_bar);
    row->addWidget(m_name);
    row->addWidget(m_subject, 1);
    m_tools = new QHBoxLayout;
    m_tools->setSpacing(fonts::px(2));
    row->addLayout(m_tools);
    auto* floatButton = makeTitleButton(QStringLiteral("float"), tr("Make this pane a window of its own"), m_bar);
    auto* closeButton =
        makeTitleButton(QStringLiteral("close"), tr("Close this pane (menu Window brings it back)"), m_bar);
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(0);
    buttons->addWidget(floatButton);
    buttons->addWidget(closeButton);
    row->addLayout(buttons);
    column->addWidget(m_bar);

    m_hint = new HintLabel(this);
    m_hint->setContentsMargins(fonts::px(10), 0, fonts::px(10), 0);
    column->addWidget(m_hint);
    updateHint();

    connect(&dock, &QDockWidget::windowTitleChanged, m_name, &QLabel::setText);
    connect(floatButton, &QToolButton::clicked, this, [this] { m_dock.setFloating(!m_dock.isFloating()); });
    connect(closeButton, &QToolButton::clicked, &dock, &QDockWidget::close);
    const auto matchFeatures = [floatButton, closeButton](QDockWidget::DockWidgetFeatures features) {
        floatButton->setVisible(features.testFlag(QDockWidget::DockWidgetFloatable));
        closeButton->setVisible(features.testFlag(QDockWidget::DockWidgetClosable));
    };
    connect(&dock, &QDockWidget::featuresChanged, this, matchFeatures);
    matchFeatures(dock.features());
}

void DockTitle::setSubject(const QString& subject) { m_subject->setText(subject); }

void DockTitle::setHint(const QString& hint)
{
    m_hint->setText(hint);
    updateHint();
}

void DockTitle::setHintShown(bool isShown)
{
    m_isHintShown = isShown;
    updateHint();
}

void DockTitle::addTool(QWidget* tool) { m_tools->addWidget(tool); }

QString DockTitle::subject() const { return m_subject->text(); }

QString DockTitle::hint() const { return m_hint->text(); }

void DockTitle::updateHint() { m_hint->setVisible(m_isHintShown && !m_hint->text().isEmpty()); }

void DockTitle::paintEvent(QPaintEvent* /*event*/)
{
    const Theme& colors = theme(this);
    QPainter painter(this);
    painter.fillRect(rect(), colors[Role::Base]);
    const QRect bar = m_bar->geometry();
    painter.fillRect(bar, colors[Role::Header]);
    painter.setPen(QPen(colors[Role::Line], 1));
    painter.drawLine(bar.bottomLeft(), bar.bottomRight());
}

void DockTitle::mouseDoubleClickEvent(QMouseEvent* event)
{
    event->ignore(); // the dock floats or docks
}

} // namespace retro::views

#include "moc_docktitle.cpp"
