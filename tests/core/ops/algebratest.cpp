// SPDX-License-Identifier: Apache-2.0
// Element-wise algebra: values, strides of results, broadcasting, fixed order of sums.
#include "tests/core/ops/opcase.h"

#include "core/ops/threads.h"

#include <QtTest>

using namespace retro::tests;
namespace algebra = retro::ops::algebra;
using algebra::Stabiliser;
using algebra::StabiliserKind;

namespace
{

QString q(const Tensor& t) { return QString::fromStdString(textOf(t)); }

} // namespace

class AlgebraTest : public QObject
{
    Q_OBJECT
private slots:
    void elementWise()
    {
        const Tensor a = doubles({2, 2}, {1, -2, 0, 4});
        const Tensor b = doubles({2, 2}, {3, 5, -7, 0.5});
        QCOMPARE(q(algebra::add(a, b)), "[2 × 2] 4 3 -7 4.5");
        QCOMPARE(q(algebra::subtract(a, b)), "[2 × 2] -2 -7 7 3.5");
        QCOMPARE(q(algebra::multiply(a, b)), "[2 × 2] 3 -10 -0 2");
        QCOMPARE(q(algebra::scale(a, -2)), "[2 × 2] -2 4 -0 -8");
        QCOMPARE(q(algebra::addScaled(a, b, 2)), "[2 × 2] 7 8 -14 5");
        QCOMPARE(q(algebra::absolute(a)), "[2 × 2] 1 2 0 4");
        QCOMPARE(q(algebra::positivePart(a)), "[2 × 2] 1 0 0 4");
        QCOMPARE(q(algebra::negativePart(a)), "[2 × 2] 0 -2 0 0");
        QCOMPARE(q(algebra::keepWherePositive(a, b)), "[2 × 2] 1 -2 0 4");
        QCOMPARE(q(algebra::keepWhereNegative(a, b)), "[2 × 2] 0 0 0 0");
        QCOMPARE(q(algebra::keepWhereNegative(b, a)), "[2 × 2] 0 5 0 0");
        QCOMPARE(q(algebra::filledLike(a, 3)), "[2 × 2] 3 3 3 3");
    }

    void partsKeepNotANumber()
    {
        const Tensor a = doubles({1}, {std::nan("")});
        QVERIFY(std::isnan(algebra::positivePart(a).at(0)));
        QVERIFY(std::isnan(algebra::negativePart(a).at(0)));
        QVERIFY(!algebra::allFinite(a));
        QVERIFY(!algebra::allFinite(doubles({2}, {1, INFINITY})));
        QVERIFY(algebra::allFinite(doubles({2}, {1, -1e300})));
    }

    void stabilisers()
    {
        const Tensor r = doubles({5}, {1, 1, 1, 1, 1});
        const Tensor d = doubles({5}, {1, -1, 0, 0.25, -0.25});
        // d + e·sgn(d) with sgn(0) = +1.
        QCOMPARE(q(algebra::stabilisedQuotient(r, d, {StabiliserKind::Add, 1, true})), "[5] 0.5 -0.5 1 0.8 -0.8");
        QCOMPARE(q(algebra::stabilisedQuotient(r, d, {StabiliserKind::Add, 0, true})), "[5] 1 -1 0 4 -4");
        QCOMPARE(q(algebra::stabilisedQuotient(r, d, {StabiliserKind::Clip, 0.5, true})), "[5] 1 -1 2 2 -2");
        QCOMPARE(q(algebra::stabilisedQuotient(r, d, {StabiliserKind::Clip, 0, true})), "[5] 1 -1 0 4 -4");
        // Without sign, d + e: −1 + 1 is exactly 0 and gives 0.
        QCOMPARE(q(algebra::stabilisedQuotient(r, d, {StabiliserKind::Add, 1, false})), "[5] 0.5 0 1 0.8 1.333333");
    }

    void rmsStabiliserScalesPerSample()
    {
        const Tensor r = doubles({2, 2}, {1, 1, 1, 1});
        const Tensor d = doubles({2, 2}, {3, 4, 30, -40}); // root mean squares √12.5 and 10·√12.5
        const Tensor result = algebra::stabilisedQuotient(r, d, {StabiliserKind::RmsScaled, 0.1, true});
        const double e = 0.1 * std::sqrt(12.5);
        const Tensor expected = doubles({2, 2}, {1 / (3 + e), 1 / (4 + e), 1 / (30 + 10 * e), 1 / (-40 - 10 * e)});
        QVERIFY2(distance(result, expected) < 1e-15, textOf(result).c_str());
    }

