// SPDX-License-Identifier: Apache-2.0
// Types of at most 8 bits: what each code stands for, how numbers become codes, and how files pack them.
#include "core/tensor/narrow.h"
#include "core/tensor/npy.h"
#include "core/tensor/tensor.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace retro;
using tensor::DType;
using tensor::NarrowRounding;
using tensor::PowerRounding;
using tensor::Tensor;
using tensor::toNarrow;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

double numberOf(DType type, unsigned code) { return static_cast<double>(tensor::narrowTable(type)[code]); }

constexpr auto kFirst = static_cast<std::size_t>(DType::Float8E4M3FN);

} // namespace

class NarrowTest : public QObject
{
    Q_OBJECT

private slots:
    /// Largest, smallest and special numbers, from the definitions of the types.
    void codesStandForNumbers_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("code");
        QTest::addColumn<double>("number");
        const auto row = [](const char* name, DType type, int code, double number) {
            QTest::newRow(name) << static_cast<int>(type) << code << number;
        };
        row("E4M3FN largest", DType::Float8E4M3FN, 0x7e, 448);
        row("E4M3FN one", DType::Float8E4M3FN, 0x38, 1);
        row("E4M3FN smallest", DType::Float8E4M3FN, 0x81, -0x1p-9);
        row("E4M3FN NaN", DType::Float8E4M3FN, 0xff, kNan);
        row("E4M3FNUZ largest", DType::Float8E4M3FNUZ, 0xff, -240);
        row("E4M3FNUZ one", DType::Float8E4M3FNUZ, 0x40, 1);
        row("E4M3FNUZ NaN", DType::Float8E4M3FNUZ, 0x80, kNan);
        row("E5M2 largest", DType::Float8E5M2, 0x7b, 57344);
        row("E5M2 infinity", DType::Float8E5M2, 0xfc, -kInfinity);
        row("E5M2 NaN", DType::Float8E5M2, 0x7d, kNan);
        row("E5M2 smallest", DType::Float8E5M2, 0x01, 0x1p-16);
        row("E5M2FNUZ largest", DType::Float8E5M2FNUZ, 0x7f, 57344);
        row("E5M2FNUZ smallest", DType::Float8E5M2FNUZ, 0x01, 0x1p-17);
        row("E5M2FNUZ NaN", DType::Float8E5M2FNUZ, 0x80, kNan);
        row("E8M0 smallest", DType::Float8E8M0, 0, 0x1p-127);
        row("E8M0 largest", DType::Float8E8M0, 254, 0x1p127);
        row("E8M0 NaN", DType::Float8E8M0, 255, kNan);
        row("E2M3 largest", DType::Float6E2M3, 0x1f, 7.5);
        row("E2M3 smallest", DType::Float6E2M3, 0x21, -0.125);
        row("E3M2 largest", DType::Float6E3M2, 0x3f, -28);
        row("E3M2 smallest", DType::Float6E3M2, 0x01, 0.0625);
        row("E2M1 largest", DType::Float4E2M1, 0x7, 6);
        row("E2M1 smallest", DType::Float4E2M1, 0x9, -0.5);
        row("E2M1, bits beyond", DType::Float4E2M1, 0xf7, 6);
        row("int4", DType::Int4, 0x8, -8);
        row("uint4", DType::UInt4, 0xf, 15);
        row("int2", DType::Int2, 0x2, -2);
        row("uint2", DType::UInt2, 0x3, 3);
    }
    void codesStandForNumbers()
    {
        QFETCH(int, type);
        QFETCH(int, code);
        QFETCH(double, number);
        const double found = numberOf(static_cast<DType>(type), static_cast<unsigned>(code));
        QVERIFY2(found == number || (std::isnan(found) && std::isnan(number)), qPrintable(QString::number(found)));
    }

    void everyCodeComesBack()
    {
        for (std::size_t t = kFirst; t < tensor::kDTypeCount; ++t) {
            const auto type = static_cast<DType>(t);
            for (unsigned code = 0; code < 1U << static_cast<unsigned>(tensor::bitsOf(type)); ++code) {
                const double number = numberOf(type, code);
                if (std::isnan(number)) {
                    QVERIFY(std::isnan(numberOf(type, toNarrow(type, number))));
                    continue;
                }
                const NarrowRounding exact{false, PowerRounding::Nearest};
                QCOMPARE(static_cast<unsigned>(toNarrow(type, number, exact)), code);
            }
        }
    }

    /// Against a search through all codes.
    void numbersGoToTheNearest()
    {
        for (std::size_t t = kFirst; t < static_cast<std::size_t>(DType::Int4); ++t) {
            const auto type = static_cast<DType>(t);
            if (type == DType::Float8E8M0) {
                continue;
            }
            for (int i = 1; i < 2000; ++i) {
                const double x = std::sin(i) * std::exp2(i % 40 - 20);
                const double found = numberOf(type, toNarrow(type, x));
                for (unsigned code = 0; code < 1U << static_cast<unsigned>(tensor::bitsOf(type)); ++code) {
                    const double other = numberOf(type, code);
                    QVERIFY(!std::isfinite(other) || std::abs(found - x) <= std::abs(other - x));
                }
            }
        }
    }

    void halvesGoToEven()
    {
        QCOMPARE(numberOf(DType::Float4E2M1, toNarrow(DType::Float4E2M1, 2.5)), 2.0);
        QCOMPARE(numberOf(DType::Float4E2M1, toNarrow(DType::Float4E2M1, 3.5)), 4.0);
        QCOMPARE(numberOf(DType::Float4E2M1, toNarrow(DType::Float4E2M1, -0.25)), 0.0);
        QVERIFY(std::signbit(numberOf(DType::Float4E2M1, toNarrow(DType::Float4E2M1, -0.25))));
        QCOMPARE(numberOf(DType::Float8E4M3FN, toNarrow(DType::Float8E4M3FN, 1.0625)), 1.0);
        QCOMPARE(numberOf(DType::Float8E4M3FN, toNarrow(DType::Float8E4M3FN, 1.1875)), 1.25);
    }

    /// The two tables of ONNX's Cast.
    void beyondTheLargest()
    {
        struct Row
        {
            DType type;
            double largest;
            double infinity; ///< what an infinity becomes without saturation
        };
        for (const auto& [type, largest, infinity] :
             {Row{DType::Float8E4M3FN, 448, kNan}, Row{DType::Float8E4M3FNUZ, 240, kNan},
              Row{DType::Float8E5M2, 57344, kInfinity}, Row{DType::Float8E5M2FNUZ, 57344, kNan}}) {
            for (const double x : {kInfinity, 1e9}) {
                QCOMPARE(numberOf(type, toNarrow(type, x)), largest);
                QCOMPARE(numberOf(type, toNarrow(type, -x)), -largest);
                const double loose = numberOf(type, toNarrow(type, x, {false, {}}));
                QVERIFY(std::isnan(infinity) ? std::isnan(loose) : loose == infinity);
            }
            QVERIFY(std::isnan(numberOf(type, toNarrow(type, kNan))));
            const bool hasNegativeZero = type == DType::Float8E4M3FN || type == DType::Float8E5M2;
            QCOMPARE(std::signbit(numberOf(type, toNarrow(type, -0.0))), hasNegativeZero);
        }
        // What rounds to the largest is not beyond it.
        QCOMPARE(numberOf(DType::Float8E4M3FN, toNarrow(DType::Float8E4M3FN, 464, {false, {}})), 448.0);
        QVERIFY(std::isnan(numberOf(DType::Float8E4M3FN, toNarrow(DType::Float8E4M3FN, 464.5, {false, {}}))));
        QCOMPARE(numberOf(DType::Float4E2M1, toNarrow(DType::Float4E2M1, -kInfinity, {false, {}})), -6.0);
    }

    void powersOfTwo()
    {
        const auto power = [](double x, bool isSaturating, PowerRounding rounding) {
            return numberOf(DType::Float8E8M0, toNarrow(DType::Float8E8M0, x, {isSaturating, rounding}));
        };
        QCOMPARE(power(5, true, PowerRounding::Up), 8.0);
        QCOMPARE(power(4, true, PowerRounding::Up), 4.0);
        QCOMPARE(power(7.9, true, PowerRounding::Down), 4.0);
        QCOMPARE(power(5.9, true, PowerRounding::Nearest), 4.0);
        QCOMPARE(power(6, true, PowerRounding::Nearest), 8.0);
        QCOMPARE(power(0, true, PowerRounding::Up), 0x1p-127);
        QCOMPARE(power(kInfinity, true, PowerRounding::Up), 0x1p127);
        QCOMPARE(power(0x1.8p127, true, PowerRounding::Up), 0x1p127);
        QVERIFY(std::isnan(power(0x1.8p127, false, PowerRounding::Nearest)));
        QVERIFY(std::isnan(power(0, false, PowerRounding::Nearest)));
        QVERIFY(std::isnan(power(kInfinity, false, PowerRounding::Nearest)));
        QVERIFY(std::isnan(power(-1, true, PowerRounding::Up)));
    }

    void integersKeepTheirLowestBits()
    {
        const Tensor wide = Tensor::of<std::int32_t>({5}, std::vector<std::int32_t>{200, -9, 17, -1, 7});
        const Tensor narrow = wide.to(DType::Int4);
        const std::vector<double> wanted{-8, 7, 1, -1, 7};
        for (std::int64_t i = 0; i < narrow.size(); ++i) {
            QCOMPARE(narrow.at(i), wanted[static_cast<std::size_t>(i)]);
            QCOMPARE(narrow.to(DType::Int64).at(i), wanted[static_cast<std::size_t>(i)]);
        }
        QCOMPARE(narrow.to(DType::UInt2).at(4), 3.0);
        QCOMPARE(narrow.to(DType::UInt4).at(3), 15.0);
        // Fractions are cut, and the rest is as of integers.
        const Tensor numbers = Tensor::of<float>({4}, std::vector<float>{-3.7F, 2.9F, 100, -100});
        QCOMPARE(numbers.to(DType::Int4).at(0), -3.0);
        QCOMPARE(numbers.to(DType::Int4).at(1), 2.0);
        QCOMPARE(numbers.to(DType::Int4).at(2), 4.0);
        QCOMPARE(numbers.to(DType::UInt4).at(3), 12.0);
    }

    void tensorsAreMovedAsTheyAre()
    {
        std::vector<float> values{0, 0.5, 1, 1.5, 2, 3, 4, 6};
        const Tensor t = Tensor::of<float>({2, 4}, values).to(DType::Float4E2M1);
        const std::vector<std::int64_t> order{1, 0};
        const Tensor turned = t.permuted(order).contiguous();
        QCOMPARE(turned.dtype(), DType::Float4E2M1);
        QCOMPARE(turned.at(1), 2.0);
        QCOMPARE(turned.at(7), 6.0);
        QCOMPARE(t.bytes(), std::int64_t{8});
        QVERIFY(t.to(DType::Float64).to(DType::Float4E2M1).bitEqual(t));
        RETRO_MADE(read, tensor::parseNpy(tensor::toNpy(t), "t"));
        QCOMPARE(read->dtype(), DType::Float32);
        QCOMPARE(read->at(7), 6.0);
        QCOMPARE(tensor::parseNpy(tensor::toNpy(t.to(DType::Int4)), "t")->dtype(), DType::Int8);
    }

    void filesPackThemWithoutGaps()
    {
        const auto bytes = [](std::initializer_list<int> list) {
            std::vector<std::byte> made;
            for (const int b : list) {
                made.push_back(std::byte(b));
            }
            return made;
        };
        struct Row
        {
            DType type;
            std::vector<std::byte> elements;
            std::vector<std::byte> packed;
        };
        for (const auto& [type, elements, packed] :
             {Row{DType::Int4, bytes({1, 15, 3}), bytes({0xf1, 0x03})},
              Row{DType::UInt2, bytes({1, 2, 3, 0, 3}), bytes({0x39, 0x03})},
              Row{DType::Float6E2M3, bytes({0x3f, 0x01, 0x20, 0x2a, 0x15}), bytes({0x7f, 0x00, 0xaa, 0x15})},
              Row{DType::Float8E5M2, bytes({7, 200}), bytes({7, 200})}}) {
            QCOMPARE(tensor::packedBytes(type, elements.size()), std::uint64_t{packed.size()});
            std::vector<std::byte> there(packed.size());
            tensor::pack(type, elements, there);
            QVERIFY(there == packed);
            std::vector<std::byte> back(elements.size());
            tensor::unpack(type, packed, back);
            QVERIFY(back == elements);
        }
    }
};

QTEST_APPLESS_MAIN(NarrowTest)
#include "narrowtest.moc"
