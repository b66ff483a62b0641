// SPDX-License-Identifier: Apache-2.0
// Quantised values become the floats that they stand for: names and values stay, who needs levels gets them.
#include "tests/core/rewrite/graphs.h"

#include "core/execute/control/unroll.h"
#include "core/formats/onnx.h"

#include <QtTest>

using namespace retro::rewrite::testing;

using retro::graph::Node;
using retro::rewrite::RewriteOptions;
using retro::rewrite::Rewritten;

namespace
{

/// Writes graphs with nodes of any domain and several results.
class QuantisedWriter
{
public:
    QuantisedWriter()
    {
        m_builder.setOpset("", 17);
        m_builder.setOpset("com.microsoft", 1);
    }
    ValueId input(const Shape& shape) { return m_builder.addInput("x", DType::Float32, shape); }
    ValueId constant(const std::string& name, Tensor data) { return m_builder.addConstant(name, std::move(data)); }
    ValueId scale(const std::string& name, double value)
    {
        return constant(name, Tensor::scalar<double>(value).to(DType::Float32));
    }
    ValueId zero(const std::string& name, std::int64_t value, DType type)
    {
        return constant(name, Tensor::scalar<std::int64_t>(value).to(type));
    }
    std::vector<ValueId> nodes(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                               std::size_t results, Attributes attributes = {}, const std::string& domain = {})
    {
        std::vector<ValueId> outputs;
        for (std::size_t k = 0; k < results; ++k) {
            outputs.push_back(m_builder.addResult(k == 0 ? name + "_out" : name + "_out" + std::to_string(k)));
        }
        m_builder.addNode(
            {op, domain, name, "", domain.empty() ? 17 : 1, std::move(inputs), outputs, std::move(attributes)});
        return outputs;
    }
    ValueId node(const std::string& op, const std::string& name, std::vector<ValueId> inputs,
                 Attributes attributes = {}, const std::string& domain = {})
    {
        return nodes(op, name, std::move(inputs), 1, std::move(attributes), domain)[0];
    }
    void output(ValueId value) { m_builder.addOutput(value); }
    SharedGraph finish()
    {
        auto built = std::move(m_builder).build();
        return built.ok() ? std::make_shared<const Graph>(std::move(built).value()) : nullptr;
    }
    /// As a file is read: functions of com.microsoft are written out.
    SharedGraph finishRead()
    {
        const auto bytes = retro::formats::toOnnx(*finish());
        const auto read = bytes.ok() ? retro::formats::parseOnnx(*bytes, "model.onnx") : bytes.error();
        return read.ok() ? *read : nullptr;
    }

private:
    retro::graph::GraphBuilder m_builder;
};

Rewritten dequantised(const SharedGraph& graph)
{
    auto result = retro::rewrite::rewrite(graph, only(&RewriteOptions::dequantise));
    return result.ok() ? std::move(result).value() : Rewritten{};
}

/// "name:Op", with the domain where it has one.
QString operators(const Graph& graph)
{
    QStringList list;
    for (const Node& node : graph.nodes()) {
        const std::string domain = node.domain.empty() ? std::string() : node.domain + ".";
        list << QString::fromStdString(node.name + ":" + domain + node.op);
    }
    return list.join(' ');
}

bool valuesStay(const SharedGraph& before, const SharedGraph& after, const Tensor& x)
{
    for (const Precision precision : {Precision::Float, Precision::Double}) {
        const auto a = evaluate(before, {x}, precision);
        const auto b = evaluate(after, {x}, precision);
        const double most = precision == Precision::Float ? 1e-6 : 1e-12;
        if (a.empty() || a.size() != b.size()) {
            return false;
        }
        for (std::size_t k = 0; k < a.size(); ++k) {
            if (!(deviation(b[k], a[k]) <= most) || a[k].dtype() != b[k].dtype()) {
                return false;
            }
        }
    }
    return true;
}

/// What DynamicQuantizeLinear makes of numbers, and back.
std::vector<double> rounded(const std::vector<double>& x)
{
    const double least = std::min(0.0, *std::ranges::min_element(x));
    const double most = std::max(0.0, *std::ranges::max_element(x));
    const double step = most > least ? (most - least) / 255 : 1;
    const double zero = std::nearbyint(-least / step);
    std::vector<double> y;
    for (const double v : x) {
        y.push_back((std::clamp(std::nearbyint(v / step) + zero, 0.0, 255.0) - zero) * step);
    }
    return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kInputs = 3;
constexpr std::int64_t kHidden = 2;

/// Last state of one row, step by step, with weights inputs × gates as levels of 0.02.
std::vector<double> lstmByHand(const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& b, bool isReverse)
{
    std::vector<double> all;
    for (std::int64_t i = 0; i < x.size(); ++i) {
        all.push_back(x.at(i));
    }
    all = rounded(all);
    std::vector<double> state(kHidden, 0);
    std::vector<double> cell(kHidden, 0);
    for (std::int64_t i = 0; i < kSteps; ++i) {
        const std::int64_t t = isReverse ? kSteps - 1 - i : i;
        const std::vector<double> before = rounded(state);
        std::vector<double> sums;
        for (std::int64_t g = 0; g < 4 * kHidden; ++g) {
            double sum = b.at(g) + b.at(4 * kHidden + g);
            for (std::int64_t k = 0; k < kInputs; ++k) {
                sum += all[static_cast<std::size_t>(t * kInputs + k)] * w.at(k * 4 * kHidden + g) * 0.02;
            }
            for (std::int64_t k = 0; k < kHidden; ++k) {
                sum += before[static_cast<std::size_t>(k)] * r.at(k * 4 * kHidden + g) * 0.02;
            }
            sums.push_back(sum);
        }
        for (std::size_t h = 0; h < static_cast<std::size_t>(kHidden); ++h) { // gates i, o, f, c
            const auto at = [&](std::size_t gate) { return sums[gate * kHidden + h]; };
            cell[h] = sigmoid(at(2)) * cell[h] + sigmoid(at(0)) * std::tanh(at(3));
            state[h] = sigmoid(at(1)) * std::tanh(cell[h]);
        }
    }
    return state;
}

} // namespace

class DequantiseTest : public QObject
{
    Q_OBJECT
private slots:
    void aPairIsOneNodeWhateverStandsBetween()
    {
        QuantisedWriter w;
        const ValueId x = w.input({1, 2, 4, 4});
        const ValueId s = w.scale("s", 0.05);
        const ValueId z = w.zero("z", 10, DType::UInt8);
        const ValueId quantised = w.node("QuantizeLinear", "quantise", {x, s, z});
        const ValueId pooled =
            w.node("MaxPool", "pool", {quantised}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
        const ValueId turned = w.node("Transpose", "turn", {pooled}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
        w.output(w.node("Relu", "relu", {w.node("DequantizeLinear", "back", {turned, s, z})}));
        const SharedGraph graph = w.finish();
        const Rewritten result = dequantised(graph);
        QCOMPARE(operators(*result.graph), "quantise:retrograde.FakeQuantize pool:MaxPool turn:Transpose relu:Relu");
        QVERIFY(result.graph->findValue("quantise_out") && result.graph->findValue("turn_out"));
        QVERIFY(valuesStay(graph, result.graph, randomTensor({1, 2, 4, 4}, 3, -2, 14)));
        QVERIFY(std::ranges::any_of(result.steps, [](const auto& step) { return step.name == "dequantise"; }));
    }

    /// Each part is that which it was.
    void partsOfASplit()
    {
        QuantisedWriter w;
        const ValueId x = w.input({4});
        const ValueId s = w.scale("s", 0.05);
        const ValueId z = w.zero("z", 10, DType::UInt8);
        const std::vector<ValueId> parts =
            w.nodes("Split", "split", {w.node("QuantizeLinear", "quantise", {x, s, z})}, 2);
        w.output(w.node("Relu", "relu", {w.node("DequantizeLinear", "back", {parts[1], s, z})}));
        w.output(w.node("Neg", "neg", {w.node("DequantizeLinear", "back0", {parts[0], s, z})}));
        const SharedGraph graph = w.finish();
        const Rewritten result = dequantised(graph);
        QCOMPARE(operators(*result.graph), "quantise:retrograde.FakeQuantize split:Split relu:Relu neg:Neg");
        QVERIFY(valuesStay(graph, result.graph, randomTensor({4}, 3, -0.5, 10)));
    }

    void otherScalesStay()
    {
        QuantisedWriter w;
        const ValueId x = w.input({4});
        const ValueId levels =
            w.node("QuantizeLinear", "quantise", {x, w.scale("s", 0.05), w.zero("z", 10, DType::UInt8)});
        w.output(w.node("DequantizeLinear", "back", {levels, w.scale("t", 0.1), w.zero("u", 10, DType::UInt8)}));
        const SharedGraph graph = w.finish();
        QVERIFY(dequantised(graph).graph == graph);
    }

    void whoReadsLevelsGetsThem()
    {
        QuantisedWriter w;
        const ValueId x = w.input({2, 3});
        const ValueId s = w.scale("s", 0.5);
        const ValueId z = w.zero("z", 0, DType::Int8);
        const ValueId levels = w.node("QuantizeLinear", "quantise", {x, s, z});
        const ValueId sum = w.node("QLinearAdd", "add", {levels, s, z, levels, s, z, s, z}, {}, "com.microsoft");
        w.output(sum);
        w.output(w.node("ArgMax", "best", {levels}));
        w.output(w.node("DequantizeLinear", "back", {sum, s, z}));
        const SharedGraph graph = w.finishRead();
        const Rewritten result = dequantised(graph);
        QVERIFY(result.graph && result.graph != graph);
        QVERIFY(valuesStay(graph, result.graph, randomTensor({2, 3}, 5, -20, 20)));
        QVERIFY2(operators(*result.graph).contains("best:ArgMax"), qPrintable(operators(*result.graph)));
        QVERIFY(!operators(*result.graph).contains("QLinearAdd"));
    }

    void functionsOfQuantisedValues()
    {
        QuantisedWriter w;
        const ValueId x = w.input({1, 3, 4, 4});
        const ValueId s = w.scale("s", 0.1);
        const ValueId z = w.zero("z", 3, DType::UInt8);
        const ValueId q = w.node("QuantizeLinear", "quantise", {x, s, z});
        const ValueId weight = w.constant("w", randomTensor({2, 3, 3, 3}, 1, -127, 127).to(DType::Int8));
        const ValueId ws = w.constant("ws", Tensor::of<float>({2}, std::vector<float>{0.01F, 0.02F}));
        const ValueId wz = w.constant("wz", Tensor::zeros(DType::Int8, {2}));
        const ValueId bias =
            w.constant("b", Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{400, -200}).to(DType::Int32));
        const ValueId c = w.node("QLinearConv", "conv", {q, s, z, weight, ws, wz, s, z, bias},
                                 {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
        const ValueId f =
            w.node("QLinearSigmoid", "sigmoid", {c, s, z, w.scale("t", 1.0 / 256), z}, {}, "com.microsoft");
        const ValueId m =
            w.node("QLinearMul", "mul", {c, s, z, f, w.scale("t2", 1.0 / 256), z, s, z}, {}, "com.microsoft");
        const ValueId g = w.node("QLinearGlobalAveragePool", "pool", {m, s, z, s, z}, {}, "com.microsoft");
        const ValueId j =
            w.node("QLinearConcat", "join", {s, z, g, s, z, g, s, z}, {{"axis", std::int64_t{1}}}, "com.microsoft");
        w.output(w.node("DequantizeLinear", "back", {j, s, z}));
        const SharedGraph graph = w.finishRead();
        const Rewritten result = dequantised(graph);
        QVERIFY2(valuesStay(graph, result.graph, randomTensor({1, 3, 4, 4}, 7, -0.3, 20)),
                 qPrintable(operators(*result.graph)));
        QVERIFY(operators(*result.graph)
                    .startsWith("quantise:retrograde.FakeQuantize conv:retrograde.integer.Conv "
                                "conv/quantise:retrograde.FakeQuantize"));
        QVERIFY(result.graph->findValue("conv_out"));
    }

    /// Scales that are no product of the operand's own: the product of whole numbers takes the place of the Cast.
    void productsWithOtherScales()
    {
        for (const bool isWhole : {true, false}) {
            QuantisedWriter w;
            const ValueId x = w.input({2, 5});
            const std::vector<ValueId> q = w.nodes("DynamicQuantizeLinear", "range", {x}, 3);
            const ValueId weight = w.constant("w", randomTensor({5, 4}, 2, -127, 127).to(DType::Int8));
            const ValueId sum = w.node("MatMulInteger", "mm", {q[0], weight, q[2]});
            const ValueId cast = w.node("Cast", "cast", {sum}, {{"to", std::int64_t{1}}});
            w.output(isWhole ? w.node("Mul", "scaled", {w.node("Mul", "first", {cast, w.scale("s", 0.1)}), q[1]})
                             : w.node("Mul", "scaled", {cast, w.constant("s", randomTensor({2, 4}, 3))}));
            const SharedGraph graph = w.finish();
            const Rewritten result = dequantised(graph);
            QVERIFY2(valuesStay(graph, result.graph, randomTensor({2, 5}, 9)), qPrintable(operators(*result.graph)));
            QVERIFY(operators(*result.graph).contains("retrograde.integer.MatMul"));
            QCOMPARE(operators(*result.graph).contains("scaled:Mul"), !isWhole);
        }
    }

    /// Constants that scale step by step behind an operand of a constant scale: they and the bias are the layer's.
    void productsScaledStepByStep()
    {
        QuantisedWriter w;
        const ValueId x = w.input({2, 5});
        const ValueId zero = w.constant("z", Tensor::full(DType::UInt8, {}, 3));
        const ValueId levels = w.node("QuantizeLinear", "quantise", {x, w.scale("s", 0.02), zero});
        const ValueId weight = w.constant("w", randomTensor({5, 4}, 2, -127, 127).to(DType::Int8));
        const ValueId sum = w.node("MatMulInteger", "mm", {levels, weight, zero});
        ValueId y = w.node("Cast", "cast", {sum}, {{"to", std::int64_t{1}}});
        y = w.node("Mul", "first", {w.scale("k", 0.5), y});
        y = w.node("Div", "second", {y, w.constant("d", randomTensor({4}, 3, 20, 40))});
        w.output(w.node("Add", "bias", {w.constant("b", randomTensor({4}, 4)), y}));
        const SharedGraph graph = w.finish();
        const Rewritten result = dequantised(graph);
        QVERIFY2(valuesStay(graph, result.graph, randomTensor({2, 5}, 9)), qPrintable(operators(*result.graph)));
        for (const char* gone : {":Mul", ":Div", ":Add"}) {
            QVERIFY2(!operators(*result.graph).contains(gone), qPrintable(operators(*result.graph)));
        }
    }

    /// The float layer that they stand for, with a bias of whole numbers and with one of floats.
    void productsThatAreDequantised()
    {
        for (const bool isConvolution : {false, true}) {
            for (const std::string which : {"one scale", "per column", "bias", "bias and cast", "both biases"}) {
                QuantisedWriter w;
                const Shape shape = isConvolution ? Shape{2, 3, 4, 4} : Shape{2, 5};
                const ValueId x = w.input(shape);
                const ValueId zero = w.constant("z", Tensor::full(DType::UInt8, {}, 3));
                const ValueId levels = w.node("QuantizeLinear", "quantise", {x, w.scale("s", 0.02), zero});
                const Shape weightShape = isConvolution ? Shape{4, 3, 3, 3} : Shape{5, 4};
                const ValueId weight = w.constant("w", randomTensor(weightShape, 2, -127, 127).to(DType::Int8));
                ValueId y = w.node(isConvolution ? "ConvInteger" : "MatMulInteger", "product", {levels, weight, zero});
                const Shape columns = isConvolution ? Shape{1, 4, 1, 1} : Shape{4};
                if (which.find("bias") != std::string::npos) {
                    const ValueId whole = w.constant("whole", randomTensor(columns, 5, -9000, 9000).to(DType::Int32));
                    y = w.node("Add", "whole bias", {whole, y});
                }
                if (which == "bias and cast") {
                    y = w.node("Cast", "cast", {y}, {{"to", std::int64_t{1}}});
                    y = w.node("Mul", "scaled", {y, w.scale("k", 0.0006)});
                } else if (which == "one scale") {
                    y = w.node("DequantizeLinear", "scaled", {y, w.scale("k", 0.0006)});
                } else {
                    const ValueId scales = w.constant("k", randomTensor({4}, 6, 0.0002, 0.001));
                    y = w.node("DequantizeLinear", "scaled", {y, scales});
                }
                if (which == "both biases") {
                    y = w.node("Add", "bias", {y, w.constant("b", randomTensor(columns, 4))});
                }
                w.output(w.node("Relu", "relu", {y}));
                const SharedGraph graph = w.finish();
                const Rewritten result = dequantised(graph);
                QVERIFY2(result.graph, which.c_str());
                QVERIFY2(valuesStay(graph, result.graph, randomTensor(shape, 9, 0, 4)),
                         qPrintable(operators(*result.graph)));
                const QString last = which == "both biases" ? "bias" : "scaled";
                QCOMPARE(operators(*result.graph),
                         QString("quantise:retrograde.FakeQuantize product:retrograde.integer.") +
                             (isConvolution ? "Conv" : "MatMul") + " relu:Relu");
                QVERIFY2(result.graph->findValue(last.toStdString() + "_out"), qPrintable(last));
            }
        }
    }

    /// Scales of a range that is computed: their product scales the sum.
    void productsOfARangeThatAreDequantised()
    {
        QuantisedWriter w;
        const std::vector<ValueId> q = w.nodes("DynamicQuantizeLinear", "range", {w.input({2, 5})}, 3);
        const ValueId weight = w.constant("w", randomTensor({5, 4}, 2, -127, 127).to(DType::Int8));
        const ValueId sum = w.node("MatMulInteger", "mm", {q[0], weight, q[2]});
        const ValueId scales = w.node("Mul", "scales", {q[1], w.constant("k", randomTensor({4}, 6, 0.01, 0.02))});
        w.output(w.node("DequantizeLinear", "scaled", {sum, scales}, {{"axis", std::int64_t{-1}}}));
        const SharedGraph graph = w.finish();
        const Rewritten result = dequantised(graph);
        QVERIFY2(valuesStay(graph, result.graph, randomTensor({2, 5}, 9)), qPrintable(operators(*result.graph)));
        QVERIFY(operators(*result.graph).endsWith("mm:retrograde.integer.MatMul"));
    }

    /// What is no bias of a layer, and scales along another axis.
    void otherWholeNumbersStay()
    {
        for (const bool isAdded : {true, false}) {
            QuantisedWriter w;
            const ValueId zero = w.constant("z", Tensor::full(DType::UInt8, {}, 3));
            const ValueId levels = w.node("QuantizeLinear", "quantise", {w.input({4, 5}), w.scale("s", 0.02), zero});
            const ValueId weight = w.constant("w", randomTensor({5, 4}, 2, -127, 127).to(DType::Int8));
            ValueId y = w.node("MatMulInteger", "mm", {levels, weight, zero});
            if (isAdded) {
                y = w.node("Add", "sum", {y, w.constant("n", randomTensor({4, 4}, 5, -9, 9).to(DType::Int32))});
            }
            const ValueId scales = w.constant("k", randomTensor({4}, 6, 0.0002, 0.001));
            w.output(w.node("DequantizeLinear", "scaled", {y, scales}, {{"axis", std::int64_t{isAdded ? 1 : 0}}}));
            const SharedGraph graph = w.finish();
            QVERIFY(dequantised(graph).graph == graph);
        }
    }

    /// A zero point that is missing is 0; there may be one per column beside one scale.
    void zeroPointsOfProducts()
    {
        for (const std::string which : {"quantiser", "product", "columns", "convolution"}) {
            QuantisedWriter w;
            const bool isConvolution = which == "convolution";
            const Shape shape = isConvolution ? Shape{2, 3, 4, 4} : Shape{2, 5};
            const ValueId x = w.input(shape);
            const ValueId s = w.scale("s", 0.25);
            const ValueId z = w.zero("z", 0, DType::UInt8);
            const ValueId q =
                w.node("QuantizeLinear", "quantise", which == "quantiser" ? std::vector{x, s} : std::vector{x, s, z});
            const Shape weightShape = isConvolution ? Shape{4, 3, 3, 3} : Shape{5, 4};
            const ValueId weight = w.constant("w", randomTensor(weightShape, 2, -127, 127).to(DType::Int8));
            const ValueId columns = w.constant(
                "columns", Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{1, 2, 3, -4}).to(DType::Int8));
            std::vector<ValueId> inputs{q, weight, which == "quantiser" ? z : ValueId()};
            if (which == "columns" || isConvolution) {
                inputs.push_back(columns);
            }
            const ValueId sum = w.node(isConvolution ? "ConvInteger" : "MatMulInteger", "product", inputs);
            const ValueId cast = w.node("Cast", "cast", {sum}, {{"to", std::int64_t{1}}});
            w.output(w.node("Mul", "scaled", {cast, w.scale("k", 0.03125)}));
            const SharedGraph graph = w.finish();
            const Rewritten result = dequantised(graph);
            QVERIFY2(result.graph, which.c_str());
            QVERIFY2(valuesStay(graph, result.graph, randomTensor(shape, 9, 0, 20)),
                     qPrintable(operators(*result.graph)));
            QVERIFY2(operators(*result.graph).contains("retrograde.integer"), qPrintable(operators(*result.graph)));
        }
    }

    /// The rank of what is between the layers is not declared.
    void poolsWithChannelsLast()
    {
        const Attributes last{{"channels_last", std::int64_t{1}}};
        Attributes windows = last;
        windows["kernel_shape"] = std::vector<std::int64_t>{2, 2};
        QuantisedWriter w;
        const ValueId x = w.input({2, 4, 6, 3});
        const ValueId s = w.scale("s", 0.1);
        const ValueId z = w.zero("z", 3, DType::UInt8);
        const ValueId q = w.node("QuantizeLinear", "quantise", {x, s, z});
        const ValueId weight = w.constant("w", randomTensor({3, 3, 1, 1}, 1, -127, 127).to(DType::Int8));
        const ValueId ws = w.scale("ws", 0.01);
        const ValueId wz = w.zero("wz", 0, DType::Int8);
        const ValueId c = w.node("QLinearConv", "conv", {q, s, z, weight, ws, wz, s, z}, last, "com.microsoft");
        const ValueId a = w.node("QLinearAveragePool", "pool", {q, s, z, s, z}, windows, "com.microsoft");
        const ValueId g = w.node("QLinearGlobalAveragePool", "mean", {a, s, z, s, z}, last, "com.microsoft");
        const ValueId h = w.node("QLinearGlobalAveragePool", "other", {c, s, z, s, z}, last, "com.microsoft");
        w.output(w.node("DequantizeLinear", "back", {g, s, z}));
        w.output(w.node("DequantizeLinear", "other back", {h, s, z}));
        const SharedGraph graph = w.finishRead();
        const Rewritten result = dequantised(graph);
        QVERIFY(!evaluate(result.graph, {randomTensor({2, 4, 6, 3}, 7, -0.3, 20)}, Precision::Float).empty());
        QVERIFY2(!operators(*result.graph).contains(":QLinear"), qPrintable(operators(*result.graph)));
    }

    void lstmWithItsOwnRanges()
    {
        for (const bool isReverse : {false, true}) {
            const Tensor x = randomTensor({kSteps, 1, kInputs}, 1);
            const Tensor weight = randomTensor({1, kInputs, 4 * kHidden}, 2, -100, 100).to(DType::Int8);
            const Tensor state = randomTensor({1, kHidden, 4 * kHidden}, 3, -100, 100).to(DType::Int8);
            const Tensor bias = randomTensor({1, 8 * kHidden}, 4);
            QuantisedWriter w;
            const ValueId in = w.input({kSteps, 1, kInputs});
            const ValueId scale = w.constant("s", Tensor::of<float>({1}, std::vector<float>{0.02F}));
            const ValueId zero = w.constant("z", Tensor::zeros(DType::Int8, {1}));
            const std::vector<ValueId> y =
                w.nodes("DynamicQuantizeLSTM", "lstm",
                        {in, w.constant("w", weight), w.constant("r", state), w.constant("b", bias), ValueId(),
                         ValueId(), ValueId(), ValueId(), scale, zero, scale, zero},
                        3, {{"hidden_size", kHidden}, {"direction", std::string(isReverse ? "reverse" : "forward")}},
                        "com.microsoft");
            w.output(y[1]);
            const Rewritten result = dequantised(w.finish());
            const Tensor wide = x.to(DType::Float64);
            RETRO_MADE(unrolled, retro::execute::unroll(*result.graph, {&wide, 1}, Precision::Double));
            const auto outputs = evaluate(unrolled->graph, {x}, Precision::Double);
            QVERIFY2(outputs.size() == 1, qPrintable(operators(*result.graph)));
            QCOMPARE(outputs[0].shape(), (Shape{1, 1, kHidden}));
            const std::vector<double> wanted = lstmByHand(x, weight, state, bias, isReverse);
            for (std::int64_t h = 0; h < kHidden; ++h) {
                QVERIFY2(
                    std::abs(outputs[0].at(h) - wanted[static_cast<std::size_t>(h)]) < 1e-6,
                    qPrintable(QString("%1 and %2").arg(outputs[0].at(h)).arg(wanted[static_cast<std::size_t>(h)])));
            }
        }
    }

    /// A row that ends early gives what it gives alone, then zeros; its state is that at its end.
    void lstmWithLengths()
    {
        constexpr std::int64_t kShort = 2;
        for (const bool isReverse : {false, true}) {
            const Tensor weight = randomTensor({1, kInputs, 4 * kHidden}, 2, -100, 100).to(DType::Int8);
            const Tensor state = randomTensor({1, kHidden, 4 * kHidden}, 3, -100, 100).to(DType::Int8);
            const auto outputsOf = [&](const Tensor& x, const std::vector<std::int64_t>& lengths) {
                QuantisedWriter w;
                const ValueId in = w.input(x.shape());
                const ValueId scale = w.constant("s", Tensor::of<float>({1}, std::vector<float>{0.02F}));
                const ValueId zero = w.constant("z", Tensor::zeros(DType::Int8, {1}));
                const ValueId rows =
                    lengths.empty()
                        ? ValueId()
                        : w.constant("l", Tensor::of<std::int64_t>({x.shape()[1]}, lengths).to(DType::Int32));
                const std::vector<ValueId> y = w.nodes(
                    "DynamicQuantizeLSTM", "lstm",
                    {in, w.constant("w", weight), w.constant("r", state), ValueId(), rows, ValueId(), ValueId(),
                     ValueId(), scale, zero, scale, zero},
                    3, {{"hidden_size", kHidden}, {"direction", std::string(isReverse ? "reverse" : "forward")}},
                    "com.microsoft");
                w.output(y[0]);
                w.output(y[1]);
                const Rewritten result = dequantised(w.finish());
                const Tensor wide = x.to(DType::Float64);
                const auto unrolled = retro::execute::unroll(*result.graph, {&wide, 1}, Precision::Double);
                return unrolled.ok() ? evaluate(unrolled->graph, {x}, Precision::Double) : std::vector<Tensor>();
            };
            // The rows round their states by one range: beside the other, a row is not quite what it is alone.
            constexpr double kRounding = 0.05;
            const Tensor one = randomTensor({kSteps, 1, kInputs}, 1);
            retro::tensor::TensorBuffer both(DType::Float64, {kSteps, 2, kInputs});
            for (std::int64_t i = 0; i < kSteps * kInputs; ++i) {
                both.data<double>()[i / kInputs * 2 * kInputs + i % kInputs] = one.at(i);
                both.data<double>()[(i / kInputs * 2 + 1) * kInputs + i % kInputs] = one.at(i);
            }
            const auto whole = outputsOf(one, {});
            const auto ended = outputsOf(std::move(both).freeze(), {kSteps, kShort});
            QVERIFY(whole.size() == 2 && ended.size() == 2);
            for (std::int64_t h = 0; h < kHidden; ++h) {
                QVERIFY(std::abs(ended[1].at(h) - whole[1].at(h)) < kRounding);
                for (std::int64_t t = 0; t < kSteps; ++t) {
                    const double longer = ended[0].at(t * 2 * kHidden + h);
                    const double shorter = ended[0].at((t * 2 + 1) * kHidden + h);
                    QVERIFY(std::abs(longer - whole[0].at(t * kHidden + h)) < kRounding);
                    QVERIFY(t < kShort ? shorter != 0 : shorter == 0);
                    QVERIFY(isReverse || t >= kShort || std::abs(shorter - longer) < 1e-9);
                }
                // The state at the end of the short row is its last result, which a backward one has at the front.
                const std::int64_t last = isReverse ? 0 : kShort - 1;
                QCOMPARE(ended[1].at(kHidden + h), ended[0].at((last * 2 + 1) * kHidden + h));
            }
        }
    }

    /// A small table becomes numbers. An index outside gives zeros there, too, constant or not.
    void smallTablesGiveZerosOutside()
    {
        constexpr std::int64_t kRows = 3;
        constexpr std::int64_t kColumns = 32;
        std::vector<double> bytes(static_cast<std::size_t>(kRows * kColumns / 2));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<double>(i * 29 % 256);
        }
        const Tensor table = Tensor::of<double>({kRows, kColumns / 2}, bytes).to(DType::UInt8);
        const Tensor scales = Tensor::of<float>({kRows, 2}, std::vector<float>{0.5F, 0.25F, 1, 2, 0.125F, 0.75F});
        const Tensor indices = Tensor::of<std::int64_t>({5}, std::vector<std::int64_t>{3, -1, -4, 2, 70});
        for (const bool isComputed : {true, false}) {
            QuantisedWriter w;
            const ValueId x = w.input({5});
            const ValueId rows =
                isComputed ? w.node("Cast", "cast", {x}, {{"to", std::int64_t{7}}}) : w.constant("i", indices);
            const ValueId found =
                w.node("GatherBlockQuantized", "find", {w.constant("t", table), rows, w.constant("s", scales)},
                       {{"block_size", std::int64_t{16}}}, "com.microsoft");
            w.output(w.node("Sum", "y", {found}));
            const SharedGraph graph = w.finish();
            const Rewritten result = dequantised(graph);
            QVERIFY2(operators(*result.graph).contains("find:retrograde.Gather"), qPrintable(operators(*result.graph)));
            QVERIFY(valuesStay(graph, result.graph, indices.to(DType::Float32)));
            const auto outputs = evaluate(result.graph, {indices.to(DType::Float64)}, Precision::Double);
            QCOMPARE(outputs.size(), std::size_t{1});
            for (std::int64_t k = 0; k < kColumns; ++k) {
                for (const std::int64_t outside : {0, 2, 4}) {
                    QCOMPARE(outputs[0].at(outside * kColumns + k), 0.0);
                }
                QCOMPARE(outputs[0].at(kColumns + k), outputs[0].at(3 * kColumns + k));
            }
        }
    }

    /// In double nothing is rounded to float32 on the way.
    void gatheredBlocksInDouble()
    {
        const Tensor table = Tensor::of<double>({1, 8}, std::vector<double>(8, 0xF0)).to(DType::UInt8);
        const Tensor scales = Tensor::of<float>({1, 1}, std::vector<float>{0.1F});
        QuantisedWriter w;
        const ValueId rows = w.node("Cast", "cast", {w.input({1})}, {{"to", std::int64_t{7}}});
        w.output(w.node("GatherBlockQuantized", "find", {w.constant("t", table), rows, w.constant("s", scales)},
                        {{"block_size", std::int64_t{16}}}, "com.microsoft"));
        const Rewritten result = dequantised(w.finish());
        const auto outputs = evaluate(result.graph, {Tensor::zeros(DType::Float64, {1})}, Precision::Double);
        QCOMPARE(outputs[0].at(1), 7 * static_cast<double>(0.1F));
    }

    void whatIsNotUnderstoodSaysWhy()
    {
        QuantisedWriter w;
        const ValueId x = w.input({kSteps, 1, kInputs});
        const ValueId scale = w.constant("s", Tensor::of<float>({1}, std::vector<float>{0.02F}));
        const ValueId zero = w.constant("z", Tensor::zeros(DType::Int8, {1}));
        const Tensor weight = Tensor::zeros(DType::Int8, {1, kInputs, 4 * kHidden});
        const Tensor state = Tensor::zeros(DType::Int8, {1, kHidden, 4 * kHidden});
        w.output(w.nodes("DynamicQuantizeLSTM", "lstm",
                         {x, w.constant("w", weight), w.constant("r", state), ValueId(), ValueId(), ValueId(),
                          ValueId(), ValueId(), scale, zero, scale, zero},
                         1, {{"hidden_size", kHidden}, {"layout", std::int64_t{1}}}, "com.microsoft")[0]);
        const Rewritten result = dequantised(w.finish());
        QVERIFY(std::ranges::any_of(result.steps, [](const auto& step) {
            return step.isNote && step.text.find("batch comes first") != std::string::npos;
        }));
    }
};

QTEST_GUILESS_MAIN(DequantiseTest)
#include "dequantisetest.moc"
