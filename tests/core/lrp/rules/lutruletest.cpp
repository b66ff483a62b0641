// SPDX-License-Identifier: Apache-2.0
// The rule of table lookups against its formula written out, every share, and what its ledger says.
#include "core/ops/tablelookup.h"
#include "tests/core/lrp/rules/rulefixture.h"

#include <QTest>

#include <array>
#include <cmath>
#include <numeric>
#include <random>

using namespace retro;
using namespace retro::tests;
using lrp::TableShare;

namespace
{

constexpr double kEpsilon = 1e-6;
constexpr std::array kShares{TableShare::FlipContrast, TableShare::WeakestBit, TableShare::SignedFlip,
                             TableShare::Shapley, TableShare::Gradient};

struct Numbers
{
    std::int64_t inputs = 5;
    std::int64_t outputs = 3;
    std::int64_t tables = 4;
    std::int64_t comparisons = 3;
    std::vector<double> x;
    std::vector<std::int64_t> anchors;
    std::vector<double> weights; ///< [T, 2^C, O]
    std::vector<double> relevance;
};

/// Multiples of 1/16, so that ties occur; distinct weights, so that scores differ.
Numbers drawn(unsigned seed)
{
    std::mt19937 random(seed);
    const auto grid = [&random] { return (static_cast<double>(random() % 17) - 8) / 16; };
    Numbers n;
    for (std::int64_t i = 0; i < n.inputs; ++i) {
        n.x.push_back(grid());
    }
    for (std::int64_t i = 0; i < n.tables * n.comparisons; ++i) {
        const auto a = static_cast<std::int64_t>(random() % 5);
        n.anchors.insert(n.anchors.end(), {a, (a + 1 + static_cast<std::int64_t>(random() % 4)) % 5});
    }
    for (std::int64_t i = 0; i < n.tables * 8 * n.outputs; ++i) {
        n.weights.push_back(grid() + 0.01 * static_cast<double>(i % 7));
    }
    for (std::int64_t i = 0; i < n.outputs; ++i) {
        n.relevance.push_back(grid());
    }
    return n;
}

OneNode nodeOf(const Numbers& n)
{
    return OneNode("LUT",
                   {{doubles({1, n.inputs}, n.x), false},
                    {Tensor::of<std::int64_t>({n.tables, n.comparisons, 2}, n.anchors), true},
                    {doubles({n.tables, 8, n.outputs}, n.weights), true}},
                   {}, execute::Precision::Double, 1, "ai.retrograde");
}

double stab(double y) { return y + (y < 0 ? -kEpsilon : kEpsilon); }

/// s = R / stab(y); c_t = Σ s·row; w_k = |Σ s·(row − flipped)| / (1 + |u_k|); half of c_t·w_k / Σw to each anchor.
std::vector<double> flipContrast(const Numbers& n)
{
    const auto row = [&n](std::int64_t t, unsigned number, std::int64_t o) {
        return n.weights[static_cast<std::size_t>((t * 8 + number) * n.outputs + o)];
    };
    const auto difference = [&n](std::int64_t t, std::int64_t k) {
        const auto at = static_cast<std::size_t>((t * n.comparisons + k) * 2);
        return n.x[static_cast<std::size_t>(n.anchors[at])] - n.x[static_cast<std::size_t>(n.anchors[at + 1])];
    };
    std::vector<unsigned> chosen;
    for (std::int64_t t = 0; t < n.tables; ++t) {
        unsigned number = 0;
        for (std::int64_t k = 0; k < n.comparisons; ++k) {
            number |= difference(t, k) > 0 ? 1U << k : 0U;
        }
        chosen.push_back(number);
    }
    std::vector<double> s;
    for (std::int64_t o = 0; o < n.outputs; ++o) {
        double y = 0;
        for (std::int64_t t = 0; t < n.tables; ++t) {
            y += row(t, chosen[static_cast<std::size_t>(t)], o);
        }
        s.push_back(n.relevance[static_cast<std::size_t>(o)] / stab(y));
    }
    std::vector<double> result(n.x.size());
    for (std::int64_t t = 0; t < n.tables; ++t) {
        const auto score = [&](unsigned number) {
            double sum = 0;
            for (std::int64_t o = 0; o < n.outputs; ++o) {
                sum += s[static_cast<std::size_t>(o)] * row(t, number, o);
            }
            return sum;
        };
        const unsigned main = chosen[static_cast<std::size_t>(t)];
        std::vector<double> weights;
        for (std::int64_t k = 0; k < n.comparisons; ++k) {
            weights.push_back(std::abs(score(main) - score(main ^ (1U << k))) / (1 + std::abs(difference(t, k))));
        }
        const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::int64_t k = 0; k < n.comparisons; ++k) {
            const double share = score(main) * (total == 0 ? 1.0 / static_cast<double>(n.comparisons)
                                                           : weights[static_cast<std::size_t>(k)] / total);
            const auto at = static_cast<std::size_t>((t * n.comparisons + k) * 2);
            result[static_cast<std::size_t>(n.anchors[at])] += share / 2;
            result[static_cast<std::size_t>(n.anchors[at + 1])] += share / 2;
        }
    }
    return result;
}

double sumOf(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

OneNode sequenceNode(bool codesAreTracked)
{
    return OneNode("LUT",
                   {{noise({2, 6, 4}, 1), false},
                    {Tensor::of<std::int64_t>({2, 2, 2}, std::vector<std::int64_t>{0, 1, 2, 3, 3, 0, 1, 2}), true},
                    {noise({2, 32, 3}, 2), true},
                    {noise({5, 2, 1}, 3), !codesAreTracked}},
                   {{"sequence", std::int64_t{1}}}, execute::Precision::Double, 1, "ai.retrograde");
}

} // namespace

