// SPDX-License-Identifier: Apache-2.0
#include "tests/core/lrp/programrun.h"
#include "tests/core/lrp/randomgraph.h"

#include <QTest>

using namespace retro::lrptest;

/// Programs of many random graphs, some of them large: the bits of a first pass, for the input that they were made from
/// and for another.
class ProgramManyTest : public QObject
{
    Q_OBJECT

private slots:
    void programs_data()
    {
        QTest::addColumn<quint64>("firstSeed");
        for (quint64 seed = 2'000'000; seed < 2'020'000; seed += 1'000) {
            QTest::addRow("from %llu", seed) << seed;
        }
    }

    void programs()
    {
        QFETCH(quint64, firstSeed);
        const auto check = [](const SpecGraph& spec, std::uint64_t) { return faultOfProgram(spec); };
        const std::string fault = firstFailure(firstSeed, 1'000, 400, check);
        QVERIFY2(fault.empty(), fault.c_str());
    }
};

QTEST_APPLESS_MAIN(ProgramManyTest)
#include "programmanytest.moc"
