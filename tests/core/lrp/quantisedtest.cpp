// SPDX-License-Identifier: Apache-2.0
// Quantised models: relevance and gradients equal those of the float model with the rounded weights. Scales are powers
// of two and every activation is a multiple of its scale, so the models compute the same numbers and any difference is
// a fault.
#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/ops/algebra.h"
#include "core/rewrite/rewrite.h"
#include "tests/core/lrp/programrun.h"
#include "tests/core/lrp/tensorrun.h"

#include <QTest>

#include <algorithm>
#include <random>

using namespace retro;
using namespace retro::lrptest;
using graph::ValueId;
using tensor::DType;
using tensor::Shape;

namespace
{

enum class Form { Float, Qdq, QOperator, Dynamic, DynamicMicrosoft };

constexpr double kXScale = 0.5;
constexpr std::int64_t kXZero = 3;

/// Whole numbers from −most to most.
std::vector<double> levels(std::size_t count, int most, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> draw(-most, most);
    std::vector<double> numbers(count);
    std::ranges::generate(numbers, [&] { return draw(random); });
    return numbers;
}

/// A layer's weights as levels, with a scale per filter or one for all, and a bias in steps of the product of scales.
struct Weights
{
    Shape shape;
    std::vector<double> levels;
    std::vector<double> scales;
    std::vector<double> bias; ///< levels

    [[nodiscard]] double scaleOf(std::size_t row) const { return scales.size() == 1 ? scales[0] : scales[row]; }
    [[nodiscard]] Tensor floats() const
    {
        std::vector<double> values = levels;
        const std::size_t inner = values.size() / static_cast<std::size_t>(shape[0]);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] *= scaleOf(i / inner);
        }
        return Tensor::of<double>(shape, values).to(DType::Float32);
    }
    [[nodiscard]] Tensor floatBias(double xScale) const
    {
        std::vector<double> values = bias;
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] *= xScale * scaleOf(i);
        }
        return Tensor::of<double>({static_cast<std::int64_t>(values.size())}, values).to(DType::Float32);
    }
};

Weights weightsOf(Shape shape, std::vector<double> scales, unsigned seed, int most = 1)
{
    const auto count = static_cast<std::size_t>(tensor::elementCount(shape));
    const auto rows = static_cast<std::size_t>(shape[0]);
    return {std::move(shape), levels(count, most, seed), std::move(scales), levels(rows, 4, seed + 1)};
}

class ModelWriter
{
public:
    ModelWriter()
    {
        m_builder.setOpset("", 17);
        m_builder.setOpset("com.microsoft", 1);
    }

    ValueId input(const Shape& shape) { return m_builder.addInput("x", DType::Float32, shape); }
    ValueId number(double value) { return constant(Tensor::scalar<double>(value).to(DType::Float32)); }
    ValueId level(std::int64_t value, DType type) { return constant(Tensor::scalar<std::int64_t>(value).to(type)); }
    ValueId constant(Tensor data) { return m_builder.addConstant("c" + std::to_string(m_count++), std::move(data)); }
    ValueId numbers(const std::vector<double>& values)
    {
        const Shape shape = values.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(values.size())};
        return constant(Tensor::of<double>(shape, values).to(DType::Float32));
    }
    std::vector<ValueId> nodes(const std::string& op, std::vector<ValueId> inputs, std::size_t results,
                               graph::Attributes attributes = {}, const std::string& domain = {})
    {
        const std::string name = op + std::to_string(m_count++);
        std::vector<ValueId> outputs;
        for (std::size_t k = 0; k < results; ++k) {
            outputs.push_back(m_builder.addResult(name + ":" + std::to_string(k)));
        }
        m_builder.addNode(
            {op, domain, name, "", domain.empty() ? 17 : 1, std::move(inputs), outputs, std::move(attributes)});
        return outputs;
    }
    ValueId node(const std::string& op, std::vector<ValueId> inputs, graph::Attributes attributes = {},
                 const std::string& domain = {})
    {
        return nodes(op, std::move(inputs), 1, std::move(attributes), domain)[0];
    }
    /// x by way of levels and back.
    ValueId rounded(ValueId x, double scale, std::int64_t zero, DType type)
    {
        const ValueId s = number(scale);
        const ValueId z = level(zero, type);
        return node("DequantizeLinear", {node("QuantizeLinear", {x, s, z}), s, z});
    }
    ValueId dequantised(const Weights& w)
    {
        const ValueId q = constant(Tensor::of<double>(w.shape, w.levels).to(DType::Int8));
        return node("DequantizeLinear", {q, numbers(w.scales)}, {{"axis", std::int64_t{0}}});
    }
    ValueId levelsOf(const Weights& w, DType type = DType::Int8)
    {
        return constant(Tensor::of<double>(w.shape, w.levels).to(type));
    }
    ValueId biasLevels(const Weights& w)
    {
        return constant(Tensor::of<double>({static_cast<std::int64_t>(w.bias.size())}, w.bias).to(DType::Int32));
    }
    std::shared_ptr<const graph::Graph> finish(ValueId output)
    {
        m_builder.addOutput(output);
        auto built = std::move(m_builder).build();
        return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
    }

