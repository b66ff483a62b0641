// SPDX-License-Identifier: Apache-2.0
// Diagnosis in the main window: its panes, what lists its findings elsewhere, and what carries their actions out.
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/controllers/rulecontroller.h"
#include "app/gui/controllers/runcontroller.h"
#include "app/gui/shell/dockactions.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/paint/theme.h"
#include "views/common/widgets/docktitle.h"
#include "views/diagnose/diagnoseview.h"
#include "views/diagnose/diagnosewords.h"
#include "views/diagnose/diagnosisstate.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/inspector/inspectorview.h"
#include "views/inspector/valuesview.h"
#include "views/ledger/ledgerview.h"
#include "views/problems/problemspanel.h"
#include "views/run/runpanel.h"

#include <QDockWidget>
#include <QToolButton>

namespace retro::app
{

namespace
{

/// How many errors and warnings a diagnosis found, in the title of a pane; a click shows them. Hidden when there are
/// none.
class FindingsChip final : public QToolButton
{
public:
    explicit FindingsChip(QWidget* parent);

    void take(const views::DiagnosisState& state);
};

FindingsChip::FindingsChip(QWidget* parent) : QToolButton(parent)
{
    setObjectName(QStringLiteral("findings"));
    setAutoRaise(true);
    setFont(views::fonts::label());
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setIcon(views::icons::icon(QStringLiteral("warning")));
    setFocusPolicy(Qt::TabFocus);
    hide();
}

void FindingsChip::take(const views::DiagnosisState& state)
{
    std::size_t number = 0;
    QStringList first;
    for (const diagnosis::Finding& finding :
         state.diagnosis ? state.diagnosis->findings : std::vector<diagnosis::Finding>()) {
        if (finding.level != diagnosis::Level::Note && !state.setAside.contains(views::keyOf(finding))) {
            ++number;
            first << QString::fromStdString(finding.place.name + " " + finding.what);
        }
    }
    setVisible(number > 0);
    setEnabled(!state.isStale);
    setText(QString::number(number));
    setToolTip(first.mid(0, 3).join(QLatin1Char('\n')));
    setAccessibleName(MainWindow::tr("Diagnosis: %1").arg(views::countsText(state)));
}

/// A chip in the title of the dock that holds `view`; null when its dock has none of ours.
FindingsChip* addFindingsChip(const QWidget& view)
{
    const auto* dock = qobject_cast<const QDockWidget*>(view.parentWidget());
    auto* title = dock == nullptr ? nullptr : qobject_cast<views::DockTitle*>(dock->titleBarWidget());
    if (title == nullptr) {
        return nullptr;
    }
    auto* chip = new FindingsChip(title);
    title->addTool(chip);
    return chip;
}

void bringForward(const Workspace& space, const QWidget* view)
{
    for (QDockWidget* dock : space.docks()) {
        if (view != nullptr && dock->widget() == view) {
            dock->show();
            dock->raise();
        }
    }
}

/// The first view of that kind in a workspace; null when it has none.
template <class View>
const View* viewIn(const Workspace& space)
{
    for (const views::View* view : space.views()) {
        if (const auto* found = qobject_cast<const View*>(view)) {
            return found;
        }
    }
    return nullptr;
}

bool isOfFlow(const diagnosis::Finding& finding)
{
    return finding.family() == "flow" || finding.family() == "rule" || finding.family() == "eval";
}

} // namespace

void MainWindow::connectDiagnosis()
{
    m_diagnosis = new DiagnoseController(m_actions, {&m_explain->diagnosis(), &m_engineSpace->diagnosis()}, m_model,
                                         m_explain->runPanel(), *this);
    connect(m_diagnosis, &DiagnoseController::viewWanted, this, &MainWindow::showDiagnosis);
    connect(m_diagnosis, &DiagnoseController::said, this, &MainWindow::say);
    connect(m_diagnosis, &DiagnoseController::problemsFound, this, [this](const std::vector<views::Problem>& problems) {
        m_shell->problems().list().replace(views::ProblemOrigin::Diagnosis, problems);
    });
    connect(m_diagnosis, &DiagnoseController::nodesFound, &m_engineSpace->graph(), &views::GraphView::setFound);
    connectDiagnosisPanes();
    connectMending();
}

void MainWindow::connectDiagnosisPanes()
{
    for (views::DiagnoseView* pane : {&m_explain->diagnosis(), &m_engineSpace->diagnosis()}) {
        connect(pane, &views::DiagnoseView::showRequested, this, &MainWindow::showEvidence);
    }
    for (const QWidget* view : {static_cast<const QWidget*>(&m_explain->heatmap()),
                                static_cast<const QWidget*>(viewIn<views::LedgerView>(*m_explain))}) {
        if (FindingsChip* chip = addFindingsChip(*view)) {
            connect(m_diagnosis, &DiagnoseController::nodesFound, chip,
                    [this, chip] { chip->take(m_diagnosis->state()); });
            connect(chip, &QToolButton::clicked, this, &MainWindow::showDiagnosis);
        }
    }
    connect(&m_shell->problems().panel(), &views::ProblemsPanel::diagnosisWanted, this, [this](const QString& what) {
        showDiagnosis();
        const auto& state = m_diagnosis->state();
        for (const diagnosis::Finding& finding :
             state.diagnosis ? state.diagnosis->findings : std::vector<diagnosis::Finding>()) {
            if (what == QString::fromStdString(finding.place.name + " " + finding.what)) {
                m_explain->diagnosis().showFinding(views::keyOf(finding));
                m_engineSpace->diagnosis().showFinding(views::keyOf(finding));
            }
        }
    });
}

void MainWindow::connectMending()
{
    connect(m_diagnosis, &DiagnoseController::holdWanted, &m_actions.at(QStringLiteral("view.holdrun")),
            &QAction::trigger);
    connect(m_diagnosis, &DiagnoseController::questionWanted, this, &MainWindow::askWith);
    connect(m_diagnosis, &DiagnoseController::ruleWanted, m_rules, &RuleController::change);
    connect(m_diagnosis, &DiagnoseController::inputWanted, this, &MainWindow::chooseInput);
    connect(m_diagnosis, &DiagnoseController::coverWanted, this, [this](const QRect& box) {
        m_explain->input().flush();
        m_explain->input().coverBox(box);
    });
    connect(m_diagnosis, &DiagnoseController::bothWanted, this, [this](base::NodeId node, base::NodeId other) {
        showWorkspace(QStringLiteral("engine"));
        m_selection.selectNode(node);
        m_engineSpace->graph().flush();
        m_engineSpace->graph().toggleSelected(other);
    });
    connect(m_diagnosis, &DiagnoseController::weightsWanted, this, [this](base::ValueId value) {
        showWorkspace(QStringLiteral("engine"));
        m_selection.selectValue(value);
        bringForward(*m_engineSpace, viewIn<views::ValuesView>(*m_engineSpace));
    });
}

/// In the workspace on screen, where that has the pane.
void MainWindow::showDiagnosis()
{
    if (viewIn<views::DiagnoseView>(workspace()) == nullptr) {
        showWorkspace(QStringLiteral("explain"));
    }
    const views::DiagnoseView* view = viewIn<views::DiagnoseView>(workspace());
    bringForward(workspace(), view);
    if (auto* dock = view == nullptr ? nullptr : qobject_cast<QDockWidget*>(view->parentWidget())) {
        focusInto(*dock); // so that its keys work
    }
}

void MainWindow::showEvidence(const diagnosis::Finding& finding)
{
    const Workspace& space = workspace();
    if (isOfFlow(finding)) {
        bringForward(space, viewIn<views::LedgerView>(space));
    }
    const bool isOfModel = !isOfFlow(finding) && finding.place.kind == diagnosis::PlaceKind::Node;
    const QWidget* inspector = viewIn<views::InspectorView>(space);
    bringForward(space, isOfModel && inspector != nullptr ? inspector : viewIn<views::HeatmapView>(space));
}

/// As the run panel would ask it, with the rewrites that it names.
void MainWindow::askWith(const engine::Question& question)
{
    if (!m_loaded) {
        return;
    }
    const engine::Question before = m_explain->runPanel().question();
    m_explain->runPanel().setQuestion(question);
    ExplainJob job = m_run->job();
    if (before.noRewrite != question.noRewrite || before.noMergeBatchNorm != question.noMergeBatchNorm) {
        job.question.noRewrite = question.noRewrite;
        job.question.noMergeBatchNorm = question.noMergeBatchNorm;
        job.setsRewrites = true;
    }
    post(std::move(job));
}

} // namespace retro::app
