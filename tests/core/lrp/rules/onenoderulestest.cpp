// SPDX-License-Identifier: Apache-2.0
// Every weight rule with every numerical switch on one node of every shape, against the formula written out in double.
#include "tests/core/lrp/rules/rulefixture.h"
#include "tests/core/lrp/rules/writtenlayer.h"

#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace retro;
using namespace retro::tests;
using lrp::BiasPolicy;
using lrp::LinearOptions;
using lrp::RulePointer;
using lrp::StabiliserKind;

namespace
{

using Ints = std::vector<std::int64_t>;

double up(double t) { return std::max(t, 0.0); }
double down(double t) { return std::min(t, 0.0); }
double none(double) { return 0; }
double same(double t) { return t; }
double plain(double x, double w) { return x * w; }
double plusTerm(double x, double w) { return up(x) * up(w) + down(x) * down(w); }
double minusTerm(double x, double w) { return up(x) * down(w) + down(x) * up(w); }
double all(double, double r) { return r; }

/// A node with its taps.
struct Layer
{
    std::string name;
    OneNode node;
    WrittenLayer written;
};

std::size_t axesOf(const ConvolutionShape& shape) { return shape.kernel[2] > 1 ? 3 : (shape.kernel[1] > 1 ? 2 : 1); }

Ints leading(const std::size_t (&values)[3], std::size_t axes)
{
    Ints result;
    for (std::size_t i = 0; i < axes; ++i) {
        result.push_back(static_cast<std::int64_t>(values[i]));
    }
    return result;
}

graph::Attributes attributesOf(const ConvolutionShape& shape, std::size_t axes)
{
    Ints pads = leading(shape.padBegin, axes);
    const Ints ends = leading(shape.padEnd, axes);
    pads.insert(pads.end(), ends.begin(), ends.end());
    return {{"pads", pads},
            {"strides", leading(shape.stride, axes)},
            {"dilations", leading(shape.dilation, axes)},
            {"group", static_cast<std::int64_t>(shape.group)}};
}

Layer convolution(const std::string& name, const ConvolutionShape& shape, bool hasBias, unsigned seed)
{
    const std::size_t axes = axesOf(shape);
    const auto group = static_cast<std::int64_t>(shape.group);
    const auto in = static_cast<std::int64_t>(shape.inChannels);
    const auto out = static_cast<std::int64_t>(shape.outChannels);
    Shape x{static_cast<std::int64_t>(shape.batch), in};
    Shape w = shape.isTransposed ? Shape{in, out / group} : Shape{out, in / group};
    for (std::size_t i = 0; i < axes; ++i) {
        x.push_back(static_cast<std::int64_t>(shape.in[i]));
        w.push_back(static_cast<std::int64_t>(shape.kernel[i]));
    }
    const Tensor input = noise(x, seed);
    const Tensor weights = noise(w, seed + 1);
    std::vector<Operand> operands{{input}, {weights, true}};
    const Tensor bias = noise({out}, seed + 2);
    if (hasBias) {
        operands.push_back({bias, true});
    }
    Layer layer{name + (hasBias ? "" : " without bias"),
                OneNode(shape.isTransposed ? "ConvTranspose" : "Conv", operands, attributesOf(shape, axes)),
                writtenConvolution(shape, valuesOf(weights), hasBias ? valuesOf(bias) : std::vector<double>())};
    layer.written.x = valuesOf(input);
    return layer;
}

// A dense layer is a convolution of extent 1 for the formulas.
Layer dense(bool hasBias, unsigned seed)
{
    ConvolutionShape shape;
    shape.batch = 3;
    shape.inChannels = 5;
    shape.outChannels = 4;
    const Tensor input = noise({3, 5}, seed);
    const Tensor weights = noise({4, 5}, seed + 1);
    const Tensor bias = noise({4}, seed + 2);
    std::vector<Operand> operands{{input}, {weights, true}};
    if (hasBias) {
        operands.push_back({bias, true});
    }
    Layer layer{hasBias ? "dense" : "dense without bias", OneNode("Gemm", operands, {{"transB", std::int64_t{1}}}),
                writtenConvolution(shape, valuesOf(weights), hasBias ? valuesOf(bias) : std::vector<double>())};
    layer.written.x = valuesOf(input);
    return layer;
}

ConvolutionShape shapeOf(std::size_t axes)
{
    ConvolutionShape shape;
    shape.batch = 2;
    shape.inChannels = 2;
    shape.outChannels = 3;
    for (std::size_t i = 0; i < axes; ++i) {
        shape.in[i] = 4;
        shape.kernel[i] = 2 + i % 2;
        shape.padBegin[i] = i == 0 ? 1 : 0;
        shape.stride[i] = i == 1 ? 2 : 1;
    }
    return shape;
}

// Every shape with a bias, and again without one when that is asked for.
std::vector<Layer> layers(unsigned seed, bool alsoWithoutBias = true)
{
    std::vector<Layer> result;
    for (const bool hasBias : {true, false}) {
        if (!hasBias && !alsoWithoutBias) {
            break;
        }
        result.push_back(dense(hasBias, seed));
        for (std::size_t axes = 1; axes <= 3; ++axes) {
            ConvolutionShape shape = shapeOf(axes);
            result.push_back(convolution(fmt::format("Conv {}d", axes), shape, hasBias, seed + 10));
            shape.isTransposed = true;
            result.push_back(convolution(fmt::format("ConvTranspose {}d", axes), shape, hasBias, seed + 20));
        }
        ConvolutionShape grouped = shapeOf(2);
        grouped.group = 2;
        grouped.outChannels = 4;
        grouped.dilation[0] = 2;
        result.push_back(convolution("Conv grouped and dilated", grouped, hasBias, seed + 30));
        grouped.isTransposed = true;
        result.push_back(convolution("ConvTranspose grouped", grouped, hasBias, seed + 40));
        ConvolutionShape depthwise = shapeOf(1);
        depthwise.group = 2;
        depthwise.outChannels = 2;
        result.push_back(convolution("Conv depthwise", depthwise, hasBias, seed + 50));
    }
    return result;
}

/// A rule and its formula.
struct Case
{
    std::string name;
    RulePointer rule;
    std::vector<WrittenHalf> halves;
    LinearOptions options;
};

std::vector<WrittenHalf> gammaHalves(double g, bool scalesBias)
{
    const auto raised = [g](double t) { return t + g * up(t); };
    const auto lowered = [g](double t) { return t + g * down(t); };
    const auto bias = [scalesBias](const std::function<double(double)>& f) { return scalesBias ? f : same; };
    return {{[=](double x, double w) { return up(x) * raised(w) + down(x) * lowered(w); }, bias(raised),
             [](double z, double r) { return z > 0 ? r : 0; }, 1},
            {[=](double x, double w) { return up(x) * lowered(w) + down(x) * raised(w); }, bias(lowered),
             [](double z, double r) { return z < 0 ? r : 0; }, 1}};
}

std::vector<WrittenHalf> originalGamma(double g, bool scalesBias)
{
    const auto raised = [g](double t) { return t + g * up(t); };
    return {{[=](double x, double w) { return x * raised(w); }, [=](double b) { return scalesBias ? raised(b) : b; },
             all, 1}};
}

std::vector<WrittenHalf> alphaBetaHalves(double alpha, double beta, lrp::BiasParts parts)
{
    const bool own = parts == lrp::BiasParts::Own;
    return {{plusTerm, own ? up : same, all, alpha}, {minusTerm, own ? down : same, all, -beta}};
}

// Every rule that has the linear switches, with its own parameters.
void addLinear(std::vector<Case>& cases, const std::string& name, const LinearOptions& o)
{
    using enum lrp::BiasParts;
    const auto add = [&](const std::string& rule, RulePointer pointer, std::vector<WrittenHalf> halves) {
        cases.push_back({rule + ", " + name, std::move(pointer), std::move(halves), o});
    };
    add("epsilon", lrp::epsilonRule(o), {{plain, same}});
    add("z-plus", lrp::zPlusRule(o), {{plusTerm, up}});
    add("z-plus raw", lrp::zPlusRule(o, lrp::PlusForm::Raw), {{[](double x, double w) { return x * up(w); }, same}});
    for (const double beta : {0.0, 1.0, 2.5}) {
        for (const lrp::BiasParts parts : {Own, Both}) {
            add(fmt::format("alpha-beta {} {}", beta, static_cast<int>(parts)),
                lrp::alphaBetaRule(1 + beta, beta, o, parts), alphaBetaHalves(1 + beta, beta, parts));
        }
    }
    for (const double g : {0.0, 0.25, 100.0}) {
        for (const bool scales : {true, false}) {
            add(fmt::format("gamma {} {}", g, scales), lrp::gammaRule(g, {o, lrp::GammaForm::Split, scales}),
                gammaHalves(g, scales));
            add(fmt::format("gamma original {} {}", g, scales),
                lrp::gammaRule(g, {o, lrp::GammaForm::Original, scales}), originalGamma(g, scales));
        }
    }
    add("w-square", lrp::wSquareRule(o), {{[](double, double w) { return w * w; }, [](double b) { return b * b; }}});
}

std::vector<Case> casesFor(const LinearOptions& o, const std::string& name)
{
    std::vector<Case> cases;
    addLinear(cases, name, o);
    if (o.bias == BiasPolicy::Absorb) {
        const LinearOptions unbiased{o.stabiliser, BiasPolicy::Zero};
        cases.push_back(
            {"flat, " + name, lrp::flatRule(o.stabiliser), {{[](double, double) { return 1.0; }, none}}, unbiased});
        cases.push_back({"z-box, " + name,
                         lrp::zBoxRule(-1.5, 2, o.stabiliser),
                         {{[](double x, double w) { return x * w + 1.5 * up(w) - 2 * down(w); }, none}},
                         unbiased});
    }
    return cases;
}

std::vector<std::pair<std::string, lrp::Stabiliser>> stabilisers()
{
    return {{"add", {StabiliserKind::Add, 1e-6, true}},
            {"add 0.25", {StabiliserKind::Add, 0.25, true}},
            {"unsigned", {StabiliserKind::Add, 1e-3, false}},
            {"clip", {StabiliserKind::Clip, 0.3, true}},
            {"clip unsigned", {StabiliserKind::Clip, 0.3, false}},
            {"rms", {StabiliserKind::RmsScaled, 0.1, true}},
            {"none", {StabiliserKind::Add, 0, true}}};
}

// Where every other sum is as large as the terms, 1e-10 of the largest share is what double can do.
double largest(const std::vector<double>& values)
{
    double result = 0;
    for (const double value : values) {
        result = std::max(result, std::abs(value));
    }
    return result;
}

// Sums over everything but the second axis.
std::vector<double> perChannel(const std::vector<double>& values, const Shape& shape)
{
    std::size_t inner = 1;
    for (std::size_t axis = 2; axis < shape.size(); ++axis) {
        inner *= static_cast<std::size_t>(shape[axis]);
    }
    std::vector<double> sums(static_cast<std::size_t>(shape[1]), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        sums[i / inner % sums.size()] += values[i];
    }
    return sums;
}

} // namespace

