// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/workspace.h"

namespace retro::views
{
class CompareView;
class GraphView;
class HeatmapView;
class RunPanel;
} // namespace retro::views

namespace retro::app
{

/// What the views of a workspace share.
struct WorkspaceContext
{
    views::RunModel& model;
    views::Cursor& cursor;
    views::Selection& selection;
};

/// The first screen: what is explained at the left, the heatmap as the largest thing, the control model at the right,
/// layers and ledger below.
class ExplainWorkspace final : public Workspace
{
    Q_OBJECT

public:
    explicit ExplainWorkspace(const WorkspaceContext& context, QWidget* parent = nullptr);
    [[nodiscard]] views::RunPanel& runPanel() const { return *m_run; }
    [[nodiscard]] views::CompareView& compare() const { return *m_compare; }
    [[nodiscard]] views::HeatmapView& heatmap() const { return *m_heatmap; }

protected:
    void applySizes() override;

private:
    views::RunPanel* m_run = nullptr;
    views::CompareView* m_compare = nullptr;
    views::HeatmapView* m_heatmap = nullptr;
    QDockWidget* m_runDock = nullptr;
    QDockWidget* m_inputDock = nullptr;
    QDockWidget* m_classesDock = nullptr;
    QDockWidget* m_heatmapDock = nullptr;
    QDockWidget* m_compareDock = nullptr;
    QDockWidget* m_layersDock = nullptr;
    QDockWidget* m_ledgerDock = nullptr;
};

/// The machinery: promises, graph, inspector, timeline.
class EngineWorkspace final : public Workspace
{
    Q_OBJECT

public:
    explicit EngineWorkspace(const WorkspaceContext& context, QWidget* parent = nullptr);
    [[nodiscard]] views::GraphView& graph() const { return *m_graph; }

protected:
    void applySizes() override;

private:
    views::GraphView* m_graph = nullptr;
    QDockWidget* m_promisesDock = nullptr;
    QDockWidget* m_graphDock = nullptr;
    QDockWidget* m_inspectorDock = nullptr;
    QDockWidget* m_heatmapDock = nullptr;
    QDockWidget* m_timelineDock = nullptr;
    QDockWidget* m_ledgerDock = nullptr;
};

} // namespace retro::app
