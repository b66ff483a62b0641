// SPDX-License-Identifier: Apache-2.0
#include "core/execute/forward.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/lrp/traversal/view.h"
#include "core/trace/run.h"
#include "core/trace/runstate.h"
#include "core/trace/timeline.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/specgraph.h"
#include "tests/core/lrp/tensorrun.h"

#include <fmt/format.h>

#include <QTest>

#include <memory>
#include <string>

namespace retro::lrptest
{

namespace
{

using lrp::TraversalView;
using trace::RunState;

bool isSame(const TraversalView::BranchName& live, const trace::BranchRef& told)
{
    return live.promise == told.promise && (!live.promise.isValid() || live.branch == told.branch);
}

/// What a branch feeds, told by events: the promise that has it as parent.
base::PromiseId childOf(const RunState& told, const trace::BranchRef& branch)
{
    for (std::size_t i = 0; i < told.promises.size(); ++i) {
        for (const trace::ParentState& parent : told.promises[i].parents) {
            if (parent.branch == branch) {
                return base::PromiseId(i);
            }
        }
    }
    return {};
}

/// Compares a live traversal with the state told by events; notes the first difference.
class Comparison
{
public:
    Comparison(const TraversalView& live, const RunState& told) : m_live(live), m_told(told) {}

    std::string difference()
    {
        expect(m_live.normalStack == m_told.normalStack, "the normal stack");
        expect(m_live.searchStack == m_told.searchStack, "the search stack");
        expect(m_live.queue == m_told.queue, "the promise queue");
        expect(m_live.isFinished == m_told.isFinished, "the end");
        for (std::size_t i = 0; i < m_live.nodes.size(); ++i) {
            compareNode(i);
        }
        expect(m_live.promises.size() == m_told.promises.size(), "the number of promises");
        for (std::size_t i = 0; i < m_live.promises.size() && m_difference.empty(); ++i) {
            comparePromise(i);
        }
        return m_difference;
    }

private:
    void expect(bool isSame, const std::string& what)
    {
        if (!isSame && m_difference.empty()) {
            m_difference = what;
        }
    }

    void compareNode(std::size_t i)
    {
        const TraversalView::Node& live = m_live.nodes[i];
        const trace::NodeState& told = m_told.nodes[i];
        const std::string who = fmt::format("node {}: ", i);
        expect(live.visits == told.visits && live.lastMode == told.lastMode, who + "visits");
        expect(live.missing == told.missing, who + fmt::format("{} missing, told {}", live.missing, told.missing));
        expect(isSame(live.waitsFor, told.waitsFor), who + "what it waits for");
        expect(live.ruleApplied == told.ruleApplied, who + "its rule");
        expect(live.prePromise == prePromiseOf(i), who + "its Pre-Promise");
        for (std::size_t slot = 0; slot < live.landed.size(); ++slot) {
            const trace::Part part = slot < told.parts.size() ? told.parts[slot] : trace::Part();
            expect(live.landed[slot].tensor == part.handle && isSame(live.landed[slot].branch, part.branch),
                   who + "in-edges");
        }
        for (std::size_t k = 0; k < live.relevance.size(); ++k) {
            const base::HandleId known = k < told.relevance.size() ? told.relevance[k] : base::HandleId();
            expect(live.relevance[k] == known, who + "relevance");
        }
    }

    [[nodiscard]] base::PromiseId prePromiseOf(std::size_t node) const
    {
        for (std::size_t i = 0; i < m_told.promises.size(); ++i) {
            const trace::PromiseState& promise = m_told.promises[i];
            if (promise.kind == event::PromiseKind::Pre && promise.start.index() == node) {
                return base::PromiseId(i);
            }
        }
        return {};
    }

    void comparePromise(std::size_t i)
    {
        const TraversalView::Promise& live = m_live.promises[i];
        const trace::PromiseState& told = m_told.promises[i];
        const std::string who = fmt::format("P{}: ", i);
        expect(live.kind == told.kind && live.start == told.start, who + "kind and start");
        expect(live.isOpen == told.isOpen && live.isReady == told.isReady && live.isComplete == told.isComplete,
               who + "open, ready, complete");
        expect(live.parents.size() == told.parents.size(), who + "number of parents");
        expect(live.branches.size() == told.branches.size(), who + "number of branches");
        if (!m_difference.empty()) {
            return;
        }
        compareParents(live, told, who);
        for (std::uint32_t b = 0; b < live.branches.size(); ++b) {
            compareBranch(live, live.branches[b], {base::PromiseId(i), b}, told.branches[b]);
        }
        // The relevance of its start: what has arrived in full, told where a promise collected it.
        for (std::size_t k = 0; k < told.relevance.size(); ++k) {
            expect(!told.relevance[k].isValid() || told.relevance[k] == m_live.nodes[live.start.index()].relevance[k],
                   who + "rout");
        }
    }

