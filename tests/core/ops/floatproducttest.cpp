// SPDX-License-Identifier: Apache-2.0
// Products of float32 matrices: against the definition, and the bits of an element in all the ways to it.
#include "core/ops/kernel/floatproduct.h"
#include "core/ops/kernel/elementloop.h"
#include "core/ops/kernel/pointwiseconvolution.h"
#include "core/ops/reference/convolution.h"
#include "core/ops/threads.h"
#include "tests/core/ops/opcase.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace retro::tests;
using retro::ops::AfterProduct;
using retro::ops::reference::MatrixView;

namespace
{

using Numbers = std::vector<float>;

/// Row-major.
struct Matrix
{
    std::int64_t rows;
    std::int64_t columns;
    Numbers numbers;

    Matrix(std::int64_t r, std::int64_t c, unsigned seed) : rows(r), columns(c)
    {
        const Tensor random = randomTensor({std::max<std::int64_t>(r * c, 1)}, DType::Float32, seed);
        numbers.assign(random.data<float>(), random.data<float>() + r * c);
    }
    [[nodiscard]] MatrixView<float> view() const { return {numbers.data(), rows, columns, columns, 1}; }
    /// The same with its columns one behind the other in memory.
    [[nodiscard]] Matrix turned() const
    {
        Matrix result(columns, rows, 1);
        for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < columns; ++j) {
                result.numbers[static_cast<std::size_t>(j * rows + i)] =
                    numbers[static_cast<std::size_t>(i * columns + j)];
            }
        }
        return result;
    }
};

Numbers product(const MatrixView<float>& a, const MatrixView<float>& b, const AfterProduct& after = {})
{
    Numbers c(static_cast<std::size_t>(a.rows * b.columns), -1.0F);
    retro::ops::multiplyFloats(a, b, c.data(), b.columns, after);
    return c;
}

bool sameBits(const Numbers& a, const Numbers& b)
{
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// |row|: a function over rows.
class Magnitude final : public retro::ops::RowsOver
{
public:
    void over(float* row, std::int64_t count) const override
    {
        for (std::int64_t i = 0; i < count; ++i) {
            row[i] = std::abs(row[i]);
        }
    }
};

struct Extents
{
    std::int64_t rows;
    std::int64_t depth;
    std::int64_t columns;
};

/// Beside and on the borders of tiles, blocks and strips.
const std::vector<Extents> kExtents{{1, 1, 1},      {1, 5, 33},    {1, 400, 130}, {2, 770, 31},
                                    {3, 64, 64},    {6, 7, 16},    {7, 17, 33},   {14, 384, 32},
                                    {15, 385, 47},  {29, 767, 65}, {40, 768, 20}, {13, 1024, 70},
                                    {31, 1153, 33}, {5, 3, 800},   {130, 9, 390}, {20, 1024, 8}};

} // namespace

class FloatProductTest : public QObject
{
    Q_OBJECT

private slots:
    // Numbers below the smallest normal one count as 0, in all the ways to an element, and only inside of a product.
    void numbersTooSmallCountAsZero()
    {
        const float tiny = std::numeric_limits<float>::denorm_min();
        for (const Extents& e : kExtents) {
            Matrix a(e.rows, e.depth, 1);
            const Matrix b(e.depth, e.columns, 2);
            for (float& number : a.numbers) {
                number = std::abs(number) * 1e-39F;
            }
            const auto isZero = [&](const Numbers& c) {
                return std::ranges::all_of(c, [](float number) { return number == 0; });
            };
            QVERIFY(isZero(product(a.view(), b.view())));
            const Matrix turned = b.turned();
            QVERIFY(isZero(product(a.view(), {turned.numbers.data(), e.depth, e.columns, 1, e.depth})));
            QVERIFY(isZero(product({turned.numbers.data(), e.columns, e.depth, e.depth, 1},
                                   {a.numbers.data(), e.depth, e.rows, 1, e.depth})));
            volatile float half = 2 * tiny;
            half = half / 2;
            QCOMPARE(static_cast<float>(half), tiny);
        }
    }

