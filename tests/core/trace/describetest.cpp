// SPDX-License-Identifier: Apache-2.0
// Words for people: what an event says, and why a node stands still.
#include "tests/core/trace/randomrun.h"
#include "tests/core/trace/scenarios.h"

#include "core/trace/describe.h"
#include "core/trace/gradientrun.h"
#include "core/trace/meantrelevance.h"
#include "core/trace/why.h"

#include <QtTest>

#include <set>

using namespace retro::trace;
using namespace retro::trace::test;

namespace
{

std::string joined(const std::vector<std::string>& lines)
{
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

Timeline at(const std::shared_ptr<const Run>& run, std::uint64_t position)
{
    Timeline timeline = Timeline::open(run).value();
    timeline.seek(position);
    return timeline;
}

} // namespace

class DescribeTest : public QObject
{
    Q_OBJECT

private slots:
    void gradientTimesInputIsSaidAsTheLedgerCountsIt()
    {
        auto run = residual().run();
        run->facts.numbers = {{kGradientNumber, 1}, {"times_input", 1}};
        run->values.resize(run->graph->valueCount());
        std::size_t found = 0;
        for (std::uint64_t step = 0; step < run->eventCount(); ++step) {
            const Event& event = run->events[step];
            if (event.kind != EventKind::Relevance || !run->graph->isInput(NodeId(event.node))) {
                continue;
            }
            const ValueId input = run->graph->outputsOf(NodeId(event.node)).front();
            const Tensor& gradient = run->tensors[event.handle];
            run->values[input.index()] = Tensor::full(gradient.dtype(), gradient.shape(), -2);
            const double sum = -2 * run->handles[event.handle].sum;
            QCOMPARE(meantSum(*run, input, HandleId(event.handle)), sum);
            const std::string text = describe(*run, step);
            QVERIFY2(text.find(": its gradient × input is known in full") < text.size() &&
                         text.find(fmt::format("Σ {:.6g}", sum)) < text.size(),
                     text.c_str());
            ++found;
        }
        QVERIFY(found > 0);
        QVERIFY(describe(*run, 5).ends_with("its gradient is known in full, Σ 0"));
    }

    void everyEventOfTheResidualHasItsLine()
    {
        auto run = residual().run();
        run->rules.resize(run->graph->nodeCount());
        run->rules[3].rule = "epsilon 1e-06"; // y
        std::string text;
        for (std::uint64_t step = 0; step < 25; ++step) {
            text += describe(*run, step) + "\n";
        }
        QCOMPARE(text, std::string("Add y: part 1 of 1, Σ 0\n"
                                   "Add y: onto the normal stack\n"
                                   "Add y: is visited\n"
                                   "Add y: from the normal stack\n"
                                   "Add y: takes part 1 of 1\n"
                                   "Add y: its relevance is known in full, Σ 0\n"
                                   "Add y: raises P0 (add): asks for 2 operands\n"
                                   "P0 holds its relevance, Σ 0\n"
                                   "MatMul h: part 1 of 2: search P0.0 from Add y\n"
                                   "Relu r: part 1 of 1: search P0.1 from Add y\n"
                                   "Relu r: onto the normal stack\n"
                                   "MatMul h: onto the search stack\n"
                                   "MatMul h: the search comes by\n"
                                   "MatMul h: from the search stack\n"
                                   "MatMul h: raises P1 (pre, not open yet): asks for 1 operand\n"
                                   "P1 will answer P0.0\n"
                                   "MatMul h: search P0.0 ends here\n"
                                   "MatMul h: search P1.0 ends here\n"
                                   "MatMul h: P1.0 has its operand, a value of Σ 2\n"
                                   "P1 has all its operands\n"
                                   "P0.0 has its operand, a value of Σ 2\n"
                                   "MatMul h: waits for P1.0\n"
                                   "MatMul h: into the promise queue\n"
                                   "Relu r: is visited\n"
                                   "Relu r: from the normal stack\n"));
        const auto rule = std::find_if(run->events.begin(), run->events.end(),
                                       [](const Event& event) { return event.kind == EventKind::Rule; });
        QCOMPARE(describe(*run, static_cast<std::uint64_t>(rule - run->events.begin())),
                 std::string("Add y: epsilon 1e-06 is applied by P0"));
        QCOMPARE(describe(*run, run->eventCount() - 1), std::string("the run is finished"));
        QCOMPARE(describe(*run, run->eventCount()), std::string());
    }

