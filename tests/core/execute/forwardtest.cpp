// SPDX-License-Identifier: Apache-2.0
// Binding, the forward pass, and what it leaves behind for the backward pass.
#include "core/execute/forward.h"
#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"
#include "core/graph/graphbuilder.h"

#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>

using namespace retro;
using execute::BoundModel;
using execute::NodeId;
using execute::Precision;
using execute::SavePolicy;
using execute::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace
{

Tensor vectorOf(std::vector<double> values, tensor::Shape shape)
{
    return Tensor::of<double>(std::move(shape), values);
}

/// Operators before functions of elements, in two memory orders: what a forward pass does in one walk, or in the memory
/// of an operand. Every second function also has another reader, which forbids it.
std::shared_ptr<const graph::Graph> manyFunctions()
{
    std::mt19937 generator(7);
    std::normal_distribution<double> normal;
    const auto random = [&](tensor::Shape shape) {
        std::vector<double> values(static_cast<std::size_t>(tensor::elementCount(shape)));
        std::ranges::generate(values, [&] { return normal(generator); });
        return vectorOf(std::move(values), std::move(shape)).to(DType::Float32);
    };
    graph::GraphBuilder builder("functions", 24);
    const std::vector<graph::Dimension> image{{2, ""}, {8, ""}, {5, ""}, {7, ""}};
    const ValueId x = builder.addInput("x", DType::Float32, image);
    const ValueId point = builder.addConstant("point", random({8, 8, 1, 1}));
    const ValueId window = builder.addConstant("window", random({8, 8, 3, 3}));
    const ValueId depthwise = builder.addConstant("depthwise", random({8, 1, 3, 3}));
    const ValueId bias = builder.addConstant("bias", random({8}));
    const ValueId variance =
        builder.addConstant("variance", vectorOf(std::vector<double>(8, 2.0), {8}).to(DType::Float32));
    const ValueId matrix = builder.addConstant("matrix", random({7, 7}));
    const ValueId row = builder.addConstant("row", random({7}));
    const ValueId column = builder.addConstant("column", random({8, 1, 1}));
    const ValueId low = builder.addConstant("low", Tensor::scalar(-0.5F));
    const ValueId high = builder.addConstant("high", Tensor::scalar(0.75F));
    int count = 0;
    const auto node = [&](const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {},
                          const std::string& domain = {}) {
        const std::string name = fmt::format("{}{}", op, count++);
        const ValueId result = builder.addResult(name);
        builder.addNode(
            {op, domain, name, "", domain.empty() ? 24 : 1, std::move(inputs), {result}, std::move(attributes)});
        return result;
    };
    const std::vector<std::int64_t> pads{1, 1, 1, 1};
    std::vector<ValueId> ends;
    for (const std::string function : {"Relu", "Sigmoid", "Swish", "Gelu", "HardSwish", "Tanh", "Clip"}) {
        const auto through = [&](ValueId value) {
            const std::vector<ValueId> inputs =
                function == "Clip" ? std::vector<ValueId>{value, low, high} : std::vector<ValueId>{value};
            const ValueId result = node(function, inputs);
            if (count % 4 < 2) {
                ends.push_back(node("Neg", {value}));
            }
            ends.push_back(result);
            return result;
        };
        ValueId z = through(node("Conv", {x, point, bias}));
        z = through(node("Conv", {z, window, bias}, {{"pads", pads}}));
        z = through(node("Conv", {z, depthwise}, {{"pads", pads}, {"group", std::int64_t{8}}}));
        z = through(node("BatchNormalization", {z, bias, bias, bias, variance}));
        z = through(node("Add", {z, x}));
        z = through(node("Mul", {z, column}));
        z = through(node("Mul", {column, z}));
        z = through(node("Sub", {z, z}));
        z = through(node("Add", {x, z}));
        z = through(node("MatMul", {z, matrix}));
        z = through(node("MatMul", {z, matrix, row}, {}, "retrograde"));
        z = through(node("Div", {z, column}));
        through(node("Transpose", {z}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}}));
    }
    for (const ValueId end : ends) {
        builder.addOutput(node("ReduceSum", {end}, {{"keepdims", std::int64_t{0}}}));
        builder.addOutput(node("Abs", {end}));
    }
    auto built = std::move(builder).build();
    return std::make_shared<const graph::Graph>(std::move(built).value());
}

