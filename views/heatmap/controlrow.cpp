// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/controlrow.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"

#include <QAbstractButton>
#include <QAction>
#include <QComboBox>
#include <QHBoxLayout>
#include <QMenu>
#include <QResizeEvent>
#include <QToolButton>

namespace retro::views
{

namespace
{

void addComboMenu(QMenu& menu, QComboBox& combo, const QString& title)
{
    QMenu* choices = menu.addMenu(title);
    for (int i = 0; i < combo.count(); ++i) {
        QAction* action = choices->addAction(combo.itemText(i));
        action->setCheckable(true);
        action->setChecked(i == combo.currentIndex());
        QObject::connect(action, &QAction::triggered, &combo, [&combo, i] { combo.setCurrentIndex(i); });
    }
}

void addButtonAction(QMenu& menu, QAbstractButton& button)
{
    QAction* action = menu.addAction(button.text().isEmpty() ? button.toolTip() : button.text());
    action->setToolTip(button.toolTip());
    action->setCheckable(button.isCheckable());
    action->setChecked(button.isChecked());
    QObject::connect(action, &QAction::triggered, &button, &QAbstractButton::click);
}

} // namespace

ControlRow::ControlRow(QWidget* parent) : QWidget(parent)
{
    m_row = new QHBoxLayout(this);
    m_row->setContentsMargins(fonts::px(10), fonts::px(3), fonts::px(8), fonts::px(3));
    m_row->setSpacing(fonts::px(8));
    m_row->addStretch(1);
    m_menu = new QMenu(this);
    m_menu->setToolTipsVisible(true);
    connect(m_menu, &QMenu::aboutToShow, this, [this] { fillMenu(*m_menu); });
    m_more = new QToolButton(this);
    m_more->setAutoRaise(true);
    m_more->setIcon(icons::icon(QStringLiteral("settings")));
    m_more->setToolTip(tr("More settings, for which this pane is too narrow"));
    m_more->setAccessibleName(tr("More settings"));
    m_more->setPopupMode(QToolButton::InstantPopup);
    m_more->setMenu(m_menu);
    m_more->hide();
    m_row->addWidget(m_more);
}

void ControlRow::addChoice(QComboBox& combo, const QString& title)
{
    const auto choices = static_cast<int>(m_parts.size());
    m_row->insertWidget(choices, &combo);
    m_parts.push_back({{&combo}, title});
    m_shown = m_parts.size();
}

void ControlRow::addOption(QAbstractButton& option)
{
    m_row->insertWidget(static_cast<int>(m_parts.size()), &option);
    m_parts.push_back({{&option}, {}});
    m_shown = m_parts.size();
}

void ControlRow::addTools(const std::vector<QToolButton*>& tools)
{
    Part part;
    auto* group = new QHBoxLayout;
    group->setSpacing(fonts::px(2));
    for (QToolButton* tool : tools) {
        group->addWidget(tool);
        part.widgets.push_back(tool);
    }
    m_row->addLayout(group);
    m_parts.insert(m_parts.begin() + (m_parts.empty() ? 0 : 1), std::move(part)); // only the first choice stays longer
    m_shown = m_parts.size();
}

int ControlRow::widthOf(const Part& part) const
{
    int width = 0;
    for (const QWidget* widget : part.widgets) {
        width += widget->sizeHint().width() + m_row->spacing();
    }
    return width;
}

QSize ControlRow::minimumSizeHint() const
{
    const QMargins margins = m_row->contentsMargins();
    const int first = m_parts.empty() ? 0 : widthOf(m_parts.front());
    return {margins.left() + first + m_more->sizeHint().width() + margins.right(), sizeHint().height()};
}

void ControlRow::arrange(int width)
{
    const QMargins margins = m_row->contentsMargins();
    const int room = width - margins.left() - margins.right() + m_row->spacing();
    int all = 0;
    for (const Part& part : m_parts) {
        all += widthOf(part);
    }
    const bool fits = all <= room;
    int used = fits ? 0 : m_more->sizeHint().width() + m_row->spacing();
    std::size_t shown = 0;
    while (shown < m_parts.size() && (shown == 0 || used + widthOf(m_parts[shown]) <= room)) {
        used += widthOf(m_parts[shown++]);
    }
    m_shown = shown;
    for (std::size_t i = 0; i < m_parts.size(); ++i) {
        for (QWidget* widget : m_parts[i].widgets) {
            widget->setVisible(i < m_shown);
        }
    }
    m_more->setVisible(!fits);
}

void ControlRow::fillMenu(QMenu& menu) const
{
    menu.clear();
    for (std::size_t i = m_shown; i < m_parts.size(); ++i) {
        for (QWidget* widget : m_parts[i].widgets) {
            if (auto* combo = qobject_cast<QComboBox*>(widget)) {
                addComboMenu(menu, *combo, m_parts[i].title);
            } else if (auto* button = qobject_cast<QAbstractButton*>(widget)) {
                addButtonAction(menu, *button);
            }
        }
    }
}

void ControlRow::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange(event->size().width());
}

} // namespace retro::views

#include "moc_controlrow.cpp"
