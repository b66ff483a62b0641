// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/input/inputpane.h"
#include "views/input/inputview.h"

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

    void exports()
    {
        tests::ViewContext context;
        context.showTinyRun();
        InputView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        for (const QString& format : view.exportFormats()) {
            QVERIFY(view.exportTo(folder.filePath(QStringLiteral("i.") + format).toStdString()).ok());
        }
    }

    void looks()
    {
        tests::ViewContext context;
        context.showTinyRun();
        InputView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {280, 320}, kind, QStringLiteral("input"));
            QVERIFY(tests::hasColor(image, QColor(204, 26, 26)));
        }
    }
};

QTEST_MAIN(InputViewTest)
#include "tst_inputview.moc"
