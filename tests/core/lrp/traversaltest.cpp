// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/traversal/traversal.h"

#include "core/lrp/arithmetic/nullarithmetic.h"
#include "core/lrp/traversal/promisequeue.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "tests/core/lrp/goldencase.h"
#include "tests/core/lrp/randombehaviour.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/symbolicarithmetic.h"
#include "tests/core/lrp/symbolicrun.h"

#include <QTest>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace retro::lrptest
{

namespace
{

/// A graph with what its nodes do, for traversals without values.
struct NullCase
{
    lrp::TraversalGraph graph;
    std::vector<lrp::NodeBehaviour> behaviour;
};

using base::NodeId;
using event::PromiseKind;
using lrp::ChildSlot;
using lrp::NodeBehaviour;
using lrp::Role;

class Builder
{
public:
    NodeId leaf() { return add({}, {}); }
    NodeId crossed(NodeId operand) { return add(std::array{slot(operand)}, {Role::PassThrough, false, {}}); }
    NodeId answering(NodeId operand) { return add(std::array{slot(operand)}, {}); }
    NodeId sum(NodeId a, NodeId b) { return add(std::array{slot(a), slot(b)}, {Role::Raise, true, PromiseKind::Add}); }
    NullCase build(NodeId root)
    {
        return {lrp::TraversalGraph::walk(std::move(m_adjacency), root, 0), std::move(m_behaviour)};
    }

private:
    static ChildSlot slot(NodeId node) { return {node, 0, 0}; }
    NodeId add(std::span<const ChildSlot> children, NodeBehaviour behaviour)
    {
        m_adjacency.addNode(children, 1);
        m_behaviour.push_back(behaviour);
        return NodeId(m_behaviour.size() - 1);
    }

    lrp::Adjacency m_adjacency;
    std::vector<NodeBehaviour> m_behaviour;
};

/// y = x + chain(x), where the chain is `length` nodes that a search crosses.
NullCase crossedChain(std::size_t length)
{
    Builder builder;
    const NodeId x = builder.leaf();
    NodeId node = x;
    for (std::size_t i = 0; i < length; ++i) {
        node = builder.crossed(node);
    }
    const NodeId root = builder.sum(x, node);
    return builder.build(root);
}

/// `blocks` residual blocks y = h + f(h) on top of each other, where f is `inner` nodes of which every third one knows
/// its own output and the others are crossed by a search.
NullCase residualBlocks(std::size_t blocks, std::size_t inner)
{
    Builder builder;
    NodeId h = builder.leaf();
    for (std::size_t block = 0; block < blocks; ++block) {
        NodeId node = h;
        for (std::size_t i = 0; i < inner; ++i) {
            node = i % 3 == 0 ? builder.answering(node) : builder.crossed(node);
        }
        h = builder.sum(h, node);
    }
    return builder.build(h);
}

} // namespace

} // namespace retro::lrptest

using namespace retro::lrptest;
using retro::event::EventKind;
using retro::lrp::NodeBehaviour;
using retro::lrp::Role;

namespace
{

const std::vector<GoldenCase>& cases()
{
    static const auto read = readGoldenCases(RETRO_SOURCE_DIR "/tests/data/golden/traversal");
    static const std::vector<GoldenCase> none;
    return read.ok() ? read.value() : none;
}

const GoldenCase& caseAt(int index) { return cases()[static_cast<std::size_t>(index)]; }

QString joined(const std::vector<std::string>& lines)
{
    QStringList list;
    for (const std::string& line : lines) {
        list.append(QString::fromStdString(line));
    }
    return list.join('\n');
}

SpecNode node(std::string id, std::string op, std::vector<SpecOperand> operands, std::uint32_t outputs = 1)
{
    SpecNode made;
    made.id = std::move(id);
    made.op = std::move(op);
    made.operands = std::move(operands);
    made.outputs = outputs;
    return made;
}

RunText textOf(const SpecGraph& spec, const SymbolicRun& run)
{
    return retro::lrptest::textOf(run.events, [&](NodeId id) { return spec.node(id).id; });
}

std::size_t countOf(const std::vector<retro::event::Event>& events, EventKind kind)
{
    return static_cast<std::size_t>(
        std::count_if(events.begin(), events.end(), [kind](const auto& event) { return event.kind == kind; }));
}

// Runs a traversal without values and returns its counts; fails when handles leak or the run does not end by itself.
retro::lrp::TraversalCounts runNull(const NullCase& deep)
{
    retro::lrp::NullArithmetic arithmetic(deep.graph, deep.behaviour);
    retro::event::NullSink sink;
    retro::lrp::TraversalCounts counts;
    {
        retro::lrp::Traversal traversal(deep.graph, arithmetic, sink, arithmetic.newHandle());
        while (!traversal.finished()) {
            if (const auto stepped = traversal.step(); !stepped.ok()) {
                QTest::qFail(stepped.error().text().c_str(), __FILE__, __LINE__);
            }
        }
        counts = traversal.counts();
    }
    if (arithmetic.references() != 0) {
        QTest::qFail("handles leak", __FILE__, __LINE__);
    }
    return counts;
}

} // namespace

