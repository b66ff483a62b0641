// SPDX-License-Identifier: Apache-2.0
// Events and their inverses: scenarios of the traversal by hand, and random runs.
#include "tests/core/trace/randomrun.h"
#include "tests/core/trace/scenarios.h"

#include <QtTest>

#include <algorithm>
#include <set>
#include <sstream>

using namespace retro::trace;
using namespace retro::trace::test;

namespace
{

/// "y NTM 1/0" per visit: label, mode, tensors landed / held after the visit.
std::string frontierByVisit(const Run& run)
{
    std::ostringstream text;
    RunState state(run);
    std::uint32_t visit = 0;
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        state.apply(run.events[step], run, step);
        if (step + 1 == run.endOfVisit(visit) && step >= run.visitStart[0]) {
            text << run.graph->labelOf(state.current) << ' ' << retro::event::shortName(state.mode) << ' '
                 << state.frontierLanded << '/' << state.frontierHeld << '\n';
            ++visit;
        }
    }
    return text.str();
}

std::string branchText(const Run& run, const BranchState& branch)
{
    std::string text;
    for (const NodeId node : branch.path) {
        text += run.graph->labelOf(node) + ">";
    }
    return text + (branch.argNode.isValid() ? run.graph->labelOf(branch.argNode) : "?");
}

/// "P1 pre@h <P0.0 complete: h" per promise.
std::string promiseTree(const Run& run, const RunState& state)
{
    std::ostringstream text;
    for (std::size_t i = 0; i < state.promises.size(); ++i) {
        const PromiseState& promise = state.promises[i];
        text << 'P' << i << ' ' << nameOf(promise.kind) << '@' << run.graph->labelOf(promise.start);
        for (const ParentState& parent : promise.parents) {
            text << " <P" << parent.branch.promise.value << '.' << parent.branch.branch;
        }
        text << (promise.isComplete ? " complete" : promise.isReady ? " ready" : promise.isOpen ? " open" : " closed");
        for (const BranchState& branch : promise.branches) {
            text << ' ' << branchText(run, branch);
        }
        text << '\n';
    }
    return text.str();
}

RunState stateAt(const Run& run, std::uint64_t position)
{
    RunState state(run);
    for (std::uint64_t step = 0; step < position; ++step) {
        state.apply(run.events[step], run, step);
    }
    return state;
}

/// Frontier counts and bytes again, from its members alone.
bool frontierAddsUp(const Run& run, const RunState& state)
{
    std::uint32_t landed = 0;
    std::uint32_t held = 0;
    std::int64_t bytes = 0;
    std::set<std::uint32_t> handles;
    for (const FrontierMember& member : state.frontier()) {
        ++(member.heldByPromise ? held : landed);
        bytes += run.handles[member.handle.index()].bytes;
        handles.insert(member.handle.value);
    }
    return landed == state.frontierLanded && held == state.frontierHeld && bytes == state.frontierBytes.sum() &&
           handles.size() == landed + held;
}

void walkThereAndBack(const Run& run)
{
    std::vector<RunState> states{RunState(run)};
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        RunState next = states.back();
        QCOMPARE(delta::contradiction(run.events[step], next, run), nullptr);
        next.apply(run.events[step], run, step);
        QVERIFY2(frontierAddsUp(run, next), ("step " + std::to_string(step)).c_str());
        states.push_back(std::move(next));
    }
    RunState state = states.back();
    for (std::uint64_t step = run.events.size(); step-- > 0;) {
        state.revert(run.events[step], run, step);
        QVERIFY2(state == states[step], ("step " + std::to_string(step)).c_str());
    }
    QVERIFY(state == RunState(run));
}

} // namespace

class RunStateTest : public QObject
{
    Q_OBJECT

private slots:
    void nestedAddHoldsWhatItsPromisesHold()
    {
        Script script = nestedAdd();
        const auto run = script.run();
        QCOMPARE(frontierByVisit(*run), std::string("y NTM 0/1\ns NTM 0/1\na NTM 0/2\nb NTM 0/4\nc NTM 0/0\n"));
        QCOMPARE(promiseTree(*run, script.state), std::string("P0 add@y complete s c\nP1 add@s <P0.0 complete a b\n"));
        QVERIFY(script.state.isFinished);
        QCOMPARE(script.state.ledgerRows, 2U);
        walkThereAndBack(*run);
    }

    void residualCountsRelevanceThatWaitsForTheFanIn()
    {
        Script script = residual();
        const auto run = script.run();
        // After r the promise at y is complete, and the share of h (landed as a branch) waits for the fan-in of h.
        QCOMPARE(frontierByVisit(*run), std::string("y NTM 0/1\nh PTM 0/2\nr NTM 1/2\nm NTM 2/2\nh NTM 3/0\nx NTM 2/0\n"
                                                    "V NTM 1/0\nW NTM 0/0\n"));
        QCOMPARE(promiseTree(*run, script.state), std::string("P0 add@y complete h r\nP1 pre@h <P0.0 complete h\n"));
        const RunState search = stateAt(*run, run->endOfVisit(1));
        QCOMPARE(promiseTree(*run, search), std::string("P0 add@y open h ?\nP1 pre@h <P0.0 ready h\n"));
        QCOMPARE(search.nodes[script.node("h")].missing, 1U);
        QVERIFY(search.nodes[script.node("h")].waitsFor == (BranchRef{PromiseId(1U), 0}));
        QCOMPARE(search.queue.size(), std::size_t{1});
        QCOMPARE(script.state.nodes[script.node("h")].visits, 2U);
        walkThereAndBack(*run);
    }

