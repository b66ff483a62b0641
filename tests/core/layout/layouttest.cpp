// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"
#include "tests/core/layout/printing.h"
#include "tests/core/layout/properties.h"
#include "tests/core/layout/samplegraphs.h"

#include <QElapsedTimer>
#include <QtTest>

#include <set>

using namespace retro::layout;
using retro::base::ErrorCode;

namespace
{

LayeredLayout draw(const LayoutInput& input, const LayoutOptions& options = {})
{
    return retro::tests::made(computeLayout(input, options));
}

double centre(const LayeredLayout& drawing, Index node) { return drawing.nodes[node].center().x; }

bool isSame(const LayeredLayout& a, const LayeredLayout& b)
{
    return a.nodes == b.nodes && a.layerNodes == b.layerNodes && a.edgePoints == b.edgePoints &&
           a.edgePointOffsets == b.edgePointOffsets && a.groups == b.groups && a.bounds == b.bounds;
}

/// Longest piece of an edge that is exactly vertical.
double longestVertical(std::span<const Point> points)
{
    double longest = 0.0;
    for (std::size_t i = 1; i < points.size(); ++i) {
        if (points[i].x == points[i - 1].x) {
            longest = std::max(longest, points[i].y - points[i - 1].y);
        }
    }
    return longest;
}

} // namespace

class LayoutTest : public QObject
{
    Q_OBJECT

private slots:
    void emptyGraphHasNoExtent()
    {
        const LayeredLayout drawing = draw({});
        QVERIFY(drawing.nodes.empty());
        QVERIFY(drawing.layers.empty());
        QCOMPARE(drawing.bounds, Rect());
        QCOMPARE(drawing.nodeAt({0, 0}), kNone);
    }

    void singleNodeFillsThePicture()
    {
        const LayeredLayout drawing = draw(samples::chain(1));
        QCOMPARE(drawing.nodes.size(), std::size_t(1));
        QCOMPARE(drawing.bounds, (Rect{0, 0, 120, 28}));
        QCOMPARE(drawing.nodes[0], drawing.bounds);
    }

    void chainIsOneVerticalLine()
    {
        const LayoutInput input = samples::chain(100);
        const LayeredLayout drawing = draw(input);
        for (Index node = 0; node < 100; ++node) {
            QCOMPARE(drawing.nodeLayers[node], node);
            QCOMPARE(centre(drawing, node), centre(drawing, 0));
        }
        for (Index e = 0; e < 99; ++e) {
            QCOMPARE(drawing.edge(e).size(), std::size_t(2)); // no bends
        }
    }

    void trunkStaysStraightBesideResiduals()
    {
        const LayeredLayout drawing = draw(samples::residualChain(20));
        for (Index node = 0; node < static_cast<Index>(drawing.nodes.size()); ++node) {
            QCOMPARE(centre(drawing, node), centre(drawing, 0));
        }
    }

    void residualIsOneStraightLaneBesideTheTrunk_data()
    {
        QTest::addColumn<bool>("isFirst");
        QTest::addColumn<int>("longest");
        QTest::newRow("right") << false << 64;
        QTest::newRow("left") << true << 64;
        QTest::newRow("right, beside all layers") << false << 3;
        QTest::newRow("left, beside all layers") << true << 3;
    }

    void residualIsOneStraightLaneBesideTheTrunk()
    {
        QFETCH(const bool, isFirst);
        QFETCH(const int, longest);
        const LayoutInput input = samples::residualChain(20);
        LayoutOptions options;
        options.lanesFirst = isFirst;
        options.maxLaneSpan = longest;
        const LayeredLayout drawing = draw(input, options);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
        std::set<double> lanes;
        for (Index e = 0; e < static_cast<Index>(input.edges.size()); ++e) {
            if (input.edges[e].to - input.edges[e].from != 5) {
                continue;
            }
            const auto points = drawing.edge(e);
            const Rect passed = drawing.nodes[input.edges[e].from + 1].united(drawing.nodes[input.edges[e].to - 1]);
            QVERIFY(longestVertical(points) >= passed.height);
            const auto [least, most] =
                std::minmax_element(points.begin(), points.end(), [](Point a, Point b) { return a.x < b.x; });
            const double away = isFirst ? passed.x - least->x : most->x - passed.right();
            QVERIFY(away > 0);
            QVERIFY(away < 2 * options.nodeGap); // close by
            lanes.insert(away);
        }
        QCOMPARE(lanes.size(), std::size_t(1)); // all blocks alike
    }