// y = relu(x · w) + x with a constant w and a free batch size.
std::shared_ptr<const graph::Graph> residual()
{
    graph::GraphBuilder builder("residual", 13);
    const std::vector<graph::Dimension> shape{{std::nullopt, "N"}, {2, ""}};
    const ValueId x = builder.addInput("x", DType::Float32, shape);
    const ValueId w = builder.addConstant("w", vectorOf({1, -1, 2, 0.5}, {2, 2}).to(DType::Float32));
    const ValueId z = builder.addOp("MatMul", "fc", {x, w}, "z");
    const ValueId h = builder.addOp("Relu", "act", {z}, "h");
    const ValueId y = builder.addOp("Add", "skip", {h, x}, "y");
    builder.addOutput(y);
    auto built = std::move(builder).build();
    return std::make_shared<const graph::Graph>(std::move(built).value());
}

std::shared_ptr<const BoundModel> bindResidual(std::int64_t batch = 2)
{
    const std::vector<ops::TensorType> types{{DType::Float64, {batch, 2}}};
    auto bound = BoundModel::bind(residual(), types, Precision::Double);
    return bound ? std::move(bound).value() : nullptr;
}

/// Rows of a table, through MatMul, Gemm with turned weights, and Conv; weights in `stored`, or the same ones widened.
class NarrowNet
{
public:
    NarrowNet(DType stored, bool isWidened)
    {
        m_builder.setOpset("", 13);
        const auto weight = [&](const char* name, tensor::Shape shape) {
            const Tensor narrow = randomValues(std::move(shape)).to(stored);
            return m_builder.addConstant(name, isWidened ? narrow.to(DType::Float32) : narrow);
        };
        const ValueId rows = m_builder.addInput("rows", DType::Int64, std::vector<graph::Dimension>{{4, ""}});
        const ValueId scale = m_builder.addInput("scale", DType::Float32, std::vector<graph::Dimension>{{1, ""}});
        const ValueId picked = node("Gather", {weight("table", {256, 128}), rows});
        const ValueId scaled = node("Mul", {picked, scale});
        const ValueId product = node("MatMul", {scaled, weight("w", {128, 256})});
        const ValueId dense = node("Gemm", {product, weight("g", {288, 256})}, {{"transB", std::int64_t{1}}});
        const ValueId shape =
            m_builder.addConstant("shape", Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{1, 128, 3, 3}));
        m_builder.addOutput(node("Conv", {node("Reshape", {dense, shape}), weight("k", {32, 128, 3, 3})}));
        auto built = std::move(m_builder).build();
        m_graph = built ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
    }

    [[nodiscard]] std::shared_ptr<const BoundModel> bind(Precision precision) const
    {
        const std::vector<ops::TensorType> types{{DType::Int64, {4}}, {DType::Float32, {1}}};
        auto bound = BoundModel::bind(m_graph, types, precision);
        return bound ? std::move(bound).value() : nullptr;
    }

    [[nodiscard]] static Tensor run(const std::shared_ptr<const BoundModel>& model)
    {
        const std::vector<Tensor> inputs{Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{3, 255, 0, 17}),
                                         Tensor::full(execute::dtypeOf(model->precision()), {1}, 1.5)};
        auto result = execute::forward(model, inputs, SavePolicy::Nothing);
        return result ? result->outputs[0] : Tensor();
    }

private:
    [[nodiscard]] static Tensor randomValues(tensor::Shape shape)
    {
        std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
        std::minstd_rand random(static_cast<unsigned>(values.size()));
        std::generate(values.begin(), values.end(), [&] { return static_cast<float>(random() % 2001) / 1000 - 1; });
        return Tensor::of<float>(std::move(shape), values);
    }
    ValueId node(const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {})
    {
        return m_builder.addOp(op, op, std::move(inputs), op + "_out", std::move(attributes));
    }

    graph::GraphBuilder m_builder{"narrow"};
    std::shared_ptr<const graph::Graph> m_graph;
};

