// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layout.h"
#include "tests/core/layout/printing.h"
#include "tests/core/layout/properties.h"
#include "tests/core/layout/samplegraphs.h"

#include <QtTest>

using namespace retro::layout;

namespace
{

LayeredLayout draw(const LayoutInput& input) { return retro::tests::made(computeLayout(input)); }

/// Transformer blocks, each in a group, its attention (nodes 2 … 13 of the block) in a group inside.
LayoutInput groupedTransformer(Index blocks)
{
    LayoutInput input = samples::transformer(blocks);
    input.nodeGroups.assign(input.nodeSizes.size(), kNone);
    for (Index block = 0; block < blocks; ++block) {
        input.groupParents.push_back(kNone);
        input.groupParents.push_back(2 * block);
        for (Index i = 1; i <= 19; ++i) {
            input.nodeGroups[19 * block + i] = 2 * block + (i >= 2 && i <= 13 ? 1 : 0);
        }
    }
    return input;
}

} // namespace

class LayoutGroupsTest : public QObject
{
    Q_OBJECT

private slots:
    void framesOfBlocksAreNestedAndApart()
    {
        const LayoutInput input = groupedTransformer(4);
        const LayeredLayout drawing = draw(input);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
        for (Index node = 19; node < static_cast<Index>(drawing.nodes.size()); node += 19) {
            QCOMPARE(drawing.nodes[node].center().x, drawing.nodes[0].center().x);
        }
    }

    void framesFitTheirContent()
    {
        const LayeredLayout drawing = draw(groupedTransformer(3));
        const double padding = LayoutOptions().groupPadding;
        for (Index block = 0; block < 3; ++block) {
            const Rect& attention = drawing.groups[2 * block + 1];
            const Index first = 19 * block;
            QCOMPARE(drawing.nodes[first + 2].x - attention.x, padding);             // query reader, leftmost
            QCOMPARE(attention.right() - drawing.nodes[first + 6].right(), padding); // value reader, rightmost
            QCOMPARE(attention.x - drawing.groups[2 * block].x, padding);
        }
    }

    void titleHasRoomAboveTheBoxes()
    {
        const LayeredLayout drawing = draw(groupedTransformer(1));
        const double header = LayoutOptions().groupHeader;
        QVERIFY(drawing.nodes[1].y - drawing.groups[0].y >= header);
        QVERIFY(drawing.nodes[2].y - drawing.groups[1].y >= header);
    }

    void framesThatBeginTogetherStackTheirTitles()
    {
        LayoutInput input = samples::chain(3);
        input.groupParents = {kNone, 0, 1};
        input.nodeGroups = {2, 2, 0};
        const LayeredLayout drawing = draw(input);
        const double header = LayoutOptions().groupHeader;
        QCOMPARE(drawing.groups[1].y - drawing.groups[0].y, header);
        QCOMPARE(drawing.groups[2].y - drawing.groups[1].y, header);
        QCOMPARE(drawing.nodes[0].y - drawing.groups[2].y, header);
        QCOMPARE(properties::firstViolation(input, drawing), std::string());
    }

    void emptyGroupHasNoFrame()
    {
        LayoutInput input = samples::chain(2);
        input.groupParents = {kNone, kNone};
        input.nodeGroups = {1, 1};
        const LayeredLayout drawing = draw(input);
        QCOMPARE(drawing.groups[0], Rect());
        QVERIFY(drawing.groups[1].width > 0);
    }

    void edgePastAGroupRunsOutside()
    {
        LayoutInput input = samples::chain(6);
        input.edges.push_back({0, 5});
        input.groupParents = {kNone};
        input.nodeGroups = {kNone, 0, 0, 0, 0, kNone};
        const LayeredLayout drawing = draw(input);
        const Rect inner = drawing.groups[0].grown(-1e-6);
        for (const Point point : drawing.edge(5)) {
            QVERIFY(!inner.contains(point));
        }
    }

    void groupOfUnconnectedNodesIsOneFrame()
    {
        LayoutInput input = samples::chain(3);
        samples::addNode(input);
        samples::addNode(input);
        input.groupParents = {kNone};
        input.nodeGroups = {kNone, 0, kNone, 0, kNone};
        QCOMPARE(properties::firstViolation(input, draw(input)), std::string());
    }

    void innermostFrameIsHit()
    {
        const LayeredLayout drawing = draw(groupedTransformer(2));
        QCOMPARE(drawing.groupAt(drawing.nodes[5].center()), 1);
        QCOMPARE(drawing.groupAt(drawing.nodes[1].center()), 0);
        QCOMPARE(drawing.groupAt(drawing.nodes[0].center()), kNone);
    }

    void randomGroupsKeepAllProperties_data()
    {
        QTest::addColumn<int>("nodes");
        QTest::addColumn<int>("edges");
        QTest::addColumn<int>("groups");
        QTest::newRow("few") << 30 << 45 << 3;
        QTest::newRow("nested") << 60 << 90 << 12;
        QTest::newRow("sparse") << 60 << 30 << 6;
        QTest::newRow("dense") << 40 << 200 << 8;
    }

    void randomGroupsKeepAllProperties()
    {
        QFETCH(int, nodes);
        QFETCH(int, edges);
        QFETCH(int, groups);
        for (std::uint32_t seed = 0; seed < 20; ++seed) {
            LayoutInput input = samples::randomGraph(nodes, edges, nodes, seed);
            samples::addRandomGroups(input, groups, seed);
            QCOMPARE(properties::firstViolation(input, draw(input)), std::string());
        }
    }
};

QTEST_APPLESS_MAIN(LayoutGroupsTest)
#include "layoutgroupstest.moc"
