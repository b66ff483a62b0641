// SPDX-License-Identifier: Apache-2.0
#include "core/layout/stamping.h"
#include "core/layout/layout.h"
#include "core/layout/pieces.h"
#include "tests/core/layout/properties.h"
#include "tests/core/layout/samplegraphs.h"

#include <QtTest>

#include <fmt/format.h>

using namespace retro::layout;

namespace
{

/// Frames around every transformer block, all of them repeated.
struct Blocks
{
    LayoutInput input;
    std::vector<bool> isRepeated;
};

Blocks transformerBlocks(Index count)
{
    Blocks out{samples::transformer(count), std::vector<bool>(static_cast<std::size_t>(count), true)};
    constexpr Index kNodesPerBlock = 19;
    for (Index node = 0; node < static_cast<Index>(out.input.nodeSizes.size()); ++node) {
        out.input.nodeGroups.push_back(node == 0 ? kNone : (node - 1) / kNodesPerBlock);
    }
    out.input.groupParents.assign(static_cast<std::size_t>(count), kNone);
    return out;
}

std::vector<Index> membersOf(const LayoutInput& input, Index group)
{
    std::vector<Index> out;
    for (Index node = 0; node < static_cast<Index>(input.nodeGroups.size()); ++node) {
        if (input.nodeGroups[node] == group) {
            out.push_back(node);
        }
    }
    return out;
}

/// Places inside the frame of a group: boxes, then points of the edges between them.
std::vector<Point> insideOf(const LayoutInput& input, const LayeredLayout& drawing, Index group)
{
    const Rect& frame = drawing.groups[group];
    std::vector<Point> out;
    const auto add = [&](double x, double y) { out.push_back({x - frame.x, y - frame.y}); };
    for (const Index node : membersOf(input, group)) {
        add(drawing.nodes[node].x, drawing.nodes[node].y);
    }
    for (Index e = 0; e < static_cast<Index>(input.edges.size()); ++e) {
        if (input.nodeGroups[input.edges[e].from] == group && input.nodeGroups[input.edges[e].to] == group) {
            for (const Point& point : drawing.edge(e)) {
                add(point.x, point.y);
            }
        }
    }
    return out;
}

LayeredLayout stamped(const LayoutInput& input, const std::vector<bool>& isRepeated, LayoutMemo& memo)
{
    return retro::tests::made(stampLayout(input, isRepeated, {}, memo));
}

/// What the indexes of a drawing answer must be what a look at everything finds.
std::string wrongAnswer(const LayeredLayout& drawing)
{
    const Rect all = drawing.bounds;
    for (int i = 0; i < 40; ++i) {
        const Rect area{all.width * (i % 8) / 8, all.height * (i / 8) / 5, all.width / 7, all.height / 9};
        std::vector<Index> found;
        drawing.nodesIn(area, found);
        std::sort(found.begin(), found.end());
        std::vector<Index> wanted;
        for (Index node = 0; node < static_cast<Index>(drawing.nodes.size()); ++node) {
            if (drawing.nodes[node].intersects(area)) {
                wanted.push_back(node);
            }
        }
        if (found != wanted) {
            return fmt::format("nodesIn finds {} of {} boxes of area {}", found.size(), wanted.size(), i);
        }
    }
    for (Index node = 0; node < static_cast<Index>(drawing.nodes.size()); ++node) {
        if (drawing.nodeAt(drawing.nodes[node].center()) != node) {
            return fmt::format("nodeAt does not find node {}", node);
        }
    }
    for (Index e = 0; e < static_cast<Index>(drawing.edgeSpans.size()); ++e) {
        const auto points = drawing.edge(e);
        const Point middle{(points[0].x + points[1].x) / 2, (points[0].y + points[1].y) / 2};
        std::vector<Index> found;
        drawing.edgesIn(Rect{middle.x, middle.y, 0, 0}.grown(1), found);
        if (std::find(found.begin(), found.end(), e) == found.end()) {
            return fmt::format("edgesIn does not find edge {}", e);
        }
    }
    return {};
}

/// As properties::firstViolation, but layers may overlap.
std::string violation(const LayoutInput& input, const LayeredLayout& drawing)
{
    for (const std::string& found :
         {properties::boxesApart(drawing), properties::edgesRunDown(input, drawing),
          properties::edgesMissBoxes(input, drawing), properties::framesHoldMembers(input, drawing),
          properties::everythingInBounds(drawing), wrongAnswer(drawing)}) {
        if (!found.empty()) {
            return found;
        }
    }
    return {};
}

} // namespace