private:
    graph::GraphBuilder m_builder{"quantised"};
    int m_count = 0;
};

const graph::Attributes kPads{{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};

/// Conv, Relu, Conv, LeakyRelu or not, Flatten, Gemm. Activations are multiples of 1/16 below 8.
struct Network
{
    Weights first = weightsOf({3, 2, 3, 3}, {0.25, 0.5, 0.25}, 1);
    Weights second = weightsOf({2, 3, 1, 1}, {0.5}, 3);
    Weights third = weightsOf({4, 32}, {0.25}, 5, 3);
    double firstScale = 0.125; ///< of what the first layer gives
    double secondScale = 0.0625;
};

ValueId writeFloat(ModelWriter& w, const Network& net, ValueId x)
{
    const ValueId a =
        w.node("Conv", {x, w.constant(net.first.floats()), w.constant(net.first.floatBias(kXScale))}, kPads);
    const ValueId b = w.node("Conv", {w.node("Relu", {a}), w.constant(net.second.floats()),
                                      w.constant(net.second.floatBias(net.firstScale))});
    const ValueId flat = w.node("Flatten", {b});
    return w.node("Gemm", {flat, w.constant(net.third.floats()), w.constant(net.third.floatBias(net.secondScale))},
                  {{"transB", std::int64_t{1}}});
}

ValueId writeQdq(ModelWriter& w, const Network& net, ValueId x)
{
    const ValueId in = w.rounded(x, kXScale, kXZero, DType::Int8);
    const ValueId a = w.node("Conv", {in, w.dequantised(net.first), w.constant(net.first.floatBias(kXScale))}, kPads);
    const ValueId relu = w.node("Relu", {w.rounded(a, net.firstScale, 0, DType::Int8)});
    const ValueId mid = w.rounded(relu, net.firstScale, 0, DType::UInt8);
    const ValueId b =
        w.node("Conv", {mid, w.dequantised(net.second), w.constant(net.second.floatBias(net.firstScale))});
    const ValueId flat = w.node("Flatten", {w.rounded(b, net.secondScale, 0, DType::Int8)});
    return w.node("Gemm", {flat, w.dequantised(net.third), w.constant(net.third.floatBias(net.secondScale))},
                  {{"transB", std::int64_t{1}}});
}

/// The first layer's result is unsigned: what is negative becomes 0, as Relu would make it.
ValueId writeQOperator(ModelWriter& w, const Network& net, ValueId x)
{
    const ValueId xs = w.number(kXScale);
    const ValueId xz = w.level(kXZero, DType::Int8);
    const ValueId wz = w.level(0, DType::Int8);
    const ValueId as = w.number(net.firstScale);
    const ValueId az = w.level(0, DType::UInt8);
    const ValueId bs = w.number(net.secondScale);
    const ValueId bz = w.level(0, DType::Int8);
    const ValueId wz3 = w.constant(Tensor::zeros(DType::Int8, {3}));
    const ValueId q = w.node("QuantizeLinear", {x, xs, xz});
    const ValueId a = w.node(
        "QLinearConv",
        {q, xs, xz, w.levelsOf(net.first), w.numbers(net.first.scales), wz3, as, az, w.biasLevels(net.first)}, kPads);
    const ValueId b = w.node("QLinearConv", {a, as, az, w.levelsOf(net.second), w.numbers(net.second.scales), wz, bs,
                                             bz, w.biasLevels(net.second)});
    const ValueId flat = w.node("Flatten", {b});
    return w.node("QGemm",
                  {flat, bs, bz, w.levelsOf(net.third), w.numbers(net.third.scales), wz, w.biasLevels(net.third)},
                  {{"transB", std::int64_t{1}}}, "com.microsoft");
}

std::shared_ptr<const graph::Graph> networkGraph(const Network& net, Form form)
{
    ModelWriter w;
    const ValueId x = w.input({1, 2, 4, 4});
    if (form == Form::Float) {
        return w.finish(writeFloat(w, net, x));
    }
    return w.finish(form == Form::Qdq ? writeQdq(w, net, x) : writeQOperator(w, net, x));
}

/// One layer, dynamically quantised, Relu, then one in floats. The input's range is 255 steps of 1.
std::shared_ptr<const graph::Graph> dynamicGraph(Form form, bool isConvolution)
{
    ModelWriter w;
    const Weights first = isConvolution ? weightsOf({3, 2, 2, 2}, {0.5}, 7, 2) : weightsOf({6, 5}, {0.5}, 7, 2);
    const ValueId x = w.input(isConvolution ? Shape{1, 2, 3, 3} : Shape{2, 6});
    const Weights last = weightsOf({12, 3}, {0.25}, 9, 3);
    const std::vector<double> bias = levels(isConvolution ? 3 : 5, 6, 11);
    const Shape biasShape = isConvolution ? Shape{1, 3, 1, 1} : Shape{5};
    const ValueId b = w.constant(Tensor::of<double>(biasShape, bias).to(DType::Float32));
    ValueId y;
    if (form == Form::Float) {
        y = w.node("Add", {w.node(isConvolution ? "Conv" : "MatMul", {x, w.constant(first.floats())}), b});
        if (isConvolution) {
            y = w.node("Conv",
                       {x, w.constant(first.floats()), w.constant(Tensor::of<double>({3}, bias).to(DType::Float32))});
        }
    } else if (form == Form::DynamicMicrosoft) {
        y = w.node("DynamicQuantizeMatMul", {x, w.levelsOf(first), w.number(0.5), w.level(0, DType::Int8), b}, {},
                   "com.microsoft");
    } else {
        const std::vector<ValueId> q = w.nodes("DynamicQuantizeLinear", {x}, 3);
        const ValueId sum = w.node(isConvolution ? "ConvInteger" : "MatMulInteger",
                                   {q[0], w.levelsOf(first), q[2], w.level(0, DType::Int8)});
        const ValueId cast = w.node("Cast", {sum}, {{"to", std::int64_t{1}}});
        y = w.node("Add", {w.node("Mul", {cast, w.node("Mul", {q[1], w.number(0.5)})}), b});
    }
    const ValueId relu = w.node("Relu", {y});
    if (isConvolution) {
        return w.finish(w.node("MatMul", {w.node("Flatten", {relu}), w.constant(last.floats())}));
    }
    return w.finish(w.node("MatMul", {relu, w.constant(weightsOf({5, 3}, {0.25}, 9, 3).floats())}));
}

/// The model as it is explained, by this composite.
base::Result<TensorCase> caseOf(const std::shared_ptr<const graph::Graph>& graph, const Tensor& x,
                                const std::string& composite, execute::Precision precision)
{
    RETRO_TRY(const rewrite::Rewritten rewritten, rewrite::rewrite(graph, {}));
    const Tensor input = x.to(execute::dtypeOf(precision));
    const std::vector<ops::TensorType> types{{input.dtype(), input.shape()}};
    RETRO_TRY(const auto model, execute::BoundModel::bind(rewritten.graph, types, precision));
    RETRO_TRY(const lrp::Composite rules, lrp::builtinComposite(composite, *model));
    RETRO_TRY(lrp::RuleAssignment assigned, lrp::assignRules(rules, *model));
    RETRO_TRY(lrp::TraversalGraph walk, lrp::TraversalGraph::build(*model, model->graph().outputs()[0]));
    RETRO_TRY(const execute::ForwardResult run, execute::forward(model, {&input, 1}, execute::SavePolicy::Nothing));
    return TensorCase{model, {input}, std::move(assigned), std::move(walk), run.outputs[0].contiguous(), {}};
}

Tensor inputRelevance(const TensorCase& made, const lrp::RelevanceTable& table)
{
    const auto node = made.model->graph().inputNode(made.model->graph().inputs()[0]);
    return table[node.index()].empty() ? Tensor() : table[node.index()][0];
}

double largestDifference(const Tensor& a, const Tensor& b)
{
    double most = 0;
    double scale = 1e-30;
    for (std::int64_t i = 0; i < b.size(); ++i) {
        most = std::max(most, std::abs(a.at(i) - b.at(i)));
        scale = std::max(scale, std::abs(b.at(i)));
    }
    return a.shape() == b.shape() ? most / scale : INFINITY;
}

/// What differs between two models, in values or relevance; empty when nothing does.
std::string faultAgainst(const std::shared_ptr<const graph::Graph>& graph,
                         const std::shared_ptr<const graph::Graph>& reference, const Tensor& x,
                         const std::string& composite)
{
    const auto made = caseOf(graph, x, composite, execute::Precision::Double);
    const auto wanted = caseOf(reference, x, composite, execute::Precision::Double);
    if (!made || !wanted) {
        return (made ? wanted.error() : made.error()).text();
    }
    if (const double values = largestDifference(made->start, wanted->start); values > 1e-12) {
        return "values differ by " + std::to_string(values);
    }
    const auto own = runOracle(*made);
    const auto other = runOracle(*wanted);
    if (!own || !other) {
        return "no relevance";
    }
    const double difference = largestDifference(inputRelevance(*made, *own), inputRelevance(*wanted, *other));
    return difference < 1e-10 ? std::string() : "relevance differs by " + std::to_string(difference);
}

/// What differs between the engines, in any bit; empty when nothing does.
std::string faultOfEnginesOn(const TensorCase& made)
{
    const auto promise = runTensors(made, execute::SavePolicy::Autograd);
    const auto all = runTensors(made, execute::SavePolicy::All);
    const auto oracle = runOracle(made);
    if (!promise || !all || !oracle) {
        return (!promise ? promise.error() : !all ? all.error() : oracle.error()).text();
    }
    if (const std::string fault = faultBetween(made, *promise, *all, *oracle); !fault.empty()) {
        return fault;
    }
    const auto program = programOf(made, *promise);
    const auto table = program ? runProgram(made, *program, execute::SavePolicy::Autograd)
                               : base::Result<lrp::RelevanceTable>(program.error());
    return table ? firstDifference(made, *table, *oracle) : table.error().text();
}

Tensor networkInput()
{
    std::vector<double> values = levels(32, 1, 21);
    std::ranges::for_each(values, [](double& v) { v *= kXScale; });
    return Tensor::of<double>({1, 2, 4, 4}, values);
}

/// Whole numbers from −100 to 155, both among them.
Tensor dynamicInput(const Shape& shape)
{
    std::vector<double> values = levels(static_cast<std::size_t>(tensor::elementCount(shape)), 90, 23);
    values[1] = -100;
    values[4] = 155;
    return Tensor::of<double>(shape, values);
}

const std::vector<std::string> kComposites{
    "epsilon", "epsilon_plus_flat", "epsilon_alpha2_beta1", "epsilon_gamma_box:low=-4,high=4", "attnlrp", "gradient"};

} // namespace

