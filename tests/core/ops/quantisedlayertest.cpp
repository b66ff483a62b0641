// SPDX-License-Identifier: Apache-2.0
// What quantised models are explained with: FakeQuantize, layers of whole numbers, functions of quantised values,
// weights of few bits.
#include "core/ops/lookup.h"
#include "core/ops/quantise/straightthrough.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
using retro::ops::StructureKind;
namespace ops = retro::ops;

namespace
{

const std::string kMicrosoft = "com.microsoft";
const std::string kInteger = "retrograde.integer";

Tensor levels(Shape shape, const std::vector<double>& values, DType type = DType::UInt8)
{
    return doubles(std::move(shape), values).to(type);
}

/// A row of a matrix of float32.
Tensor rowOf(const Tensor& matrix, std::int64_t row)
{
    const std::int64_t length = matrix.shape()[1];
    std::vector<double> numbers(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) {
        numbers[static_cast<std::size_t>(i)] = matrix.at(row * length + i);
    }
    return doubles({1, length}, numbers).to(DType::Float32);
}

/// Whole numbers from −most to most.
Tensor wholes(const Shape& shape, int most, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> draw(-most, most);
    std::vector<double> values(static_cast<std::size_t>(retro::tensor::elementCount(shape)));
    for (double& value : values) {
        value = draw(random);
    }
    return doubles(shape, values);
}

struct GridCase
{
    const char* name;
    DType levels;
    Shape scale;
    std::int64_t axis;
    std::int64_t block;
};

std::vector<GridCase> gridCases()
{
    return {{"uint8", DType::UInt8, {}, 1, 0},
            {"int8 per axis", DType::Int8, {4}, 1, 0},
            {"int4", DType::Int4, {1}, 1, 0},
            {"uint16", DType::UInt16, {}, 1, 0},
            {"int8 in blocks", DType::Int8, {3, 2}, 1, 2},
            {"float8", DType::Float8E4M3FN, {}, 1, 0}};
}

OpCase gridNode(const std::string& op, const std::string& domain, const GridCase& c, const Tensor& x)
{
    OpCase node(op, domain.empty() ? 21 : 1, domain);
    node.operand(x);
    std::vector<double> scales(static_cast<std::size_t>(retro::tensor::elementCount(c.scale)));
    for (std::size_t i = 0; i < scales.size(); ++i) {
        scales[i] = 0.1 + 0.07 * static_cast<double>(i);
    }
    node.constant(doubles(c.scale, scales).to(x.dtype() == DType::Float64 ? DType::Float64 : DType::Float32));
    node.constant(Tensor::zeros(c.levels, c.scale));
    return node.with("axis", c.axis).with("block_size", c.block);
}

} // namespace

class QuantisedLayerTest : public QObject
{
    Q_OBJECT
private slots:
    void fakeQuantizeIsThereAndBack()
    {
        for (const DType type : {DType::Float32, DType::Float64}) {
            const Tensor x = retro::ops::algebra::scale(randomTensor({3, 4}, type, 7), 9);
            for (const GridCase& c : gridCases()) {
                OpCase there = gridNode("QuantizeLinear", {}, c, x);
                QVERIFY2(there.bind(), there.error().c_str());
                OpCase back = gridNode("DequantizeLinear", {}, c, x);
                std::vector<Tensor> operands = back.operands();
                operands[0] = there.forward()[0];
                OpCase whole("DequantizeLinear", 21);
                whole.operand(operands[0]).constant(operands[1]).constant(operands[2]);
                whole.with("axis", c.axis).with("block_size", c.block);
                QVERIFY2(whole.bind(), whole.error().c_str());
                OpCase fake = gridNode("FakeQuantize", "retrograde", c, x);
                QVERIFY2(fake.bind(), fake.error().c_str());
                QVERIFY2(fake.forward()[0].bitEqual(whole.forward()[0]), c.name);
            }
        }
    }

