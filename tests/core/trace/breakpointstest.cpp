// SPDX-License-Identifier: Apache-2.0
// Where a run stops: breakpoints and layers.
#include "tests/core/trace/scenarios.h"

#include "core/trace/breakpoints.h"

#include <QtTest>

#include <cmath>

using namespace retro::trace;
using namespace retro::trace::test;

namespace
{

/// "y h r": labels of the nodes visited at all stops, walking forward, after checking that walking back meets the same
/// stops.
std::string stops(const Run& run, const Breakpoint& breakpoint)
{
    std::vector<std::uint64_t> forward;
    for (auto at = nextStop(run, breakpoint, 0); at; at = nextStop(run, breakpoint, *at)) {
        forward.push_back(*at);
    }
    std::vector<std::uint64_t> back;
    for (auto at = previousStop(run, breakpoint, run.eventCount() + 1); at; at = previousStop(run, breakpoint, *at)) {
        back.insert(back.begin(), *at);
    }
    if (forward != back) {
        return "forward and back differ";
    }
    std::string text;
    for (const std::uint64_t position : forward) {
        const Event& event = run.events[position - 1];
        text += (text.empty() ? "" : " ");
        text += event.kind == EventKind::Visit || event.kind == EventKind::NewPromise || event.kind == EventKind::Rule
                    ? run.graph->labelOf(NodeId(event.node))
                    : fmt::format("{}", nameOf(event.kind));
    }
    return text;
}

Breakpoint of(BreakKind kind, NodeId node = {})
{
    Breakpoint breakpoint;
    breakpoint.kind = kind;
    breakpoint.node = node;
    return breakpoint;
}

} // namespace

class BreakpointsTest : public QObject
{
    Q_OBJECT

private slots:
    void nodesAndOperators()
    {
        Script script = residual();
        const auto run = script.run();
        QCOMPARE(stops(*run, of(BreakKind::NodeVisited, NodeId(script.node("h")))), std::string("h h"));
        Breakpoint operators = of(BreakKind::OperatorVisited);
        operators.op = "MatMul";
        QCOMPARE(stops(*run, operators), std::string("h m h"));
        operators.op = "Input";
        QCOMPARE(stops(*run, operators), std::string("x V W"));
        operators.op = "Conv";
        QVERIFY(!nextStop(*run, operators, 0).has_value());
    }

    void modes()
    {
        const auto run = stackedPrePromises().run();
        Breakpoint search = of(BreakKind::ModeEntered);
        search.mode = Mode::Search;
        QCOMPARE(stops(*run, search), std::string("e"));
        search.mode = Mode::Fulfilment;
        QCOMPARE(stops(*run, search), std::string("h"));
        search.mode = Mode::Normal;
        QCOMPARE(stops(*run, search), std::string("y h c"));
        QCOMPARE(stops(*run, of(BreakKind::ModeChanged)), std::string("e h h c"));
    }

    void promises()
    {
        Script script = stackedPrePromises();
        const auto run = script.run();
        QCOMPARE(stops(*run, of(BreakKind::PromiseOpened)), std::string("a e c"));
        QCOMPARE(stops(*run, of(BreakKind::PromiseOpened, NodeId(script.node("e")))), std::string("e"));
        QCOMPARE(stops(*run, of(BreakKind::PromiseFulfilled)), std::string("complete complete complete"));
        RETRO_MADE(at, nextStop(*run, of(BreakKind::PromiseFulfilled, NodeId(script.node("c"))), 0));
        QCOMPARE(run->events[*at - 1].promise, 2U);
    }

    void violationsOfTheLedger()
    {
        Script script = residual();
        for (std::uint32_t row = 0; row < 4; ++row) {
            retro::event::LedgerEntry entry;
            entry.node = row;
            entry.arrived = 10;
            entry.magnitude = 10;
            entry.handedOn = row == 2 ? 9.9 : 10.0;
            script.ledger(entry);
        }
        const auto run = script.run();
        QCOMPARE(stops(*run, of(BreakKind::LedgerViolation)), std::string("m")); // third rule: y, r, m
        Breakpoint loose = of(BreakKind::LedgerViolation);
        loose.tolerance = 0.1;
        QVERIFY(!nextStop(*run, loose, 0).has_value());
    }

