// SPDX-License-Identifier: Apache-2.0
// Weight rules against their formulas written out element by element on small matrices.
#include "tests/core/lrp/rules/rulefixture.h"

#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::tests;
using event::Cause;
using lrp::BiasPolicy;
using lrp::LinearOptions;
using lrp::RulePointer;

namespace
{

double up(double t) { return std::max(t, 0.0); }
double down(double t) { return std::min(t, 0.0); }
double stabilised(double d, double e) { return d >= 0 ? d + e : d - e; }

/// One layer in numbers: z_j = Σ_i x_i·w_ij + b_j.
struct Layer
{
    std::vector<double> x;
    std::vector<double> w; // input by output
    std::vector<double> b;
    std::vector<double> r;

    [[nodiscard]] std::size_t outputs() const { return b.size(); }
    [[nodiscard]] double weight(std::size_t i, std::size_t j) const { return w[i * outputs() + j]; }
    [[nodiscard]] double z(std::size_t j) const
    {
        double sum = b[j];
        for (std::size_t i = 0; i < x.size(); ++i) {
            sum += x[i] * weight(i, j);
        }
        return sum;
    }
};

/// Numerator of input i at output j, and bias of output j, in one half of a rule.
struct Half
{
    std::function<double(double x, double w)> term;
    std::function<double(double b)> bias;
    std::function<double(double z, double r)> relevance = [](double, double r) { return r; };
    double factor = 1;
};

// R_i = Σ_j factor · term(x_i, w_ij) · r_j / stab(Σ_i term + bias).
std::vector<double> written(const Layer& layer, const std::vector<Half>& halves, BiasPolicy policy, double e = 1e-6)
{
    std::vector<double> result(layer.x.size(), 0);
    for (const Half& half : halves) {
        for (std::size_t j = 0; j < layer.outputs(); ++j) {
            double own = 0;
            for (std::size_t i = 0; i < layer.x.size(); ++i) {
                own += half.term(layer.x[i], layer.weight(i, j));
            }
            const double bias = policy == BiasPolicy::Zero ? 0 : half.bias(layer.b[j]);
            const double stab = stabilised(own + bias, e);
            const double r = half.relevance(layer.z(j), layer.r[j]);
            const double s = stab == 0 ? 0 : r / stab;
            const double kept = bias + stab - (own + bias);
            const double spread = policy == BiasPolicy::Spread ? kept * s / static_cast<double>(layer.x.size()) : 0;
            for (std::size_t i = 0; i < layer.x.size(); ++i) {
                result[i] += half.factor * (half.term(layer.x[i], layer.weight(i, j)) * s + spread);
            }
        }
    }
    return result;
}

double none(double) { return 0; }
double same(double t) { return t; }
double zPlusTerm(double x, double w) { return up(x) * up(w) + down(x) * down(w); }
double zMinusTerm(double x, double w) { return up(x) * down(w) + down(x) * up(w); }

std::vector<Half> gammaHalves(double g)
{
    const auto raised = [g](double t) { return t + g * up(t); };
    const auto lowered = [g](double t) { return t + g * down(t); };
    return {{[=](double x, double w) { return up(x) * raised(w) + down(x) * lowered(w); }, raised,
             [](double z, double r) { return z > 0 ? r : 0; }, 1},
            {[=](double x, double w) { return up(x) * lowered(w) + down(x) * raised(w); }, lowered,
             [](double z, double r) { return z < 0 ? r : 0; }, 1}};
}

Layer mixedLayer(unsigned seed)
{
    return {valuesOf(noise({6}, seed)), valuesOf(noise({6, 4}, seed + 1)), valuesOf(noise({4}, seed + 2)),
            valuesOf(noise({4}, seed + 3))};
}

OneNode nodeOf(const Layer& layer, execute::Precision precision = execute::Precision::Double)
{
    const auto inputs = static_cast<std::int64_t>(layer.x.size());
    const auto outputs = static_cast<std::int64_t>(layer.outputs());
    return OneNode("Gemm",
                   {{doubles({1, inputs}, layer.x)},
                    {doubles({inputs, outputs}, layer.w), true},
                    {doubles({outputs}, layer.b), true}},
                   {}, precision);
}

std::vector<double> applied(OneNode& node, const RulePointer& rule, const Layer& layer)
{
    const auto outputs = static_cast<std::int64_t>(layer.outputs());
    return valuesOf(node.apply(rule, {doubles({1, outputs}, layer.r)}).at(0));
}

struct Case
{
    const char* name;
    std::function<RulePointer(LinearOptions)> rule;
    std::vector<Half> halves;
    bool hasBias = true;
};

std::vector<Case> cases()
{
    const auto plain = [](double x, double w) { return x * w; };
    return {
        {"epsilon", [](LinearOptions o) { return lrp::epsilonRule(o); }, {{plain, same}}},
        {"z-plus", [](LinearOptions o) { return lrp::zPlusRule(o); }, {{zPlusTerm, up}}},
        {"alpha 2 beta 1",
         [](LinearOptions o) { return lrp::alphaBetaRule(2, 1, o); },
         {{zPlusTerm, up, [](double, double r) { return r; }, 2},
          {zMinusTerm, down, [](double, double r) { return r; }, -1}}},
        {"gamma 0.25", [](LinearOptions o) { return lrp::gammaRule(0.25, o); }, gammaHalves(0.25)},
        {"w-square",
         [](LinearOptions o) { return lrp::wSquareRule(o); },
         {{[](double, double w) { return w * w; }, [](double b) { return b * b; }}}},
        {"flat", [](LinearOptions) { return lrp::flatRule(); }, {{[](double, double) { return 1.0; }, none}}, false},
        {"z-box",
         [](LinearOptions) { return lrp::zBoxRule(-1.5, 2); },
         {{[](double x, double w) { return x * w + 1.5 * up(w) - 2 * down(w); }, none}},
         false},
    };
}

} // namespace