class OneNodeRulesTest : public QObject
{
    Q_OBJECT

private slots:
    void formula_data()
    {
        QTest::addColumn<int>("policy");
        QTest::addColumn<int>("stabiliser");
        for (int policy = 0; policy < 3; ++policy) {
            for (int i = 0; i < static_cast<int>(stabilisers().size()); ++i) {
                QTest::addRow("bias %d, %s", policy, stabilisers()[static_cast<std::size_t>(i)].first.c_str())
                    << policy << i;
            }
        }
    }
    void formula()
    {
        QFETCH(int, policy);
        QFETCH(int, stabiliser);
        const auto [name, how] = stabilisers()[static_cast<std::size_t>(stabiliser)];
        const std::vector<Case> cases = casesFor({how, static_cast<BiasPolicy>(policy)}, name);
        for (Layer& layer : layers(7, policy == 0)) {
            const Tensor r = noise(layer.node.forward()[0].shape(), 99);
            const std::vector<double> z = valuesOf(layer.node.forward()[0]);
            QVERIFY2(distance(z, layer.written.z()) <= 1e-12, layer.name.c_str());
            for (const Case& one : cases) {
                const std::vector<double> expected = written(layer.written, valuesOf(r), one.halves, one.options);
                const std::vector<double> got = valuesOf(layer.node.apply(one.rule, {r})[0]);
                const std::string text =
                    fmt::format("{}, {}: off by {}", layer.name, one.name, distance(got, expected));
                QVERIFY2(distance(got, expected) <= 1e-10 * std::max(1.0, largest(expected)), text.c_str());
            }
        }
    }

