// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include <QByteArray>
#include <QDockWidget>
#include <QHash>
#include <QPointer>

class QStackedWidget;

namespace retro::views
{
class ActionRegistry;
}

namespace retro::app
{

class Workspace;

/// Gives the keyboard to the first widget of the pane's content that takes it by Tab.
void focusInto(QDockWidget& dock);

/// The actions on panes of the workspace on screen: show pane n and put the keyboard there, show only one, hide one.
/// GUI thread.
class DockActions final : public QObject
{
    Q_OBJECT

public:
    static constexpr int kNumbered = 9;

    /// `spaces` holds the workspaces.
    DockActions(views::ActionRegistry& actions, QStackedWidget& spaces, QObject* parent = nullptr);

    /// The pane that has the keyboard, or had it last, else the largest; null when no workspace is on screen.
    [[nodiscard]] QDockWidget* current() const;
    /// Shows the pane `number` (from 1), and gives it the keyboard.
    void showDock(int number);
    /// Only the current pane, or all of them again as they were.
    void maximise(bool isMaximised);
    /// Before a layout is saved or reset: everything as it was before a pane was maximised.
    void restoreAll();

private:
    [[nodiscard]] Workspace* workspace() const;
    [[nodiscard]] QDockWidget* dockOf(QWidget* widget) const;
    void nameActions();
    void closeCurrent();
    void restore(Workspace& space);

    views::ActionRegistry& m_actions;
    QStackedWidget& m_spaces;
    QPointer<QDockWidget> m_last;
    QHash<Workspace*, QByteArray> m_before; // layout before a pane was maximised
};

} // namespace retro::app
