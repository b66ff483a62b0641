// SPDX-License-Identifier: Apache-2.0
// Quantised operators: rounding, saturation, scales per tensor, axis and block; integer products; pooling with indices.
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <limits>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
using retro::ops::StructureKind;

namespace
{

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

    /// Values of qonnx 1.0.
    void qonnx()
    {
        const std::vector<double> x{-9, -1.5, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.25, 9};
        const auto quant = [&x](const char* mode, std::int64_t isSigned, std::int64_t isNarrow, double zero,
                                double bits) {
            OpCase c("Quant", 1, "qonnx.custom_op.general");
            c.operand(doubles({10}, x)).constant(doubles({1}, {0.5})).constant(doubles({}, {zero}));
            c.constant(doubles({}, {bits})).with("rounding_mode", std::string(mode));
            c.with("signed", isSigned).with("narrow", isNarrow);
            return c.bind() ? c.forward()[0] : Tensor();
        };
        const auto is = [](const Tensor& y, const std::vector<double>& want) {
            return distance(y, doubles({10}, want)) == 0;
        };
        QVERIFY(is(quant("ROUND", 1, 0, 0, 3), {-2, -1.5, -1, -0.5, 0, 0, 0.5, 1, 1, 1.5}));
        QVERIFY(is(quant("ceil", 1, 0, 0, 3), {-2, -1.5, -0.5, -0.5, 0, 0.5, 0.5, 1, 1.5, 1.5}));
        QVERIFY(is(quant("FLOOR", 1, 0, 0, 3), {-2, -1.5, -1, -0.5, -0.5, 0, 0.5, 0.5, 1, 1.5}));
        QVERIFY(is(quant("UP", 1, 0, 0, 3), {-2, -1.5, -1, -0.5, -0.5, 0.5, 0.5, 1, 1.5, 1.5}));
        QVERIFY(is(quant("ROUND_TO_ZERO", 1, 0, 0, 3), {-2, -1.5, -0.5, -0.5, 0, 0, 0.5, 0.5, 1, 1.5}));
        QVERIFY(is(quant("HALF_UP", 1, 0, 0, 3), {-2, -1.5, -1, -0.5, -0.5, 0.5, 0.5, 1, 1.5, 1.5}));
        QVERIFY(is(quant("HALF_DOWN", 1, 0, 0, 3), {-2, -1.5, -0.5, -0.5, 0, 0, 0.5, 0.5, 1, 1.5}));
        QVERIFY(is(quant("ROUND", 1, 1, 0, 3), {-1.5, -1.5, -1, -0.5, 0, 0, 0.5, 1, 1, 1.5}));
        QVERIFY(is(quant("ROUND", 0, 0, 2, 3), {-1, -1, -1, -0.5, 0, 0, 0.5, 1, 1, 2.5}));
        QVERIFY(is(quant("ROUND", 0, 1, 2, 3), {-1, -1, -1, -0.5, 0, 0, 0.5, 1, 1, 2}));
        QVERIFY(is(quant("ROUND", 1, 0, 0, 1), {-0.5, -0.5, -0.5, -0.5, -0.5, 0.5, 0.5, 0.5, 0.5, 0.5}));
        OpCase unknown("Quant", 1, "onnx.brevitas");
        unknown.operand(doubles({1}, {1}))
            .constant(doubles({}, {1}))
            .constant(doubles({}, {0}))
            .constant(doubles({}, {4}));
        QVERIFY(
            q(unknown.with("rounding_mode", std::string("ODD")).refusal()).contains("rounding_mode 'ODD' is unknown"));
        OpCase wide("BipolarQuant", 1, "onnx.brevitas");
        QVERIFY(q(wide.operand(doubles({1}, {1})).constant(doubles({3}, {1, 1, 1})).refusal()).contains("operand 1"));
    }

    void qonnxPerChannelAndInReverse()
    {
        OpCase c("Quant", 1, "onnx.brevitas");
        c.operand(doubles({2, 2}, {3, -9, 3, -9})).constant(doubles({2, 1}, {1, 4})).constant(doubles({}, {0}));
        QCOMPARE(q(c.constant(doubles({}, {3})).run()), "[2 × 2] 3 -4 4 -8");
        const auto& map = c.structure<retro::ops::ShapeMap>();
        const std::vector<Tensor> arrived{doubles({2, 2}, {1, 2, 3, 4})};
        QCOMPARE(q(textOf(map.carryBack(arrived, c.operands(), 0))), "[2 × 2] 1 0 3 4"); // -9 has saturated
        QCOMPARE(q(textOf(map.carryBack(arrived, c.operands(), 1))), "[2 × 1] 0 0");
        OpCase two("BipolarQuant", 1, "onnx.brevitas");
        two.operand(doubles({3}, {-0.5, 0, 7})).constant(doubles({}, {0.25}));
        QCOMPARE(q(two.run()), "[3] -0.25 0.25 0.25");
        const std::vector<double> levels{0, 0.5, 1, 1.5, 2, 3.5, -1.5};
        OpCase cut("Trunc", 1, "onnx.brevitas");
        cut.operand(doubles({7}, levels)).constant(doubles({}, {0.5})).constant(doubles({}, {0}));
        cut.constant(doubles({}, {4}));
        QCOMPARE(q(OpCase(cut).constant(doubles({}, {2})).run()), "[7] 0 0 0 0 0.5 0.5 -0.5");
        cut.constant(doubles({}, {1}));
        QCOMPARE(q(cut.constant(doubles({}, {2})).run()), "[7] 0 0 1 1 1 1 -2");
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
        QCOMPARE(q(OpCase(c).with("output_dtype", std::int64_t{22}).run()), "[1] -7"); // int4
        QVERIFY(q(c.with("output_dtype", std::int64_t{7}).refusal()).contains("the quantised type is int64"));
    }

