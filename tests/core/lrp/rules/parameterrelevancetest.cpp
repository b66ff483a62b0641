// SPDX-License-Identifier: Apache-2.0
// What constants of a node carried: scaled and rewritten linear layers, sums, factors, embeddings, and refusals by
// name.
#include "tests/core/lrp/rules/rulefixture.h"

#include "core/ops/algebra.h"

#include <QTest>

#include <cmath>
#include <limits>

using namespace retro;
using namespace retro::tests;
using lrp::BiasPolicy;
using lrp::ParameterShare;
using lrp::StabiliserKind;

namespace
{

constexpr lrp::Stabiliser kExact{StabiliserKind::Add, 0, true};

double total(const Tensor& t) { return ops::algebra::sum(t); }

bool isClose(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max({1.0, std::abs(a), std::abs(b)}); }

} // namespace

class ParameterRelevanceTest : public QObject
{
    Q_OBJECT

private slots:
    // y = x·W + b with x = (1, 2), W = ((1, 3), (2, −1)), b = (1, 2): y = (6, 3). R = (12, 6) gives s = (2, 2).
    void linearByHand()
    {
        OneNode node("Gemm",
                     {{doubles({1, 2}, {1, 2})}, {doubles({2, 2}, {1, 3, 2, -1}), true}, {doubles({2}, {1, 2}), true}});
        const auto shares = node.parameters(lrp::epsilonRule({kExact, BiasPolicy::Absorb}), {doubles({1, 2}, {12, 6})});
        QCOMPARE(shares.size(), std::size_t(2));
        QCOMPARE(valuesOf(shares[0].relevance), (std::vector<double>{2, 6, 8, -4}));
        QCOMPARE(valuesOf(shares[1].relevance), (std::vector<double>{2, 4}));
        QVERIFY(!shares[0].isProduct);
    }

    // Weights have together what the operand got, also where the operator scales and turns them; the bias has what the
    // ledger books as lost to it.
    void scaledLayersConserve()
    {
        for (const bool isLeft : {false, true}) {
            for (const auto& rule : {lrp::epsilonRule({kExact, BiasPolicy::Absorb}), lrp::alphaBetaRule(2, 1),
                                     lrp::gammaRule(0.5), lrp::wSquareRule(), lrp::flatRule()}) {
                const Operand x{noise({3, 4}, 1)};
                const Operand w{noise({5, 4}, 2), true};
                const graph::Attributes attributes{{"transB", std::int64_t{1}}, {"alpha", -1.5}, {"beta", 0.25}};
                OneNode node("Gemm", {isLeft ? w : x, isLeft ? x : w, {noise({isLeft ? 3 : 5}, 3), true}}, attributes);
                const Tensor r = noise(node.forward()[0].shape(), 4);
                const auto parts = node.apply(rule, {r});
                const auto shares = node.parameters(rule, {r});
                const std::size_t data = isLeft ? 1 : 0;
                QVERIFY2(shares[0].relevance.isValid(), shares[0].reason.c_str());
                QCOMPARE(shares[0].slot, 1 - data);
                QCOMPARE(shares[0].relevance.shape(), (Shape{5, 4}));
                QVERIFY2(isClose(total(shares[0].relevance), total(parts[data])), rule->text().c_str());
                QVERIFY2(isClose(total(shares[1].relevance), node.lost(event::Cause::Bias)), rule->text().c_str());
            }
        }
    }

    // The gradient of a scaled layer's operands, against differences of its result.
    void scaledGradients()
    {
        const graph::Attributes attributes{{"transA", std::int64_t{1}}, {"alpha", -1.5}, {"beta", 0.25}};
        const Tensor x = noise({4, 3}, 1);
        const Tensor w = noise({4, 5}, 2);
        const Tensor b = noise({5}, 3);
        const OneNode node("Gemm", {{x}, {w, true}, {b, true}}, attributes);
        const Tensor r = noise({3, 5}, 4);
        const auto shares = node.parameters(lrp::gradientRule(), {r});
        // The result is linear in either: Σ g ⊙ w is what goes without the bias.
        const double whole = ops::algebra::dot(r, node.forward()[0]);
        const double ofWeights = ops::algebra::dot(shares[0].relevance, w);
        const double ofBias = ops::algebra::dot(shares[1].relevance, b);
        QVERIFY(isClose(ofWeights + ofBias, whole));
        const OneNode unbiased("Gemm", {{x}, {w, true}}, attributes);
        QVERIFY(isClose(ofWeights, ops::algebra::dot(r, unbiased.forward()[0])));
    }

