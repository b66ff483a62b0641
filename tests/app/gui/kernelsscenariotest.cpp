// SPDX-License-Identifier: Apache-2.0
// The workspace Kernels in the window: a LUT model is explained, its kernels are stepped through, and a model without
// such layers says so.
#include <QtTest>

#include "app/gui/kernelsworkspace.h"
#include "app/gui/mainwindow.h"
#include "views/common/style.h"
#include "views/lut/dataflowpane.h"
#include "views/lut/dataflowview.h"
#include "views/lut/lutchoice.h"

using namespace retro;

namespace
{

constexpr int kPatience = 60'000;

bool opens(app::MainWindow& window, const char* model)
{
    window.resize(1400, 900);
    window.show();
    window.open(QStringLiteral(RETRO_SOURCE_DIR "/samples/") + QLatin1String(model));
    const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
    window.flush();
    return isDone && window.lastError().isEmpty() && window.model().hasRun() && window.model().run().eventCount() > 0;
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
