// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/report.h"
#include "tests/core/analysis/opgraphs.h"

#include <QtTest>

#include <algorithm>

using namespace retro::analysis;
using namespace retro::planningtest;

namespace
{

QString errorOf(const retro::base::Result<OpGraph>& graph)
{
    return graph.ok() ? QString() : QString::fromStdString(graph.error().text());
}

/// Least peak of all orders, by trying every one.
std::uint64_t leastPeak(const OpGraph& graph, std::vector<OpId>& order, std::vector<bool>& isDone)
{
    if (order.size() == graph.size()) {
        return summarise(frontierProfile(graph, order)).peak;
    }
    std::uint64_t least = ~0ULL;
    for (OpId op = 0; op < graph.size(); ++op) {
        const auto isReady = [&](OpValueId input) { return isDone[graph.value(input).producer]; };
        if (isDone[op] || !std::ranges::all_of(graph.reads(op), isReady)) {
            continue;
        }
        isDone[op] = true;
        order.push_back(op);
        least = std::min(least, leastPeak(graph, order, isDone));
        order.pop_back();
        isDone[op] = false;
    }
    return least;
}

} // namespace

class AnalysisTest : public QObject
{
    Q_OBJECT

private slots:
    void profileOfADiamond()
    {
        RETRO_MADE(graph,
                   graphOf({{"a", {}, 1}, {"b", {"a"}, 10}, {"c", {"a"}, 10}, {"d", {"b"}, 1}, {"e", {"c", "d"}, 2}},
                           {"a"}, {"e"}));
        const FrontierProfile profile = frontierProfile(*graph, graph->order());
        QCOMPARE(profile.transient, (std::vector<std::uint64_t>{1, 11, 21, 21, 13}));
        QCOMPARE(profile.live, (std::vector<std::uint64_t>{1, 11, 20, 11, 2}));
        const FrontierSummary summary = summarise(profile);
        QCOMPARE(summary.peak, 21U);
        QCOMPARE(summary.peakAt, std::size_t{2});
        QCOMPARE(summary.tail, 2U);
        const auto goes = leaving(profile);
        QCOMPARE(goes[2], (std::vector<OpValueId>{0}));
        QCOMPARE(goes[4], (std::vector<OpValueId>{2, 3}));
    }

    void quantilesAreLinear()
    {
        QCOMPARE(quantile({4, 1, 3, 2}, 0.5), 2.5);
        QCOMPARE(quantile({7}, 0.95), 7.0);
        QCOMPARE(quantile({}, 0.5), 0.0);
    }

    void wrongGraphsAreRefusedByName()
    {
        QVERIFY(errorOf(graphOf({}, {}, {})).contains("no operators"));
        const QString cycle = errorOf(graphOf({{"a", {"b"}}, {"b", {"a"}}}, {}, {"b"}));
        QVERIFY2(cycle.contains("cycle") && cycle.startsWith("a"), qPrintable(cycle));
        QVERIFY(errorOf(graphOf({{"a", {}}, {"a", {}}}, {}, {"a"})).contains("two operators"));
        const QString large = errorOf(graphOf({{"a", {}, 1ULL << 60}, {"b", {"a"}, 1}}, {}, {"b"}));
        QVERIFY2(large.contains("2^60") && large.startsWith("b"), qPrintable(large));
        QVERIFY(errorOf(graphOf({{"a", {}, 1, -1}}, {}, {"a"})).contains("negative"));
        QVERIFY(errorOf(graphOf({{"a", {"nowhere"}}}, {}, {"a"})).contains("reads or makes value"));
    }

    void everyHeuristicIsCompleteAndBoundsHold()
    {
        std::mt19937_64 random(7);
        int better = 0;
        for (int i = 0; i < 300; ++i) {
            const OpGraph graph = randomGraph(random, 3 + static_cast<std::size_t>(i % 7));
            RETRO_MADE(exact, exactOrders(graph));
            QVERIFY(isTopological(graph, exact->order));
            QCOMPARE(summarise(frontierProfile(graph, exact->order)).peak, exact->transient);
            QVERIFY(largestOperator(graph, true).bytes <= exact->transient);
            std::uint64_t greedy = 0;
            std::uint64_t best = ~0ULL;
            for (const ScoredOrder& order : allOrders(graph)) {
                QVERIFY2(isTopological(graph, order.order), nameOf(order.heuristic).data());
                QCOMPARE(summarise(frontierProfile(graph, order.order)).peak, order.peak);
                QVERIFY(order.peak >= exact->transient);
                QVERIFY(order.peakLive >= exact->live);
                greedy = order.heuristic == OrderHeuristic::LeastLive ? order.peak : greedy;
                best = std::min(best, order.peak);
            }
            better += best < greedy ? 1 : 0;
        }
        QVERIFY2(better > 10, qPrintable(QString::number(better)));
    }

    void exactOrdersAreThoseOfTryingAll()
    {
        std::mt19937_64 random(11);
        for (int i = 0; i < 60; ++i) {
            const OpGraph graph = randomGraph(random, 5);
            std::vector<OpId> order;
            std::vector<bool> isDone(graph.size(), false);
            QCOMPARE(exactOrders(graph)->transient, leastPeak(graph, order, isDone));
        }
    }

    void depthFirstIsBestOnTrees()
    {
        // Two subtrees: the one that shrinks most must go first, whatever its id.
        RETRO_MADE(graph, graphOf({{"a", {}, 1}, {"b", {}, 20}, {"c", {"b"}, 1}, {"d", {"a", "c"}, 1}}, {}, {"d"}));
        QCOMPARE(orderBy(*graph, OrderHeuristic::DepthFirst)->peak, exactOrders(*graph)->transient);
        QVERIFY(orderBy(*graph, OrderHeuristic::FirstReady)->peak > exactOrders(*graph)->transient);
    }

