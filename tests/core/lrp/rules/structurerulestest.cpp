// SPDX-License-Identifier: Apache-2.0
// Rules for structures without weights, by their formulas; the gradient rule by finite differences.
#include "core/lrp/rules/ruleapplication.h"
#include "tests/core/lrp/rules/rulefixture.h"

#include <QTest>

#include <cmath>

using namespace retro;
using namespace retro::tests;
using event::Cause;
using lrp::LinearOptions;
using lrp::RulePointer;

namespace
{

using Values = std::vector<double>;

lrp::Stabiliser exactly(double e) { return {lrp::StabiliserKind::Add, e, true}; }

graph::Attributes axes(std::vector<std::int64_t> list, std::int64_t keep)
{
    return {{"axes", std::move(list)}, {"keepdims", keep}};
}

// Σ r·f(x) with element i of operand `slot` moved by h.
double moved(const OneNode& node, std::size_t slot, std::size_t i, double h, const Values& r)
{
    std::vector<Tensor> operands = node.operands();
    Values values = valuesOf(operands[slot]);
    values[i] += h;
    operands[slot] = doubles(operands[slot].shape(), values);
    const Values z = valuesOf(node.forward(operands).at(0));
    double sum = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
        sum += z[k] * r[k];
    }
    return sum;
}

void checkGradient(OneNode node, unsigned seed)
{
    const Tensor r = noise(node.forward().at(0).shape(), seed);
    const std::vector<Tensor> parts = node.apply(lrp::gradientRule(), {r});
    for (std::size_t slot = 0; slot < parts.size(); ++slot) {
        for (std::int64_t i = 0; parts[slot].isValid() && i < parts[slot].size(); ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double h = 1e-5;
            const double slope =
                (moved(node, slot, at, h, valuesOf(r)) - moved(node, slot, at, -h, valuesOf(r))) / (2 * h);
            QVERIFY(std::abs(parts[slot].at(i) - slope) < 1e-7);
        }
    }
}

// A max pool under softmax-weighted with beta 1 gives these parts, and loses nothing.
void checkSoftmaxWeighted(OneNode& pool, const Tensor& r, const Values& expected)
{
    const Values parts = valuesOf(pool.apply(lrp::makeRule("softmax-weighted", {}).value(), {r})[0]);
    QVERIFY(distance(parts, expected) < 1e-12);
    QCOMPARE(pool.lost(Cause::Unread), 0.0);
}

} // namespace

class StructureRulesTest : public QObject
{
    Q_OBJECT

private slots:
    void normOnASum()
    {
        OneNode node("Add", {{doubles({2}, {3, -1})}, {doubles({2}, {1, 2})}});
        const std::vector<Tensor> parts = node.apply(lrp::normRule(exactly(0)), {doubles({2}, {8, 5})});
        QVERIFY(distance(valuesOf(parts[0]), {6, -5}) < 1e-12);
        QVERIFY(distance(valuesOf(parts[1]), {2, 10}) < 1e-12);
    }

    void normOnADifference()
    {
        OneNode node("Sub", {{doubles({1}, {5})}, {doubles({1}, {2})}});
        const std::vector<Tensor> parts = node.apply(lrp::normRule(exactly(1)), {doubles({1}, {8})});
        QVERIFY(distance(valuesOf(parts[0]), {10}) < 1e-12);
        QVERIFY(distance(valuesOf(parts[1]), {-4}) < 1e-12);
        QVERIFY(std::abs(node.lost(Cause::Stabiliser) - 2) < 1e-12);
    }

