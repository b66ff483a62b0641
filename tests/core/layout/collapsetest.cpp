// SPDX-License-Identifier: Apache-2.0
#include "core/layout/collapse.h"
#include "core/layout/layout.h"
#include "core/layout/topology.h"
#include "tests/core/layout/printing.h"
#include "tests/core/layout/samplegraphs.h"

#include <QtTest>

#include <fmt/format.h>

using namespace retro::layout;
using retro::base::ErrorCode;

namespace
{

VisibleGraph close(const GroupedGraph& graph, const std::vector<bool>& isClosed)
{
    return retro::tests::made(collapse(graph, isClosed));
}

/// "n0 g1(3) g2.1/2(1) | 0>1 1>2": boxes with their member counts and parts, then edges.
std::string describe(const VisibleGraph& graph)
{
    std::string text;
    for (const VisibleNode& node : graph.nodes) {
        if (node.isGroup()) {
            const std::string part =
                node.partCount > 1 ? fmt::format(".{}/{}", node.part + 1, node.partCount) : std::string();
            text += fmt::format("g{}{}({}) ", node.group, part, node.memberCount);
        } else {
            text += fmt::format("n{} ", node.node);
        }
    }
    text += "|";
    for (const LayoutEdge& edge : graph.edges) {
        text += fmt::format(" {}>{}", edge.from, edge.to);
    }
    return text;
}

GroupedGraph chainInGroups(std::vector<Index> nodeGroups, std::vector<Index> groupParents)
{
    const auto count = static_cast<Index>(nodeGroups.size());
    return {count, samples::chain(count).edges, std::move(nodeGroups), std::move(groupParents)};
}

/// What must hold whatever is closed.
std::string inconsistency(const GroupedGraph& graph, const VisibleGraph& visible)
{
    if (!sortTopologically(visible.edges, static_cast<Index>(visible.nodes.size())).ok()) {
        return "the visible graph has a cycle";
    }
    for (Index node = 0; node < graph.nodeCount; ++node) {
        const auto members = visible.members[visible.visibleOf[node]];
        if (std::find(members.begin(), members.end(), node) == members.end()) {
            return fmt::format("node {} is not a member of its box", node);
        }
    }
    for (std::size_t box = 0; box < visible.nodes.size(); ++box) {
        if (visible.nodes[box].memberCount != visible.members.size(static_cast<Index>(box))) {
            return fmt::format("box {} miscounts its members", box);
        }
    }
    for (std::size_t e = 0; e < graph.edges.size(); ++e) {
        const LayoutEdge ends{visible.visibleOf[graph.edges[e].from], visible.visibleOf[graph.edges[e].to]};
        const Index at = visible.visibleEdgeOf[e];
        if ((at == kNone) != (ends.from == ends.to) || (at != kNone && visible.edges[at] != ends)) {
            return fmt::format("edge {} is lost or joins the wrong boxes", e);
        }
    }
    return {};
}

} // namespace

class CollapseTest : public QObject
{
    Q_OBJECT

private slots:
    void nothingClosedIsTheGraphItself()
    {
        const GroupedGraph graph = chainInGroups({kNone, 0, 0, kNone}, {kNone});
        const VisibleGraph visible = close(graph, {false});
        QCOMPARE(describe(visible), std::string("n0 n1 n2 n3 | 0>1 1>2 2>3"));
        QCOMPARE(visible.frames, std::vector<Index>{0});
        QCOMPARE(visible.nodes[1].frame, 0);
        QCOMPARE(visible.nodes[0].frame, kNone);
    }

    void closedGroupIsOneBox()
    {
        const GroupedGraph graph = chainInGroups({kNone, 0, 0, 0, kNone}, {kNone});
        const VisibleGraph visible = close(graph, {true});
        QCOMPARE(describe(visible), std::string("n0 g0(3) n4 | 0>1 1>2"));
        QCOMPARE(visible.visibleEdgeOf, (std::vector<Index>{0, kNone, kNone, 1}));
        QVERIFY(visible.frames.empty());
    }

    void outermostClosedGroupWins()
    {
        const GroupedGraph graph = chainInGroups({0, 1, 2, 2, kNone}, {kNone, 0, 1});
        QCOMPARE(describe(close(graph, {true, true, false})), std::string("g0(4) n4 | 0>1"));
        QCOMPARE(describe(close(graph, {false, true, true})), std::string("n0 g1(3) n4 | 0>1 1>2"));
        QCOMPARE(describe(close(graph, {false, false, true})), std::string("n0 n1 g2(2) n4 | 0>1 1>2 2>3"));
    }