    void isTheDefinition()
    {
        for (const Extents& e : kExtents) {
            const Matrix a(e.rows, e.depth, 1);
            const Matrix b(e.depth, e.columns, 2);
            const Numbers c = product(a.view(), b.view());
            for (std::int64_t i = 0; i < e.rows; ++i) {
                for (std::int64_t j = 0; j < e.columns; ++j) {
                    double sum = 0;
                    double size = 0;
                    for (std::int64_t k = 0; k < e.depth; ++k) {
                        const double each = static_cast<double>(a.numbers[static_cast<std::size_t>(i * e.depth + k)]) *
                                            static_cast<double>(b.numbers[static_cast<std::size_t>(k * e.columns + j)]);
                        sum += each;
                        size += std::abs(each);
                    }
                    const double off =
                        std::abs(sum - static_cast<double>(c[static_cast<std::size_t>(i * e.columns + j)]));
                    QVERIFY2(off <= 1e-6 * size + 1e-30, qPrintable(QString("%1 × %2 × %3: element %4, %5 is off by %6")
                                                                        .arg(e.rows)
                                                                        .arg(e.depth)
                                                                        .arg(e.columns)
                                                                        .arg(i)
                                                                        .arg(j)
                                                                        .arg(off)));
                }
            }
        }
    }

    void memoryOrderPackingAndThreadsChangeNoBit()
    {
        const int threads = retro::ops::threads();
        for (const Extents& e : kExtents) {
            const Matrix a(e.rows, e.depth, 3);
            const Matrix b(e.depth, e.columns, 4);
            const Matrix at = a.turned();
            const Matrix bt = b.turned();
            const Numbers whole = product(a.view(), b.view());
            QVERIFY(sameBits(product(at.view().transposed(), b.view()), whole));
            QVERIFY(sameBits(product(a.view(), bt.view().transposed()), whole));
            QVERIFY(sameBits(product(at.view().transposed(), bt.view().transposed()), whole));
            Numbers packed(whole.size());
            retro::ops::multiplyPacked(a.view(), retro::ops::packFloats(b.view()), e.columns, packed.data(), e.columns);
            QVERIFY(sameBits(packed, whole));
            retro::ops::multiplyPacked(a.view(), retro::ops::packFloats(bt.view().transposed()), e.columns,
                                       packed.data(), e.columns);
            QVERIFY(sameBits(packed, whole));
            retro::ops::setThreads(3);
            QVERIFY(sameBits(product(a.view(), b.view()), whole));
            retro::ops::setThreads(threads);
        }
    }

    void aRowHasTheBitsThatItHasAlone()
    {
        for (const Extents& e : kExtents) {
            const Matrix a(e.rows, e.depth, 5);
            const Matrix b(e.depth, e.columns, 6);
            const Numbers whole = product(a.view(), b.view());
            for (std::int64_t i = 0; i < e.rows; ++i) {
                const Numbers row = product({a.numbers.data() + i * e.depth, 1, e.depth, e.depth, 1}, b.view());
                QVERIFY(std::memcmp(row.data(), whole.data() + i * e.columns, row.size() * sizeof(float)) == 0);
            }
        }
    }