class LinearRulesTest : public QObject
{
    Q_OBJECT

private slots:
    void formula_data()
    {
        QTest::addColumn<int>("index");
        QTest::addColumn<int>("policy");
        const std::vector<Case> all = cases();
        for (int i = 0; i < static_cast<int>(all.size()); ++i) {
            for (int policy = 0; policy < (all[static_cast<std::size_t>(i)].hasBias ? 3 : 1); ++policy) {
                QTest::addRow("%s, bias %d", all[static_cast<std::size_t>(i)].name, policy) << i << policy;
            }
        }
    }
    void formula()
    {
        QFETCH(int, index);
        QFETCH(int, policy);
        const Case one = cases().at(static_cast<std::size_t>(index));
        LinearOptions options;
        options.bias = static_cast<BiasPolicy>(policy);
        for (unsigned seed = 1; seed < 200; seed += 10) {
            const Layer layer = mixedLayer(seed);
            const std::vector<double> expected =
                written(layer, one.halves, one.hasBias ? options.bias : BiasPolicy::Zero);
            double scale = 0;
            for (const double value : expected) {
                scale = std::max(scale, std::abs(value));
            }
            OneNode node = nodeOf(layer);
            const std::vector<double> got = applied(node, one.rule(options), layer);
            QVERIFY2(distance(got, expected) <= 1e-10 * scale, one.name);
            OneNode small = nodeOf(layer, execute::Precision::Float);
            const std::vector<double> inFloat = applied(small, one.rule(options), layer);
            QVERIFY2(distance(inFloat, expected) <= 2e-4 * scale, one.name);
        }
    }

    // Skipping what is zero anyway gives the same as the full formula.
    void inputsThatAreNotNegative()
    {
        for (const Case& one : cases()) {
            Layer layer = mixedLayer(7);
            for (double& value : layer.x) {
                value = std::abs(value);
            }
            for (std::size_t j = 0; j < layer.outputs(); ++j) {
                layer.r[j] = layer.z(j) > 0 ? layer.r[j] : 0;
            }
            OneNode node = nodeOf(layer);
            const std::vector<double> got = applied(node, one.rule({}), layer);
            const BiasPolicy policy = one.hasBias ? BiasPolicy::Absorb : BiasPolicy::Zero;
            QVERIFY2(distance(got, written(layer, one.halves, policy)) <= 1e-9, one.name);
        }
    }

    void spreadingConserves()
    {
        LinearOptions options;
        options.bias = BiasPolicy::Spread;
        const Layer layer = mixedLayer(42);
        for (const RulePointer& rule : {lrp::epsilonRule(options), lrp::zPlusRule(options)}) {
            OneNode node = nodeOf(layer);
            static_cast<void>(applied(node, rule, layer));
            QVERIFY(std::abs(node.ledger().arrived - node.ledger().handedOn) <= 1e-12 * node.ledger().magnitude);
            QCOMPARE(node.lost(Cause::Bias), 0.0);
        }
    }