ValueId valueNamed(const BoundModel& model, std::string_view name) { return *model.graph().findValue(name); }

NodeId nodeNamed(const BoundModel& model, std::string_view name) { return *model.graph().findNode(name); }

QString textOf(const Tensor& tensor)
{
    QStringList values;
    for (std::int64_t i = 0; tensor.isValid() && i < tensor.size(); ++i) {
        values << QString::number(tensor.at(i));
    }
    return tensor.isValid() ? values.join(' ') : QStringLiteral("none");
}

} // namespace

class TestForward : public QObject
{
    Q_OBJECT

private slots:
    void aForwardPassAloneHoldsAValueUntilItsLastReader()
    {
        graph::GraphBuilder builder("chain", 13);
        ValueId x = builder.addInput("x", DType::Float32, tensor::Shape{1, 1024});
        for (int i = 0; i < 20; ++i) {
            const ValueId y = builder.addOp("Relu", fmt::format("act{}", i), {x}, fmt::format("y{}", i));
            x = y;
        }
        builder.addOutput(x);
        RETRO_MADE(built, std::move(builder).build());
        const std::vector<ops::TensorType> types{{DType::Float64, {1, 1024}}};
        const auto model =
            BoundModel::bind(std::make_shared<const graph::Graph>(std::move(built).value()), types, Precision::Double);
        QVERIFY(model.ok());
        const std::vector<Tensor> inputs{Tensor::full(DType::Float64, {1, 1024}, 1)};
        base::MemoryAccount& account = base::MemoryAccount::tensors();
        const std::int64_t before = account.live();
        account.resetPeak();
        RETRO_MADE(alone, execute::forward(*model, inputs, SavePolicy::Nothing));
        QVERIFY2(account.peak() - before <= 2 * 8192, qPrintable(QString::number(account.peak() - before)));
        QVERIFY(!alone->saved.anyValue(valueNamed(**model, "y7")).isValid());
        account.resetPeak();
        RETRO_MADE(forGradient, execute::forward(*model, inputs, SavePolicy::Autograd));
        QVERIFY(account.peak() - before >= 20 * 8192);
    }

    void computesTheOutput()
    {
        RETRO_MADE(model, bindResidual());
        const std::vector<Tensor> inputs{vectorOf({1, 2, 3, -4}, {2, 2})};
        RETRO_MADE(result, execute::forward(model, inputs, SavePolicy::Autograd));
        // x·w = 5 0 / −5 −5
        QCOMPARE(textOf(result->outputs.at(0)), QStringLiteral("6 2 3 -4"));
    }

    void floatAndDoubleHaveTheirOwnType()
    {
        const std::vector<ops::TensorType> types{{DType::Float32, {1, 2}}};
        RETRO_MADE(bound, BoundModel::bind(residual(), types, Precision::Float));
        const BoundModel& model = **bound;
        QCOMPARE(model.typeOf(valueNamed(model, "y")).dtype, DType::Float32);
        QCOMPARE(model.constant(valueNamed(model, "w")).dtype(), DType::Float32);
        const auto twice = bindResidual();
        QCOMPARE(twice->constant(valueNamed(*twice, "w")).dtype(), DType::Float64);
    }

    void relevancePassesFromInputsOnly()
    {
        const auto model = bindResidual();
        QVERIFY(model->isTracked(valueNamed(*model, "x")));
        QVERIFY(model->isTracked(valueNamed(*model, "z")));
        QVERIFY(model->isTracked(valueNamed(*model, "y")));
        QVERIFY(!model->isTracked(valueNamed(*model, "w")));
    }