    void layersOfEinsum()
    {
        const lrp::RulePointer rule = lrp::alphaBetaRule(2, 1, {kExact, BiasPolicy::Absorb});
        for (const bool isLeft : {false, true}) {
            const Operand x{noise({2, 3, 4}, 1)};
            const Operand w{noise({5, 4}, 2), true};
            OneNode node("Einsum", {isLeft ? w : x, isLeft ? x : w},
                         {{"equation", std::string(isLeft ? "od,bsd->bso" : "bsd,od->bso")}});
            const Tensor r = noise(node.forward()[0].shape(), 3);
            const auto shares = node.parameters(rule, {r});
            QVERIFY2(shares[0].relevance.isValid(), shares[0].reason.c_str());
            QCOMPARE(shares[0].relevance.shape(), (Shape{5, 4}));
            QVERIFY(isClose(total(shares[0].relevance), total(node.apply(rule, {r})[isLeft ? 1 : 0])));
        }
    }

    // MatMul and Add that became one layer; batches; a product with the weights on the left.
    void layersOfMatMul()
    {
        const lrp::RulePointer rule = lrp::epsilonRule({kExact, BiasPolicy::Absorb});
        OneNode fused("MatMul", {{noise({2, 3, 4}, 1)}, {noise({4, 5}, 2), true}, {noise({5}, 3), true}}, {},
                      execute::Precision::Double, 1, "retrograde");
        const Tensor r = noise({2, 3, 5}, 4);
        const auto parts = fused.apply(rule, {r});
        const auto shares = fused.parameters(rule, {r});
        QVERIFY2(shares[0].relevance.isValid(), shares[0].reason.c_str());
        QCOMPARE(shares[0].relevance.shape(), (Shape{4, 5}));
        QVERIFY(isClose(total(shares[0].relevance), total(parts[0])));
        QVERIFY(isClose(total(shares[1].relevance), fused.lost(event::Cause::Bias)));
        OneNode left("MatMul", {{noise({5, 4}, 5), true}, {noise({2, 4, 3}, 6)}});
        const Tensor s = noise({2, 5, 3}, 7);
        const auto of = left.parameters(rule, {s});
        QCOMPARE(of.front().slot, std::size_t(0));
        QVERIFY2(of.front().relevance.isValid(), of.front().reason.c_str());
        QVERIFY(isClose(total(of.front().relevance), total(left.apply(rule, {s})[1])));
    }