    void attentionKeepsItsTrunk()
    {
        const LayoutInput input = samples::transformer(6);
        const LayeredLayout drawing = draw(input);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
        for (Index node = 19; node < static_cast<Index>(drawing.nodes.size()); node += 19) {
            QCOMPARE(centre(drawing, node), centre(drawing, 0)); // the sum that ends each block
        }
        // Norm, query, key and value readers: the middle one is below the norm, the others on either side.
        QCOMPARE(centre(drawing, 4), centre(drawing, 1));
        QVERIFY(centre(drawing, 2) < centre(drawing, 4));
        QVERIFY(centre(drawing, 6) > centre(drawing, 4));
    }

    void lateSourceHangsAboveItsReader()
    {
        LayoutInput input = samples::chain(10);
        const Index mask = samples::addNode(input);
        input.edges.push_back({mask, 8});
        QCOMPARE(draw(input).nodeLayers[mask], 7);
    }

    void longEdgesRunBesideEverything()
    {
        // Every node also feeds the one 100 layers on: more than an edge may be cut into.
        LayoutInput input = samples::chain(400);
        for (Index node = 0; node + 100 < 400; node += 10) {
            input.edges.push_back({node, node + 100});
        }
        const LayeredLayout drawing = draw(input);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
        for (Index e = 399; e < static_cast<Index>(input.edges.size()); ++e) {
            QVERIFY(drawing.edge(e).size() <= 6);
        }
        for (Index node = 0; node < 400; ++node) {
            QCOMPARE(centre(drawing, node), centre(drawing, 0));
        }
    }

    void longEdgesDoNotMultiply()
    {
        // Everything feeds everything: 79,800 edges over up to 400 layers, lanes shared by source.
        LayoutInput input;
        input.nodeSizes.assign(400, {100, 30});
        for (Index to = 0; to < 400; ++to) {
            for (Index from = 0; from < to; ++from) {
                input.edges.push_back({from, to});
            }
        }
        const LayeredLayout drawing = draw(input);
        QCOMPARE(properties::boxesApart(drawing), std::string());
        QCOMPARE(properties::edgesRunDown(input, drawing), std::string());
        QVERIFY(drawing.edgePoints.size() < input.edges.size() * 40);
    }

    void parallelEdgesRunSideBySide()
    {
        LayoutInput input = samples::chain(4);
        input.edges.push_back({0, 1});
        input.edges.push_back({0, 3});
        input.edges.push_back({0, 3});
        const LayeredLayout drawing = draw(input);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
        QVERIFY(drawing.edge(0)[0].x != drawing.edge(3)[0].x);
        QCOMPARE(drawing.edge(0)[0].x, drawing.edge(0)[1].x);
        QCOMPARE(drawing.edge(3)[0].x, drawing.edge(3)[1].x);
        for (std::size_t i = 0; i < drawing.edge(4).size(); ++i) {
            QCOMPARE(std::abs(drawing.edge(4)[i].x - drawing.edge(5)[i].x), LayoutOptions().parallelGap);
        }
    }

    void unconnectedPartsDoNotMix()
    {
        LayoutInput input = samples::residualChain(2);
        const Rect alone = draw(input).bounds;
        for (int i = 0; i < 30; ++i) {
            samples::addNode(input);
        }
        const LayeredLayout drawing = draw(input);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
        for (Index node = 11; node < 41; ++node) {
            QVERIFY(!alone.intersects(drawing.nodes[node]));
        }
        QVERIFY(drawing.bounds.width < 4 * drawing.bounds.height); // rows, not one endless line
    }

    void randomGraphsKeepAllProperties_data()
    {
        QTest::addColumn<int>("nodes");
        QTest::addColumn<int>("edges");
        QTest::addColumn<int>("reach");
        QTest::newRow("pairs") << 2 << 3 << 2;
        QTest::newRow("sparse") << 60 << 40 << 60;
        QTest::newRow("narrow") << 80 << 160 << 6;
        QTest::newRow("dense") << 40 << 300 << 40;
        QTest::newRow("long") << 150 << 250 << 150;
    }

    void randomGraphsKeepAllProperties()
    {
        QFETCH(int, nodes);
        QFETCH(int, edges);
        QFETCH(int, reach);
        LayoutOptions shortLanes;
        shortLanes.maxLaneSpan = 5;
        for (std::uint32_t seed = 0; seed < 12; ++seed) {
            const LayoutInput input = samples::randomGraph(nodes, edges, reach, seed);
            QCOMPARE(properties::firstViolation(input, draw(input)), std::string());
            QCOMPARE(properties::firstViolation(input, draw(input, shortLanes)), std::string());
        }
    }

