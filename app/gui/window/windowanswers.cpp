// SPDX-License-Identifier: Apache-2.0
// What the engine answers, in the main window: models, graphs, runs, comparisons, failures.
#include "app/gui/window/mainwindow.h"

#include "app/gui/controllers/choices.h"
#include "app/gui/controllers/covercontroller.h"
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/controllers/fusedcontroller.h"
#include "app/gui/controllers/mapcontroller.h"
#include "app/gui/controllers/oraclecontroller.h"
#include "app/gui/controllers/plancontroller.h"
#include "app/gui/controllers/rulecontroller.h"
#include "app/gui/controllers/runcontroller.h"
#include "app/gui/controllers/verificationcontroller.h"
#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/facts/modelfacts.h"
#include "app/gui/facts/planlink.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/unsavedwork.h"
#include "app/gui/window/needsbar.h"
#include "app/gui/window/workspaces.h"
#include "core/base/visibletext.h"
#include "core/engine/question/fields.h"
#include "core/engine/question/resolve.h"
#include "core/formats/onnxmetadata.h"
#include "views/beforeafter/beforeafterview.h"
#include "views/common/paint/background.h"
#include "views/common/run/turns.h"
#include "views/compare/compareview.h"
#include "views/notebook/notebookview.h"
#include "views/run/runpanel.h"

#include <QFileInfo>
#include <QStackedWidget>
#include <QStatusBar>

#include <utility>

namespace retro::app
{

namespace
{

constexpr int kAnswerMilliseconds = 6000; // that a message of a job stands

/// A name in a script that runs to the left does not turn the words around it about.
QString leftToRight(const QString& name) { return name.isRightToLeft() ? QChar(0x200E) + name : name; }

/// The best word of the question, as the run panel names it.
QString bestWord(const trace::RunText& text)
{
    const trace::TextWord& best = text.steps.front().best;
    return best.text.empty() ? QString::number(best.id)
                             : QStringLiteral("“%1”").arg(QString::fromStdString(base::visibleText(best.text)));
}

} // namespace

void MainWindow::takeProgress(quint64 generation, const QString& stage, double fraction)
{
    if (generation == m_generation) {
        m_model.setLoading(stage, fraction);
        statusBar()->showMessage(stage + QStringLiteral("…"), kAnswerMilliseconds);
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
        statusBar()->showMessage(message, kAnswerMilliseconds);
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
    m_unsaved->clear();
    m_diagnosis->takeModel(graph.model);
    m_where->clear();
    m_maps->clear();
    m_explain->beforeAfter().clear();
    takeText(nullptr);
    m_fused->take(graph, true);
    m_opened = QString::fromStdString(graph.model->path.string());
    m_needs->setModel(nullptr, {});
    m_shell->showToolBars();
    m_choices->takeAnswer(true);
    m_shell->recent().add(m_job.path);
    setWindowTitle(tr("%1 – Retrograde").arg(leftToRight(QString::fromStdString(graph.model->name))));
    showStatus();
    if (!m_planFile.isEmpty()) {
        openPlan(std::exchange(m_planFile, QString()));
    }
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
    setWindowTitle(tr("Recorded run of %1 – Retrograde").arg(leftToRight(name)));
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
        const bool isWord = isText && (result.predicted < 0 || !result.text->steps.front().best.text.empty());
        panel.setPredicted(isWord                 ? bestWord(*result.text)
                           : result.predicted < 0 ? QString()
                                                  : m_model.className(result.predicted));
    }
    showStatus();
    m_diagnosis->take(result, m_job.path);
    m_explain->beforeAfter().addRun(result.run, result.input, result.job.isLive);
    m_where->take(result, m_job.path);
    m_maps->take(result);
    m_cover->takeResult(result);
    m_choices->takeAnswer(!m_job.model);
    m_shownInputs = result.inputs;
    m_inputFiles = result.inputFiles;
    if (const trace::Run& run = *result.run.run; run.facts.kind == "plan" && run.visitCount() > 0) {
        showWorkspace(QStringLiteral("plan")); // at the search's first step
        m_cursor.moveTo(run.endOfVisit(0));
    }
}

MainWindow::KeptPlace MainWindow::placeFor(const ExplainDone& result) const
{
    KeptPlace place;
    const std::uint64_t before = m_cursor.position();
    const bool isSameCourse = m_model.hasRun() && m_model.run().eventCount() == result.run.run->eventCount() &&
                              (result.job.isLive || isSameQuestion(result));
    place.position = isSameCourse ? std::optional(before) : std::nullopt;
    if (isSameQuestion(result) && before > 0 && before < m_cursor.end()) {
        place.node = nodeAtCursor();
        const bool hasSameVisits = m_model.run().visitCount() == result.run.run->visitCount();
        place.visit = hasSameVisits ? std::optional(m_model.run().visitOf(before - 1)) : std::nullopt;
    }
    return place;
}

void MainWindow::returnTo(const KeptPlace& place)
{
    if (place.position) {
        m_cursor.moveTo(*place.position);
    } else if (place.visit) {
        m_cursor.moveTo(m_model.run().endOfVisit(*place.visit));
    } else if (!place.node.empty()) {
        goToNode(place.node);
    }
}

void MainWindow::showRun(const ExplainDone& result)
{
    const KeptPlace place = placeFor(result);
    const std::string selected = isSameQuestion(result) ? selectedNode() : std::string();
    if (m_model.hasRun() && m_model.run().graph != result.run.run->graph) {
        m_selection.clear(); // its nodes are those of another graph
    }
    m_model.setRun(result.run, result.input, true);
    if (!result.model) {
        m_engineSpace->notebook().items().setNotes(result.notes);
        m_unsaved->takeFile(m_job.path);
    } else {
        m_unsaved->takeComputed();
    }
    if (!result.planPass) { // a pass by a plan is of the same text
        takeText(result.text);
    }
    returnTo(place);
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
    const bool isSteps = m_loaded && m_loaded->card && m_loaded->card->layout.starts_with("NT");
    for (const CompositeSample& sample : comparison.samples) {
        m_thumbnails.push_back({sample.composite, sample.relevance, isSteps});
    }
    m_explain->runPanel().setThumbnails(m_thumbnails,
                                        QString::fromStdString(m_explain->runPanel().question().composite));
}

void MainWindow::takeFailure(const base::Error& error)
{
    const QString what = QString::fromStdString(error.text());
    const QString remedy = views::remedyFor(error);
    m_lastError = what;
    m_lastErrorCode = error.code;
    m_model.setError(what, remedy);
    if (!m_job.path.isEmpty() && !QFileInfo::exists(m_job.path)) {
        m_shell->recent().remove(m_job.path);
    }
    m_shell->problems().addError(views::ProblemOrigin::Job, what, remedy);
    statusBar()->showMessage(what, kAnswerMilliseconds);
    m_diagnosis->takeFailure(m_job, m_loaded);
    setBusy(false);
}

} // namespace retro::app
