// SPDX-License-Identifier: Apache-2.0
// The workspace Kernels in the window: a LUT model is explained, its kernels are stepped through, and a model without
// such layers says so.
#include <QtTest>

#include "app/gui/window/kernelsworkspace.h"
#include "app/gui/window/mainwindow.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/lut/dataflowpane.h"
#include "views/lut/dataflowview.h"
#include "views/lut/lutchoice.h"

using namespace retro;
using tests::kPatience;

namespace
{

bool opens(app::MainWindow& window, const char* model)
{
    window.resize(1400, 900);
    window.show();
    window.open(QStringLiteral(RETRO_SOURCE_DIR "/samples/") + QLatin1String(model));
    const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
    window.flush();
    return isDone && window.lastError().isEmpty() && window.model().hasRun() && window.model().run().eventCount() > 0;
}

/// Presses "Run on this path" and waits for the run.
bool runsOnThePathShown(app::MainWindow& window, views::DataFlowView& flow)
{
    flow.runPath().click();
    const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
    window.flush();
    return isDone && window.lastError().isEmpty();
}

} // namespace

class KernelsScenarioTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void kernelsAreSteppedThrough()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "lut-marked-byte/lut-marked-byte.onnx"));
        QVERIFY(window.showWorkspace(QStringLiteral("kernels")));
        window.flush();
        auto* space = window.findChild<app::KernelsWorkspace*>();
        QVERIFY(space != nullptr && &window.workspace() == space);
        views::LutChoice& choice = space->choice();
        QVERIFY(choice.layer() != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(choice.detail() != nullptr, kPatience);
        // The question mark at the end looks for the letter.
        QCOMPARE(choice.site().later, choice.layer()->request.shape.length - 1);
        views::DataFlowPane& pane = space->dataFlow().pane();
        const std::vector<views::RunLaunch> launches = choice.layer()->launches;
        QVERIFY(launches.size() >= 4);
        QTest::mouseClick(&pane, Qt::LeftButton, {},
                          pane.picture().boxes[pane.picture().kernelBox(0, 0)].rect.center().toPoint());
        QCOMPARE(window.model().position(), launches[0].position);
        QTest::keyClick(&pane, Qt::Key_Right);
        window.flush();
        QCOMPARE(window.model().position(), launches[1].position);
        // The same place in the other workspace, and back.
        QVERIFY(window.showWorkspace(QStringLiteral("engine")));
        window.flush();
        QCOMPARE(window.model().position(), launches[1].position);
        QVERIFY(window.showWorkspace(QStringLiteral("kernels")));
        window.flush();
        QVERIFY(pane.current() == launches[1]);
    }

    /// The documented path is drawn, run, stepped through, and left again; the model stays the one that was opened.
    void theDocumentedPathIsRunAndSteppedThrough()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "lut-marked-byte/lut-marked-byte.onnx"));
        QVERIFY(window.showWorkspace(QStringLiteral("kernels")));
        window.flush();
        auto* space = window.findChild<app::KernelsWorkspace*>();
        views::DataFlowView& flow = space->dataFlow();
        QVERIFY(!flow.runPath().isVisibleTo(&flow));
        space->choice().choosePath(lut::Path::Documented);
        window.flush();
        QVERIFY(flow.runPath().isVisibleTo(&flow) && flow.runPath().isEnabled());
        QVERIFY(runsOnThePathShown(window, flow));
        QVERIFY(space->choice().layer()->path == lut::Path::Documented);
        QVERIFY(!flow.runPath().isVisibleTo(&flow));
        const std::vector<views::RunLaunch> launches = space->choice().layer()->launches;
        QVERIFY(launches.size() >= 7); // five stages of the forward pass, two of relevance
        for (const views::RunLaunch& launch : launches) {
            window.cursor().moveTo(launch.position);
            window.flush();
            QVERIFY(flow.pane().current() == launch);
            QVERIFY(!flow.pane().sentence().isEmpty());
        }
        QTest::keyClick(&flow.pane(), Qt::Key_Left);
        window.flush();
        QCOMPARE(window.model().position(), launches[launches.size() - 2].position);
        space->choice().choosePath(lut::Path::Fused);
        window.flush();
        QVERIFY(runsOnThePathShown(window, flow));
        QVERIFY(space->choice().layer()->path == lut::Path::Fused);
    }

    void aModelWithoutLayersSaysSo()
    {
        app::MainWindow window;
        QVERIFY(opens(window, "marked-step/marked-step.onnx"));
        QVERIFY(window.showWorkspace(QStringLiteral("kernels")));
        window.flush();
        auto* space = window.findChild<app::KernelsWorkspace*>();
        QVERIFY(space->choice().layer() == nullptr);
        QVERIFY(opens(window, "lut-marked-byte/lut-marked-byte.onnx"));
        QVERIFY(space->choice().layer() != nullptr);
    }
};

QTEST_MAIN(KernelsScenarioTest)
#include "kernelsscenariotest.moc"
