// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/window/workspace.h"
#include "core/trace/run.h"

namespace retro::views
{
class BeforeAfterView;
class BreakpointList;
class BreakpointsView;
class ClassesView;
class CompareView;
class DiagnoseView;
class GraphView;
class HeatmapView;
class HistoryView;
class InputView;
class InspectorView;
class MemoryView;
class NotebookView;
class OutputView;
class RegionOverlay;
class RegionView;
class RunPanel;
class TextFocus;
class TextView;
class TimelineView;
class VerificationView;
class WordLayersView;
} // namespace retro::views

namespace retro::app
{

/// What the views of a workspace share.
struct WorkspaceContext
{
    views::RunModel& model;
    views::Cursor& cursor;
    views::Selection& selection;
    views::BreakpointList& breakpoints;
    views::RegionOverlay& region;
    views::TextFocus& text;
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
    [[nodiscard]] views::InputView& input() const { return *m_input; }
    [[nodiscard]] views::ClassesView& classes() const { return *m_classes; }
    [[nodiscard]] views::DiagnoseView& diagnosis() const { return *m_diagnosis; }
    [[nodiscard]] views::HistoryView& history() const { return *m_history; }
    [[nodiscard]] views::RegionView& region() const { return *m_region; }
    [[nodiscard]] views::OutputView& output() const { return *m_output; }
    [[nodiscard]] views::BeforeAfterView& beforeAfter() const { return *m_beforeAfter; }
    [[nodiscard]] views::MemoryView& memory() const { return *m_memory; }
    [[nodiscard]] views::TextView& text() const { return *m_text; }

    /// Arranges the panes for texts, or for everything else; each arrangement is kept while the other one is shown.
    void showTexts(bool isText);
    /// Whether another model answers beside this one: without it what was found takes the place of the comparison.
    void showControl(bool hasControl);

protected:
    void applySizes() override;
    [[nodiscard]] std::vector<Pack> packs() const override;
    void rearrange() override;

private:
    void arrangeForTexts();
    void showPanesOf(const trace::Run& run);
    void applyTextSizes();

    views::RunPanel* m_run = nullptr;
    views::TextView* m_text = nullptr;
    views::WordLayersView* m_wordLayers = nullptr;
    QDockWidget* m_textDock = nullptr;
    QDockWidget* m_wordLayersDock = nullptr;
    bool m_isText = false;
    bool m_hasControl = true;
    QByteArray m_otherLayout; ///< of the kind that is not shown; empty = as at first
    views::CompareView* m_compare = nullptr;
    views::HeatmapView* m_heatmap = nullptr;
    views::InputView* m_input = nullptr;
    views::ClassesView* m_classes = nullptr;
    views::DiagnoseView* m_diagnosis = nullptr;
    views::HistoryView* m_history = nullptr;
    views::RegionView* m_region = nullptr;
    views::OutputView* m_output = nullptr;
    views::BeforeAfterView* m_beforeAfter = nullptr;
    views::MemoryView* m_memory = nullptr;
    QDockWidget* m_runDock = nullptr;
    QDockWidget* m_inputDock = nullptr;
    QDockWidget* m_classesDock = nullptr;
    QDockWidget* m_heatmapDock = nullptr;
    QDockWidget* m_compareDock = nullptr;
    QDockWidget* m_layersDock = nullptr;
    QDockWidget* m_ledgerDock = nullptr;
    QDockWidget* m_diagnosisDock = nullptr;
    QDockWidget* m_outputDock = nullptr;
    QDockWidget* m_memoryDock = nullptr;
};

/// The machinery: promises and why they wait, graph, inspector, timeline, ledger.
class EngineWorkspace final : public Workspace
{
    Q_OBJECT

public:
    explicit EngineWorkspace(const WorkspaceContext& context, QWidget* parent = nullptr);
    [[nodiscard]] views::GraphView& graph() const { return *m_graph; }
    [[nodiscard]] views::HeatmapView& heatmap() const { return *m_heatmap; }
    [[nodiscard]] views::HistoryView& history() const { return *m_history; }
    [[nodiscard]] views::InspectorView& inspector() const { return *m_inspector; }
    [[nodiscard]] views::TimelineView& timeline() const { return *m_timeline; }
    [[nodiscard]] views::NotebookView& notebook() const { return *m_notebook; }
    [[nodiscard]] views::VerificationView& verification() const { return *m_verification; }
    [[nodiscard]] views::DiagnoseView& diagnosis() const { return *m_diagnosis; }
    /// Brings the notebook to the front.
    void showNotebook();
    /// Brings what was verified to the front.
    void showVerification();
    /// Marks these places in the timeline.
    void showBookmarks(const std::vector<trace::Bookmark>& bookmarks);
    /// Brings the list of breakpoints to the front and opens the condition of the one on that node.
    void editBreakpoint(base::NodeId node);

protected:
    void applySizes() override;
    [[nodiscard]] std::vector<Pack> packs() const override;

private:
    views::GraphView* m_graph = nullptr;
    views::BreakpointsView* m_breakpoints = nullptr;
    views::TimelineView* m_timeline = nullptr;
    views::NotebookView* m_notebook = nullptr;
    views::VerificationView* m_verification = nullptr;
    views::DiagnoseView* m_diagnosis = nullptr;
    QDockWidget* m_promisesDock = nullptr;
    QDockWidget* m_whyDock = nullptr;
    QDockWidget* m_breakpointsDock = nullptr;
    QDockWidget* m_graphDock = nullptr;
    views::InspectorView* m_inspector = nullptr;
    QDockWidget* m_inspectorDock = nullptr;
    views::HeatmapView* m_heatmap = nullptr;
    views::HistoryView* m_history = nullptr;
    QDockWidget* m_heatmapDock = nullptr;
    QDockWidget* m_valuesDock = nullptr;
    QDockWidget* m_timelineDock = nullptr;
    QDockWidget* m_nowDock = nullptr;
    QDockWidget* m_ledgerDock = nullptr;
    QDockWidget* m_notebookDock = nullptr;
    QDockWidget* m_verificationDock = nullptr;
    QDockWidget* m_diagnosisDock = nullptr;
    QDockWidget* m_outputDock = nullptr;
    QDockWidget* m_memoryDock = nullptr;
};

} // namespace retro::app
