// SPDX-License-Identifier: Apache-2.0
// Files of the main window: dialogs, dropping, saving and exporting.
#include "app/common/exports.h"
#include "app/common/report.h"
#include "app/gui/controllers/diagnosecontroller.h"
#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/controllers/plancontroller.h"
#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/facts/planlink.h"
#include "app/gui/jobs/otherrunreader.h"
#include "app/gui/shell/bookmarks.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/session.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/unsavedwork.h"
#include "app/gui/window/filefilters.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/planworkspace.h"
#include "app/gui/window/workspaces.h"
#include "core/base/file.h"
#include "core/formats/memorysnapshot.h"
#include "core/schedule/planjson.h"
#include "views/common/stringlist.h"
#include "views/heatmap/heatmapview.h"
#include "views/notebook/notebookview.h"
#include "views/plan/snapshotview.h"
#include "views/run/runpanel.h"

#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>

#include <fmt/format.h>

#include <algorithm>

namespace retro::app
{

namespace
{

/// Arrays by value name: no model, but what a run is compared with.
bool isArrays(const QString& path) { return kArrayEndings.contains(QFileInfo(path).suffix().toLower()); }

/// The beginning of a plan file says its format.
bool isPlan(const QString& path)
{
    constexpr qint64 kHead = 256;
    QFile file(path);
    return QFileInfo(path).suffix().toLower() == QLatin1String("json") && file.open(QIODevice::ReadOnly) &&
           file.read(kHead).contains("\"retrograde-plan/");
}

/// What `torch.cuda.memory._dump_snapshot` wrote.
bool isSnapshot(const QString& path)
{
    return kSnapshotEndings.contains(QFileInfo(path).suffix().toLower()) &&
           formats::looksLikePickle(path.toStdString());
}

/// The model that a plan names, where it lies beside the plan; else empty.
QString modelBeside(const QString& plan)
{
    auto text = base::readTextFile(plan.toStdString(), schedule::kMaxPlanBytes);
    const auto model = text ? schedule::modelOfPlan(std::move(*text), plan.toStdString()) : text;
    const QString name = model ? QFileInfo(QString::fromStdString(*model)).fileName() : QString();
    const QString beside = QFileInfo(plan).dir().filePath(name);
    return !name.isEmpty() && QFileInfo::exists(beside) ? beside : QString();
}

/// The same file from every folder; what is no file stays: "zeros", a sample inside the program.
QString absolute(const QString& path)
{
    const QFileInfo file(path);
    return path.startsWith(QLatin1Char(':')) || !file.exists() ? path : file.absoluteFilePath();
}

/// The one file that is dropped, or why it cannot be taken.
base::Result<QString> fileOf(const QMimeData& data)
{
    const QList<QUrl> urls = data.urls();
    if (urls.size() != 1) {
        return base::usageError(std::to_string(urls.size()) + " files were dropped; drop one at a time");
    }
    if (!urls.front().isLocalFile()) {
        return base::usageError("only files of this machine can be dropped; save it first",
                                urls.front().toString().toStdString());
    }
    return urls.front().toLocalFile();
}

} // namespace

void MainWindow::chooseModel()
{
    const QString path = QFileDialog::getOpenFileName(this, tr("Open a model or a run"), {}, openFilters());
    if (!path.isEmpty()) {
        open(path);
    }
}

void MainWindow::open(const QString& path, const QStringList& inputs, const QString& composite,
                      const OpenOptions& options)
{
    if (isArrays(path)) {
        m_otherRuns->read({}, path);
        return;
    }
    if (isPlan(path)) {
        openPlan(path);
        return;
    }
    if (isSnapshot(path)) {
        showWorkspace(QStringLiteral("plan"));
        m_planSpace->snapshot().open(path);
        return;
    }
    ExplainJob job;
    job.path = path;
    job.question.inputs = views::textsOf(inputs);
    job.question.shapes = views::textsOf(options.shapes);
    job.question.noWeights = options.isGraphOnly;
    job.question.composite = composite.toStdString();
    engine::takeTexts(options.texts, job.question);
    job.question.targets = options.texts.targets;
    post(std::move(job));
}

void MainWindow::openPlan(const QString& path)
{
    m_shell->recent().add(path);
    if (m_loaded) {
        showWorkspace(QStringLiteral("plan"));
        m_planner->openPlan(path);
        return;
    }
    m_planFile = path; // for the model that comes
    if (m_isBusy) {
        return;
    }
    const QString model = modelBeside(path);
    if (!model.isEmpty()) {
        open(model);
        return;
    }
    chooseModel();
}

void MainWindow::chooseInput()
{
    const QString path = QFileDialog::getOpenFileName(
        this, tr("Choose an input"), {},
        tr("Inputs (*.png *.jpg *.jpeg *.bmp *.gif *.tif *.tiff *.webp *.npy *.npz *.pb *.txt);;All files (*)"));
    if (!path.isEmpty()) {
        explainInput(path);
    }
}

void MainWindow::chooseTokenizer()
{
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Choose a tokenizer"), {}, tr("Tokenizers (*.json);;All files (*)"));
    if (!path.isEmpty()) {
        m_explain->runPanel().setTokenizer(path);
    }
}

void MainWindow::showProblem(const base::Error& error)
{
    m_lastError = QString::fromStdString(error.text());
    m_lastErrorCode = error.code;
    m_shell->problems().addError(views::ProblemOrigin::File, m_lastError, {});
}

void MainWindow::saveRun()
{
    if (!m_model.hasRun()) {
        return;
    }
    if (m_unsaved->file().isEmpty()) {
        saveRunAs();
    } else {
        saveRunTo(m_unsaved->file());
    }
}

void MainWindow::saveRunAs()
{
    const bool isOpen = !m_unsaved->file().isEmpty();
    const QString path = m_model.hasRun()
                             ? QFileDialog::getSaveFileName(this, tr("Save this run"),
                                                            isOpen ? m_unsaved->file() : QStringLiteral("run.retro"),
                                                            tr("Runs (*.retro)"))
                             : QString();
    if (path.isEmpty()) {
        m_unsaved->takeFailure();
    } else {
        saveRunTo(path);
    }
}

void MainWindow::saveRunTo(const QString& path)
{
    m_unsaved->letFileGo();
    m_engine.saveRun(m_shell->bookmarks().withBookmarks(m_model.sharedRun()), path,
                     m_engineSpace->notebook().items().notes(), m_planLink->runPlan(), m_where->keptRegion(),
                     m_text.text());
}

base::Result<void> MainWindow::exportHeatmap(const QString& path)
{
    m_explain->heatmap().flush();
    return m_explain->heatmap().exportTo(path.toStdString());
}

base::Result<void> MainWindow::exportReport(const QString& path)
{
    if (!m_model.hasRun() || m_model.run().eventCount() == 0) {
        return base::usageError("there is no run to report on; open a model and run it first", path.toStdString());
    }
    // A timeline of its own: that of the window stays where it is.
    return writeReport(path.toStdString(), m_model.handleOfItsOwn(), m_engineSpace->notebook().items().notes(), {},
                       m_diagnosis->reported());
}

void MainWindow::chooseReport()
{
    const QString path =
        ExportController::askPath(*this, tr("Save a report"), QStringLiteral("report"), kReportEndings);
    if (path.isEmpty()) {
        return;
    }
    const base::Result<void> done = exportReport(path);
    if (done) {
        say(tr("Wrote %1").arg(path));
    } else {
        showProblem(done.error());
    }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (!event->mimeData()->urls().isEmpty()) { // what is wrong with them is said when they are dropped
        event->acceptProposedAction();
    }
}

void MainWindow::dropEvent(QDropEvent* event)
{
    event->acceptProposedAction();
    const base::Result<QString> file = fileOf(*event->mimeData());
    if (!file) {
        showProblem(file.error());
        return;
    }
    const QString& path = *file;
    if (isModelOrRun(path) || isArrays(path) || isSnapshot(path)) {
        open(path);
    } else if (m_loaded) {
        explainInput(path);
    } else {
        showProblem(base::usageError("there is no model that could explain it; open one first", path.toStdString()));
    }
}

Session MainWindow::sessionNow() const
{
    Session session;
    if (!m_model.hasRun() || m_opened.isEmpty()) {
        return session;
    }
    session.path = absolute(m_opened);
    session.workspace = workspace().id();
    session.position = m_cursor.position();
    session.node = QString::fromStdString(selectedNode());
    if (m_loaded) {
        const engine::Question question = m_explain->runPanel().question();
        for (const QString& input : views::stringList(question.inputs)) {
            const QString name =
                input.contains(QLatin1Char('=')) ? input.section(QLatin1Char('='), 0, 0) + QLatin1Char('=') : QString();
            session.inputs << name + absolute(input.mid(name.size()));
        }
        session.targets = views::stringList(question.targets);
        session.start = QString::fromStdString(question.start);
        session.composite = QString::fromStdString(question.composite);
        session.rules = views::stringList(question.rules);
        for (const engine::QuestionField& field : engine::questionFields()) {
            for (const std::string& text :
                 field.isOfTexts ? engine::textsOf(field, question) : std::vector<std::string>()) {
                session.texts << QString::fromStdString(fmt::format("{}={}", field.name, text));
            }
        }
    }
    return session;
}

void MainWindow::resume(const Session& session)
{
    ExplainJob job;
    job.path = session.path;
    job.question.inputs = views::textsOf(session.inputs);
    job.question.targets = views::textsOf(session.targets);
    job.question.start = session.start.toStdString();
    job.question.composite = session.composite.toStdString();
    job.question.rules = views::textsOf(session.rules);
    for (const QString& written : session.texts) {
        const QString name = written.section(QLatin1Char('='), 0, 0);
        const std::string text = written.mid(name.size() + 1).toStdString();
        const auto fields = engine::questionFields();
        const auto field = std::ranges::find(fields, name.toStdString(), &engine::QuestionField::name);
        if (field != fields.end() && field->isOfTexts) {
            engine::setTexts(*field, std::span(&text, 1), job.question);
        }
    }
    post(std::move(job));
    connect(
        this, &MainWindow::settled, this,
        [this, session] {
            if (!m_lastError.isEmpty() || !m_model.hasRun()) {
                return;
            }
            showWorkspace(session.workspace);
            m_cursor.moveTo(std::min<std::uint64_t>(session.position, m_cursor.end()));
            if (const auto node = m_model.graph().findNode(session.node.toStdString());
                node && !session.node.isEmpty()) {
                m_selection.selectNode(*node);
            }
        },
        Qt::ConnectionType(Qt::QueuedConnection | Qt::SingleShotConnection));
}

} // namespace retro::app
