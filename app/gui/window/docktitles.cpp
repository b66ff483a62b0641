// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/docktitles.h"

#include "app/gui/window/tabrow.h"
#include "views/common/widgets/docktitle.h"

#include <QEvent>
#include <QMainWindow>
#include <QTabBar>
#include <QTimer>

#include <algorithm>

namespace retro::app
{

namespace
{

/// Closed, or a window of its own: it keeps its place among the tabs, but has no tab.
bool isApart(const QDockWidget& dock)
{
    const bool isClosed = dock.isHidden() && dock.testAttribute(Qt::WA_WState_ExplicitShowHide);
    return isClosed || dock.isFloating();
}

bool isBehindTabs(const QMainWindow& window, QDockWidget& dock)
{
    if (isApart(dock)) {
        return false;
    }
    const QList<QDockWidget*> others = window.tabifiedDockWidgets(&dock);
    return std::any_of(others.begin(), others.end(), [](const QDockWidget* other) { return !isApart(*other); });
}

bool movesThings(QEvent::Type type)
{
    return type == QEvent::Move || type == QEvent::Resize || type == QEvent::Show || type == QEvent::Hide;
}

} // namespace

DockTitles::DockTitles(QMainWindow& window) : QObject(&window), m_window(window)
{
    m_timer = new QTimer(this);
    m_timer->setSingleShot(true);
    m_timer->setInterval(0);
    connect(m_timer, &QTimer::timeout, this, &DockTitles::flush);
}

void DockTitles::add(QDockWidget& dock, const QString& tabName)
{
    auto* title = new views::DockTitle(dock);
    auto* line = new TabLine(&dock);
    line->hide();
    dock.setTitleBarWidget(title);
    m_entries.push_back({&dock, title, line, tabName, {dock.windowTitle(), {}, {}}});
    // The window says nothing when docks become tabs; it always changes their places then.
    const auto later = [this] { m_timer->start(); };
    connect(&dock, &QDockWidget::dockLocationChanged, this, later);
    connect(&dock, &QDockWidget::visibilityChanged, this, later);
    connect(&dock, &QDockWidget::topLevelChanged, this, later);
    dock.installEventFilter(this);
}

void DockTitles::setCaption(QDockWidget& dock, const DockCaption& caption)
{
    const auto found =
        std::find_if(m_entries.begin(), m_entries.end(), [&](const Entry& entry) { return entry.dock == &dock; });
    if (found != m_entries.end() && found->caption != caption) {
        found->caption = caption;
        show(*found);
    }
}

void DockTitles::show(Entry& entry)
{
    DockCaption caption = entry.caption;
    caption.hint = m_hasHints ? caption.hint : QString();
    const QString tab = entry.isTabbed && !entry.tabName.isEmpty() ? entry.tabName : caption.name;
    entry.dock->setWindowTitle(tab);
    entry.title->setSubject(caption.subject);
    entry.title->setHint(caption.hint);
    entry.line->setCaption(caption, tab);
}

void DockTitles::setHintsShown(bool isShown)
{
    m_hasHints = isShown;
    removeDestroyed();
    for (Entry& entry : m_entries) {
        show(entry);
    }
}

/// A dock that floats is hidden once more while it goes, and its neighbours may be gone by then.
void DockTitles::removeDestroyed()
{
    std::erase_if(m_entries, [](const Entry& entry) { return entry.dock == nullptr; });
}

void DockTitles::flush()
{
    m_timer->stop();
    removeDestroyed();
    for (Entry& entry : m_entries) {
        const bool isTabbed = isBehindTabs(m_window, *entry.dock);
        if (isTabbed != entry.isTabbed) {
            entry.isTabbed = isTabbed;
            show(entry);
            entry.dock->setTitleBarWidget(isTabbed ? static_cast<QWidget*>(entry.line) : entry.title);
        }
    }
    placeRows();
}

void DockTitles::placeRows()
{
    removeDestroyed();
    for (QTabBar* tabs : m_window.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        rowOf(*tabs).follow(tabs->isHidden() ? nullptr : frontOf(*tabs));
    }
}

TabRow& DockTitles::rowOf(QTabBar& tabs)
{
    const auto found =
        std::find_if(m_rows.begin(), m_rows.end(), [&](const TabRow* row) { return row->tabs() == &tabs; });
    if (found != m_rows.end()) {
        return **found;
    }
    auto* row = new TabRow(tabs, &m_window);
    m_rows.push_back(row);
    connect(&tabs, &QObject::destroyed, this, [this, row] {
        std::erase(m_rows, row);
        row->deleteLater();
    });
    tabs.installEventFilter(this);
    return *row;
}

QDockWidget* DockTitles::frontOf(const QTabBar& tabs) const
{
    // The dock in front lies right under its tabs; those behind it lie outside of the window.
    const QPoint corner = tabs.geometry().bottomLeft() + QPoint(0, 1);
    for (const Entry& entry : m_entries) {
        if (entry.isTabbed && entry.dock->geometry().topLeft() == corner) {
            return entry.dock;
        }
    }
    return nullptr;
}

bool DockTitles::eventFilter(QObject* watched, QEvent* event)
{
    if (movesThings(event->type())) {
        placeRows();
        m_timer->start();
    }
    return QObject::eventFilter(watched, event);
}

} // namespace retro::app

#include "moc_docktitles.cpp"