    void lossesThatHaveACause()
    {
        Script script = residual();
        for (std::uint32_t row = 0; row < 4; ++row) {
            retro::event::LedgerEntry entry;
            entry.node = row;
            entry.arrived = entry.magnitude = 10;
            entry.handedOn = row < 2 ? 5.0 : 10.0;
            // A bias takes its share by design; a zero denominator takes what then reaches nothing.
            const auto cause = row == 0 ? retro::event::Cause::Bias : retro::event::Cause::ZeroDenominator;
            entry.causes[static_cast<std::size_t>(cause)] = row < 2 ? 5 : 0;
            script.ledger(entry);
        }
        const auto run = script.run();
        QVERIFY(!nextStop(*run, of(BreakKind::LedgerViolation), 0).has_value());
        QCOMPARE(stops(*run, of(BreakKind::RelevanceLost)), std::string("r")); // second rule: y, r, m
        QCOMPARE(text(*run, of(BreakKind::RelevanceLost)), std::string("when a rule loses relevance"));
        retro::event::LedgerEntry small;
        small.arrived = small.magnitude = 10;
        small.handedOn = 9.95;
        small.causes[static_cast<std::size_t>(retro::event::Cause::Unread)] = 0.05;
        QVERIFY(!isLoss(small, 1e-4));
    }

    void violationsThatAreNotFinite()
    {
        retro::event::LedgerEntry entry;
        QVERIFY(!isViolation(entry, 1e-4));
        entry.arrived = std::nan("");
        QVERIFY(isViolation(entry, 1e-4));
        entry.arrived = 0;
        entry.magnitude = HUGE_VAL;
        QVERIFY(isViolation(entry, 1e-4));
    }

    void relevanceThatIsNotFinite()
    {
        Run run = *residual().run();
        QVERIFY(!nextStop(run, of(BreakKind::NonFinite), 0).has_value());
        run.handles[2].sum = std::nan(""); // an argument: not relevance
        QVERIFY(!nextStop(run, of(BreakKind::NonFinite), 0).has_value());
        run.handles[7].sum = HUGE_VAL; // lands at W, and is W's relevance
        QCOMPARE(stops(run, of(BreakKind::NonFinite)), std::string("land relevance"));
    }

    void layersAreNewScopesLinearMapsAndPools()
    {
        Script script = residual();
        auto run = script.run();
        // y: scope "block"; h: scope "trunk"; then the end.
        QCOMPARE(layerStops(*run),
                 (std::vector<std::uint64_t>{run->endOfVisit(0), run->endOfVisit(1), run->eventCount()}));
        run->rules.resize(run->graph->nodeCount());
        run->rules[script.node("m")].structure = "linear map";
        run->rules[script.node("r")].structure = "element-wise";
        QCOMPARE(layerStops(*run), (std::vector<std::uint64_t>{run->endOfVisit(0), run->endOfVisit(1),
                                                               run->endOfVisit(3), run->eventCount()}));
        Breakpoint layer = of(BreakKind::LayerReached);
        QCOMPARE(*nextStop(*run, layer, run->endOfVisit(1)), run->endOfVisit(3));
        QCOMPARE(*previousStop(*run, layer, run->endOfVisit(1)), run->endOfVisit(0));
        QVERIFY(!previousStop(*run, layer, 1).has_value());
        QVERIFY(!nextStop(*run, layer, run->eventCount()).has_value());
    }

