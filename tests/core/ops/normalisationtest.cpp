// SPDX-License-Identifier: Apache-2.0
// BatchNormalization at inference, and by the statistics of its own operand.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;

namespace
{

OpCase normalisation(DType dtype)
{
    OpCase c("BatchNormalization");
    c.with("epsilon", 0.25);
    for (const auto& values : std::vector<std::vector<double>>{{2, -3}, {1, 0}, {10, 20}, {3.75, 0.75}}) {
        if (c.operands().empty()) {
            c.operand(randomTensor({2, 2, 3}, dtype));
        }
        c.constant(doubles({2}, values).to(dtype));
    }
    return c;
}

} // namespace

class NormalisationTest : public QObject
{
    Q_OBJECT
private slots:
    /// Values of onnxruntime 1.32.
    void ownStatistics()
    {
        OpCase c = OpCase("BatchNormalization", 20).with("training_mode", std::int64_t{1});
        c.with("momentum", 0.75).with("epsilon", 0.5).outputs(3);
        c.operand(doubles({2, 2, 2}, {1, 2, 3, -1, 0, 5, -2, 4}));
        for (const auto& values : std::vector<std::vector<double>>{{2, 3}, {1, -1}, {4, 8}, {2, 6}}) {
            c.constant(doubles({2}, values));
        }
        QVERIFY2(c.bind(), c.error().c_str());
        const auto results = c.forward();
        const Tensor y = doubles(
            {2, 2, 2}, {0, 1, 1.2677865028381348, -3.267786979675293, -1, 4, -4.401679992675781, 2.4016799926757812});
        QVERIFY(distance(results[0], y) < 1e-6);
        QVERIFY(distance(results[1], doubles({2}, {3.5, 6.25})) < 1e-6);
        QVERIFY(distance(results[2], doubles({2}, {2.375, 6.125})) < 1e-6);
    }

    /// Before opset 14, more than one output means training, which is another operator.
    void oldTrainingIsRefused()
    {
        OpCase c = normalisation(DType::Float64);
        c.outputs(3);
        QVERIFY(c.refusal().find("training mode") != std::string::npos);
    }

    void scaleAndShift()
    {
        OpCase c = normalisation(DType::Float64);
        QVERIFY2(c.bind(), c.error().c_str());
        const auto& structure = c.structure<retro::ops::Normalisation>();
        // √(3.75 + 0.25) = 2 and √(0.75 + 0.25) = 1: scales 1 and −3, shifts 1 − 10 and 0 + 60.
        QCOMPARE(QString::fromStdString(textOf(structure.scale())), "[1 × 2 × 1] 1 -3");
        QCOMPARE(QString::fromStdString(textOf(structure.shift())), "[1 × 2 × 1] -9 60");
        const Tensor& x = c.operands()[0];
        const Tensor y = c.forward()[0];
        for (std::int64_t i = 0; i < x.size(); ++i) {
            const bool isFirst = i / 3 % 2 == 0;
            QCOMPARE(y.at(i), isFirst ? x.at(i) - 9 : -3 * x.at(i) + 60);
        }
        QCOMPARE(c.op().savedForGradient().operands, 1U);
    }

    void floatAgrees()
    {
        OpCase wide = normalisation(DType::Float64);
        OpCase narrow = normalisation(DType::Float32);
        QVERIFY(wide.bind() && narrow.bind());
        QVERIFY(distance(narrow.forward()[0].to(DType::Float64), wide.forward()[0]) < 1e-6);
    }
};

QTEST_GUILESS_MAIN(NormalisationTest)
#include "normalisationtest.moc"
