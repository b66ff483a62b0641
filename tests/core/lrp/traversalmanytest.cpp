// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/randombehaviour.h"

#include <QTest>

/// The property test of the traversal on many large graphs.
class TraversalManyTest : public QObject
{
    Q_OBJECT

private slots:
    void largeGraphs_data();
    void largeGraphs();
};

void TraversalManyTest::largeGraphs_data()
{
    QTest::addColumn<quint64>("firstSeed");
    for (quint64 seed = 1'000'000; seed < 1'020'000; seed += 1'000) {
        QTest::addRow("from %llu", seed) << seed;
    }
}

void TraversalManyTest::largeGraphs()
{
    QFETCH(quint64, firstSeed);
    QCOMPARE(retro::lrptest::firstFailure(firstSeed, 1'000, 400), std::string());
}

QTEST_APPLESS_MAIN(TraversalManyTest)
#include "traversalmanytest.moc"
