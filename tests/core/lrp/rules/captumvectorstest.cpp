// SPDX-License-Identifier: Apache-2.0
// The numbers that captum checks itself with (docs/rules.md), on the same small models, with
// the switches that make our rules captum's.
#include "core/execute/forward.h"
#include "core/graph/graphbuilder.h"
#include "core/lrp/traversal/oracle.h"
#include "tests/core/lrp/rules/rulefixture.h"

#include <QTest>

#include <fmt/format.h>

#include <numeric>

using namespace retro;
using namespace retro::tests;
using graph::ValueId;
using lrp::CompositeEntry;
using lrp::Matcher;
using lrp::RulePointer;
using ops::StructureKind;

namespace
{

const lrp::LinearOptions kExact{{lrp::StabiliserKind::Add, 0, true}, lrp::BiasPolicy::Absorb};
const lrp::GammaOptions kCaptumGamma{kExact, lrp::GammaForm::Original, false};

/// A model that is built node by node, then explained.
class Model
{
public:
    Model() { m_builder.setOpset("", 13); }

    ValueId input(const std::string& name, const Tensor& value)
    {
        m_inputs.push_back(value);
        m_types.push_back({value.dtype(), value.shape()});
        return m_builder.addInput(name, value.dtype(), value.shape());
    }
    ValueId constant(const Tensor& value) { return m_builder.addConstant(fmt::format("c{}", m_names++), value); }
    ValueId add(const std::string& op, const std::string& name, std::vector<ValueId> operands,
                graph::Attributes attributes = {})
    {
        return m_builder.addOp(op, name, std::move(operands), name + "_out", std::move(attributes));
    }
    // x·Wᵀ, W of out rows.
    ValueId dense(const std::string& name, ValueId x, const Tensor& weights, const Tensor& bias = {})
    {
        std::vector<ValueId> operands{x, constant(weights)};
        if (bias.isValid()) {
            operands.push_back(constant(bias));
        }
        return add("Gemm", name, operands, {{"transB", std::int64_t{1}}});
    }

    /// Relevance of each input when the elements `at` of the output start with their values.
    std::vector<std::vector<double>> explain(ValueId output, const std::vector<std::int64_t>& at,
                                             std::vector<CompositeEntry> entries)
    {
        m_builder.addOutput(output);
        auto graph = std::move(m_builder).build();
        const auto model = tests::made(execute::BoundModel::bind(
            std::make_shared<const graph::Graph>(std::move(graph).value()), m_types, execute::Precision::Double));
        const auto forward = execute::forward(model, m_inputs, execute::SavePolicy::All);
        lrp::Composite composite{"captum", {}, withOthers(std::move(entries)), false};
        const auto rules = tests::made(lrp::assignRules(composite, *model));
        const auto table = lrp::oracle(forward->saved, rules, *lrp::TraversalGraph::build(*model, output),
                                       startOf(forward->outputs.front(), at));
        std::vector<std::vector<double>> relevance;
        for (std::size_t i = 0; i < m_inputs.size(); ++i) {
            relevance.push_back(valuesOf((*table)[model->graph().nodeCount() + i].front()));
        }
        return relevance;
    }

private:
    static Tensor startOf(const Tensor& values, const std::vector<std::int64_t>& at)
    {
        std::vector<double> start(static_cast<std::size_t>(values.size()), 0);
        for (const std::int64_t i : at) {
            start[static_cast<std::size_t>(i)] = values.at(i);
        }
        return doubles(values.shape(), start);
    }

    // captum: epsilon in layers and pools, activations passed over, sums that are no module duplicate like a gradient.
    static std::vector<CompositeEntry> withOthers(std::vector<CompositeEntry> entries)
    {
        const auto add = [&](StructureKind kind, RulePointer rule) {
            Matcher matcher;
            matcher.structure = kind;
            entries.push_back({std::move(matcher), std::move(rule)});
        };
        add(StructureKind::LinearMap, lrp::epsilonRule(kExact));
        add(StructureKind::ElementWise, lrp::passRule());
        add(StructureKind::MaxPool, lrp::winnerRule());
        add(StructureKind::ShapeMap, lrp::passRule());
        add(StructureKind::SumOfOperands, lrp::gradientRule());
        return entries;
    }