    void autogradKeepsWhatTheGradientReads()
    {
        const auto model = bindResidual();
        const std::vector<Tensor> inputs{vectorOf({1, 2, 3, -4}, {2, 2})};
        const auto result = execute::forward(model, inputs, SavePolicy::Autograd);
        const execute::SavedValues& saved = result->saved;
        const NodeId skip = nodeNamed(*model, "skip");
        // The gradient of a sum reads nothing, although its second operand is a graph input that is at hand.
        QVERIFY(!saved.hasOperand(skip, 0));
        QVERIFY(!saved.hasOperand(skip, 1));
        QVERIFY(!saved.hasOutput(skip, 0));
        QCOMPARE(textOf(saved.operand(skip, 1)), QStringLiteral("none"));
        const NodeId fc = nodeNamed(*model, "fc");
        QCOMPARE(textOf(saved.operand(fc, 0)), QStringLiteral("1 2 3 -4"));
        QCOMPARE(textOf(saved.operand(fc, 1)), QStringLiteral("1 -1 2 0.5"));
        const NodeId input = model->graph().inputNode(valueNamed(*model, "x"));
        QCOMPARE(textOf(saved.output(input, 0)), QStringLiteral("1 2 3 -4"));
        QVERIFY(!saved.anyValue(valueNamed(*model, "y")).isValid());
    }

    void policyAllKeepsEverything()
    {
        const auto model = bindResidual();
        const std::vector<Tensor> inputs{vectorOf({1, 2, 3, -4}, {2, 2})};
        const auto result = execute::forward(model, inputs, SavePolicy::All);
        const execute::SavedValues& saved = result->saved;
        for (std::size_t n = 0; n < model->graph().nodeCount(); ++n) {
            QVERIFY(saved.hasOutput(NodeId(n), 0));
            for (std::size_t slot = 0; slot < model->graph().node(NodeId(n)).inputs.size(); ++slot) {
                QVERIFY(saved.operand(NodeId(n), slot).isValid());
            }
        }
        QCOMPARE(textOf(saved.anyValue(valueNamed(*model, "z"))), QStringLiteral("5 0 -5 -5"));
        QVERIFY(!saved.hasOperand(nodeNamed(*model, "act"), 1));
    }

    void whatRunsTogetherOrInPlaceHasTheSameBits_data()
    {
        QTest::addColumn<int>("precision");
        QTest::newRow("float") << static_cast<int>(Precision::Float);
        QTest::newRow("double") << static_cast<int>(Precision::Double);
    }
    void whatRunsTogetherOrInPlaceHasTheSameBits()
    {
        QFETCH(const int, precision);
        const DType type = precision == static_cast<int>(Precision::Float) ? DType::Float32 : DType::Float64;
        const auto graph = manyFunctions();
        const std::vector<ops::TensorType> types{{type, {2, 8, 5, 7}}};
        RETRO_MADE(model, BoundModel::bind(graph, types, static_cast<Precision>(precision)));
        std::mt19937 generator(3);
        std::normal_distribution<double> normal;
        std::vector<double> values(2 * 8 * 5 * 7);
        std::ranges::generate(values, [&] { return normal(generator); });
        values[5] = std::numeric_limits<double>::quiet_NaN();
        values[6] = -0.0;
        const std::vector<Tensor> inputs{vectorOf(values, {2, 8, 5, 7}).to(type)};
        const auto apart = execute::forward(*model, inputs, SavePolicy::All); // every value is kept
        const auto together = execute::forward(*model, inputs, SavePolicy::Nothing);
        const auto again = execute::forward(*model, inputs, SavePolicy::Nothing); // in the memory of the pass before
        const auto some = execute::forward(*model, inputs, SavePolicy::Autograd);
        QVERIFY(apart.ok() && together.ok() && again.ok() && some.ok());
        QVERIFY(inputs[0].bitEqual(vectorOf(values, {2, 8, 5, 7}).to(type)));
        for (std::size_t i = 0; i < apart.value().outputs.size(); ++i) {
            const std::string& name = graph->value(graph->outputs()[i]).name;
            QVERIFY2(together.value().outputs[i].bitEqual(apart.value().outputs[i]), name.c_str());
            QVERIFY2(again.value().outputs[i].bitEqual(apart.value().outputs[i]), name.c_str());
            QVERIFY2(some.value().outputs[i].bitEqual(apart.value().outputs[i]), name.c_str());
        }
    }

