// SPDX-License-Identifier: Apache-2.0
// Numbers of tensors, whatever their type and their order in memory.
#include <QtTest>

#include "core/diagnosis/numbertext.h"
#include "core/diagnosis/statistics.h"
#include "tests/core/rewrite/graphs.h"

#include <cmath>
#include <limits>

using namespace retro;
using namespace retro::diagnosis;
using rewrite::testing::randomTensor;
using tensor::DType;

namespace
{

/// The same elements with the channels innermost in memory.
Tensor channelsLast(const Tensor& tensor)
{
    tensor::TensorBuffer buffer(DType::Float32, tensor.shape(), tensor::channelsLastStrides(tensor.shape()));
    const tensor::Shape strides = tensor::channelsLastStrides(tensor.shape());
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        const std::vector<std::int64_t> index = indexAt(i, tensor.shape());
        std::int64_t at = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis) {
            at += index[axis] * strides[axis];
        }
        buffer.data<float>()[at] = static_cast<float>(tensor.at(i));
    }
    return std::move(buffer).freeze();
}

/// Element by element, in the plainest way.
Statistics plainStatistics(const Tensor& tensor)
{
    Statistics of;
    of.least = std::numeric_limits<double>::infinity();
    of.largest = -of.least;
    double sum = 0;
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        const double x = tensor.at(i);
        of.least = std::min(of.least, x);
        of.largest = std::max(of.largest, x);
        of.magnitude += std::abs(x);
        of.zeros += x == 0 ? 1 : 0;
        sum += x;
    }
    of.count = tensor.size();
    of.mean = sum / static_cast<double>(of.count);
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
        of.variance += (tensor.at(i) - of.mean) * (tensor.at(i) - of.mean) / static_cast<double>(of.count);
    }
    return of;
}

bool isNear(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

bool isSame(const Statistics& a, const Statistics& b)
{
    return a.count == b.count && a.zeros == b.zeros && a.least == b.least && a.largest == b.largest &&
           isNear(a.mean, b.mean) && isNear(a.variance, b.variance) && isNear(a.magnitude, b.magnitude);
}

Tensor with(const Tensor& tensor, std::size_t position, float number)
{
    const std::span<const float> old = tensor.span<float>();
    std::vector<float> numbers(old.begin(), old.end());
    numbers[position] = number;
    return Tensor::of<float>(tensor.shape(), numbers);
}

} // namespace