class StampingTest : public QObject
{
    Q_OBJECT

private slots:
    void cutsRepeatedGroupsOut()
    {
        const Blocks blocks = transformerBlocks(3);
        const Cut cut = cutPieces(blocks.input, blocks.isRepeated);
        QCOMPARE(cut.pieces.size(), std::size_t{3});
        QCOMPARE(cut.rest.nodeSizes.size(), std::size_t{4}); // the input and three pieces
        QCOMPARE(cut.rest.edges.size(), std::size_t{3});     // one from each to the next, however often it is read
        QVERIFY(cut.pieces[0].input.edges == cut.pieces[1].input.edges);
        QVERIFY(cut.pieces[0].input.pins == cut.pieces[1].input.pins);
    }

    void likeBlocksAreMadeOnceAndAreEqual()
    {
        const Blocks blocks = transformerBlocks(6);
        LayoutMemo memo;
        const LayeredLayout drawing = stamped(blocks.input, blocks.isRepeated, memo);
        QCOMPARE(QString::fromStdString(violation(blocks.input, drawing)), QString());
        // The last block is read by nobody; the others are built alike.
        QCOMPARE(memo.made(), std::size_t{2});
        QCOMPARE(memo.reused(), std::size_t{4});
        const std::vector<Point> first = insideOf(blocks.input, drawing, 0);
        QVERIFY(first.size() > 40);
        for (Index group = 1; group < 5; ++group) {
            QVERIFY(insideOf(blocks.input, drawing, group) == first);
            QCOMPARE(drawing.groups[group].width, drawing.groups[0].width);
            QCOMPARE(drawing.groups[group].height, drawing.groups[0].height);
        }
    }

    void openingTheSecondCostsNoNewLayout()
    {
        // Block 0 open, blocks 1 and 2 one box each; then block 1 is opened too.
        const auto withOpen = [](Index open) {
            Blocks out;
            Index last = samples::addNode(out.input);
            out.input.nodeGroups.push_back(kNone);
            for (Index block = 0; block < 3; ++block) {
                const bool isOpen = block < open;
                const Index in = last;
                for (Index i = 0; i < (isOpen ? 5 : 1); ++i) {
                    last = i == 4 ? samples::addNode(out.input, {last, in}) : samples::addNode(out.input, {last});
                    out.input.nodeGroups.push_back(isOpen ? block : kNone);
                }
            }
            last = samples::addNode(out.input, {last});
            out.input.nodeGroups.push_back(kNone);
            out.input.groupParents.assign(static_cast<std::size_t>(open), kNone);
            out.isRepeated.assign(static_cast<std::size_t>(open), true);
            return out;
        };
        LayoutMemo memo;
        static_cast<void>(stamped(withOpen(1).input, withOpen(1).isRepeated, memo));
        QCOMPARE(memo.made(), std::size_t{1});
        const Blocks both = withOpen(2);
        const LayeredLayout drawing = stamped(both.input, both.isRepeated, memo);
        QCOMPARE(memo.made(), std::size_t{1});
        QCOMPARE(memo.reused(), std::size_t{2});
        QVERIFY(insideOf(both.input, drawing, 0) == insideOf(both.input, drawing, 1));
    }