class QuantisedTest : public QObject
{
    Q_OBJECT
private slots:
    void staticModelsAreTheirFloatModel_data()
    {
        QTest::addColumn<QString>("composite");
        for (const std::string& composite : kComposites) {
            QTest::newRow(composite.c_str()) << QString::fromStdString(composite);
        }
    }

    void staticModelsAreTheirFloatModel()
    {
        QFETCH(QString, composite);
        const Network net;
        const auto reference = networkGraph(net, Form::Float);
        for (const Form form : {Form::Qdq, Form::QOperator}) {
            if (form == Form::QOperator && composite == "gradient") {
                continue; // at 0, the end of a range has a slope and Relu has none
            }
            const std::string fault =
                faultAgainst(networkGraph(net, form), reference, networkInput(), composite.toStdString());
            QVERIFY2(fault.empty(), (std::string(form == Form::Qdq ? "QDQ: " : "QOperator: ") + fault).c_str());
        }
    }

    void dynamicModelsAreTheirFloatModel_data() { staticModelsAreTheirFloatModel_data(); }

    void dynamicModelsAreTheirFloatModel()
    {
        QFETCH(QString, composite);
        for (const bool isConvolution : {false, true}) {
            const Tensor x = dynamicInput(isConvolution ? Shape{1, 2, 3, 3} : Shape{2, 6});
            for (const Form form : {Form::Dynamic, Form::DynamicMicrosoft}) {
                if (isConvolution && form == Form::DynamicMicrosoft) {
                    continue;
                }
                const std::string fault =
                    faultAgainst(dynamicGraph(form, isConvolution), dynamicGraph(Form::Float, isConvolution), x,
                                 composite.toStdString());
                QVERIFY2(fault.empty(), fault.c_str());
            }
        }
    }

