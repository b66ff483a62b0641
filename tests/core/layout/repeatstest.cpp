// SPDX-License-Identifier: Apache-2.0
#include "core/layout/repeats.h"
#include "core/graph/graphbuilder.h"
#include "core/layout/fingerprint.h"
#include "core/layout/periods.h"
#include "core/layout/smallgroups.h"

#include <QtTest>

#include <fmt/format.h>

using namespace retro;
using namespace retro::layout;
using graph::ValueId;

namespace
{

/// A network of one-output operators.
class Net
{
public:
    Net() { m_builder.setOpset("", 17); }

    ValueId input() { return m_builder.addInput("x", tensor::DType::Float32, tensor::Shape{2, 2}); }
    ValueId weight(std::int64_t rows)
    {
        return m_builder.addConstant(fmt::format("w{}", m_weights++),
                                     tensor::Tensor::zeros(tensor::DType::Float32, {rows, 2}));
    }
    /// With `isSecond` the operator leaves its first output out and makes its second.
    ValueId add(const std::string& op, const std::string& scope, std::vector<ValueId> operands, bool isSecond = false)
    {
        graph::Node node;
        node.op = op;
        node.scope = scope;
        node.name = fmt::format("n{}", m_nodes++);
        node.opset = 17;
        node.inputs = std::move(operands);
        const ValueId result = m_builder.addResult(node.name + ".out");
        node.outputs = isSecond ? std::vector{ValueId(), result} : std::vector{result};
        m_builder.addNode(std::move(node));
        return result;
    }
    /// Matrix product, activation, matrix product, sum with what went in.
    ValueId block(const std::string& scope, ValueId x, std::int64_t rows = 2)
    {
        const ValueId a = add("MatMul", scope, {x, weight(rows)});
        const ValueId b = add("Relu", scope, {a});
        const ValueId c = add("MatMul", scope, {b, weight(2)});
        return add("Add", scope, {c, x});
    }
    graph::Graph finish(ValueId output)
    {
        m_builder.addOutput(output);
        return tests::made(std::move(m_builder).build());
    }

private:
    graph::GraphBuilder m_builder{"net"};
    int m_nodes = 0;
    int m_weights = 0;
};

DrawnGraph drawingOf(const graph::Graph& graph)
{
    DrawnGraph drawn = readGraph(graph);
    addRepeats(graph, drawn);
    return drawn;
}

/// "stem(4) net/a.0–2×3(12) net/a.0(4) …": groups with the nodes in them.
std::string describe(const DrawnGraph& drawn)
{
    std::vector<int> sizes(drawn.groupPaths.size(), 0);
    for (const Index group : drawn.graph.nodeGroups) {
        for (Index at = group; at != kNone; at = drawn.graph.groupParents[at]) {
            ++sizes[at];
        }
    }
    std::string text;
    for (std::size_t group = 0; group < sizes.size(); ++group) {
        const std::string times = drawn.groupRepeats[group] > 1 ? fmt::format("×{}", drawn.groupRepeats[group]) : "";
        text += fmt::format("{}{}({}) ", drawn.groupPaths[group], times, sizes[group]);
    }
    return text.substr(0, text.size() - (text.empty() ? 0 : 1));
}

std::vector<std::uint64_t> marksOf(std::string_view letters) { return {letters.begin(), letters.end()}; }

std::string periodsOf(std::string_view letters, const PeriodOptions& options, std::vector<Index> costs = {})
{
    costs.resize(letters.size() + 1, 0);
    std::string text;
    for (const Period& period : findPeriods(marksOf(letters), costs, options)) {
        text += fmt::format("{}+{}x{} ", period.first, period.length, period.count);
    }
    return text;
}

} // namespace

class RepeatsTest : public QObject
{
    Q_OBJECT

private slots:
    void findsTheShortestPeriodOfTheLongestStretch()
    {
        const PeriodOptions options{2, 8, 3, 6};
        QCOMPARE(periodsOf("xxabcabcabcabcy", options), std::string("2+3x4 "));
        QCOMPARE(periodsOf("ababab--cdecdecde", options), std::string("0+2x3 8+3x3 "));
        QCOMPARE(periodsOf("aaaaaaaaaaaa", options), std::string()); // one element is no block
        QCOMPARE(periodsOf("abcabc", options), std::string());       // twice is too few
        QCOMPARE(periodsOf("", options), std::string());
    }

    void layersMayLeaveTheirFirstOutputOut_data()
    {
        QTest::addColumn<bool>("hasScopes");
        QTest::newRow("in scopes") << true;
        QTest::newRow("without") << false;
    }
    void layersMayLeaveTheirFirstOutputOut()
    {
        QFETCH(bool, hasScopes);
        Net net;
        ValueId x = net.input();
        for (int i = 0; i < 12; ++i) {
            const std::string scope = hasScopes ? fmt::format("layer.{}", i) : "";
            const ValueId h = net.add("LSTM", scope, {x, net.weight(2), net.weight(2)}, true);
            x = net.add("Squeeze", scope, {net.add("Relu", scope, {h})});
        }
        const DrawnGraph drawn = drawingOf(net.finish(x));
        QVERIFY(!drawn.groupPaths.empty()); // what repeats is found
    }

    void blocksBeginWhereLeastCrosses()
    {
        const PeriodOptions options{2, 8, 3, 6};
        // Borders before elements 1, 4, 7 … are the cheap ones.
        QCOMPARE(periodsOf("abcabcabcabca", options, {2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1, 2, 2, 1}),
                 std::string("1+3x4 "));
    }