    void releasesWhatNobodyNeeds()
    {
        // A chain of sums keeps nothing: at any time only a few of its tensors are alive.
        graph::GraphBuilder builder("chain", 13);
        ValueId value = builder.addInput("x", DType::Float32, tensor::Shape{1024});
        const ValueId one = builder.addConstant("one", Tensor::full(DType::Float32, {1}, 1));
        for (int i = 0; i < 64; ++i) {
            const ValueId next = builder.addResult(fmt::format("v{}", i));
            builder.addNode({"Add", "", {}, {}, 13, {value, one}, {next}, {}});
            value = next;
        }
        builder.addOutput(value);
        auto built = std::move(builder).build();
        const std::vector<ops::TensorType> types{{DType::Float32, {1024}}};
        const auto bound =
            BoundModel::bind(std::make_shared<const graph::Graph>(std::move(built).value()), types, Precision::Float);
        QVERIFY(bound.ok());
        const std::vector<Tensor> inputs{Tensor::zeros(DType::Float32, {1024})};
        base::MemoryAccount& account = base::MemoryAccount::tensors();
        const std::int64_t before = account.live();
        account.resetPeak();
        RETRO_MADE(result, execute::forward(*bound, inputs, SavePolicy::Autograd));
        QCOMPARE(result->outputs.at(0).at(0), 64.0);
        QVERIFY(account.peak() - before <= 4 * 4096);
        QCOMPARE(account.live() - before, std::int64_t(4096));
    }

    void wrongInputsAreRefused_data()
    {
        QTest::addColumn<int>("rank");
        QTest::addColumn<int>("last");
        QTest::addColumn<bool>("integer");
        QTest::addColumn<QString>("message");
        QTest::newRow("rank") << 3 << 2 << false << QStringLiteral("N × 2");
        QTest::newRow("extent") << 2 << 5 << false << QStringLiteral("1 × 5");
        QTest::newRow("type") << 2 << 2 << true << QStringLiteral("int64");
    }
    void wrongInputsAreRefused()
    {
        QFETCH(int, rank);
        QFETCH(int, last);
        QFETCH(bool, integer);
        QFETCH(QString, message);
        tensor::Shape shape(static_cast<std::size_t>(rank), 1);
        shape.back() = last;
        const std::vector<ops::TensorType> types{{integer ? DType::Int64 : DType::Float32, shape}};
        RETRO_REFUSED(BoundModel::bind(residual(), types, Precision::Float), base::ErrorCode::Input, message,
                      "input \"x\"");
    }

    void oneSymbolIsOneExtent()
    {
        graph::GraphBuilder builder("two", 13);
        const std::vector<graph::Dimension> shape{{std::nullopt, "N"}};
        const ValueId a = builder.addInput("a", DType::Float32, shape);
        const ValueId b = builder.addInput("b", DType::Float32, shape);
        const ValueId y = builder.addOp("Add", "sum", {a, b}, "y");
        builder.addOutput(y);
        auto built = std::move(builder).build();
        const auto graph = std::make_shared<const graph::Graph>(std::move(built).value());
        const std::vector<ops::TensorType> good{{DType::Float32, {3}}, {DType::Float32, {3}}};
        const std::vector<ops::TensorType> bad{{DType::Float32, {3}}, {DType::Float32, {1}}};
        QVERIFY(BoundModel::bind(graph, good, Precision::Float).ok());
        QVERIFY(!BoundModel::bind(graph, bad, Precision::Float).ok());
        QVERIFY(!BoundModel::bind(graph, std::span(good).first(1), Precision::Float).ok());
    }

    void narrowWeightsAreWidenedWhereTheyAreUsed_data()
    {
        QTest::addColumn<int>("stored");
        QTest::newRow("float16") << static_cast<int>(DType::Float16);
        QTest::newRow("bfloat16") << static_cast<int>(DType::BFloat16);
    }

    void narrowWeightsAreWidenedWhereTheyAreUsed()
    {
        QFETCH(const int, stored);
        const NarrowNet narrow(static_cast<DType>(stored), false);
        const NarrowNet wide(static_cast<DType>(stored), true);
        for (const Precision precision : {Precision::Float, Precision::Double}) {
            const std::int64_t before = base::MemoryAccount::tensors().live();
            RETRO_MADE(model, narrow.bind(precision));
            for (const char* name : {"table", "w", "g", "k"}) {
                const ValueId weight = valueNamed(*model, name);
                QVERIFY2(model->storedConstant(weight).dtype() == static_cast<DType>(stored), name);
                QVERIFY2(model->constant(weight).dtype() == execute::dtypeOf(precision), name);
                QVERIFY2(model->typeOf(weight).dtype == execute::dtypeOf(precision), name);
            }
            const Tensor result = NarrowNet::run(model);
            QVERIFY(result.isValid());
            QVERIFY(result.bitEqual(NarrowNet::run(wide.bind(precision))));
            // No wide copy of any weight is left: each has 128 KiB and more in float32.
            QVERIFY(base::MemoryAccount::tensors().live() - before < 64 << 10);
        }
    }