    graph::GraphBuilder m_builder;
    std::vector<Tensor> m_inputs;
    std::vector<ops::TensorType> m_types;
    int m_names = 0;
};

CompositeEntry named(const std::string& name, RulePointer rule)
{
    Matcher matcher;
    matcher.nameGlob = name;
    return {std::move(matcher), std::move(rule)};
}

Tensor filled(Shape shape, double value) { return Tensor::full(DType::Float64, std::move(shape), value); }

/// 3-3-1 with ReLU between, weights 2 and 3; the first weight can be another one.
std::vector<double> perceptron(const Tensor& x, double firstWeight, std::vector<CompositeEntry> entries,
                               const char* activation = "Relu", double lower = 2, double upper = 3)
{
    Model model;
    std::vector<double> weights(9, lower);
    weights[0] = firstWeight;
    const ValueId hidden = model.dense("linear", model.input("x", x), doubles({3, 3}, weights));
    const ValueId output = model.dense("linear2", model.add(activation, "act", {hidden}), filled({1, 3}, upper));
    std::vector<std::int64_t> all(static_cast<std::size_t>(x.shape()[0]));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return model.explain(output, all, std::move(entries)).front();
}

const Tensor kOneTwoThree = doubles({1, 3}, {1, 2, 3});

} // namespace

class CaptumVectorsTest : public QObject
{
    Q_OBJECT

private slots:
    void epsilonOfAPerceptron()
    {
        QVERIFY(distance(perceptron(kOneTwoThree, 2, {}), {18, 36, 54}) < 1e-12);
        const Tensor batch = doubles({2, 3}, {1, 2, 3, 3, 6, 9});
        QVERIFY(distance(perceptron(batch, 2, {}), {18, 36, 54, 54, 108, 162}) < 1e-12);
    }

    // Of positive weights and no bias, epsilon is input times gradient.
    void epsilonIsInputTimesGradient()
    {
        std::vector<double> expected = perceptron(kOneTwoThree, 2, {named("*", lrp::gradientRule())});
        for (std::size_t i = 0; i < 3; ++i) {
            expected[i] *= kOneTwoThree.at(static_cast<std::int64_t>(i)) / 108; // started with the logit, not with 1
        }
        QVERIFY(distance(expected, {18, 36, 54}) < 1e-12);
    }

    void gamma()
    {
        const std::vector<double> got = perceptron(
            kOneTwoThree, -2,
            {named("linear", lrp::gammaRule(1, kCaptumGamma)), named("linear2", lrp::gammaRule(0.25, kCaptumGamma))});
        QVERIFY(distance(got, {28.0 / 3, 104.0 / 3, 52}) < 1e-12);
    }

    void alphaOneBetaZero()
    {
        const RulePointer plus = lrp::zPlusRule(kExact, lrp::PlusForm::Raw);
        QVERIFY(distance(perceptron(kOneTwoThree, -2, {named("linear*", plus)}), {12, 33.6, 50.4}) < 1e-12);
    }

    void identity()
    {
        QVERIFY(distance(perceptron(kOneTwoThree, -2, {named("linear", lrp::passRule())}), {24, 36, 36}) < 1e-12);
    }

    void tanhIsPassedOver()
    {
        const std::vector<double> got = perceptron(kOneTwoThree, 0.1, {}, "Tanh", 0.1, 0.1);
        QVERIFY(distance(got, {.0269, .0537, .0806}) < 1e-4);
    }