/// Control flow of the traversal over formulas: what a search, a fan-in, a join do, in which order, and that what
/// arrives is what a plain backward loop computes.
class TraversalTest : public QObject
{
    Q_OBJECT

private slots:
    void goldenControlFlow_data();
    void goldenControlFlow();
    void goldenWithEverythingSaved_data() { goldenControlFlow_data(); }
    void goldenWithEverythingSaved();
    void randomGraphs();
    void constantUnderSearch();
    void severalOutputsWithAnswer();
    void checkpointTakesOneSnapshot();
    void relevanceOncePerOutput();
    void stoppedEarlyReleasesEverything();
    void stuckTraversalSaysWhy();
    void brokenRoleEndsWithAnError();
    void severalRoots();
    void stopsWhenAllCheckpointsAreTaken();
    void longChain();
    void deepResidualBlocks();
    void graphNumbersEdgesBeforeDescent();
    void queueGivesPositions();
};

void TraversalTest::goldenControlFlow_data()
{
    QTest::addColumn<int>("index");
    QVERIFY(!cases().empty());
    for (std::size_t i = 0; i < cases().size(); ++i) {
        QTest::newRow(cases()[i].name.c_str()) << static_cast<int>(i);
    }
}

void TraversalTest::goldenControlFlow()
{
    QFETCH(int, index);
    const GoldenCase& golden = caseAt(index);
    const SpecGraph spec(golden.nodes);
    const SymbolicRun run = runSymbolic(spec, spec.autogradBehaviour());
    const RunText text = textOf(spec, run);
    QCOMPARE(joined(text.trace), joined(golden.trace));
    if (golden.events) {
        QCOMPARE(joined(text.events), joined(*golden.events));
    }
    QCOMPARE(run.fault, std::string());
}

void TraversalTest::goldenWithEverythingSaved()
{
    QFETCH(int, index);
    const SpecGraph spec(caseAt(index).nodes);
    const SymbolicRun run = runSymbolic(spec, spec.savedBehaviour());
    QCOMPARE(run.fault, std::string());
    QCOMPARE(run.counts.promises, 0U);
    QCOMPARE(run.counts.visitsMax, 1U);
}

void TraversalTest::randomGraphs()
{
    const std::string fault = firstFailure(1, 300, 60, faultOnFormulas);
    QVERIFY2(fault.empty(), fault.c_str());
}

// A constant operand of a searched Concat is a branch that is answered at once, with no place.
void TraversalTest::constantUnderSearch()
{
    const SpecGraph spec({node("a", "leaf", {}), node("k", "const", {}), node("c", "cat", {{0}, {1}}),
                          node("u", "leaf", {}), node("y", "add", {{2}, {3}})});
    const SymbolicRun run = runSymbolic(spec, spec.autogradBehaviour());
    QCOMPARE(run.fault, std::string());
    QCOMPARE(joined(textOf(spec, run).events),
             QString("1 new P0 add at y parents\n2 new P1 cat at c parents P0.0\n2 arg P1.1 at -\n3 arg P1.0 at a\n"
                     "3 ready P1\n3 arg P0.0 at -\n4 arg P0.1 at u\n4 ready P0\n4 complete P0\n4 complete P1"));
}

