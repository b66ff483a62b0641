// SPDX-License-Identifier: Apache-2.0
// Activations: values, derivatives against differences, what they keep.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using retro::ops::ElementWise;

namespace
{

const Tensor kX = doubles({5}, {-2, -0.5, 0, 0.5, 2});

struct Function
{
    const char* op;
    std::vector<std::pair<std::string, double>> attributes;
    double (*value)(double);
    bool keepsOutput;
};

const std::vector<Function> kFunctions{
    {"Relu", {}, [](double x) { return std::max(x, 0.0); }, true},
    {"Sigmoid", {}, [](double x) { return 1 / (1 + std::exp(-x)); }, true},
    {"Tanh", {}, [](double x) { return std::tanh(x); }, true},
    {"Exp", {}, [](double x) { return std::exp(x); }, true},
    {"Softplus", {}, [](double x) { return std::log(1 + std::exp(x)); }, false},
    {"LeakyRelu", {{"alpha", 0.1}}, [](double x) { return x > 0 ? x : 0.1 * x; }, false},
    {"Elu", {{"alpha", 2}}, [](double x) { return x > 0 ? x : 2 * (std::exp(x) - 1); }, false},
    {"Selu", {{"alpha", 2}, {"gamma", 3}}, [](double x) { return 3 * (x > 0 ? x : 2 * (std::exp(x) - 1)); }, false},
    {"HardSigmoid", {{"alpha", 0.25}}, [](double x) { return std::clamp(0.25 * x + 0.5, 0.0, 1.0); }, false},
};

} // namespace

class ActivationTest : public QObject
{
    Q_OBJECT
private slots:
    void values()
    {
        for (const Function& f : kFunctions) {
            OpCase c(f.op);
            for (const auto& [name, value] : f.attributes) {
                c.with(name, value);
            }
            QVERIFY2(c.operand(kX).bind(), c.error().c_str());
            const Tensor y = c.forward()[0];
            for (std::int64_t i = 0; i < kX.size(); ++i) {
                QVERIFY2(std::abs(y.at(i) - f.value(kX.at(i))) < 1e-15, f.op);
            }
            QCOMPARE(c.op().savedForGradient().outputs, f.keepsOutput ? 1U : 0U);
            QCOMPARE(c.op().savedForGradient().operands, f.keepsOutput ? 0U : 1U);
            QCOMPARE(c.structure<ElementWise>().derivativeReadsOutput(), f.keepsOutput);
            QCOMPARE(c.structure<ElementWise>().isRelu(), std::string(f.op) == "Relu");
        }
    }

    void derivatives()
    {
        const Tensor x = doubles({4}, {-1.7, -0.3, 0.4, 1.9}); // away from every kink
        for (const Function& f : kFunctions) {
            OpCase c(f.op);
            for (const auto& [name, value] : f.attributes) {
                c.with(name, value);
            }
            QVERIFY(c.operand(x).bind());
            const auto& structure = c.structure<ElementWise>();
            const Tensor y = c.forward()[0];
            const Tensor slope = structure.derivative(x, f.keepsOutput ? y : Tensor{});
            for (std::int64_t i = 0; i < x.size(); ++i) {
                const double step = 1e-6;
                const double difference = (f.value(x.at(i) + step) - f.value(x.at(i) - step)) / (2 * step);
                QVERIFY2(std::abs(slope.at(i) - difference) < 1e-8, f.op);
            }
            // From the operand alone, from the result alone, from both: the same bits.
            QVERIFY(structure.derivative(x, {}).bitEqual(structure.derivative(x, y)));
            if (f.keepsOutput) {
                QVERIFY(structure.derivative({}, y).bitEqual(slope));
            }
        }
    }

    void extremes()
    {
        const Tensor x = doubles({3}, {-1000, 1000, std::nan("")});
        const auto at = [&](const char* op, std::int64_t i) {
            OpCase c(op);
            return c.operand(x).bind() ? c.forward()[0].at(i) : 99.0;
        };
        QCOMPARE(at("Sigmoid", 0), 0.0);
        QCOMPARE(at("Sigmoid", 1), 1.0);
        QCOMPARE(at("Softplus", 0), 0.0);
        QCOMPARE(at("Softplus", 1), 1000.0);
        QCOMPARE(at("Elu", 0), -1.0);
        for (const Function& f : kFunctions) {
            QVERIFY2(std::isnan(at(f.op, 2)), f.op);
        }
    }

    void reluAtZeroHasNoSlope()
    {
        OpCase c("Relu");
        QVERIFY(c.operand(kX).bind());
        QCOMPARE(q(textOf(c.structure<ElementWise>().derivative({}, c.forward()[0]))), "[5] 0 0 0 1 1");
    }

    void clip()
    {
        const Tensor low = doubles({}, {-1});
        const Tensor high = doubles({}, {0.5});
        QCOMPARE(q(OpCase("Clip").operand(kX).constant(low).constant(high).run()), "[5] -1 -0.5 0 0.5 0.5");
        QCOMPARE(q(OpCase("Clip").operand(kX).absent().constant(high).run()), "[5] -2 -0.5 0 0.5 0.5");
        QCOMPARE(q(OpCase("Clip", 6).with("min", 0.0).operand(kX).run()), "[5] 0 0 0 0.5 2");
        OpCase c("Clip");
        QVERIFY(c.operand(kX).constant(low).constant(high).bind());
        QCOMPARE(q(textOf(c.structure<ElementWise>().derivative(kX, {}))), "[5] 0 1 1 1 0");
    }

    void parametricRelu()
    {
        const Tensor x = doubles({1, 2, 2}, {-1, 1, -2, 2});
        const Tensor slope = doubles({2, 1}, {0.5, 0.25});
        QCOMPARE(q(OpCase("PRelu").operand(x).constant(slope).run()), "[1 × 2 × 2] -0.5 1 -0.5 2");
        QCOMPARE(q(OpCase("PRelu", 6).operand(x).constant(doubles({2}, {0.5, 0.25})).run()),
                 "[1 × 2 × 2] -0.5 1 -0.5 2");
        OpCase c("PRelu");
        QVERIFY(c.operand(x).constant(slope).bind());
        QCOMPARE(q(textOf(c.structure<ElementWise>().derivative(x, {}))), "[1 × 2 × 2] 0.5 1 0.25 1");
    }
};

QTEST_GUILESS_MAIN(ActivationTest)
#include "activationtest.moc"