    void weightsAndBiasCarryTheirTerms_data() { formula_data(); }
    void weightsAndBiasCarryTheirTerms()
    {
        QFETCH(int, policy);
        QFETCH(int, stabiliser);
        const auto [name, how] = stabilisers()[static_cast<std::size_t>(stabiliser)];
        const std::vector<Case> cases = casesFor({how, static_cast<BiasPolicy>(policy)}, name);
        for (Layer& layer : layers(7, policy == 0)) {
            const Tensor r = noise(layer.node.forward()[0].shape(), 99);
            for (const Case& one : cases) {
                const std::vector<double> w = writtenWeights(layer.written, valuesOf(r), one.halves, one.options);
                const std::vector<lrp::ParameterShare> shares = layer.node.parameters(one.rule, {r});
                const std::string text = layer.name + ", " + one.name;
                QVERIFY2(shares.size() + 1 == layer.node.operands().size(), text.c_str());
                const Tensor& weights = shares[0].relevance;
                QVERIFY2(weights.isValid() && weights.shape() == layer.node.operands()[1].shape(), text.c_str());
                QVERIFY2(distance(valuesOf(weights), w) <= 1e-10 * std::max(1.0, largest(w)), text.c_str());
                if (shares.size() > 1) {
                    const std::vector<double> b =
                        perChannel(writtenBias(layer.written, valuesOf(r), one.halves, one.options), r.shape());
                    QVERIFY2(distance(valuesOf(shares[1].relevance), b) <= 1e-10 * std::max(1.0, largest(b)),
                             text.c_str());
                }
            }
        }
    }