    // R_i = Σ_j (x_i·w_ij + f·(b_j + e·sgn z_j)/N)·R_j/stab(z_j), as Arras et al. write it down.
    void partOfTheBiasIsSpread()
    {
        LinearOptions options;
        options.bias = BiasPolicy::Spread;
        options.stabiliser.epsilon = 0.125;
        const Layer layer = mixedLayer(42);
        const auto inputs = static_cast<double>(layer.x.size());
        for (const double factor : {0.0, 0.3, 1.0}) {
            options.biasFactor = factor;
            std::vector<double> expected(layer.x.size());
            double lost = 0;
            for (std::size_t j = 0; j < layer.outputs(); ++j) {
                const double stab = stabilised(layer.z(j), 0.125);
                const double extra = layer.b[j] + stab - layer.z(j);
                for (std::size_t i = 0; i < layer.x.size(); ++i) {
                    expected[i] += (layer.x[i] * layer.weight(i, j) + factor * extra / inputs) * layer.r[j] / stab;
                }
                lost += (1 - factor) * layer.b[j] * layer.r[j] / stab;
            }
            OneNode node = nodeOf(layer);
            QVERIFY(distance(applied(node, lrp::epsilonRule(options), layer), expected) < 1e-12);
            QVERIFY(std::abs(node.lost(Cause::Bias) - lost) < 1e-12);
        }
        LinearOptions absorbing = options;
        absorbing.bias = BiasPolicy::Absorb;
        options.biasFactor = 0;
        OneNode node = nodeOf(layer);
        const std::vector<double> none = applied(node, lrp::epsilonRule(options), layer);
        QVERIFY(distance(none, applied(node, lrp::epsilonRule(absorbing), layer)) < 1e-12);
        QVERIFY(!lrp::makeRule("epsilon", {{"bias_factor", 0.5}}).ok());
    }

    void biasAndStabiliserAreBooked()
    {
        // x·w = 2, b = 2, e = 1: 0.4 to the input, 0.4 to the bias, 0.2 to the stabiliser.
        const Layer layer{{1}, {2}, {2}, {1}};
        OneNode node = nodeOf(layer);
        LinearOptions options;
        options.stabiliser.epsilon = 1;
        QVERIFY(distance(applied(node, lrp::epsilonRule(options), layer), {0.4}) < 1e-15);
        QVERIFY(std::abs(node.lost(Cause::Bias) - 0.4) < 1e-15);
        QVERIFY(std::abs(node.lost(Cause::Stabiliser) - 0.2) < 1e-15);
        QCOMPARE(node.lost(Cause::ZeroDenominator), 0.0);
        options.bias = BiasPolicy::Zero;
        QVERIFY(distance(applied(node, lrp::epsilonRule(options), layer), {2.0 / 3}) < 1e-15);
        QCOMPARE(node.lost(Cause::Bias), 0.0);
    }

    void nothingToDistributeTo()
    {
        // Output 0 has only negative weights: nothing positive to hand its relevance to.
        const Layer layer{{1, 2}, {-1, 1, -1, 1}, {0, 0}, {3, 4}};
        OneNode node = nodeOf(layer);
        const std::vector<double> got = applied(node, lrp::zPlusRule(), layer);
        QVERIFY(distance(got, {4.0 / 3, 8.0 / 3}) < 1e-5);
        QCOMPARE(node.lost(Cause::ZeroDenominator), 3.0);
        QVERIFY(std::abs(node.lost(Cause::Stabiliser)) < 1e-5);
    }

    void zeroByZeroIsZero()
    {
        const Layer layer{{1, 1}, {1, 2, -1, -2}, {0, 0}, {3, 4}};
        LinearOptions zero;
        zero.stabiliser.epsilon = 0;
        for (const BiasPolicy policy : {BiasPolicy::Absorb, BiasPolicy::Zero, BiasPolicy::Spread}) {
            zero.bias = policy;
            for (const RulePointer& rule : {lrp::epsilonRule(zero), lrp::gammaRule(0.5, zero)}) {
                OneNode node = nodeOf(layer);
                QCOMPARE(applied(node, rule, layer), (std::vector<double>{0, 0}));
                QCOMPARE(node.lost(Cause::ZeroDenominator), 7.0);
            }
        }
    }

