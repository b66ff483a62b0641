// SPDX-License-Identifier: Apache-2.0
#include "app/gui/mainwindow.h"

#include "app/gui/embeddedsample.h"
#include "app/gui/modelfacts.h"
#include "app/gui/transportbar.h"
#include "app/gui/workspaces.h"
#include "core/trace/runfile.h"
#include "views/common/fonts.h"
#include "views/common/icons.h"
#include "views/common/numbertext.h"
#include "views/compare/compareview.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/run/runpanel.h"

#include <QActionGroup>
#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMessageBox>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>

namespace retro::app
{

namespace
{

constexpr int kMessageMilliseconds = 6000;

bool isModelFile(const QString& path)
{
    const QString ending = QFileInfo(path).suffix().toLower();
    return ending == QLatin1String("onnx") || ending == QLatin1String("retro");
}

/// The one local file of a drag, else empty.
QString fileOf(const QMimeData& data)
{
    const QList<QUrl> urls = data.urls();
    return urls.size() == 1 && urls.front().isLocalFile() ? urls.front().toLocalFile() : QString();
}

} // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), m_model(m_cursor)
{
    setWindowTitle(tr("Retrograde"));
    setAcceptDrops(true);
    m_actions.addAll(views::standardActions());
    const WorkspaceContext context{m_model, m_cursor, m_selection};
    m_stack = new QStackedWidget(this);
    m_explain = new ExplainWorkspace(context, m_stack);
    m_engineSpace = new EngineWorkspace(context, m_stack);
    m_stack->addWidget(m_explain);
    m_stack->addWidget(m_engineSpace);
    setCentralWidget(m_stack);
    m_transport = new TransportBar(m_actions, m_model, m_cursor, this);
    m_transport->addAction(&m_actions.at(QStringLiteral("export.heatmap")));
    addToolBar(Qt::TopToolBarArea, m_transport);
    makeMenus();
    makeCorner();
    makeStatusBar();
    connectEngine();
    connectPanel();
    connect(&m_model, &views::RunModel::stateChanged, this, &MainWindow::showStatus);
    showWorkspace(QStringLiteral("explain"));
    resize(views::fonts::px(1600), views::fonts::px(1000));
}

MainWindow::~MainWindow() = default;

void MainWindow::connectEngine()
{
    const auto isNew = [this](quint64 generation) { return generation == m_generation; };
    connect(&m_engine, &EngineWorker::progress, this,
            [this, isNew](quint64 generation, const QString& stage, double fraction) {
                if (isNew(generation)) {
                    m_model.setLoading(stage, fraction);
                    statusBar()->showMessage(stage + QStringLiteral("…"), kMessageMilliseconds);
                }
            });
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
    connect(&m_engine, &EngineWorker::stopped, this, [this, isNew](quint64 generation) {
        if (isNew(generation)) {
            m_model.endLoading();
            setBusy(false);
            statusBar()->showMessage(tr("Stopped"), kMessageMilliseconds);
        }
    });
    connect(&m_engine, &EngineWorker::saved, this,
            [this](const QString& path) { statusBar()->showMessage(tr("Wrote %1").arg(path), kMessageMilliseconds); });
    connect(&m_engine, &EngineWorker::saveFailed, this,
            [this](const QString& what) { showProblem(base::outputError(what.toStdString())); });
    connect(&m_engine, &EngineWorker::finished, this, [this, isNew](quint64 generation) {
        if (isNew(generation)) {
            m_model.endLoading();
            setBusy(false);
        }
    });
}

void MainWindow::connectPanel()
{
    views::RunPanel& panel = m_explain->runPanel();
    connect(&panel, &views::RunPanel::openModelRequested, this, &MainWindow::chooseModel);
    connect(&panel, &views::RunPanel::openInputRequested, this, &MainWindow::chooseInput);
    connect(&panel, &views::RunPanel::runRequested, this, &MainWindow::runQuestion);
    connect(&panel, &views::RunPanel::stopRequested, &m_engine, &EngineWorker::stop);
    for (Workspace* space : {static_cast<Workspace*>(m_explain), static_cast<Workspace*>(m_engineSpace)}) {
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
        } else {
            m_selection.clear();
        }
    });
    on("export.heatmap", [this] { exportWithDialog(false); });
    on("export.graph", [this] { exportWithDialog(true); });
    on("view.resetlayout", [this] { workspace().resetLayout(); });
}

void MainWindow::post(ExplainJob job)
{
    m_job = job;
    m_lastError.clear();
    setBusy(true);
    m_generation = m_engine.post(std::move(job));
}

void MainWindow::open(const QString& path, const QStringList& inputs, const QString& composite)
{
    ExplainJob job;
    job.path = path;
    for (const QString& input : inputs) {
        job.inputs.push_back(input.toStdString());
    }
    job.composite = composite.toStdString();
    post(std::move(job));
}

void MainWindow::explainInput(const QString& source)
{
    if (m_loaded) {
        views::RunPanel& panel = m_explain->runPanel();
        views::Question question = panel.question();
        question.input = source;
        panel.setQuestion(question);
        runQuestion();
    }
}

void MainWindow::runQuestion()
{
    if (!m_loaded) {
        chooseModel();
        return;
    }
    const views::Question question = m_explain->runPanel().question();
    ExplainJob job;
    job.model = m_loaded;
    if (!question.input.isEmpty()) {
        job.inputs = {question.input.toStdString()};
    }
    job.target = question.target.toStdString();
    job.start = question.start.toStdString();
    job.composite = question.composite.toStdString();
    post(std::move(job));
}