// A node with several outputs of which one is read answers for that one; when two are read it searches its operand.
void TraversalTest::severalOutputsWithAnswer()
{
    const auto runWith = [](std::uint32_t second) {
        const SpecGraph spec(
            {node("x", "leaf", {}), node("s", "unbind", {{0}}, 2), node("y", "add", {{1, 1}, {1, second}})});
        std::vector<NodeBehaviour> behaviour = spec.autogradBehaviour();
        behaviour[1].role = Role::Arg;
        return runSymbolic(spec, behaviour);
    };
    QCOMPARE(runWith(1).fault, std::string());
    QCOMPARE(countOf(runWith(1).events, EventKind::Wait), std::size_t{0});
    QCOMPARE(runWith(0).fault, std::string());
    QCOMPARE(runWith(1).counts.promises, 2U);
    QCOMPARE(runWith(0).counts.promises, 2U);
}

void TraversalTest::checkpointTakesOneSnapshot()
{
    const SpecGraph spec(
        {node("x", "leaf", {}), node("k", "ckpt", {{0}}), node("r", "relu", {{1}}), node("y", "add", {{1}, {2}})});
    const retro::lrp::TraversalGraph graph = spec.traversalGraph();
    Formulas formulas;
    SymbolicArithmetic arithmetic(spec, graph, spec.autogradBehaviour(), formulas);
    EventLog log;
    retro::lrp::Traversal traversal(graph, arithmetic, log, arithmetic.start(),
                                    {.checkpoints = {{NodeId(std::uint32_t{1}), 0}}});
    while (!traversal.finished()) {
        QVERIFY(traversal.step().ok());
    }
    QCOMPARE(countOf(log.events, EventKind::Snapshot), std::size_t{1});
    const auto snapshot = std::find_if(log.events.begin(), log.events.end(),
                                       [](const auto& event) { return event.kind == EventKind::Snapshot; });
    QCOMPARE(snapshot->node, 1U);
    QCOMPARE(snapshot->handle, traversal.relevance(NodeId(std::uint32_t{1}), 0).value);
    QCOMPARE(snapshot->visit, 3U); // at the fan-in, not when the search came by
}

void TraversalTest::relevanceOncePerOutput()
{
    const SpecGraph spec({node("x", "leaf", {}), node("t", "t", {{0}}), node("n", "neg", {{1}}), node("u", "leaf", {}),
                          node("y", "add", {{2}, {3}})});
    const SymbolicRun run = runSymbolic(spec, spec.autogradBehaviour());
    QCOMPARE(run.fault, std::string());
    QCOMPARE(countOf(run.events, EventKind::Relevance), std::size_t{5});
    QCOMPARE(countOf(run.events, EventKind::Rule), std::size_t{3}); // y, n, t: leaves have none
}

void TraversalTest::stoppedEarlyReleasesEverything()
{
    // two residual blocks
    const SpecGraph spec({node("x", "leaf", {}), node("h", "relu", {{0}}), node("r", "relu", {{1}}),
                          node("a", "add", {{1}, {2}}), node("q", "relu", {{3}}), node("y", "add", {{3}, {4}})});
    const retro::lrp::TraversalGraph graph = spec.traversalGraph();
    for (int steps = 0; steps < 9; ++steps) {
        Formulas formulas;
        SymbolicArithmetic arithmetic(spec, graph, spec.autogradBehaviour(), formulas);
        {
            EventLog log;
            retro::lrp::Traversal traversal(graph, arithmetic, log, arithmetic.start());
            for (int i = 0; i < steps; ++i) {
                QVERIFY(traversal.step().ok());
            }
        }
        QCOMPARE(arithmetic.liveHandles(), std::size_t{0});
        QCOMPARE(arithmetic.complaint(), std::string());
    }
}

