// SPDX-License-Identifier: Apache-2.0
// What moves at a moment of a run.
#include "core/trace/motion.h"

#include "core/trace/timeline.h"
#include "tests/core/trace/randomrun.h"
#include "tests/core/trace/scenarios.h"

#include <QtTest>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

using namespace retro::trace;
using namespace retro::trace::test;

namespace
{

/// All that a frame says, as text.
std::string textOf(const MotionFrame& frame)
{
    std::string text = fmt::format("{} {} now {} {} {}\n", frame.step, frame.fraction, frame.before.value,
                                   frame.now.value, frame.arrived);
    const auto nodes = [&](std::span<const NodeId> list) {
        for (const NodeId node : list) {
            text += fmt::format(" {}", node.value);
        }
        text += "\n";
    };
    for (const Pulse& pulse : frame.pulses) {
        text += fmt::format("pulse {} {} {} {} {} {}", pulse.handle.value, pulse.slot, pulse.sum, pulse.travelled,
                            pulse.entered, pulse.promise.value);
        nodes(pulse.way);
    }
    for (const SearchLine& searchLine : frame.searchLines) {
        text += fmt::format("search {} {} {} {} {}", searchLine.promise.value, searchLine.branch, searchLine.head,
                            searchLine.isFound, searchLine.answer);
        nodes(searchLine.nodes);
    }
    for (const Snap& snap : frame.snaps) {
        text += fmt::format("snap {} {} {} {} {}", snap.promise.value, snap.branch, snap.fade, snap.swing, snap.age);
        nodes(snap.nodes);
    }
    for (const Fill& fill : frame.fills) {
        text += fmt::format("fill {} {} {}\n", fill.node.value, fill.from.value, fill.share);
    }
    nodes(frame.frontBefore);
    nodes(frame.frontAfter);
    return text;
}

std::string textAt(const Motion& motion, double moment, SpeedClass speed = SpeedClass::Each, bool isReduced = false)
{
    MotionFrame frame;
    motion.frame(moment, speed, isReduced, frame);
    return textOf(frame);
}

std::uint64_t stepOf(const Run& run, EventKind kind, std::uint64_t from = 0)
{
    while (from < run.eventCount() && run.events[from].kind != kind) {
        ++from;
    }
    return from;
}

std::vector<double> momentsOf(const Run& run, int count)
{
    std::mt19937 random(5);
    std::vector<double> moments;
    for (int i = 0; i < count; ++i) {
        moments.push_back(static_cast<double>(random() % (run.eventCount() * 16)) / 16);
    }
    return moments;
}

} // namespace

class MotionTest : public QObject
{
    Q_OBJECT

private slots:
    /// The same list, in whatever order moments are asked for and whatever the frame held before.
    void frameDependsOnTheMomentAlone()
    {
        const std::shared_ptr<const Run> nested = nestedAdd().run();
        for (const auto& run : {nested, RandomRun(7).make(2000)}) {
            const Motion motion(*run);
            const std::vector<double> moments = momentsOf(*run, 200);
            std::vector<double> sorted = moments;
            std::ranges::sort(sorted);
            std::map<double, std::string> forward;
            MotionFrame frame;
            for (const double moment : sorted) {
                motion.frame(moment, SpeedClass::Each, false, frame);
                forward[moment] = textOf(frame);
            }
            for (auto moment = sorted.rbegin(); moment != sorted.rend(); ++moment) {
                motion.frame(*moment, SpeedClass::Each, false, frame);
                QCOMPARE(textOf(frame), forward[*moment]);
            }
            for (const double moment : moments) {
                motion.frame(moment, SpeedClass::Each, false, frame);
                QCOMPARE(textOf(frame), forward[moment]);
            }
        }
    }

