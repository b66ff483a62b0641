// SPDX-License-Identifier: Apache-2.0
#include "core/trace/timeline.h"
#include "tests/core/lrp/liveview.h"
#include "tests/core/lrp/randomgraph.h"

#include <QTest>

#include <memory>

using namespace retro::lrptest;
using retro::trace::Run;
using retro::trace::RunState;
using retro::trace::Timeline;

/// What a traversal emits is all that a timeline needs: the state can be rebuilt, and taken back, from events alone.
class TraversalTimelineTest : public QObject
{
    Q_OBJECT

private slots:
    void everyEventCanBeTakenBack();
    void nothingIsLeftAtTheEnd();
    void eventsTellWhatTheTraversalHolds();
};

void TraversalTimelineTest::everyEventCanBeTakenBack()
{
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const std::shared_ptr<const Run> run = recordedRun(randomGraph(seed, 1 + seed % 60));
        QVERIFY(run != nullptr);
        RunState state(*run);
        for (std::size_t i = 0; i < run->events.size(); ++i) {
            const RunState before = state;
            state.apply(run->events[i], *run, i);
            RunState undone = state;
            undone.revert(run->events[i], *run, i);
            QVERIFY2(undone == before, qPrintable(QStringLiteral("seed %1, event %2").arg(seed).arg(i)));
        }
    }
}

// The state that events give is the traversal's own after every visit.
void TraversalTimelineTest::eventsTellWhatTheTraversalHolds()
{
    const auto check = [](const SpecGraph& spec, std::uint64_t) { return differenceFromEvents(spec); };
    const std::string fault = firstFailure(3, 150, 60, check);
    QVERIFY2(fault.empty(), fault.c_str());
}

void TraversalTimelineTest::nothingIsLeftAtTheEnd()
{
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        RETRO_MADE(opened, Timeline::open(recordedRun(randomGraph(seed, 1 + seed % 60))));
        Timeline timeline = std::move(opened).value();
        timeline.seek(timeline.run().eventCount());
        const RunState& end = timeline.state();
        QVERIFY(end.isFinished && end.normalStack.empty() && end.searchStack.empty() && end.queue.empty());
        QCOMPARE(end.frontierLanded, 0U);
        QCOMPARE(end.frontierHeld, 0U);
        QCOMPARE(end.frontierBytes.sum(), std::int64_t{0});
        const RunState copy = end;
        timeline.seek(0);
        QVERIFY(timeline.state() == RunState(timeline.run()));
        timeline.seek(timeline.run().eventCount());
        QVERIFY(timeline.state() == copy);
    }
}

QTEST_APPLESS_MAIN(TraversalTimelineTest)
#include "traversaltimelinetest.moc"