// A cycle breaks the contract of the graph: a waits for b, which waits for a. The error names who waits for what.
void TraversalTest::stuckTraversalSaysWhy()
{
    const auto slot = [](std::uint32_t child) { return retro::lrp::ChildSlot{NodeId(child), 0, 0}; };
    retro::lrp::Adjacency adjacency;
    adjacency.addNode({}, 1);                            // 0: x
    adjacency.addNode(std::vector{slot(2)}, 1);          // 1: a reads b
    adjacency.addNode(std::vector{slot(1), slot(0)}, 1); // 2: b reads a and x
    adjacency.addNode(std::vector{slot(1)}, 1);          // 3: root, sum of a
    const auto graph = retro::lrp::TraversalGraph::walk(adjacency, NodeId(std::uint32_t{3}), 0);
    retro::lrp::NullArithmetic arithmetic(graph, {{}, {}, {}, {Role::Raise, true, retro::event::PromiseKind::Sum}});
    retro::event::NullSink sink;
    retro::lrp::Traversal traversal(graph, arithmetic, sink, arithmetic.newHandle());
    QVERIFY(traversal.step().ok()); // NTM at the root: promise P0 searches a
    QVERIFY(traversal.step().ok()); // PTM at a: it answers, P0 completes, a waits for its Pre-Promise P1
    const auto stepped = traversal.step();
    QVERIFY(!stepped.ok());
    QVERIFY(traversal.finished());
    QCOMPARE(stepped.error().code, retro::base::ErrorCode::Bug);
    QCOMPARE(
        stepped.error().message,
        std::string("the traversal cannot go on after visit 2: 1 promises are incomplete, 3 nodes have no relevance; "
                    "node 1 is queued, waits for P1.0, has Pre-Promise P1, misses 1 inputs; P1 (pre) at node 1 "
                    "waits for 1 inputs of its node; node 0 misses in-edge 1 of 1 from node 2; node 1 misses in-edge 2 "
                    "of 2 from node 2; node 2 misses in-edge 1 of 1 from node 1; please report this with the model"));
}

// Two operands are tracked, but the role says that a search can be carried through: the second one gets nothing.
void TraversalTest::brokenRoleEndsWithAnError()
{
    const SpecGraph spec({node("x", "leaf", {}), node("z", "leaf", {}), node("n", "mm", {{0}, {1}}),
                          node("u", "leaf", {}), node("y", "add", {{2}, {3}})});
    std::vector<NodeBehaviour> behaviour = spec.autogradBehaviour();
    behaviour[2].role = Role::PassThrough;
    const SymbolicRun run = runSymbolic(spec, behaviour);
    RETRO_SAYS(run.fault, "the traversal cannot go on after visit", "node 1 misses in-edge 1 of 1 from node 2");
}

// The third root is read by the first one and waits for it; the second one has a part of the graph of its own.
void TraversalTest::severalRoots()
{
    const std::vector<SpecNode> nodes{node("x", "leaf", {}),        node("h", "relu", {{0}}),
                                      node("u", "leaf", {}),        node("a", "add", {{1}, {2}}),
                                      node("b", "mul", {{1}, {2}}), node("y", "relu", {{3}})};
    const SpecGraph spec(nodes, {{4, 0}, {1, 0}});
    const SymbolicRun run = runSymbolic(spec, spec.autogradBehaviour());
    QCOMPARE(run.fault, std::string());
    const retro::lrp::TraversalGraph graph = spec.traversalGraph();
    QCOMPARE(graph.roots().size(), std::size_t{3});
    const NodeId hidden{std::uint32_t{1}};
    QCOMPARE(graph.inEdges(hidden).size(), std::size_t{3});
    QVERIFY(!graph.inEdges(hidden)[graph.roots()[2].inEdge].consumer.isValid());
    QCOMPARE(joined(textOf(spec, run).trace),
             QString("0:NTM:y\n1:NTM:a\n2:PTM:h\n3:PTM:u\n4:NTM:b\n5:NTM:h\n6:NTM:u\n7:NTM:x"));
}

