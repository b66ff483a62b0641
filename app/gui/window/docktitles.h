// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/window/tabline.h"

#include <QDockWidget>
#include <QObject>
#include <QPointer>

#include <vector>

class QMainWindow;
class QTabBar;
class QTimer;

namespace retro::views
{
class DockTitle;
}

namespace retro::app
{

class TabRow;

/// Titles of the docks of a window: a dock on its own has a title bar; docks behind tabs have the tab instead, with
/// float and close at the end of the row, and only the rest of the caption as a line below. Follows the docks around.
/// GUI thread; ends before the window, whose parts it asks about.
class DockTitles final : public QObject
{
    Q_OBJECT

public:
    explicit DockTitles(QMainWindow& window);

    /// Gives a dock its title; `tabName` is what its tab says (empty = the caption's name).
    void add(QDockWidget& dock, const QString& tabName = {});
    void setCaption(QDockWidget& dock, const DockCaption& caption);
    /// Shows or hides the sentences of all titles.
    void setHintsShown(bool isShown);
    /// Does at once what is pending.
    void flush();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Entry
    {
        QPointer<QDockWidget> dock; ///< null from the moment it starts to go
        views::DockTitle* title;
        TabLine* line;
        QString tabName;
        DockCaption caption;
        bool isTabbed = false;
    };

    void show(Entry& entry);
    void removeDestroyed();
    void placeRows();
    [[nodiscard]] TabRow& rowOf(QTabBar& tabs);
    [[nodiscard]] QDockWidget* frontOf(const QTabBar& tabs) const;

    QMainWindow& m_window;
    QTimer* m_timer = nullptr;
    bool m_hasHints = true;
    std::vector<Entry> m_entries;
    std::vector<TabRow*> m_rows;
};

} // namespace retro::app
