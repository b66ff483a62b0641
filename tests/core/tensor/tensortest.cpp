// SPDX-License-Identifier: Apache-2.0
// Tensors: views, conversions, comparison, channels-last strides, memory account, 16-bit floats.
#include "core/tensor/tensor.h"
#include "core/base/failure.h"
#include "core/base/memoryaccount.h"
#include "core/base/memorylimit.h"

#include <QtTest>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

using namespace retro::tensor;

namespace
{

using retro::base::Failure;

Tensor counting(Shape shape)
{
    TensorBuffer buffer(DType::Float32, std::move(shape));
    float next = 0;
    for (float& value : buffer.span<float>()) {
        value = next++;
    }
    return std::move(buffer).freeze();
}

} // namespace

class TensorTest : public QObject
{
    Q_OBJECT
private slots:
    void shapes()
    {
        QCOMPARE(elementCount({}), 1);
        QCOMPARE(elementCount({2, 0, 3}), 0);
        QVERIFY((rowMajorStrides({2, 3, 4}) == Shape{12, 4, 1}));
        QVERIFY((channelsLastStrides({2, 3, 4, 5}) == Shape{60, 1, 15, 3}));
        QVERIFY((channelsLastStrides({2, 3}) == Shape{3, 1}));
        QCOMPARE(QString::fromStdString(toText({2, 3})), "2 × 3");
        QCOMPARE(QString::fromStdString(toText({})), "scalar");
    }