    void groupsInsideRepeatedGroupsAreStampedToo()
    {
        // Two layers of two alike heads of five nodes.
        LayoutInput input;
        Index last = samples::addNode(input);
        input.nodeGroups.push_back(kNone);
        for (Index layer = 0; layer < 2; ++layer) {
            const Index in = last;
            std::vector<Index> ends;
            for (Index head = 0; head < 2; ++head) {
                Index at = in;
                for (int i = 0; i < 5; ++i) {
                    at = samples::addNode(input, {at});
                    input.nodeGroups.push_back(layer * 3 + 1 + head);
                }
                ends.push_back(at);
            }
            last = samples::addNode(input, ends);
            input.nodeGroups.push_back(layer * 3);
        }
        samples::addNode(input, {last});
        input.nodeGroups.push_back(kNone);
        input.groupParents = {kNone, 0, 0, kNone, 3, 3};
        LayoutMemo memo;
        const LayeredLayout drawing = stamped(input, std::vector<bool>(6, true), memo);
        QCOMPARE(QString::fromStdString(violation(input, drawing)), QString());
        QCOMPARE(memo.made(), std::size_t{2}); // a head and a layer
        QVERIFY(insideOf(input, drawing, 1) == insideOf(input, drawing, 2));
        QVERIFY(insideOf(input, drawing, 1) == insideOf(input, drawing, 5));
        QCOMPARE(drawing.groups[1].y, drawing.groups[2].y); // side by side: they share their layers
        QCOMPARE(drawing.nodeLayers[1], drawing.nodeLayers[6]);
    }

    void groupThatFeedsItselfIsNotCutOut()
    {
        // 0 → 1 → 2 (outside) → 3, group {0, 1, 3, 4}
        LayoutInput input;
        samples::addNode(input);
        samples::addNode(input, {0});
        samples::addNode(input, {1});
        samples::addNode(input, {2});
        samples::addNode(input, {3, 1});
        input.nodeGroups = {0, 0, kNone, 0, 0};
        input.groupParents = {kNone};
        QVERIFY(cutPieces(input, {true}).pieces.empty());
        LayoutMemo memo;
        const LayeredLayout drawing = stamped(input, {true}, memo);
        QCOMPARE(QString::fromStdString(properties::firstViolation(input, drawing)), QString());
        QCOMPARE(memo.made(), std::size_t{0});
    }

    void everyRandomDrawingIsSound()
    {
        for (std::uint32_t seed = 0; seed < 60; ++seed) {
            LayoutInput input = samples::randomGraph(40, 70, 12, seed);
            samples::addRandomGroups(input, 6, seed);
            std::vector<bool> isRepeated;
            for (std::size_t group = 0; group < input.groupParents.size(); ++group) {
                isRepeated.push_back((seed + group) % 3 != 0);
            }
            LayoutMemo memo;
            const std::string found = violation(input, stamped(input, isRepeated, memo));
            QVERIFY2(found.empty(), fmt::format("seed {}: {}", seed, found).c_str());
        }
    }

    void withoutRepeatsItIsTheOwnLayout()
    {
        const Blocks blocks = transformerBlocks(2);
        LayoutMemo memo;
        const LayeredLayout drawing = stamped(blocks.input, {}, memo);
        RETRO_MADE(own, computeLayout(blocks.input));
        QVERIFY(drawing.nodes == own->nodes);
        QVERIFY(drawing.edgePoints == own->edgePoints);
    }

    void cycleIsRefused()
    {
        LayoutInput input = samples::chain(5);
        input.edges.push_back({4, 0});
        input.nodeGroups.assign(5, 0);
        input.groupParents = {kNone};
        LayoutMemo memo;
        RETRO_REFUSED(stampLayout(input, {true}, {}, memo), retro::base::ErrorCode::Input);
    }

    void memoForgetsWhatWasNotAskedFor()
    {
        LayoutMemo memo(10);
        const LayoutInput four = samples::chain(4);
        const LayoutInput five = samples::chain(5);
        const auto layoutOf = [](const LayoutInput& input) {
            return std::make_shared<const LayeredLayout>(computeLayout(input).value());
        };
        memo.add({0, 1}, layoutOf(four));
        memo.add({0, 2}, layoutOf(four));
        QVERIFY(memo.find({0, 1}, four) != nullptr);
        memo.add({0, 3}, layoutOf(four)); // 12 boxes: 2 goes
        QVERIFY(memo.find({0, 1}, four) != nullptr);
        QVERIFY(memo.find({0, 2}, four) == nullptr);
        QVERIFY(memo.find({0, 3}, five) == nullptr); // of another drawing
        memo.add({0, 4}, layoutOf(samples::chain(11)));
        QVERIFY(memo.find({0, 4}, samples::chain(11)) == nullptr);
    }
};

QTEST_GUILESS_MAIN(StampingTest)
#include "stampingtest.moc"
