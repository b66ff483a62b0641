// SPDX-License-Identifier: Apache-2.0
// The window with nothing open, files opened last, what goes wrong, and closing while a job runs.
#include <QtTest>

#include "app/gui/shell/closeguard.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/filefilters.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"
#include "views/palette/commandpalette.h"
#include "views/problems/problemspanel.h"

#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QTemporaryDir>

using namespace retro;
using tests::kPatience;
using tests::settles;

namespace
{

/// A recorded run on disk, which opens fast and needs no model.
QString writeTinyRun(const QTemporaryDir& folder, const QString& name)
{
    const QString file = folder.filePath(name);
    const bool isWritten = trace::writeRun(file.toStdString(), *tests::makeTinyRun().run).ok();
    return isWritten ? file : QString();
}

bool drop(QWidget& window, const QString& file)
{
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(file)});
    QDragEnterEvent enter(QPoint(9, 9), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &enter);
    QDropEvent event(QPointF(9, 9), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &event);
    return enter.isAccepted();
}

QStringList problems(app::MainWindow& window)
{
    QStringList found;
    for (const views::Problem& problem : window.shell().problems().list().all()) {
        found << problem.what;
    }
    return found;
}

/// The relevance of a value becomes NaN.
void spoilRelevance(trace::Run& run, base::ValueId value)
{
    const base::NodeId node = run.graph->nodeOf(value);
    for (const trace::Event& event : run.events) {
        if (event.kind == event::EventKind::Relevance && base::NodeId(event.node) == node) {
            tensor::Tensor& relevance = run.tensors[base::HandleId(event.handle).index()];
            relevance =
                tensor::Tensor::full(relevance.dtype(), relevance.shape(), std::numeric_limits<double>::quiet_NaN());
        }
    }
}

} // namespace

class WelcomeTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void comesWhenNothingIsOpen()
    {
        QTemporaryDir folder;
        app::MainWindow window;
        window.show();
        QVERIFY(window.shell().isWelcoming());
        QVERIFY(!window.actions().at("file.close").isEnabled());
        window.open(writeTinyRun(folder, "a.retro"));
        QVERIFY(!window.shell().isWelcoming()); // while it loads the views say so
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun());
        QVERIFY(!window.shell().isWelcoming());
        window.actions().at("file.close").trigger();
        QVERIFY(window.shell().isWelcoming());
        QVERIFY(!window.model().hasRun());
        QCOMPARE(window.windowTitle(), QStringLiteral("Retrograde"));
    }

    void theSampleIsOneClickAway()
    {
        app::MainWindow window;
        window.show();
        QPushButton* run = nullptr;
        for (QPushButton* button : window.findChildren<QPushButton*>()) {
            run = button->text() == QStringLiteral("Open and run") ? button : run;
        }
        QVERIFY(run != nullptr && run->isVisible());
        run->click();
        RETRO_SETTLES(window);
        QVERIFY(window.model().run().eventCount() > 100);
        QVERIFY2(problems(window).isEmpty(), qPrintable(problems(window).join('\n'))); // the sample adds up
        QVERIFY(window.shell().recent().files().isEmpty());                            // it is no file
    }

    void filesOpenedLast()
    {
        QTemporaryDir folder;
        const QString a = writeTinyRun(folder, "a.retro");
        const QString b = writeTinyRun(folder, "b & c.retro");
        app::MainWindow window;
        window.show();
        for (const QString& file : {a, b, a}) {
            window.open(file);
            QVERIFY(settles(window));
        }
        QCOMPARE(window.shell().recent().files(), (QStringList{a, b}));
        QVERIFY(window.actions().at("file.recent.2").text().contains("b && c.retro"));
        QVERIFY(!window.actions().at("file.recent.3").isVisible());
        window.actions().at("file.recent.2").trigger();
        QVERIFY(settles(window));
        QCOMPARE(window.shell().recent().files(), (QStringList{b, a}));

        window.actions().at("file.openrecent").trigger();
        auto& palette = window.shell().palette();
        QVERIFY(palette.isVisible());
        QCOMPARE(palette.model().rowCount(), 2);
        QCOMPARE(palette.model().itemAt(0).text, QStringLiteral("b & c.retro"));
        palette.dismiss();

        QVERIFY(QFile::remove(a));
        window.open(a); // gone: said, and forgotten
        QVERIFY(settles(window));
        QCOMPARE(window.shell().recent().files(), QStringList{b});
    }

    void atMostNineFilesEachOnce()
    {
        app::MainWindow window;
        for (int i = 0; i < 12; ++i) {
            window.shell().recent().add(QStringLiteral("/models/%1.onnx").arg(i));
        }
        window.shell().recent().add({});
        QCOMPARE(window.shell().recent().files().size(), qsizetype{app::RecentFiles::kMost});
        QCOMPARE(window.shell().recent().files().front(), QStringLiteral("/models/11.onnx"));
    }

    void theWelcomePageNamesWhatCanBeDropped()
    {
        const app::MainWindow window;
        const auto labels = window.findChildren<QLabel*>();
        for (const QString& ending : app::modelAndRunEndings()) {
            QVERIFY2(std::any_of(labels.begin(), labels.end(),
                                 [&](const QLabel* one) {
                                     return one->text().startsWith(QLatin1String("Or drop")) &&
                                            one->text().contains(QLatin1Char('.') + ending);
                                 }),
                     qPrintable(ending));
        }
    }

    void droppedFilesOpen()
    {
        QTemporaryDir folder;
        app::MainWindow window;
        window.show();
        QVERIFY(drop(window, writeTinyRun(folder, "a.retro")));
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun());
        window.closeModel();
        QVERIFY(drop(window, folder.filePath("picture.png"))); // there is no model to explain it
        QCOMPARE(problems(window).size(), qsizetype{1});
        QVERIFY(problems(window).front().contains("picture.png"));
        QVERIFY(!window.shell().problems().dock().isHidden());
    }

    void anErrorKeepsTheLastGoodRun()
    {
        QTemporaryDir folder;
        QFile broken(folder.filePath("broken.retro"));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("not a run");
        broken.close();
        app::MainWindow window;
        window.show();
        window.open(writeTinyRun(folder, "a.retro"));
        QVERIFY(settles(window));
        const auto events = window.model().run().eventCount();
        QVERIFY(window.shell().problems().dock().isHidden());
        window.open(broken.fileName());
        QVERIFY(settles(window));
        QVERIFY(window.lastError().contains("broken.retro"));
        QCOMPARE(window.model().run().eventCount(), events);
        QVERIFY(!window.shell().isWelcoming());
        QCOMPARE(problems(window).size(), qsizetype{1});
        QVERIFY(!window.shell().problems().dock().isHidden()); // it opens by itself
        QVERIFY(window.shell().problems().panel().report().contains("broken.retro"));
        window.open(folder.filePath("a.retro"));
        QVERIFY(settles(window));
        QVERIFY(problems(window).isEmpty());                      // what a job said goes with the next good one
        QTRY_VERIFY(window.shell().problems().dock().isHidden()); // and the pane that it opened with it
        window.actions().at("window.problems").trigger();
        window.open(broken.fileName());
        QVERIFY(settles(window));
        window.open(folder.filePath("a.retro"));
        QVERIFY(settles(window));
        QTest::qWait(0);
        QVERIFY(!window.shell().problems().dock().isHidden()); // a person opened it
    }

    void unexplainedRelevanceIsAProblem()
    {
        const auto handle = tests::makeTinyRun();
        auto run = std::make_shared<trace::Run>(*handle.run);
        const std::size_t before = app::problemsOf(*run).size();
        QVERIFY(!run->ledger.empty());
        run->ledger.front().arrived += 1;
        const auto found = app::problemsOf(*run);
        QCOMPARE(found.size(), before + 1);
        QVERIFY(found.front().node.isValid());
    }

    void aNumberThatIsNotFiniteIsAProblem()
    {
        const auto handle = tests::makeTinyRun();
        auto run = std::make_shared<trace::Run>(*handle.run);
        event::LedgerEntry& row = run->ledger.front();
        row.handedOn = std::numeric_limits<double>::quiet_NaN();
        const base::NodeId node(row.node);
        const base::ValueId operand = run->graph->node(node).inputs.front();
        spoilRelevance(*run, operand);
        const views::Problem first = app::problemsOf(*run).front();
        QVERIFY(first.severity == views::Severity::Error);
        QVERIFY(first.node == node);
        const QString rule = QString::fromStdString(run->rules[node.index()].rule);
        QVERIFY2(!rule.isEmpty() && first.what.contains(QStringLiteral("rule ") + rule), qPrintable(first.what));
        const QString name = QString::fromStdString(run->graph->value(operand).name);
        RETRO_SAYS(first.what, name, QStringLiteral("is nan at [0"));
        QVERIFY(first.remedy.contains(QStringLiteral("run to NaN")));
    }

    void closingStopsTheJob()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        QSignalSpy abandoned(&window.closing(), &app::CloseGuard::abandoned);
        QVERIFY(window.isBusy());
        window.close();
        QVERIFY(window.isHidden()); // at once
        QVERIFY(settles(window));
        QCOMPARE(abandoned.count(), 0);
        QTRY_VERIFY_WITH_TIMEOUT(window.closing().mayClose(true), kPatience); // it was let go
    }

    void nobodyWaitsForAJobThatDoesNotStop()
    {
        QWidget window;
        app::CloseGuard guard(window);
        QSignalSpy abandoned(&guard, &app::CloseGuard::abandoned);
        window.show();
        QVERIFY(guard.mayClose(false));
        QVERIFY(!guard.mayClose(true));
        QVERIFY(window.isHidden());
        QTest::ignoreMessage(QtWarningMsg, QRegularExpression("did not stop"));
        QTRY_COMPARE_WITH_TIMEOUT(abandoned.count(), 1, 5 * app::CloseGuard::kPatienceMilliseconds);
        QVERIFY(guard.mayClose(true));
    }

    void escapeStopsTheJobFirst()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        window.selection().selectNode(base::NodeId(std::uint32_t{0}));
        window.open({});
        QVERIFY(window.isBusy());
        window.actions().at("run.stop").trigger();
        QVERIFY(settles(window));
        window.selection().selectNode(base::NodeId(std::uint32_t{0}));
        window.actions().at("run.stop").trigger();
        QVERIFY(window.selection().isEmpty());
    }
};

QTEST_MAIN(WelcomeTest)
#include "welcometest.moc"
