// SPDX-License-Identifier: Apache-2.0
// Weight rules on convolutions: the matrix of the map is taken from its Jacobian, and the rules must give on the
// convolution what they give on that matrix.
#include "tests/core/lrp/rules/rulefixture.h"

#include <QTest>

#include <algorithm>
#include <cmath>

using namespace retro;
using namespace retro::tests;
using lrp::BiasPolicy;
using lrp::LinearOptions;
using lrp::RulePointer;

namespace
{

using Ints = std::vector<std::int64_t>;

struct Geometry
{
    const char* name;
    const char* op;
    Shape x;
    Shape w;
    std::int64_t biases;
    graph::Attributes attributes;
};

std::vector<Geometry> geometries()
{
    return {
        {"plain", "Conv", {1, 2, 3, 3}, {3, 2, 2, 2}, 3, {}},
        {"padded and strided",
         "Conv",
         {1, 2, 4, 3},
         {2, 2, 3, 2},
         2,
         {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 1}}}},
        {"depthwise", "Conv", {1, 3, 4}, {3, 1, 3}, 3, {{"group", std::int64_t{3}}, {"pads", Ints{1, 1}}}},
        {"grouped and dilated",
         "Conv",
         {1, 4, 5},
         {2, 2, 2},
         2,
         {{"group", std::int64_t{2}}, {"dilations", Ints{2}}, {"pads", Ints{1, 1}}}},
        {"transposed", "ConvTranspose", {1, 2, 3}, {2, 3, 2}, 3, {{"strides", Ints{2}}}},
    };
}

std::vector<std::pair<const char*, RulePointer>> rules()
{
    std::vector<std::pair<const char*, RulePointer>> result;
    for (const BiasPolicy policy : {BiasPolicy::Absorb, BiasPolicy::Zero}) {
        LinearOptions options;
        options.bias = policy;
        result.emplace_back("epsilon", lrp::epsilonRule(options));
        result.emplace_back("z-plus", lrp::zPlusRule(options));
        result.emplace_back("alpha-beta", lrp::alphaBetaRule(2, 1, options));
        result.emplace_back("gamma", lrp::gammaRule(0.25, options));
        result.emplace_back("w-square", lrp::wSquareRule(options));
    }
    result.emplace_back("z-box", lrp::zBoxRule(-1, 1));
    result.emplace_back("gradient", lrp::gradientRule());
    return result;
}

// The same map as one matrix product: row i of the matrix is the answer to the i-th unit input.
OneNode asMatrix(const OneNode& node)
{
    const Tensor& x = node.operands()[0];
    std::vector<Tensor> operands = node.operands();
    const auto answer = [&](const std::vector<double>& values) {
        operands[0] = doubles(x.shape(), values);
        return valuesOf(node.forward(operands)[0]);
    };
    std::vector<double> probe(static_cast<std::size_t>(x.size()), 0);
    const std::vector<double> bias = answer(probe);
    std::vector<double> matrix;
    for (double& element : probe) {
        element = 1;
        const std::vector<double> row = answer(probe);
        element = 0;
        for (std::size_t j = 0; j < row.size(); ++j) {
            matrix.push_back(row[j] - bias[j]);
        }
    }
    const auto outputs = static_cast<std::int64_t>(bias.size());
    return OneNode(
        "Gemm",
        {{x.reshaped({1, x.size()})}, {doubles({x.size(), outputs}, matrix), true}, {doubles({outputs}, bias), true}});
}

OneNode convolution(const Geometry& geometry, unsigned seed)
{
    return OneNode(
        geometry.op,
        {{noise(geometry.x, seed)}, {noise(geometry.w, seed + 1), true}, {noise({geometry.biases}, seed + 2), true}},
        geometry.attributes);
}

} // namespace

class ConvolutionRulesTest : public QObject
{
    Q_OBJECT

private slots:
    void sameAsTheMatrix_data()
    {
        QTest::addColumn<int>("index");
        for (int i = 0; i < static_cast<int>(geometries().size()); ++i) {
            QTest::newRow(geometries()[static_cast<std::size_t>(i)].name) << i;
        }
    }
    void sameAsTheMatrix()
    {
        QFETCH(int, index);
        const Geometry geometry = geometries()[static_cast<std::size_t>(index)];
        for (unsigned seed = 1; seed < 50; seed += 10) {
            OneNode node = convolution(geometry, seed);
            OneNode matrix = asMatrix(node);
            const Tensor r = noise(node.forward()[0].shape(), seed + 5);
            for (const auto& [name, rule] : rules()) {
                const std::vector<double> got = valuesOf(node.apply(rule, {r})[0]);
                const std::vector<double> expected = valuesOf(matrix.apply(rule, {r.reshaped({1, r.size()})})[0]);
                double scale = 1e-3;
                for (const double value : expected) {
                    scale = std::max(scale, std::abs(value));
                }
                QVERIFY2(distance(got, expected) <= 1e-9 * scale, name);
            }
        }
    }

    void flatCountsOnlyWhatIsThere()
    {
        // Windows of 3 on 3 elements with one of padding on each side: 2, 3 and 2 valid inputs.
        OneNode node("Conv", {{noise({1, 1, 3}, 1)}, {noise({1, 1, 3}, 2), true}}, {{"pads", Ints{1, 1}}});
        const Tensor r = doubles({1, 1, 3}, {4, 9, 8});
        const lrp::Stabiliser none{lrp::StabiliserKind::Add, 0, true};
        QVERIFY(distance(valuesOf(node.apply(lrp::flatRule(none), {r})[0]), {2 + 3, 2 + 3 + 4, 3 + 4}) < 1e-12);
        OneNode depthwise("Conv", {{noise({1, 2, 1}, 1)}, {noise({2, 1, 1}, 2), true}}, {{"group", std::int64_t{2}}});
        const Tensor two = doubles({1, 2, 1}, {4, 9});
        QCOMPARE(valuesOf(depthwise.apply(lrp::flatRule(none), {two})[0]), (std::vector<double>{4, 9}));
    }

    void spreadingReachesOnlyTheWindow()
    {
        OneNode node("Conv",
                     {{doubles({1, 1, 3}, {1, 1, 1})}, {doubles({1, 1, 2}, {1, 1}), true}, {doubles({1}, {2}), true}});
        LinearOptions options{{lrp::StabiliserKind::Add, 0, true}, BiasPolicy::Spread};
        const std::vector<double> got =
            valuesOf(node.apply(lrp::epsilonRule(options), {doubles({1, 1, 2}, {8, 0})})[0]);
        QVERIFY(distance(got, {4, 4, 0}) < 1e-12);
    }
};

QTEST_GUILESS_MAIN(ConvolutionRulesTest)
#include "convolutionrulestest.moc"