    void framesAreNested()
    {
        const GroupedGraph graph = chainInGroups({0, 1, 2, 2, kNone}, {kNone, 0, 1});
        const VisibleGraph visible = close(graph, {false, false, true});
        QCOMPARE(visible.frames, (std::vector<Index>{0, 1}));
        QCOMPARE(visible.frameParents, (std::vector<Index>{kNone, 0}));
        QCOMPARE(visible.nodes[2].frame, 1); // the closed group stands in the frame of its parent
        const LayoutInput input = layoutInputOf(visible, std::vector<Size>(visible.nodes.size(), Size{100, 30}));
        QCOMPARE(input.nodeGroups, (std::vector<Index>{0, 1, 1, kNone}));
        QVERIFY(computeLayout(input).ok());
    }

    void edgesOfClosedGroupsAreMergedThoseOfNodesAreNot()
    {
        GroupedGraph graph{4, {{0, 1}, {0, 1}, {0, 2}, {0, 3}, {2, 3}}, {kNone, kNone, 0, 0}, {kNone}};
        const VisibleGraph visible = close(graph, {true});
        QCOMPARE(describe(visible), std::string("n0 n1 g0(2) | 0>1 0>1 0>2"));
        const auto behind = visible.edgeMembers[2];
        QCOMPARE(std::vector<Index>(behind.begin(), behind.end()), (std::vector<Index>{2, 3}));
    }

    void moduleUsedTwiceIsCutInTwo()
    {
        // conv → relu → conv → relu, with one "relu" module
        const GroupedGraph graph = chainInGroups({kNone, 0, kNone, 0}, {kNone});
        QCOMPARE(describe(close(graph, {true})), std::string("n0 g0.1/2(1) n2 g0.2/2(1) | 0>1 1>2 2>3"));
    }

    void groupsThatFeedEachOtherAreCut()
    {
        // a1 → b1 → a2 → b2: two groups, twice alternating
        const GroupedGraph graph = chainInGroups({0, 1, 0, 1}, {kNone, kNone});
        QCOMPARE(describe(close(graph, {true, false})), std::string("g0.1/2(1) n1 g0.2/2(1) n3 | 0>1 1>2 2>3"));
        QCOMPARE(describe(close(graph, {true, true})),
                 std::string("g0.1/2(1) g1.1/2(1) g0.2/2(1) g1.2/2(1) | 0>1 1>2 2>3"));
    }

    void cycleWithoutAPathBackIsCutToo()
    {
        // a0 → b0 and b1 → a1, unconnected: no group leaves and comes back, yet the two boxes would feed each other.
        const GroupedGraph graph{4, {{0, 1}, {2, 3}}, {0, 1, 1, 0}, {kNone, kNone}};
        const VisibleGraph visible = close(graph, {true, true});
        QCOMPARE(inconsistency(graph, visible), std::string());
        QVERIFY(visible.nodes.size() > 2);
    }

    void groupBesideACycleStaysWhole()
    {
        // group 1 = nodes 4, 5 is fed by the cut group 0 at different depths, but is on no cycle.
        const GroupedGraph graph{
            6, {{0, 1}, {1, 2}, {2, 3}, {0, 4}, {3, 5}}, {0, kNone, 0, kNone, 1, 1}, {kNone, kNone}};
        QCOMPARE(describe(close(graph, {true, true})),
                 std::string("g0.1/2(1) n1 g0.2/2(1) n3 g1(2) | 0>1 1>2 2>3 0>4 3>4"));
    }

    void cycleOfTheGraphIsAnError()
    {
        GroupedGraph graph = chainInGroups({0, 0, 0}, {kNone});
        graph.edges.push_back({2, 0});
        RETRO_REFUSED(collapse(graph, {true}), ErrorCode::Input);
    }

    void wrongFlagsAreAnError()
    {
        QVERIFY(!collapse(chainInGroups({0}, {kNone}), {}).ok());
        QVERIFY(!collapse(chainInGroups({1}, {kNone}), {true}).ok());
    }

    void graphWithoutGroupsIsFine()
    {
        const GroupedGraph graph{2, {{0, 1}}, {}, {}};
        QCOMPARE(describe(close(graph, {})), std::string("n0 n1 | 0>1"));
        QVERIFY(close({}, {}).nodes.empty());
    }

    void randomClosingsStayConsistent()
    {
        for (std::uint32_t seed = 0; seed < 60; ++seed) {
            LayoutInput input = samples::randomGraph(60, 100, 25, seed);
            samples::addRandomGroups(input, 9, seed);
            const GroupedGraph graph{60, input.edges, input.nodeGroups, input.groupParents};
            std::mt19937 random(seed);
            std::vector<bool> isClosed;
            for (int i = 0; i < 9; ++i) {
                isClosed.push_back(random() % 2 == 0);
            }
            const VisibleGraph visible = close(graph, isClosed);
            QCOMPARE(inconsistency(graph, visible), std::string());
            const std::vector<Size> sizes(visible.nodes.size(), Size{100, 30});
            QVERIFY(computeLayout(layoutInputOf(visible, sizes)).ok());
        }
    }
};

QTEST_APPLESS_MAIN(CollapseTest)
#include "collapsetest.moc"
