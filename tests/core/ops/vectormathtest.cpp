// SPDX-License-Identifier: Apache-2.0
// Float functions that vectorise, against the standard library in double.
#include "core/ops/kernel/vectormath.h"
#include "core/ops/kernel/logistic.h"
#include "core/ops/kernel/registers.h"

#include <QtTest>

#include <limits>
#include <vector>

namespace ops = retro::ops;

namespace
{

/// Largest |f(x) − exact| in units of the last place of the exact result, over `steps` points.
template <class F, class G>
double worst(const F& f, const G& exact, double low, double high)
{
    constexpr int kSteps = 40000;
    double most = 0;
    for (int i = 0; i <= kSteps; ++i) {
        const auto x = static_cast<float>(low + (high - low) * i / kSteps);
        const double expected = exact(static_cast<double>(x));
        const auto magnitude = static_cast<float>(std::abs(expected));
        const double unit = std::nextafter(magnitude, std::numeric_limits<float>::infinity()) - magnitude;
        most = std::max(most, std::abs(static_cast<double>(f(x)) - expected) / unit);
    }
    return most;
}

} // namespace

class VectorMathTest : public QObject
{
    Q_OBJECT
private slots:
    void theExponentialOfWhatIsNotPositiveHasTheSameBits()
    {
        const auto bitsOf = [](float x) { return std::bit_cast<std::uint32_t>(x); };
        for (std::uint32_t bits = bitsOf(-0.0F); bits <= bitsOf(-1000.0F); bits += 1009) {
            const auto x = std::bit_cast<float>(bits);
            QCOMPARE(bitsOf(ops::fastExpBelowZero(x)), bitsOf(ops::fastExp(x)));
        }
        QCOMPARE(ops::fastExpBelowZero(-std::numeric_limits<float>::infinity()), 0.0F);
        QCOMPARE(ops::fastExpBelowZero(0.0F), 1.0F);
        QVERIFY(std::isnan(ops::fastExpBelowZero(std::nanf(""))));
        QCOMPARE(ops::fastExpBelowZero(-1.0), std::exp(-1.0));
    }

    void theLogisticHasTheSameBitsInEachWidthOfRegisters()
    {
        std::vector<float> x;
        for (std::uint64_t bits = 0; bits <= std::numeric_limits<std::uint32_t>::max(); bits += 20011) {
            x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
        }
        std::vector<float> wide(x.size());
        ops::onWidestRegisters([from = x.data(), to = wide.data(), count = x.size()] {
            for (std::size_t i = 0; i < count; ++i) {
                to[i] = ops::vectorised::logisticOfNumber(from[i]);
            }
        });
        for (std::size_t i = 0; i < x.size(); ++i) {
            const float one = ops::vectorised::logisticOfNumber(x[i]);
            QCOMPARE(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(one));
        }
    }

    void exponential()
    {
        const auto exact = [](double x) { return std::exp(x); };
        QVERIFY(worst(ops::fastExp<float>, exact, -87, 88.7) < 2);
        QVERIFY(worst(ops::fastExp<float>, exact, -103, -87) < 2); // results without all their digits
        QCOMPARE(ops::fastExp(0.0F), 1.0F);
        QCOMPARE(ops::fastExp(-std::numeric_limits<float>::infinity()), 0.0F);
        QVERIFY(std::isinf(ops::fastExp(89.0F)) && std::isinf(ops::fastExp(1e30F)));
        QVERIFY(std::isnan(ops::fastExp(std::nanf(""))));
        QCOMPARE(ops::fastExp(1.0), std::exp(1.0));
    }

    void logistic()
    {
        const auto exact = [](double x) { return 1 / (1 + std::exp(-x)); };
        QVERIFY(worst(ops::logistic<float>, exact, -86, 30) < 4);
        QCOMPARE(ops::logistic(0.0F), 0.5F);
        QCOMPARE(ops::logistic(std::numeric_limits<float>::infinity()), 1.0F);
        for (const float low : {-88.0F, -1e30F, -std::numeric_limits<float>::infinity()}) {
            QVERIFY(ops::logistic(low) >= 0 && ops::logistic(low) < 2e-38F);
        }
        QVERIFY(std::isnan(ops::logistic(std::nanf(""))));
        QCOMPARE(ops::logistic(-1.0), exact(-1.0));
    }

    void timesLogistic()
    {
        const auto exact = [](double x) { return x / (1 + std::exp(-x)); };
        const auto ours = [](float x) { return ops::timesLogistic(x, 1.0F); };
        QVERIFY(worst(ours, exact, -50, 30) < 6);
        QCOMPARE(ours(std::numeric_limits<float>::infinity()), std::numeric_limits<float>::infinity());
        QVERIFY(std::isnan(ours(std::nanf(""))) && std::isnan(ours(-std::nanf(""))));
    }

    void tangent()
    {
        const auto exact = [](double x) { return std::tanh(x); };
        QVERIFY(worst(ops::fastTanh<float>, exact, -10, 10) < 4);
        QVERIFY(worst(ops::fastTanh<float>, exact, -1e-3, 1e-3) < 4);
        QCOMPARE(ops::fastTanh(std::numeric_limits<float>::infinity()), 1.0F);
        QCOMPARE(ops::fastTanh(-1e30F), -1.0F);
        QVERIFY(std::signbit(ops::fastTanh(-0.0F)));
        QVERIFY(std::isnan(ops::fastTanh(std::nanf(""))));
    }

    void errorFunction()
    {
        const auto exact = [](double x) { return std::erf(x); };
        QVERIFY(worst(ops::fastErf<float>, exact, -6, 6) < 4);
        QVERIFY(worst(ops::fastErf<float>, exact, -1e-3, 1e-3) < 4);
        QCOMPARE(ops::fastErf(std::numeric_limits<float>::infinity()), 1.0F);
        QCOMPARE(ops::fastErf(-1e30F), -1.0F);
        QVERIFY(std::isnan(ops::fastErf(std::nanf(""))));
    }
};

QTEST_GUILESS_MAIN(VectorMathTest)
#include "vectormathtest.moc"
