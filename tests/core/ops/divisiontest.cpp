// SPDX-License-Identifier: Apache-2.0
// Stabilised division in one walk: the bits of the division in steps, the sums of the ledger, whose memory is written.
#include "tests/core/ops/opcase.h"

#include "core/ops/algebra.h"
#include "core/ops/algebraover.h"
#include "core/ops/algebrasums.h"
#include "core/ops/exactsums.h"
#include "core/ops/gammadivision.h"
#include "core/ops/signsupport.h"
#include "core/ops/stabiliseddivision.h"
#include "core/ops/threads.h"

#include <QtTest>

#include <array>
#include <cmath>

using namespace retro::tests;
namespace algebra = retro::ops::algebra;
using algebra::DivisionAmounts;
using algebra::Stabiliser;
using algebra::StabiliserKind;
using retro::tensor::TensorBuffer;

namespace
{

template <class T>
Tensor numbersOf(const Shape& shape, int seed, bool isChannelsLast)
{
    const DType type = retro::tensor::DTypeOf<T>::value;
    TensorBuffer buffer = isChannelsLast ? TensorBuffer(type, shape, retro::tensor::channelsLastStrides(shape))
                                         : TensorBuffer(type, shape);
    int i = seed;
    for (T& value : buffer.span<T>()) {
        value = static_cast<T>(i % 11 == 0 ? 0 : std::sin(i * 37 % 1001));
        ++i;
    }
    return std::move(buffer).freeze();
}

/// Numbers around 0, some of them exactly 0; in channels-last order when asked for.
Tensor numbers(DType type, const Shape& shape, int seed, bool isChannelsLast = false)
{
    return type == DType::Float64 ? numbersOf<double>(shape, seed, isChannelsLast)
                                  : numbersOf<float>(shape, seed, isChannelsLast);
}

bool isNear(double a, double b, double scale) { return std::abs(a - b) <= 1e-12 * (1 + scale); }

} // namespace

