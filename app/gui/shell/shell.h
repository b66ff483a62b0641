// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/shell/session.h"

#include <QObject>
#include <functional>

#include "app/gui/window/workspaces.h"
#include "views/common/actions.h"

class QMainWindow;
class QSettings;
class QStackedWidget;

namespace retro::views
{
class CommandPalette;
}

namespace retro::app
{

class Bookmarks;
class BreakpointMemory;
class DockActions;
class HistoryController;
class MenuCorner;
class Preferences;
class ProblemsController;
class RecentFiles;
class WelcomePage;

/// Property of a tool bar that belongs to another workspace.
inline constexpr const char* kIsAway = "isAway";

/// What lies around the views: menus, command palette, panes, problems, recent files and welcome page, history and
/// bookmarks, preferences and the sheet of keys. Lives as long as the window. GUI thread.
class Shell final : public QObject
{
    Q_OBJECT

public:
    /// Makes the menus of `window` from the registry, which must be complete but for the shell's own actions. `spaces`
    /// holds the workspaces and is the central widget; the shell puts the welcome page beside it.
    Shell(QMainWindow& window, views::ActionRegistry& actions, const WorkspaceContext& context, QStackedWidget& spaces);
    ~Shell() override;

    [[nodiscard]] views::CommandPalette& palette() const { return *m_palette; }
    [[nodiscard]] DockActions& docks() const { return *m_docks; }
    [[nodiscard]] ProblemsController& problems() const { return *m_problems; }
    [[nodiscard]] RecentFiles& recent() const { return *m_recent; }
    [[nodiscard]] HistoryController& history() const { return *m_history; }
    [[nodiscard]] Bookmarks& bookmarks() const { return *m_bookmarks; }
    [[nodiscard]] Preferences& preferences() const { return *m_preferences; }
    /// True while nothing is open and the welcome page says so.
    [[nodiscard]] bool isWelcoming() const;
    /// Shows the tool bars of the workspace on screen, none on the welcome page.
    void showToolBars();

    /// Takes settings, layouts and breakpoints from `store` and writes changes to it; it must outlive the window.
    /// Before the window is shown.
    void remember(QSettings& store);
    /// Docks lie behind each other where the window would need more than `room` for them all. Before the window is
    /// shown.
    void fitInto(const std::function<QSize()>& room);
    /// Writes how window and panes are arranged; called when the window closes.
    void saveLayouts();
    /// What is open now is what the welcome page offers at the next start. Empty: what it offers now stays.
    void saveSession(const Session& session);

signals:
    /// The last session is to be gone on with.
    void sessionWanted(const retro::app::Session& session);

private:
    void makeWelcome(const views::RunModel& model);
    void makePalette(const WorkspaceContext& context);
    void connectThemes();
    void connectDialogs();
    void openPalette(const QString& text);
    void showWelcome(const views::RunModel& model);
    void showPreferences();
    void showHelp();
    void showKeys();
    void showLog();
    void showAbout();

    QMainWindow& m_window;
    views::ActionRegistry& m_actions;
    QStackedWidget& m_spaces;
    QSettings* m_store = nullptr;
    QStackedWidget* m_pages = nullptr;
    WelcomePage* m_welcome = nullptr;
    DockActions* m_docks = nullptr;
    ProblemsController* m_problems = nullptr;
    RecentFiles* m_recent = nullptr;
    HistoryController* m_history = nullptr;
    Bookmarks* m_bookmarks = nullptr;
    BreakpointMemory* m_breakpoints = nullptr;
    Preferences* m_preferences = nullptr;
    MenuCorner* m_corner = nullptr;
    views::CommandPalette* m_palette = nullptr;
};

} // namespace retro::app
