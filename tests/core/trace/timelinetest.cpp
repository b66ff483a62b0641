// SPDX-License-Identifier: Apache-2.0
// Seeking, series, recording.
#include "core/trace/timeline.h"

#include "tests/core/trace/randomrun.h"
#include "tests/core/trace/scenarios.h"

#include <QtTest>

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

using namespace retro::trace;
using namespace retro::trace::test;

namespace
{

Timeline opened(const std::shared_ptr<const Run>& run) { return retro::tests::made(Timeline::open(run)); }

Tensor filled(std::int64_t elements, double value)
{
    return Tensor::full(retro::tensor::DType::Float32, {elements}, value);
}

} // namespace

class TimelineTest : public QObject
{
    Q_OBJECT

private slots:
    void seekEqualsWalking()
    {
        // Long enough for several keyframes, so that seeks start from keyframes on both sides.
        const auto run = RandomRun(11).make(3 * kKeyframeInterval + 100);
        Timeline timeline = opened(run);
        Timeline walker = opened(run);
        std::vector<std::uint64_t> positions{run->eventCount(), 0, kKeyframeInterval, 2 * kKeyframeInterval - 1, 5};
        std::mt19937 random(3);
        for (int i = 0; i < 12; ++i) {
            positions.push_back(random() % run->eventCount());
        }
        for (const std::uint64_t position : positions) {
            timeline.seek(position);
            QCOMPARE(timeline.position(), position);
            while (walker.position() < position) {
                QVERIFY(walker.forward());
            }
            while (walker.position() > position) {
                QVERIFY(walker.back());
            }
            QVERIFY2(timeline.state() == walker.state(), std::to_string(position).c_str());
        }
        QVERIFY(walker.state().handleUses.size() == run->handles.size());
    }

    void endsAreEnds()
    {
        Timeline timeline = opened(nestedAdd().run());
        QVERIFY(!timeline.back());
        QCOMPARE(timeline.position(), std::uint64_t{0});
        timeline.seek(1'000'000);
        QCOMPARE(timeline.position(), timeline.run().eventCount());
        QVERIFY(!timeline.forward());
        QVERIFY(timeline.state().isFinished);
        timeline.seek(0);
        QVERIFY(timeline.state() == RunState(timeline.run()));
    }

    void copiesHaveTheirOwnPosition()
    {
        Timeline first = opened(residual().run());
        Timeline second = first;
        first.seek(20);
        QCOMPARE(second.position(), std::uint64_t{0});
        second.seek(20);
        QVERIFY(first.state() == second.state());
    }