void TraversalTest::stopsWhenAllCheckpointsAreTaken()
{
    const SpecGraph spec({node("x", "leaf", {}), node("h", "relu", {{0}}), node("r", "relu", {{1}}),
                          node("a", "add", {{1}, {2}}), node("q", "relu", {{3}}), node("y", "add", {{3}, {4}})});
    const retro::lrp::TraversalGraph graph = spec.traversalGraph();
    Formulas formulas;
    SymbolicArithmetic arithmetic(spec, graph, spec.autogradBehaviour(), formulas);
    const auto oracle = arithmetic.oracle();
    EventLog log;
    {
        const retro::lrp::TraversalOptions options{
            .checkpoints = {{NodeId(std::uint32_t{3}), 0}, {NodeId(std::uint32_t{4}), 0}}, .stopsAtCheckpoints = true};
        retro::lrp::Traversal traversal(graph, arithmetic, log, arithmetic.start(), options);
        while (!traversal.finished()) {
            QVERIFY(traversal.step().ok());
        }
        QVERIFY(traversal.stoppedEarly());
        for (const std::uint32_t taken : {3U, 4U}) {
            QCOMPARE(arithmetic.formula(traversal.relevance(NodeId(taken), 0)), oracle[taken][0]);
        }
        QVERIFY(!traversal.relevance(NodeId(std::uint32_t{0}), 0).isValid());
        QCOMPARE(log.events.back().kind, EventKind::Finished);
        QCOMPARE(int(log.events.back().flag), 1);
    }
    QCOMPARE(arithmetic.liveHandles(), std::size_t{0});
    QCOMPARE(arithmetic.complaint(), std::string());
}

void TraversalTest::longChain()
{
    const NullCase deep = crossedChain(200'000);
    const retro::lrp::TraversalCounts counts = runNull(deep);
    QCOMPARE(counts.visits, 200'003U);
    QCOMPARE(counts.promises, 2U);
    QCOMPARE(counts.visitsMax, 2U);
}

void TraversalTest::deepResidualBlocks()
{
    const NullCase deep = residualBlocks(20'000, 3);
    const retro::lrp::TraversalCounts counts = runNull(deep);
    QVERIFY(counts.visitsMax <= 3);
    QVERIFY(counts.promises >= 20'000);
}

void TraversalTest::graphNumbersEdgesBeforeDescent()
{
    // s25: n1 = t + x, n2 = x + t, t = xᵀ, y = n1 + n2
    const SpecGraph spec({node("x", "leaf", {}), node("t", "t", {{0}}), node("n1", "add", {{1}, {0}}),
                          node("n2", "add", {{0}, {1}}), node("y", "add", {{2}, {3}}), node("z", "neg", {{4}})});
    const retro::lrp::TraversalGraph graph = spec.traversalGraph();
    std::vector<std::uint32_t> consumers;
    for (const retro::lrp::InEdge& edge : graph.inEdges(NodeId(std::uint32_t{0}))) {
        consumers.push_back(edge.consumer.value);
    }
    QCOMPARE(consumers, (std::vector<std::uint32_t>{1, 2, 3}));
    QCOMPARE(graph.topo(NodeId(std::uint32_t{5})), 5U);
    QCOMPARE(graph.inEdges(graph.root()).size(), std::size_t{1});
    QVERIFY(!graph.inEdges(graph.root())[0].consumer.isValid());
}

void TraversalTest::queueGivesPositions()
{
    const auto id = [](std::uint32_t i) { return NodeId(i); };
    retro::lrp::PromiseQueue queue(5);
    for (std::uint32_t i = 0; i < 5; ++i) {
        QCOMPARE(queue.append(id(i)), i);
    }
    QVERIFY(!queue.firstEligible().isValid());
    for (const std::uint32_t i : {3U, 1U, 1U}) {
        queue.markEligible(id(i));
    }
    QCOMPARE(queue.firstEligible(), id(1)); // the oldest, whatever became eligible first
    QCOMPARE(queue.takeFirstEligible(), 1U);
    QCOMPARE(queue.takeFirstEligible(), 2U); // nodes 0, 2 are before it
    QVERIFY(!queue.contains(id(3)));
    QCOMPARE(queue.append(id(1)), 5U);
    QCOMPARE(queue.members(), (std::vector<NodeId>{id(0), id(2), id(4), id(1)}));
}

QTEST_APPLESS_MAIN(TraversalTest)
#include "traversaltest.moc"
