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
#include "app/gui/controllers/oraclecontroller.h"
#include "app/gui/controllers/plancommands.h"
#include "app/gui/controllers/plancontroller.h"
#include "app/gui/controllers/rulecontroller.h"
#include "app/gui/controllers/runcontroller.h"
#include "app/gui/controllers/verificationcontroller.h"
#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/embeddedsample.h"
#include "app/gui/facts/modelfacts.h"
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
#include "app/gui/stepping/transportbar.h"
#include "app/gui/window/kernelsworkspace.h"
#include "app/gui/window/needsbar.h"
#include "app/gui/window/planbar.h"
#include "app/gui/window/planworkspace.h"
#include "app/gui/window/tourhost.h"
#include "app/gui/window/workspaces.h"
#include "core/base/visibletext.h"
#include "core/engine/lut/lutpath.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "core/formats/onnxmetadata.h"
#include "core/trace/runfile.h"
#include "views/beforeafter/beforeafterview.h"
#include "views/classes/classesview.h"
#include "views/common/numbertext.h"
#include "views/common/paint/background.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/icons.h"
#include "views/common/run/turns.h"
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

#include <QActionGroup>
#include <QCloseEvent>
#include <QFileInfo>
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

/// The best word of the question, as the run panel names it.
QString bestWord(const trace::RunText& text)
{
    const trace::TextWord& best = text.steps.front().best;
    return best.text.empty() ? QString::number(best.id)
                             : QStringLiteral("“%1”").arg(QString::fromStdString(base::visibleText(best.text)));
}

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
    connect(&m_actions.at(QStringLiteral("plan.run")), &QAction::triggered, this, [this] {
        if (!m_loaded) {
            return say(tr("A recorded run holds no model to run. Open its model."));
        }
        post(m_planLink->byPlan(m_run->job()));
    });
    connect(m_planner, &PlanController::failed, this,
            [this](const QString& what) { showProblem(base::inputError(what.toStdString())); });
    connect(&m_planSpace->snapshot(), &views::SnapshotView::failed, this,
            [this](const QString& what) { showProblem(base::inputError(what.toStdString())); });
    m_kernels = new KernelsWorkspace(context, m_stack);
    for (QWidget* space : {static_cast<QWidget*>(m_explain), static_cast<QWidget*>(m_engineSpace),
                           static_cast<QWidget*>(m_planSpace), static_cast<QWidget*>(m_kernels)}) {
        m_stack->addWidget(space);
    }
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
    connect(&m_engine, &EngineWorker::failed, this,
            [this, isNew](quint64 generation, const QString& what, const QString& remedy) {
                if (isNew(generation)) {
                    takeFailure(what, remedy);
                }
            });
    connect(&m_engine, &EngineWorker::stopped, this,
            [this](quint64 generation) { takeEnd(generation, tr("Stopped")); });
    connect(&m_engine, &EngineWorker::finished, this, [this](quint64 generation) { takeEnd(generation, {}); });
    connect(&m_engine, &EngineWorker::saved, this, [this](const QString& path) {
        statusBar()->showMessage(tr("Wrote %1").arg(path), kWindowMessageMilliseconds);
    });
    connect(&views::BackgroundFailures::instance(), &views::BackgroundFailures::failed, this,
            [this](const QString& what, const QString& remedy) {
                m_shell->problems().addError(views::ProblemOrigin::Job, what, remedy);
            });
    connect(&m_engine, &EngineWorker::saveFailed, this,
            [this](const QString& what) { showProblem(base::outputError(what.toStdString())); });
}

void MainWindow::takeProgress(quint64 generation, const QString& stage, double fraction)
{
    if (generation == m_generation) {
        m_model.setLoading(stage, fraction);
        statusBar()->showMessage(stage + QStringLiteral("…"), kWindowMessageMilliseconds);
    }
}

