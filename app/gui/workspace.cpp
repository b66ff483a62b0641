// SPDX-License-Identifier: Apache-2.0
#include "app/gui/workspace.h"

#include <QDockWidget>
#include <QShowEvent>

namespace retro::app
{

Workspace::Workspace(QString id, QWidget* parent) : QMainWindow(parent), m_id(std::move(id))
{
    setWindowFlags(Qt::Widget);
    setObjectName(m_id);
    setDockNestingEnabled(true);
    setDockOptions(AllowTabbedDocks | AllowNestedDocks | GroupedDragging);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    setContextMenuPolicy(Qt::NoContextMenu);
}

QDockWidget* Workspace::makeDock(QWidget* content, const QString& title, Qt::DockWidgetArea area)
{
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(m_id + QLatin1Char('.') + title);
    dock->setWidget(content);
    auto* bar = new views::DockTitle(*dock);
    dock->setTitleBarWidget(bar);
    m_titles.emplace(dock, bar);
    addDockWidget(area, dock);
    m_docks.push_back(dock);
    return dock;
}

QDockWidget* Workspace::addView(views::View* view, Qt::DockWidgetArea area)
{
    QDockWidget* dock = makeDock(view, view->title(), area);
    views::DockTitle* bar = m_titles.at(dock);
    const auto follow = [view, dock, bar] {
        dock->setWindowTitle(view->title());
        bar->setSubject(view->subject());
        bar->setHint(view->hint());
    };
    follow();
    connect(view, &views::View::captionChanged, dock, follow);
    connect(view, &views::View::openRequested, this, &Workspace::openRequested);
    connect(view, &views::View::cancelRequested, this, &Workspace::cancelRequested);
    m_views.push_back(view);
    return dock;
}

QDockWidget* Workspace::addPanel(QWidget* widget, const QString& title, const QString& hint, Qt::DockWidgetArea area)
{
    QDockWidget* dock = makeDock(widget, title, area);
    m_titles.at(dock)->setHint(hint);
    return dock;
}

void Workspace::rememberLayout() { m_initial = saveState(); }

void Workspace::resetLayout()
{
    for (QDockWidget* dock : m_docks) {
        dock->setFloating(false);
        dock->show();
    }
    restoreState(m_initial);
    applySizes();
}

void Workspace::flush()
{
    for (views::View* view : m_views) {
        view->flush();
    }
}

void Workspace::showEvent(QShowEvent* event)
{
    QMainWindow::showEvent(event);
    if (!m_wasShown) {
        m_wasShown = true;
        applySizes();
    }
}

} // namespace retro::app
