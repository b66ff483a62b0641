// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/input/inputpane.h"
#include "views/input/inputview.h"

#include <QAction>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace retro;
using namespace retro::views;

class InputViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void pixelsAreWhole()
    {
        const InputLayout layout = layoutInput({24, 24}, {10, 5, 100, 200}, 20);
        QCOMPARE(layout.pixel, 4.0);
        QCOMPARE(layout.picture, QRectF(12, 5, 96, 96));
        QCOMPARE(layout.sentence.top(), 107.0);
        QCOMPARE(layoutInput({200, 100}, {0, 0, 100, 100}, 0).pixel, 0.5);
        QVERIFY(layoutInput({}, {0, 0, 100, 100}, 0).picture.isEmpty());
    }

    void showsThePictureAsTheModelSeesIt()
    {
        tests::ViewContext context;
        InputView view(context.model, context.cursor, context.selection);
        QVERIFY(view.subject().isEmpty());
        context.showTinyRun();
        view.flush();
        QCOMPARE(view.picture().size(), QSize(tests::kTinySide, tests::kTinySide));
        QCOMPARE(view.picture().pixelColor(18, 3), QColor(204, 26, 26));
        QCOMPARE(view.subject(), QStringLiteral("3 × 24 × 24"));
        QCOMPARE(view.sentence(), QStringLiteral("True class jug. The picture carries a tag."));
        QVERIFY(view.canShow(base::NodeId(std::uint32_t{tests::kImage})));
        QVERIFY(!view.canShow(base::NodeId(std::uint32_t{tests::kFc})));
    }

    void numbersAreShownAsAGrid()
    {
        tests::ViewContext context;
        InputInfo info;
        context.model.setRun(tests::makeTinyRun(), info);
        InputView view(context.model, context.cursor, context.selection);
        view.flush();
        QCOMPARE(view.picture().height(), tests::kTinySide * 2 + 1); // three slices as 2 + 1
        QVERIFY(view.hint().contains(QStringLiteral("numbers")));
    }

    void mouseCoversPixels()
    {
        tests::TinyContext context;
        InputView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 280, 320);
        auto* pane = view.findChild<InputPane*>();
        const QSignalSpy changed(&view, &InputView::coverChanged);
        const auto at = [&](int x, int y) {
            const InputLayout layout = pane->layoutNow();
            return (layout.picture.topLeft() + QPointF(x + 0.5, y + 0.5) * layout.pixel).toPoint();
        };
        QTest::mouseClick(pane, Qt::LeftButton, {}, at(3, 4)); // without the brush nothing is covered
        QCOMPARE(view.cover().count(), std::int64_t{0});
        view.setBrush(true);
        QVERIFY(view.hint().contains(QStringLiteral("hide pixels")));
        pane->setBrushSize(1);
        QTest::mousePress(pane, Qt::LeftButton, {}, at(3, 4));
        QTest::mouseMove(pane, at(7, 4));
        QTest::mouseRelease(pane, Qt::LeftButton, {}, at(7, 4));
        QTest::mouseMove(pane, at(7, 12));
        QCOMPARE(view.cover().count(), std::int64_t{5});
        QVERIFY(view.cover().covers(5, 4));
        QVERIFY(changed.count() >= 2);
        QVERIFY(view.subject().endsWith(QStringLiteral("0.9 % covered")));
        view.undoCover();
        QCOMPARE(view.cover().count(), std::int64_t{0});
        view.redoCover();
        QCOMPARE(view.cover().count(), std::int64_t{5});
        view.coverBox(*context.model.input().tagBox);
        QVERIFY(view.cover().count() > 5);
        view.uncoverAll();
        QCOMPARE(view.cover().count(), std::int64_t{0});
    }

    void keysCoverPixelsToo()
    {
        tests::TinyContext context;
        InputView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 280, 320);
        // A shortcut of the window on the same key must not take it away.
        QAction play(&view);
        play.setShortcut(Qt::Key_Space);
        view.addAction(&play);
        const QSignalSpy played(&play, &QAction::triggered);
        auto* pane = view.findChild<InputPane*>();
        view.setBrush(true);
        pane->setBrushSize(1);
        const QSignalSpy left(&view, &InputView::brushLeft);
        QTest::keyClick(pane, Qt::Key_Right); // appears in the middle
        QTest::keyClick(pane, Qt::Key_Right);
        QTest::keyClick(pane, Qt::Key_Up, Qt::ShiftModifier);
        QTest::keyClick(pane, Qt::Key_Space);
        QCOMPARE(view.cover().count(), std::int64_t{1});
        QVERIFY(view.cover().covers(tests::kTinySide / 2 + 1, tests::kTinySide / 2 - 8));
        QCOMPARE(played.count(), 0);
        QTest::keyClick(pane, Qt::Key_BracketRight);
        QCOMPARE(pane->brushSize(), 2);
        QTest::keyClick(pane, Qt::Key_BracketLeft);
        QCOMPARE(pane->brushSize(), 1);
        QTest::keyClick(pane, Qt::Key_Escape);
        QCOMPARE(left.count(), 1);
    }

    void exports()
    {
        tests::TinyContext context;
        InputView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : QStringLiteral("png npy jpg").split(QLatin1Char(' '))) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("i.") + format).toStdString()).ok());
        }
    }

    void looks()
    {
        tests::TinyContext context;
        InputView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {280, 320}, kind, QStringLiteral("input"));
            QVERIFY(tests::hasColor(image, QColor(204, 26, 26)));
        }
        view.setBrush(true);
        view.coverBox({14, 0, 6, 6});
        view.setAppliedCover(view.cover().pixels());
        view.coverBox({4, 12, 8, 4});
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {280, 360}, kind, QStringLiteral("input-cover"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Accent]));
        }
    }
};

QTEST_MAIN(InputViewTest)
#include "tst_inputview.moc"