void MainWindow::takeEnd(quint64 generation, const QString& message)
{
    if (generation != m_generation) {
        return;
    }
    const bool isStopped = !message.isEmpty();       // whoever stopped it waits for no view
    if (!isStopped && m_model.turns().isWaiting()) { // settled means that the views have what they will get
        connect(
            &m_model.turns(), &views::Turns::done, this, [this, generation, message] { takeEnd(generation, message); },
            Qt::SingleShotConnection);
        return;
    }
    m_model.endLoading();
    // A model was opened, and nobody has said what to explain: there is its graph, and no more.
    if (m_loaded && !m_job.model && m_lastError.isEmpty() && m_model.hasRun() && m_model.run().eventCount() == 0) {
        ExplainDone graph;
        graph.model = m_loaded;
        showWithoutRun(graph);
    }
    setBusy(false);
    if (!message.isEmpty()) {
        statusBar()->showMessage(message, kWindowMessageMilliseconds);
    }
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
    m_choices = new Choices(
        m_actions,
        {m_explain->runPanel(), m_explain->input(), m_breakpoints, m_engineSpace->notebook().items(), m_plan, *m_where},
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
    connect(&panel, &views::RunPanel::reopenRequested, this, [this](const QString& path) { open(path); });
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
    on("file.quit", [this] { close(); });
    on("run.start", [this] { runQuestion(); });
    on("run.stop", [this] {
        if (m_isBusy) {
            m_engine.stop();
        } else if (m_plan.isPlanning()) {
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
    if (job.model) { // the nodes of another model are closed
        job.opened = m_fused->opened();
        m_choices->takeAsked();
    }
    m_job = job;
    m_lastError.clear();
    if (!m_model.hasRun()) {
        m_model.setLoading(tr("Opening"), -1);
    }
    setBusy(true);
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

void MainWindow::runQuestion()
{
    if (m_loaded) {
        post(m_run->jobOfRun());
    } else if (!m_recorded.reopen.isEmpty()) {
        open(m_recorded.reopen);
    } else {
        chooseModel();
    }
}

void MainWindow::takeModel(const ExplainDone& described)
{
    m_loaded = described.model;
    m_planner->setModel(m_loaded);
    m_explain->runPanel().setModel(described.facts);
    m_shell->problems().takeModel(described.problems);
    if (const std::string what = formats::explanationText(m_loaded->path); !what.empty()) {
        say(QString::fromStdString(what));
    }
}

void MainWindow::takeGraph(const ExplainDone& graph)
{
    takeModel(graph);
    m_oracle->take(graph);
    m_verification->take(graph);
    m_recorded = {};
    m_thumbnails.clear();
    m_selection.clear();
    m_explain->compare().setControl(std::nullopt);
    const bool hasControl = graph.model->card && !graph.model->card->control.empty();
    m_explain->compare().setAwaited(hasControl);
    m_explain->showControl(hasControl);
    m_explain->runPanel().setThumbnails({}, {});
    m_run->setModel(graph.model);
    m_model.setRun(graph.run, {}, false);
    m_diagnosis->takeModel(graph.model);
    m_where->clear();
    m_explain->beforeAfter().clear();
    takeText(nullptr);
    m_fused->take(graph, true);
    m_opened = QString::fromStdString(graph.model->path.string());
    m_needs->setModel(nullptr, {});
    m_shell->showToolBars();
    m_choices->takeAnswer(true);
    m_shell->recent().add(m_job.path);
    setWindowTitle(tr("%1 – Retrograde").arg(QString::fromStdString(graph.model->name)));
    showStatus();
    if (!m_planFile.isEmpty()) {
        openPlan(std::exchange(m_planFile, QString()));
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

void MainWindow::showWithoutRun(const ExplainDone& graph)
{
    const bool isNew = m_job.question.inputs.empty() && !m_job.question.passThrough;
    const bool isFirst = m_stack->currentWidget() == m_explain && isNew;
    if (isForPlanning(*graph.model)) {
        m_needs->setModel(nullptr, {});
        if (isFirst) {
            showWorkspace(QStringLiteral("plan"));
        }
        return;
    }
    const bool canRun = m_explain->runPanel().canRun();
    if (canRun && m_explain->runPanel().readsTexts()) {
        m_needs->setModel(nullptr, {});
        m_shell->showToolBars();
        return m_explain->runPanel().focusText();
    }
    m_needs->setModel(canRun ? graph.model : nullptr, m_explain->runPanel().question());
    if (isFirst && canRun) {
        showWorkspace(QStringLiteral("engine"));
    }
    m_shell->showToolBars();
}

void MainWindow::showRecorded(const ExplainDone& result)
{
    views::RunPanel& panel = m_explain->runPanel();
    m_loaded.reset();
    m_planner->setModel(nullptr, tr("A recorded run holds no model to plan for. Open its model."));
    m_run->setModel(nullptr);
    m_opened = m_job.path;
    m_shell->recent().add(m_job.path);
    const QString name = QString::fromStdString(result.run.run->facts.modelName);
    setWindowTitle(tr("Recorded run of %1 – Retrograde").arg(name));
    m_recorded = recordedFacts(*result.run.run, m_job.path, m_shell->recent().files());
    if (result.shownPlan) {
        m_planner->showRecorded(result.shownPlan);
    }
    panel.setModel(m_recorded);
    panel.setQuestion(recordedQuestion(*result.run.run));
    panel.setThumbnails({}, {});
    m_explain->compare().setControl(std::nullopt);
    m_explain->showControl(false);
    m_explain->compare().setAbsent(tr("A recorded run holds no answer of a control model. Open its model to compare."));
}

void MainWindow::showQuestion(const ExplainDone& result)
{
    views::RunPanel& panel = m_explain->runPanel();
    engine::Question asked = panel.question(); // what only concerns the next run stays
    asked.inputs = result.inputs;
    if (!m_job.model) { // else what is written there is of the next run
        engine::takeTexts(result.job.question, asked);
    }
    asked.targets = result.job.question.targets;
    asked.start = m_job.question.start;
    asked.conditions = m_job.question.conditions;
    asked.conditionForm = m_job.question.conditionForm;
    engine::setPreparation(result.job.options(), asked);
    const bool isAnotherPass = result.planPass && result.job.plan->half != views::PlanFor::Relevance;
    if (!isAnotherPass) { // a gradient by a plan is of the same target; the question stays
        putComposite(result.composite, asked);
    }
    panel.setQuestion(asked);
    m_run->setModel(result.model);
    if (!m_job.model) {
        m_run->takeOpened();
    }
    panel.setThumbnails(m_thumbnails, QString::fromStdString(asked.composite));
}

void MainWindow::takeResult(const ExplainDone& result)
{
    m_oracle->take(result);
    showRun(result);
    m_needs->setModel(nullptr, {});
    m_shell->showToolBars();
    m_verification->take(result);
    if (result.model) {
        m_fused->take(result, false);
    } else {
        m_fused->clear();
    }
    if (result.model && result.model != m_loaded) {
        takeModel(result); // with other rewrites
    }
    m_planLink->take(result);
    m_rules->take(result);
    m_shell->problems().takeRun(result.warnings);
    views::RunPanel& panel = m_explain->runPanel();
    if (!result.model) {
        showRecorded(result);
    } else if (!result.job.isLive) { // what the person is turning at this moment stays
        showQuestion(result);
    }
    panel.setNote(result.rulesReused == 0 ? QString()
                                          : tr("%1 rules were applied again; what the other %2 gave stays.")
                                                .arg(result.rulesApplied)
                                                .arg(result.rulesReused));
    if (result.model) {
        const bool isText = result.text && !result.text->steps.empty();
        panel.setPredicted(isText                 ? bestWord(*result.text)
                           : result.predicted < 0 ? QString()
                                                  : m_model.className(result.predicted));
    }
    showStatus();
    m_diagnosis->take(result, m_job.path);
    m_explain->beforeAfter().addRun(result.run, result.input, result.job.isLive);
    m_where->take(result, m_job.path);
    m_cover->takeResult(result);
    m_choices->takeAnswer(!m_job.model);
    m_shownInputs = result.inputs;
}

void MainWindow::showRun(const ExplainDone& result)
{
    const std::uint64_t before = m_cursor.position();
    const bool isSameCourse = m_model.hasRun() && m_model.run().eventCount() == result.run.run->eventCount() &&
                              (result.job.isLive || isSameQuestion(result));
    const bool isInside = isSameQuestion(result) && before > 0 && before < m_cursor.end();
    const std::string looked = isInside ? nodeAtCursor() : std::string();
    const bool hasSameVisits = isInside && m_model.run().visitCount() == result.run.run->visitCount();
    const std::uint32_t visit = hasSameVisits ? m_model.run().visitOf(before - 1) : 0;
    const std::string selected = isSameQuestion(result) ? selectedNode() : std::string();
    if (m_model.hasRun() && m_model.run().graph != result.run.run->graph) {
        m_selection.clear(); // its nodes are those of another graph
    }
    m_model.setRun(result.run, result.input, true);
    if (!result.model) {
        m_engineSpace->notebook().items().setNotes(result.notes);
    }
    if (!result.planPass) { // a pass by a plan is of the same text
        takeText(result.text);
    }
    if (isSameCourse) {
        m_cursor.moveTo(before); // the layer that is looked at stays while the picture changes under it
    } else if (hasSameVisits) {
        m_cursor.moveTo(m_model.run().endOfVisit(visit));
    } else if (!looked.empty()) {
        goToNode(looked);
    }
    if (const auto node = selected.empty() ? std::nullopt : m_model.graph().findNode(selected)) {
        m_selection.selectNode(*node);
    }
}

/// The model and the input on screen were asked again, with other rules for instance: what is looked at stays.
bool MainWindow::isSameQuestion(const ExplainDone& result) const
{
    return m_model.hasRun() && result.model && m_job.model && result.model == m_loaded &&
           m_shownInputs == result.inputs;
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

void MainWindow::takeComparison(const ComparisonDone& comparison)
{
    if (comparison.control) {
        const ControlResult& control = *comparison.control;
        m_explain->compare().setControl(views::ControlFacts{control.name, control.relevance,
                                                            m_model.className(control.predicted), control.probability,
                                                            control.objectBox});
    } else if (!comparison.controlFailure.isEmpty()) {
        m_explain->compare().setAbsent(
            tr("The control model has no answer to compare with: %1").arg(comparison.controlFailure));
    }
    m_thumbnails.clear();
    for (const CompositeSample& sample : comparison.samples) {
        m_thumbnails.push_back({sample.composite, sample.relevance});
    }
    m_explain->runPanel().setThumbnails(m_thumbnails,
                                        QString::fromStdString(m_explain->runPanel().question().composite));
}

void MainWindow::takeFailure(const QString& what, const QString& remedy)
{
    m_lastError = what;
    m_model.setError(what, remedy);
    if (!m_job.path.isEmpty() && !QFileInfo::exists(m_job.path)) {
        m_shell->recent().remove(m_job.path);
    }
    m_shell->problems().addError(views::ProblemOrigin::Job, what, remedy);
    statusBar()->showMessage(what, kWindowMessageMilliseconds);
    m_diagnosis->takeFailure(m_job, m_loaded);
    setBusy(false);
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
    m_explain->beforeAfter().clear();
    takeText(nullptr);
    m_explain->showTexts(false);
    for (views::HeatmapView* heatmap : findChildren<views::HeatmapView*>()) {
        heatmap->clearOther();
    }
    m_model.clear();
    m_choices->takeAnswer(true);
    m_needs->setModel(nullptr, {});
    m_shell->showToolBars();
    setWindowTitle(tr("Retrograde"));
    showStatus();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    m_explain->showTexts(false); // kept is the arrangement that everything begins with
    m_shell->saveLayouts();
    m_shell->saveSession(sessionNow());
    m_engine.stopJobs();
    // Also what the window no longer waits for, such as the job of a model that was closed, must end first.
    event->setAccepted(m_closing->mayClose(!m_engine.isIdle()));
}

} // namespace retro::app
