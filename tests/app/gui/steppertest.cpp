// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "app/gui/stepping/stepper.h"
#include "tests/views/support/tinyrun.h"

using namespace retro;
using app::Granularity;

class StepperTest : public QObject
{
    Q_OBJECT
private slots:
    void backIsTheMirrorOfForward_data()
    {
        QTest::addColumn<int>("granularity");
        QTest::newRow("layer") << static_cast<int>(Granularity::Layer);
        QTest::newRow("visit") << static_cast<int>(Granularity::Visit);
        QTest::newRow("event") << static_cast<int>(Granularity::Event);
        QTest::newRow("group") << static_cast<int>(Granularity::Group);
    }

    void backIsTheMirrorOfForward()
    {
        QFETCH(int, granularity);
        const auto g = static_cast<Granularity>(granularity);
        const views::RunHandle handle = tests::makeTinyRun();
        const app::Stepper stepper(*handle.run);
        std::vector<std::uint64_t> stops{0};
        while (stops.back() != handle.run->eventCount()) {
            const std::uint64_t next = stepper.next(stops.back(), g);
            QVERIFY(next > stops.back());
            QCOMPARE(stepper.index(next, g), static_cast<std::uint64_t>(stops.size()));
            QCOMPARE(stepper.positionOf(stops.size(), g), next);
            stops.push_back(next);
        }
        QCOMPARE(stepper.count(g), static_cast<std::uint64_t>(stops.size() - 1));
        QCOMPARE(stepper.next(stops.back(), g), stops.back());
        for (std::size_t i = stops.size() - 1; i-- > 0;) {
            QCOMPARE(stepper.previous(stops[i + 1], g), stops[i]);
        }
        QCOMPARE(stepper.previous(0, g), std::uint64_t{0});
    }

    void visitsEndWhereTheRunSays()
    {
        const views::RunHandle handle = tests::makeTinyRun();
        const app::Stepper stepper(*handle.run);
        for (std::uint32_t visit = 0; visit + 1 < handle.run->visitCount(); ++visit) {
            QCOMPARE(stepper.next(handle.run->endOfVisit(visit), Granularity::Visit),
                     handle.run->endOfVisit(visit + 1));
        }
    }

    /// Log, timeline and tool bar speak of the same visit, also in the middle of it.
    void insideAVisitItIsThatVisit()
    {
        const views::RunHandle handle = tests::makeTinyRun();
        const app::Stepper stepper(*handle.run);
        int inside = 0;
        for (std::uint64_t step = 0; step < handle.run->eventCount(); ++step) {
            const std::uint64_t visit = handle.run->visitOf(step) + std::uint64_t{1};
            QCOMPARE(stepper.index(step + 1, Granularity::Visit), visit);
            const bool isEnd = step + 1 == handle.run->endOfVisit(static_cast<std::uint32_t>(visit - 1));
            QCOMPARE(stepper.passed(step + 1, Granularity::Visit), isEnd ? visit : visit - 1);
            inside += isEnd ? 0 : 1;
        }
        QVERIFY(inside > 0);
        QCOMPARE(stepper.index(0, Granularity::Visit), std::uint64_t{0});
    }

    void emptyRunHasNowhereToGo()
    {
        const app::Stepper stepper;
        for (const auto g : {Granularity::Layer, Granularity::Visit, Granularity::Event}) {
            QCOMPARE(stepper.next(0, g), std::uint64_t{0});
            QCOMPARE(stepper.previous(0, g), std::uint64_t{0});
            QCOMPARE(stepper.count(g), std::uint64_t{0});
        }
    }
};

QTEST_GUILESS_MAIN(StepperTest)
#include "steppertest.moc"