    void gradientsOfWeightsAndBias()
    {
        for (Layer& layer : layers(3)) {
            const Tensor r = noise(layer.node.forward()[0].shape(), 98);
            const std::vector<lrp::ParameterShare> shares = layer.node.parameters(lrp::gradientRule(), {r});
            std::vector<double> expected(static_cast<std::size_t>(layer.node.operands()[1].size()), 0);
            for (const Tap& tap : layer.written.taps) {
                expected[tap.parameter] += layer.written.x[tap.input] * r.at(static_cast<std::int64_t>(tap.output));
            }
            QVERIFY2(distance(valuesOf(shares[0].relevance), expected) <= 1e-12, layer.name.c_str());
            QVERIFY2(shares.size() == 1 ||
                         distance(valuesOf(shares[1].relevance), perChannel(valuesOf(r), r.shape())) <= 1e-12,
                     layer.name.c_str());
        }
    }

    void gradientIsTheTransposedMap()
    {
        for (Layer& layer : layers(3)) {
            const Tensor r = noise(layer.node.forward()[0].shape(), 98);
            std::vector<double> expected(layer.written.x.size(), 0);
            for (const Tap& tap : layer.written.taps) {
                expected[tap.input] += tap.weight * r.at(static_cast<std::int64_t>(tap.output));
            }
            const std::vector<double> got = valuesOf(layer.node.apply(lrp::gradientRule(), {r})[0]);
            QVERIFY2(distance(got, expected) <= 1e-12, layer.name.c_str());
        }
    }

    // Every rule of the suite can be written to a file and read back.
    void parametersMakeAnEqualRule()
    {
        for (const Case& one : casesFor({{StabiliserKind::Clip, 0.3, false}, BiasPolicy::Absorb}, "clip")) {
            const auto again = lrp::makeRule(one.rule->name(), one.rule->parameters());
            QVERIFY2(again.ok(), one.name.c_str());
            QCOMPARE((*again)->text(), one.rule->text());
            QVERIFY((*again)->parameters() == one.rule->parameters());
        }
    }

    // The largest half of what arrives, per sample, by signed order; the rest is booked.
    void filter()
    {
        OneNode node("Gemm", {{doubles({2, 1}, {1, 1})}, {doubles({1, 4}, {1, 1, 1, 1}), true}});
        const lrp::Stabiliser exact{StabiliserKind::Add, 0, true};
        const RulePointer rule = lrp::filteredRule(lrp::epsilonRule({exact, BiasPolicy::Absorb}), 0.5);
        const Tensor r = doubles({2, 4}, {1, -8, 3, 2, -1, -2, -3, -4});
        QCOMPARE(valuesOf(node.apply(rule, {r})[0]), (std::vector<double>{5, -3}));
        QCOMPARE(node.lost(event::Cause::Filter), -7.0 - 7.0);
        QCOMPARE(node.ledger().arrived, -12.0);
        QCOMPARE(node.ledger().magnitude, 24.0);
        RETRO_MADE(read, lrp::makeRule("epsilon", {{"filter", 0.5}}));
        QCOMPARE(std::get<double>((*read)->parameters().at("filter")), 0.5);
        QVERIFY(!lrp::makeRule("epsilon", {{"filter", 0.0}}).ok());
        QVERIFY(!lrp::makeRule("decomposed", {{"filter", 0.5}}).ok());
        // A share that is less than one element keeps one.
        const RulePointer least = lrp::filteredRule(lrp::epsilonRule({exact, BiasPolicy::Absorb}), 1e-3);
        QCOMPARE(valuesOf(node.apply(least, {r})[0]), (std::vector<double>{3, -1}));
    }
};

QTEST_GUILESS_MAIN(OneNodeRulesTest)
#include "onenoderulestest.moc"
