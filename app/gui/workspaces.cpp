// SPDX-License-Identifier: Apache-2.0
#include "app/gui/workspaces.h"

#include "views/classes/classesview.h"
#include "views/common/fonts.h"
#include "views/compare/compareview.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/inspector/inspectorview.h"
#include "views/layers/layersview.h"
#include "views/ledger/ledgerview.h"
#include "views/promises/promisesview.h"
#include "views/run/runpanel.h"
#include "views/timeline/timelineview.h"

#include <QDockWidget>

namespace retro::app
{

using views::fonts::px;

ExplainWorkspace::ExplainWorkspace(const WorkspaceContext& context, QWidget* parent)
    : Workspace(QStringLiteral("explain"), parent)
{
    auto& [model, cursor, selection] = context;
    m_run = new views::RunPanel(this);
    m_heatmap = new views::HeatmapView(model, cursor, selection, this);
    m_compare = new views::CompareView(model, cursor, selection, this);
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    m_runDock = addPanel(m_run, tr("Run"), tr("Choose what to explain, then run."), Qt::LeftDockWidgetArea);
    m_inputDock = addView(new views::InputView(model, cursor, selection, this), Qt::RightDockWidgetArea);
    m_heatmapDock = addView(m_heatmap, Qt::RightDockWidgetArea);
    m_compareDock = addView(m_compare, Qt::RightDockWidgetArea);
    m_classesDock = addView(new views::ClassesView(model, cursor, selection, this), Qt::RightDockWidgetArea);
    m_layersDock = addView(new views::LayersView(model, cursor, selection, this), Qt::RightDockWidgetArea);
    m_ledgerDock = addView(new views::LedgerView(model, cursor, selection, this), Qt::RightDockWidgetArea);
    splitDockWidget(m_inputDock, m_layersDock, Qt::Vertical);
    splitDockWidget(m_inputDock, m_heatmapDock, Qt::Horizontal);
    splitDockWidget(m_heatmapDock, m_compareDock, Qt::Horizontal);
    splitDockWidget(m_inputDock, m_classesDock, Qt::Vertical);
    splitDockWidget(m_layersDock, m_ledgerDock, Qt::Horizontal);
    rememberLayout();
}

void ExplainWorkspace::applySizes()
{
    resizeDocks({m_runDock}, {px(262)}, Qt::Horizontal);
    resizeDocks({m_inputDock, m_heatmapDock, m_compareDock}, {px(300), px(640), px(300)}, Qt::Horizontal);
    resizeDocks({m_layersDock, m_ledgerDock}, {px(800), px(440)}, Qt::Horizontal);
    resizeDocks({m_inputDock, m_layersDock}, {px(640), px(208)}, Qt::Vertical);
    resizeDocks({m_inputDock, m_classesDock}, {px(360), px(290)}, Qt::Vertical);
}

EngineWorkspace::EngineWorkspace(const WorkspaceContext& context, QWidget* parent)
    : Workspace(QStringLiteral("engine"), parent)
{
    auto& [model, cursor, selection] = context;
    m_graph = new views::GraphView(model, cursor, selection, this);
    m_promisesDock = addView(new views::PromisesView(model, cursor, selection, this), Qt::TopDockWidgetArea);
    m_graphDock = addView(m_graph, Qt::TopDockWidgetArea);
    m_inspectorDock = addView(new views::InspectorView(model, cursor, selection, this), Qt::TopDockWidgetArea);
    m_heatmapDock = addView(new views::HeatmapView(model, cursor, selection, this), Qt::TopDockWidgetArea);
    m_timelineDock = addView(new views::TimelineView(model, cursor, selection, this), Qt::BottomDockWidgetArea);
    m_ledgerDock = addView(new views::LedgerView(model, cursor, selection, this), Qt::BottomDockWidgetArea);
    splitDockWidget(m_promisesDock, m_graphDock, Qt::Horizontal);
    splitDockWidget(m_graphDock, m_inspectorDock, Qt::Horizontal);
    tabifyDockWidget(m_inspectorDock, m_heatmapDock);
    m_inspectorDock->raise();
    splitDockWidget(m_timelineDock, m_ledgerDock, Qt::Horizontal);
    rememberLayout();
}

void EngineWorkspace::applySizes()
{
    resizeDocks({m_promisesDock, m_graphDock, m_inspectorDock}, {px(322), px(880), px(390)}, Qt::Horizontal);
    resizeDocks({m_timelineDock, m_ledgerDock}, {px(980), px(600)}, Qt::Horizontal);
    resizeDocks({m_promisesDock, m_timelineDock}, {px(640), px(240)}, Qt::Vertical);
}

} // namespace retro::app