    void sameInputGivesTheSamePicture()
    {
        LayoutInput input = samples::randomGraph(200, 320, 30, 7);
        samples::addRandomGroups(input, 8, 7);
        QVERIFY(isSame(draw(input), draw(input)));
        LayoutInput copy;
        copy.nodeSizes.assign(input.nodeSizes.begin(), input.nodeSizes.end());
        copy.edges.assign(input.edges.begin(), input.edges.end());
        copy.nodeGroups = input.nodeGroups;
        copy.groupParents = input.groupParents;
        QVERIFY(isSame(draw(input), draw(copy)));
    }

    void cycleIsNamed()
    {
        LayoutInput input = samples::chain(6);
        input.edges.push_back({4, 2});
        const auto result = computeLayout(input);
        RETRO_REFUSED(result, ErrorCode::Input);
        const std::string text = result.error().text();
        for (const char* node : {"2", "3", "4", "cycle"}) {
            QVERIFY2(text.find(node) != std::string::npos, text.c_str());
        }
        QVERIFY2(text.find("5") == std::string::npos, text.c_str()); // behind the cycle, not on it
    }

    void brokenInputIsRefused_data()
    {
        QTest::addColumn<LayoutInput>("input");
        LayoutInput selfLoop = samples::chain(2);
        selfLoop.edges.push_back({1, 1});
        QTest::newRow("self loop") << selfLoop;
        LayoutInput missing = samples::chain(2);
        missing.edges.push_back({1, 2});
        QTest::newRow("missing node") << missing;
        LayoutInput negative = samples::chain(2);
        negative.nodeSizes[1].width = -1;
        QTest::newRow("negative width") << negative;
        LayoutInput unbounded = samples::chain(2);
        unbounded.nodeSizes[0].height = std::numeric_limits<double>::infinity();
        QTest::newRow("infinite height") << unbounded;
        LayoutInput noGroup = samples::chain(2);
        noGroup.nodeGroups = {0, 1};
        noGroup.groupParents = {kNone};
        QTest::newRow("missing group") << noGroup;
        LayoutInput round = samples::chain(2);
        round.nodeGroups = {0, 1};
        round.groupParents = {1, 0};
        QTest::newRow("groups inside each other") << round;
        LayoutInput deep = samples::chain(1);
        for (Index group = 0; group < 300; ++group) {
            deep.groupParents.push_back(group - 1);
        }
        deep.nodeGroups = {299};
        QTest::newRow("groups too deep") << deep;
        LayoutInput tooFew = samples::chain(2);
        tooFew.nodeGroups = {kNone};
        QTest::newRow("groups of some nodes") << tooFew;
    }

    void brokenInputIsRefused()
    {
        QFETCH(LayoutInput, input);
        const auto result = computeLayout(input);
        RETRO_REFUSED(result, ErrorCode::Input);
        QVERIFY(!result.error().message.empty());
    }

    void stopIsHonoured()
    {
        std::stop_source stop;
        stop.request_stop();
        RETRO_REFUSED(computeLayout(samples::transformer(50), {}, stop.get_token()), ErrorCode::Cancelled);
    }

    /// Set RETRO_LAYOUT_TIMES to see how long the large graphs take.
    void largeGraphs_data()
    {
        QTest::addColumn<LayoutInput>("input");
        QTest::newRow("20,001 nodes, residual") << samples::residualChain(4000);
        QTest::newRow("20,008 nodes, attention") << samples::transformer(1053);
        QTest::newRow("100,017 nodes, attention") << samples::transformer(5264);
        QTest::newRow("20,000 nodes, one reader each") << samples::chain(20000);
    }

    void largeGraphs()
    {
        QFETCH(LayoutInput, input);
        QElapsedTimer timer;
        timer.start();
        const LayeredLayout drawing = draw(input);
        const qint64 elapsed = timer.nsecsElapsed();
        if (qEnvironmentVariableIsSet("RETRO_LAYOUT_TIMES")) {
            qInfo("%s: %.1f ms", QTest::currentDataTag(), static_cast<double>(elapsed) / 1e6);
        }
        QCOMPARE(drawing.nodes.size(), input.nodeSizes.size());
        QCOMPARE(properties::layersConsistent(drawing), std::string());
        QCOMPARE(properties::edgesRunDown(input, drawing), std::string());
        const auto last = static_cast<Index>(drawing.nodes.size()) - 1;
        QCOMPARE(centre(drawing, last), centre(drawing, 0));
    }
};

QTEST_APPLESS_MAIN(LayoutTest)
#include "layouttest.moc"
