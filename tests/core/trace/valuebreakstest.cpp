// SPDX-License-Identifier: Apache-2.0
// Breakpoints on numbers: where a run stops, both ways, and why.
#include "tests/core/trace/scenarios.h"

#include "core/trace/breakpoints.h"
#include "core/trace/timeline.h"
#include "core/trace/valuebreaks.h"

#include <QtTest>

using namespace retro::trace;
using namespace retro::trace::test;

namespace
{

Breakpoint conditionOf(const Run& run, const char* text)
{
    const auto parsed = parseBreakpoint(run, text);
    if (!parsed) {
        QTest::qFail(parsed.error().text().c_str(), __FILE__, __LINE__);
        return {};
    }
    if (source(run, *parsed) != text) {
        QTest::qFail(source(run, *parsed).c_str(), __FILE__, __LINE__);
    }
    return *parsed;
}

/// Events before the stops, walking forward; walking back must meet the same.
std::vector<EventKind> kindsAt(const Run& run, const Breakpoint& breakpoint)
{
    std::vector<std::uint64_t> forward;
    for (auto at = nextStop(run, breakpoint, 0); at; at = nextStop(run, breakpoint, *at)) {
        forward.push_back(*at);
    }
    std::vector<std::uint64_t> back;
    for (auto at = previousStop(run, breakpoint, run.eventCount() + 1); at; at = previousStop(run, breakpoint, *at)) {
        back.insert(back.begin(), *at);
    }
    if (forward != back || forward != allStops(run, breakpoint)) {
        QTest::qFail("forward, back and all differ", __FILE__, __LINE__);
    }
    std::vector<EventKind> kinds;
    for (const std::uint64_t position : forward) {
        kinds.push_back(run.events[position - 1].kind);
        if (whyStopped(run, breakpoint, position).empty()) {
            QTest::qFail("a stop without a reason", __FILE__, __LINE__);
        }
    }
    return kinds;
}

} // namespace

class ValueBreaksTest : public QObject
{
    Q_OBJECT

private slots:
    void sums()
    {
        const auto run = residual().run();
        const Breakpoint changes = conditionOf(*run, "value m sum changes");
        QCOMPARE(kindsAt(*run, changes),
                 std::vector<EventKind>{EventKind::Land}); // Σ of what then is known is the same
        RETRO_MADE(at, nextStop(*run, changes, 0));
        QCOMPARE(whyStopped(*run, changes, *at),
                 std::string("Σ of m's relevance went from 0 to 30 with what landed from Relu r"));
        QVERIFY(whyStopped(*run, changes, *at + 1).empty());
        QCOMPARE(kindsAt(*run, conditionOf(*run, "value m sum crosses 30")).size(), std::size_t{1});
        QVERIFY(kindsAt(*run, conditionOf(*run, "value m sum crosses 30.5")).empty());
        QVERIFY(kindsAt(*run, conditionOf(*run, "value m sum sign")).empty());
        QVERIFY(kindsAt(*run, conditionOf(*run, "value m sum nan")).empty());
    }

    void elementsAndNaN()
    {
        Run run = *residual().run();
        for (Tensor& tensor : run.tensors) {
            tensor = Tensor::of<float>({1, 2}, std::vector<float>{1, -2});
        }
        run.tensors[5] = Tensor::of<float>({1, 2}, std::vector<float>{4, std::nanf("")});
        QCOMPARE(kindsAt(run, conditionOf(run, "value m:0,0 changes")).size(), std::size_t{1});
        QCOMPARE(kindsAt(run, conditionOf(run, "value m:0,1 nan")).size(), std::size_t{1});
        QCOMPARE(kindsAt(run, conditionOf(run, "value m max nan")).size(), std::size_t{1});
        QVERIFY(kindsAt(run, conditionOf(run, "value m:0,0 nan")).empty());
        run.tensors[5] = Tensor::of<float>({1, 2}, std::vector<float>{4, 0.5F});
        const Breakpoint crosses = conditionOf(run, "value m max crosses 3");
        QCOMPARE(kindsAt(run, crosses).size(), std::size_t{1});
    }

