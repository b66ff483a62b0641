// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/workspaces.h"

#include "core/trace/targetplace.h"
#include "views/beforeafter/beforeafterview.h"
#include "views/breakpoints/breakpointsview.h"
#include "views/classes/classesview.h"
#include "views/common/paint/fonts.h"
#include "views/common/run/segments.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/docktitle.h"
#include "views/common/widgets/rangechip.h"
#include "views/compare/compareview.h"
#include "views/diagnose/diagnoseview.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/history/historyview.h"
#include "views/input/inputview.h"
#include "views/inspector/inspectorview.h"
#include "views/inspector/valuesview.h"
#include "views/layers/layersview.h"
#include "views/ledger/ledgerview.h"
#include "views/log/logview.h"
#include "views/log/nowview.h"
#include "views/memory/memoryview.h"
#include "views/notebook/notebookview.h"
#include "views/output/outputview.h"
#include "views/program/programview.h"
#include "views/promises/promisesview.h"
#include "views/promises/whyview.h"
#include "views/region/regionview.h"
#include "views/run/runpanel.h"
#include "views/text/layersmatrix.h"
#include "views/text/textview.h"
#include "views/text/wordlayersview.h"
#include "views/timeline/frontierview.h"
#include "views/timeline/timelineview.h"
#include "views/verify/verificationview.h"
#include "views/watch/watchview.h"

#include <QDockWidget>

#include <algorithm>
#include <utility>

