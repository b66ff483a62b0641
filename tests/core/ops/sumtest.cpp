// SPDX-License-Identifier: Apache-2.0
// Add, Sub, Sum, Mul, Div: values, broadcasting, integers, and what their gradients keep.
#include "tests/core/ops/opcase.h"

#include <QtTest>

using namespace retro::tests;
using retro::ops::Reads;
using retro::ops::StructureKind;

namespace
{

const Tensor kA = doubles({2, 3}, {1, 2, 3, 4, 5, 6});
const Tensor kB = doubles({3}, {10, 20, 40});

} // namespace

class SumTest : public QObject
{
    Q_OBJECT
private slots:
    void valuesAndBroadcasting()
    {
        QCOMPARE(q(OpCase("Add").operand(kA).operand(kB).run()), "[2 × 3] 11 22 43 14 25 46");
        QCOMPARE(q(OpCase("Sub").operand(kB).operand(kA).run()), "[2 × 3] 9 18 37 6 15 34");
        QCOMPARE(q(OpCase("Mul").operand(kA).operand(kB).run()), "[2 × 3] 10 40 120 40 100 240");
        QCOMPARE(q(OpCase("Div").operand(kB).operand(kA).run()), "[2 × 3] 10 10 13.333333 2.5 4 6.666667");
        QCOMPARE(q(OpCase("Sum").operand(kB).operand(kA).operand(doubles({2, 1}, {1, 2})).run()),
                 "[2 × 3] 12 23 44 16 27 48");
        QCOMPARE(q(OpCase("Sum").operand(kB).run()), "[3] 10 20 40");
    }

    void integersWrapAndNeverDivideByZero()
    {
        constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
        QCOMPARE(q(OpCase("Div").operand(ints({7, -7, 1, kLeast})).operand(ints({2, 2, 0, -1})).run()),
                 "[4] 3 -3 0 -9223372036854775808");
        QCOMPARE(q(OpCase("Sub").operand(ints({kLeast})).operand(ints({1})).run()), "[1] 9223372036854775808");
        OpCase sum("Add");
        QVERIFY(sum.operand(ints({1})).operand(ints({2})).bind());
        QVERIFY(sum.op().structure().kind() == StructureKind::NoRelevance);
    }

    void signs()
    {
        OpCase sub("Sub");
        QVERIFY(sub.operand(kA).operand(kB).bind());
        const auto signs = sub.structure<retro::ops::SumOfOperands>().signs();
        QCOMPARE(std::vector<double>(signs.begin(), signs.end()), (std::vector<double>{1, -1}));
        QVERIFY(sub.op().savedForGradient().operands == 0);
    }

    void aConstantFactorLetsRelevancePass()
    {
        const auto kept = [](const char* op, bool isFirst, bool isSecond) {
            OpCase c(op);
            isFirst ? c.constant(kA) : c.operand(kA);
            isSecond ? c.constant(kB) : c.operand(kB);
            return c.bind() ? c.op().savedForGradient().operands : 99;
        };
        QCOMPARE(kept("Mul", false, false), 3U);
        QCOMPARE(kept("Mul", false, true), 2U);
        QCOMPARE(kept("Mul", true, false), 1U);
        QCOMPARE(kept("Div", false, false), 3U);
        QCOMPARE(kept("Div", false, true), 2U);
        QCOMPARE(kept("Div", true, false), 3U); // a constant numerator is no pass-through
        QCOMPARE(kept("Add", false, true), 0U);
    }

    void floatAndDoubleAgree()
    {
        for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
            const Tensor a = randomTensor({3, 5, 2});
            const Tensor b = randomTensor({5, 1}, DType::Float64, 2);
            OpCase wide(op);
            QVERIFY(wide.operand(a).operand(b).bind());
            OpCase narrow(op);
            QVERIFY(narrow.operand(a.to(DType::Float32)).operand(b.to(DType::Float32)).bind());
            QVERIFY(distance(narrow.forward()[0].to(DType::Float64), wide.forward()[0]) < 1e-5);
        }
    }
};

QTEST_GUILESS_MAIN(SumTest)
#include "sumtest.moc"