    void normUndoesBroadcasting()
    {
        // (2×2) + (2): the vector gets the sum of its copies' shares.
        OneNode node("Add", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({2}, {1, -1})}});
        const std::vector<Tensor> parts = node.apply(lrp::normRule(exactly(0)), {doubles({2, 2}, {2, 3, 4, 6})});
        QVERIFY(distance(valuesOf(parts[0]), {1, 6, 3, 8}) < 1e-12);
        QVERIFY(distance(valuesOf(parts[1]), {1 + 1, -3 - 2}) < 1e-12);
    }

    void aConstantAbsorbsItsShare()
    {
        OneNode node("Add", {{doubles({2, 1}, {3, 1})}, {doubles({1, 2}, {1, 3}), true}});
        const std::vector<Tensor> parts = node.apply(lrp::normRule(exactly(0)), {doubles({2, 2}, {4, 6, 2, 4})});
        QVERIFY(!parts[1].isValid());
        QVERIFY(distance(valuesOf(parts[0]), {3 + 3, 1 + 1}) < 1e-12);
        QVERIFY(std::abs(node.lost(Cause::Constant) - (1 + 3 + 1 + 3)) < 1e-12);
    }

    void aSumThatCancels()
    {
        OneNode node("Add", {{doubles({1}, {2})}, {doubles({1}, {-2})}});
        const std::vector<Tensor> parts = node.apply(lrp::normRule(exactly(0)), {doubles({1}, {8})});
        QCOMPARE(valuesOf(parts[0]), Values{0});
        QCOMPARE(node.lost(Cause::ZeroDenominator), 8.0);
    }

    void normOnReductions()
    {
        const Tensor x = doubles({2, 3}, {1, 2, 3, 4, -1, 5});
        const Values expected{1, 2, 3, 8, -2, 10}; // r = 6, 16 over sums of 6, 8
        OneNode mean("ReduceMean", {{x}}, axes({1}, 0));
        QVERIFY(distance(valuesOf(mean.apply(lrp::normRule(exactly(0)), {doubles({2}, {6, 16})})[0]), expected) <
                1e-12);
        OneNode sum("ReduceSum", {{x}, {Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{1}), true}});
        QVERIFY(distance(valuesOf(sum.apply(lrp::normRule(exactly(0)), {doubles({2, 1}, {6, 16})})[0]), expected) <
                1e-12);
    }

    void absRatio()
    {
        OneNode add("Add", {{doubles({2}, {3, -1})}, {doubles({2}, {1, 2})}});
        std::vector<Tensor> parts = add.apply(lrp::absRatioRule(), {doubles({2}, {8, 6})});
        QVERIFY(distance(valuesOf(parts[0]), {6, 2}) < 1e-9);
        QVERIFY(distance(valuesOf(parts[1]), {2, 4}) < 1e-9);
        OneNode sub("Sub", {{doubles({2}, {1, 2})}, {doubles({2}, {3, 6})}});
        parts = sub.apply(lrp::absRatioRule(), {doubles({2}, {8, 16})});
        QVERIFY(distance(valuesOf(parts[0]), {2, 4}) < 1e-9);
        QVERIFY(distance(valuesOf(parts[1]), {6, 12}) < 1e-9);
        OneNode mul("Mul", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({1}, {-1})}});
        parts = mul.apply(lrp::absRatioRule(), {doubles({2, 2}, {2, 3, 4, 5})});
        QVERIFY(distance(valuesOf(parts[0]), {1, 2, 3, 4}) < 1e-9);
        QVERIFY(distance(valuesOf(parts[1]), {4}) < 1e-9);
        OneNode div("Div", {{doubles({1}, {3})}, {doubles({1}, {-0.5})}});
        parts = div.apply(lrp::absRatioRule(), {doubles({1}, {10})});
        QVERIFY(distance(valuesOf(parts[0]), {6}) < 1e-9);
        QVERIFY(distance(valuesOf(parts[1]), {4}) < 1e-9);
    }

    void absRatioWithNothingToWeigh()
    {
        OneNode add("Add", {{doubles({1}, {0})}, {doubles({1}, {0})}});
        static_cast<void>(add.apply(lrp::absRatioRule(), {doubles({1}, {8})}));
        QCOMPARE(add.lost(Cause::ZeroDenominator), 8.0);
        OneNode scaled("Mul", {{doubles({2}, {1, 2})}, {doubles({1}, {7}), true}});
        const std::vector<Tensor> parts = scaled.apply(lrp::absRatioRule(), {doubles({2}, {3, 4})});
        QCOMPARE(valuesOf(parts[0]), (Values{3, 4}));
    }

    void absRatioOnReductions()
    {
        const Tensor x = doubles({2, 2}, {1, -3, 2, 2});
        OneNode mean("ReduceMean", {{x}}, axes({1}, 1));
        QVERIFY(distance(valuesOf(mean.apply(lrp::absRatioRule(), {doubles({2, 1}, {4, 8})})[0]), {1, 3, 4, 4}) < 1e-9);
        OneNode all("ReduceMean", {{x}}, {{"keepdims", std::int64_t{0}}});
        QVERIFY(distance(valuesOf(all.apply(lrp::absRatioRule(), {doubles({}, {8})})[0]), {1, 3, 2, 2}) < 1e-9);
    }

    void epsilonOnProductsOfMatrices()
    {
        const Tensor a = noise({2, 3}, 1);
        const Tensor b = noise({3, 2}, 2);
        const Tensor r = noise({2, 2}, 3);
        OneNode node("MatMul", {{a}, {b}});
        const Values z = valuesOf(node.forward()[0]);
        Values toA(6, 0);
        Values toB(6, 0);
        for (std::size_t i = 0; i < 2; ++i) {
            for (std::size_t j = 0; j < 2; ++j) {
                const double d = z[i * 2 + j];
                const double s = valuesOf(r)[i * 2 + j] / (d >= 0 ? d + 1e-6 : d - 1e-6);
                for (std::size_t k = 0; k < 3; ++k) {
                    const double share = valuesOf(a)[i * 3 + k] * valuesOf(b)[k * 2 + j] * s;
                    toA[i * 3 + k] += share;
                    toB[k * 2 + j] += share;
                }
            }
        }
        std::vector<Tensor> parts = node.apply(lrp::epsilonRule({}, lrp::BilinearShare::Full), {r});
        QVERIFY(distance(valuesOf(parts[0]), toA) < 1e-10);
        QVERIFY(distance(valuesOf(parts[1]), toB) < 1e-10);
        QVERIFY(std::abs(node.lost(Cause::Duplicate) + node.ledger().handedOn / 2) < 1e-10);
        parts = node.apply(lrp::epsilonRule(), {r});
        for (double& value : toA) {
            value /= 2;
        }
        QVERIFY(distance(valuesOf(parts[0]), toA) < 1e-10);
        QCOMPARE(node.lost(Cause::Duplicate), 0.0);
    }

    void passKeepsTheRelevance()
    {
        const Tensor r = noise({2, 3}, 5);
        for (const char* op : {"Relu", "Sigmoid", "Softmax"}) {
            OneNode node(op, {{noise({2, 3}, 6)}});
            QVERIFY(node.apply(lrp::passRule(), {r})[0].bitEqual(r));
        }
        OneNode div("Div", {{noise({2, 3}, 7)}, {doubles({1}, {255}), true}});
        QVERIFY(div.apply(lrp::passRule(), {r})[0].bitEqual(r));
        OneNode both("Div", {{noise({2, 3}, 7)}, {noise({3}, 8)}});
        const std::vector<Tensor> parts = both.apply(lrp::passRule(), {r});
        QVERIFY(parts[0].bitEqual(r));
        QCOMPARE(valuesOf(parts[1]), (Values{0, 0, 0}));
    }

    void passThroughShapeMaps()
    {
        OneNode turned("Transpose", {{doubles({2, 2}, {1, 2, 3, 4})}});
        QCOMPARE(valuesOf(turned.apply(lrp::passRule(), {doubles({2, 2}, {5, 6, 7, 8})})[0]), (Values{5, 7, 6, 8}));
        OneNode negated("Neg", {{doubles({2}, {1, 2})}});
        QCOMPARE(valuesOf(negated.apply(lrp::passRule(), {doubles({2}, {5, 6})})[0]), (Values{5, 6}));
        QCOMPARE(valuesOf(negated.apply(lrp::gradientRule(), {doubles({2}, {5, 6})})[0]), (Values{-5, -6}));
        OneNode joined("Concat", {{doubles({2}, {1, 2})}, {doubles({1}, {3}), true}}, {{"axis", std::int64_t{0}}});
        const std::vector<Tensor> parts = joined.apply(lrp::passRule(), {doubles({3}, {5, 6, 7})});
        QCOMPARE(valuesOf(parts[0]), (Values{5, 6}));
        QCOMPARE(joined.lost(Cause::Constant), 7.0);
        QCOMPARE(joined.lost(Cause::Unread), 0.0);
    }

    void outputsThatNobodyReadCarryNothing()
    {
        OneNode split("Split", {{doubles({4}, {1, 2, 3, 4})}}, {{"axis", std::int64_t{0}}}, execute::Precision::Double,
                      2);
        const std::vector<Tensor> parts = split.apply(lrp::passRule(), {Tensor(), doubles({2}, {5, 6})});
        QCOMPARE(valuesOf(parts[0]), (Values{0, 0, 5, 6}));
    }

    void uniform()
    {
        OneNode mul("Mul", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({2}, {5, 6})}});
        const std::vector<Tensor> parts = mul.apply(lrp::uniformRule(), {doubles({2, 2}, {2, 4, 6, 8})});
        QCOMPARE(valuesOf(parts[0]), (Values{1, 2, 3, 4}));
        QCOMPARE(valuesOf(parts[1]), (Values{4, 6}));
        OneNode mean("ReduceMean", {{doubles({1, 4}, {1, 2, 3, 4})}}, axes({1}, 1));
        QCOMPARE(valuesOf(mean.apply(lrp::uniformRule(), {doubles({1, 1}, {8})})[0]), (Values{2, 2, 2, 2}));
        OneNode sum("Add", {{doubles({1}, {1})}, {doubles({1}, {2}), true}});
        QCOMPARE(valuesOf(sum.apply(lrp::uniformRule(), {doubles({1}, {8})})[0]), Values{8});
    }

    void reluRules()
    {
        OneNode relu("Relu", {{doubles({4}, {1, -1, 2, -2})}});
        const Tensor r = doubles({4}, {3, 4, -5, -6});
        QCOMPARE(valuesOf(relu.apply(lrp::deconvNetRule(), {r})[0]), (Values{3, 4, 0, 0}));
        QCOMPARE(relu.lost(Cause::ClippedSign), -11.0);
        QCOMPARE(valuesOf(relu.apply(lrp::guidedBackpropRule(), {r})[0]), (Values{3, 0, 0, 0}));
        QCOMPARE(relu.lost(Cause::ClippedSign), -11.0);
        QCOMPARE(relu.lost(Cause::Filter), 4.0);
        const Values smooth = valuesOf(relu.apply(lrp::betaSmoothRule(2), {r})[0]);
        Values expected;
        for (std::size_t i = 0; i < 4; ++i) {
            expected.push_back(r.at(static_cast<std::int64_t>(i)) /
                               (1 + std::exp(-2 * relu.operands()[0].at(static_cast<std::int64_t>(i)))));
        }
        QVERIFY(distance(smooth, expected) < 1e-15);
        QVERIFY(!lrp::deconvNetRule()->accepts(OneNode("Sigmoid", {{r}}).op().structure()));
    }

    void softmaxTaylor()
    {
        const double infinity = std::numeric_limits<double>::infinity();
        const Tensor x = doubles({2, 2}, {0.5, -infinity, 1, 2});
        const Tensor r = doubles({2, 2}, {3, 1, 2, 5});
        OneNode node("Softmax", {{x}});
        const Values p = valuesOf(node.forward()[0]);
        Values expected;
        for (std::size_t i = 0; i < 4; ++i) {
            const double total = i < 2 ? 4 : 7;
            const double logit = i == 1 ? 0 : valuesOf(x)[i];
            expected.push_back(logit * (valuesOf(r)[i] - p[i] * total));
        }
        QVERIFY(distance(valuesOf(node.apply(lrp::softmaxTaylorRule(), {r})[0]), expected) < 1e-14);
        QCOMPARE(node.lost(Cause::Mask), 1.0); // what arrived at the logit of −∞
        QVERIFY(std::abs(node.lost(Cause::TaylorRest) - (11 - 1 - node.ledger().handedOn)) < 1e-14);
        OneNode finite("Softmax", {{doubles({2, 2}, {0.5, 3, 1, 2})}});
        const Values all = valuesOf(finite.apply(lrp::softmaxTaylorRule(), {r})[0]);
        Values lower = all;
        lower[1] = 0;
        QCOMPARE(valuesOf(finite.apply(lrp::softmaxTaylorRule(true), {r})[0]), lower);
        QVERIFY(all[1] != 0);
        QVERIFY(std::abs(finite.lost(Cause::Mask) - all[1]) < 1e-14);
    }

    void softmaxTaylorOfALogarithm()
    {
        const Values x{0.5, -1.25, 1, 2, -3, 0.75};
        const Values r{3, 1, -2, 5, 0.5, 1.5};
        OneNode node("LogSoftmax", {{doubles({2, 3}, x)}});
        for (const double e : {0.0, 1e-6, 0.25}) {
            Values expected(6);
            for (std::size_t i = 0; i < 6; ++i) {
                // x_i·Σ_j (R_j/stab(f_j))·(δ_ij − p_i), f = ln p, by the definition
                const std::size_t row = i / 3 * 3;
                const double norm = std::exp(x[row]) + std::exp(x[row + 1]) + std::exp(x[row + 2]);
                for (std::size_t j = row; j < row + 3; ++j) {
                    const double f = x[j] - std::log(norm);
                    const double slope = (i == j ? 1 : 0) - std::exp(x[i]) / norm;
                    expected[i] += x[i] * r[j] / (f - e) * slope;
                }
            }
            const Values found =
                valuesOf(node.apply(lrp::softmaxTaylorRule(false, exactly(e)), {doubles({2, 3}, r)})[0]);
            QVERIFY(distance(found, expected) < 1e-12);
        }
    }

    void softmaxTaylorOfAMaskedLogarithm()
    {
        // ln p of the logit of −∞ is −∞: what arrives there is booked, and the others share as if it were not there.
        OneNode masked("LogSoftmax", {{doubles({3}, {0.5, -std::numeric_limits<double>::infinity(), 2})}});
        OneNode plain("LogSoftmax", {{doubles({2}, {0.5, 2})}});
        const lrp::RulePointer rule = lrp::softmaxTaylorRule(false, exactly(0));
        const Values found = valuesOf(masked.apply(rule, {doubles({3}, {3, 7, 5})})[0]);
        const Values without = valuesOf(plain.apply(rule, {doubles({2}, {3, 5})})[0]);
        QVERIFY(distance(found, {without[0], 0, without[1]}) < 1e-14);
        QCOMPARE(masked.lost(Cause::Mask), 7.0);
    }

    void stop()
    {
        OneNode node("Add", {{doubles({2}, {1, 2})}, {doubles({1}, {3})}});
        const std::vector<Tensor> parts = node.apply(lrp::stopRule(), {doubles({2}, {5, 6})});
        QCOMPARE(valuesOf(parts[0]), (Values{0, 0}));
        QCOMPARE(valuesOf(parts[1]), Values{0});
        QCOMPARE(node.lost(Cause::Filter), 11.0);
    }

    void maskedElements()
    {
        tensor::TensorBuffer keep(tensor::DType::Bool, {2});
        keep.data<bool>()[0] = true;
        keep.data<bool>()[1] = false;
        OneNode where("Where", {{std::move(keep).freeze(), true}, {noise({3, 2}, 1)}, {doubles({}, {-9}), true}});
        const Tensor arrived = doubles({3, 2}, {1, 2, 4, 8, 16, 32});
        QCOMPARE(valuesOf(where.apply(lrp::passRule(), {arrived})[1]), (Values{1, 0, 4, 0, 16, 0}));
        QCOMPARE(where.lost(Cause::Mask), 42.0);
    }

    void gradients()
    {
        checkGradient(OneNode("Add", {{noise({2, 3}, 1)}, {noise({3}, 2)}}), 3);
        checkGradient(OneNode("Sub", {{noise({3}, 1)}, {noise({2, 3}, 2)}}), 3);
        checkGradient(OneNode("Sum", {{noise({2}, 1)}, {noise({2}, 2)}, {noise({1}, 3)}}), 4);
        checkGradient(OneNode("Mul", {{noise({2, 3}, 1)}, {noise({3}, 2)}}), 3);
        checkGradient(OneNode("Mul", {{noise({2, 3}, 1)}, {noise({3}, 2), true}}), 3);
        checkGradient(OneNode("Div", {{noise({2, 3}, 1)}, {doubles({3}, {1.5, -2, 0.7})}}), 3);
        checkGradient(OneNode("Div", {{noise({2, 3}, 1), true}, {doubles({3}, {1.5, -2, 0.7})}}), 3);
        checkGradient(OneNode("MatMul", {{noise({2, 3}, 1)}, {noise({3, 4}, 2)}}), 3);
        checkGradient(OneNode("Gemm", {{noise({2, 3}, 1)}, {noise({3, 4}, 2), true}, {noise({4}, 3), true}}), 4);
        checkGradient(OneNode("ReduceMean", {{noise({2, 3}, 1)}}, axes({0}, 1)), 3);
        checkGradient(OneNode("Relu", {{noise({2, 3}, 1)}}), 3);
        checkGradient(OneNode("Sigmoid", {{noise({2, 3}, 1)}}), 3);
        checkGradient(OneNode("Softmax", {{noise({2, 3}, 1)}}), 3);
        checkGradient(OneNode("Transpose", {{noise({2, 3}, 1)}}), 3);
        checkGradient(OneNode("Neg", {{noise({2, 3}, 1)}}), 3);
    }

    void pooling()
    {
        const graph::Attributes pairs{{"kernel_shape", std::vector<std::int64_t>{2}},
                                      {"strides", std::vector<std::int64_t>{2}}};
        const Tensor x = doubles({1, 1, 4}, {1, 3, 2, 2});
        const Tensor r = doubles({1, 1, 2}, {4, 8});
        OneNode winner("MaxPool", {{x}}, pairs);
        QCOMPARE(valuesOf(winner.apply(lrp::winnerRule(), {r})[0]), (Values{0, 4, 8, 0}));
        QCOMPARE(valuesOf(winner.apply(lrp::gradientRule(), {r})[0]), (Values{0, 4, 8, 0}));
        QCOMPARE(valuesOf(winner.apply(lrp::proportionalRule(exactly(0)), {r})[0]), (Values{1, 3, 4, 4}));
        // Windows that overlap: 3 lies in both; sums are 4 and 5.
        const graph::Attributes overlapping{{"kernel_shape", std::vector<std::int64_t>{2}}};
        OneNode three("MaxPool", {{doubles({1, 1, 3}, {1, 3, 2})}}, overlapping);
        const Tensor two = doubles({1, 1, 2}, {4, 10});
        QCOMPARE(valuesOf(three.apply(lrp::proportionalRule(exactly(0)), {two})[0]), (Values{1, 9, 4}));
        checkSoftmaxWeighted(winner, r, {4 / (1 + std::exp(2.0)), 4 / (1 + std::exp(-2.0)), 4, 4});
        checkSoftmaxWeighted(
            three, two,
            {4 / (1 + std::exp(2.0)), 4 / (1 + std::exp(-2.0)) + 10 / (1 + std::exp(-1.0)), 10 / (1 + std::exp(1.0))});
        const RulePointer sharp = lrp::makeRule("softmax-weighted", {{"beta", 1e6}}).value();
        QCOMPARE(valuesOf(winner.apply(sharp, {r})[0]), (Values{0, 4, 4, 4})); // a tie is shared
        OneNode mean("AveragePool", {{x}}, pairs);
        QVERIFY(distance(valuesOf(mean.apply(lrp::normRule(exactly(0)), {r})[0]), {1, 3, 4, 4}) < 1e-12);
        QCOMPARE(valuesOf(mean.apply(lrp::uniformRule(), {r})[0]), (Values{2, 2, 4, 4}));
        checkGradient(OneNode("AveragePool", {{noise({1, 2, 4}, 1)}}, pairs), 2);
        checkGradient(OneNode("MaxPool", {{noise({1, 2, 4}, 1)}}, pairs), 2);
        checkGradient(OneNode("GlobalAveragePool", {{noise({1, 2, 3, 3}, 1)}}), 2);
    }

    void winnersOfRows()
    {
        const Tensor x = doubles({2, 2}, {1, 3, 2, 2});
        const Tensor r = doubles({2}, {4, 8});
        OneNode largest("ReduceMax", {{x}}, axes({1}, 0));
        QCOMPARE(valuesOf(largest.apply(lrp::winnerRule(), {r})[0]), (Values{0, 4, 8, 0}));
        QCOMPARE(valuesOf(largest.apply(lrp::proportionalRule(exactly(0)), {r})[0]), (Values{1, 3, 4, 4}));
        checkSoftmaxWeighted(largest, r, {4 / (1 + std::exp(2.0)), 4 / (1 + std::exp(-2.0)), 4, 4});
        // The smallest wins: the weights are those of the negated elements.
        const Tensor one = doubles({1, 1}, {8});
        OneNode smallest("ReduceMin", {{x}}, axes({0, 1}, 1));
        QCOMPARE(valuesOf(smallest.apply(lrp::winnerRule(), {one})[0]), (Values{8, 0, 0, 0}));
        QCOMPARE(valuesOf(smallest.apply(lrp::proportionalRule(exactly(0)), {one})[0]), (Values{1, 3, 2, 2}));
        const double sum = 1 + std::exp(-2.0) + 2 * std::exp(-1.0);
        checkSoftmaxWeighted(smallest, one,
                             {8 / sum, 8 * std::exp(-2.0) / sum, 8 * std::exp(-1.0) / sum, 8 * std::exp(-1.0) / sum});
        const RulePointer sharp = lrp::makeRule("softmax-weighted", {{"beta", 1e300}}).value();
        QCOMPARE(valuesOf(smallest.apply(sharp, {one})[0]), (Values{8, 0, 0, 0}));
    }

    // Each result has the line for its window.
    void winnersOfLines()
    {
        const auto count = [](std::int64_t k) {
            return Operand{Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{k}), true};
        };
        OneNode largest("TopK", {{doubles({2, 3}, {1, 3, 2, 4, 4, 0})}, count(2)}, {}, execute::Precision::Double, 2);
        const std::vector<Tensor> r{doubles({2, 2}, {4, 2, 6, 2}), Tensor()};
        QCOMPARE(valuesOf(largest.apply(lrp::winnerRule(), r)[0]), (Values{0, 4, 2, 6, 2, 0}));
        QCOMPARE(valuesOf(largest.apply(lrp::passRule(), r)[0]), (Values{0, 4, 2, 6, 2, 0}));
        QCOMPARE(valuesOf(largest.apply(lrp::proportionalRule(exactly(0)), r)[0]), (Values{1, 3, 2, 4, 4, 0}));
        const RulePointer soft = lrp::makeRule("softmax-weighted", {}).value();
        const double a = std::exp(-2.0) + 1 + std::exp(-1.0);
        const double b = 2 + std::exp(-4.0);
        const Values shared{6 * std::exp(-2.0) / a, 6 / a, 6 * std::exp(-1.0) / a, 8 / b, 8 / b,
                            8 * std::exp(-4.0) / b};
        QVERIFY(distance(valuesOf(largest.apply(soft, r)[0]), shared) < 1e-12);
        OneNode smallest("TopK", {{doubles({3, 1}, {1, 3, 2})}, count(1)},
                         {{"axis", std::int64_t{0}}, {"largest", std::int64_t{0}}}, execute::Precision::Double, 2);
        const std::vector<Tensor> one{doubles({1, 1}, {6}), Tensor()};
        QCOMPARE(valuesOf(smallest.apply(lrp::winnerRule(), one)[0]), (Values{6, 0, 0}));
        QVERIFY(distance(valuesOf(smallest.apply(soft, one)[0]),
                         {6 / a, 6 * std::exp(-2.0) / a, 6 * std::exp(-1.0) / a}) < 1e-12);
        OneNode none("TopK", {{doubles({3}, {1, 3, 2})}, count(0)}, {}, execute::Precision::Double, 2);
        const std::vector<Tensor> nothing{doubles({0}, {}), Tensor()};
        QCOMPARE(valuesOf(none.apply(soft, nothing)[0]), (Values{0, 0, 0}));
        QCOMPARE(valuesOf(none.apply(lrp::proportionalRule(exactly(0)), nothing)[0]), (Values{0, 0, 0}));
    }

    // Of a constant and what is computed, the latter takes all; of two computed operands neither may.
    void passOverConstants()
    {
        const Tensor x = doubles({2, 2}, {1, -2, 3, 4});
        const Tensor r = doubles({2, 2}, {5, 6, 7, 8});
        for (const char* op : {"Add", "Sub", "Mul"}) {
            OneNode after(op, {{x}, {doubles({2}, {0.5, 3}), true}});
            QCOMPARE(valuesOf(after.apply(lrp::passRule(), {r})[0]), (Values{5, 6, 7, 8}));
            OneNode before(op, {{doubles({2, 2}, {1, 2, 3, 4}), true}, {doubles({2}, {0.5, 3})}});
            QCOMPARE(valuesOf(before.apply(lrp::passRule(), {r})[1]), (Values{12, 14}));
            const OneNode both(op, {{x}, {x}});
            const std::string misfit = lrp::misfitOf(*lrp::passRule(), both.model(), graph::NodeId(std::size_t{0}));
            QVERIFY2(misfit.find("2 operands are computed; choose another rule") != std::string::npos, misfit.c_str());
        }
    }

    void passOverAResampling()
    {
        const auto resized = [](const char* mode, std::int64_t extent, graph::Attributes attributes,
                                const Tensor& roi) {
            attributes["mode"] = std::string(mode);
            const std::array<std::int64_t, 3> sizes{1, 1, extent};
            return OneNode("Resize",
                           {{doubles({1, 1, 2}, {3, -1})},
                            {roi, true},
                            {Tensor::of<float>({0}, std::vector<float>()), true},
                            {Tensor::of<std::int64_t>({3}, sizes), true}},
                           std::move(attributes));
        };
        const Tensor noRegion = Tensor::of<float>({0}, std::vector<float>());
        const Tensor r = doubles({1, 1, 4}, {1, 2, 3, 4});
        OneNode nearest = resized("nearest", 4, {}, noRegion);
        QCOMPARE(valuesOf(nearest.apply(lrp::passRule(), {r})[0]), (Values{3, 7}));
        // Elements of the result lie at −¼, ¼, ¾ and 1¼ of the operand.
        OneNode linear = resized("linear", 4, {}, noRegion);
        QVERIFY(distance(valuesOf(linear.apply(lrp::passRule(), {r})[0]),
                         {1 + 0.75 * 2 + 0.25 * 3, 0.25 * 2 + 0.75 * 3 + 4}) < 1e-12);
        QCOMPARE(linear.lost(Cause::Unread), 0.0);
        // The third element reads at 1½ times the extent, outside.
        OneNode cropped = resized("linear", 3, {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")}},
                                  Tensor::of<float>({6}, std::array<float, 6>{0, 0, 0, 1, 1, 2}));
        QCOMPARE(valuesOf(cropped.apply(lrp::passRule(), {doubles({1, 1, 3}, {1, 2, 4})})[0]), (Values{1, 2}));
        QCOMPARE(cropped.lost(Cause::Unread), 4.0);
    }

    // x·f'(x)·R/f(x).
    void normOnElementWise()
    {
        const Tensor r = doubles({2}, {2, 6});
        OneNode root("Sqrt", {{doubles({2}, {4, 9})}});
        QVERIFY(distance(valuesOf(root.apply(lrp::normRule(exactly(0)), {r})[0]), {1, 3}) < 1e-12);
        QVERIFY(std::abs(root.lost(Cause::Gradient) - 4) < 1e-12);
        OneNode power("Exp", {{doubles({2}, {0.5, -1})}});
        QVERIFY(distance(valuesOf(power.apply(lrp::normRule(exactly(0)), {r})[0]), {1, -6}) < 1e-12);
        OneNode logarithm("Log", {{doubles({2}, {std::exp(1.0), std::exp(2.0)})}});
        QVERIFY(distance(valuesOf(logarithm.apply(lrp::normRule(exactly(0)), {r})[0]), {2, 3}) < 1e-12);
        OneNode inverse("Reciprocal", {{doubles({2}, {4, -8})}});
        QVERIFY(distance(valuesOf(inverse.apply(lrp::normRule(exactly(0)), {r})[0]), {-2, -6}) < 1e-12);
        OneNode cube("Pow", {{doubles({2}, {2, -1})}, {doubles({}, {3}), true}});
        const std::vector<Tensor> parts = cube.apply(lrp::normRule(exactly(0)), {r});
        QCOMPARE(parts.size(), std::size_t{2}); // one for each operand
        QVERIFY(distance(valuesOf(parts[0]), {6, 18}) < 1e-12 && !parts[1].isValid());
        OneNode relu("Relu", {{doubles({2}, {3, -1})}});
        QCOMPARE(valuesOf(relu.apply(lrp::normRule(exactly(0)), {r})[0]), (Values{2, 0}));
        QCOMPARE(relu.lost(Cause::ZeroDenominator), 6.0);
        OneNode curve("Sigmoid", {{doubles({2}, {0.3, -2})}});
        const auto slope = [](double x) { return x * (1 - 1 / (1 + std::exp(-x))); };
        QVERIFY(distance(valuesOf(curve.apply(lrp::normRule(exactly(0)), {r})[0]), {2 * slope(0.3), 6 * slope(-2)}) <
                1e-12);
    }

    void whatFallsOnPaddingIsUnread()
    {
        OneNode pad("Pad",
                    {{doubles({2}, {1, 2})}, {Tensor::of<std::int64_t>({2}, std::array<std::int64_t, 2>{1, 0}), true}});
        QCOMPARE(valuesOf(pad.apply(lrp::passRule(), {doubles({3}, {5, 6, 7})})[0]), (Values{6, 7}));
        QCOMPARE(pad.lost(Cause::Unread), 5.0);
        OneNode mean("AveragePool", {{doubles({1, 1, 2}, {1, 2})}},
                     {{"kernel_shape", std::vector<std::int64_t>{2}},
                      {"pads", std::vector<std::int64_t>{1, 0}},
                      {"count_include_pad", std::int64_t{1}}});
        QCOMPARE(valuesOf(mean.apply(lrp::uniformRule(), {doubles({1, 1, 2}, {4, 6})})[0]), (Values{5, 3}));
        QCOMPARE(mean.lost(Cause::Unread), 2.0);
    }

    void batchNormalisation()
    {
        const std::vector<Operand> operands{{noise({1, 2, 3}, 1)},
                                            {doubles({2}, {2, -1}), true},
                                            {doubles({2}, {0.5, 0}), true},
                                            {doubles({2}, {0.1, 0.2}), true},
                                            {doubles({2}, {1, 4}), true}};
        OneNode node("BatchNormalization", operands);
        const Tensor r = noise({1, 2, 3}, 2);
        QVERIFY(node.apply(lrp::passRule(), {r})[0].bitEqual(r));
        checkGradient(node, 2);
        const Values y = valuesOf(node.forward()[0]);
        const Values affine = valuesOf(node.apply(lrp::epsilonRule({exactly(0), {}}), {r})[0]);
        QVERIFY(std::abs(node.lost(Cause::Bias)) > 1e-3);
        const Values slope = valuesOf(node.apply(lrp::gradientRule(), {r})[0]);
        for (std::size_t i = 0; i < y.size(); ++i) {
            QVERIFY(std::abs(affine[i] - node.operands()[0].at(static_cast<std::int64_t>(i)) * slope[i] / y[i]) <
                    1e-12);
        }
    }

    void aGradientSaysWhatItGained()
    {
        OneNode node("Add", {{doubles({1}, {1})}, {doubles({1}, {2})}});
        static_cast<void>(node.apply(lrp::gradientRule(), {doubles({1}, {5})}));
        QCOMPARE(node.lost(Cause::Gradient), -5.0);
    }
};

QTEST_GUILESS_MAIN(StructureRulesTest)
#include "structurerulestest.moc"