    /// Two parts land at h: what is looked at is their sum, and not each by itself.
    void theLargestElementIsThatOfTheSum()
    {
        Run run = *residual().run();
        std::vector<std::uint64_t> lands;
        const auto node = run.graph->nodeOf(*run.graph->findValue("m"));
        for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
            if (run.events[step].kind == EventKind::Land && run.events[step].node == node.value) {
                lands.push_back(step);
            }
        }
        QCOMPARE(lands.size(), std::size_t{1});
        auto again = run.events[lands[0]]; // a second reader hands the same part on
        run.events.insert(run.events.begin() + static_cast<std::ptrdiff_t>(lands[0]) + 1, again);
        for (Tensor& tensor : run.tensors) {
            tensor = Tensor::of<float>({1, 2}, std::vector<float>{1, -2});
        }
        run.tensors[5] = Tensor::of<float>({1, 2}, std::vector<float>{4, 1});
        const Breakpoint crosses = conditionOf(run, "value m max crosses 6");
        RETRO_MADE(at, nextStop(run, crosses, 0));
        QCOMPARE(whyStopped(run, crosses, *at),
                 std::string("the largest relevance in m went from 4 to 8 with what landed from Relu r"));
    }

    /// A tensor that the run did not keep is not NaN: nothing is known of it.
    void whatWasNotKeptIsNoReasonToStop()
    {
        Run run = *residual().run();
        const Breakpoint isNaN = conditionOf(run, "value m max nan");
        const Breakpoint changes = conditionOf(run, "value m:0,0 changes");
        for (Tensor& tensor : run.tensors) {
            tensor = {};
        }
        QVERIFY(kindsAt(run, isNaN).empty());
        QVERIFY(kindsAt(run, changes).empty());
        QVERIFY(!parseBreakpoint(run, "value m max nan").ok()); // and it is said
        QVERIFY(!kindsAt(run, conditionOf(run, "value m sum changes")).empty());
    }

    void losses()
    {
        Script script = residual();
        for (std::uint32_t row = 0; row < 4; ++row) {
            retro::event::LedgerEntry entry;
            entry.node = row;
            entry.arrived = entry.magnitude = 10;
            entry.handedOn = row == 2 ? 9 : 10;
            script.ledger(entry);
        }
        const auto run = script.run();
        QCOMPARE(kindsAt(*run, conditionOf(*run, "loss 5")).size(), std::size_t{1});
        QVERIFY(kindsAt(*run, conditionOf(*run, "loss 20")).empty());
        const auto at = nextStop(*run, conditionOf(*run, "loss 5"), 0);
        QVERIFY(whyStopped(*run, conditionOf(*run, "loss 5"), *at).find("10 %") != std::string::npos);
        QVERIFY(kindsAt(*run, conditionOf(*run, "loss 5 at y")).empty());
    }

    void frontiers()
    {
        const auto run = residual().run();
        std::uint32_t most = 0;
        std::int64_t mostBytes = 0;
        RETRO_MADE(timeline, Timeline::open(run));
        do {
            most = std::max(most, timeline->state().frontierLanded + timeline->state().frontierHeld);
            mostBytes = std::max(mostBytes, timeline->state().frontierBytes.sum());
        } while (timeline->forward());
        Breakpoint tensors = conditionOf(*run, "frontier 1 tensors");
        QVERIFY(!kindsAt(*run, tensors).empty());
        timeline->seek(*nextStop(*run, tensors, 0));
        QCOMPARE(timeline->state().frontierLanded + timeline->state().frontierHeld, 2U);
        tensors.number = most;
        QVERIFY(kindsAt(*run, tensors).empty());
        Breakpoint bytes = conditionOf(*run, "frontier 1 bytes");
        bytes.number = static_cast<double>(mostBytes) - 1;
        QVERIFY(!kindsAt(*run, bytes).empty());
    }

    void oldPromises()
    {
        const auto run = residual().run();
        Breakpoint old = conditionOf(*run, "promise older 0");
        QVERIFY(!kindsAt(*run, old).empty());
        QVERIFY(whyStopped(*run, old, *nextStop(*run, old, 0)).find("P0") == 0);
        old.number = run->visitCount();
        QVERIFY(kindsAt(*run, old).empty());
    }

    void refusals()
    {
        const auto run = residual().run();
        for (const char* text :
             {"value", "value m", "value m sum", "value none sum changes", "value m sum crosses",
              "value m sum crosses x", "value m:0,0,0 changes x", "loss x", "loss 5 m", "frontier", "frontier 5",
              "frontier 5 things", "frontier -1 tensors", "promise older", "promise older -1"}) {
            QVERIFY2(!parseBreakpoint(*run, text).ok(), text);
        }
    }
};

QTEST_GUILESS_MAIN(ValueBreaksTest)
#include "valuebreakstest.moc"