    void convolution()
    {
        Model model;
        std::vector<double> pixels(16);
        std::iota(pixels.begin(), pixels.end(), 0.0);
        const ValueId x = model.input("x", doubles({1, 1, 4, 4}, pixels));
        const ValueId conv = model.add(
            "Conv", "conv", {x, model.constant(filled({2, 1, 3, 3}, 1)), model.constant(doubles({2}, {-50, -75}))});
        const ValueId flat = model.add("Flatten", "flat", {model.add("Relu", "relu", {conv})});
        std::vector<double> weights;
        for (int row = 0; row < 4; ++row) {
            weights.insert(weights.end(), {1, 1, 1, 1, 1, -1, -1, -1});
        }
        const ValueId out = model.dense("fc", flat, doubles({4, 8}, weights), filled({4}, 0));
        const std::vector<double> got = model.explain(model.add("Relu", "relu2", {out}), {0}, {}).front();
        QVERIFY(distance(got, {0, 1, 2, 3, 0, 5, 6, 7, 0, 9, 10, 11, 0, 0, 0, 0}) < 1e-12);
    }

    void skipConnection()
    {
        Model model;
        const ValueId x = model.input("x", doubles({1, 2}, {2, 3}));
        const ValueId sum = model.add("Add", "add", {model.dense("linear", x, filled({2, 2}, 5)), x});
        const RulePointer norm = lrp::normRule({lrp::StabiliserKind::Add, 0, true});
        QVERIFY(distance(model.explain(sum, {1}, {named("add", norm)}).front(), {10, 18}) < 1e-12);
    }

    void maxPools()
    {
        Model line;
        const ValueId x = line.input("x", doubles({1, 2, 2}, {1, 2, 5, 6}));
        const ValueId hidden = line.add("MatMul", "linear", {x, line.constant(filled({2, 2}, 2))});
        const ValueId pooled = line.add("MaxPool", "pool", {hidden}, {{"kernel_shape", std::vector<std::int64_t>{2}}});
        QVERIFY(distance(line.explain(pooled, {1}, {}).front(), {0, 0, 10, 12}) < 1e-12);
        Model plane;
        const ValueId square = plane.input("x", doubles({1, 1, 2, 2}, {1, 2, 5, 6}));
        const ValueId flat =
            plane.add("MaxPool", "pool", {square}, {{"kernel_shape", std::vector<std::int64_t>{2, 2}}});
        QCOMPARE(plane.explain(flat, {0}, {}).front(), (std::vector<double>{0, 0, 0, 6}));
        Model space;
        const ValueId cube = space.input("x", doubles({1, 1, 2, 2, 2}, {1, 2, 5, 6, 3, 4, 7, 8}));
        const ValueId deep =
            space.add("MaxPool", "pool", {cube}, {{"kernel_shape", std::vector<std::int64_t>{2, 2, 2}}});
        QCOMPARE(space.explain(deep, {0}, {}).front(), (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 8}));
    }

    // Both inputs of a sum that is no module get everything: 88 starts, 96 twice arrives, 104 too much.
    void twoInputs()
    {
        Model model;
        const ValueId first = model.input("a", kOneTwoThree);
        const ValueId second = model.input("b", doubles({1, 3}, {3, 6, 9}));
        const ValueId sum = model.add("Add", "sum", {first, second});
        const ValueId same = model.dense("linear0", sum, doubles({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}), filled({3}, 0));
        const ValueId hidden = model.dense("linear1", same, filled({4, 3}, 1), doubles({4}, {-10, 1, 1, 1}));
        const ValueId out =
            model.dense("linear2", model.add("Relu", "relu", {hidden}), filled({2, 4}, 1), doubles({2}, {-1, 1}));
        const std::vector<std::vector<double>> got = model.explain(out, {0}, {});
        QVERIFY(distance(got[0], {16, 32, 48}) < 1e-12);
        const double arrived =
            std::accumulate(got[0].begin(), got[0].end(), 0.0) + std::accumulate(got[1].begin(), got[1].end(), 0.0);
        QVERIFY(std::abs(88 - arrived - -104) < 1e-12);
    }
};

QTEST_GUILESS_MAIN(CaptumVectorsTest)
#include "captumvectorstest.moc"