    // z = a + c with c repeated over the rows: s = R / z.
    void constantsOfSums()
    {
        OneNode node("Add", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({2}, {1, 2}), true}});
        const Tensor r = doubles({2, 2}, {2, 4, 8, 12}); // z = (2, 4, 4, 6): s = (1, 1, 2, 2)
        const auto shares = node.parameters(lrp::normRule(kExact), {r});
        QCOMPARE(valuesOf(shares[0].relevance), (std::vector<double>{3, 6}));
        static_cast<void>(node.apply(lrp::normRule(kExact), {r})); // for its ledger
        QCOMPARE(node.lost(event::Cause::Constant), 9.0);
        QCOMPARE(valuesOf(node.parameters(lrp::gradientRule(), {r})[0].relevance), (std::vector<double>{10, 16}));
        const ParameterShare passed = node.parameters(lrp::passRule(), {r})[0];
        QVERIFY(!passed.relevance.isValid());
        RETRO_SAYS(passed.reason, "Add", "pass");
        const double infinity = std::numeric_limits<double>::infinity();
        const OneNode mask("Add", {{doubles({2}, {1, 2})}, {doubles({2}, {0, -infinity}), true}});
        const ParameterShare masked = mask.parameters(lrp::normRule(kExact), {doubles({2}, {1, 0})})[0];
        QVERIFY2(masked.reason.find("not finite") != std::string::npos, masked.reason.c_str());
    }

    // All that the operand got went through the factor.
    void factorsCarryWhatTheOperandGot()
    {
        const OneNode node("Mul", {{doubles({2, 2}, {1, 2, 3, 4})}, {doubles({2}, {5, -1}), true}});
        const Tensor r = doubles({2, 2}, {2, 4, 8, 12});
        QCOMPARE(valuesOf(node.parameters(lrp::passRule(), {r})[0].relevance), (std::vector<double>{10, 16}));
        QCOMPARE(valuesOf(node.parameters(lrp::gradientRule(), {r})[0].relevance),
                 (std::vector<double>{2 + 24, 8 + 48}));
        // A rule that shares between computed operands has only one of them here.
        lrp::GradientOptions equal;
        equal.share = lrp::GradientShare::Equal;
        QCOMPARE(valuesOf(node.parameters(lrp::gradientRule(equal), {r})[0].relevance),
                 (std::vector<double>{2 + 24, 8 + 48}));
        const OneNode repeated("Mul", {{doubles({1}, {3})}, {doubles({2}, {5, -1}), true}});
        const ParameterShare none = repeated.parameters(lrp::passRule(), {doubles({2}, {1, 1})})[0];
        QVERIFY2(none.reason.find("repeated") != std::string::npos, none.reason.c_str());
    }

    // Each row of an embedding's table gets what its tokens got.
    void rowsOfATable()
    {
        const OneNode node("Gather", {{doubles({3, 2}, {1, 2, 3, 4, 5, 6}), true},
                                      {Tensor::of<std::int64_t>({3}, std::vector<std::int64_t>{2, 0, 2})}});
        const Tensor r = doubles({3, 2}, {1, 2, 3, 4, 5, 6});
        const std::vector<double> expected{3, 4, 0, 0, 6, 8};
        for (const auto& rule : {lrp::passRule(), lrp::gradientRule()}) {
            const auto shares = node.parameters(rule, {r});
            QVERIFY2(shares[0].relevance.isValid(), shares[0].reason.c_str());
            QCOMPARE(valuesOf(shares[0].relevance), expected);
            QVERIFY(!shares[0].isProduct);
        }
        lrp::GradientOptions times;
        times.timesEmbedding = true;
        const auto shares = node.parameters(lrp::gradientRule(times), {r});
        QVERIFY(shares[0].isProduct);
        QCOMPARE(valuesOf(shares[0].relevance), (std::vector<double>{3, 8, 0, 0, 30, 48}));
    }

    // The scale has what the operand got, the bias what is lost to it; a rule that hands on what arrived leaves the
    // bias out.
    void normalisations()
    {
        OneNode layer("LayerNormalization", {{noise({3, 4}, 1)}, {noise({4}, 2), true}, {noise({4}, 3), true}},
                      {{"axis", std::int64_t{-1}}});
        const Tensor r = noise({3, 4}, 5);
        const lrp::RulePointer rule = lrp::detachedDeviationRule(kExact);
        const double got = total(layer.apply(rule, {r})[0]);
        const auto shares = layer.parameters(rule, {r});
        QVERIFY2(shares[0].relevance.isValid() && shares[1].relevance.isValid(), shares[0].reason.c_str());
        QCOMPARE(shares[0].relevance.shape(), (Shape{4}));
        QVERIFY(std::abs(total(shares[0].relevance) - got) <= 1e-10);
        QVERIFY(std::abs(total(shares[1].relevance) - layer.lost(event::Cause::Bias)) <= 1e-10);
        // Element by element: γ·Σ s·(x − mean)/deviation = Σ s·(y − β).
        const Tensor y = layer.forward()[0];
        for (std::int64_t i = 0; i < 4; ++i) {
            double scale = 0;
            double bias = 0;
            for (std::int64_t row = 0; row < 3; ++row) {
                const double s = r.at(row * 4 + i) / y.at(row * 4 + i);
                const double beta = layer.operands()[2].at(i);
                scale += s * (y.at(row * 4 + i) - beta);
                bias += s * beta;
            }
            QVERIFY(std::abs(shares[0].relevance.at(i) - scale) <= 1e-10);
            QVERIFY(std::abs(shares[1].relevance.at(i) - bias) <= 1e-10);
        }
        const auto passed = layer.parameters(lrp::passRule(), {r});
        QVERIFY(isClose(total(passed[0].relevance), total(r)));
        QVERIFY2(passed[1].reason.find("LayerNormalization") != std::string::npos, passed[1].reason.c_str());
    }

    // A scale of one number per channel, which lies along axis 1, has what its channel got.
    void scalesPerChannel()
    {
        for (const char* op : {"InstanceNormalization", "GroupNormalization"}) {
            const bool hasGroups = std::string(op) == "GroupNormalization";
            graph::Attributes attributes;
            if (hasGroups) {
                attributes["num_groups"] = std::int64_t{2};
            }
            OneNode layer(op, {{noise({2, 4, 3, 2}, 1)}, {noise({4}, 2), true}, {noise({4}, 3), true}}, attributes);
            const Tensor r = noise({2, 4, 3, 2}, 5);
            for (const auto& rule : {lrp::passRule(), lrp::detachedDeviationRule(kExact)}) {
                const Tensor got = layer.apply(rule, {r})[0].contiguous();
                const auto shares = layer.parameters(rule, {r});
                QVERIFY2(shares[0].relevance.isValid(), shares[0].reason.c_str());
                QCOMPARE(shares[0].relevance.shape(), (Shape{4}));
                QVERIFY(std::abs(total(shares[0].relevance) - total(got)) <= 1e-9);
            }
            const Tensor passed = layer.parameters(lrp::passRule(), {r})[0].relevance;
            for (std::int64_t channel = 0; channel < 4; ++channel) {
                double sum = 0;
                for (std::int64_t i = 0; i < 12; ++i) {
                    sum += r.at((i / 6 * 4 + channel) * 6 + i % 6);
                }
                QVERIFY(isClose(passed.at(channel), sum));
            }
        }
    }

    // What a shape map puts between or beside the elements that it moves.
    void constantsOfShapeMaps()
    {
        using Longs = std::vector<std::int64_t>;
        const auto longs = [](const Longs& values) {
            return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
        };
        const OneNode concat("Concat", {{doubles({2}, {1, 2})}, {doubles({1}, {3}), true}},
                             {{"axis", std::int64_t{0}}});
        const OneNode pad("Pad", {{doubles({2}, {1, 2})}, {longs({1, 2}), true}, {doubles({}, {7}), true}});
        const OneNode where("Where",
                            {{Tensor::of<std::uint8_t>({3}, std::vector<std::uint8_t>{1, 0, 0}).to(DType::Bool)},
                             {doubles({3}, {1, 2, 3})},
                             {doubles({1}, {5}), true}});
        const OneNode dropout("Dropout", {{doubles({2}, {1, 2})}, {doubles({}, {0.5}), true}});
        for (const auto& rule : {lrp::passRule(), lrp::gradientRule()}) {
            QCOMPARE(valuesOf(concat.parameters(rule, {doubles({3}, {1, 2, 4})})[0].relevance), std::vector<double>{4});
            QCOMPARE(valuesOf(pad.parameters(rule, {doubles({5}, {1, 2, 4, 8, 16})})[0].relevance),
                     std::vector<double>{1 + 8 + 16});
            QCOMPARE(valuesOf(where.parameters(rule, {doubles({3}, {1, 2, 4})})[0].relevance), std::vector<double>{6});
            for (const ParameterShare& ratio : dropout.parameters(rule, {doubles({2}, {1, 2})})) {
                QVERIFY2(ratio.relevance.isValid() ? total(ratio.relevance) == 0 : !ratio.reason.empty(), "Dropout");
            }
        }
    }

    void othersAreRefusedByName()
    {
        const OneNode node("BatchNormalization", {{noise({2, 4, 3}, 1)},
                                                  {noise({4}, 2), true},
                                                  {noise({4}, 3), true},
                                                  {noise({4}, 5), true},
                                                  {doubles({4}, {1, 2, 3, 4}), true}});
        const Tensor many = noise({2, 4, 3}, 4);
        for (const ParameterShare& share : node.parameters(lrp::epsilonRule(), {many})) {
            QVERIFY(!share.relevance.isValid());
            QVERIFY2(share.reason.find("BatchNormalization") != std::string::npos, share.reason.c_str());
        }
        for (const ParameterShare& share : node.parameters(lrp::gradientRule(), {many})) {
            QVERIFY2(share.relevance.isValid() && share.relevance.shape() == Shape{4}, share.reason.c_str());
        }
        const Tensor r = noise({2, 4}, 4);
        const OneNode same("Gemm", {{noise({2, 4}, 1)}, {noise({4, 4}, 2), true}});
        const ParameterShare passed = same.parameters(lrp::passRule(), {r})[0];
        QVERIFY2(passed.reason.find("pass") != std::string::npos, passed.reason.c_str());
    }
};

QTEST_GUILESS_MAIN(ParameterRelevanceTest)
#include "parameterrelevancetest.moc"
