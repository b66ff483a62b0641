// SPDX-License-Identifier: Apache-2.0
#include "views/input/coversheet.h"
#include "views/input/inputpane.h"
#include <QTest>

using namespace retro::views;

namespace
{

/// Rows of '.' and '#'.
QString drawn(const CoverSheet& sheet)
{
    QStringList rows;
    for (int y = 0; y < sheet.size().height(); ++y) {
        QString row;
        for (int x = 0; x < sheet.size().width(); ++x) {
            row += QLatin1Char(sheet.covers(x, y) ? '#' : '.');
        }
        rows << row;
    }
    return rows.join(QLatin1Char(' '));
}

} // namespace

class CoverSheetTest : public QObject
{
    Q_OBJECT

private slots:
    void spotsAreRound()
    {
        CoverSheet sheet;
        sheet.start({5, 5});
        sheet.coverSpot({2, 2}, 1);
        QCOMPARE(drawn(sheet), QStringLiteral("..... ..... ..#.. ..... ....."));
        sheet.coverSpot({2, 2}, 4);
        QCOMPARE(drawn(sheet), QStringLiteral("..#.. .###. ##### .###. ..#.."));
    }

    void linesAndBoxesStayInside()
    {
        CoverSheet sheet;
        sheet.start({4, 3});
        sheet.coverLine({0, 1}, {9, 1}, 1);
        QCOMPARE(drawn(sheet), QStringLiteral(".... #### ...."));
        sheet.coverBox({2, 2, 10, 10});
        QCOMPARE(drawn(sheet), QStringLiteral(".... #### ..##"));
        sheet.coverBox({-5, -5, 2, 2});
        QCOMPARE(sheet.count(), std::int64_t{6});
        QCOMPARE(sheet.share(), 0.5);
        QVERIFY(!sheet.covers(-1, 0));
        QVERIFY(!sheet.covers(4, 1));
    }

    void changesAreTakenBackOneByOne()
    {
        CoverSheet sheet;
        sheet.start({3, 1});
        QVERIFY(!sheet.canUndo());
        sheet.beginChange();
        sheet.coverSpot({0, 0}, 1);
        sheet.coverSpot({1, 0}, 1);
        sheet.beginChange();
        sheet.uncoverAll();
        QCOMPARE(drawn(sheet), QStringLiteral("..."));
        sheet.undo();
        QCOMPARE(drawn(sheet), QStringLiteral("##."));
        sheet.undo();
        QCOMPARE(drawn(sheet), QStringLiteral("..."));
        QVERIFY(!sheet.canUndo());
        sheet.redo();
        QCOMPARE(drawn(sheet), QStringLiteral("##."));
        sheet.beginChange();
        sheet.coverSpot({2, 0}, 1);
        QVERIFY(!sheet.canRedo());
        sheet.start({3, 1});
        QVERIFY(!sheet.canUndo());
        QCOMPARE(sheet.count(), std::int64_t{0});
    }

    void outlineFollowsTheEdges()
    {
        CoverSheet sheet;
        sheet.start({4, 4});
        QVERIFY(outlineOf(sheet).isEmpty());
        sheet.coverBox({0, 0, 2, 1});
        QCOMPARE(outlineOf(sheet).size(), 6); // around two pixels
    }
};

QTEST_GUILESS_MAIN(CoverSheetTest)
#include "tst_coversheet.moc"