void MainWindow::takeGraph(const ExplainDone& graph)
{
    m_loaded = graph.model;
    m_thumbnails.clear();
    m_selection.clear();
    m_explain->compare().setControl(std::nullopt);
    m_explain->runPanel().setModel(modelFacts(*graph.model));
    m_explain->runPanel().setThumbnails({}, {});
    m_model.setRun(graph.run, {}, false);
    setWindowTitle(tr("%1 – Retrograde").arg(QString::fromStdString(graph.model->name)));
    showStatus();
}

void MainWindow::takeResult(const ExplainDone& result)
{
    m_model.setRun(result.run, result.input, true);
    views::RunPanel& panel = m_explain->runPanel();
    if (!result.model) {
        m_loaded.reset();
        const QString name = QString::fromStdString(result.run.run->facts.modelName);
        setWindowTitle(tr("Recorded run of %1 – Retrograde").arg(name));
        panel.setModel({});
        panel.setThumbnails({}, {});
        m_explain->compare().setControl(std::nullopt);
    } else {
        const QString input = result.inputs.empty() ? QString() : QString::fromStdString(result.inputs.front());
        panel.setQuestion({input, QString::fromStdString(m_job.target), QString::fromStdString(m_job.start),
                           QString::fromStdString(result.composite)});
        panel.setThumbnails(m_thumbnails, QString::fromStdString(result.composite));
    }
    showStatus();
}

void MainWindow::takeComparison(const ComparisonDone& comparison)
{
    if (comparison.control) {
        const ControlResult& control = *comparison.control;
        m_explain->compare().setControl(views::ControlFacts{control.name, control.relevance,
                                                            m_model.className(control.predicted), control.probability});
    }
    m_thumbnails.clear();
    for (const CompositeSample& sample : comparison.samples) {
        m_thumbnails.push_back({sample.composite, sample.relevance});
    }
    m_explain->runPanel().setThumbnails(m_thumbnails, m_explain->runPanel().question().composite);
}

void MainWindow::takeFailure(const QString& what, const QString& remedy)
{
    m_lastError = what;
    m_model.setError(what, remedy);
    statusBar()->showMessage(what, kMessageMilliseconds);
    setBusy(false);
}

void MainWindow::setBusy(bool isBusy)
{
    m_isBusy = isBusy;
    if (!isBusy && m_lastError.isEmpty()) {
        statusBar()->clearMessage();
    }
    m_explain->runPanel().setRunning(isBusy);
    if (!isBusy) {
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
    m_transport->setGranularity(at == 0 ? Granularity::Layer : Granularity::Visit);
    return true;
}

QStringList MainWindow::workspaceIds() { return {QStringLiteral("explain"), QStringLiteral("engine")}; }

Workspace& MainWindow::workspace() const
{
    return m_stack->currentIndex() == 0 ? static_cast<Workspace&>(*m_explain) : static_cast<Workspace&>(*m_engineSpace);
}

void MainWindow::flush() { workspace().flush(); }

void MainWindow::chooseModel()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a model or a run"), {},
                                                      tr("Models and runs (*.onnx *.retro);;All files (*)"));
    if (!path.isEmpty()) {
        open(path);
    }
}

void MainWindow::chooseInput()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Choose an input"), {},
                                                      tr("Inputs (*.png *.jpg *.jpeg *.npy *.pb);;All files (*)"));
    if (!path.isEmpty()) {
        explainInput(path);
    }
}

void MainWindow::showProblem(const base::Error& error)
{
    m_lastError = QString::fromStdString(error.text());
    QMessageBox box(QMessageBox::Warning, tr("Retrograde"), m_lastError, QMessageBox::Ok, this);
    box.setTextFormat(Qt::PlainText);
    box.exec();
}

void MainWindow::saveRun()
{
    if (!m_model.hasRun()) {
        return;
    }
    const QString path =
        QFileDialog::getSaveFileName(this, tr("Save this run"), QStringLiteral("run.retro"), tr("Runs (*.retro)"));
    if (path.isEmpty()) {
        return;
    }
    m_engine.saveRun(m_model.sharedRun(), path);
}

base::Result<void> MainWindow::exportHeatmap(const QString& path)
{
    m_explain->heatmap().flush();
    return m_explain->heatmap().exportTo(path.toStdString());
}

void MainWindow::exportWithDialog(bool isGraph)
{
    views::View& view =
        isGraph ? static_cast<views::View&>(m_engineSpace->graph()) : static_cast<views::View&>(m_explain->heatmap());
    const QStringList formats = view.exportFormats();
    const QString filter = tr("Pictures and data (%1)").arg(QStringLiteral("*.") + formats.join(QStringLiteral(" *.")));
    const QString name = (isGraph ? QStringLiteral("graph.") : QStringLiteral("heatmap.")) + formats.value(0);
    const QString path =
        QFileDialog::getSaveFileName(this, isGraph ? tr("Export the graph") : tr("Export the heatmap"), name, filter);
    if (path.isEmpty()) {
        return;
    }
    view.flush();
    const base::Result<void> done = view.exportTo(path.toStdString());
    if (!done) {
        showProblem(done.error());
        return;
    }
    statusBar()->showMessage(tr("Wrote %1").arg(path), kMessageMilliseconds);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!fileOf(*event->mimeData()).isEmpty()) {
        event->acceptProposedAction();
    }
}

void MainWindow::dropEvent(QDropEvent* event)
{
    const QString path = fileOf(*event->mimeData());
    if (isModelFile(path)) {
        open(path);
    } else {
        explainInput(path);
    }
    event->acceptProposedAction();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    m_engine.stop();
    QMainWindow::closeEvent(event);
}

} // namespace retro::app