namespace retro::app
{

using views::fonts::px;

namespace
{

/// A run of another course has other visits; while an input is covered the course stays, and with it the range.
void clearForOtherCourse(views::RunModel& model, views::TimeRange& range)
{
    QObject::connect(&model, &views::RunModel::runChanged, &range,
                     [&model, &range, visits = std::uint64_t{0}]() mutable {
                         const std::uint64_t now = model.hasRun() ? model.run().visitCount() : 0;
                         if (std::exchange(visits, now) != now) {
                             range.clear();
                         }
                     });
}

/// The run explains a dense output, or has one that a place can be chosen on.
bool hasPlaces(const trace::Run& run) { return trace::hasDenseTarget(run) || views::maskValue(run).isValid(); }

// Design pixels below which a pane stops being readable.
constexpr double kLeastInput = 190;
constexpr double kLeastHeatmap = 300;
constexpr double kLeastPromises = 304; // the tabs below it are whole
constexpr double kLeastInspector = 300;
constexpr double kLeastMiddle = 360;
constexpr double kClasses = 300; // five classes with their sentence
constexpr double kMostClasses = 0.58;
constexpr double kLeastClasses = 150;
constexpr double kInputTitle = 72;    // above the picture, with two lines of words
constexpr double kAroundLayers = 104; // title, sentence and lists of the pane of layers
constexpr double kLeastBelow = 200;
constexpr double kMostBelow = 0.347;   // of a low window: the ledger is whole at 1280 × 800 with large text
constexpr double kLeastTimeline = 250; // every chart has room
constexpr double kMayLack = 0.25;      // of the height: panes that should be in sight together become lower first
constexpr double kMostTimeline = 0.38; // of a low window: what is needed for that at 1280 × 800 with large text

} // namespace

ExplainWorkspace::ExplainWorkspace(const WorkspaceContext& context, QWidget* parent)
    : Workspace(QStringLiteral("explain"), parent)
{
    views::RunModel& model = context.model;
    views::Cursor& cursor = context.cursor;
    views::Selection& selection = context.selection;
    m_run = new views::RunPanel(this);
    m_input = new views::InputView(model, cursor, selection, this);
    m_heatmap = new views::HeatmapView(model, cursor, selection, this);
    m_compare = new views::CompareView(model, cursor, selection, this);
    m_runDock = addPanel(m_run, tr("Run"), tr("Choose what to explain, then run."));
    m_inputDock = addView(m_input);
    // Queued: the tools have their height then.
    connect(m_input, &views::InputView::toolsShown, this, &ExplainWorkspace::takeSizes, Qt::QueuedConnection);
    m_heatmapDock = addView(m_heatmap, tr("Heatmap"));
    m_compareDock = addView(m_compare);
    m_classes = new views::ClassesView(model, cursor, selection, this);
    m_classesDock = addView(m_classes);
    auto* layers = new views::LayersView(model, cursor, selection, this);
    layers->followRegion(context.region);
    m_layersDock = addView(layers);
    m_ledgerDock = addView(new views::LedgerView(model, cursor, selection, this));
    m_diagnosis = new views::DiagnoseView(model, cursor, selection, this);
    m_diagnosisDock = addView(m_diagnosis);
    m_history = new views::HistoryView(model, cursor, selection, this);
    QDockWidget* historyDock = addView(m_history);
    m_region = new views::RegionView(model, cursor, selection, context.region, this);
    QDockWidget* regionDock = addView(m_region);
    m_output = new views::OutputView(model, cursor, selection, this);
    m_outputDock = addView(m_output);
    m_memory = new views::MemoryView(model, cursor, selection, this);
    m_memoryDock = addView(m_memory);
    m_beforeAfter = new views::BeforeAfterView(model, cursor, selection, this);
    QDockWidget* beforeAfterDock = addView(m_beforeAfter);
    splitDockWidget(m_runDock, m_inputDock, Qt::Horizontal);
    splitDockWidget(m_inputDock, m_layersDock, Qt::Vertical);
    splitDockWidget(m_inputDock, m_heatmapDock, Qt::Horizontal);
    splitDockWidget(m_heatmapDock, m_compareDock, Qt::Horizontal);
    splitDockWidget(m_inputDock, m_classesDock, Qt::Vertical);
    splitDockWidget(m_layersDock, m_ledgerDock, Qt::Horizontal);
    tabifyDockWidget(m_compareDock, m_diagnosisDock);
    m_compareDock->raise();
    // Beside what asks of a region: the narrow pane on the right has room for two tabs that can be read.
    tabifyDockWidget(m_layersDock, regionDock);
    tabifyDockWidget(regionDock, historyDock);
    tabifyDockWidget(historyDock, m_memoryDock);
    m_layersDock->raise();
    tabifyDockWidget(m_heatmapDock, beforeAfterDock);
    m_heatmapDock->raise();
    m_text = new views::TextView(model, cursor, selection, context.text, this);
    m_textDock = addView(m_text);
    m_wordLayers = new views::WordLayersView(model, cursor, selection, context.text, this);
    m_wordLayersDock = addView(m_wordLayers);
    tabifyDockWidget(m_heatmapDock, m_textDock);
    tabifyDockWidget(m_heatmapDock, m_wordLayersDock);
    m_heatmapDock->raise();
    m_textDock->hide();
    m_wordLayersDock->hide();
    m_memoryDock->hide();
    tabifyDockWidget(m_inputDock, m_outputDock);
    m_inputDock->raise();
    connect(&model, &views::RunModel::runChanged, this, [this, &model, shown = QString(), hadPass = false]() mutable {
        // What another model calls each pixel is seen at once; a person who chose a tab keeps it.
        // Which output is explained is known with the first pass: a dense one comes to the front then.
        const bool hasPass = model.hasRun() && model.run().eventCount() > 0;
        const QString name = model.hasRun() ? QString::fromStdString(model.run().facts.modelName) : QString();
        const bool isOther = std::exchange(shown, name) != name;
        const bool isFirstPass = hasPass && (isOther || !hadPass);
        hadPass = hasPass || (hadPass && !isOther);
        if (model.hasRun() && (isOther || (isFirstPass && hasPlaces(model.run())))) {
            showPanesOf(model.run());
            takeSizes();
        }
    });
    rememberLayout();
}

/// What fits the data of another model comes to the front: the mask of a segmentation, the memory of a recurrent layer.
void ExplainWorkspace::showPanesOf(const trace::Run& run)
{
    const bool isDense = run.eventCount() > 0 && hasPlaces(run);
    (isDense ? m_outputDock : m_inputDock)->raise();
    const bool hasMemory = !views::recurrentNodes(*run.graph).empty();
    if (!m_isText && hasMemory == m_memoryDock->isHidden()) {
        m_memoryDock->setVisible(hasMemory);
        (hasMemory ? m_memoryDock : m_layersDock)->raise();
    }
}

void ExplainWorkspace::showControl(bool hasControl)
{
    if (std::exchange(m_hasControl, hasControl) != hasControl) {
        (hasControl ? m_compareDock : m_diagnosisDock)->raise();
    }
}

/// What shows pictures gives way: words and links above, tokens × layers below them, the ledger at the bottom; at the
/// right what the run says of itself.
void ExplainWorkspace::arrangeForTexts()
{
    for (QDockWidget* dock : docks()) {
        dock->setVisible(dock == m_runDock);
    }
    for (QDockWidget* dock : {m_textDock, m_wordLayersDock, m_ledgerDock, m_diagnosisDock}) {
        dock->setFloating(false);
        dock->show();
    }
    splitDockWidget(m_runDock, m_textDock, Qt::Horizontal);
    splitDockWidget(m_textDock, m_diagnosisDock, Qt::Horizontal);
    splitDockWidget(m_textDock, m_wordLayersDock, Qt::Vertical);
    splitDockWidget(m_diagnosisDock, m_ledgerDock, Qt::Vertical);
}

void ExplainWorkspace::rearrange()
{
    if (m_isText) {
        arrangeForTexts();
    }
}

void ExplainWorkspace::showTexts(bool isText)
{
    if (isText == m_isText) {
        return;
    }
    const QByteArray kept = saveState();
    m_isText = isText;
    if (!m_otherLayout.isEmpty()) {
        restoreState(m_otherLayout);
    } else if (isText) {
        arrangeForTexts();
        applySizes();
    }
    m_otherLayout = kept;
}

std::vector<Workspace::Pack> ExplainWorkspace::packs() const
{
    if (m_isText) {
        return {{m_ledgerDock, m_diagnosisDock, Qt::Vertical},
                {m_wordLayersDock, m_textDock, Qt::Vertical},
                {m_diagnosisDock, m_textDock, Qt::Horizontal}};
    }
    return {{m_classesDock, m_inputDock, Qt::Vertical, kMayLackLittle},
            {m_ledgerDock, m_layersDock, Qt::Horizontal},
            {m_compareDock, m_heatmapDock, Qt::Horizontal},
            {m_inputDock, m_runDock, Qt::Horizontal},
            {m_layersDock, m_heatmapDock, Qt::Vertical, kMayLack},
            {m_layersDock, m_heatmapDock, Qt::Horizontal}};
}

void ExplainWorkspace::applyTextSizes()
{
    const QRect room = contentsRect();
    const double run = std::max(m_run->minimumSizeHint().width(), room.width() * 284 / 1592);
    const double side = room.width() * 320.0 / 1592;
    resizeDocks({m_runDock, m_textDock, m_diagnosisDock},
                shared(room.width() - 2 * kSeparator, {run, room.width() - run - side, side}), Qt::Horizontal);
    const double most = room.height() * 0.56;
    const double layers = std::min(most, m_wordLayers->matrix().mostHeight() + px(kAroundLayers));
    resizeDocks({m_textDock, m_wordLayersDock}, shared(room.height() - kSeparator, {room.height() - layers, layers}),
                Qt::Vertical);
    resizeDocks({m_diagnosisDock, m_ledgerDock}, shared(room.height() - kSeparator, {50, 50}), Qt::Vertical);
}

void ExplainWorkspace::applySizes()
{
    if (m_isText) {
        return applyTextSizes();
    }
    const QRect room = contentsRect();
    // The parts are those of a window of 1600 × 1000; a large font takes from the heatmap.
    const double run = std::max(m_run->minimumSizeHint().width(), room.width() * 284 / 1592);
    const double side = std::max(px(kLeastInput), room.width() * 312 / 1592);
    const double compare = std::max(m_compare->minimumSizeHint().width(), room.width() * 293 / 1592);
    const double heatmap = std::max<double>(px(kLeastHeatmap), room.width() - run - side - compare - 3 * kSeparator);
    resizeDocks({m_runDock, m_inputDock, m_heatmapDock, m_compareDock},
                shared(room.width() - 3 * kSeparator, {run, side, heatmap, compare}), Qt::Horizontal);
    resizeDocks({m_layersDock, m_ledgerDock}, shared(room.width() - static_cast<int>(run) - 2 * kSeparator, {857, 440}),
                Qt::Horizontal);
    const double below =
        std::max(std::min<double>(px(kLeastBelow), room.height() * kMostBelow), room.height() * 208.0 / 898);
    const double above = room.height() - kSeparator - below;
    resizeDocks({m_inputDock, m_layersDock}, shared(room.height() - kSeparator, {above, below}), Qt::Vertical);
    // The sentence below five classes stays in sight where the picture above can do with less.
    const double column = above - kSeparator;
    const double wanted = std::max(column * 298 / 682, std::min<double>(px(kClasses), column * kMostClasses));
    // The picture does not become smaller than its pixels while the tools of covering are there; a mask is as wide as
    // the column.
    const int mask = m_output->wantedHeight(static_cast<int>(side));
    const double input = std::max(m_input->leastHeight(), mask) + px(kInputTitle);
    const double classes = std::max<double>(px(kLeastClasses), std::min(wanted, column - input));
    resizeDocks({m_inputDock, m_classesDock}, shared(static_cast<int>(column), {column - classes, classes}),
                Qt::Vertical);
}

EngineWorkspace::EngineWorkspace(const WorkspaceContext& context, QWidget* parent)
    : Workspace(QStringLiteral("engine"), parent)
{
    auto& [model, cursor, selection, breakpoints, region, text] = context;
    m_graph = new views::GraphView(model, cursor, selection, this);
    m_graph->setInMotion(true);
    m_graph->followRegion(region);
    m_breakpoints = new views::BreakpointsView(model, cursor, selection, breakpoints, this);
    auto* range = new views::TimeRange(this);
    clearForOtherCourse(model, *range);
    m_graph->followRange(*range);
    auto* promises = new views::PromisesView(model, cursor, selection, this);
    promises->followRange(*range);
    m_promisesDock = addView(promises);
    m_whyDock = addView(new views::WhyView(model, cursor, selection, this));
    m_breakpointsDock = addView(m_breakpoints);
    m_graphDock = addView(m_graph);
    m_inspector = new views::InspectorView(model, cursor, selection, this);
    m_inspectorDock = addView(m_inspector);
    m_heatmap = new views::HeatmapView(model, cursor, selection, this);
    m_heatmap->setGrowing(true);
    m_heatmapDock = addView(m_heatmap, tr("Heatmap"));
    m_history = new views::HistoryView(model, cursor, selection, this);
    QDockWidget* historyDock = addView(m_history);
    m_valuesDock = addView(new views::ValuesView(model, cursor, selection, this));
    m_timeline = new views::TimelineView(model, cursor, selection, this);
    m_timeline->followBreakpoints(breakpoints);
    m_timelineDock = addView(m_timeline);
    m_timeline->followRange(*range);
    if (auto* title = qobject_cast<views::DockTitle*>(m_timelineDock->titleBarWidget())) {
        auto* chip = new views::RangeChip(title);
        chip->follow(*range);
        title->addTool(chip);
    }
    QDockWidget* frontierDock = addView(new views::FrontierView(model, cursor, selection, this));
    auto* log = new views::LogView(model, cursor, selection, this);
    log->followRange(*range);
    QDockWidget* logDock = addView(log, tr("Log"));
    m_nowDock = addView(new views::NowView(model, cursor, selection, this));
    auto* ledger = new views::LedgerView(model, cursor, selection, this);
    ledger->setDetailed(true);
    ledger->followRange(*range);
    m_ledgerDock = addView(ledger);
    auto* watch = new views::WatchView(model, cursor, selection, this);
    QDockWidget* watchDock = addView(watch);
    QDockWidget* programDock = addView(new views::ProgramView(model, cursor, selection, this));
    connect(m_graph, &views::GraphView::watchRequested, watch, [watch, watchDock](base::NodeId node) {
        watchDock->show();
        watchDock->raise();
        watch->addNode(node);
    });
    m_notebook = new views::NotebookView(model, cursor, selection, this);
    m_notebookDock = addView(m_notebook);
    m_verification = new views::VerificationView(model, cursor, selection, this);
    m_verificationDock = addView(m_verification);
    m_diagnosis = new views::DiagnoseView(model, cursor, selection, this);
    m_diagnosisDock = addView(m_diagnosis);
    splitDockWidget(m_graphDock, m_promisesDock, Qt::Vertical);
    splitDockWidget(m_graphDock, m_heatmapDock, Qt::Horizontal);
    splitDockWidget(m_promisesDock, m_timelineDock, Qt::Horizontal);
    splitDockWidget(m_timelineDock, m_nowDock, Qt::Horizontal);
    splitDockWidget(m_promisesDock, m_whyDock, Qt::Vertical);
    // Few panes lie behind each other where they are narrow, so that every tab can be read.
    tabifyDockWidget(m_promisesDock, m_breakpointsDock);
    tabifyDockWidget(m_whyDock, frontierDock);
    m_whyDock->raise();
    tabifyDockWidget(m_heatmapDock, m_valuesDock);
    tabifyDockWidget(m_heatmapDock, historyDock);
    m_heatmapDock->raise();
    tabifyDockWidget(m_nowDock, m_inspectorDock);
    tabifyDockWidget(m_inspectorDock, logDock);
    tabifyDockWidget(logDock, m_ledgerDock);
    m_nowDock->raise();
    tabifyDockWidget(m_timelineDock, watchDock);
    tabifyDockWidget(watchDock, programDock);
    tabifyDockWidget(programDock, m_notebookDock);
    tabifyDockWidget(m_notebookDock, m_verificationDock);
    m_timelineDock->raise();
    tabifyDockWidget(m_breakpointsDock, m_diagnosisDock);
    m_promisesDock->raise();
    rememberLayout();
}

void EngineWorkspace::showBookmarks(const std::vector<trace::Bookmark>& bookmarks)
{
    std::vector<std::uint64_t> positions;
    for (const trace::Bookmark& bookmark : bookmarks) {
        positions.push_back(bookmark.position);
    }
    m_timeline->setBookmarks(positions);
}

void EngineWorkspace::showNotebook()
{
    m_notebookDock->show();
    m_notebookDock->raise();
    m_notebook->flush();
}

void EngineWorkspace::showVerification()
{
    m_verificationDock->show();
    m_verificationDock->raise();
    m_verification->flush();
}

void EngineWorkspace::editBreakpoint(base::NodeId node)
{
    m_breakpointsDock->show();
    m_breakpointsDock->raise();
    m_breakpoints->flush();
    m_breakpoints->editAt(node);
}

/// The heatmap stays in sight.
std::vector<Workspace::Pack> EngineWorkspace::packs() const
{
    return {{m_whyDock, m_promisesDock, Qt::Vertical, kMayLackLittle},
            {m_nowDock, m_promisesDock, Qt::Horizontal},
            {m_promisesDock, m_timelineDock, Qt::Horizontal},
            {m_timelineDock, m_graphDock, Qt::Vertical},
            {m_promisesDock, m_graphDock, Qt::Vertical},
            {m_nowDock, m_graphDock, Qt::Vertical}};
}

void EngineWorkspace::applySizes()
{
    const QRect room = contentsRect();
    const double most = room.width() * 0.3; // of either side, so that graph and timeline stay the largest
    const double promises = std::max(std::min<double>(px(kLeastPromises), most), room.width() * 392.0 / 1592);
    const double side = std::max(std::min<double>(px(kLeastInspector), most), room.width() * 364.0 / 1592);
    resizeDocks({m_graphDock, m_heatmapDock},
                shared(room.width() - kSeparator, {room.width() - side - kSeparator, side}), Qt::Horizontal);
    const double timeline = std::max<double>(px(kLeastMiddle), room.width() - promises - side - 2 * kSeparator);
    resizeDocks({m_promisesDock, m_timelineDock, m_nowDock},
                shared(room.width() - 2 * kSeparator, {promises, timeline, side}), Qt::Horizontal);
    const double below =
        std::max(std::min<double>(px(kLeastTimeline), room.height() * kMostTimeline), room.height() * 424.0 / 898);
    const double above = room.height() - kSeparator - below;
    resizeDocks({m_graphDock, m_timelineDock}, shared(room.height() - kSeparator, {above, below}), Qt::Vertical);
    resizeDocks({m_promisesDock, m_whyDock}, shared(static_cast<int>(below) - kSeparator, {252, 168}), Qt::Vertical);
}

} // namespace retro::app

#include "moc_workspaces.cpp"