class StatisticsTest : public QObject
{
    Q_OBJECT

private slots:
    void statisticsAreThoseOfEveryElement()
    {
        for (const tensor::Shape& shape : {tensor::Shape{1, 1, 1, 1}, {1, 3, 5, 7}, {2, 16, 33, 33}, {3, 5}}) {
            const Tensor tensor = with(randomTensor(shape, 3, 10, 12), 0, 0);
            QVERIFY(isSame(statisticsOf(tensor), plainStatistics(tensor)));
            QVERIFY(isSame(statisticsOf(tensor.to(DType::Float64)), plainStatistics(tensor)));
            if (shape.size() == 4) {
                QVERIFY(isSame(statisticsOf(channelsLast(tensor)), plainStatistics(tensor)));
            }
        }
        const Tensor whole = Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{-3, 0, 4, 4});
        QVERIFY(isSame(statisticsOf(whole), plainStatistics(whole)));
        QCOMPARE(statisticsOf(Tensor()).count, std::int64_t{0});
    }

    void whatIsNotFiniteIsCountedAndFound()
    {
        const float nan = std::numeric_limits<float>::quiet_NaN();
        const float infinity = std::numeric_limits<float>::infinity();
        const Tensor plain = randomTensor({2, 3, 4, 40}, 1);
        const Tensor wrong = with(with(with(plain, 500, nan), 700, infinity), 900, -infinity);
        for (const Tensor& tensor : {wrong, wrong.to(DType::Float64), channelsLast(wrong)}) {
            const Statistics of = statisticsOf(tensor);
            QCOMPARE(of.nan, std::int64_t{1});
            QCOMPARE(of.plusInfinity, std::int64_t{1});
            QCOMPARE(of.minusInfinity, std::int64_t{1});
            QCOMPARE(of.firstNotFinite, std::int64_t{500});
            QVERIFY(std::isfinite(of.mean) && std::isfinite(of.variance) && of.largest <= 1);
            QVERIFY(!isAllFinite(tensor));
        }
        QVERIFY(isAllFinite(plain) && isAllFinite(channelsLast(plain)) && isAllFinite(Tensor()));
    }

    void sumsAlongAnAxisAreThoseOfItsElements()
    {
        const Tensor tensor = randomTensor({2, 3, 4, 9}, 5);
        for (std::size_t axis = 0; axis < 4; ++axis) {
            std::vector<double> squares(static_cast<std::size_t>(tensor.shape()[axis]));
            std::vector<double> sums(squares.size());
            for (std::int64_t i = 0; i < tensor.size(); ++i) {
                const auto at = static_cast<std::size_t>(indexAt(i, tensor.shape())[axis]);
                squares[at] += tensor.at(i) * tensor.at(i);
                sums[at] += tensor.at(i) * static_cast<double>(squares.size()) / static_cast<double>(tensor.size());
            }
            for (const Tensor& one : {tensor, tensor.to(DType::Float64), channelsLast(tensor)}) {
                for (std::size_t i = 0; i < squares.size(); ++i) {
                    QVERIFY(isNear(normsAlong(one, axis)[i], std::sqrt(squares[i])));
                    QVERIFY(isNear(meansAlong(one, axis)[i], sums[i]));
                }
            }
        }
        QVERIFY(normsAlong(tensor, 4).empty() && meansAlong(Tensor(), 0).empty());
    }

    void indicesThatAreAllZeroAreFound()
    {
        Tensor weight = randomTensor({4, 3, 2}, 6, 0.5, 1);
        for (std::size_t row = 0; row < 4; ++row) {
            weight = with(with(weight, row * 6 + 2, 0), row * 6 + 3, 0);
        }
        QCOMPARE(zerosAlong(weight, 1), std::vector<std::int64_t>{1});
        QVERIFY(zerosAlong(weight, 0).empty());
        QVERIFY(zerosAlong(with(weight, 20, 1), 1).empty());
    }

    void runsSayHowMemoryLies()
    {
        const Tensor tensor = randomTensor({2, 3, 4, 5}, 7);
        const auto rows = runsAlong(tensor, 1);
        QVERIFY(rows && rows->outer == 2 && rows->extent == 3 && rows->inner == 20);
        const auto last = runsAlong(channelsLast(tensor), 1);
        QVERIFY(last && last->outer == 40 && last->extent == 3 && last->inner == 1);
        QVERIFY(!runsAlong(channelsLast(tensor), 2));
    }

    void medianOfEvenAndOddLists()
    {
        QCOMPARE(median({3, 1, 2}), 2.0);
        QCOMPARE(median({4, 1, 2, 3}), 2.5);
        QCOMPARE(median({}), 0.0);
    }

    void numbersHaveThreeDigits()
    {
        QCOMPARE(numberText(0.41649), std::string("0.416"));
        QCOMPARE(numberText(999.99), std::string("1000"));
        QCOMPARE(numberText(17240.2), std::string("17240"));
        QCOMPARE(numberText(-1.2e7), std::string("-1.2e+07"));
        QCOMPARE(percentText(0.796), std::string("80 %"));
        QCOMPARE(percentText(0.0134), std::string("1.34 %"));
        QCOMPARE(ruleOption("/dw/Conv", "epsilon"), std::string("--rule name:/dw/Conv=epsilon"));
    }
};

QTEST_APPLESS_MAIN(StatisticsTest)
#include "statisticstest.moc"