    /// Signs are known however a tensor lies in memory and whatever its type; not where it was dropped.
    void signsAreThoseOfTheTensor()
    {
        auto run = residual().run();
        run->tensors.resize(run->handles.size());
        const std::vector<float> values{1, -2, 3, -4, 5, 6};
        const Tensor rows = Tensor::of<float>({2, 3}, values);
        const std::array<std::int64_t, 2> turned{1, 0};
        for (const Tensor& tensor : {rows, rows.permuted(turned), rows.to(retro::tensor::DType::Float16),
                                     rows.to(retro::tensor::DType::Float64), Tensor()}) {
            run->tensors.assign(run->handles.size(), tensor);
            const Motion motion(*run);
            int seen = 0;
            for (const Motion::Landing& landing : motion.landings()) {
                MotionFrame frame;
                motion.frame(static_cast<double>(landing.step) + 0.5, SpeedClass::Each, false, frame);
                const auto pulse = std::ranges::find(frame.pulses, landing.handle, &Pulse::handle);
                if (pulse != frame.pulses.end() && landing.handle.isValid()) {
                    ++seen;
                    QVERIFY(tensor.isValid() ? pulse->positive == 15 : std::isnan(pulse->positive));
                }
            }
            QVERIFY(seen > 0);
        }
    }

    void landingIsNoSlideShow()
    {
        const auto run = residual().run();
        const Motion motion(*run);
        int landings = 0;
        for (const Motion::Landing& landing : motion.landings()) {
            if (!landing.handle.isValid() || !landing.from.isValid()) {
                continue;
            }
            ++landings;
            std::set<double> places;
            for (const double fraction : {0.25, 0.5, 0.75}) {
                MotionFrame frame;
                motion.frame(static_cast<double>(landing.step) + fraction, SpeedClass::Each, false, frame);
                const auto pulse = std::ranges::find(frame.pulses, landing.handle, &Pulse::handle);
                QVERIFY(pulse != frame.pulses.end());
                QCOMPARE(pulse->sum, motion.sumOf(landing));
                places.insert(pulse->travelled);
            }
            QCOMPARE(places.size(), 3U);
        }
        QVERIFY(landings > 0);
    }

    /// Parts of a promise leave together, are equally far, and rest until somebody takes them.
    void splitLeavesAtOnce()
    {
        const auto run = nestedAdd().run();
        const Motion motion(*run);
        const std::uint64_t release = stepOf(*run, EventKind::BranchRelevance);
        const std::uint64_t complete = stepOf(*run, EventKind::Complete, release);
        double before = 0;
        for (double moment = static_cast<double>(release) + 0.25; moment < static_cast<double>(complete) + 1;
             moment += 0.25) {
            MotionFrame frame;
            motion.frame(moment, SpeedClass::Each, false, frame);
            std::vector<Pulse> parts;
            std::ranges::copy_if(frame.pulses, std::back_inserter(parts),
                                 [](const Pulse& pulse) { return pulse.promise == PromiseId(0U); });
            QCOMPARE(parts.size(), 2U);
            QCOMPARE(parts[0].travelled, parts[1].travelled);
            QVERIFY(parts[0].travelled > before);
            before = parts[0].travelled;
            QVERIFY(parts[0].way.front() == parts[1].way.front());
        }
        QVERIFY(before < 1);
        MotionFrame frame;
        motion.frame(static_cast<double>(complete) + 1, SpeedClass::Each, false, frame);
        QVERIFY(std::ranges::any_of(frame.pulses, [](const Pulse& each) { return each.travelled == 1; }));
    }

    void searchStretchesAndSnaps()
    {
        const auto run = nestedAdd().run();
        const Motion motion(*run);
        const std::uint64_t second = stepOf(*run, EventKind::NewPromise, stepOf(*run, EventKind::NewPromise) + 1);
        MotionFrame frame;
        motion.frame(static_cast<double>(second), SpeedClass::Each, false, frame);
        QCOMPARE(frame.searchLines.size(), 2U); // of the outer promise, to s and to c
        QVERIFY(frame.snaps.empty());
        for (const SearchLine& searchLine : frame.searchLines) {
            QCOMPARE(searchLine.nodes.size(), 2U);
            QVERIFY(!searchLine.isFound);
        }
        const std::uint64_t complete = stepOf(*run, EventKind::Complete);
        motion.frame(static_cast<double>(complete), SpeedClass::Each, false, frame);
        QCOMPARE(std::ranges::count(frame.searchLines, PromiseId(0U), &SearchLine::promise), 2);
        QVERIFY(std::ranges::all_of(frame.searchLines, &SearchLine::isFound));
        QVERIFY(frame.snaps.empty());
        motion.frame(static_cast<double>(complete) + 0.15, SpeedClass::Each, false, frame);
        QCOMPARE(std::ranges::count(frame.searchLines, PromiseId(0U), &SearchLine::promise), 0);
        QCOMPARE(frame.snaps.size(), 2U);
        QVERIFY(frame.snaps.front().fade > 0 && frame.snaps.front().fade < 1);
    }