    void broadcasting()
    {
        const Tensor a = doubles({2, 3}, {1, 2, 3, 4, 5, 6});
        QCOMPARE(q(algebra::addBroadcast(a, doubles({3}, {10, 20, 30}))), "[2 × 3] 11 22 33 14 25 36");
        QCOMPARE(q(algebra::multiplyBroadcast(a, doubles({2, 1}, {1, -1}))), "[2 × 3] 1 2 3 -4 -5 -6");
        QCOMPARE(q(algebra::broadcastTo(doubles({2, 1}, {1, 2}), {2, 2, 3})), "[2 × 2 × 3] 1 1 1 2 2 2 1 1 1 2 2 2");
        QCOMPARE(q(algebra::reduceTo(a, {3})), "[3] 5 7 9");
        QCOMPARE(q(algebra::reduceTo(a, {2, 1})), "[2 × 1] 6 15");
        QCOMPARE(q(algebra::reduceTo(a, {})), "[scalar] 21");
        QCOMPARE(q(algebra::reduceTo(a, {1, 3})), "[1 × 3] 5 7 9");
    }

    void resultsKeepTheStridesOfTheFirstOperand()
    {
        const Tensor a = inOtherOrder(randomTensor({2, 3, 4}));
        const Tensor b = randomTensor({2, 3, 4}, DType::Float64, 2);
        const Tensor sum = algebra::add(a, b);
        QVERIFY(sum.strides() == a.strides());
        QVERIFY(sum.bitEqual(algebra::add(a.contiguous(), b)));
        QVERIFY(algebra::scale(a, 2).strides() == a.strides());
    }

    void viewsWithGapsGiveDenseResults()
    {
        const Tensor whole = randomTensor({3, 4});
        const Tensor column(DType::Float64, {3, 2}, {4, 2}, 1, whole.storage());
        const Tensor scaled = algebra::scale(column, 1);
        QVERIFY(scaled.isContiguous());
        for (std::int64_t i = 0; i < 6; ++i) {
            QCOMPARE(scaled.at(i), whole.at(i / 2 * 4 + 1 + i % 2 * 2));
        }
    }

    void sums()
    {
        const Tensor a = doubles({2, 2}, {1, -2, 3, -4});
        QCOMPARE(algebra::sum(a), -2.0);
        QCOMPARE(algebra::sumAbsolute(a), 10.0);
        QCOMPARE(algebra::dot(a, a), 30.0);
        QVERIFY(algebra::anyNegative(a));
        QVERIFY(!algebra::anyNegative(doubles({2}, {0, 1})));
        QCOMPARE(algebra::sum(Tensor::zeros(DType::Float32, {0, 3})), 0.0);
    }

    void sumsDoNotDependOnStridesOrThreads()
    {
        const Tensor a = randomTensor({7, 9, 31}, DType::Float32);
        const Tensor b = randomTensor({7, 9, 31}, DType::Float32, 2);
        const double sum = algebra::sum(a);
        const double dot = algebra::dot(a, b);
        const Tensor reduced = algebra::reduceTo(a, {9, 1});
        retro::ops::setThreads(5);
        QCOMPARE(algebra::sum(inOtherOrder(a)), sum);
        QCOMPARE(algebra::dot(inOtherOrder(a), b), dot);
        QVERIFY(algebra::reduceTo(inOtherOrder(a), {9, 1}).bitEqual(reduced));
        retro::ops::setThreads(1);
        QVERIFY(algebra::reduceTo(a, {9, 1}).bitEqual(reduced));
    }

    // Rows in front are added up where they lie; in another order they are brought together first.
    void sumsOverRowsInFrontHaveTheBitsOfOtherSums()
    {
        for (const std::int64_t rows : {1, 7, 8, 128, 129, 700}) {
            for (const std::int64_t columns : {64, 255, 600}) {
                for (const DType dtype : {DType::Float32, DType::Float64}) {
                    const Tensor a = randomTensor({rows, columns}, dtype);
                    const Tensor reduced = algebra::reduceTo(a, {columns});
                    QVERIFY(algebra::reduceTo(inOtherOrder(a), {columns}).bitEqual(reduced));
                    const Tensor split = a.reshaped({1, rows, 1, columns, 1});
                    QVERIFY(algebra::reduceTo(split, {columns, 1}).bitEqual(reduced.reshaped({columns, 1})));
                }
            }
        }
        const Tensor a = randomTensor({5, 3, 40, 4}, DType::Float32);
        const Tensor inside = algebra::reduceTo(a, {5, 1, 40, 4}); // the rows are not in front
        QVERIFY(algebra::reduceTo(inOtherOrder(a), {5, 1, 40, 4}).bitEqual(inside));
    }

    void longRowsAreCutAndStayWhole()
    {
        const Tensor a = randomTensor({100'003}, DType::Float32);
        const Tensor twice = algebra::add(a, a);
        QVERIFY(twice.bitEqual(algebra::scale(a, 2)));
    }

    void emptyTensors()
    {
        const Tensor none = Tensor::zeros(DType::Float64, {0, 4});
        QCOMPARE(q(algebra::add(none, none)), "[0 × 4]");
        QCOMPARE(q(algebra::reduceTo(none, {4})), "[4] 0 0 0 0");
    }
};

QTEST_GUILESS_MAIN(AlgebraTest)
#include "algebratest.moc"
