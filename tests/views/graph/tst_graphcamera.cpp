// SPDX-License-Identifier: Apache-2.0
#include <QTest>

#include "tests/views/support/grabs.h"
#include "views/graph/boxmetrics.h"
#include "views/graph/graphcamera.h"
#include "views/graph/graphoverlays.h"

using namespace retro;
using namespace retro::views;

namespace
{

void compare(layout::Point a, layout::Point b)
{
    QVERIFY2(std::abs(a.x - b.x) < 1e-6 && std::abs(a.y - b.y) < 1e-6,
             qPrintable(QStringLiteral("(%1, %2) is not (%3, %4)").arg(a.x).arg(a.y).arg(b.x).arg(b.y)));
}

} // namespace

class GraphCameraTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void pixelsAndSceneAreInverse()
    {
        GraphCamera camera;
        camera.place({100, 50}, {7, 11});
        camera.zoomAt({20, 30}, 0.37);
        compare(camera.toScene(camera.toScreen(layout::Point{12.5, -3})), {12.5, -3});
        const layout::Rect area{3, 4, 50, 60};
        const layout::Rect back = camera.toScene(camera.toScreen(area));
        compare({back.x, back.y}, {3, 4});
        compare({back.width, back.height}, {50, 60});
    }

    void zoomKeepsThePointUnderThePointer_data()
    {
        QTest::addColumn<double>("factor");
        QTest::newRow("in") << 1.7;
        QTest::newRow("out") << 0.3;
        QTest::newRow("beyond the largest") << 1e6;
        QTest::newRow("below the smallest") << 1e-12;
    }
    void zoomKeepsThePointUnderThePointer()
    {
        QFETCH(double, factor);
        GraphCamera camera;
        camera.place({500, 700}, {0, 0});
        const QPointF pointer(123, 77);
        const layout::Point before = camera.toScene(pointer);
        camera.zoomAt(pointer, factor);
        compare(camera.toScene(pointer), before);
        QVERIFY(camera.zoom() >= GraphCamera::kSmallest && camera.zoom() <= GraphCamera::kLargest);
    }

    void panMovesThePicture()
    {
        GraphCamera camera;
        camera.zoomAt({0, 0}, 0.5);
        const QPointF before = camera.toScreen(layout::Point{10, 10});
        camera.pan({30, -8});
        QCOMPARE(camera.toScreen(layout::Point{10, 10}), before + QPointF(30, -8));
    }

    void fitShowsEverythingCentred()
    {
        GraphCamera camera;
        const QRectF view(10, 10, 400, 300);
        camera.fit({-50, 20, 1000, 3000}, view);
        const QRectF picture = camera.toScreen(layout::Rect{-50, 20, 1000, 3000});
        QVERIFY(view.adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(picture));
        QCOMPARE(picture.height(), 300.0);
        QCOMPARE(picture.center(), view.center());
        camera.fit({0, 0, 10, 10}, view); // never larger than drawn
        QCOMPARE(camera.zoom(), 1.0);
    }

    void revealMovesOnlyWhatIsNeeded()
    {
        GraphCamera camera;
        const QRectF view(0, 0, 400, 300);
        QVERIFY(!camera.reveal({10, 10, 50, 20}, view, 20)); // in sight, if near the border
        QVERIFY(camera.reveal({500, 100, 50, 20}, view, 20));
        QCOMPARE(camera.toScreen(layout::Rect{500, 100, 50, 20}).right(), 380.0);
        QCOMPARE(camera.toScreen(layout::Rect{500, 100, 50, 20}).top(), 100.0);
        QVERIFY(camera.reveal({0, 1000, 2000, 20}, view, 20)); // wider than the view: centred
        QCOMPARE(camera.toScreen(layout::Rect{0, 1000, 2000, 20}).center().x(), 200.0);
    }

    void fillHeightLeavesNoGroundAtTheEnds()
    {
        GraphCamera camera;
        const QRectF view(0, 0, 400, 300);
        const layout::Rect tall{0, 0, 100, 2000};
        camera.place({0, 10}, {0, 150}); // 140 pixels of ground above
        camera.fillHeight(tall, view);
        QCOMPARE(camera.toScreen(tall).top(), 0.0);
        camera.place({0, 1990}, {0, 150});
        camera.fillHeight(tall, view);
        QCOMPARE(camera.toScreen(tall).bottom(), 300.0);
        const layout::Rect low{0, 0, 100, 100};
        camera.fillHeight(low, view);
        QCOMPARE(camera.toScreen(low).center().y(), 150.0);
    }

    void thePictureCannotGetLost()
    {
        const QRectF view(0, 0, 400, 300);
        const layout::Rect bounds{0, 0, 1000, 800};
        for (const QPointF& push : {QPointF(9000, 0), QPointF(-9000, 0), QPointF(0, 9000), QPointF(0, -9000)}) {
            GraphCamera camera;
            camera.pan(push);
            camera.keepInSight(bounds, view, 40);
            const QRectF left = camera.toScreen(bounds) & view;
            QVERIFY(left.width() >= 40 - 1e-6 && left.height() >= 40 - 1e-6);
        }
    }

    void panelsGiveWayToTheGraph()
    {
        const auto place = [](double width, double height) {
            return GraphOverlays::place({width, height}, 1, true, true);
        };
        const GraphOverlays large = place(900, 620);
        QVERIFY(!large.map.isNull() && !large.legend.isNull());
        QVERIFY(!large.map.intersects(large.legend));
        QVERIFY(large.free.right() < large.map.left());
        QVERIFY(large.covers(large.map.center()) && !large.covers(large.free.center()));
        const GraphOverlays low = place(900, 300);
        QVERIFY(!low.map.isNull() && low.legend.isNull());
        const GraphOverlays thin = place(560, 620);
        QVERIFY(!thin.map.isNull() && thin.legend.isNull());
        const GraphOverlays narrow = place(400, 620);
        QVERIFY(narrow.map.isNull() && narrow.legend.isNull());
        QVERIFY(narrow.free.right() > 380);
        const GraphOverlays hidden = GraphOverlays::place({900, 620}, 1, false, false);
        QVERIFY(hidden.map.isNull() && hidden.legend.isNull());
    }

    void boxesGrowWithTheirWords()
    {
        const BoxMetrics metrics = BoxMetrics::ofFonts();
        const double plain = metrics.nodeWidth("K", "50×64");
        QCOMPARE(plain, metrics.leastNode);
        QVERIFY(metrics.nodeWidth("a_rather_long_name_of_a_node", "128×256×256") > plain);
        const std::string endless(500, 'm');
        QVERIFY(metrics.nodeWidth(endless, "") < metrics.longestName + 100 * metrics.scale);
        QCOMPARE(metrics.nameWidth("×"), metrics.nameWidth("é")); // both are one character beyond ASCII
        QVERIFY(metrics.groupWidth("layer.0", "19 nodes") >= metrics.leastGroup);
    }
};

QTEST_MAIN(GraphCameraTest)
#include "tst_graphcamera.moc"
