// SPDX-License-Identifier: Apache-2.0
// What is written out of control flow and of operators of many steps has the form of the model's operator set.
#include "core/engine/explain/explain.h"
#include "core/engine/gradient/rules.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/model/binding.h"
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "tests/core/engine/gradientgraphcases.h"

#include <QtTest>

using namespace retro;
using namespace retro::tests;
using graph::Attributes;
using graph::ValueId;
using SharedGraph = std::shared_ptr<const graph::Graph>;

namespace
{

constexpr auto kDouble = execute::Precision::Double;

/// A graph that is written node by node, all of one operator set.
class Sketch
{
public:
    explicit Sketch(std::int64_t opset) : m_opset(opset)
    {
        m_builder.setOpset("", opset);
        m_builder.setOpset("com.microsoft", 1);
    }
    ValueId input(const std::string& name, const Shape& shape, tensor::DType type = tensor::DType::Float64)
    {
        return m_builder.addInput(name, type, shape);
    }
    ValueId constant(const std::string& name, Tensor data)
    {
        const std::string own = name.empty() ? "constant" + std::to_string(m_count++) : name;
        return m_builder.addConstant(own, std::move(data));
    }
    std::vector<ValueId> nodes(const std::string& op, std::vector<ValueId> inputs, Attributes attributes,
                               std::size_t outputs, const std::string& domain = {})
    {
        const std::string name = op + std::to_string(m_count++);
        std::vector<ValueId> made;
        for (std::size_t k = 0; k < outputs; ++k) {
            made.push_back(m_builder.addResult(name + "_" + std::to_string(k)));
        }
        m_builder.addNode(
            {op, domain, name, "", domain.empty() ? m_opset : 1, std::move(inputs), made, std::move(attributes)});
        return made;
    }
    ValueId node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {},
                 const std::string& domain = {})
    {
        return nodes(op, std::move(inputs), std::move(attributes), 1, domain).front();
    }
    void output(ValueId value) { m_builder.addOutput(value); }
    SharedGraph finish() { return std::make_shared<const graph::Graph>(std::move(m_builder).build().value()); }

private:
    std::int64_t m_opset;
    graph::GraphBuilder m_builder{"sketch"};
    int m_count = 0;
};

/// Running products; each is collected along `axis`, from the last where it is reversed.
SharedGraph scanned(std::int64_t opset, std::int64_t axis, std::int64_t isReversed)
{
    Sketch inner(opset);
    const ValueId state = inner.input("state", {2, 3});
    const ValueId slice = inner.input("slice", {2, 3});
    const ValueId next = inner.node("Mul", {state, slice});
    inner.output(next);
    inner.output(inner.node("Tanh", {next}));
    Sketch outer(opset);
    const ValueId first = outer.input("first", {2, 3});
    const ValueId sequence = outer.input("sequence", {2, 4, 3});
    Attributes attributes{{"body", graph::Subgraph{inner.finish(), 0}},
                          {"num_scan_inputs", std::int64_t{1}},
                          {"scan_input_axes", std::vector<std::int64_t>{1}},
                          {"scan_output_axes", std::vector<std::int64_t>{axis}},
                          {"scan_output_directions", std::vector<std::int64_t>{isReversed}}};
    const auto made = outer.nodes("Scan", {first, sequence}, std::move(attributes), 2);
    outer.output(outer.node("Mul", {made[1], made[1]}));
    return outer.finish();
}

/// Three rounds of x ← tanh(x) · x, all of them kept.
SharedGraph looped(std::int64_t opset)
{
    Sketch inner(opset);
    inner.input("round", {}, tensor::DType::Int64);
    const ValueId goesOn = inner.input("goes on", {}, tensor::DType::Bool);
    const ValueId x = inner.input("x in", {2, 3});
    inner.output(inner.node("Identity", {goesOn}));
    const ValueId next = inner.node("Mul", {inner.node("Tanh", {x}), x});
    inner.output(next);
    inner.output(next);
    Sketch outer(opset);
    const ValueId x0 = outer.input("x", {2, 3});
    const ValueId count = outer.constant("count", Tensor::scalar<std::int64_t>(3));
    const auto made = outer.nodes("Loop", {count, outer.constant("yes", Tensor::scalar(true)), x0},
                                  {{"body", graph::Subgraph{inner.finish(), 0}}}, 2);
    outer.output(outer.node("Mul", {made[1], made[1]}));
    return outer.finish();
}