    void noEventIsWithoutWordsAndNoIdIsTrusted()
    {
        Run run = *RandomRun(31).make(2000);
        std::set<EventKind> kinds;
        for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
            kinds.insert(run.events[step].kind);
            QVERIFY(!describe(run, step).empty());
        }
        QCOMPARE(kinds.size(), retro::event::kEventKindCount - 2); // all but launches and their buffers
        for (Event& event : run.events) {
            event.node = event.other = event.promise = event.handle = 0xfffffff0U;
            event.extra = -1;
        }
        for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
            QVERIFY(!describe(run, step).empty());
        }
    }

    void aNodeWaitsForItsPromiseAndThatForInputs()
    {
        Script script = residual();
        const auto run = script.run();
        // After visit 3 (m) nothing is missing at h but its pick; after visit 2 (r) the tensor of m is.
        const Timeline timeline = at(run, run->endOfVisit(2));
        const Why why = whyNotVisited(timeline, NodeId(script.node("h")));
        QCOMPARE(why.visits, 1U);
        QCOMPARE(*why.nextVisit, 4U);
        QCOMPARE(why.inEdges, 2U);
        QCOMPARE(why.missing, (std::vector<MissingEdge>{{1, NodeId(script.node("m"))}}));
        QVERIFY(why.waitsFor == (BranchRef{PromiseId(1U), 0}));
        QCOMPARE(joined(why.lines), std::string("MatMul h waits for P1.0\n"
                                                "P1 (pre at MatMul h) has its arguments and waits until relevance has "
                                                "arrived at all inputs of its node\n"
                                                "visit 4 picks MatMul h next\n"));
    }

    void aSearchThatIsNotOver()
    {
        Script script = residual();
        const auto run = script.run();
        const Why why = whyNotVisited(at(run, run->endOfVisit(1)), NodeId(script.node("m")));
        QCOMPARE(why.missing, (std::vector<MissingEdge>{{0, NodeId(script.node("r"))}}));
        QCOMPARE(joined(why.lines), std::string("MatMul m misses 1 of 1 in-edge: 1 from Relu r\n"
                                                "Relu r lies on top of the normal stack\n"
                                                "visit 3 picks MatMul m next\n"));
        const Why leaf = whyNotVisited(at(run, 0), NodeId(script.node("W")));
        QCOMPARE(leaf.lines.front(), std::string("input W misses 1 of 1 in-edge: 1 from MatMul m"));
    }

    void promisesAreFollowedUpAndDown()
    {
        Script script = stackedPrePromises();
        const auto run = script.run();
        // After visit 8 c has fanned in; h waits for P2, whose parent P1 is closed because b has not sent anything.
        const Why why = whyNotVisited(at(run, run->endOfVisit(8)), NodeId(script.node("h")));
        QCOMPARE(joined(why.lines), std::string("Relu h waits for P2.0\n"
                                                "P2 (pre at Transpose c) is ready and waits for the relevance of P1.0\n"
                                                "P1 (pre at Transpose e) has its arguments and waits until relevance "
                                                "has arrived at all inputs of its node\n"
                                                "Transpose e misses 1 of 2 in-edges: 2 from Relu b\n"
                                                "Relu b lies on top of the normal stack\n"
                                                "visit 11 picks Relu h next\n"));
        Script nested = nestedAdd();
        const auto adds = nested.run();
        const Why waiting = whyNotVisited(at(adds, adds->endOfVisit(2)), NodeId(nested.node("a")));
        QCOMPARE(joined(waiting.lines), std::string("input a waits for P1.0\n"
                                                    "P1 (add at Add s) lacks the argument of P1.1\n"
                                                    "input b lies on top of the normal stack\n"));
    }

    void stepsOfANodeAreAtHand()
    {
        Script script = stackedPrePromises();
        const auto run = script.run();
        const NodeSteps steps(*run);
        for (std::size_t i = 0; i < run->graph->runNodeCount(); ++i) {
            const auto stepsOf = [&](retro::event::EventKind kind) {
                std::vector<std::uint64_t> found;
                for (std::uint64_t step = 0; step < run->eventCount(); ++step) {
                    if (run->events[step].kind == kind && run->events[step].node == i) {
                        found.push_back(step);
                    }
                }
                return found;
            };
            QVERIFY(steps.isReached(NodeId(i)));
            const auto landings = steps.landings(NodeId(i));
            const auto visits = steps.visits(NodeId(i));
            QCOMPARE(std::vector(landings.begin(), landings.end()), stepsOf(retro::event::EventKind::Land));
            QCOMPARE(std::vector(visits.begin(), visits.end()), stepsOf(retro::event::EventKind::Visit));
        }
        QVERIFY(steps.landings(NodeId(run->graph->runNodeCount())).empty());
        QVERIFY(steps.visits(NodeId()).empty());
    }

    void nodesThatNothingReaches()
    {
        Script script(graphOf({"a", "b"}, {{"s", "Add", {"a", "b"}}, {"y", "Relu", {"s"}}}), 2);
        script.land("y", 0, 1, 0);
        script.push("y");
        const auto run = script.run();
        const Why why = whyNotVisited(at(run, 2), NodeId(script.node("s")));
        QCOMPARE(why.inEdges, 0U);
        QVERIFY(!why.nextVisit.has_value());
        QCOMPARE(joined(why.lines), std::string("nothing lands at Add s in this run: no relevance reaches it\n"));
        QCOMPARE(whyNotVisited(at(run, 2), NodeId(script.node("y"))).lines.front(),
                 std::string("Relu y lies on top of the normal stack"));
    }
};

QTEST_GUILESS_MAIN(DescribeTest)
#include "describetest.moc"
