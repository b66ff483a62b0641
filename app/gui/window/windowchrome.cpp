// SPDX-License-Identifier: Apache-2.0
// Workspace switch and status bar of the main window.
#include "app/gui/controllers/exportall.h"
#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/controllers/oraclecontroller.h"
#include "app/gui/controllers/verificationcontroller.h"
#include "app/gui/embeddedsample.h"
#include "app/gui/shell/bookmarks.h"
#include "app/gui/shell/history.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "views/common/numbertext.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/elidedlabel.h"
#include "views/graph/graphview.h"
#include "views/notebook/notebookview.h"

#include <QActionGroup>
#include <QLabel>
#include <QStatusBar>

namespace retro::app
{

namespace
{

/// The one count of nodes that is shown of a graph that runs, as in the view Graph.
QString nodesWords(const graph::Graph& graph)
{
    const auto count = static_cast<std::int64_t>(graph.runNodeCount());
    return count == 1 ? QObject::tr("1 node") : QObject::tr("%1 nodes").arg(views::countText(count));
}

QString countWords(std::int64_t count, const QString& one, const QString& several)
{
    return count == 1 ? one : several.arg(views::countText(count));
}

} // namespace

void MainWindow::makeShell(const WorkspaceContext& context)
{
    m_shell = new Shell(*this, m_actions, context, *m_stack);
    m_exports = new ExportController(m_actions, *m_stack, m_shell->docks(), *this);
    connect(m_exports, &ExportController::wrote, this, [this](const QString& path) { say(tr("Wrote %1").arg(path)); });
    connect(m_exports, &ExportController::failed, this, &MainWindow::showProblem);
    auto* all = new ExportAll(m_actions, *m_stack, *this);
    connect(all, &ExportAll::said, this, &MainWindow::say);
    connect(all, &ExportAll::failed, this, &MainWindow::showProblem);
    connect(&m_actions.at(QStringLiteral("export.report")), &QAction::triggered, this, &MainWindow::chooseReport);
    m_workspaceGroup = new QActionGroup(this);
    for (const QString& id : workspaceIds()) {
        QAction& action = m_actions.at(QStringLiteral("window.") + id);
        action.setData(id);
        m_workspaceGroup->addAction(&action);
    }
    connect(m_workspaceGroup, &QActionGroup::triggered, this,
            [this](const QAction* action) { showWorkspace(action->data().toString()); });
    connect(&m_shell->bookmarks(), &Bookmarks::changed, m_engineSpace,
            [this] { m_engineSpace->showBookmarks(m_shell->bookmarks().all()); });
    connectNotebook();
    connect(&m_shell->recent(), &RecentFiles::openRequested, this, [this](const QString& path) { open(path); });
    for (const EmbeddedSample& sample : embeddedSamples()) {
        connect(&m_actions.at(QString::fromLatin1(sample.action)), &QAction::triggered, this,
                [this, path = QString::fromLatin1(sample.model)] { open(path); });
    }
    connect(&m_actions.at(QStringLiteral("file.close")), &QAction::triggered, this, &MainWindow::closeModel);
}

void MainWindow::connectNotebook()
{
    views::NotebookView& notebook = m_engineSpace->notebook();
    const HistoryController& history = m_shell->history();
    connect(&history, &HistoryController::visited, &notebook.items(), &views::NotebookModel::visit);
    connect(&history, &HistoryController::returned, &notebook.items(), &views::NotebookModel::setLast);
    const auto show = [this] {
        showWorkspace(QStringLiteral("engine"));
        m_engineSpace->showNotebook();
    };
    connect(&m_actions.at(QStringLiteral("window.notebook")), &QAction::triggered, this, show);
    QAction& pin = m_actions.at(QStringLiteral("go.note"));
    connect(&pin, &QAction::triggered, this, [this, show] {
        show();
        m_engineSpace->notebook().pinHere();
    });
    const auto enable = [this, &pin] { pin.setEnabled(m_model.hasRun() && m_model.run().eventCount() > 0); };
    connect(&m_model, &views::RunModel::runChanged, this, enable);
    enable();
}

void MainWindow::say(const QString& sentence)
{
    constexpr int kMilliseconds = 6000;
    constexpr int kBeside = 16; // of the text
    QStatusBar& bar = *statusBar();
    bar.showMessage(sentence, kMilliseconds); // hides what is there for a while
    int room = bar.width();
    for (const QWidget* beside : bar.findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
        room = beside->isVisible() ? std::min(room, beside->x()) : room;
    }
    const QString shown = bar.fontMetrics().elidedText(sentence, Qt::ElideMiddle, room - kBeside);
    const bool isCut = bar.isVisible() && shown != sentence;
    if (isCut) {
        bar.showMessage(shown, kMilliseconds);
    }
    bar.setToolTip(isCut ? sentence : QString());
}

void MainWindow::connectOracle()
{
    m_oracle = new OracleController(m_actions, m_engine, this);
    connect(m_oracle, &OracleController::said, this, &MainWindow::say);
    connect(m_oracle, &OracleController::asked, this, &MainWindow::awaitJob);
    connect(m_oracle, &OracleController::answered, this, [this](const QString& sentence, bool holds) {
        showStatus();
        if (!holds) {
            m_shell->problems().addError(views::ProblemOrigin::Run, sentence,
                                         tr("This is a fault of the engine, not of the model: please report it."));
        }
        // The end of the job clears the line first.
        connect(
            this, &MainWindow::settled, this, [this, sentence] { say(sentence); },
            Qt::ConnectionType(Qt::QueuedConnection | Qt::SingleShotConnection));
    });
}

void MainWindow::awaitJob(quint64 generation)
{
    m_generation = generation;
    m_lastError.clear();
    setBusy(true);
}

void MainWindow::connectVerification()
{
    m_verification =
        new VerificationController(m_actions, m_engine, m_engineSpace->verification(), m_engineSpace->graph(), this);
    connect(m_verification, &VerificationController::asked, this, &MainWindow::awaitJob);
    connect(m_verification, &VerificationController::gradientWanted, this, &MainWindow::post);
    connect(m_verification, &VerificationController::viewWanted, this, [this] {
        showWorkspace(QStringLiteral("engine"));
        m_engineSpace->showVerification();
    });
    connect(m_verification, &VerificationController::violated, this, [this](const QString& sentence) {
        m_shell->problems().addError(views::ProblemOrigin::Run, sentence,
                                     tr("This is a fault of the engine or of a rule: the view Verification names the "
                                        "smallest counterexample."));
    });
    connect(m_verification, &VerificationController::said, this, [this](const QString& sentence) {
        if (!m_isBusy) {
            say(sentence);
            return;
        }
        // The end of the job clears the line first.
        connect(
            this, &MainWindow::settled, this, [this, sentence] { say(sentence); },
            Qt::ConnectionType(Qt::QueuedConnection | Qt::SingleShotConnection));
    });
}

void MainWindow::makeStatusBar()
{
    m_statusLeft = new views::ElidedLabel({}, views::Role::Text, views::fonts::label(), this); // names may be long
    m_statusRight = new QLabel(this);
    for (QLabel* label : {m_statusLeft, m_statusRight}) {
        label->setFont(views::fonts::label());
        label->setContentsMargins(views::fonts::px(8), 0, views::fonts::px(8), 0);
        label->setTextFormat(Qt::PlainText);
    }
    statusBar()->addWidget(m_statusLeft, 1);
    statusBar()->addPermanentWidget(m_statusRight);
    statusBar()->setSizeGripEnabled(false);
    showStatus();
}

void MainWindow::showStatus()
{
    if (!m_model.hasRun()) {
        m_statusLeft->setText(m_isBusy ? tr("Opening") : tr("Nothing is open. Open a model, or drop one here."));
        m_statusRight->clear();
        return;
    }
    const trace::Run& run = m_model.run();
    const QString doing = m_isBusy ? tr("Running") : m_lastError.isEmpty() ? tr("Ready") : tr("Failed: see Problems");
    QStringList left{doing, QString::fromStdString(run.facts.modelName)};
    if (run.eventCount() > 0) {
        // A search for a plan computes nothing: such a run has no number type, no rules and no times.
        if (!run.facts.precision.empty()) {
            left << tr("CPU, %1").arg(QString::fromStdString(run.facts.precision));
        }
        if (!run.facts.composite.empty()) {
            left << tr("rules %1").arg(QString::fromStdString(run.facts.composite));
        }
        left << m_oracle->note();
        left.removeAll(QString());
    }
    m_statusLeft->setText(left.join(QStringLiteral("    ")));
    QStringList right{nodesWords(*run.graph)};
    if (run.eventCount() > 0) {
        const auto addTime = [&](const char* fact, const QString& words) {
            if (const auto at = run.facts.numbers.find(fact); at != run.facts.numbers.end()) {
                right.prepend(words.arg(views::fixedText(at->second * 1000, 0)));
            }
        };
        addTime("seconds_relevance", tr("relevance %1 ms"));
        addTime("seconds_forward", tr("forward %1 ms"));
        right << countWords(run.visitCount(), tr("1 visit"), tr("%1 visits")) + QStringLiteral(", ") +
                     countWords(static_cast<std::int64_t>(run.eventCount()), tr("1 event"), tr("%1 events"));
    }
    m_statusRight->setText(right.join(QStringLiteral("    ")));
}

} // namespace retro::app