/// A GRU whose weights are worked out of constants; branched, those of the graph around it.
SharedGraph reordered(bool isBranched)
{
    const auto one = [](std::int64_t value) { return ints({value}); };
    const auto write = [&one](Sketch& sketch, ValueId x, ValueId stored, ValueId states) {
        const auto part = [&](std::int64_t from, std::int64_t to) {
            return sketch.node("Slice", {stored, sketch.constant("", one(from)), sketch.constant("", one(to)),
                                         sketch.constant("", one(0))});
        };
        const ValueId gates =
            sketch.node("Concat", {part(5, 10), part(0, 5), part(10, 15)}, {{"axis", std::int64_t{0}}});
        const ValueId first = sketch.constant("", one(0));
        sketch.output(
            sketch.node("GRU", {x, sketch.node("Unsqueeze", {gates, first}), sketch.node("Unsqueeze", {states, first})},
                        {{"hidden_size", std::int64_t{5}}}));
    };
    Sketch outer(17);
    const ValueId isThen = outer.input("is then", {}, tensor::DType::Bool);
    const ValueId x = outer.input("x", {3, 1, 4});
    const ValueId stored = outer.constant("stored", drawn({15, 4}, 1));
    const ValueId states = outer.constant("states", drawn({15, 5}, 2));
    if (!isBranched) {
        write(outer, x, stored, states);
        return outer.finish();
    }
    Sketch inner(17);
    const ValueId given = inner.input("x in", {3, 1, 4});
    const ValueId weights = inner.input("stored in", {15, 4});
    write(inner, given, weights, inner.input("states in", {15, 5}));
    const graph::Subgraph branch{inner.finish(), 3};
    outer.output(outer.node("If", {isThen, x, stored, states}, {{"then_branch", branch}, {"else_branch", branch}}));
    return outer.finish();
}

engine::GradientRequest requestFor(const graph::Graph& graph)
{
    engine::GradientRequest request;
    for (const ValueId input : graph.inputs()) {
        Shape shape;
        for (const graph::Dimension& dimension : *graph.value(input).shape) {
            shape.push_back(*dimension.extent);
        }
        const Tensor data = drawn(shape, static_cast<std::uint32_t>(request.inputs.size()));
        const tensor::DType type = graph.value(input).dtype;
        request.inputs.push_back(tensor::isFloating(type) ? data : Tensor::scalar(true));
    }
    request.precision = kDouble;
    return request;
}

/// "" when the gradient graph of `graph`, joined, can be written as ONNX of its operator set and gives, read again and
/// run, what the tape gives.
QString wrongOf(const SharedGraph& graph)
{
    auto model = std::make_shared<engine::LoadedModel>();
    model->rewritten = rewrite::rewrite(graph, rewrite::noRewrites()).value();
    engine::GradientRequest request = requestFor(*graph);
    const auto tape = engine::gradient(*model, request);
    const auto made = engine::gradientGraph(model, request, true);
    if (!tape.ok() || !made.ok()) {
        return QString::fromStdString(tape.ok() ? made.error().text() : tape.error().text());
    }
    const auto bytes = formats::toOnnx(*made->graph);
    if (!bytes.ok()) {
        return QString::fromStdString(bytes.error().text());
    }
    const auto read = formats::parseOnnx(*bytes, "gradient.onnx");
    if (!read.ok()) {
        return QString::fromStdString(read.error().text());
    }
    std::vector<Tensor> given = request.inputs;
    given.push_back(tape->target.start);
    std::vector<ops::TensorType> types;
    for (const Tensor& input : given) {
        types.push_back({input.dtype(), input.shape()});
    }
    const auto bound = execute::BoundModel::bind(*read, types, kDouble, given);
    if (!bound.ok()) {
        return QString::fromStdString(bound.error().text());
    }
    const auto result = execute::forward(*bound, given, execute::SavePolicy::Nothing);
    if (!result.ok()) {
        return QString::fromStdString(result.error().text());
    }
    std::size_t at = graph->outputs().size();
    for (std::size_t i = 0; i < tape->gradients.size(); ++i) {
        const Tensor& expected = tape->gradients[i];
        if (!expected.isValid()) {
            continue; // of an input that is no number
        }
        const Tensor off = ops::algebra::subtract(result->outputs.at(at++).contiguous(), expected.contiguous());
        const double size = ops::algebra::sumAbsolute(expected);
        if (size == 0 || !(ops::algebra::sumAbsolute(off) <= 1e-9 * size)) {
            return QStringLiteral("gradient %1 is off by %2").arg(i).arg(ops::algebra::sumAbsolute(off));
        }
    }
    return {};
}