    /// With reduced motion all frames between two whole moments are equal, and say what a still frame says.
    void reducedMotionStandsStill()
    {
        const auto run = nestedAdd().run();
        const Motion motion(*run);
        for (std::uint64_t step = 0; step < run->eventCount(); ++step) {
            const auto at = static_cast<double>(step);
            const std::string still = textAt(motion, at, SpeedClass::Each, true);
            for (const double fraction : {0.1, 0.5, 0.99}) {
                QCOMPARE(textAt(motion, at + fraction, SpeedClass::Each, true), still);
            }
        }
    }

    /// Who lies landed in the state is in the front of the frame.
    void frontFollowsTheState()
    {
        const auto run = nestedAdd().run();
        const Motion motion(*run);
        RETRO_MADE(timeline, Timeline::open(run));
        for (std::uint64_t step = 0; step <= run->eventCount(); ++step) {
            timeline->seek(step);
            std::set<NodeId> expected;
            for (std::size_t node = 0; node < timeline->state().nodes.size(); ++node) {
                for (const Part& part : timeline->state().nodes[node].parts) {
                    if (part.handle.isValid()) {
                        expected.insert(NodeId(node));
                    }
                }
            }
            for (std::size_t i = 0; i < timeline->state().promises.size(); ++i) {
                const PromiseState& promise = timeline->state().promises[i];
                if (!promise.isComplete && std::ranges::any_of(promise.relevance, &HandleId::isValid)) {
                    expected.insert(promise.start);
                }
            }
            MotionFrame frame;
            motion.frame(static_cast<double>(step), SpeedClass::Each, false, frame);
            const std::set<NodeId> shown(frame.frontBefore.begin(), frame.frontBefore.end());
            QVERIFY2(std::ranges::includes(shown, expected), fmt::format("at event {}", step).c_str());
        }
    }

    void paceGoesBothWays()
    {
        const auto run = RandomRun(3).make(3000);
        const Pace pace(*run);
        double before = -1;
        for (double moment = 0; moment <= pace.end(); moment += 7.3) {
            const double visits = pace.visitsAt(moment);
            QVERIFY(visits > before || moment == 0);
            before = visits;
            QVERIFY(std::abs(pace.momentAt(visits) - moment) < 1e-6);
        }
        QCOMPARE(pace.momentAt(pace.length()), pace.end());
        QCOMPARE(pace.momentAt(-1), 0.0);
        QCOMPARE(pace.share(5, 5, 5), 1.0);
    }

    void emptyRunHasNothing()
    {
        Run run;
        run.graph = graphOf({"x"}, {{"y", "Relu", {"x"}}});
        const Motion motion(run);
        MotionFrame frame;
        motion.frame(3, SpeedClass::Each, false, frame);
        QCOMPARE(frame.step, 0U);
        QVERIFY(frame.pulses.empty() && frame.searchLines.empty() && !frame.now.isValid());
        QCOMPARE(motion.pace().momentAt(1), 0.0);
    }

    void sumShowsNoSinglePulse()
    {
        const auto run = nestedAdd().run();
        const Motion motion(*run);
        for (double moment = 0; moment < static_cast<double>(run->eventCount()); moment += 0.5) {
            MotionFrame frame;
            motion.frame(moment, SpeedClass::Sum, false, frame);
            QVERIFY(frame.pulses.empty() && frame.searchLines.empty() && frame.snaps.empty());
        }
        QCOMPARE(speedClassOf(4), SpeedClass::Each);
        QCOMPARE(speedClassOf(16), SpeedClass::Brief);
        QCOMPARE(speedClassOf(60), SpeedClass::Visit);
        QCOMPARE(speedClassOf(250), SpeedClass::Sum);
    }
};

QTEST_GUILESS_MAIN(MotionTest)
#include "motiontest.moc"