    void whatComesAfterIsDoneAsIfApart()
    {
        const Magnitude magnitude;
        for (const Extents& e : kExtents) {
            const Matrix a(e.rows, e.depth, 7);
            const Matrix b(e.depth, e.columns, 8);
            const Matrix bt = b.turned();
            const Matrix bias(1, e.columns, 9);
            Numbers expected = product(a.view(), b.view());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                expected[i] = std::abs(expected[i] + bias.numbers[i % static_cast<std::size_t>(e.columns)]);
            }
            const AfterProduct after{bias.numbers.data(), &magnitude};
            QVERIFY(sameBits(product(a.view(), b.view(), after), expected));
            QVERIFY(sameBits(product(a.view(), bt.view().transposed(), after), expected));
        }
    }

    void anEmptySumIsZero()
    {
        const Matrix a(3, 0, 1);
        const Matrix b(0, 4, 1);
        QCOMPARE(product(a.view(), b.view()), Numbers(12, 0.0F));
    }

    void whatIsNotANumberStaysOne()
    {
        Matrix a(4, 20, 1);
        const Matrix b(20, 40, 2);
        a.numbers[25] = std::numeric_limits<float>::quiet_NaN();
        const Numbers c = product(a.view(), b.view());
        for (std::size_t i = 0; i < c.size(); ++i) {
            QCOMPARE(std::isnan(c[i]), i / 40 == 1);
        }
    }

    void pointwiseConvolutionsReadTheirPositions()
    {
        using retro::ops::reference::ConvolutionShape;
        using retro::ops::reference::WindowAxis;
        for (const std::int64_t stride : {1, 2, 3}) {
            WindowAxis rows;
            rows.image = 7;
            rows.kernel = 1;
            rows.stride = stride;
            rows.windows = 6 / stride + 1;
            WindowAxis columns = rows;
            columns.image = 10;
            columns.windows = 9 / stride + 1;
            const ConvolutionShape shape{2, 1, 5, 9, {rows, columns}};
            RETRO_MADE(way, retro::ops::PointwiseConvolution::forward(shape));
            QCOMPARE(retro::ops::PointwiseConvolution::transposed(shape).has_value(), stride == 1);
            const Tensor image = randomTensor({2, 5, 7, 10}, DType::Float32, 1);
            const Tensor weight = randomTensor({9, 5}, DType::Float32, 2);
            const Tensor last = retro::ops::channelsLast(image);
            const std::size_t count = static_cast<std::size_t>(2 * 9 * rows.windows * columns.windows);
            Numbers out(count);
            way->run(last.data<float>(), weight.data<float>(), out.data(), {});
            Numbers packed(count);
            way->runPacked(last.data<float>(), way->pack(weight.data<float>()), packed.data(), {});
            QVERIFY(sameBits(packed, out));
            Numbers few(last.data<float>(), last.data<float>() + last.size()); // most positions are 0
            std::fill(few.begin() + 30, few.end(), 0.0F);
            Numbers product(count);
            way->run(few.data(), weight.data<float>(), product.data(), {});
            way->runPacked(few.data(), way->pack(weight.data<float>()), packed.data(), {});
            QVERIFY(sameBits(packed, product));
            const auto firstZero = static_cast<std::ptrdiff_t>((5 / stride + 1) * 9); // 6 positions of the first line
            QVERIFY(std::equal(product.begin(), product.begin() + firstZero, out.begin()));
            QVERIFY(std::all_of(product.begin() + firstZero, product.end(), [](float v) { return v == 0; }));
            Numbers infinite(weight.data<float>(), weight.data<float>() + weight.size());
            infinite[0] = std::numeric_limits<float>::infinity();
            way->run(few.data(), infinite.data(), product.data(), {});
            QVERIFY(std::isnan(product[count - 9]) && product[count - 8] == 0); // 0 · ∞, for the first filter
            Numbers expected(count);                                            // channels before positions
            retro::ops::reference::convolve(shape, image.data<float>(), weight.data<float>(), expected.data());
            const std::int64_t windows = rows.windows * columns.windows;
            for (std::int64_t i = 0; i < 2 * windows; ++i) {
                for (std::int64_t f = 0; f < 9; ++f) {
                    const float have = out[static_cast<std::size_t>(i * 9 + f)];
                    const float wanted =
                        expected[static_cast<std::size_t>((i / windows * 9 + f) * windows + i % windows)];
                    QVERIFY(std::abs(have - wanted) <= 1e-5F);
                }
            }
        }
    }
};

QTEST_GUILESS_MAIN(FloatProductTest)
#include "floatproducttest.moc"
