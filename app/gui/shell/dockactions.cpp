// SPDX-License-Identifier: Apache-2.0
#include "app/gui/shell/dockactions.h"

#include "app/gui/window/workspace.h"
#include "views/common/actions.h"

#include <QApplication>
#include <QStackedWidget>

#include <algorithm>

namespace retro::app
{

namespace
{

QString dockActionId(int number) { return QStringLiteral("window.dock%1").arg(number); }

} // namespace

void focusInto(QDockWidget& dock)
{
    QWidget* content = dock.widget();
    if (content == nullptr || content->isAncestorOf(QApplication::focusWidget())) {
        return;
    }
    const QList<QWidget*> inside = content->findChildren<QWidget*>();
    const auto takesFocus = [](const QWidget* w) {
        return w->isVisible() && w->isEnabled() && w->focusPolicy() & Qt::TabFocus;
    };
    const auto at = std::find_if(inside.begin(), inside.end(), takesFocus);
    (at == inside.end() ? content : *at)->setFocus(Qt::ShortcutFocusReason);
}

DockActions::DockActions(views::ActionRegistry& actions, QStackedWidget& spaces, QObject* parent)
    : QObject(parent), m_actions(actions), m_spaces(spaces)
{
    for (int number = 1; number <= kNumbered; ++number) {
        connect(&actions.at(dockActionId(number)), &QAction::triggered, this, [this, number] { showDock(number); });
    }
    connect(&actions.at(QStringLiteral("window.close")), &QAction::triggered, this, &DockActions::closeCurrent);
    connect(&actions.at(QStringLiteral("window.maximise")), &QAction::triggered, this, &DockActions::maximise);
    connect(&actions.at(QStringLiteral("view.resetlayout")), &QAction::triggered, this, [this] {
        m_before.remove(workspace());
        nameActions();
    });
    connect(&spaces, &QStackedWidget::currentChanged, this, &DockActions::nameActions);
    connect(qApp, &QApplication::focusChanged, this, [this](QWidget* /*old*/, QWidget* now) {
        if (QDockWidget* dock = dockOf(now)) {
            m_last = dock;
        }
    });
    for (int i = 0; i < spaces.count(); ++i) {
        if (auto* space = qobject_cast<Workspace*>(spaces.widget(i))) {
            for (QDockWidget* dock : space->docks()) {
                connect(dock, &QDockWidget::windowTitleChanged, this, &DockActions::nameActions);
            }
        }
    }
    nameActions();
}

Workspace* DockActions::workspace() const { return qobject_cast<Workspace*>(m_spaces.currentWidget()); }

QDockWidget* DockActions::dockOf(QWidget* widget) const
{
    const Workspace* space = workspace();
    for (; widget != nullptr && space != nullptr; widget = widget->parentWidget()) {
        auto* dock = qobject_cast<QDockWidget*>(widget);
        if (dock != nullptr && std::find(space->docks().begin(), space->docks().end(), dock) != space->docks().end()) {
            return dock;
        }
    }
    return nullptr;
}

QDockWidget* DockActions::current() const
{
    if (QDockWidget* focused = dockOf(QApplication::focusWidget())) {
        return focused;
    }
    if (m_last != nullptr && dockOf(m_last) == m_last && m_last->isVisible()) {
        return m_last;
    }
    const Workspace* space = workspace();
    if (space == nullptr || space->docks().empty()) {
        return nullptr;
    }
    const auto area = [](const QDockWidget* dock) { return dock->isVisible() ? dock->width() * dock->height() : -1; };
    return *std::max_element(space->docks().begin(), space->docks().end(),
                             [&](const QDockWidget* a, const QDockWidget* b) { return area(a) < area(b); });
}

void DockActions::nameActions()
{
    const Workspace* space = workspace();
    for (int number = 1; number <= kNumbered; ++number) {
        QAction& action = m_actions.at(dockActionId(number));
        const bool isThere = space != nullptr && static_cast<std::size_t>(number) <= space->docks().size();
        action.setVisible(isThere);
        if (isThere) {
            QString title = space->docks()[static_cast<std::size_t>(number - 1)]->windowTitle();
            action.setText(tr("Pane &%1: %2").arg(number).arg(title.replace(QLatin1Char('&'), QStringLiteral("&&"))));
        }
    }
    for (const char* id : {"window.close", "window.maximise"}) {
        m_actions.at(QLatin1String(id)).setEnabled(space != nullptr);
    }
    m_actions.at(QStringLiteral("window.maximise")).setChecked(space != nullptr && m_before.contains(workspace()));
}

void DockActions::showDock(int number)
{
    Workspace* space = workspace();
    if (space == nullptr || static_cast<std::size_t>(number) > space->docks().size()) {
        return;
    }
    QDockWidget* dock = space->docks()[static_cast<std::size_t>(number - 1)];
    if (dock->isHidden()) {
        restore(*space);
    }
    dock->show();
    dock->raise();
    focusInto(*dock);
    m_last = dock;
}

void DockActions::closeCurrent()
{
    if (QDockWidget* dock = current()) {
        restore(*workspace());
        dock->close();
    }
}

void DockActions::maximise(bool isMaximised)
{
    Workspace* space = workspace();
    QDockWidget* kept = current();
    if (space == nullptr || kept == nullptr) {
        return;
    }
    if (!isMaximised) {
        restore(*space);
        return;
    }
    m_before.insert(space, space->saveState());
    for (QDockWidget* dock : space->docks()) {
        if (!dock->isFloating()) {
            dock->setVisible(dock == kept);
        }
    }
    focusInto(*kept);
    nameActions();
}

void DockActions::restore(Workspace& space)
{
    const QByteArray before = m_before.take(&space);
    if (!before.isEmpty()) {
        space.restoreState(before);
    }
    nameActions();
}

void DockActions::restoreAll()
{
    const QList<Workspace*> spaces = m_before.keys();
    for (Workspace* space : spaces) {
        restore(*space);
    }
}

} // namespace retro::app

#include "moc_dockactions.cpp"
