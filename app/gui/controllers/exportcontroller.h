// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/actions.h"

#include <QObject>

#include <functional>
#include <string_view>

class QStackedWidget;

namespace retro::views
{
class View;
}

namespace retro::app
{

class DockActions;

/// Registers the actions of the menu Export that are not standard: timeline, ledger, layers, classes, promises, log,
/// plan, and the pane that has the keyboard.
void addExportActions(views::ActionRegistry& actions);

/// The menu Export: each entry names a view, which writes itself to a file. A view of the workspace on screen comes
/// before the same one elsewhere. GUI thread.
class ExportController final : public QObject
{
    Q_OBJECT

public:
    /// `spaces` holds the workspaces; `docks` knows the pane that has the keyboard. The dialog opens over `window`.
    ExportController(views::ActionRegistry& actions, QStackedWidget& spaces, const DockActions& docks, QWidget& window);

    /// Ids of the entries.
    [[nodiscard]] static QStringList ids();
    /// The view that an entry writes; null when the pane that has the keyboard cannot be written.
    [[nodiscard]] views::View* viewOfPane() const;
    [[nodiscard]] views::View* viewOf(const QString& id) const;
    /// Writes that view as it is now; the ending says how. Errors: Usage (ending, nothing to show), Output.
    [[nodiscard]] base::Result<void> write(const QString& id, const QString& path) const;
    /// What the dialog offers for these endings ("svg csv"): all of them, then each by its title. Separated by ";;".
    [[nodiscard]] static QString filtersOf(std::string_view endings);
    /// A path with an ending: that of the chosen filter, or the first of all, when `path` has none.
    [[nodiscard]] static QString withEnding(const QString& path, const QString& filter, std::string_view endings);
    /// Asks for a file to write, `name` offered; empty = none.
    [[nodiscard]] static QString askPath(QWidget& window, const QString& title, const QString& name,
                                         std::string_view endings);

    /// The run as the graph plays it, in the theme of the window. Errors: Usage (no run), and those of exportFilm().
    [[nodiscard]] base::Result<void> writeFilm(const QString& path,
                                               const std::function<bool(double)>& goesOn = {}) const;

    /// The same with a bar of how far it is, until it is there, cancelled, or the window is closed; wrote() or failed()
    /// says how it went. One at a time.
    void paintFilm(const QString& path);

signals:
    void wrote(const QString& path);
    void failed(const retro::base::Error& error);

private:
    void ask(const QString& id);
    void askFilm();

    QStackedWidget& m_spaces;
    const DockActions& m_docks;
    QWidget& m_window;
    bool m_isPainting = false;
};

} // namespace retro::app