class DivisionTest : public QObject
{
    Q_OBJECT
private slots:
    void givesTheBitsAndTheSumsOfTheSteps_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<bool>("isSigned");
        QTest::addColumn<bool>("isChannelsLast");
        QTest::addColumn<int>("bias"); // 0 none, 1 per channel, 2 one number, 3 of the whole shape, 4 one sample
        QTest::addColumn<bool>("isBiasIn");
        for (const int kind : {0, 1, 2}) {
            for (const bool isSigned : {true, false}) {
                for (const bool isChannelsLast : {true, false}) {
                    for (const int bias : {0, 1, 2, 3, 4}) {
                        for (const bool isIn : {false, true}) {
                            QTest::addRow("%d %d %d %d %d", kind, isSigned, isChannelsLast, bias, isIn)
                                << kind << isSigned << isChannelsLast << bias << isIn;
                        }
                    }
                }
            }
        }
    }

    void givesTheBitsAndTheSumsOfTheSteps()
    {
        QFETCH(int, kind);
        QFETCH(bool, isSigned);
        QFETCH(bool, isChannelsLast);
        QFETCH(int, bias);
        QFETCH(bool, isBiasIn);
        const Stabiliser stabiliser{static_cast<StabiliserKind>(kind), 0.01, isSigned};
        const Shape shape{2, 5, 40, 51}; // more than one task
        const std::array<Shape, 5> biasShapes{Shape{}, Shape{1, 5, 1, 1}, Shape{1}, shape, Shape{1, 5, 40, 51}};
        for (const DType type : {DType::Float32, DType::Float64}) {
            const Tensor r = numbers(type, shape, 3);
            const Tensor base = numbers(type, shape, 5, isChannelsLast);
            const Tensor b =
                bias == 0 ? Tensor()
                          : numbers(type, biasShapes[static_cast<std::size_t>(bias)], 7, isChannelsLast && bias == 4);
            const Tensor d = b.isValid() && !isBiasIn ? algebra::addBroadcast(base, b) : base;
            const Tensor expected = algebra::stabilisedQuotient(r, d, stabiliser);
            DivisionAmounts amounts;
            const Tensor s = algebra::stabilisedDivision(r, {base, b, isBiasIn}, stabiliser, &amounts);
            QVERIFY(s.bitEqual(expected));
            const double scale = algebra::sumAbsolute(expected) + algebra::sumAbsolute(r);
            const algebra::DivisionSums sums = algebra::divisionSums(r, expected, d);
            QVERIFY(isNear(amounts.sums.dividend, sums.dividend, scale));
            QVERIFY(isNear(amounts.sums.overZero, sums.overZero, scale));
            QVERIFY(isNear(amounts.sums.product, sums.product, scale));
            const double ofBias = b.isValid() ? algebra::dot(expected, algebra::broadcastTo(b, shape)) : 0;
            QVERIFY(isNear(amounts.bias, ofBias, scale));
            QVERIFY(algebra::stabilisedDivision(r, {base, b, isBiasIn}, stabiliser, nullptr).bitEqual(expected));
            DivisionAmounts others;
            const Tensor again = algebra::stabilisedDivision(r, {base, b, isBiasIn}, stabiliser, &others,
                                                             algebra::sum(r)); // which is known before
            QVERIFY(again.bitEqual(expected));
            QVERIFY(isNear(others.sums.dividend, sums.dividend, scale));
            QCOMPARE(others.sums.overZero, amounts.sums.overZero);
            QCOMPARE(others.sums.product, amounts.sums.product);
            QCOMPARE(others.bias, amounts.bias);
        }
    }

    void theSumOfTheDividendIsTakenOnlyOnce()
    {
        DivisionAmounts amounts;
        const Tensor r = doubles({2}, {1, 2});
        const Tensor s =
            algebra::stabilisedDivision(r, {doubles({2}, {2, 4})}, {StabiliserKind::Add, 0, true}, &amounts,
                                        12.5); // said, not summed
        QVERIFY(s.bitEqual(doubles({2}, {0.5, 0.5})));
        QCOMPARE(amounts.sums.dividend, 12.5);
        QCOMPARE(amounts.sums.product, 3.0);
    }

    void bookKeepsWhatIsDividedByInfinity()
    {
        DivisionAmounts amounts;
        const Tensor s = algebra::stabilisedDivision(doubles({3}, {1, 2, 4}), {doubles({3}, {INFINITY, 0, 2})},
                                                     {StabiliserKind::Add, 0, true}, &amounts);
        QVERIFY(s.bitEqual(doubles({3}, {0, 0, 2})));
        QCOMPARE(amounts.sums.dividend, 7.0);
        QCOMPARE(amounts.sums.overZero, 2.0);
        QCOMPARE(amounts.sums.product, 5.0);
    }

    void memoryIsUsedAgainOnlyWhenNobodyElseHoldsIt()
    {
        const Tensor r = doubles({3}, {1, 2, 3});
        Tensor own = doubles({3}, {1, 2, 4});
        const void* const place = own.rawData();
        const Tensor held = own;
        QVERIFY(algebra::multiplyOver(own, r).bitEqual(doubles({3}, {1, 4, 12})));
        QVERIFY(algebra::stabilisedDivision(r, {own}, {}, nullptr).isValid());
        QVERIFY(held.bitEqual(doubles({3}, {1, 2, 4})));
        own = Tensor();
        Tensor only = doubles({3}, {1, 2, 4});
        const void* const onlyPlace = only.rawData();
        const Tensor sum = algebra::addOver(std::move(only), r);
        QCOMPARE(static_cast<const void*>(sum.rawData()), onlyPlace);
        QVERIFY(sum.bitEqual(doubles({3}, {2, 4, 7})));
        QCOMPARE(static_cast<const void*>(held.rawData()), place);
    }

    // A product with its sums: the bits of the two steps, in whatever layout, and never over what somebody else holds.
    void productsAndTheirSums_data()
    {
        QTest::addColumn<bool>("isDouble");
        QTest::addColumn<bool>("isSameLayout");
        QTest::addColumn<bool>("isHeld");
        QTest::addColumn<double>("factor");
        for (int i = 0; i < 16; ++i) {
            QTest::addRow("%d", i) << ((i & 1) != 0) << ((i & 2) != 0) << ((i & 4) != 0) << ((i & 8) != 0 ? 0.3 : 1.0);
        }
    }
    void productsAndTheirSums()
    {
        QFETCH(bool, isDouble);
        QFETCH(bool, isSameLayout);
        QFETCH(bool, isHeld);
        QFETCH(double, factor);
        const Shape shape{2, 7, 31, 33}; // sums of several blocks of uneven length
        const auto make = [&](int seed, bool isChannelsLast) {
            return isDouble ? numbersOf<double>(shape, seed, isChannelsLast)
                            : numbersOf<float>(shape, seed, isChannelsLast);
        };
        const Tensor b = make(5, isSameLayout);
        const Tensor expected = algebra::multiplyScaledOver(make(3, true), b, factor);
        for (const int threads : {1, 2}) {
            retro::ops::setThreads(threads);
            Tensor a = make(3, true);
            const Tensor held = isHeld ? a : Tensor();
            const algebra::SummedTensor found = algebra::multiplyAndSum(std::move(a), b, factor);
            QVERIFY(found.tensor.bitEqual(expected));
            const algebra::SumAndMagnitude sums = algebra::sumAndMagnitude(found.tensor);
            QCOMPARE(found.sums.sum, sums.sum);
            QCOMPARE(found.sums.magnitude, sums.magnitude);
            QVERIFY(!isHeld || held.bitEqual(make(3, true)));
        }
    }

    void additionsTheirSumsAndWhatTheyLost_data()
    {
        QTest::addColumn<bool>("isDouble");
        QTest::addColumn<bool>("isSameLayout");
        for (int i = 0; i < 4; ++i) {
            QTest::addRow("%d", i) << ((i & 1) != 0) << ((i & 2) != 0);
        }
    }

    void additionsTheirSumsAndWhatTheyLost()
    {
        QFETCH(bool, isDouble);
        QFETCH(bool, isSameLayout);
        const DType type = isDouble ? DType::Float64 : DType::Float32;
        const Shape shape{2, 7, 31, 33};
        const Tensor a = numbers(type, shape, 3, true);
        const Tensor b = algebra::scale(numbers(type, shape, 5, isSameLayout), 1e-3);
        const Tensor expected = algebra::add(a, b);
        retro::base::ExactSum exact = algebra::exactSum(a);
        exact.add(algebra::exactSum(b));
        exact.subtract(algebra::exactSum(expected));
        const double lost = algebra::lostInSum(a, b, expected);
        QVERIFY(lost != 0);
        QVERIFY(std::abs(lost - exact.value()) <= 1e-9 * std::abs(lost));
        for (const int threads : {1, 2}) {
            retro::ops::setThreads(threads);
            const algebra::SummedAddition found = algebra::addAndSum(a, b);
            QVERIFY(found.tensor.bitEqual(expected));
            const algebra::SumAndMagnitude sums = algebra::sumAndMagnitude(found.tensor);
            QCOMPARE(found.sums.sum, sums.sum);
            QCOMPARE(found.sums.magnitude, sums.magnitude);
            QVERIFY(std::abs(found.lost - lost) <= 1e-12 * std::abs(lost)); // b's order may be another one
        }
    }

    void bothGammaQuotientsAreTheBitsOfTheSteps_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<bool>("isSameLayout");
        QTest::addColumn<int>("biases"); // 0 none, 1 b alone, 2 all
        for (const int kind : {0, 1, 2}) {
            for (const bool isSameLayout : {true, false}) {
                for (const int biases : {0, 1, 2}) {
                    QTest::addRow("%d %d %d", kind, isSameLayout, biases) << kind << isSameLayout << biases;
                }
            }
        }
    }

    void bothGammaQuotientsAreTheBitsOfTheSteps()
    {
        QFETCH(int, kind);
        QFETCH(bool, isSameLayout);
        QFETCH(int, biases);
        const Stabiliser stabiliser{static_cast<StabiliserKind>(kind), 0.01, true};
        const Shape shape{2, 5, 40, 51}; // more than one task
        for (const DType type : {DType::Float32, DType::Float64}) {
            const Tensor z = numbers(type, shape, 1, true);
            const Tensor r = numbers(type, shape, 2, isSameLayout);
            Tensor p = numbers(type, shape, 5, isSameLayout);
            const auto biasOf = [&](int least, int seed) {
                return biases < least ? Tensor() : numbers(type, {1, 5, 1, 1}, seed);
            };
            const algebra::GammaDenominators given{z, p, 0.3, biasOf(1, 7), biasOf(2, 8), biasOf(2, 9)};
            const Tensor own = biases > 0 ? algebra::addBroadcast(z, algebra::scale(given.bias, -1)) : z;
            const auto quotient = [&](const Tensor& part, const Tensor& sum, const Tensor& bias,
                                      DivisionAmounts& amounts) {
                return algebra::stabilisedDivision(part, {sum, bias, false}, stabiliser, &amounts);
            };
            DivisionAmounts up;
            DivisionAmounts down;
            const Tensor onPositive =
                quotient(algebra::keepWherePositive(r, z), algebra::addScaled(own, p, 0.3), given.up, up);
            const Tensor onNegative =
                quotient(algebra::keepWhereNegative(r, z), algebra::addScaled(own, algebra::subtract(own, p), 0.3),
                         given.down, down);
            const Tensor copy = algebra::scale(p, 1);
            const algebra::GammaQuotients made = algebra::gammaDivision(r, given, stabiliser, true);
            QVERIFY(p.bitEqual(copy)); // somebody holds it
            QVERIFY(made.onPositive.bitEqual(onPositive) && made.onNegative.bitEqual(onNegative));
            const double scale = algebra::sumAbsolute(r);
            for (const auto& [amounts, expected] : {std::pair(made.positive, up), std::pair(made.negative, down)}) {
                QVERIFY(isNear(amounts.sums.dividend, expected.sums.dividend, scale));
                QVERIFY(isNear(amounts.sums.overZero, expected.sums.overZero, scale));
                QVERIFY(isNear(amounts.sums.product, expected.sums.product, scale));
                QVERIFY(isNear(amounts.bias, expected.bias, scale));
            }
            const double zeros = algebra::sum(r) - up.sums.dividend - down.sums.dividend;
            QVERIFY(zeros != 0 && isNear(made.atZero, zeros, scale));
        }
    }

    void supportBySign()
    {
        const Tensor gate = doubles({5}, {1, 0, -1, NAN, 2});
        using Support = algebra::SignSupport;
        QCOMPARE(algebra::signSupport(doubles({5}, {1, 0, 0, 0, 2}), gate), Support::Positive);
        QCOMPARE(algebra::signSupport(doubles({5}, {1, 3, 0, 0, 2}), gate), Support::Zero);
        QCOMPARE(algebra::signSupport(doubles({5}, {0, 0, 0, 3, 0}), gate), Support::Zero);
        QCOMPARE(algebra::signSupport(doubles({5}, {1, 3, 4, 0, 2}), gate), Support::Negative);
    }

    void emptyTensors()
    {
        const Tensor none = Tensor::zeros(DType::Float32, {0, 3});
        DivisionAmounts amounts;
        QCOMPARE(algebra::stabilisedDivision(none, {none}, {}, &amounts).size(), 0);
        QCOMPARE(amounts.sums.dividend, 0.0);
    }
};

QTEST_APPLESS_MAIN(DivisionTest)
#include "divisiontest.moc"