constexpr std::array<std::int64_t, 10> kOpsets{9, 10, 11, 12, 13, 14, 16, 17, 18, 20};

} // namespace

class GradientGraphOpsetTest : public QObject
{
    Q_OBJECT

private slots:
    void roundsAreStackedInTheFormOfTheModel_data()
    {
        QTest::addColumn<int>("opset");
        QTest::addColumn<int>("axis");
        QTest::addColumn<bool>("isReversed");
        for (const std::int64_t opset : kOpsets) {
            QTest::addRow("Loop, opset %d", int(opset)) << int(opset) << -9 << false;
            QTest::addRow("Scan, opset %d", int(opset)) << int(opset) << 0 << false;
            QTest::addRow("Scan backwards along 2, opset %d", int(opset)) << int(opset) << 2 << true;
            if (opset >= 11) {
                QTest::addRow("Scan along -2, opset %d", int(opset)) << int(opset) << -2 << false;
            }
        }
    }

    void roundsAreStackedInTheFormOfTheModel()
    {
        QFETCH(int, opset);
        QFETCH(int, axis);
        QFETCH(bool, isReversed);
        const QString wrong = wrongOf(axis == -9 ? looped(opset) : scanned(opset, axis, isReversed ? 1 : 0));
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    void onlyChosenInputsGetGradients()
    {
        auto model = std::make_shared<engine::LoadedModel>();
        model->rewritten = rewrite::rewrite(scanned(17, 0, 0), rewrite::noRewrites()).value();
        engine::GradientRequest request = requestFor(*model->graph());
        const auto all = engine::gradient(*model, request);
        request.from = {"sequence"};
        const auto chosen = engine::gradient(*model, request);
        QVERIFY(all.ok() && chosen.ok());
        QVERIFY(!chosen->gradients.at(0).isValid());
        const Tensor off = ops::algebra::subtract(chosen->gradients.at(1), all->gradients.at(1));
        QCOMPARE(ops::algebra::sumAbsolute(off), 0.0);
        QVERIFY(ops::algebra::sumAbsolute(all->gradients.at(1)) > 0);
        RETRO_MADE(graph, engine::gradientGraph(model, request, true));
        QCOMPARE(graph->gradients, std::vector<std::string>{"sequence_gradient"});
        request.from = {"nowhere"};
        RETRO_REFUSED(engine::gradient(*model, request), "first, sequence");
    }

    /// Rules on the way to other inputs do not run, and an input that the target does not depend on gets zeros.
    void whatNoChosenInputReachesIsNotVisited()
    {
        Sketch sketch(17);
        const ValueId a = sketch.input("a", {2});
        const ValueId b = sketch.input("b", {2});
        sketch.input("c", {2});
        const ValueId far = sketch.node("Exp", {sketch.node("Tanh", {b})});
        sketch.output(sketch.node("Mul", {sketch.node("Sin", {a}), far}));
        auto model = std::make_shared<engine::LoadedModel>();
        model->rewritten = rewrite::rewrite(sketch.finish(), rewrite::noRewrites()).value();
        engine::GradientRequest request = requestFor(*model->graph());
        const auto visits = [&](std::vector<std::string> from) {
            request.from = std::move(from);
            const auto made = engine::gradient(*model, request);
            return made.ok() ? made->visited : std::size_t{99};
        };
        QCOMPARE(visits({}), 4U);
        QCOMPARE(visits({"a"}), 2U);
        QCOMPARE(visits({"b"}), 3U);
        QCOMPARE(visits({"c"}), 0U);
        const auto zeros = engine::gradient(*model, request);
        QVERIFY(zeros.ok() && zeros->gradients.at(2).isValid() && !zeros->gradients.at(0).isValid());
        QCOMPARE(ops::algebra::sumAbsolute(zeros->gradients.at(2)), 0.0);
        request.from = {"a"};
        RETRO_MADE(alone, engine::gradientGraph(model, request, false));
        const auto isOfB = [](const graph::Node& node) { return node.op == "Tanh" || node.op == "Exp"; };
        QVERIFY(std::ranges::none_of(alone->graph->nodes(), isOfB));
    }

    void whatRoundsBecameIsAStage()
    {
        auto model = std::make_shared<engine::LoadedModel>();
        model->rewritten = rewrite::rewrite(looped(17), rewrite::noRewrites()).value();
        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("gradient.onnx").toStdString();
        RETRO_MADE(made, engine::writeGradientGraph(file, model, requestFor(*model->graph()), {true, false, false}));
        QCOMPARE(made->stages.size(), 1U);
        QCOMPARE(made->stages[0].steps.size(), 1U);
        const rewrite::RewriteStep& step = made->stages[0].steps[0];
        QCOMPARE(step.name, std::string_view("write-out"));
        QCOMPARE(step.removed, std::vector<std::string>{"Loop0"});
        QCOMPARE(QString::fromStdString(step.text), QStringLiteral("Loop Loop0 as it ran, 3 times → 15 nodes"));
        for (const std::string& name : step.added) {
            QVERIFY2(made->stages[0].graph->findNode(name), name.c_str());
        }
    }

    void fusedOperatorsAreWrittenOutInTheFormOfTheModel_data()
    {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("opset");
        for (const char* op : {"Attention", "Attention, masked", "SkipLayerNormalization",
                               "SkipSimplifiedLayerNormalization", "BiasGelu", "FastGelu"}) {
            for (const std::int64_t opset : kOpsets) {
                const bool hasRange = opset >= 11; // the places of keys, which a mask is about
                if (hasRange || !QString::fromLatin1(op).endsWith("masked")) {
                    QTest::addRow("%s, opset %d", op, int(opset)) << QString::fromLatin1(op) << int(opset);
                }
            }
        }
    }

    void fusedOperatorsAreWrittenOutInTheFormOfTheModel()
    {
        QFETCH(QString, op);
        QFETCH(int, opset);
        Sketch sketch(opset);
        const ValueId x = sketch.input("x", {2, 3, 8});
        std::vector<ValueId> inputs{x};
        Attributes attributes;
        if (op.startsWith("Attention")) {
            inputs.push_back(sketch.constant("W", drawn({8, 24}, 1)));
            inputs.push_back(sketch.constant("b", drawn({24}, 2)));
            attributes["num_heads"] = std::int64_t{2};
            if (op.endsWith("masked")) {
                attributes["unidirectional"] = std::int64_t{1};
                const std::vector<std::int32_t> seen{3, 2};
                inputs.push_back(sketch.constant("seen", Tensor::of<std::int32_t>({2}, seen)));
            }
        } else if (op.startsWith("Skip")) {
            inputs.push_back(sketch.input("skip", {2, 3, 8}));
            inputs.push_back(sketch.constant("gamma", drawn({8}, 1)));
        } else {
            inputs.push_back(sketch.constant("bias", drawn({8}, 1)));
        }
        const ValueId y =
            sketch.node(op.section(',', 0, 0).toStdString(), inputs, std::move(attributes), "com.microsoft");
        sketch.output(sketch.node("Mul", {y, y}));
        RETRO_MADE(file, formats::toOnnx(*sketch.finish()));
        RETRO_MADE(read, formats::parseOnnx(*file, "sketch.onnx"));
        const QString wrong = wrongOf(*read);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }

    void weightsThatDependOnConstantsAloneAreConstant_data()
    {
        QTest::addColumn<bool>("isBranched");
        QTest::newRow("in a branch that captures them") << true;
        QTest::newRow("plain") << false;
    }

    /// As exporters write them: the gates in the order of the standard by Slice and Concat, the direction by Unsqueeze.
    void weightsThatDependOnConstantsAloneAreConstant()
    {
        QFETCH(bool, isBranched);
        const auto model = std::make_shared<engine::LoadedModel>();
        model->rewritten = rewrite::rewrite(reordered(isBranched), rewrite::noRewrites()).value();
        const QString wrong = wrongOf(model->rewritten.graph);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        engine::ExplainRequest request;
        request.inputs = requestFor(*model->graph()).inputs;
        request.precision = kDouble;
        request.start.kind = engine::StartKind::One;
        request.composite = "epsilon";
        request.target = engine::parseTarget("0").value();
        RETRO_MADE(explained, engine::explain(*model, request));
        QVERIFY(ops::algebra::sumAbsolute(explained->relevance[explained->model->graph().inputs()[1].index()]) > 0);
        RETRO_MADE(bound, engine::bindModel(*model, request.inputs, kDouble));
        for (const engine::NodeRules& rules : engine::gradientRules(**bound)) {
            QVERIFY2(rules.asGraph.isApplicable || !rules.passesGradient, rules.asGraph.reason.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(GradientGraphOpsetTest)
#include "gradientgraphopsettest.moc"
