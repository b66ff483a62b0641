// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/mainwindow.h"

#include "app/gui/controllers/breakcontroller.h"
#include "app/gui/controllers/choices.h"
#include "app/gui/controllers/covercontroller.h"
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/controllers/explainerexport.h"
#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/controllers/fusedcontroller.h"
#include "app/gui/controllers/graphcontroller.h"
#include "app/gui/controllers/loopcheckpoints.h"
#include "app/gui/controllers/mapcontroller.h"
#include "app/gui/controllers/oraclecontroller.h"
#include "app/gui/controllers/plancommands.h"
#include "app/gui/controllers/plancontroller.h"
#include "app/gui/controllers/rulecontroller.h"
#include "app/gui/controllers/runcontroller.h"
#include "app/gui/controllers/verificationcontroller.h"
#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/embeddedsample.h"
#include "app/gui/facts/planlink.h"
#include "app/gui/facts/questioncheck.h"
#include "app/gui/facts/rundifference.h"
#include "app/gui/jobs/otherrunreader.h"
#include "app/gui/live/livecontroller.h"
#include "app/gui/shell/closeguard.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/session.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/unsavedwork.h"
#include "app/gui/stepping/transportbar.h"
#include "app/gui/window/kernelsworkspace.h"
#include "app/gui/window/needsbar.h"
#include "app/gui/window/planbar.h"
#include "app/gui/window/planworkspace.h"
#include "app/gui/window/tourhost.h"
#include "app/gui/window/workspaces.h"
#include "core/engine/lut/lutpath.h"
#include "core/trace/runfile.h"
#include "views/beforeafter/beforeafterview.h"
#include "views/classes/classesview.h"
#include "views/common/paint/background.h"
#include "views/common/paint/fonts.h"
#include "views/common/stringlist.h"
#include "views/compare/compareview.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputview.h"
#include "views/inspector/inspectorview.h"
#include "views/lut/dataflowview.h"
#include "views/notebook/notebookview.h"
#include "views/output/outputview.h"
#include "views/plan/snapshotview.h"
#include "views/run/runpanel.h"

#include <QCloseEvent>
#include <QLabel>
#include <QLayout>
#include <QPointer>
#include <QRubberBand>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabBar>

