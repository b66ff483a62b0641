// SPDX-License-Identifier: Apache-2.0
// Histories, regions and conditions in the main window.
#include "app/gui/controllers/mapcontroller.h"
#include "app/gui/controllers/runcontroller.h"
#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "views/heatmap/heatmapview.h"
#include "views/history/historyview.h"
#include "views/region/regionview.h"

#include <QDockWidget>

namespace retro::app
{

namespace
{

void raiseDockOf(const Workspace& space, const QWidget& view)
{
    for (QDockWidget* dock : space.docks()) {
        if (dock->widget() == &view) {
            dock->show();
            dock->raise();
        }
    }
}

} // namespace

void MainWindow::connectWhere()
{
    m_where = new WhereController(
        {m_actions,
         m_model,
         m_cursor,
         m_selection,
         m_region,
         m_explain->region(),
         {{&m_explain->heatmap(), &m_explain->history()}, {&m_engineSpace->heatmap(), &m_engineSpace->history()}}},
        this);
    m_maps = new MapController({&m_explain->heatmap(), &m_engineSpace->heatmap()}, this);
    connect(m_where, &WhereController::said, this, &MainWindow::say);
    connect(m_where, &WhereController::historyWanted, this, [this](views::HistoryView* pane) {
        if (pane == nullptr) { // that of the workspace in front, where it has one
            pane = m_engineSpace->isVisible() ? &m_engineSpace->history() : &m_explain->history();
        }
        const bool isEngine = pane == &m_engineSpace->history();
        showWorkspace(isEngine ? QStringLiteral("engine") : QStringLiteral("explain"));
        raiseDockOf(isEngine ? static_cast<Workspace&>(*m_engineSpace) : *m_explain, *pane);
    });

    connect(m_where, &WhereController::regionWanted, this, [this] {
        if (m_engineSpace->isVisible()) {
            return; // its heatmap is brushed there, and its graph shows what ends in the region
        }
        showWorkspace(QStringLiteral("explain"));
        raiseDockOf(*m_explain, m_explain->region());
    });
    connect(&m_explain->region(), &views::RegionView::conditionsWanted, this, &MainWindow::runConditions);
}

/// What the panel asks, with relevance that passes these conditions alone.
void MainWindow::runConditions(const QStringList& conditions, const QString& form)
{
    if (!m_loaded) {
        return say(tr("A recorded run holds no model to run again. Open its model."));
    }
    engine::Question question = m_run->job().question;
    question.conditions.clear();
    for (const QString& condition : conditions) {
        question.conditions.push_back(condition.toStdString());
    }
    question.conditionForm = conditions.isEmpty() ? std::string() : form.toStdString();
    m_run->putQuestion(question);
    post(m_run->job());
}

} // namespace retro::app