    void groupsLikeOnesThatFollowEachOther()
    {
        Net net;
        ValueId x = net.add("Relu", "stem", {net.input()});
        for (int i = 0; i < 4; ++i) {
            x = net.block(fmt::format("net/layer.{}", i + 8), x);
        }
        const graph::Graph graph = net.finish(net.add("Relu", "head", {x}));
        const DrawnGraph drawn = drawingOf(graph);
        QCOMPARE(describe(drawn),
                 std::string("stem(1) net(16) net/layer.8–11×4(16) net/layer.8(4) net/layer.9(4) net/layer.10(4) "
                             "net/layer.11(4) head(1)"));
        QCOMPARE(drawn.graph.groupParents, (std::vector<Index>{kNone, kNone, 1, 2, 2, 2, 2, kNone}));
        QCOMPARE(drawn.groupLike[6], Index{3});
        QCOMPARE(drawn.groupLike[7], Index{0}); // stem and head are one Relu each
        RETRO_MADE(closed, collapse(drawn.graph, {false, false, true, false, false, false, false, false}));
        QCOMPARE(closed.value().nodes.size(), std::size_t{4}); // stem, four layers as one, head, input
    }

    void groupsOfOneNodeGoUpToTheGroupAround()
    {
        Net net;
        ValueId x = net.add("Conv", "stem/input/conv", {net.input()});
        x = net.add("Relu", "stem/input/relu", {x});
        x = net.add("Pool", "stem/pool", {x});
        x = net.add("Gemm", "head/fc", {x});
        DrawnGraph drawn = readGraph(net.finish(x));
        dissolveSmallGroups(drawn);
        QCOMPARE(describe(drawn), std::string("stem(3) stem/input(2)"));
        QCOMPARE(drawn.graph.nodeGroups, (std::vector<Index>{1, 1, 0, kNone, kNone}));
        QCOMPARE(drawn.graph.groupParents, (std::vector<Index>{kNone, 0}));
        QCOMPARE(drawn.groupLike, (std::vector<Index>{0, 1}));
    }

    void weightsOfAnotherShapeMakeAnotherStructure()
    {
        Net net;
        ValueId x = net.input();
        for (int i = 0; i < 5; ++i) {
            x = net.block(fmt::format("layer.{}", i), x, i < 2 ? 3 : 2);
        }
        const DrawnGraph drawn = drawingOf(net.finish(x));
        QCOMPARE(describe(drawn),
                 std::string("layer.0(4) layer.1(4) layer.2–4×3(12) layer.2(4) layer.3(4) layer.4(4)"));
    }

    void wiringCounts()
    {
        Net net;
        ValueId x = net.input();
        const ValueId first = x;
        for (int i = 0; i < 3; ++i) { // the last one adds what came in at the very start
            const std::string scope = fmt::format("layer.{}", i);
            const ValueId a = net.add("Relu", scope, {x});
            const ValueId b = net.add("Relu", scope, {a});
            const ValueId c = net.add("Relu", scope, {b});
            x = net.add("Add", scope, {c, i == 2 ? first : x});
        }
        const DrawnGraph drawn = drawingOf(net.finish(x));
        QCOMPARE(describe(drawn), std::string("layer.0(4) layer.1(4) layer.2(4)"));
        QCOMPARE(drawn.groupLike, (std::vector<Index>{0, 0, 2}));
    }

    void aRowThatWouldFeedItselfStaysApart()
    {
        Net net;
        ValueId x = net.input();
        for (int i = 0; i < 3; ++i) {
            x = net.add("Tanh", "", {net.block(fmt::format("layer.{}", i), x)});
        }
        QCOMPARE(describe(drawingOf(net.finish(x))), std::string("layer.0(4) layer.1(4) layer.2(4)"));
    }

    void nodesWithoutScopesBecomeBlocks()
    {
        Net net;
        ValueId x = net.add("Tanh", "", {net.input()});
        for (int i = 0; i < 8; ++i) {
            x = net.block("", x);
        }
        const DrawnGraph drawn = drawingOf(net.finish(net.add("Softmax", "", {x})));
        QVERIFY2(describe(drawn).starts_with("block.1–8×8(32) block.1(4) block.2(4)"), describe(drawn).c_str());
        QCOMPARE(drawn.graph.nodeGroups[0], kNone);
        QCOMPARE(drawn.graph.nodeGroups[1], Index{1});
        QCOMPARE(drawn.graph.nodeGroups[32], Index{8});
        QCOMPARE(drawn.graph.nodeGroups[33], kNone);
    }

    void aHiddenNodeTakesItsEdgesAlong()
    {
        const GroupedGraph graph{4, {{0, 1}, {2, 1}, {1, 3}}, {}, {}};
        RETRO_MADE(visible, collapse(graph, {}, {false, false, true, false}));
        QCOMPARE(visible.value().visibleOf, (std::vector<Index>{0, 1, kNone, 2}));
        QCOMPARE(visible.value().edges, (std::vector<LayoutEdge>{{0, 1}, {1, 2}}));
        QCOMPARE(visible.value().visibleEdgeOf, (std::vector<Index>{0, kNone, 1}));
        QVERIFY(!collapse(graph, {}, {true}).ok());
    }
};

QTEST_APPLESS_MAIN(RepeatsTest)
#include "repeatstest.moc"