    void forwardChecksItsData()
    {
        const auto model = bindResidual();
        const std::vector<Tensor> wrong{Tensor::zeros(DType::Float64, {3, 2})};
        RETRO_REFUSED(execute::forward(model, wrong, SavePolicy::Autograd), "2 × 2");
        QVERIFY(!execute::forward(model, {}, SavePolicy::Autograd).ok());
    }

    void withoutMemoryThePassEndsWithTheNode()
    {
        const auto model = bindResidual(64);
        const std::vector<Tensor> inputs{Tensor::zeros(DType::Float64, {64, 2})};
        const auto live = static_cast<std::uint64_t>(base::MemoryAccount::tensors().live());
        base::MemoryLimit::choose(live + 1024); // one value of 64 × 2, not two
        const auto result = execute::forward(model, inputs, SavePolicy::All);
        base::MemoryLimit::choose(std::nullopt);
        RETRO_REFUSED(result, base::ErrorCode::Memory);
        QCOMPARE(result.error().where, std::string("node 'act' (Relu)"));
        QVERIFY(result.error().message.find("1.0 kB are needed") != std::string::npos);
        QCOMPARE(static_cast<std::uint64_t>(base::MemoryAccount::tensors().live()), live);
        QVERIFY(execute::forward(model, inputs, SavePolicy::All).ok());
    }

    void aResultBeyondTheLimitIsRefusedWhenBound()
    {
        base::MemoryLimit::choose(1U << 20U);
        const std::vector<ops::TensorType> types{{DType::Float64, {1 << 20, 2}}};
        const auto bound = BoundModel::bind(residual(), types, Precision::Double);
        base::MemoryLimit::choose(std::nullopt);
        RETRO_REFUSED(bound, base::ErrorCode::Memory);
        QCOMPARE(bound.error().where, std::string("node 'fc' (MatMul)"));
        QVERIFY(bound.error().message.find("16.8 MB") != std::string::npos);
        QVERIFY(BoundModel::bind(residual(), types, Precision::Double).ok());
    }

    void anInputThatCannotBeCountedIsRefused()
    {
        const std::vector<ops::TensorType> types{{DType::Float64, {(1LL << 62) + 1, 2}}};
        const auto bound = BoundModel::bind(residual(), types, Precision::Double);
        RETRO_REFUSED(bound, base::ErrorCode::Input);
        QCOMPARE(bound.error().where, std::string("input \"x\""));
        QVERIFY(bound.error().message.find("4611686018427387905 × 2") != std::string::npos);
    }

    void stopsAndReports()
    {
        const auto model = bindResidual();
        const std::vector<Tensor> inputs{Tensor::zeros(DType::Float64, {2, 2})};
        std::vector<std::size_t> seen;
        RETRO_MADE(result, execute::forward(model, inputs, SavePolicy::Autograd, {},
                                            [&seen](std::size_t done, std::size_t) { seen.push_back(done); }));
        QCOMPARE(seen, (std::vector<std::size_t>{1, 2, 3}));
        std::stop_source source;
        source.request_stop();
        RETRO_REFUSED(execute::forward(model, inputs, SavePolicy::Autograd, source.get_token()),
                      base::ErrorCode::Cancelled);
        const std::vector<ops::TensorType> types{{DType::Float64, {2, 2}}};
        const auto bound =
            BoundModel::bind(model->sharedGraph(), types, execute::Precision::Double, {}, source.get_token());
        RETRO_REFUSED(bound, base::ErrorCode::Cancelled);
    }
};

QTEST_GUILESS_MAIN(TestForward)
#include "forwardtest.moc"
