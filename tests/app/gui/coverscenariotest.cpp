// SPDX-License-Identifier: Apache-2.0
// Cover and see: pixels are covered in the window, and class, heatmap and scale follow.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspace.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/heatmap/heatmapview.h"
#include "views/input/inputpane.h"
#include "views/input/inputview.h"

#include <QCheckBox>

using namespace retro;
using tests::settles;

namespace
{

QAction& action(app::MainWindow& window, const char* id) { return window.actions().at(QLatin1String(id)); }

QString predicted(app::MainWindow& window)
{
    return window.model().className(window.model().run().facts.targetIndex.front());
}

/// Opens the built-in sample, whose picture is a jug with the tag of a mug.
void openSample(app::MainWindow& window)
{
    window.show();
    window.open({});
    RETRO_SETTLES(window);
}

} // namespace

class CoverScenarioTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void coveringTheTagChangesTheAnswer()
    {
        app::MainWindow window;
        openSample(window);
        QCOMPARE(predicted(window), QStringLiteral("mug"));
        QVERIFY(!action(window, "edit.undo").isEnabled());
        action(window, "cover.tag").trigger();
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("jug"));
        action(window, "edit.undo").trigger();
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("mug"));
        action(window, "edit.redo").trigger();
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("jug"));
        action(window, "cover.reset").trigger();
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("mug"));
    }

    void theMouseCoversAndTheAnswerFollows()
    {
        app::MainWindow window;
        openSample(window);
        action(window, "cover.brush").trigger();
        auto* pane = window.findChild<views::InputPane*>();
        QTRY_VERIFY_WITH_TIMEOUT(pane->isVisible(), 30'000);
        const QRect tag = *window.model().input().tagBox;
        const auto at = [&](int x, int y) {
            const views::InputLayout layout = pane->layoutNow();
            return (layout.picture.topLeft() + QPointF(x + 0.5, y + 0.5) * layout.pixel).toPoint();
        };
        pane->setBrushSize(6);
        QTest::mousePress(pane, Qt::LeftButton, {}, at(tag.left(), tag.top()));
        for (int y = tag.top(); y <= tag.bottom() + 2; y += 2) {
            QTest::mouseMove(pane, at(tag.left(), y));
            QTest::mouseMove(pane, at(tag.right(), y));
        }
        QTest::mouseRelease(pane, Qt::LeftButton, {}, at(tag.right(), tag.bottom()));
        QVERIFY(settles(window));
        QCOMPARE(predicted(window), QStringLiteral("jug"));
        // The newest strokes are in the picture on screen, none is still waiting.
        auto* view = window.findChild<views::InputView*>();
        const tensor::Tensor* input = window.model().forwardValue(window.model().graph().inputs().front());
        QVERIFY(input != nullptr && view->cover().covers(tag.right(), tag.bottom()));
        QTest::keyClick(pane, Qt::Key_Escape);
        QVERIFY(!action(window, "cover.brush").isChecked());
    }

    void scaleAndStepAreKept()
    {
        app::MainWindow window;
        openSample(window);
        auto* heatmap = window.workspace().findChild<views::HeatmapView*>();
        auto* keep = heatmap->findChild<QCheckBox*>();
        action(window, "go.back").trigger();
        window.flush();
        const std::uint64_t position = window.cursor().position();
        keep->setChecked(true);
        QVERIFY(heatmap->settings().keptLimit.has_value());
        const double limit = *heatmap->settings().keptLimit;
        action(window, "cover.tag").trigger();
        QVERIFY(settles(window));
        window.flush();
        QCOMPARE(window.cursor().position(), position);
        QCOMPARE(*heatmap->settings().keptLimit, limit);
        keep->setChecked(false);
        window.flush();
        QVERIFY(!heatmap->settings().keptLimit.has_value());
    }

    /// The tools of the brush take room from the sentence, not from the picture.
    void thePictureKeepsItsScaleUnderTheBrush()
    {
        app::MainWindow window;
        window.resize(1600, 1000);
        window.show();
        openSample(window);
        QCoreApplication::processEvents();
        const auto* pane = window.findChild<views::InputPane*>();
        const double before = pane->layoutNow().pixel;
        QVERIFY(before >= 3);
        action(window, "cover.brush").trigger();
        QTRY_VERIFY(window.findChild<views::InputView*>()->hasBrush());
        QTest::qWait(50); // the tools have their place
        QCOMPARE(pane->layoutNow().pixel, before);
    }

    void anotherPictureStartsUncovered()
    {
        app::MainWindow window;
        openSample(window);
        action(window, "cover.tag").trigger();
        QVERIFY(settles(window));
        window.explainInput(QStringLiteral(":/samples/clever-hans/boat.png"));
        RETRO_SETTLES(window);
        QCOMPARE(window.findChild<views::InputView*>()->cover().count(), std::int64_t{0});
        QCOMPARE(predicted(window), QStringLiteral("boat"));
        window.explainInput(QStringLiteral(":/samples/clever-hans/lamp-tagged.png"));
        QVERIFY(settles(window));
        action(window, "cover.tag").trigger();
        QVERIFY(settles(window));
        const auto* pane = window.findChild<views::InputPane*>();
        RETRO_SAYS(pane->accessibleDescription(), QStringLiteral("tag is covered"));
        window.explainInput(QStringLiteral(":/samples/clever-hans/mug-tagged.png"));
        QVERIFY(settles(window));
        QVERIFY2(pane->accessibleDescription().contains(QStringLiteral("carries a tag")), // and not what was before
                 qPrintable(pane->accessibleDescription()));
        window.explainInput(QStringLiteral(":/samples/clever-hans/boat.png"));
        QVERIFY(settles(window));
        QVERIFY(!action(window, "cover.tag").isEnabled());
        QVERIFY(action(window, "cover.tag").toolTip().contains(QStringLiteral("no tag")));
    }

    void numbersCannotBeCovered()
    {
        app::MainWindow window;
        QVERIFY(!action(window, "cover.brush").isEnabled());
        QVERIFY(action(window, "cover.brush").toolTip().contains(QStringLiteral("picture")));
    }
};

QTEST_MAIN(CoverScenarioTest)
#include "coverscenariotest.moc"