    void fakeQuantizePassesStraightThrough()
    {
        OpCase c("FakeQuantize", 1, "retrograde");
        c.operand(doubles({6}, {-5, 0, 258.4, 260, -3, 100}));
        c.constant(doubles({}, {1})).constant(levels({}, {0}));
        QCOMPARE(q(c.run()), "[6] 0 0 255 255 0 100");
        QVERIFY(c.op().structure().kind() == StructureKind::ShapeMap);
        QVERIFY(ops::isSaturating(c.op()));
        const std::vector<Tensor> arrived{doubles({6}, {1, 2, 3, 4, 5, 6})};
        const auto& map = c.structure<ops::ShapeMap>();
        QCOMPARE(q(textOf(map.carryBack(arrived, c.operands(), 0))),
                 "[6] 0 2 3 0 5 6"); // a 64th of the range is near enough
        QCOMPARE(q(textOf(map.carryBack(arrived, c.operands(), 1))), "[scalar] 0");
    }

    void theOwnRangeNeverSaturates()
    {
        OpCase c("FakeQuantize", 1, "retrograde");
        c.operand(doubles({4}, {-100, 155, 3.4, 0}));
        QCOMPARE(q(c.run()), "[4] -100 155 3 0");
        QVERIFY(ops::isStraightThrough(c.op()) && !ops::isSaturating(c.op()));
        OpCase wrong("FakeQuantize", 1, "retrograde");
        QVERIFY(q(wrong.operand(ints({1, 2})).refusal()).contains("float"));
    }

    /// Sums of 5,000 products of 255 and 127 are beyond what float32 holds.
    void wholeNumbersAreMultipliedExactly_data()
    {
        QTest::addColumn<int>("most");
        QTest::addColumn<int>("depth");
        QTest::newRow("small") << 7 << 5;
        QTest::newRow("two digits") << 255 << 900;
        QTest::newRow("deep") << 255 << 5000;
        QTest::newRow("16 bits") << 32767 << 40;
    }

    void wholeNumbersAreMultipliedExactly()
    {
        QFETCH(int, most);
        QFETCH(int, depth);
        const Tensor x = wholes({3, depth}, most, 3);
        const Tensor w = wholes({depth, 4}, 127, 5);
        OpCase exact("MatMul");
        exact.operand(x).operand(w);
        QVERIFY2(exact.bind(), exact.error().c_str());
        const Tensor wanted = exact.forward()[0];
        for (const bool isConstant : {true, false}) {
            OpCase c("MatMul", 1, kInteger);
            c.operand(ops::algebra::scale(x, 0.03).to(DType::Float32));
            const Tensor weight = ops::algebra::scale(w, 0.007).to(DType::Float32);
            isConstant ? c.constant(weight) : c.operand(weight);
            c.absent().constant(doubles({}, {0.03}).to(DType::Float32));
            c.constant(doubles({}, {0.007}).to(DType::Float32));
            QVERIFY2(c.bind(), c.error().c_str());
            const double left = c.operands()[3].at(0);
            const double right = c.operands()[4].at(0);
            const Tensor result = c.forward()[0];
            for (std::int64_t i = 0; i < wanted.size(); ++i) {
                QCOMPARE(result.at(i), static_cast<double>(static_cast<float>(wanted.at(i) * right * left)));
            }
        }
    }

    void integerLayersAreTheLayersThatTheyStandFor()
    {
        const Tensor x = ops::algebra::scale(wholes({1, 2, 4, 4}, 100, 1), 0.5);
        const Tensor w =
            ops::algebra::multiplyBroadcast(wholes({3, 2, 3, 3}, 127, 2), doubles({3, 1, 1, 1}, {1, 2, 4}));
        const Tensor bias = doubles({3}, {1, -2, 0.5});
        OpCase plain = OpCase("Conv").operand(x).constant(w).constant(bias).with("pads", Ints{1, 1, 1, 1});
        OpCase own = OpCase("Conv", 1, kInteger).operand(x).constant(w).constant(bias).with("pads", Ints{1, 1, 1, 1});
        own.constant(doubles({}, {0.5})).constant(doubles({3, 1, 1, 1}, {1, 2, 4}));
        QVERIFY2(plain.bind() && own.bind(), own.error().c_str());
        QVERIFY(distance(own.forward()[0], plain.forward()[0]) < 1e-14);
        QVERIFY(own.op().structure().kind() == StructureKind::LinearMap);
        QVERIFY(ops::isStraightThrough(own.op()));
        const Tensor s = randomTensor(plain.forward()[0].shape());
        const auto& a = own.structure<ops::LinearMap>();
        const auto& b = plain.structure<ops::LinearMap>();
        for (const ops::WeightVariant variant : allVariants()) {
            QVERIFY(a.pullback(s, variant).bitEqual(b.pullback(s, variant)));
            QVERIFY(a.apply(x, variant).bitEqual(b.apply(x, variant)));
        }
        OpCase wrong = OpCase("Conv", 1, kInteger).operand(x).constant(w).absent().constant(doubles({}, {0.5}));
        QVERIFY(q(wrong.constant(doubles({3}, {1, 2, 4})).refusal()).contains("scale of operand 1")); // of the width
    }

