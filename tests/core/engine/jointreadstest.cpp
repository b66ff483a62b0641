// SPDX-License-Identifier: Apache-2.0
// What the gradient half of a planning graph reads: an input gradient of a linear map reads its weight alone, that of a
// parameter reads the operand.
#include "core/analysis/report.h"
#include "core/engine/explain/explain.h"
#include "core/engine/plan/planning.h"
#include "core/schedule/simulator.h"
#include "tests/core/rewrite/graphs.h"

#include <QtTest>

#include <algorithm>

using namespace retro;
using analysis::OpGraph;
using rewrite::testing::randomTensor;
using rewrite::testing::SharedGraph;
using rewrite::testing::ValueId;
using rewrite::testing::Writer;

namespace
{

constexpr int kLayers = 10;
constexpr std::uint64_t kBytes = 4 * 8 * sizeof(float); // of every value

enum class Kind { Gemm, MatMul, Conv };

/// x → l0 → … → l9, one weight for all.
SharedGraph chainOf(Kind kind)
{
    Writer writer;
    const bool isPicture = kind == Kind::Conv;
    ValueId value = writer.input("x", isPicture ? tensor::Shape{1, 8, 2, 2} : tensor::Shape{4, 8});
    const ValueId weight =
        writer.constant("w", randomTensor(isPicture ? tensor::Shape{8, 8, 1, 1} : tensor::Shape{8, 8}, 1));
    for (int i = 0; i < kLayers; ++i) {
        const char* op = isPicture ? "Conv" : kind == Kind::Gemm ? "Gemm" : "MatMul";
        value = writer.node(op, "l" + std::to_string(i), {value, weight});
    }
    writer.output(value);
    return writer.finish();
}

std::shared_ptr<const execute::BoundModel> boundOf(const SharedGraph& graph)
{
    std::vector<ops::TensorType> types;
    for (const ValueId input : graph->inputs()) {
        tensor::Shape shape;
        for (const graph::Dimension& dimension : *graph->value(input).shape) {
            shape.push_back(*dimension.extent);
        }
        types.push_back({tensor::DType::Float32, shape});
    }
    return execute::BoundModel::bind(graph, types, execute::Precision::Float).value();
}

analysis::PlanningGraph planningOf(const SharedGraph& graph)
{
    return engine::planningGraphOf(*boundOf(graph)).value();
}

/// The joint graph of relevance from the output on, by a composite.
OpGraph relevanceOf(const SharedGraph& graph, const std::string& composite)
{
    const auto bound = boundOf(graph);
    const auto rules = lrp::assignRules(engine::resolveComposite(composite, *bound).value(), *bound).value();
    const auto subject = engine::PassSubject::relevance(bound, {graph->outputs().front()},
                                                        std::make_shared<const lrp::RuleAssignment>(rules));
    const auto planning = engine::planningGraphOf(subject.value()).value();
    analysis::JointOptions options;
    options.kind = analysis::JointKind::Relevance;
    return analysis::jointGraph(planning.graph, planning.graph.order(), options).value().graph;
}

OpGraph jointOf(const SharedGraph& graph, analysis::JointOptions options)
{
    const analysis::PlanningGraph planning = planningOf(graph);
    return analysis::jointGraph(planning.graph, planning.graph.order(), options).value().graph;
}

std::vector<std::string> readsOf(const OpGraph& graph, const std::string& op)
{
    std::vector<std::string> names;
    for (const analysis::OpValueId id : graph.reads(graph.findOp(op))) {
        names.push_back(graph.value(id).name);
    }
    std::ranges::sort(names);
    return names;
}

using Names = std::vector<std::string>;

} // namespace

class JointReadsTest : public QObject
{
    Q_OBJECT

private slots:
    void linearMapsReadTheirWeightAlone_data()
    {
        QTest::addColumn<int>("kind");
        QTest::newRow("Gemm") << static_cast<int>(Kind::Gemm);
        QTest::newRow("MatMul") << static_cast<int>(Kind::MatMul);
        QTest::newRow("Conv") << static_cast<int>(Kind::Conv);
    }
    void linearMapsReadTheirWeightAlone()
    {
        QFETCH(int, kind);
        const SharedGraph graph = chainOf(static_cast<Kind>(kind));
        QVERIFY(graph);
        const OpGraph inputs = jointOf(graph, {});
        QCOMPARE(readsOf(inputs, "d:l9_out"), (Names{"l9_out"}));
        QCOMPARE(readsOf(inputs, "d:l8_out"), (Names{"d:l9_out"}));
        QCOMPARE(readsOf(inputs, "d:x"), (Names{"d:l0_out"}));
        QCOMPARE(analysis::storeAllPeak(inputs), 2 * kBytes); // operand and result

        analysis::JointOptions options;
        options.hasParameterGradients = true;
        const OpGraph both = jointOf(graph, options);
        QCOMPARE(readsOf(both, "d:l8_out"), (Names{"d:l9_out"}));
        QCOMPARE(readsOf(both, "dw:l9"), (Names{"d:l9_out", "l8_out"}));
        QCOMPARE(analysis::storeAllPeak(both), (kLayers + 1) * kBytes);

        QCOMPARE(readsOf(relevanceOf(graph, "epsilon"), "r:l8_out"), (Names{"l8_out", "l9_out", "r:l9_out"}));
        QCOMPARE(readsOf(relevanceOf(graph, "gradient"), "r:x"), (Names{"r:l0_out"}));
    }

