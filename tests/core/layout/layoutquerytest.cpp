// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"
#include "core/layout/levelofdetail.h"
#include "core/layout/minimap.h"
#include "tests/core/layout/samplegraphs.h"

#include <QtTest>

#include <cmath>

using namespace retro::layout;

namespace
{

/// A crowded drawing with lanes, side lanes, several components and several rows.
const LayeredLayout& drawing()
{
    static const LayeredLayout result = [] {
        LayoutInput input = samples::randomGraph(300, 420, 60, 11);
        LayoutOptions options;
        options.maxLaneSpan = 6;
        return computeLayout(input, options).value();
    }();
    return result;
}

double unit(std::mt19937& random) { return static_cast<double>(random()) / 4294967296.0; }

Point randomPoint(std::mt19937& random)
{
    const Rect area = drawing().bounds.grown(40);
    return {area.x + unit(random) * area.width, area.y + unit(random) * area.height};
}

Rect randomArea(std::mt19937& random)
{
    const Point a = randomPoint(random);
    const double size = std::pow(unit(random), 3);
    return {a.x, a.y, size * drawing().bounds.width, size * drawing().bounds.height};
}

std::vector<Index> sorted(std::vector<Index> items)
{
    std::sort(items.begin(), items.end());
    return items;
}

bool pieceTouches(Index e, const Rect& area)
{
    const auto points = drawing().edge(e);
    for (std::size_t i = 1; i < points.size(); ++i) {
        const Rect box = Rect{points[i - 1].x, points[i - 1].y, 0, 0}.united({points[i].x, points[i].y, 0, 0});
        if (box.intersects(area)) {
            return true;
        }
    }
    return false;
}

} // namespace

class LayoutQueryTest : public QObject
{
    Q_OBJECT

private slots:
    void nodesInEqualsBruteForce()
    {
        std::mt19937 random(1);
        std::size_t hits = 0;
        for (int i = 0; i < 500; ++i) {
            const Rect area = randomArea(random);
            std::vector<Index> expected;
            for (Index node = 0; node < static_cast<Index>(drawing().nodes.size()); ++node) {
                if (drawing().nodes[node].intersects(area)) {
                    expected.push_back(node);
                }
            }
            std::vector<Index> found;
            drawing().nodesIn(area, found);
            QCOMPARE(sorted(found), expected);
            hits += expected.size();
        }
        QVERIFY(hits > 500); // the areas are not all empty
    }

    void nodeAtEqualsBruteForce()
    {
        std::mt19937 random(2);
        int hits = 0;
        for (int i = 0; i < 2000; ++i) {
            // Half of the points near a box, or nearly all would miss.
            Point point = randomPoint(random);
            if (i % 2 == 0) {
                const Rect& box = drawing().nodes[random() % drawing().nodes.size()];
                point = {box.x + (unit(random) * 1.4 - 0.2) * box.width,
                         box.y + (unit(random) * 1.4 - 0.2) * box.height};
            }
            Index expected = kNone;
            for (Index node = 0; node < static_cast<Index>(drawing().nodes.size()); ++node) {
                if (drawing().nodes[node].contains(point)) {
                    expected = node;
                }
            }
            QCOMPARE(drawing().nodeAt(point), expected);
            hits += expected == kNone ? 0 : 1;
        }
        QVERIFY(hits > 200);
    }

    void edgesOfLayersEqualsBruteForce()
    {
        std::mt19937 random(3);
        const auto layers = static_cast<std::uint32_t>(drawing().layers.size());
        for (int i = 0; i < 500; ++i) {
            const auto a = static_cast<Index>(random() % (layers + 1));
            const auto b = static_cast<Index>(random() % (layers + 1));
            const LayerRange range{std::min(a, b), std::max(a, b)};
            std::vector<Index> expected;
            for (Index e = 0; e < static_cast<Index>(drawing().edgeSpans.size()); ++e) {
                const LayerSpan span = drawing().edgeSpans[e];
                if (range.first < range.last && span.first < range.last && span.last >= range.first) {
                    expected.push_back(e);
                }
            }
            std::vector<Index> found;
            drawing().edgesOfLayers(range, found);
            QCOMPARE(sorted(found), expected);
        }
    }