    void gammaTakesItsBranchByTheBias()
    {
        // x·w = −1, z = 1: the branch of z > 0 even when the rule leaves the bias out of the denominator.
        const Layer layer{{1}, {-1}, {2}, {1}};
        LinearOptions options;
        options.bias = BiasPolicy::Zero;
        OneNode node = nodeOf(layer);
        const double expected = -1 / (-1 - 1e-6);
        QVERIFY(distance(applied(node, lrp::gammaRule(1, options), layer), {expected}) < 1e-12);
        const Layer below{{1}, {-1}, {0.5}, {1}};
        OneNode other = nodeOf(below);
        QVERIFY(distance(applied(other, lrp::gammaRule(1, options), below), {-2 / (-2 - 1e-6)}) < 1e-12);
    }

    void stabilisers()
    {
        const Layer layer{{1}, {0.5}, {0}, {1}};
        OneNode node = nodeOf(layer);
        LinearOptions options;
        options.stabiliser = {lrp::StabiliserKind::Clip, 2, true};
        QVERIFY(distance(applied(node, lrp::epsilonRule(options), layer), {0.25}) < 1e-15);
        options.stabiliser = {lrp::StabiliserKind::RmsScaled, 1, true};
        QVERIFY(distance(applied(node, lrp::epsilonRule(options), layer), {0.5}) < 1e-15);
        const Layer negative{{1}, {-0.5}, {0}, {1}};
        OneNode other = nodeOf(negative);
        options.stabiliser = {lrp::StabiliserKind::Add, 1, false};
        QVERIFY(distance(applied(other, lrp::epsilonRule(options), negative), {-1}) < 1e-15);
    }

    // 3-3-1, weights 2 and 3, input 1 2 3: hand-made vectors of captum, where its formulas are ours.
    void publishedNumbers()
    {
        const RulePointer zero = lrp::epsilonRule({{lrp::StabiliserKind::Add, 0, true}, BiasPolicy::Absorb});
        const Layer top{{12, 12, 12}, {3, 3, 3}, {0}, {108}};
        OneNode topNode = nodeOf(top);
        const std::vector<double> middle = applied(topNode, zero, top);
        QVERIFY(distance(middle, {36, 36, 36}) < 1e-12);
        const Layer bottom{{1, 2, 3}, {2, 2, 2, 2, 2, 2, 2, 2, 2}, {0, 0, 0}, middle};
        OneNode bottomNode = nodeOf(bottom);
        QVERIFY(distance(applied(bottomNode, zero, bottom), {18, 36, 54}) < 1e-12);
        // One weight of −2.
        const Layer signedLayer{{1, 2, 3}, {-2, 2, 2, 2, 2, 2, 2, 2, 2}, {0, 0, 0}, {24, 36, 36}};
        OneNode signedNode = nodeOf(signedLayer);
        LinearOptions plain;
        plain.stabiliser.epsilon = 0;
        QVERIFY(distance(applied(signedNode, lrp::gammaRule(1, plain), signedLayer), {28.0 / 3, 104.0 / 3, 52}) <
                1e-12);
        QVERIFY(distance(applied(signedNode, lrp::zPlusRule(plain), signedLayer), {12, 33.6, 50.4}) < 1e-12);
    }

    void batchesAndBothSides()
    {
        // The weight on the left: z = w·x. Epsilon spreads each result's relevance over a column of x.
        const Tensor x = noise({3, 2}, 3);
        const Tensor w = noise({4, 3}, 4);
        const Tensor r = noise({4, 2}, 5);
        OneNode node("MatMul", {{w, true}, {x}});
        const std::vector<double> z = valuesOf(node.forward().at(0));
        std::vector<double> expected(6, 0);
        for (std::int64_t j = 0; j < 4; ++j) {
            for (std::int64_t n = 0; n < 2; ++n) {
                for (std::int64_t i = 0; i < 3; ++i) {
                    const double s = r.at(j * 2 + n) / stabilised(z[static_cast<std::size_t>(j * 2 + n)], 1e-6);
                    expected[static_cast<std::size_t>(i * 2 + n)] += x.at(i * 2 + n) * w.at(j * 3 + i) * s;
                }
            }
        }
        QVERIFY(distance(valuesOf(node.apply(lrp::epsilonRule(), {r}).at(1)), expected) < 1e-10);
    }
};

QTEST_GUILESS_MAIN(LinearRulesTest)
#include "linearrulestest.moc"
