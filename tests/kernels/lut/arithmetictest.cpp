// SPDX-License-Identifier: Apache-2.0
// What host and device compute for one comparison, one row and one pair, over whole grids of values in which ties,
// zeros of both signs, infinities and NaN are common; and the wide loops against the plain ones.
#include <QtTest>

#include "kernels/lut/arithmetic.h"
#include "kernels/lut/cpu/segments.h"
#include "kernels/lut/cpu/wide.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace retro::lut;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> kValues{-kInfinity, -1, -0.5, -0.0, 0.0, 0.5, 1, kInfinity, kNan};

/// As the definition says it: the first of the smallest magnitudes among numbers.
Weakest<double> weakestOf(const std::vector<double>& values)
{
    Weakest<double> weakest;
    for (std::size_t k = 0; k < values.size(); ++k) {
        const bool isLess = weakest.bit < 0 || std::abs(values[k]) < std::abs(weakest.delta);
        if (!std::isnan(values[k]) && isLess) {
            weakest = {static_cast<std::int32_t>(k), values[k]};
        }
    }
    return weakest;
}

bool isSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// Multiples of 1/16, so that sums are exact in every order.
template <class T>
std::vector<T> gridValues(std::size_t count, std::mt19937& random)
{
    std::vector<T> values(count);
    for (T& value : values) {
        value = static_cast<T>(static_cast<int>(random() % 65) - 32) / T(16);
    }
    return values;
}

template <class T>
void compareChosenRows(std::mt19937& random)
{
    constexpr std::uint32_t kInputs = 5;
    std::vector<T> columns = gridValues<T>(kInputs * cpu::kLanes, random);
    columns[3] = std::numeric_limits<T>::quiet_NaN();
    columns[7] = std::numeric_limits<T>::infinity();
    columns[cpu::kLanes + 7] = std::numeric_limits<T>::infinity();
    for (std::uint32_t comparisons = 1; comparisons <= 8; ++comparisons) {
        std::vector<Anchor> anchors(comparisons);
        for (Anchor& anchor : anchors) {
            anchor.a = static_cast<std::uint32_t>(random() % kInputs);
            anchor.b = (anchor.a + 1 + static_cast<std::uint32_t>(random() % (kInputs - 1))) % kInputs;
        }
        anchors[random() % comparisons] = {kUnusedAnchor, kUnusedAnchor};
        cpu::TableChoice<T> choice;
        cpu::TableChoice<T> bare;
        cpu::chooseRows(columns.data(), anchors.data(), comparisons, true, choice);
        cpu::chooseRows(columns.data(), anchors.data(), comparisons, false, bare);
        for (std::uint32_t lane = 0; lane < cpu::kLanes; ++lane) {
            std::uint32_t row = 0;
            Weakest<T> weakest;
            for (std::uint32_t k = 0; k < comparisons; ++k) {
                if (anchors[k].a != kUnusedAnchor) {
                    const T u = columns[anchors[k].a * cpu::kLanes + lane] - columns[anchors[k].b * cpu::kLanes + lane];
                    row |= bitOf(u) << k;
                    consider(weakest, static_cast<std::int32_t>(k), u);
                }
            }
            QCOMPARE(choice.row[lane], static_cast<std::int32_t>(row));
            QCOMPARE(bare.row[lane], static_cast<std::int32_t>(row));
            QCOMPARE(choice.bit[lane], weakest.bit);
            QVERIFY(choice.delta[lane] == weakest.delta);
        }
    }
}

template <class T>
void compareSums(std::mt19937& random)
{
    for (std::uint64_t width = 1; width <= 75; ++width) {
        constexpr std::uint64_t kRows = 9;
        const std::vector<T> weights = gridValues<T>(kRows * width, random);
        const std::vector<T> g = gridValues<T>(width, random);
        for (const std::uint64_t count : {0U, 1U, 13U, 255U, 256U, 257U, 600U}) {
            std::vector<std::uint64_t> ids(2 * count);
            std::generate(ids.begin(), ids.end(), [&] { return random() % kRows; });
            std::vector<T> sums(2 * width, T(99));
            cpu::sumRows(weights.data(), width, ids.data(), 2, count, sums.data());
            std::vector<T> scores(count);
            cpu::scoreDifferences(weights.data(), width, ids.data(), ids.data() + count, count, g.data(),
                                  scores.data());
            for (std::uint64_t i = 0; i < 2 * width; ++i) {
                T sum = 0;
                for (std::uint64_t k = 0; k < count; ++k) {
                    sum += weights[ids[i / width * count + k] * width + i % width];
                }
                QCOMPARE(sums[i], sum);
            }
            for (std::uint64_t k = 0; k < std::min<std::uint64_t>(count, 20); ++k) {
                T score = 0;
                for (std::uint64_t o = 0; o < width; ++o) {
                    score += g[o] * (weights[ids[k] * width + o] - weights[ids[count + k] * width + o]);
                }
                QCOMPARE(scores[k], score);
            }
        }
    }
}

} // namespace

class LutArithmeticTest : public QObject
{
    Q_OBJECT

private slots:
    void aBitIsOneAboveZeroOnly()
    {
        for (const double value : kValues) {
            QCOMPARE(bitOf(value), value > 0 ? 1U : 0U);
        }
        QCOMPARE(bitOf(std::numeric_limits<float>::denorm_min()), 1U);
        QCOMPARE(bitOf(-std::numeric_limits<float>::denorm_min()), 0U);
    }