    void edgesInEqualsBruteForce()
    {
        std::mt19937 random(4);
        for (int i = 0; i < 500; ++i) {
            const Rect area = randomArea(random);
            std::vector<Index> expected{-7}; // what is in the list stays there
            for (Index e = 0; e < static_cast<Index>(drawing().edgeSpans.size()); ++e) {
                if (pieceTouches(e, area)) {
                    expected.push_back(e);
                }
            }
            std::vector<Index> found{-7};
            drawing().edgesIn(area, found);
            QCOMPARE(sorted(found), expected);
        }
    }

    void edgeAtFindsTheEdgeUnderThePointer()
    {
        for (Index e = 0; e < static_cast<Index>(drawing().edgeSpans.size()); ++e) {
            const Point start = drawing().edge(e)[0];
            const Index hit = drawing().edgeAt({start.x, start.y}, 3);
            QVERIFY(hit != kNone);
            QCOMPARE(drawing().edge(hit)[0], start); // the same one, or one that leaves at the same place
        }
        QCOMPARE(drawing().edgeAt({-100, -100}, 3), kNone);
    }

    void tierFollowsTheZoom()
    {
        QCOMPARE(detailTier(1.0), DetailTier::Full);
        QCOMPARE(detailTier(0.4), DetailTier::Full);
        QCOMPARE(detailTier(0.39), DetailTier::Boxes);
        QCOMPARE(detailTier(0.25), DetailTier::Boxes);
        QCOMPARE(detailTier(0.24), DetailTier::Lines);
        QCOMPARE(detailTier(0.05), DetailTier::Lines);
        QCOMPARE(detailTier(0.049), DetailTier::Density);
    }

    void densityRowsCoverAllBoxes()
    {
        const std::vector<DensityRow> rows = densityRows(drawing(), drawing().bounds, 40);
        QCOMPARE(rows.size(), std::size_t(40));
        const double height = drawing().bounds.height / 40;
        for (const Rect& box : drawing().nodes) {
            const auto row = static_cast<std::size_t>(std::min(box.center().y / height, 39.0));
            QVERIFY(rows[row].nodeCount > 0);
            QVERIFY(rows[row].left <= box.x && rows[row].right >= box.right());
        }
        QVERIFY(densityRows(drawing(), drawing().bounds, 0).empty());
    }

    void minimapMapsBothWays()
    {
        const Minimap map({0, 0, 400, 800}, {10, 20, 100, 200});
        QCOMPARE(map.picture(), (Rect{10, 20, 100, 200}));
        QCOMPARE(map.toMap(Point{200, 400}), (Point{60, 120}));
        QCOMPARE(map.toScene(Point{60, 120}), (Point{200, 400}));
        QCOMPARE(map.toMap(Rect{0, 0, 40, 80}), (Rect{10, 20, 10, 20}));
    }

    void minimapKeepsThinPicturesVisible()
    {
        const Minimap map({0, 0, 120, 1e6}, {0, 0, 100, 200});
        QCOMPARE(map.picture().height, 200.0);
        QCOMPARE(map.picture().width, 35.0);
        QCOMPARE(map.picture().center().x, 50.0);
        const Rect frame = map.viewportFrame({0, 5e5, 120, 800});
        QCOMPARE(frame.height, Minimap::kLeastHandle);
        QVERIFY(std::abs(frame.center().y - 100.08) < 1e-9);
    }

    void viewportFrameStaysInTheMap()
    {
        const Minimap map({0, 0, 400, 800}, {0, 0, 100, 200});
        const Rect wide = map.viewportFrame({-1000, -1000, 9000, 9000});
        QCOMPARE(wide, (Rect{0, 0, 100, 200}));
        const Rect beyond = map.viewportFrame({5000, 5000, 40, 40});
        QVERIFY((Rect{0, 0, 100, 200}.contains(beyond)));
    }

    void mapOfNothingIsHarmless()
    {
        const Minimap map(Rect{}, {0, 0, 100, 200});
        const Point point = map.toScene(map.toMap(Point{0, 0}));
        QCOMPARE(point, (Point{0, 0}));
    }
};

QTEST_APPLESS_MAIN(LayoutQueryTest)
#include "layoutquerytest.moc"