    void sizesThatDoNotFitAreRefused()
    {
        constexpr std::int64_t kHuge = (1LL << 62) + 1;
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(elementCount({kHuge, 4})), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(elementCount({-1, 4})), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(elementCount({-1, -4})), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(rowMajorStrides({2, kHuge, 4})), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(channelsLastStrides({2, kHuge, 4, 4})), Failure);
        QVERIFY_EXCEPTION_THROWN(TensorBuffer(DType::Float32, {kHuge, 4}), Failure);
        QVERIFY_EXCEPTION_THROWN(TensorBuffer(DType::Float64, {1LL << 61}), Failure); // elements fit, bytes do not
        QVERIFY_EXCEPTION_THROWN(TensorBuffer(DType::Float32, {-4}), Failure);
        QVERIFY_EXCEPTION_THROWN(TensorBuffer(DType::Float32, {2, 3}, {6, 1}), Failure);
        QCOMPARE(elementCount({1LL << 40, 1LL << 22}), 1LL << 62);
    }

    void knowsWhatLiesWithin()
    {
        QVERIFY(liesWithin({2, 3}, {3, 1}, 0, 6));
        QVERIFY(!liesWithin({2, 3}, {3, 1}, 1, 6));
        QVERIFY(!liesWithin({2, 3}, {3, 1}, 0, 5));
        QVERIFY(liesWithin({2, 3}, {-3, 1}, 3, 6)); // backwards along an axis
        QVERIFY(!liesWithin({2, 3}, {-3, 1}, 2, 6));
        QVERIFY(liesWithin({1LL << 40}, {0}, 5, 6)); // one element again and again
        QVERIFY(liesWithin({}, {}, 5, 6));
        QVERIFY(!liesWithin({}, {}, 6, 6));
        QVERIFY(liesWithin({0, 7}, {7, 1}, 99, 6)); // nothing is read
        QVERIFY(!liesWithin({-1, 0}, {1, 1}, 0, 6));
        QVERIFY(!liesWithin({2}, {3, 1}, 0, 6));
        QVERIFY(!liesWithin({3, 3}, {1LL << 62, 1LL << 62}, 0, 6)); // the reach overflows
    }

    void aViewOutsideOfItsMemoryIsRefused()
    {
        const Tensor t = counting({2, 3});
        const auto view = [&t](Shape shape, Shape strides, std::int64_t offset) {
            return Tensor(t.dtype(), std::move(shape), std::move(strides), offset, t.storage());
        };
        QCOMPARE(view({3}, {2}, 1).at(2), 5.0);
        QVERIFY_EXCEPTION_THROWN(view({3}, {2}, 2), Failure);
        QVERIFY_EXCEPTION_THROWN(view({2, 3}, {3, 1}, -1), Failure);
        QVERIFY_EXCEPTION_THROWN(view({1LL << 40, 1LL << 40}, {0, 0}, 0), Failure); // cannot be counted
        QVERIFY_EXCEPTION_THROWN(Tensor(DType::Float64, {2, 3}, {3, 1}, 0, t.storage()), Failure);
        QVERIFY_EXCEPTION_THROWN(Tensor(DType::Float32, {}, {}, 0, nullptr), Failure);
    }

    void whatIsReadWronglyIsRefused()
    {
        const Tensor t = counting({2, 3});
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(t.data<double>()), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(t.at(6)), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(t.at(-1)), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(t.reshaped({7})), Failure);
        const std::array<std::int64_t, 2> wrong{0, 2};
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(t.permuted(wrong)), Failure);
        const std::array<std::int64_t, 2> turned{1, 0};
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(t.permuted(turned).span<float>()), Failure);
        const std::array<float, 2> few{1, 2};
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(Tensor::of<float>({3}, few)), Failure);
        QVERIFY_EXCEPTION_THROWN(static_cast<void>(TensorBuffer(DType::Float32, {2}).data<std::int64_t>()), Failure);
    }

    void theLimitBoundsTensors()
    {
        using retro::base::MemoryLimit;
        const auto live = static_cast<std::uint64_t>(retro::base::MemoryAccount::tensors().live());
        MemoryLimit::choose(live + 4096);
        const auto tooLarge = retro::base::caughtAt([] { return std::string("here"); },
                                                    [] { return Tensor::zeros(DType::Float32, {1025}).size(); });
        const auto fits = retro::base::caughtAt([] { return std::string("here"); },
                                                [] { return Tensor::zeros(DType::Float32, {1024}).size(); });
        MemoryLimit::choose(std::nullopt);
        RETRO_REFUSED(tooLarge, retro::base::ErrorCode::Memory);
        QVERIFY(tooLarge.error().message.find("4100 B are needed, but 4096 B of the") != std::string::npos);
        QCOMPARE(fits.value(), 1024);
        QCOMPARE(static_cast<std::uint64_t>(retro::base::MemoryAccount::tensors().live()), live);
    }

    void memoryThatThereIsNotIsRefusedBeforeItIsTouched()
    {
        retro::base::MemoryLimit::choose(1ULL << 60U);
        const auto result = retro::base::caughtAt([] { return std::string("here"); },
                                                  [] { return Tensor::zeros(DType::UInt8, {1LL << 50}).size(); });
        retro::base::MemoryLimit::choose(std::nullopt);
        RETRO_REFUSED(result, retro::base::ErrorCode::Memory);
        QVERIFY(result.error().message.find("1.1 PB are needed") != std::string::npos);
    }

    void permutedIsAView()
    {
        const Tensor t = counting({2, 3});
        const std::array<std::int64_t, 2> order{1, 0};
        const Tensor turned = t.permuted(order);
        QVERIFY(turned.storage() == t.storage());
        QVERIFY((turned.shape() == Shape{3, 2}));
        QVERIFY(!turned.isContiguous());
        QVERIFY(turned.isDense());
        const Tensor plain = turned.contiguous();
        const std::array<float, 6> expected{0, 3, 1, 4, 2, 5};
        QVERIFY(std::equal(expected.begin(), expected.end(), plain.span<float>().begin()));
        QVERIFY(plain.bitEqual(turned));
        QCOMPARE(turned.at(1), 3.0);
    }

    void reshapedKeepsTheLogicalOrder()
    {
        const std::array<std::int64_t, 2> order{1, 0};
        const Tensor turned = counting({2, 3}).permuted(order).reshaped({6});
        QCOMPARE(turned.at(1), 3.0);
        const Tensor t = counting({2, 3});
        QVERIFY(t.reshaped({3, 2}).storage() == t.storage());
    }

    void viewsWithGapsAreNotDense()
    {
        const Tensor t = counting({4, 4});
        const Tensor column(DType::Float32, {4, 2}, {4, 1}, 1, t.storage());
        QVERIFY(!column.isDense());
        QVERIFY(!column.isContiguous());
        QCOMPARE(column.contiguous().at(2), 5.0);
        const Tensor repeated(DType::Float32, {3, 2}, {0, 1}, 2, t.storage());
        QVERIFY(!repeated.isDense());
        QCOMPARE(repeated.contiguous().at(5), 3.0);
    }

    void extentsOfOneCarryAnyStride()
    {
        const Tensor t = counting({2, 3});
        const Tensor wide(DType::Float32, {2, 1, 3}, {3, 99, 1}, 0, t.storage());
        QVERIFY(wide.isContiguous());
        QVERIFY(wide.isDense());
    }

    void conversions()
    {
        const std::array values{1.75, -1.75, 300.0, 0.0};
        const Tensor t = Tensor::of<double>({4}, values);
        QCOMPARE(t.to(DType::Int32).at(1), -1.0); // towards zero
        QCOMPARE(t.to(DType::Bool).at(2), 1.0);
        QCOMPARE(t.to(DType::Bool).at(3), 0.0);
        QCOMPARE(t.to(DType::Float16).to(DType::Float64).at(0), 1.75);
        QCOMPARE(t.to(DType::BFloat16).at(2), 300.0);
        QVERIFY(t.to(DType::Float64).storage() == t.storage());
        const std::array extremes{1e300, -1e300, std::nan(""), 9.3e18};
        const Tensor wild = Tensor::of<double>({4}, extremes);
        QCOMPARE(wild.to(DType::Int8).at(0), 127.0);
        QCOMPARE(wild.to(DType::Int32).at(1), -2147483648.0);
        QCOMPARE(wild.to(DType::UInt16).at(1), 0.0);
        QCOMPARE(wild.to(DType::Int64).at(2), 0.0);
        QCOMPARE(wild.to(DType::Int64).at(3), 9223372036854775807.0);
        QCOMPARE(Tensor::full(DType::Int64, {2}, 7).at(1), 7.0);
        QCOMPARE(Tensor::zeros(DType::Float32, {0}).size(), 0);
    }

    void comparison()
    {
        const float nan = std::nanf("");
        const Tensor a = Tensor::scalar(nan);
        QVERIFY(a.bitEqual(Tensor::scalar(nan)));
        QVERIFY(!Tensor::scalar(0.0F).bitEqual(Tensor::scalar(-0.0F)));
        QVERIFY(!a.bitEqual(Tensor::scalar(std::nan(""))));
        QVERIFY(!a.bitEqual(Tensor{}));
        QVERIFY(Tensor{}.bitEqual(Tensor{}));
        QVERIFY(!counting({2, 3}).bitEqual(counting({3, 2})));
    }

    void halfFloatsRoundToEven()
    {
        // Every finite half survives the way to float and back.
        for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
            const auto half = static_cast<std::uint16_t>(bits);
            const float value = halfToFloat(half);
            if (!std::isnan(value)) {
                QCOMPARE(floatToHalf(value), half);
            }
            const float wide = bfloatToFloat(half);
            if (!std::isnan(wide)) {
                QCOMPARE(floatToBfloat(wide), half);
            }
        }
        QCOMPARE(floatToHalf(1.0F + 0x1p-11F), floatToHalf(1.0F));               // a tie goes to even: down
        QCOMPARE(floatToHalf(1.0F + 3 * 0x1p-11F), floatToHalf(1.0F + 0x1p-9F)); // a tie goes to even: up
        QCOMPARE(floatToHalf(0x1p-25F), std::uint16_t{0});                       // half of the smallest subnormal
        QCOMPARE(floatToHalf(0x1.8p-25F), std::uint16_t{1});
        QCOMPARE(floatToHalf(65519.0F), std::uint16_t{0x7bff});
        QCOMPARE(floatToHalf(65520.0F), std::uint16_t{0x7c00});
        QVERIFY(std::isnan(halfToFloat(floatToHalf(std::nanf("")))));
        QVERIFY(std::isnan(bfloatToFloat(floatToBfloat(std::nanf("")))));
        QCOMPARE(halfToFloat(0x0001), 0x1p-24F);
        QCOMPARE(halfToFloat(0xfc00), -INFINITY);
    }

    void halfFloatsAreWidenedInBulkAsOneByOne()
    {
        std::vector<std::uint16_t> bits(0x10000);
        std::iota(bits.begin(), bits.end(), std::uint16_t{0});
        for (const DType type : {DType::Float16, DType::BFloat16}) {
            TensorBuffer buffer(type, {0x10000});
            std::memcpy(buffer.rawData(), bits.data(), buffer.bytes());
            const Tensor wide = std::move(buffer).freeze().to(DType::Float32);
            for (const std::uint16_t one : bits) {
                const float expected = type == DType::Float16 ? halfToFloat(one) : bfloatToFloat(one);
                QCOMPARE(std::bit_cast<std::uint32_t>(wide.data<float>()[one]), std::bit_cast<std::uint32_t>(expected));
            }
        }
    }

    void memoryIsBookedOncePerStorage()
    {
        const auto& account = retro::base::MemoryAccount::tensors();
        const std::int64_t before = account.live();
        {
            const Tensor t = counting({10, 10});
            const Tensor view = t.reshaped({100});
            QCOMPARE(account.live() - before, 400);
            QCOMPARE(view.bytes(), 400);
            QCOMPARE(reinterpret_cast<std::uintptr_t>(t.rawData()) % 64, std::uintptr_t{0});
        }
        QCOMPARE(account.live(), before);
    }
};

QTEST_GUILESS_MAIN(TensorTest)
#include "tensortest.moc"
