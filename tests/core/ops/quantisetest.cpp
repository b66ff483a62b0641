// SPDX-License-Identifier: Apache-2.0
// Quantised operators: rounding, saturation, scales per tensor, axis and block; integer products; pooling with indices.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
using retro::ops::StructureKind;

namespace
{

QString q(std::string text) { return QString::fromStdString(std::move(text)); }

Tensor bytes(Shape shape, const std::vector<double>& values, DType type = DType::UInt8)
{
    return doubles(std::move(shape), values).to(type);
}

} // namespace

class QuantiseTest : public QObject
{
    Q_OBJECT
private slots:
    void halvesGoToEven()
    {
        OpCase c = OpCase("QuantizeLinear", 21).operand(doubles({5}, {1, 3, 5, -3, 1000})).constant(doubles({}, {2}));
        QCOMPARE(q(c.constant(bytes({}, {10})).run()), "[5] 10 12 12 8 255");
        OpCase low = OpCase("QuantizeLinear", 21).operand(doubles({2}, {-500, 500})).constant(doubles({}, {1}));
        QCOMPARE(q(low.constant(bytes({}, {-3}, DType::Int8)).run()), "[2] -128 127");
        QVERIFY(low.op().structure().kind() == StructureKind::NoRelevance);
    }

    void scalesPerAxisAndBlock()
    {
        OpCase axis =
            OpCase("QuantizeLinear", 13).operand(doubles({2, 2}, {2, 4, 6, 8})).constant(doubles({2}, {1, 2}));
        QCOMPARE(q(axis.with("axis", std::int64_t{0}).run()), "[2 × 2] 2 4 3 4");
        OpCase block = OpCase("DequantizeLinear", 21).operand(bytes({1, 4}, {1, 2, 3, 4}));
        block.constant(doubles({1, 2}, {10, 100})).constant(bytes({1, 2}, {0, 1}));
        QCOMPARE(q(block.with("block_size", std::int64_t{2}).run()), "[1 × 4] 10 20 200 300");
    }

    void theTypeFollowsFromTheAttribute()
    {
        OpCase c = OpCase("QuantizeLinear", 21).operand(doubles({1}, {-7})).constant(doubles({}, {1}));
        QCOMPARE(q(c.with("output_dtype", std::int64_t{5}).run()), "[1] -7");
        QVERIFY(q(c.with("output_dtype", std::int64_t{17}).refusal()).contains("output_dtype 17 is not supported"));
    }

    void rangeOfTheData()
    {
        OpCase c = OpCase("DynamicQuantizeLinear", 11).operand(doubles({3}, {-51, 0, 204})).outputs(3);
        QCOMPARE(q(c.run()), "[3] 0 51 255");
        QCOMPARE(q(c.run(1)), "[scalar] 1");
        QCOMPARE(q(c.run(2)), "[scalar] 51");
        QCOMPARE(q(OpCase("DynamicQuantizeLinear", 11).operand(doubles({1}, {0})).outputs(3).run()), "[1] 0");
    }

    void integerProducts()
    {
        OpCase c = OpCase("MatMulInteger", 10).operand(bytes({2, 2}, {1, 2, 3, 4})).operand(bytes({2, 1}, {5, 6}));
        QCOMPARE(q(c.run()), "[2 × 1] 17 39");
        c.operand(bytes({2}, {1, 3})).operand(bytes({1}, {5}));
        QCOMPARE(q(c.run()), "[2 × 1] 1 1");
        QVERIFY(q(OpCase("MatMulInteger", 10).operand(ints({1})).operand(ints({1})).refusal()).contains("is int64"));
    }

    void quantisedProduct()
    {
        OpCase c("QLinearMatMul", 21);
        c.operand(bytes({1, 2}, {3, 5})).operand(doubles({}, {0.5})).operand(bytes({}, {1}));
        c.operand(bytes({2, 1}, {4, 2})).operand(doubles({}, {2})).operand(bytes({}, {0}));
        c.operand(doubles({}, {4})).operand(bytes({}, {7}));
        QCOMPARE(q(c.run()), "[1 × 1] 11"); // (2·4 + 4·2)·0.5·2/4 + 7
    }

    void integerConvolution()
    {
        OpCase c = OpCase("ConvInteger", 10).operand(bytes({1, 1, 3}, {2, 3, 4})).operand(bytes({1, 1, 2}, {1, 10}));
        QCOMPARE(q(OpCase(c).run()), "[1 × 1 × 2] 32 43");
        QCOMPARE(q(OpCase(c).operand(bytes({}, {1})).with("pads", Ints{1, 0}).run()), "[1 × 1 × 3] 10 21 32");
    }

    void quantisedConvolution()
    {
        OpCase c("QLinearConv", 10);
        c.operand(bytes({1, 1, 2}, {3, 5})).operand(doubles({}, {0.5})).operand(bytes({}, {1}));
        c.operand(bytes({2, 1, 1}, {4, 2})).operand(doubles({2}, {1, 2})).operand(bytes({2}, {0, 0}));
        c.operand(doubles({}, {2})).operand(bytes({}, {1}));
        c.operand(Tensor::of<std::int32_t>({2}, std::vector<std::int32_t>{4, 0}));
        QCOMPARE(q(c.run()), "[1 × 2 × 2] 4 6 3 5"); // (8+4)/4, (16+4)/4, 4/2, 8/2, plus 1
    }

    void whereMaximaLie()
    {
        const Tensor x = doubles({1, 2, 2, 2}, {1, 2, 4, 3, 9, 0, 0, 9});
        OpCase c = OpCase("MaxPool", 12).operand(x).with("kernel_shape", Ints{2, 2}).outputs(2);
        QCOMPARE(q(c.run(1)), "[1 × 2 × 1 × 1] 2 4");
        QCOMPARE(q(c.with("storage_order", std::int64_t{1}).run(1)), "[1 × 2 × 1 × 1] 1 4");
        OpCase small = OpCase("MaxPool", 12).operand(bytes({1, 1, 3}, {-3, -1, -2}, DType::Int8));
        QCOMPARE(q(small.with("kernel_shape", Ints{2}).run()), "[1 × 1 × 2] -1 -1");
    }

    void backToWhereTheyLay()
    {
        OpCase c =
            OpCase("MaxUnpool", 11).operand(doubles({1, 1, 1, 2}, {5, 6})).operand(ints({2, 5}).reshaped({1, 1, 1, 2}));
        c.with("kernel_shape", Ints{2, 2}).with("strides", Ints{2, 2});
        QCOMPARE(q(OpCase(c).run()), "[1 × 1 × 2 × 4] 0 0 5 0 0 6 0 0");
        QCOMPARE(q(OpCase(c).constant(ints({1, 1, 3, 5})).run()), "[1 × 1 × 3 × 5] 0 0 5 0 0 0 6 0 0 0 0 0 0 0 0");
    }

    void normOfWindows()
    {
        OpCase c = OpCase("LpPool", 18).operand(doubles({1, 1, 3}, {3, -4, 0})).with("kernel_shape", Ints{2});
        QCOMPARE(q(OpCase(c).run()), "[1 × 1 × 2] 5 4");
        QCOMPARE(q(OpCase(c).with("p", std::int64_t{1}).run()), "[1 × 1 × 2] 7 4");
        QCOMPARE(q(OpCase("GlobalLpPool").operand(doubles({1, 1, 1, 2}, {3, 4})).run()), "[1 × 1 × 1 × 1] 5");
    }
};

QTEST_GUILESS_MAIN(QuantiseTest)
#include "quantisetest.moc"
