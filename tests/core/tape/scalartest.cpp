// SPDX-License-Identifier: Apache-2.0
#include "core/tape/scalar/modular.h"
#include "tests/core/tape/dual.h"
#include "tests/core/tape/machine.h"
#include "tests/core/tape/rational.h"

#include <rapidcheck.h>

#include <QtTest>

using namespace retro::tape;

class ScalarTest : public QObject
{
    Q_OBJECT

private slots:
    void modularIsAField()
    {
        QVERIFY(rc::check("field", [](std::int64_t a, std::int64_t b, std::int64_t c) {
            const Modular x(a);
            const Modular y(b);
            const Modular z(c);
            RC_ASSERT(x + y == y + x);
            RC_ASSERT((x + y) + z == x + (y + z));
            RC_ASSERT((x * y) * z == x * (y * z));
            RC_ASSERT(x * (y + z) == x * y + x * z);
            RC_ASSERT((x - y) + y == x);
            RC_ASSERT(x == Modular(0) || x * inverse(x) == Modular(1));
        }));
        QCOMPARE(Modular(-1) + Modular(1), Modular(0));
        QCOMPARE(Modular(-5) * Modular(3), Modular(-15));
        QCOMPARE(Modular(static_cast<std::int64_t>(Modular::kPrime)), Modular(0));
    }

    void fractionsAreInLowestTerms()
    {
        QCOMPARE(Rational(6, -4).text(), "-3/2");
        QCOMPARE((Rational(1, 3) + Rational(1, 6)).text(), "1/2");
        QCOMPARE((Rational(2, 3) * Rational(9, 4)).text(), "3/2");
        QCOMPARE(inverse(Rational(-2, 7)).text(), "-7/2");
        QCOMPARE((Rational(1, 3) - Rational(1, 3)).text(), "0");
        QVERIFY(parseRational("-4/6") == Rational(-2, 3));
        QVERIFY(!parseRational("1/0") && !parseRational("x") && !parseRational("1.5") && !parseRational(""));
    }

    void fractionsSayWhenTheyDoNotFit()
    {
        Rational big(std::int64_t{1} << 62);
        big = big * big;
        QVERIFY(big.isExact());
        big = big * big;
        QVERIFY(!big.isExact());
        QVERIFY(!(big == big));
        QVERIFY(!(big * Rational(0)).isExact());
        QVERIFY(!inverse(Rational(0)).isExact());
    }

    void dualNumbersDifferentiate()
    {
        const Dual<double> x(0.5, 1);
        QCOMPARE((x * x * x).tangent, 0.75);
        QCOMPARE(inverse(x).tangent, -4.0);
        QCOMPARE(exponential(x).tangent, std::exp(0.5));
        QCOMPARE(logarithm(x).tangent, 2.0);
    }
};

QTEST_APPLESS_MAIN(ScalarTest)
#include "scalartest.moc"