    void gemmWithTransposedWeights()
    {
        const Tensor x = wholes({2, 6}, 50, 1);
        const Tensor w = ops::algebra::scale(wholes({3, 6}, 50, 2), 0.25);
        OpCase own = OpCase("Gemm", 1, kInteger).operand(x).constant(w).constant(doubles({3}, {1, 2, 3}));
        own.constant(doubles({}, {1})).constant(doubles({3, 1}, {0.25, 0.25, 0.25})).with("transB", std::int64_t{1});
        OpCase plain = OpCase("Gemm").operand(x).constant(w).constant(doubles({3}, {1, 2, 3}));
        plain.with("transB", std::int64_t{1});
        QVERIFY2(own.bind() && plain.bind(), own.error().c_str());
        QVERIFY(distance(own.forward()[0], plain.forward()[0]) < 1e-14);
    }

    /// Weights of 4 bits in blocks of 16, low bits first, with zero points of their own.
    void weightsOfFewBits()
    {
        constexpr std::int64_t kDepth = 20;
        constexpr std::int64_t kRows = 3;
        std::vector<double> bytes(static_cast<std::size_t>(kRows * 2 * 8));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<double>(i * 37 % 256);
        }
        const std::vector<double> scales{0.5, 0.25, 1, 2, 0.125, 0.75};
        const std::vector<double> zeros{0x21, 0x83, 0x6F};
        const Tensor x = wholes({2, kDepth}, 4, 9);
        OpCase c = OpCase("MatMulNBits", 1, kMicrosoft).operand(x).constant(levels({kRows, 2, 8}, bytes));
        c.constant(doubles({kRows, 2}, scales)).constant(levels({kRows, 1}, zeros)).absent();
        c.constant(doubles({kRows}, {1, 2, 3}));
        c.with("K", kDepth).with("N", kRows).with("bits", std::int64_t{4}).with("block_size", std::int64_t{16});
        QVERIFY2(c.bind(), c.error().c_str());
        const Tensor y = c.forward()[0];
        for (std::int64_t row = 0; row < 2; ++row) {
            for (std::int64_t n = 0; n < kRows; ++n) {
                double sum = static_cast<double>(n + 1);
                for (std::int64_t k = 0; k < kDepth; ++k) {
                    const int byte = static_cast<int>(bytes[static_cast<std::size_t>(n * 16 + k / 2)]);
                    const int pair = static_cast<int>(zeros[static_cast<std::size_t>(n)]);
                    const int level = k % 2 == 0 ? byte & 15 : byte >> 4;
                    const int zero = k < 16 ? pair & 15 : pair >> 4;
                    sum += x.at(row * kDepth + k) * (level - zero) * scales[static_cast<std::size_t>(n * 2 + k / 16)];
                }
                QCOMPARE(y.at(row * kRows + n), sum);
            }
        }
        QVERIFY(c.op().structure().kind() == StructureKind::LinearMap);
        QVERIFY(q(OpCase(c).with("bits", std::int64_t{3}).refusal()).contains("bits is 3"));
        QVERIFY(q(OpCase(c).with("block_size", std::int64_t{24}).refusal()).contains("power of two"));
        QVERIFY(q(OpCase(c).with("N", std::int64_t{4}).refusal()).contains("bytes of uint8"));
        QVERIFY(q(OpCase(c).with("weight_prepacked", std::int64_t{1}).refusal()).contains("one machine"));
    }

    void packedWeightsHaveTheBitsOfWideOnes_data()
    {
        QTest::addColumn<int>("bits");
        QTest::addColumn<int>("scales");
        QTest::addColumn<bool>("hasZeros");
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("depth");
        for (const int bits : {2, 4, 8}) {
            for (const DType scales : {DType::Float32, DType::Float16}) {
                for (const int rows : {1, 2, 3, 9}) {
                    for (const int depth : {90, 96, 480, 864}) { // sums of one block, of no whole ones, of whole ones
                        QTest::addRow("%d bits, %s, %d rows, depth %d", bits,
                                      std::string(retro::tensor::nameOf(scales)).c_str(), rows, depth)
                            << bits << static_cast<int>(scales) << (rows > 1 && rows < 4) << rows << depth;
                    }
                }
            }
        }
    }
    /// x·W and back, with every variant of the weights, in float32: a product of the same numbers as a matrix.
    void packedWeightsHaveTheBitsOfWideOnes()
    {
        QFETCH(const int, bits);
        QFETCH(const int, scales);
        QFETCH(const bool, hasZeros);
        QFETCH(const int, rows);
        QFETCH(const int, depth);
        const std::int64_t columns = depth; // the last block may not be full
        constexpr std::int64_t kResults = 21;
        constexpr std::int64_t kBlock = 32;
        const std::int64_t blocks = (columns + kBlock - 1) / kBlock;
        std::mt19937 random(5);
        const std::int64_t bytesOfBlock = kBlock * bits / 8;
        std::vector<double> bytes(static_cast<std::size_t>(kResults * blocks * bytesOfBlock));
        std::ranges::generate(bytes, [&] { return static_cast<double>(random() % 256); });
        std::vector<double> zeros(static_cast<std::size_t>(kResults * ((blocks * bits + 7) / 8)));
        std::ranges::generate(zeros, [&] { return static_cast<double>(random() % 256); });
        const Tensor scale = randomTensor({kResults, blocks}, static_cast<DType>(scales), 6);
        const Tensor x = randomTensor({rows, columns}, DType::Float32, 7);
        OpCase packed("MatMulNBits", 1, kMicrosoft);
        packed.operand(x).constant(levels({kResults, blocks, bytesOfBlock}, bytes)).constant(scale);
        if (hasZeros) {
            packed.constant(levels({static_cast<std::int64_t>(zeros.size())}, zeros));
        }
        packed.with("K", columns).with("N", kResults).with("bits", std::int64_t{bits}).with("block_size", kBlock);
        QVERIFY2(packed.bind(), packed.error().c_str());
        std::vector<double> wide(static_cast<std::size_t>(columns * kResults));
        const auto numberAt = [bits](const std::vector<double>& from, std::int64_t first, std::int64_t at) {
            const int byte = static_cast<int>(from[static_cast<std::size_t>(first + at * bits / 8)]);
            return (byte >> (at * bits % 8)) & ((1 << bits) - 1);
        };
        for (std::int64_t n = 0; n < kResults; ++n) {
            for (std::int64_t k = 0; k < columns; ++k) {
                const int level = numberAt(bytes, n * blocks * bytesOfBlock, k);
                const int zero =
                    hasZeros ? numberAt(zeros, n * ((blocks * bits + 7) / 8), k / kBlock) : 1 << (bits - 1);
                wide[static_cast<std::size_t>(k * kResults + n)] = (level - zero) * scale.at(n * blocks + k / kBlock);
            }
        }
        OpCase plain("MatMul");
        plain.operand(x).constant(doubles({columns, kResults}, wide).to(DType::Float32));
        QVERIFY2(plain.bind(), plain.error().c_str());
        QVERIFY(packed.forward()[0].bitEqual(plain.forward()[0]));
        const auto& ours = dynamic_cast<const ops::LinearMap&>(packed.op().structure());
        const auto& wanted = dynamic_cast<const ops::LinearMap&>(plain.op().structure());
        const Tensor s = randomTensor({rows, kResults}, DType::Float32, 8);
        for (const ops::WeightPart part : {ops::WeightPart::All, ops::WeightPart::Positive, ops::WeightPart::Negative,
                                           ops::WeightPart::GammaPositive, ops::WeightPart::GammaNegative,
                                           ops::WeightPart::Square, ops::WeightPart::Ones}) {
            const ops::WeightVariant variant{part, 0.25};
            QVERIFY(ours.apply(x, variant).bitEqual(wanted.apply(x, variant)));
            QVERIFY(ours.pullback(s, variant).bitEqual(wanted.pullback(s, variant)));
        }
    }

    /// Products flush numbers below the smallest normal one, but what such a scale gives may be above it.
    void scalesBelowTheSmallestNormalNumber()
    {
        constexpr std::int64_t kDepth = 64;
        constexpr std::int64_t kResults = 40;
        std::vector<double> bytes(static_cast<std::size_t>(kResults * kDepth / 2));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<double>(i * 37 % 256);
        }
        std::vector<double> scales(static_cast<std::size_t>(kResults * 2), 1e-36);
        scales[70] = 0x1.8p-127;
        const Tensor x = randomTensor({5, kDepth}, DType::Float32, 3);
        const auto product = [&](const Tensor& rows) {
            OpCase c = OpCase("MatMulNBits", 1, kMicrosoft).operand(rows);
            c.constant(levels({kResults, 2, 16}, bytes));
            c.constant(doubles({kResults, 2}, scales).to(DType::Float32));
            c.with("K", kDepth).with("N", kResults).with("bits", std::int64_t{4}).with("block_size", std::int64_t{32});
            return c.bind() ? c.forward()[0] : Tensor();
        };
        const Tensor all = product(x);
        for (std::int64_t row = 0; row < 5; ++row) {
            QVERIFY(product(rowOf(x, row)).bitEqual(rowOf(all, row)));
        }
    }

    /// g_idx may go on to the end of the last block; what stands behind the columns is not read.
    void groupsUpToTheEndOfTheLastBlock()
    {
        constexpr std::int64_t kDepth = 40;
        constexpr std::int64_t kRows = 3;
        std::vector<double> bytes(static_cast<std::size_t>(kRows * 3 * 8));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<double>(i * 53 % 256);
        }
        const Tensor x = wholes({2, kDepth}, 4, 9);
        const auto product = [&](std::int64_t count, double behind) {
            std::vector<double> groups(static_cast<std::size_t>(count), behind);
            for (std::int64_t k = 0; k < std::min(count, kDepth); ++k) {
                groups[static_cast<std::size_t>(k)] = static_cast<double>((k * 7) % 3);
            }
            OpCase c = OpCase("MatMulNBits", 1, kMicrosoft).operand(x).constant(levels({kRows, 3, 8}, bytes));
            c.constant(doubles({kRows, 3}, {0.5, 0.25, 1, 2, 0.125, 0.75, 3, 0.5, 1})).absent();
            c.constant(levels({count}, groups, DType::Int32));
            return c.with("K", kDepth)
                .with("N", kRows)
                .with("bits", std::int64_t{4})
                .with("block_size", std::int64_t{16});
        };
        OpCase exact = product(kDepth, 0);
        OpCase padded = product(48, 99);
        QVERIFY2(exact.bind(), exact.error().c_str());
        QVERIFY2(padded.bind(), padded.error().c_str());
        QVERIFY(padded.forward()[0].bitEqual(exact.forward()[0]));
        for (const std::int64_t count : {39, 41, 47, 49, 0}) {
            QVERIFY(q(product(count, 0).refusal()).contains("g_idx (operand 4)"));
        }
    }

    /// A table of levels in blocks, several in a byte: the rows that the indices name.
    void tablesOfFewBits()
    {
        constexpr std::int64_t kColumns = 32;
        std::vector<double> bytes(static_cast<std::size_t>(3 * kColumns / 2));
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bytes[i] = static_cast<double>(i * 29 % 256);
        }
        const std::vector<double> scales{0.5, 0.25, 1, 2, 0.125, 0.75};
        const std::vector<double> zeros{0x21, 0x83, 0x6F};
        const std::vector<double> rows{2, 0, 2};
        for (const bool hasZeros : {false, true}) {
            OpCase c = OpCase("GatherBlockQuantized", 1, kMicrosoft).constant(levels({3, kColumns / 2}, bytes));
            c.operand(levels({3}, rows, DType::Int64)).constant(doubles({3, 2}, scales));
            if (hasZeros) {
                c.constant(levels({3, 1}, zeros));
            }
            c.with("block_size", std::int64_t{16});
            QVERIFY2(c.bind(), c.error().c_str());
            const Tensor y = c.forward()[0];
            QCOMPARE(y.shape(), Shape({3, kColumns}));
            for (std::int64_t i = 0; i < y.size(); ++i) {
                const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(i / kColumns)]);
                const std::int64_t k = i % kColumns;
                const int byte = static_cast<int>(bytes[row * kColumns / 2 + static_cast<std::size_t>(k / 2)]);
                const int pair = static_cast<int>(zeros[row]);
                const int zero = hasZeros ? (k < 16 ? pair & 15 : pair >> 4) : 8;
                const int level = k % 2 == 0 ? byte & 15 : byte >> 4;
                QCOMPARE(y.at(i), (level - zero) * scales[row * 2 + static_cast<std::size_t>(k / 16)]);
            }
            QVERIFY(q(OpCase(c).with("bits", std::int64_t{3}).refusal()).contains("bits is 3"));
            QVERIFY(q(OpCase(c).with("block_size", std::int64_t{24}).refusal()).contains("power of two"));
            QVERIFY(q(OpCase(c).with("gather_axis", std::int64_t{1}).refusal()).contains("gather_axis must be 0"));
            QVERIFY(q(OpCase(c).with("quantize_axis", std::int64_t{2}).refusal()).contains("has 2 axes"));
            QVERIFY(q(OpCase(c).with("block_size", std::int64_t{32}).refusal()).contains("one per block"));
        }
        OpCase outside = OpCase("GatherBlockQuantized", 1, kMicrosoft).constant(levels({3, kColumns / 2}, bytes));
        outside.operand(levels({4}, {3, -1, -4, 2}, DType::Int64)).constant(doubles({3, 2}, scales));
        outside.with("block_size", std::int64_t{16});
        QVERIFY2(outside.bind(), outside.error().c_str());
        const Tensor found = outside.forward()[0];
        for (std::int64_t k = 0; k < kColumns; ++k) { // -1 is the last row; outside there are zeros
            QCOMPARE(found.at(k), 0.0);
            QCOMPARE(found.at(2 * kColumns + k), 0.0);
            QCOMPARE(found.at(kColumns + k), found.at(3 * kColumns + k));
        }
        const auto* lookup = dynamic_cast<const ops::Lookup*>(&outside.op().structure());
        QVERIFY(lookup != nullptr && lookup->isEmbedding());
        const Tensor perToken =
            lookup->carryBack(std::vector<Tensor>{Tensor::full(found.dtype(), {4, kColumns}, 0.5)},
                              std::vector<Tensor>{Tensor(), ints({3, -1, -4, 2}), Tensor()}, ops::Lookup::kIndices);
        QCOMPARE(q(textOf(perToken)), "[4] 16 16 16 16");
        // Levels of a type of 4 bits, in blocks along the first axis: signed, without zero points.
        std::vector<double> signedLevels(static_cast<std::size_t>(17 * 2));
        for (std::size_t i = 0; i < signedLevels.size(); ++i) {
            signedLevels[i] = static_cast<double>(i % 16) - 8;
        }
        OpCase c = OpCase("GatherBlockQuantized", 1, kMicrosoft).constant(levels({17, 2}, signedLevels, DType::Int4));
        c.operand(levels({1}, {16}, DType::Int64)).constant(doubles({2, 2}, {1, 2, 3, 4}));
        c.with("block_size", std::int64_t{16}).with("quantize_axis", std::int64_t{0});
        QCOMPARE(q(c.run()), "[1 × 2] -24 -28");
    }
};

QTEST_GUILESS_MAIN(QuantisedLayerTest)
#include "quantisedlayertest.moc"