    void slowHeuristicsRefuseLargeGraphs()
    {
        const OpGraph graph = unitChain(kMaxBeamOps + 1);
        QVERIFY(!orderBy(graph, OrderHeuristic::Beam));
        QVERIFY(!orderBy(graph, OrderHeuristic::LocalSearch));
        QVERIFY(!exactOrders(graph));
        QCOMPARE(allOrders(graph).size(), std::size_t{4});
    }

    void jointGraphOfAChain()
    {
        const JointGraph joint = jointOfGraph(unitChain(4));
        QCOMPARE(joint.forwardCount, std::size_t{4});
        QCOMPARE(joint.graph.size(), std::size_t{9});
        QCOMPARE(storeAllPeak(joint.graph), 5U);
        QCOMPARE(costOfAll(joint.graph), 9.0);
        QCOMPARE(largestOperator(joint.graph, false).bytes, 3U);
    }

    void parametersAndRelevanceAddWhatTheyRead()
    {
        const OpGraph plain = unitChain(2);
        std::vector<Op> ops(plain.ops().begin(), plain.ops().end());
        ops[1].hasParameters = true;
        RETRO_MADE(graph, OpGraph::make(ops, {plain.values().begin(), plain.values().end()}));
        RETRO_MADE(withWeights, jointGraph(*graph, graph->order(), {JointKind::Gradient, true, 1}));
        const OpId weight = withWeights->graph.findOp("dw:n0");
        QVERIFY(weight != kNone);
        QCOMPARE(withWeights->graph.reads(weight).size(), std::size_t{2}); // d:n0 and x
        RETRO_MADE(relevance, jointGraph(*graph, graph->order(), {JointKind::Relevance, false, 1}));
        QCOMPARE(relevance->graph.reads(relevance->graph.findOp("r:n0")).size(), std::size_t{3}); // r:n1, n0, n1
    }

    void memoryFloorSeesWaitingGradients()
    {
        // d:x reads d:b and d:c, each the size of the other: whichever comes first waits for the other.
        RETRO_MADE(graph, graphOf({{"x", {}, 1},
                                   {"b", {"x"}, 4, 1, "none"},
                                   {"c", {"x"}, 4, 1, "none"},
                                   {"e", {"b"}, 1, 1, "none"},
                                   {"y", {"e", "c"}, 1, 1, "none"}},
                                  {"x"}, {"y"}));
        const JointGraph joint = jointOfGraph(*graph);
        QVERIFY(memoryFloor(joint.graph).bytes >= largestOperator(joint.graph, false).bytes);
        QVERIFY(memoryFloor(joint.graph).bytes <= storeAllPeak(joint.graph));
    }

    void costBoundGrowsAsTheBudgetShrinks()
    {
        const JointGraph joint = jointOfGraph(unitChain(8));
        double before = 0;
        for (const std::uint64_t budget : {9U, 7U, 5U, 4U, 3U}) {
            RETRO_MADE(bound, costBound(joint.graph, budget));
            QVERIFY(*bound >= before);
            before = *bound;
        }
        QCOMPARE(*costBound(joint.graph, 9), 17.0);
        QVERIFY(before > 17);
        QVERIFY(!costBound(joint.graph, 2).has_value());
    }

    void costsFollowTheRoofline()
    {
        const auto graph =
            graphOf({{"x", {}, 100, 0}, {"a", {"x"}, 100, 1000}, {"b", {"x"}, 100, 10}}, {"x"}, {"a", "b"});
        QVERIFY(graph.ok());
        const GraphCost cost = graphCost(*graph, {100, 10});
        QCOMPARE(cost.ops[1].intensity, 5.0);
        QVERIFY(cost.ops[1].isMemoryBound); // 1000 / 100 s of arithmetic, 200 / 10 s of traffic
        QCOMPARE(cost.workSeconds, 40.0);
        QCOMPARE(cost.depthSeconds, 20.0);
        QCOMPARE(cost.criticalPath.size(), std::size_t{2});
        QCOMPARE(cost.parallelism(), 2.0);
    }

    void reportOfALargeGraph()
    {
        std::mt19937_64 random(3);
        const OpGraph graph = randomGraph(random, 3000);
        RETRO_MADE(report, makeReport(graph, {}, {}));
        QVERIFY(!report->exact);
        QVERIFY(report->joint.has_value());
        QVERIFY(report->joint->floor.bytes <= report->joint->storeAllPeak);
        QCOMPARE(report->cuts.size(), graph.size() - 1);
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(!makeReport(graph, {}, {}, stop.get_token()).ok());
    }

    void compressibilityShowsItsCriteria()
    {
        const OpGraph two = unitChain(1);
        const OpGraph ten = unitChain(9);
        QVERIFY(!compressibility(two, frontierProfile(two, two.order())).isCompressible);
        const Compressibility ok = compressibility(ten, frontierProfile(ten, ten.order()));
        QVERIFY(ok.isCompressible);
        QCOMPARE(ok.criteria.size(), std::size_t{4});
        QVERIFY(compressibility(two, frontierProfile(two, two.order())).isTooSmall);
        QCOMPARE(ok.depth, std::size_t{10});
    }
};

QTEST_GUILESS_MAIN(AnalysisTest)
#include "analysistest.moc"