    void fourBits()
    {
        OpCase c = OpCase("QuantizeLinear", 21).operand(doubles({4}, {1, 3, -40, 1000})).constant(doubles({}, {2}));
        c.constant(bytes({1}, {1}, DType::Int4)); // one number, whatever its shape
        QCOMPARE(q(c.run()), "[4] 1 3 -8 7");
        QVERIFY(c.op().outputTypes()[0].dtype == DType::Int4);
        OpCase back = OpCase("DequantizeLinear", 21).operand(bytes({3}, {0, 7, 15}, DType::UInt4));
        QCOMPARE(q(back.constant(doubles({}, {0.5})).constant(bytes({}, {8}, DType::UInt4)).run()), "[3] -4 -0.5 3.5");
    }

    /// A quotient is rounded once, to the type; the attribute says what is beyond its range.
    void floatsOfFewBits()
    {
        OpCase c = OpCase("QuantizeLinear", 23).operand(doubles({4}, {0.5, 3, 2.2, 2000})).constant(doubles({}, {2}));
        c.with("output_dtype", std::int64_t{17});
        QCOMPARE(q(c.run()), "[4] 0.25 1.5 1.125 448"); // 1.1 is between 1 and 1.125
        QCOMPARE(q(OpCase(c).with("output_dtype", std::int64_t{23}).run()), "[4] 0 1.5 1 6");
        OpCase loose = OpCase("QuantizeLinear", 23).operand(doubles({2}, {2.2, 2e5})).constant(doubles({}, {2}));
        loose.with("output_dtype", std::int64_t{19}).with("saturate", std::int64_t{0});
        QCOMPARE(q(loose.run()), "[2] 1 inf");
    }

    /// Scales of microscaling formats are powers of two in 8 bits.
    void scalesOfPowersOfTwo()
    {
        OpCase c = OpCase("DequantizeLinear", 24).operand(doubles({1, 4}, {0.5, 6, -3, 1}).to(DType::Float4E2M1));
        c.constant(doubles({1, 2}, {8, 0.25}).to(DType::Float8E8M0)).with("block_size", std::int64_t{2});
        QCOMPARE(q(c.run()), "[1 × 4] 4 48 -0.75 0.25");
    }

    void casts()
    {
        OpCase c = OpCase("Cast", 24).operand(doubles({3}, {5, 0.3, 1000}));
        QCOMPARE(q(OpCase(c).with("to", std::int64_t{18}).run()), "[3] 5 0.3125 240");
        QCOMPARE(q(OpCase(c).with("to", std::int64_t{21}).run()), "[3] 5 0 8");
        OpCase power = OpCase(c).with("to", std::int64_t{24});
        QCOMPARE(q(OpCase(power).run()), "[3] 8 0.5 1024");
        QCOMPARE(q(OpCase(power).with("round_mode", std::string("down")).run()), "[3] 4 0.25 512");
        QVERIFY(q(power.with("round_mode", std::string("odd")).refusal()).contains("round_mode 'odd' is unknown"));
        const OpCase wide = OpCase("Cast", 24).operand(doubles({2}, {1.5, -448}).to(DType::Float8E4M3FN));
        QCOMPARE(q(OpCase(wide).with("to", std::int64_t{1}).run()), "[2] 1.5 -448");
    }

    void nothingComputesInFewBits()
    {
        const Tensor few = doubles({1, 2}, {1, 2}).to(DType::Int4);
        QVERIFY(q(OpCase("Add", 14).operand(few).operand(few).refusal()).contains("operand 0 is int4"));
        QVERIFY(q(OpCase("Relu", 14).operand(few).refusal()).contains("DequantizeLinear"));
        QCOMPARE(q(OpCase("Transpose", 21).operand(few).run()), "[2 × 1] 1 2");
        QCOMPARE(q(OpCase("Concat", 21).operand(few).operand(few).with("axis", std::int64_t{0}).run()),
                 "[2 × 2] 1 2 1 2");
    }

    void rangeOfTheData()
    {
        OpCase c = OpCase("DynamicQuantizeLinear", 11).operand(doubles({3}, {-51, 0, 204})).outputs(3);
        QCOMPARE(q(c.run()), "[3] 0 51 255");
        QCOMPARE(q(c.run(1)), "[scalar] 1");
        QCOMPARE(q(c.run(2)), "[scalar] 51");
        QCOMPARE(q(OpCase("DynamicQuantizeLinear", 11).operand(doubles({1}, {0})).outputs(3).run()), "[1] 0");
    }

    /// As ONNX Runtime: a number that is none, and what is -inf of an infinite scale, is 0.
    void rangeWithoutEnd()
    {
        constexpr double kInfinite = std::numeric_limits<double>::infinity();
        const auto quantised = [](const std::vector<double>& x) {
            OpCase c = OpCase("DynamicQuantizeLinear", 11)
                           .operand(doubles({static_cast<std::int64_t>(x.size())}, x))
                           .outputs(3);
            return q(c.run()) + ", " + q(c.run(2));
        };
        QCOMPARE(quantised({-kInfinite, 1, 2}), "[3] 0 255 255, [scalar] 255");
        QCOMPARE(quantised({kInfinite, -1, 2}), "[3] 0 0 0, [scalar] 0");
        QCOMPARE(quantised({-kInfinite, kInfinite, 1}), "[3] 0 0 255, [scalar] 255");
        QCOMPARE(quantised({-std::numeric_limits<double>::denorm_min(), 0}),
                 "[2] 0 0, [scalar] 255"); // no step is left
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