    void stackedPrePromisesCascade()
    {
        Script script = stackedPrePromises();
        const auto run = script.run();
        QCOMPARE(run->visitCount(), 14U);
        QCOMPARE(promiseTree(*run, script.state),
                 std::string("P0 add@a complete e u\nP1 pre@e <P0.0 complete e>c\nP2 pre@c <P1.0 complete c>h\n"));
        // Between the fan-in of c and that of e, the lower Pre-Promise is open and ready and waits for the upper one.
        const RunState between = stateAt(*run, run->endOfVisit(8));
        QVERIFY(between.promises[2].isOpen && between.promises[2].isReady && !between.promises[2].isComplete);
        QCOMPARE(between.queue.size(), std::size_t{2});
        // When e has fanned in, h alone holds what flows: its share waits for its visit.
        const RunState after = stateAt(*run, run->endOfVisit(10));
        QCOMPARE(after.frontierLanded, 0U);
        QCOMPARE(after.frontierHeld, 1U);
        QCOMPARE(after.frontier().front().handle.value, 16U);
        walkThereAndBack(*run);
    }

    void randomRunsGoBackExactly()
    {
        std::set<EventKind> kinds;
        for (unsigned seed = 1; seed <= 6; ++seed) {
            const auto run = RandomRun(seed).make(1500);
            for (const Event& event : run->events) {
                kinds.insert(event.kind);
            }
            walkThereAndBack(*run);
        }
        QCOMPARE(kinds.size(), retro::event::kEventKindCount - 2); // all but launches and their buffers
    }

    void anOperandForWhichNobodySearchesIsNotInTheFrontier()
    {
        Script script(graphOf({"a", "b"}, {{"s", "Add", {"a", "b"}}, {"y", "Add", {"s", "b"}}}), 3);
        script.newPromise(PromiseKind::Add, "y", 2);
        script.arg(0, 0, 1, "s");
        script.arg(0, 1, 2); // a constant: it is there anyhow
        QCOMPARE(script.state.frontierHeld, 1U);
        QVERIFY(script.state.frontierBytes == (FrontierBytes{0, 8, 0}));
        script.ready(0);
        script.complete(0);
        QVERIFY(script.state.frontier().empty());
        QCOMPARE(script.state.frontierBytes.sum(), std::int64_t{0});
    }

    void aTensorInSeveralPlacesCountsOnce()
    {
        Script script(graphOf({"a", "b"}, {{"s", "Add", {"a", "b"}}, {"y", "Add", {"s", "s"}}}), 3);
        script.land("s", 0, 2, 2);
        script.land("s", 1, 2, 2);
        QCOMPARE(script.state.frontierLanded, 1U);
        QCOMPARE(script.state.frontierBytes.sum(), std::int64_t{12});
        script.newPromise(PromiseKind::Add, "y", 2);
        script.arg(0, 0, 2, "s");
        QCOMPARE(script.state.frontierHeld, 0U);
        script.take("s", 0);
        QCOMPARE(script.state.frontierLanded, 1U);
        script.take("s", 1);
        QCOMPARE(script.state.frontierLanded, 0U);
        QCOMPARE(script.state.frontierHeld, 1U);
        QCOMPARE(script.state.frontierBytes.sum(), std::int64_t{12});
    }

    void copiesDoNotSeeEachOthersChanges()
    {
        Script script = residual();
        const auto run = script.run();
        RunState first = stateAt(*run, 12);
        const RunState copy = first;
        for (std::uint64_t step = 12; step < run->events.size(); ++step) {
            first.apply(run->events[step], *run, step);
        }
        QVERIFY(copy == stateAt(*run, 12));
        QVERIFY(!(first == copy));
    }

    void contradictionsAreTold_data()
    {
        QTest::addColumn<int>("kind");
        QTest::addColumn<QString>("reason");
        QTest::newRow("visit") << int(EventKind::Visit) << "visits are not numbered";
        QTest::newRow("pop") << int(EventKind::Pop) << "top of the stack";
        QTest::newRow("dequeue") << int(EventKind::Dequeue) << "promise queue";
        QTest::newRow("land") << int(EventKind::Land) << "no such in-edge";
        QTest::newRow("take") << int(EventKind::Take) << "no such in-edge";
        QTest::newRow("arg") << int(EventKind::Arg) << "promise or branch that does not exist";
        QTest::newRow("complete") << int(EventKind::Complete) << "promise or branch that does not exist";
        QTest::newRow("wait") << int(EventKind::Wait) << "promise or branch that does not exist";
        QTest::newRow("resume") << int(EventKind::Resume) << "promise or branch that does not exist";
    }

    void contradictionsAreTold()
    {
        QFETCH(int, kind);
        QFETCH(QString, reason);
        Run run;
        run.graph = graphOf({"a"}, {{"y", "Relu", {"a"}}});
        run.handles.resize(1);
        const RunState state(run);
        Event event;
        event.kind = static_cast<EventKind>(kind);
        event.node = 0;
        event.handle = 0;
        event.visit = 3;
        event.promise = event.kind == EventKind::Land || event.kind == EventKind::Take ? PromiseId::kInvalid : 7;
        const char* told = delta::contradiction(event, state, run);
        QVERIFY(told != nullptr);
        QVERIFY2(QString(told).contains(reason), told);
    }

    void nothingFollowsTheEnd()
    {
        Script script = nestedAdd();
        Event event;
        event.kind = EventKind::Push;
        event.node = 0;
        const auto run = script.run();
        QVERIFY(QString(delta::contradiction(event, script.state, *run)).contains("after the end"));
    }
};

QTEST_GUILESS_MAIN(RunStateTest)
#include "runstatetest.moc"