    void enginesAgreeInEveryBit()
    {
        const Network net;
        for (const execute::Precision precision : {execute::Precision::Float, execute::Precision::Double}) {
            for (const std::string& composite : kComposites) {
                for (const Form form : {Form::Qdq, Form::QOperator}) {
                    RETRO_MADE(made, caseOf(networkGraph(net, form), networkInput(), composite, precision));
                    const std::string fault = faultOfEnginesOn(*made);
                    QVERIFY2(fault.empty(), (composite + ": " + fault).c_str());
                }
                const auto made =
                    caseOf(dynamicGraph(Form::Dynamic, false), dynamicInput({2, 6}), composite, precision);
                RETRO_OK(made);
                const std::string fault = faultOfEnginesOn(*made);
                QVERIFY2(fault.empty(), (composite + ": " + fault).c_str());
            }
        }
    }

    void whatSaturatesIsBooked()
    {
        ModelWriter w;
        const ValueId x = w.input({1, 4});
        const ValueId rounded = w.rounded(x, 1, 0, DType::Int8);
        const ValueId y =
            w.node("MatMul", {rounded, w.constant(Tensor::of<float>({4, 1}, std::vector<float>{1, 2, 3, 4}))});
        RETRO_MADE(made, caseOf(w.finish(y), Tensor::of<double>({1, 4}, std::vector<double>{5, 200, -300, 127.4}),
                                "epsilon:epsilon=0", execute::Precision::Double));
        QCOMPARE(made->start.at(0), 5 + 2 * 127.0 - 3 * 128.0 + 4 * 127.0);
        RETRO_MADE(run, runTensors(*made, execute::SavePolicy::Autograd));
        const Tensor r = inputRelevance(*made, run->relevance);
        QCOMPARE(r.at(0), 5.0);
        QCOMPARE(r.at(1), 0.0);
        QCOMPARE(r.at(2), 0.0);
        QCOMPARE(r.at(3), 508.0); // rounded, not cut off
        double saturated = 0;
        for (const event::LedgerEntry& row : run->ledger) {
            saturated += row.causes[static_cast<std::size_t>(event::Cause::Saturation)];
        }
        QCOMPARE(saturated, 2 * 127.0 - 3 * 128.0);
        QCOMPARE(QString::fromStdString(faultInLedger(*made, run->relevance, run->ledger)), QString());
    }
};

QTEST_GUILESS_MAIN(QuantisedTest)
#include "quantisedtest.moc"