    // Nothing passes a node with the rule "stop": it reads nothing, and what is below it has no operator.
    void whatIsStoppedIsNotPlanned()
    {
        Writer writer;
        const ValueId x = writer.input("x", {4, 8});
        const ValueId weight = writer.constant("w", randomTensor({8, 8}, 1));
        const ValueId a = writer.node("MatMul", "a", {x, weight});
        const ValueId b = writer.node("MatMul", "b", {a, weight});
        writer.output(writer.node("Add", "c", {b, a}));
        const OpGraph joint = relevanceOf(writer.finish(), "epsilon | name:b=stop");
        const Names ofA = readsOf(joint, "r:a_out");
        QVERIFY(std::ranges::find(ofA, "r:b_out") == ofA.end());
        QVERIFY(std::ranges::find(ofA, "r:c_out") != ofA.end());
    }

    // With x alone the product's part reads the other factor alone; nobody reads x's own.
    void theWantedInputsDecide()
    {
        Writer writer;
        const ValueId x = writer.input("x", {4, 8});
        const ValueId z = writer.input("z", {4, 8});
        const ValueId a = writer.node("Tanh", "a", {x});
        const ValueId b = writer.node("Tanh", "b", {z});
        const ValueId c = writer.node("Mul", "c", {a, b});
        writer.output(c);
        const SharedGraph graph = writer.finish();
        const auto bound = boundOf(graph);
        const auto planning =
            engine::planningGraphOf(engine::PassSubject::gradient(bound, {graph->outputs().front()}, {&x, 1}));
        QVERIFY(planning.ok());
        const OpGraph joint = analysis::jointGraph(planning->graph, planning->graph.order(), {}).value().graph;
        QCOMPARE(readsOf(joint, "d:a_out"), (Names{"b_out", "d:c_out"}));
        QCOMPARE(joint.findOp("d:b_out"), analysis::kNone);
        QCOMPARE(joint.findOp("d:z"), analysis::kNone);
    }

    void othersReadWhatTheirRuleReads()
    {
        Writer writer;
        const ValueId x = writer.input("x", {2, 3});
        const ValueId a = writer.node("Tanh", "a", {x});
        const ValueId b = writer.node("Mul", "b", {a, writer.constant("k", randomTensor({3}, 1))});
        const ValueId c = writer.node("Add", "c", {b, writer.constant("t", randomTensor({3}, 2))});
        writer.output(writer.node("Softmax", "d", {c}));
        const OpGraph joint = jointOf(writer.finish(), {});
        QCOMPARE(readsOf(joint, "d:c_out"), (Names{"d:d_out", "d_out"}));
        QCOMPARE(readsOf(joint, "d:b_out"), (Names{"d:c_out"}));
        QCOMPARE(readsOf(joint, "d:a_out"), (Names{"d:b_out"}));
        QCOMPARE(readsOf(joint, "d:x"), (Names{"a_out", "d:a_out"}));
    }

    // Each value goes as soon as its reader has run; nothing is computed twice. The hash of a graph is the same for
    // gradients that read less.
    void aPlanThatKeepsNothingIsValid()
    {
        const OpGraph joint = jointOf(chainOf(Kind::Gemm), {});
        schedule::Plan plan;
        plan.graphHash = joint.hash();
        std::vector<analysis::OpValueId> held;
        for (analysis::OpId op = 0; op < joint.size(); ++op) {
            plan.steps.push_back({schedule::StepKind::Compute, op});
            for (const analysis::OpValueId id : held) {
                plan.steps.push_back({schedule::StepKind::Free, id});
            }
            held = joint.op(op).outputs;
        }
        const auto outcome = schedule::simulate(joint, plan);
        QVERIFY2(outcome.ok(), outcome.ok() ? "" : outcome.error->text.c_str());
        QCOMPARE(outcome.peak, 2 * kBytes);

        std::vector<analysis::Op> wider(joint.ops().begin(), joint.ops().end());
        for (analysis::Op& op : wider) {
            op.inputs = op.hashedInputs.empty() ? op.inputs : op.hashedInputs;
            op.hashedInputs.clear();
        }
        RETRO_MADE(wide, OpGraph::make(std::move(wider), {joint.values().begin(), joint.values().end()}));
        QVERIFY(wide->reads(wide->findOp("d:l8_out")).size() > joint.reads(joint.findOp("d:l8_out")).size());
        QCOMPARE(wide->hash(), joint.hash());
    }
};

QTEST_GUILESS_MAIN(JointReadsTest)
#include "jointreadstest.moc"