    void compareParents(const TraversalView::Promise& live, const trace::PromiseState& told, const std::string& who)
    {
        std::uint32_t pending = 0;
        for (std::size_t p = 0; p < live.parents.size(); ++p) {
            const trace::ParentState& parent = told.parents[p];
            expect(isSame(live.parents[p].branch, parent.branch) && live.parents[p].output == parent.output,
                   who + "parents");
            pending += m_told.promises[parent.branch.promise.index()].isComplete ? 0 : 1;
        }
        expect(live.pendingParents == pending, who + "pending parents");
    }

    void compareBranch(const TraversalView::Promise& promise, const TraversalView::Branch& live,
                       const trace::BranchRef& name, const trace::BranchState& told)
    {
        const std::string who = fmt::format("P{}.{}: ", name.promise.value, name.branch);
        expect(live.path == told.path, who + "chain");
        expect(live.argNode == told.argNode, who + "arg node");
        expect(live.hasArgument == told.argument.isValid(), who + "has an argument");
        expect(promise.isComplete || live.argument == told.argument, who + "argument");
        expect(!live.relevance.isValid() || live.relevance == told.relevance, who + "rin");
        expect(promise.isComplete || !told.relevance.isValid(), who + "a rin before its time");
        expect(live.child == childOf(m_told, name), who + "what it feeds");
        expect(live.isLinked == !told.children.empty(), who + "children");
        expect(!live.isLinked || told.children == std::vector{live.child}, who + "children");
    }

    const TraversalView& m_live;
    const RunState& m_told;
    std::string m_difference;
};

class NoSink final : public event::Sink
{
public:
    void onEvent(const event::Event&) override { ++events; }
    void onLedger(const event::LedgerEntry&) override {}
    void onTensor(base::HandleId, const Tensor&) override {}
    std::size_t events = 0;
};

std::shared_ptr<const trace::Run> runOf(const TensorCase& made, const TensorRun& traversed)
{
    auto run = std::make_shared<trace::Run>();
    run->graph = made.model->sharedGraph();
    run->events = traversed.events;
    for (std::size_t i = 0; i < run->events.size(); ++i) {
        if (run->events[i].kind == event::EventKind::Visit) {
            run->visitStart.push_back(i);
        }
    }
    for (const Tensor& tensor : traversed.tensors) {
        run->handles.push_back({tensor.dtype(), tensor.shape(), tensor.bytes(), 0});
    }
    run->tensors = traversed.tensors;
    return run;
}

/// The same traversal again, step by step beside the events of the first.
std::string follow(const TensorCase& made, const trace::Run& run)
{
    const auto forward = execute::forward(made.model, made.inputs, execute::SavePolicy::Autograd);
    NoSink sink;
    lrp::TensorArithmetic arithmetic(forward->saved, made.rules, made.graph, sink, false);
    std::vector<base::HandleId> starts;
    for (const Tensor& start : made.starts()) {
        starts.push_back(arithmetic.adopt(start));
    }
    lrp::Traversal traversal(made.graph, arithmetic, sink, starts);
    RunState told(run);
    std::uint64_t applied = 0;
    while (true) {
        if (std::string difference = Comparison(traversal.view(), told).difference(); !difference.empty()) {
            return fmt::format("after visit {}: {}", traversal.counts().visits, difference);
        }
        if (traversal.finished()) {
            return {};
        }
        if (const auto stepped = traversal.step(); !stepped.ok()) {
            return stepped.error().text();
        }
        for (; applied < sink.events; ++applied) {
            told.apply(run.events[applied], run, applied);
        }
    }
}

/// The run of a case on tensors, with what each gradient reads saved; null when it could not be run.
std::shared_ptr<const trace::Run> recordedRun(const SpecGraph& spec)
{
    const auto made = tensorCaseOf(spec, {});
    const auto traversed =
        made.ok() ? runTensors(*made, execute::SavePolicy::Autograd) : base::Result<TensorRun>(made.error());
    return traversed.ok() ? runOf(*made, *traversed) : nullptr;
}

/// Runs a case and compares, after every visit, what the traversal holds with the state that its events give: the three
/// collections, every promise with its arguments, relevance, parents and children, chains, and what every node misses
/// and waits for. Says where they part first; empty when they never do.
std::string differenceFromEvents(const SpecGraph& spec)
{
    const auto made = tensorCaseOf(spec, {});
    if (!made) {
        return made.error().text();
    }
    const auto traversed = runTensors(*made, execute::SavePolicy::Autograd);
    return traversed.ok() ? follow(*made, *runOf(*made, *traversed)) : traversed.error().text();
}

} // namespace

} // namespace retro::lrptest

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