namespace retro::app
{

namespace
{

constexpr int kWindowMessageMilliseconds = 6000;

/// Deletes the direct children that `isOne` picks, the newest first: younger ones use older ones.
void deleteChildren(const QObject& of, bool (*isOne)(const QObject&))
{
    QList<QPointer<QObject>> chosen;
    for (QObject* child : of.children()) {
        if (isOne(*child)) {
            chosen.prepend(child);
        }
    }
    for (const QPointer<QObject>& child : chosen) {
        delete child.data(); // null when another one has taken it along
    }
}

} // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), m_model(m_cursor)
{
    setWindowTitle(tr("Retrograde"));
    setAcceptDrops(true);
    m_actions.addAll(views::standardActions());
    addChoiceActions(m_actions);
    addCoverActions(m_actions);
    addTourAction(m_actions);
    addGraphActions(m_actions);
    addFusedActions(m_actions);
    addExportActions(m_actions);
    addOtherRunActions(m_actions);
    addLiveActions(m_actions);
    addExplainerExportAction(m_actions);
    addOracleAction(m_actions);
    addVerificationAction(m_actions);
    addDiagnoseActions(m_actions);
    addRuleActions(m_actions);
    addRunDifferenceAction(m_actions);
    addPlanActions(m_actions);
    addWhereActions(m_actions);
    const WorkspaceContext context{m_model, m_cursor, m_selection, m_breakpoints, m_region, m_text};
    m_stack = new QStackedWidget(this);
    m_explain = new ExplainWorkspace(context, m_stack);
    m_engineSpace = new EngineWorkspace(context, m_stack);
    m_planner = new PlanController(m_engine, m_plan, this);
    m_planSpace = new PlanWorkspace(context, m_plan, m_stack);
    new PlanCommands(m_actions, m_plan, *m_planSpace, this);
    markLive(m_engineSpace->graph(), m_model, m_plan);
    m_planLink = new PlanLink(m_model, m_cursor, m_plan, this);
    connectPlanRun();
    connect(m_planner, &PlanController::failed, this,
            [this](const QString& what) { showProblem(base::inputError(what.toStdString())); });
    connect(&m_planSpace->snapshot(), &views::SnapshotView::failed, this,
            [this](const QString& what) { showProblem(base::inputError(what.toStdString())); });
    m_kernels = new KernelsWorkspace(context, m_stack);
    for (QWidget* space : {static_cast<QWidget*>(m_explain), static_cast<QWidget*>(m_engineSpace),
                           static_cast<QWidget*>(m_planSpace), static_cast<QWidget*>(m_kernels)}) {
        m_stack->addWidget(space);
    }
    connectPath();
    setCentralWidget(m_stack);
    m_explain->compare().addButtons(
        {&m_actions.at(QStringLiteral("cover.tag")), &m_actions.at(QStringLiteral("help.tour"))});
    m_cover = new CoverController(m_actions, m_explain->input(), this);
    connect(m_cover, &CoverController::jobWanted, this, [this](const ExplainJob& job) {
        post(job);
        m_cover->setPosted(m_generation);
    });
    m_run = new RunController(m_explain->runPanel(), m_engine, *m_cover, this);
    new LoopCheckpoints(m_explain->runPanel(), m_planSpace->planners(), this);
    connect(m_run, &RunController::jobWanted, this, [this](const ExplainJob& job) { post(job); });
    connect(m_run, &RunController::said, this, &MainWindow::say);
    connect(m_run, &RunController::asked, m_planner, &PlanController::setQuestion);
    connect(&m_explain->classes(), &views::ClassesView::classWanted, m_run, &RunController::askClass);
    connect(&m_explain->classes(), &views::ClassesView::placeWanted, m_run, &RunController::askPlace);
    connect(&m_explain->output(), &views::OutputView::placeWanted, m_run, &RunController::askPlace);
    connect(&m_explain->beforeAfter(), &views::BeforeAfterView::questionWanted, m_run, &RunController::askAs);
    const NavigatorContext travel{m_actions, m_model, m_cursor, m_selection, m_breakpoints};
    m_transport = new TransportBar(travel, this);
    auto* breaks = new BreakController(travel, *m_engineSpace, this);
    connect(breaks, &BreakController::editingStarted, this, [this] { showWorkspace(QStringLiteral("engine")); });
    auto* graph = new GraphController(m_actions, m_engineSpace->graph(), m_breakpoints, this);
    connect(graph, &GraphController::targetWanted, m_run, &RunController::chooseValue);
    connect(graph, &GraphController::checkpointWanted, m_run, &RunController::setCheckpoint);
    connect(&m_explain->runPanel(), &views::RunPanel::checkpointsChanged, &m_engineSpace->graph(),
            &views::GraphView::setCheckpoints);
    connect(graph, &GraphController::graphWanted, this, [this] { showWorkspace(QStringLiteral("engine")); });
    m_fused = new FusedController(m_actions, m_model, m_selection, m_engineSpace->graph(), m_engineSpace->inspector(),
                                  m_explain->memory(), this);
    connect(m_fused, &FusedController::jobWanted, this, [this](const ExplainJob& job) {
        // What was asked for meanwhile is not given up: another model, or a newer question about this one.
        if (!m_isBusy || m_job.model == job.model) {
            post(m_isBusy ? m_job : job);
        }
    });
    connect(m_fused, &FusedController::said, this, &MainWindow::say);
    connectRules();
    connect(&m_transport->navigator(), &Navigator::said, this, &MainWindow::say);
    for (const char* id : {"cover.brush", "export.heatmap"}) {
        m_transport->addExplainTool(id);
    }
    addToolBar(Qt::TopToolBarArea, m_transport);
    makeStatusBar();
    makeShell(context);
    m_planBar = new PlanBar(m_actions, m_plan, m_planSpace->schedule(), this);
    addToolBar(Qt::TopToolBarArea, m_planBar);
    m_planBar->hide();
    connectNeeds();
    graph->reportTo(m_shell->problems().list());
    m_closing = new CloseGuard(*this, [this] { return m_engine.isWriting(); });
    connect(&m_engine, &EngineWorker::idle, m_closing, [this] {
        if (m_engine.isIdle()) { // nothing was posted since
            m_closing->jobEnded();
        }
    });
    connectEngine();
    connectOracle();
    connectVerification();
    connectDiagnosis();
    connectWhere();
    connectTexts();
    connectPanel();
    connectChoices();
    connect(m_shell, &Shell::sessionWanted, this, &MainWindow::resume);
    m_otherRuns = new OtherRunReader(m_actions, *this);
    connect(m_otherRuns, &OtherRunReader::failed, this, &MainWindow::showProblem);
    connect(m_otherRuns, &OtherRunReader::said, this, &MainWindow::say);
    connect(m_otherRuns, &OtherRunReader::arraysChosen, m_difference, &RunDifference::compareWith);
    auto* explainer = new ExplainerExport(
        m_actions, [this] { return m_loaded ? std::optional(m_run->job()) : std::nullopt; }, *this);
    connect(explainer, &ExplainerExport::said, this, &MainWindow::say);
    connect(explainer, &ExplainerExport::failed, this, &MainWindow::showProblem);
    connect(explainer, &ExplainerExport::wrote, this, [this](const QString& path) { say(tr("Wrote %1").arg(path)); });
    auto* live = new LiveController(*this);
    connect(live, &LiveController::failed, this, &MainWindow::showProblem);
    connect(&m_model, &views::RunModel::stateChanged, this, &MainWindow::showStatus);
    m_tours = new TourHost(*this);
    resize(views::fonts::px(1600), views::fonts::px(1000));
}

void MainWindow::connectPlanRun()
{
    connect(&m_actions.at(QStringLiteral("plan.run")), &QAction::triggered, this, [this] {
        if (!m_loaded) {
            return say(tr("A recorded run holds no model to run. Open its model."));
        }
        post(m_planLink->byPlan(m_run->job()));
    });
    connect(&m_plan, &views::PlanModel::searchWanted, this, [this] {
        if (!m_loaded) {
            return say(tr("A recorded run holds no model to plan for. Open its model."));
        }
        ExplainJob job = m_planLink->byPlan(m_run->job());
        job.search = m_plan.planOfSteps();
        if (job.search) {
            post(std::move(job));
        }
    });
}

/// The path through the kernels that is wanted becomes that of the model.
void MainWindow::connectPath()
{
    connect(&m_kernels->dataFlow(), &views::DataFlowView::pathWanted, this, [this](lut::Path path) {
        if (!m_loaded) {
            return say(tr("A recorded run holds one path. Open its model to run the other one."));
        }
        const auto changed = engine::withLutPath(m_loaded, path);
        if (!changed) {
            return say(QString::fromStdString(changed.error().text()));
        }
        m_loaded = *changed;
        m_planner->setModel(m_loaded);
        m_run->setModel(m_loaded);
        post(m_run->job());
    });
}

MainWindow::~MainWindow()
{
    // The parts of the window use its members. Left to QWidget they would end after these, and what they still say then
    // (hidden, out of focus, an action is gone) would reach what is no more. So they end here: first whatever listens,
    // then what is on screen.
    hide();
    m_engine.shutDown();
    deleteChildren(*this, [](const QObject& child) {
        return !child.isWidgetType() && qobject_cast<const QLayout*>(&child) == nullptr;
    });
    deleteChildren(*this, [](const QObject& child) {
        // Those that the layout of the window made for itself stay its own.
        return child.isWidgetType() && qobject_cast<const QTabBar*>(&child) == nullptr &&
               qobject_cast<const QRubberBand*>(&child) == nullptr;
    });
}

void MainWindow::connectEngine()
{
    // Answers of an older job are dropped, whatever they bring.
    const auto isNew = [this](quint64 generation) { return generation == m_generation; };
    connect(&m_engine, &EngineWorker::progress, this, &MainWindow::takeProgress);
    connect(&m_engine, &EngineWorker::graphReady, this, [this, isNew](const std::shared_ptr<const ExplainDone>& graph) {
        if (isNew(graph->generation)) {
            takeGraph(*graph);
        }
    });
    connect(&m_engine, &EngineWorker::explained, this, [this, isNew](const std::shared_ptr<const ExplainDone>& result) {
        if (isNew(result->generation)) {
            takeResult(*result);
        }
    });
    connect(&m_engine, &EngineWorker::compared, this,
            [this, isNew](const std::shared_ptr<const ComparisonDone>& comparison) {
                if (isNew(comparison->generation)) {
                    takeComparison(*comparison);
                }
            });
    connect(&m_engine, &EngineWorker::failed, this, [this, isNew](quint64 generation, const base::Error& error) {
        if (isNew(generation)) {
            takeFailure(error);
        }
    });
    connect(&m_engine, &EngineWorker::stopped, this,
            [this](quint64 generation) { takeEnd(generation, tr("Stopped")); });
    connect(&m_engine, &EngineWorker::finished, this, [this](quint64 generation) { takeEnd(generation, {}); });
    m_unsaved = new UnsavedWork(m_shell->bookmarks(), m_engineSpace->notebook().items(), *this);
    connect(m_unsaved, &UnsavedWork::saveWanted, this, &MainWindow::saveRun);
    connect(&m_engine, &EngineWorker::saved, this, [this](const QString& path) {
        statusBar()->showMessage(tr("Wrote %1").arg(path), kWindowMessageMilliseconds);
        m_unsaved->takeSaved(path);
    });
    connect(&views::BackgroundFailures::instance(), &views::BackgroundFailures::failed, this,
            [this](const QString& what, const QString& remedy) {
                m_shell->problems().addError(views::ProblemOrigin::Job, what, remedy);
            });
    connect(&m_engine, &EngineWorker::saveFailed, this, [this](const QString& what) {
        m_unsaved->takeFailure();
        showProblem(base::outputError(what.toStdString()));
    });
}

void MainWindow::connectRules()
{
    m_rules = new RuleController(m_actions, m_model, m_selection, m_explain->runPanel(), *this);
    connect(&m_engineSpace->graph(), &views::GraphView::ruleRequested, m_rules, &RuleController::change);
    connect(&m_engineSpace->inspector(), &views::InspectorView::ruleRequested, m_rules, &RuleController::change);
    connect(m_rules, &RuleController::said, this, &MainWindow::say);
    connect(m_rules, &RuleController::failed, this, &MainWindow::showProblem);
    connect(m_rules, &RuleController::holdWanted, &m_actions.at(QStringLiteral("view.holdrun")), &QAction::trigger);
    connect(m_rules, &RuleController::runWanted, this, [this] {
        if (m_loaded) {
            post(m_run->job());
        }
    });
    const auto other = [this]() -> std::shared_ptr<const trace::Run> {
        for (const views::HeatmapView* view : findChildren<views::HeatmapView*>()) {
            if (view->hasOther()) {
                return view->otherRun();
            }
        }
        return nullptr;
    };
    m_difference = new RunDifference(m_actions, m_model, m_selection, other, *this);
    connect(m_difference, &RunDifference::said, this, &MainWindow::say);
}

void MainWindow::connectChoices()
{
    m_choices = new Choices(m_actions,
                            {m_explain->runPanel(), m_explain->input(), m_breakpoints,
                             m_engineSpace->notebook().items(), m_plan, *m_where, *m_diagnosis},
                            this);
    connect(m_run, &RunController::asked, m_choices, &Choices::noteQuestion);
    connect(m_choices, &Choices::questionWanted, this, [this](const engine::Question& question, bool isAsked) {
        m_run->putQuestion(question);
        if (isAsked && m_loaded) {
            post(m_job.isChoice ? m_run->jobOfRun() : m_run->job());
        }
    });
}

void MainWindow::connectPanel()
{
    connect(&m_kernels->dataFlow(), &views::DataFlowView::sampleWanted,
            &m_actions.at(QStringLiteral("file.sample.digits")), &QAction::trigger);
    views::RunPanel& panel = m_explain->runPanel();
    connect(&panel, &views::RunPanel::openModelRequested, this, &MainWindow::chooseModel);
    connect(&panel, &views::RunPanel::passThroughRequested, this, &MainWindow::openPassingThrough);
    connect(&panel, &views::RunPanel::reopenRequested, this, &MainWindow::askRecordedAgain);
    connect(&panel, &views::RunPanel::openInputRequested, this, &MainWindow::chooseInput);
    connect(&panel, &views::RunPanel::openTokenizerRequested, this, &MainWindow::chooseTokenizer);
    connect(&panel, &views::RunPanel::runRequested, this, &MainWindow::runQuestion);
    connect(&panel, &views::RunPanel::stopRequested, &m_engine, &EngineWorker::stop);
    for (Workspace* space : {static_cast<Workspace*>(m_explain), static_cast<Workspace*>(m_engineSpace),
                             static_cast<Workspace*>(m_planSpace), static_cast<Workspace*>(m_kernels)}) {
        connect(space, &Workspace::openRequested, this, &MainWindow::chooseModel);
        connect(space, &Workspace::cancelRequested, &m_engine, &EngineWorker::stop);
    }
    const auto on = [this](const char* id, auto&& action) {
        connect(&m_actions.at(QLatin1String(id)), &QAction::triggered, this, std::forward<decltype(action)>(action));
    };
    on("file.open", [this] { chooseModel(); });
    on("file.save", [this] { saveRun(); });
    on("file.saveas", [this] { saveRunAs(); });
    on("file.quit", [this] { close(); });
    on("run.start", [this] { runQuestion(); });
    on("run.stop", [this] {
        if (m_isBusy) {
            m_engine.stop();
        } else if (m_plan.isPlanning() || m_plan.state() == views::PlanState::Loading) {
            m_plan.cancel();
        } else {
            m_selection.clear();
        }
    });
    connect(&panel, &views::RunPanel::nodeWanted, this, [this](const QString& name) {
        const auto node = m_model.hasRun() ? m_model.graph().findNode(name.toStdString()) : std::nullopt;
        if (node) {
            m_selection.selectNode(*node);
        }
    });
    on("view.resetlayout", [this] { workspace().resetLayout(); });
}

void MainWindow::post(ExplainJob job)
{
    if (!job.isLive && !m_unsaved->mayLose([this, job] { post(job); })) {
        return;
    }
    if (job.model) { // the nodes of another model are closed
        job.opened = m_fused->opened();
        m_choices->noteExplained();
    }
    m_job = job;
    m_lastError.clear();
    if (!m_model.hasRun()) {
        m_model.setLoading(tr("Opening"), -1);
    }
    setBusy(true);
    m_where->stopPreparing();
    m_diagnosis->setRunning(true);
    m_generation = m_engine.post(std::move(job));
}

void MainWindow::openPassingThrough()
{
    if (m_loaded) {
        ExplainJob job;
        job.path = QString::fromStdString(m_loaded->path.string());
        job.question.passThrough = true;
        post(std::move(job));
    }
}

void MainWindow::explainInput(const QString& source)
{
    if (m_loaded) {
        views::RunPanel& panel = m_explain->runPanel();
        engine::Question question = panel.question();
        question.inputs = {source.toStdString()};
        panel.setQuestion(question);
        post(m_run->job());
    }
}

/// Opens the model of the recorded run, and asks the question of the run where its inputs are still there.
void MainWindow::askRecordedAgain()
{
    ExplainJob job;
    job.path = m_recorded.reopen;
    if (!m_recorded.recordedInputs.isEmpty()) {
        job.question = m_explain->runPanel().question();
        job.question.inputs = views::textsOf(m_recorded.recordedInputs);
    }
    post(std::move(job));
}

void MainWindow::runQuestion()
{
    if (m_loaded) {
        post(m_run->jobOfRun());
    } else if (!m_recorded.reopen.isEmpty()) {
        askRecordedAgain();
    } else {
        chooseModel();
    }
}

void MainWindow::connectNeeds()
{
    addToolBarBreak(Qt::TopToolBarArea);
    m_needs = new NeedsBar(this);
    addToolBar(Qt::TopToolBarArea, m_needs);
    m_needs->hide();
    connect(m_needs, &NeedsBar::inputWanted, this, &MainWindow::chooseInput);
    connect(m_needs, &NeedsBar::sourceWanted, this, [this](const QString& source) {
        showWorkspace(QStringLiteral("explain"));
        explainInput(source);
    });
    connect(m_needs, &NeedsBar::choicesWanted, this, [this] { showWorkspace(QStringLiteral("explain")); });
}

std::string MainWindow::nodeAtCursor() const
{
    const base::NodeId node = m_model.state().current;
    return node.isValid() && node.index() < m_model.graph().runNodeCount() ? m_model.graph().labelOf(node)
                                                                           : std::string();
}

std::string MainWindow::selectedNode() const
{
    const base::NodeId node = m_model.nodeOf(m_selection.thing());
    return node.isValid() && node.index() < m_model.graph().runNodeCount() ? m_model.graph().labelOf(node)
                                                                           : std::string();
}

void MainWindow::goToNode(const std::string& name)
{
    const auto node = m_model.graph().findNode(name);
    const auto step = node ? m_model.relevanceStep(*node) : std::nullopt;
    if (step) {
        m_cursor.moveTo(*step);
    }
}

void MainWindow::setBusy(bool isBusy)
{
    m_isBusy = isBusy;
    showStatus();
    if (!isBusy && m_lastError.isEmpty()) {
        statusBar()->clearMessage();
    }
    m_explain->runPanel().setRunning(isBusy && !m_job.isLive);
    if (!isBusy) {
        m_diagnosis->setRunning(false);
        m_cover->takeEnd(m_generation);
        m_explain->compare().setAwaited(false);
        emit settled();
    }
}

bool MainWindow::showWorkspace(const QString& id)
{
    const int at = static_cast<int>(workspaceIds().indexOf(id));
    if (at < 0) {
        return false;
    }
    m_stack->setCurrentIndex(at);
    if (m_workspaceGroup != nullptr) {
        m_workspaceGroup->actions().at(at)->setChecked(true);
    }
    m_transport->setDetailed(at != 0);
    const bool isPlan = m_stack->currentWidget() == m_planSpace;
    m_transport->setProperty(kIsAway, isPlan);
    m_planBar->setProperty(kIsAway, !isPlan);
    m_shell->showToolBars();
    m_transport->navigator().setGranularity(at == 0 ? Granularity::Layer : Granularity::Visit);
    emit workspaceShown(id);
    return true;
}

QStringList MainWindow::workspaceIds()
{
    return {QStringLiteral("explain"), QStringLiteral("engine"), QStringLiteral("plan"), QStringLiteral("kernels")};
}

Workspace& MainWindow::workspace() const { return *static_cast<Workspace*>(m_stack->currentWidget()); }

void MainWindow::flush() { workspace().flush(); }

void MainWindow::closeModel()
{
    if (!m_unsaved->mayLose([this] { closeModel(); })) {
        return;
    }
    m_engine.stop();
    m_generation = 0; // whatever still comes is of no interest
    m_lastError.clear();
    setBusy(false);
    m_loaded.reset();
    m_planner->setModel(nullptr, tr("Open a model: its plan appears here."));
    m_recorded = {};
    m_run->setModel(nullptr);
    m_opened.clear();
    m_thumbnails.clear();
    m_selection.clear();
    m_explain->compare().setControl(std::nullopt);
    m_explain->runPanel().setModel({});
    m_explain->runPanel().setThumbnails({}, {});
    m_shell->problems().clear();
    m_fused->clear();
    m_verification->clear();
    m_diagnosis->clear();
    m_where->clear();
    m_maps->clear();
    m_explain->beforeAfter().clear();
    takeText(nullptr);
    m_explain->showTexts(false);
    for (views::HeatmapView* heatmap : findChildren<views::HeatmapView*>()) {
        heatmap->clearOther();
    }
    m_model.clear();
    m_unsaved->clear();
    m_choices->takeAnswer(true);
    m_needs->setModel(nullptr, {});
    m_shell->showToolBars();
    setWindowTitle(tr("Retrograde"));
    showStatus();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    if (isVisible() && !m_unsaved->mayLose([this] { close(); })) {
        event->ignore();
        return;
    }
    m_explain->showTexts(false); // kept is the arrangement that everything begins with
    m_shell->saveLayouts();
    m_shell->saveSession(sessionNow());
    m_engine.stopJobs();
    // Also what the window no longer waits for, such as the job of a model that was closed, must end first.
    event->setAccepted(m_closing->mayClose(!m_engine.isIdle()));
}

} // namespace retro::app

#include "moc_mainwindow.cpp"
