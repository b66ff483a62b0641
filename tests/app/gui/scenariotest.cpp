// SPDX-License-Identifier: Apache-2.0
// The window as a person uses it, from open to export, offscreen.
#include <QtTest>

#include "app/common/syntheticgraph.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/formats/onnx.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"

#include <QTemporaryDir>

using namespace retro;
using tests::settles;

namespace
{

/// Waits until the window has everything that the last job will bring.
void press(app::MainWindow& window, const char* action) { window.actions().at(QLatin1String(action)).trigger(); }

} // namespace

class ScenarioTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void openStepAndExportTheBuiltInSample()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        RETRO_SETTLES(window);
        QVERIFY(window.model().hasRun());
        const std::uint64_t end = window.model().run().eventCount();
        QVERIFY(end > 100);
        QCOMPARE(window.cursor().position(), end);
        const trace::RunState last = window.model().state();

        // Back to the start layer by layer, then to the end again: the same state.
        QVERIFY(window.showWorkspace("engine"));
        int steps = 0;
        while (window.cursor().position() > 0 && steps < 10'000) {
            press(window, "go.back");
            ++steps;
        }
        QCOMPARE(window.cursor().position(), std::uint64_t{0});
        QVERIFY(window.model().state() == trace::RunState(window.model().run()));
        while (window.cursor().position() < end) {
            press(window, "go.forward");
            --steps;
        }
        QCOMPARE(steps, 0);
        QVERIFY(window.model().state() == last);

        QTemporaryDir folder;
        for (const char* name : {"heat.png", "heat.svg", "heat.pdf"}) {
            RETRO_MADE(done, window.exportHeatmap(folder.filePath(name)));
            QVERIFY2(QFile(folder.filePath(name)).size() > 500, name);
        }
        QVERIFY(!window.exportHeatmap(folder.filePath("no/such/folder/heat.png")).ok());
    }

    void selectionAndCursorAreIndependent()
    {
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        window.showWorkspace("engine");
        press(window, "go.first");
        press(window, "go.forward");
        const std::uint64_t position = window.cursor().position();
        window.selection().selectNode(base::NodeId(std::uint32_t{0}));
        window.flush();
        QCOMPARE(window.cursor().position(), position);
        press(window, "go.forward");
        QVERIFY(window.selection().node() == base::NodeId(std::uint32_t{0}));
    }

    void aRecordedRunOpensWithoutItsModel()
    {
        QTemporaryDir folder;
        const QString file = folder.filePath("run.retro");
        std::uint64_t events = 0;
        {
            app::MainWindow window;
            window.open({});
            QVERIFY(settles(window));
            QVERIFY(trace::writeRun(file.toStdString(), window.model().run()).ok());
            events = window.model().run().eventCount();
        }
        app::MainWindow window;
        window.show();
        window.open(file);
        RETRO_SETTLES(window);
        QCOMPARE(window.model().run().eventCount(), events);
        window.flush();
    }

    void badFilesAreSaidAndTheWindowLives()
    {
        QTemporaryDir folder;
        QFile notes(folder.filePath("notes.onnx"));
        QVERIFY(notes.open(QIODevice::WriteOnly));
        notes.write("not a model");
        notes.close();
        app::MainWindow window;
        window.show();
        window.open(notes.fileName());
        QVERIFY(settles(window));
        QVERIFY(window.lastError().contains("notes.onnx"));
        QVERIFY(window.model().loadState() == views::LoadState::Error);
        window.open({});
        QVERIFY(settles(window));
        QVERIFY(window.lastError().isEmpty());
        QVERIFY(window.model().hasRun());
    }

    void theNewestJobWins()
    {
        app::MainWindow window;
        window.show();
        for (int i = 0; i < 5; ++i) {
            window.open({});
        }
        window.open({}, {}, "epsilon");
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun());
        QVERIFY(window.model().run().facts.composite.starts_with("epsilon"));
        QVERIFY(!window.model().run().facts.composite.starts_with("epsilon_"));
    }

    void aLargeGraphIsOpenedAndPainted()
    {
        RETRO_MADE(graph, app::chainAndResidualGraph(20'000));
        RETRO_MADE(bytes, formats::toOnnx(*graph));
        QTemporaryDir folder;
        const QString file = folder.filePath("large.onnx");
        QVERIFY(base::writeFile(file.toStdString(), *bytes).ok());
        app::MainWindow window;
        window.showWorkspace("engine");
        window.show();
        QElapsedTimer timer;
        timer.start();
        window.open(file);
        RETRO_SETTLES(window);
        window.flush();
        const QImage image = window.grab().toImage();
        if (qEnvironmentVariableIsSet("RETRO_TIMES")) {
            qInfo("opened and painted in %lld ms", timer.elapsed());
        }
        QCOMPARE(window.model().graph().nodeCount(), std::size_t{20'000});
        QVERIFY(!image.isNull());
    }
};

QTEST_MAIN(ScenarioTest)
#include "scenariotest.moc"
