// SPDX-License-Identifier: Apache-2.0
#include "core/trace/timeline.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/tensorrun.h"

#include <QTest>

#include <memory>

using namespace retro::lrptest;
using retro::trace::Run;
using retro::trace::RunState;
using retro::trace::Timeline;

namespace
{

// The recorded run of a random graph; null when it could not be run.
std::shared_ptr<const Run> recorded(std::uint64_t seed)
{
    const auto made = tensorCaseOf(randomGraph(seed, 1 + seed % 60), {});
    const auto traversed = made.ok() ? runTensors(*made, retro::execute::SavePolicy::Autograd)
                                     : retro::base::Result<TensorRun>(made.error());
    if (!traversed) {
        return nullptr;
    }
    auto run = std::make_shared<Run>();
    run->graph = made->model->sharedGraph();
    run->events = traversed->events;
    for (std::size_t i = 0; i < run->events.size(); ++i) {
        if (run->events[i].kind == retro::event::EventKind::Visit) {
            run->visitStart.push_back(i);
        }
    }
    for (const Tensor& tensor : traversed->tensors) {
        run->handles.push_back({tensor.dtype(), tensor.shape(), tensor.bytes(), 0});
    }
    run->tensors = traversed->tensors;
    return run;
}

} // namespace

/// What a traversal emits is all that a timeline needs: the state can be rebuilt, and taken back, from events alone.
class TraversalTimelineTest : public QObject
{
    Q_OBJECT

private slots:
    void everyEventCanBeTakenBack();
    void nothingIsLeftAtTheEnd();
};

void TraversalTimelineTest::everyEventCanBeTakenBack()
{
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const std::shared_ptr<const Run> run = recorded(seed);
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

void TraversalTimelineTest::nothingIsLeftAtTheEnd()
{
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        auto opened = Timeline::open(recorded(seed));
        QVERIFY2(opened.ok(), opened.ok() ? "" : opened.error().text().c_str());
        Timeline timeline = std::move(opened).value();
        timeline.seek(timeline.run().eventCount());
        const RunState& end = timeline.state();
        QVERIFY(end.isFinished && end.normalStack.empty() && end.searchStack.empty() && end.queue.empty());
        QCOMPARE(end.frontierLanded, 0U);
        QCOMPARE(end.frontierHeld, 0U);
        QCOMPARE(end.frontierBytes, std::int64_t{0});
        const RunState copy = end;
        timeline.seek(0);
        QVERIFY(timeline.state() == RunState(timeline.run()));
        timeline.seek(timeline.run().eventCount());
        QVERIFY(timeline.state() == copy);
    }
}

QTEST_APPLESS_MAIN(TraversalTimelineTest)
#include "traversaltimelinetest.moc"
