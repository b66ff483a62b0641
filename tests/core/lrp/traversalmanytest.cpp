// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/randombehaviour.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/parts.h"

#include <QTest>

using namespace retro::lrptest;

/// The property test of the traversal on many graphs, of which some are large, over formulas for every kind of
/// behaviour. What the operators really save is in programmanytest.
class TraversalManyTest : public QObject
{
    Q_OBJECT

private slots:
    void formulas_data();
    void formulas();
};

void TraversalManyTest::formulas_data()
{
    QTest::addColumn<quint64>("firstSeed");
    for (const int thousand : retro::tests::numbersOfThisPart(20)) {
        const quint64 seed = 1'000'000 + 1'000 * static_cast<quint64>(thousand);
        QTest::addRow("from %llu", seed) << seed;
    }
}

void TraversalManyTest::formulas()
{
    QFETCH(quint64, firstSeed);
    const std::string fault = firstFailure(firstSeed, 1'000, 400, faultOnFormulas);
    QVERIFY2(fault.empty(), fault.c_str());
}

QTEST_APPLESS_MAIN(TraversalManyTest)
#include "traversalmanytest.moc"