    void breakpointsSayWhatTheyWaitFor()
    {
        Script script = residual();
        const auto run = script.run();
        QCOMPARE(text(*run, of(BreakKind::NodeVisited, NodeId(script.node("h")))),
                 std::string("when MatMul h is visited"));
        QCOMPARE(text(*run, of(BreakKind::PromiseFulfilled, NodeId(script.node("y")))),
                 std::string("when a promise at Add y is complete"));
        QCOMPARE(text(*run, of(BreakKind::ModeEntered)), std::string("when mode PTM begins"));
        QCOMPARE(text(*run, of(BreakKind::LedgerViolation)),
                 std::string("when a rule leaves more than 0.0001 · Σ|r| unexplained"));
    }

    void conditionsSurviveTextBothWays()
    {
        Script script = residual();
        const auto run = script.run();
        for (const char* text : {"node h",
                                 "loss",
                                 "node h in search",
                                 "op MatMul",
                                 "op MatMul in normal",
                                 "mode search",
                                 "mode fulfilment",
                                 "mode changes",
                                 "promise opened",
                                 "promise opened at h",
                                 "promise fulfilled at h",
                                 "promise fulfilled",
                                 "violation 0.01",
                                 "nan",
                                 "layer",
                                 "recompute",
                                 "recompute at h",
                                 "drop",
                                 "drop at h",
                                 "free",
                                 "free at h"}) {
            const auto breakpoint = parseBreakpoint(*run, text);
            QVERIFY2(breakpoint.ok(), text);
            QCOMPARE(source(*run, *breakpoint), std::string(text));
        }
        QCOMPARE(parseBreakpoint(*run, "  mode   search ")->kind, BreakKind::ModeEntered);
        QCOMPARE(parseBreakpoint(*run, "violation")->tolerance, 1e-4);
    }

    void unclearConditionsAreRefused()
    {
        Script script = residual();
        const auto run = script.run();
        for (const char* text :
             {"", "knot h", "node", "node nowhere", "op", "op Conv", "mode", "mode sideways", "promise", "promise kept",
              "promise opened h", "promise opened at nowhere", "violation much", "violation -1", "nan now",
              "recompute h", "drop at nowhere", "free now"}) {
            QVERIFY2(!parseBreakpoint(*run, text).ok(), text);
        }
    }

    void aVisitCanBeLimitedToAMode()
    {
        Script script = residual();
        const auto run = script.run();
        Breakpoint any = of(BreakKind::NodeVisited, NodeId(script.node("h")));
        const std::size_t all = allStops(*run, any).size();
        std::size_t sum = 0;
        for (const Mode mode : {Mode::Normal, Mode::Search, Mode::Fulfilment}) {
            any.only = mode;
            sum += allStops(*run, any).size();
        }
        QCOMPARE(all, std::size_t{2});
        QCOMPARE(sum, all);
        any.only = Mode::Search;
        QVERIFY(allStops(*run, any).size() < all);
    }

    void severalBreakpointsStopAtTheNearest()
    {
        Script script = residual();
        const auto run = script.run();
        std::vector<Breakpoint> both{of(BreakKind::NodeVisited, NodeId(script.node("h"))),
                                     of(BreakKind::PromiseOpened)};
        std::vector<std::uint64_t> expected;
        for (const Breakpoint& breakpoint : both) {
            const auto stops = allStops(*run, breakpoint);
            expected.insert(expected.end(), stops.begin(), stops.end());
        }
        std::sort(expected.begin(), expected.end());
        std::vector<std::uint64_t> forward;
        for (auto at = nextStop(*run, both, 0); at; at = nextStop(*run, both, *at)) {
            forward.push_back(*at);
        }
        QCOMPARE(forward, expected);
        std::vector<std::uint64_t> back;
        for (auto at = previousStop(*run, both, run->eventCount() + 1); at; at = previousStop(*run, both, *at)) {
            back.insert(back.begin(), *at);
        }
        QCOMPARE(back, expected);
        QVERIFY(!nextStop(*run, std::span<const Breakpoint>(), 0).has_value());
    }
};

QTEST_GUILESS_MAIN(BreakpointsTest)
#include "breakpointstest.moc"
