// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/programrun.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/parts.h"

#include <QTest>

using namespace retro::lrptest;

/// Many random graphs on tensors, some of them large: promise engine, policy All, oracle and compiled program give the
/// same bits, for the input that the program was made from and for another; no node is visited more than three times;
/// the ledger is exact.
class ProgramManyTest : public QObject
{
    Q_OBJECT

private slots:
    void engines_data()
    {
        QTest::addColumn<quint64>("firstSeed");
        for (const int thousand : retro::tests::numbersOfThisPart(20)) {
            const quint64 seed = 1'000'000 + 1'000 * static_cast<quint64>(thousand);
            QTest::addRow("from %llu", seed) << seed;
        }
    }

    void engines()
    {
        QFETCH(quint64, firstSeed);
        const auto check = [](const SpecGraph& spec, std::uint64_t) { return faultOfEngines(spec); };
        const std::string fault = firstFailure(firstSeed, 1'000, 400, check);
        QVERIFY2(fault.empty(), fault.c_str());
    }
};

QTEST_APPLESS_MAIN(ProgramManyTest)
#include "programmanytest.moc"
