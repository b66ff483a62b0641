// SPDX-License-Identifier: Apache-2.0
// Products with weights that stay as they are stored: the bits of a product with a wide copy of them, whatever the
// form, the variant and the way that a product takes.
#include "core/ops/kernel/floatproduct.h"
#include "core/ops/kernel/matrixproduct.h"
#include "core/ops/kernel/weightedrows.h"
#include "core/ops/kernel/weightvariants.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <cmath>
#include <random>

using namespace retro::tests;
using retro::ops::WeightPart;
using retro::ops::WeightVariant;

namespace
{

struct Extents
{
    std::int64_t rows;
    std::int64_t depth;
    std::int64_t columns;
};

/// One row and few rows, a block of the inner extent and more, columns that fill no panel, one column.
const std::vector<Extents> kExtents{{1, 5, 3},    {1, 70, 33}, {1, 800, 130},  {3, 384, 16},  {7, 385, 17},
                                    {40, 770, 1}, {40, 1, 50}, {65, 130, 400}, {130, 390, 70}};

const std::vector<WeightVariant> kVariants{{WeightPart::All, 0},
                                           {WeightPart::Positive, 0},
                                           {WeightPart::Negative, 0},
                                           {WeightPart::GammaPositive, 0.3},
                                           {WeightPart::GammaNegative, 0.3},
                                           {WeightPart::Square, 0},
                                           {WeightPart::Ones, 0}};

Tensor product(const Tensor& x, const Tensor& stored, WeightVariant variant, bool isTurned)
{
    const auto rows = retro::ops::weightRows(stored, variant);
    const std::int64_t columns = isTurned ? rows->rows() : rows->length();
    retro::tensor::TensorBuffer buffer(DType::Float32, {x.shape()[0], columns});
    retro::ops::multiplyStored({x.data<float>(), x.shape()[0], x.shape()[1], x.shape()[1], 1}, *rows, isTurned,
                               buffer.data<float>(), columns);
    return std::move(buffer).freeze();
}

} // namespace

class StoredProductTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFormHasTheBitsOfAWideCopy_data()
    {
        QTest::addColumn<int>("type");
        QTest::newRow("float32") << static_cast<int>(DType::Float32);
        QTest::newRow("float16") << static_cast<int>(DType::Float16);
        QTest::newRow("bfloat16") << static_cast<int>(DType::BFloat16);
    }
    void everyFormHasTheBitsOfAWideCopy()
    {
        QFETCH(const int, type);
        unsigned seed = 1;
        for (const Extents& e : kExtents) {
            const Tensor x = randomTensor({e.rows, e.depth}, DType::Float32, ++seed);
            for (const bool isTurned : {false, true}) {
                const Shape shape = isTurned ? Shape{e.columns, e.depth} : Shape{e.depth, e.columns};
                const Tensor stored = randomTensor(shape, DType::Float32, ++seed).to(static_cast<DType>(type));
                for (const WeightVariant& variant : kVariants) {
                    const Tensor wide = retro::ops::variantOf(stored.to(DType::Float32), variant);
                    const Tensor expected = retro::ops::matrixProduct(x, isTurned ? retro::ops::swapped(wide) : wide);
                    QVERIFY2(product(x, stored, variant, isTurned).bitEqual(expected),
                             qPrintable(QStringLiteral("%1 x %2 x %3, turned %4, part %5")
                                            .arg(e.rows)
                                            .arg(e.depth)
                                            .arg(e.columns)
                                            .arg(isTurned)
                                            .arg(static_cast<int>(variant.part))));
                }
            }
        }
    }

    /// Where both factors are bfloat16 a processor may take two steps at once: the bits are the same, also of numbers
    /// below the least normal one, of infinite ones, and where only some rows are bfloat16.
    void pairsOfBfloatsHaveTheBitsOfAWideCopy()
    {
        std::mt19937 generator(7);
        const auto random = [&] { return static_cast<unsigned>(generator()); };
        const auto matrix = [&](const Shape& shape, unsigned least, unsigned most) {
            retro::tensor::TensorBuffer buffer(DType::BFloat16, shape);
            auto* const to = reinterpret_cast<std::uint16_t*>(buffer.rawData());
            for (std::int64_t i = 0; i < retro::tensor::elementCount(shape); ++i) {
                const unsigned exponent = least + random() % (most - least + 1);
                to[i] = static_cast<std::uint16_t>((random() & 0x807fU) | exponent << 7U);
            }
            return std::move(buffer).freeze();
        };
        struct Exponents
        {
            unsigned least;
            unsigned most;
        };
        for (const Exponents& range : {Exponents{120, 130}, Exponents{0, 3}, Exponents{40, 90}, Exponents{180, 254}}) {
            for (const Extents& e : kExtents) {
                const Tensor exact = matrix({e.rows, e.depth}, range.least, range.most).to(DType::Float32);
                for (const bool isTurned : {false, true}) {
                    const Shape shape = isTurned ? Shape{e.columns, e.depth} : Shape{e.depth, e.columns};
                    const Tensor stored = matrix(shape, range.least, range.most);
                    const Tensor wide = stored.to(DType::Float32);
                    const Tensor right = isTurned ? retro::ops::swapped(wide) : wide;
                    for (const bool isExact : {true, false}) {
                        Tensor x = exact;
                        if (!isExact) { // the last row has a number with more digits
                            std::vector<float> numbers(exact.data<float>(), exact.data<float>() + exact.size());
                            numbers.back() = std::nextafter(1.0F, 2.0F);
                            x = Tensor::of<float>(exact.shape(), numbers);
                        }
                        QVERIFY2(product(x, stored, {}, isTurned).bitEqual(retro::ops::matrixProduct(x, right)),
                                 qPrintable(QStringLiteral("exponents from %1, %2 x %3 x %4, turned %5, exact %6")
                                                .arg(range.least)
                                                .arg(e.rows)
                                                .arg(e.depth)
                                                .arg(e.columns)
                                                .arg(isTurned)
                                                .arg(isExact)));
                    }
                }
            }
        }
    }

    void everyNumberOfSixteenBitsIsWidenedExactly()
    {
        std::vector<std::uint16_t> bits(1U << 16U);
        for (std::size_t i = 0; i < bits.size(); ++i) {
            bits[i] = static_cast<std::uint16_t>(i);
        }
        for (const DType type : {DType::Float16, DType::BFloat16}) {
            retro::tensor::TensorBuffer buffer(type, {256, 256});
            std::memcpy(buffer.rawData(), bits.data(), bits.size() * sizeof(bits[0]));
            const Tensor stored = std::move(buffer).freeze();
            const Tensor wide = stored.to(DType::Float32);
            const auto rows = retro::ops::weightRows(stored, {});
            std::vector<float> row(256);
            for (std::int64_t i = 0; i < 256; ++i) {
                rows->widen(i, 0, 256, row.data());
                QCOMPARE(std::memcmp(row.data(), wide.data<float>() + i * 256, 256 * sizeof(float)), 0);
                rows->widen(i, 7, 13, row.data());
                QCOMPARE(std::memcmp(row.data(), wide.data<float>() + i * 256 + 7, 13 * sizeof(float)), 0);
            }
        }
    }

    void rowsThatDoNotCountAreNotRead()
    {
        const std::int64_t count = 300;
        const std::int64_t columns = 4100; // more than are summed at a time
        const Tensor stored = randomTensor({count, columns}, DType::Float32, 3).to(DType::BFloat16);
        std::vector<float> weights(static_cast<std::size_t>(count), 0.0F);
        const Tensor none = Tensor::of<float>({1, count}, weights);
        weights[0] = 0.5F;
        weights[17] = -2.0F;
        weights[299] = 3.25F;
        const Tensor few = Tensor::of<float>({1, count}, weights);
        for (const WeightVariant& variant : kVariants) {
            const auto rows = retro::ops::weightRows(stored, variant);
            const Tensor wide = retro::ops::variantOf(stored.to(DType::Float32), variant);
            for (const Tensor& s : {few, none}) {
                const Tensor sum = retro::ops::weightedRows(s, *rows);
                QVERIFY(sum.isValid());
                QVERIFY(sum.bitEqual(retro::ops::weightedRows(s, wide)));
            }
        }
        const auto rows = retro::ops::weightRows(stored, {});
        QVERIFY(!retro::ops::weightedRows(randomTensor({1, count}, DType::Float32, 4), *rows).isValid());
        QVERIFY(!retro::ops::weightedRows(randomTensor({2, count}, DType::Float32, 4), *rows).isValid());
    }

    void otherMatricesHaveNoRows()
    {
        const Tensor matrix = randomTensor({4, 6}, DType::Float32, 5);
        QVERIFY(retro::ops::hasWeightRows(matrix));
        QVERIFY(!retro::ops::hasWeightRows(retro::ops::swapped(matrix)));
        QVERIFY(!retro::ops::hasWeightRows(matrix.to(DType::Float64)));
        QVERIFY(!retro::ops::hasWeightRows(matrix.reshaped({2, 2, 6})));
        QVERIFY(!retro::ops::hasWeightRows({}));
    }
};

QTEST_GUILESS_MAIN(StoredProductTest)
#include "storedproducttest.moc"