    void theWeakestIsTheFirstOfTheSmallest()
    {
        for (const double a : kValues) {
            for (const double b : kValues) {
                for (const double c : kValues) {
                    Weakest<double> weakest;
                    consider(weakest, 0, a);
                    consider(weakest, 1, b);
                    consider(weakest, 2, c);
                    const Weakest<double> expected = weakestOf({a, b, c});
                    QCOMPARE(weakest.bit, expected.bit);
                    QVERIFY(isSame(weakest.delta, expected.delta));
                }
            }
        }
    }

    void theSlopeHasTheSignOfTheSide()
    {
        QCOMPARE(slope(0.0), -0.5);
        QCOMPARE(slope(-0.0), -0.5);
        QCOMPARE(slope(1.0), 0.125);
        QCOMPARE(slope(-1.0), -0.125);
        QCOMPARE(slope(kInfinity), 0.0);
        QCOMPARE(doubt(0.0), 1.0);
        QCOMPARE(doubt(-3.0), 0.25);
    }

    void theSlopeIsTheDerivativeOfTheShareOfTheOtherRow()
    {
        const auto share = [](double u) { return 0.5 / (1 + std::abs(u)); };
        for (const double u : {-3.0, -0.25, 0.25, 1.0, 5.0}) {
            const double h = 1e-5;
            QVERIFY(std::abs((share(u - h) - share(u + h)) / (2 * h) - slope(u)) < 1e-8);
        }
    }

    void rowsOfPairsKeepTheirParts()
    {
        for (std::uint32_t bits = 1; bits <= 3; ++bits) {
            for (std::uint32_t codeBits = 0; codeBits <= 3; ++codeBits) {
                std::uint32_t next = 0;
                for (std::uint32_t query = 0; query < 1U << bits; ++query) {
                    for (std::uint32_t key = 0; key < 1U << bits; ++key) {
                        for (std::uint32_t code = 0; code < 1U << codeBits; ++code) {
                            QCOMPARE(pairRow(query, key, code, bits, codeBits), next++);
                        }
                    }
                }
            }
        }
    }

    void flippingTwiceGivesTheRowBack()
    {
        for (std::int32_t bit = 0; bit < 24; ++bit) {
            const std::uint32_t row = 0x5A5A5AU & 0xFFFFFFU;
            QVERIFY(flipped(row, bit) != row);
            QCOMPARE(flipped(flipped(row, bit), bit), row);
        }
        QCOMPARE(flipped(7, -1), 7U);
    }

    void aPairSendsBackThroughItsWeakerPosition()
    {
        // Key wins a tie; the code is asked in addition, when it is strictly weaker than both.
        for (const double query : kValues) {
            for (const double key : kValues) {
                for (const double code : kValues) {
                    const Weakest<double> q = weakestOf({query});
                    const Weakest<double> k = weakestOf({key});
                    const Weakest<double> p = weakestOf({code});
                    const PairChoice<double> choice = choosePair(q, k, p, 3, 2);
                    const double far = std::numeric_limits<double>::max();
                    const auto size = [&](const Weakest<double>& w) {
                        return w.bit < 0 ? 2 * far : std::min(std::abs(w.delta), far);
                    };
                    const bool isQuery = q.bit >= 0 && size(q) < size(k);
                    QCOMPARE(choice.isQuery, isQuery);
                    const int expected = isQuery ? 5 : k.bit >= 0 ? 2 : -1;
                    QCOMPARE(choice.bit, expected);
                    const bool isCode = p.bit >= 0 && size(p) < size(q) && size(p) < size(k);
                    QCOMPARE(choice.codeBit, isCode ? 0 : -1);
                }
            }
        }
    }

    void wideLoopsChooseTheSameRows()
    {
        std::mt19937 random(7);
        for (int i = 0; i < 20; ++i) {
            compareChosenRows<float>(random);
            compareChosenRows<double>(random);
        }
    }

    void wideLoopsSumTheSameRows()
    {
        std::mt19937 random(8);
        compareSums<float>(random);
        compareSums<double>(random);
    }

    void segmentsKeepTheOrderOfTheirItems()
    {
        std::mt19937 random(9);
        for (const std::uint32_t rowBits : {1U, 3U, 12U, 13U, 24U}) {
            cpu::Segments segments;
            std::vector<std::pair<std::uint32_t, std::uint64_t>> expected;
            for (std::uint64_t item = 0; item < 500; ++item) {
                const auto row = static_cast<std::uint32_t>(random() & ((1U << std::min(rowBits, 5U)) - 1))
                                 << (rowBits - std::min(rowBits, 5U));
                segments.add(row, item + (std::uint64_t{1} << 39));
                expected.emplace_back(row, item + (std::uint64_t{1} << 39));
            }
            std::stable_sort(expected.begin(), expected.end(),
                             [](const auto& a, const auto& b) { return a.first < b.first; });
            std::vector<std::pair<std::uint32_t, std::uint64_t>> got;
            segments.forEach(rowBits, [&](std::uint32_t row, const std::uint64_t* items, std::uint64_t count) {
                for (std::uint64_t k = 0; k < count; ++k) {
                    got.emplace_back(row, items[k]);
                }
            });
            QVERIFY(got == expected);
        }
    }
};

QTEST_GUILESS_MAIN(LutArithmeticTest)
#include "arithmetictest.moc"