class LutRuleTest : public QObject
{
    Q_OBJECT

private slots:
    void flipContrastIsItsFormula()
    {
        for (unsigned seed = 1; seed <= 40; ++seed) {
            const Numbers n = drawn(seed);
            OneNode node = nodeOf(n);
            const auto parts = node.apply(lrp::lutRule(), {doubles({1, n.outputs}, n.relevance)});
            QVERIFY(distance(valuesOf(parts[0]), flipContrast(n)) < 1e-9 * (1 + std::abs(sumOf(flipContrast(n)))));
        }
    }

    /// OneNode checks that the ledger closes; here, that it closes by causes that are known.
    void whatEachShareKeeps_data()
    {
        QTest::addColumn<int>("share");
        for (const TableShare share : kShares) {
            QTest::addRow("share %d", static_cast<int>(share)) << static_cast<int>(share);
        }
    }

    void whatEachShareKeeps()
    {
        QFETCH(int, share);
        const auto rule = lrp::lutRule({}, static_cast<TableShare>(share));
        const bool leavesSome = static_cast<TableShare>(share) == TableShare::SignedFlip ||
                                static_cast<TableShare>(share) == TableShare::Shapley;
        double kept = 0;
        for (unsigned seed = 1; seed <= 10; ++seed) {
            const Numbers n = drawn(seed);
            OneNode node = nodeOf(n);
            const auto parts = node.apply(rule, {doubles({1, n.outputs}, n.relevance)});
            kept += std::abs(node.lost(event::Cause::Bias));
            QVERIFY(sumOf(valuesOf(parts[0])) != 0);
            if (static_cast<TableShare>(share) != TableShare::Gradient) {
                QCOMPARE(node.lost(event::Cause::Gradient), 0.0);
            }
        }
        QCOMPARE(kept > 0, leavesSome);
    }

    void codesTakeTheirShare()
    {
        OneNode tracked = sequenceNode(true);
        const Tensor relevance = noise({2, 6, 3}, 4);
        const auto parts = tracked.apply(lrp::lutRule(), {relevance});
        QVERIFY(parts[3].isValid() && sumOf(valuesOf(parts[3])) != 0);
        OneNode constant = sequenceNode(false);
        const auto others = constant.apply(lrp::lutRule(), {relevance});
        QVERIFY(parts[0].bitEqual(others[0]));
        QVERIFY(std::abs(constant.lost(event::Cause::Constant) - sumOf(valuesOf(parts[3]))) < 1e-9);
        // Position 0 has no earlier one: what arrives there has nowhere to go.
        double first = 0;
        for (const std::int64_t b : {0, 1}) {
            for (std::int64_t o = 0; o < 3; ++o) {
                first += relevance.at(b * 18 + o);
            }
        }
        QVERIFY(std::abs(constant.lost(event::Cause::ZeroDenominator) - first) < 1e-9);
    }

    void pairsAndTablesAddUp()
    {
        const OneNode node = sequenceNode(true);
        const auto& table = static_cast<const ops::TableLookup&>(node.op().structure());
        const Tensor s = noise({2, 6, 3}, 4);
        const auto found =
            table.distribute([&s](const Tensor&) { return s; }, node.operands(), lut::TableRule::FlipContrast, true);
        const double arrived = sumOf(valuesOf(found.input)) + sumOf(valuesOf(found.codes)) + found.unplaced;
        QCOMPARE(found.tables.shape(), (Shape{2, 2}));
        QCOMPARE(found.pairs.shape(), (Shape{2, 6, 6}));
        QVERIFY(std::abs(sumOf(valuesOf(found.tables)) - arrived) < 1e-9);
        QVERIFY(std::abs(sumOf(valuesOf(found.pairs)) - arrived) < 1e-9);
        for (std::int64_t later = 0; later < 6; ++later) {
            for (std::int64_t earlier = later; earlier < 6; ++earlier) {
                QCOMPARE(found.pairs.at(later * 6 + earlier), 0.0);
            }
        }
    }

    void parametersMakeTheSameRule()
    {
        for (const TableShare share : kShares) {
            const auto rule = lrp::lutRule({ops::algebra::StabiliserKind::Clip, 0.01, true}, share);
            RETRO_MADE(again, lrp::makeRule("lut", rule->parameters()));
            QCOMPARE((*again)->text(), rule->text());
            QCOMPARE((*again)->parameters(), rule->parameters());
        }
        const auto unknown = lrp::makeRule("lut", {{"share", std::string("luck")}});
        QVERIFY(!unknown.ok());
    }

    void shapleyOfLargeTablesIsRefused()
    {
        const Numbers n = drawn(1);
        const OneNode fits = nodeOf(n);
        const auto rule = lrp::lutRule({}, TableShare::Shapley);
        QVERIFY(rule->misfit(fits.op(), {}, {}).empty());
        std::vector<std::int64_t> anchors;
        for (int k = 0; k < 11; ++k) {
            anchors.insert(anchors.end(), {0, 1});
        }
        const OneNode large("LUT",
                            {{doubles({1, 2}, {1, 2}), false},
                             {Tensor::of<std::int64_t>({1, 11, 2}, anchors), true},
                             {Tensor::zeros(DType::Float64, {1, 2048, 1}), true}},
                            {}, execute::Precision::Double, 1, "ai.retrograde");
        QVERIFY(rule->misfit(large.op(), {}, {}).find("at most 10 bits") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(LutRuleTest)
#include "lutruletest.moc"