    void copiesWorkInSeveralThreads()
    {
        const auto run = RandomRun(12).make(2 * kKeyframeInterval);
        Timeline shared = opened(run);
        shared.seek(run->eventCount() / 2);
        const RunState expected = shared.state();
        std::atomic<int> wrong = 0;
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([&wrong, &expected, t, own = shared]() mutable {
                std::mt19937 random(t);
                for (int i = 0; i < 10; ++i) {
                    own.seek(random() % own.run().eventCount());
                }
                own.seek(own.run().eventCount() / 2);
                wrong += own.state() == expected ? 0 : 1;
            });
        }
        shared.seek(1); // drops its blocks while the others use theirs
        for (std::thread& thread : threads) {
            thread.join();
        }
        QCOMPARE(wrong.load(), 0);
    }

    void seriesShowsTheStateAfterEachVisit()
    {
        const auto run = residual().run();
        Timeline timeline = opened(run);
        const VisitSeries& series = timeline.series();
        QCOMPARE(series.mode.size(), std::size_t{8});
        for (std::uint32_t visit = 0; visit < run->visitCount(); ++visit) {
            timeline.seek(run->endOfVisit(visit));
            const RunState& state = timeline.state();
            QCOMPARE(series.mode[visit], state.mode);
            QCOMPARE(series.node[visit], state.current);
            QCOMPARE(series.frontierLanded[visit], state.frontierLanded);
            QCOMPARE(series.frontierHeld[visit], state.frontierHeld);
            QCOMPARE(series.frontierBytes[visit], state.frontierBytes.sum());
            QVERIFY(series.most[visit].sum() >= series.frontierBytes[visit]);
            QCOMPARE(series.stackDepth[visit], state.normalStack.size() + state.searchStack.size());
            QCOMPARE(series.queueDepth[visit], state.queue.size());
        }
        QCOMPARE(series.mode[1], Mode::Search);
        QCOMPARE(series.promisesOpened.size(), std::size_t{2});
        QCOMPARE(run->events[series.promisesOpened[1]].kind, EventKind::NewPromise);
        QCOMPARE(run->events[series.promisesCompleted[0]].kind, EventKind::Complete);
    }

    void visitsBeginWithTheirPick()
    {
        const auto run = residual().run();
        QCOMPARE(run->visitStart[0], std::uint64_t{2}); // after the first landing and push
        QCOMPARE(run->visitOf(0), 0U);
        QCOMPARE(run->visitOf(run->visitStart[3]), 3U);
        QCOMPARE(run->visitOf(run->visitStart[3] - 1), 2U);
        QCOMPARE(run->endOfVisit(7), run->eventCount());
        QCOMPARE(run->endOfVisit(2), run->visitStart[3]);

        // Pops before the Visit event with its number belong to it.
        std::vector<Event> events(4);
        events[0].kind = EventKind::Push;
        events[1].kind = EventKind::Pop;
        events[1].visit = events[2].visit = events[3].visit = 1;
        events[2].kind = EventKind::Dequeue;
        events[3].kind = EventKind::Visit;
        QCOMPARE(firstEventOfPick(events, 3), std::uint64_t{1});
        events[1].visit = 0;
        QCOMPARE(firstEventOfPick(events, 3), std::uint64_t{2});
    }

    void contradictingEventsAreAnInputError()
    {
        const auto run = residual().run();
        Run wrong = *run;
        std::swap(wrong.events[5], wrong.events[20]);
        RETRO_REFUSED(Timeline::open(std::make_shared<const Run>(std::move(wrong))), retro::base::ErrorCode::Input,
                      "event 5");
    }

    void aStopEndsTheOpening()
    {
        std::stop_source source;
        source.request_stop();
        RETRO_REFUSED(Timeline::open(residual().run(), source.get_token()), retro::base::ErrorCode::Cancelled);
    }

    void emptyRunsOpen()
    {
        auto run = std::make_shared<Run>();
        run->graph = graphOf({"a"}, {{"y", "Relu", {"a"}}});
        Timeline timeline = opened(run);
        timeline.seek(3);
        QCOMPARE(timeline.position(), std::uint64_t{0});
        QVERIFY(timeline.series().mode.empty());
    }

    void recorderDropsTheOldestTensorsAndKeepsWhatIsKnownOfThem()
    {
        Recorder recorder(100);
        for (std::uint32_t i = 0; i < 5; ++i) {
            recorder.onTensor(HandleId(i), filled(10, i));
        }
        const Run run = std::move(recorder).take();
        QCOMPARE(run.handles.size(), std::size_t{5});
        QVERIFY(!run.tensors[2].isValid());
        QVERIFY(run.tensors[3].isValid() && run.tensors[4].isValid());
        QCOMPARE(run.handles[2].bytes, std::int64_t{40});
        QCOMPARE(run.handles[2].sum, 20.0);
        QCOMPARE(run.handles[2].shape, retro::tensor::Shape{10});
    }

    void recorderReplacesAndSurvivesATensorLargerThanItsBudget()
    {
        Recorder recorder(100);
        recorder.onTensor(HandleId(1U), filled(20, 1));
        recorder.onTensor(HandleId(1U), filled(10, 1));
        recorder.onTensor(HandleId(0U), filled(15, 1));
        recorder.onTensor(HandleId(2U), filled(1000, 1));
        recorder.onTensor(HandleId(3U), filled(25, 2));
        const Run run = std::move(recorder).take();
        QVERIFY(!run.tensors[0].isValid() && !run.tensors[1].isValid() && !run.tensors[2].isValid());
        QVERIFY(run.tensors[3].isValid());
        QCOMPARE(run.handles[1].bytes, std::int64_t{40});
    }

    void sumsFollowEveryElement()
    {
        QCOMPARE(sumOf(Tensor()), 0.0);
        std::vector<float> values(37);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(i);
        }
        const Tensor plain = Tensor::of<float>({37, 1}, values);
        QCOMPARE(sumOf(plain), 666.0);
        const std::vector<std::int64_t> order{1, 0};
        QCOMPARE(sumOf(plain.permuted(order)), 666.0);
        values[20] = std::numeric_limits<float>::infinity();
        QVERIFY(!std::isfinite(sumOf(Tensor::of<float>({37}, values))));
        values[21] = -std::numeric_limits<float>::infinity();
        QVERIFY(std::isnan(sumOf(Tensor::of<float>({37}, values))));
    }
};

QTEST_GUILESS_MAIN(TimelineTest)
#include "timelinetest.moc"
