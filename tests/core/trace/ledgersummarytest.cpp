// SPDX-License-Identifier: Apache-2.0
// The conservation ledger, summed up.
#include "tests/core/trace/scenarios.h"

#include "core/trace/gradientrun.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/meantrelevance.h"

#include <QtTest>

#include <cmath>

using namespace retro::trace;
using namespace retro::trace::test;
using retro::event::Cause;
using retro::event::LedgerEntry;

namespace
{

LedgerEntry row(std::uint32_t node, double arrived, double handedOn, Cause cause, double amount)
{
    LedgerEntry entry;
    entry.node = node;
    entry.visit = node;
    entry.arrived = arrived;
    entry.handedOn = handedOn;
    entry.magnitude = std::abs(arrived);
    entry.causes[static_cast<std::size_t>(cause)] = amount;
    return entry;
}

/// y = relu(relu x): 10 arrives, 1 is kept by a stabiliser at y, 2.5 by a bias at h; 6.25 reaches x, 0.25 is nowhere.
std::shared_ptr<Run> leakyRun()
{
    Script script(graphOf({"x"}, {{"h", "Relu", {"x"}}, {"y", "Relu", {"h"}}}), 3);
    script.land("y", 0, 1, 0);
    script.push("y");
    script.visit(Mode::Normal, "y");
    script.rule("y");
    script.land("h", 0, 1, 1, "y");
    script.visit(Mode::Normal, "h");
    script.rule("h");
    script.land("x", 0, 1, 2, "h");
    script.visit(Mode::Normal, "x");
    script.relevance("x", 2);
    script.ledger(row(1, 10, 9, Cause::Stabiliser, 1));
    script.ledger(row(0, 9, 6.25, Cause::Bias, 2.5));
    auto run = script.run();
    run->handles[0].sum = 10;
    run->handles[1].sum = 9;
    run->handles[2].sum = 6.25;
    return run;
}

} // namespace

class LedgerSummaryTest : public QObject
{
    Q_OBJECT

private slots:
    /// What `explain` says of an input of gradient × input is what the ledger says of it.
    void endsOfGradientTimesInputAreProducts()
    {
        auto run = std::make_shared<Run>(*leakyRun());
        const auto tensor = [](const std::vector<float>& numbers) {
            return retro::tensor::Tensor::of<float>({2}, numbers);
        };
        const auto x = run->graph->inputs().front();
        run->values.resize(run->graph->valueCount());
        run->values[x.index()] = tensor({2, -1});
        run->tensors.resize(run->handles.size());
        run->tensors[2] = tensor({3.25F, 3});
        const double held = summarise(*run).leaves;
        QCOMPARE(held, 6.25);
        run->facts.numbers["times_input"] = 1;
        const LedgerSummary summary = summarise(*run);
        QCOMPARE(summary.leaves, 2 * 3.25 - 3);
        QCOMPARE(summary.rest, 0.0);
        QCOMPARE(meantSum(*run, retro::base::ValueId(), retro::base::HandleId(2U)), 6.25);
    }

    void aGradientIsKnownByItsRules()
    {
        const NodeRule conv{"gradient", "type Conv", "linear map"};
        const NodeRule relu{"guided-backprop", "type Relu", "element-wise"};
        const NodeRule none{"", "", "linear map"};
        const NodeRule epsilon{"epsilon 1e-06", "any node", "linear map"};
        const NodeRule product{"uniform", "any node", "bilinear"};
        QVERIFY(carriesGradient(std::vector{conv, relu, none}));
        QVERIFY(!carriesGradient(std::vector{conv, epsilon}));
        QVERIFY(!carriesGradient(std::vector{conv, product}));
        const NodeRule pass{"pass", "any node", "element-wise"};
        const NodeRule times{"gradient", "everything", "product"};
        QVERIFY(carriesGradient(std::vector{relu, none}));
        QVERIFY(carriesGradient(std::vector{times, relu}));
        QVERIFY(!carriesGradient(std::vector{times, pass}));
        QVERIFY(!carriesGradient(std::vector{none})); // nothing to tell by
        QVERIFY(!carriesGradient(std::vector<NodeRule>()));
    }

    /// What the facts say goes before what the rules look like; older runs do not say it.
    void aGradientIsKnownByItsFacts()
    {
        Run run;
        run.rules = {{"gradient", "everything", "product"}};
        QVERIFY(carriesGradient(run));
        run.facts.numbers[kGradientNumber] = 0;
        QVERIFY(!carriesGradient(run));
        run.rules = {{"secant", "everything", "element-wise"}};
        run.facts.numbers[kGradientNumber] = 1;
        QVERIFY(carriesGradient(run));
    }

    void everythingThatWentInComesOutSomewhere()
    {
        const LedgerSummary summary = summarise(*leakyRun());
        QCOMPARE(summary.start, 10.0);
        QCOMPARE(summary.leaves, 6.25);
        QCOMPARE(summary.causes[static_cast<std::size_t>(Cause::Stabiliser)], 1.0);
        QCOMPARE(summary.causes[static_cast<std::size_t>(Cause::Bias)], 2.5);
        QCOMPARE(summary.unexplained, 0.25);
        QCOMPARE(summary.rest, 0.0);
    }

    void worstNodesComeFirst()
    {
        const auto run = leakyRun();
        const LedgerSummary summary = summarise(*run);
        QCOMPARE(summary.nodes.size(), std::size_t{2});
        QCOMPARE(run->graph->labelOf(summary.nodes[0].node), std::string("h"));
        QCOMPARE(summary.nodes[0].turnover(), 2.75);
        QVERIFY(summary.nodes[0].largestCause() == Cause::Bias);
        QVERIFY(summary.nodes[1].largestCause() == Cause::Stabiliser);
        QVERIFY(!NodeBalance().largestCause().has_value());
    }

    void whatIsNotFiniteIsWorst()
    {
        auto run = leakyRun();
        run->ledger[0].arrived = std::nan("");
        QCOMPARE(run->graph->labelOf(summarise(*run).nodes[0].node), std::string("y"));
    }

    void rowsOfOneNodeAddUpAndForeignRowsAreLeftOut()
    {
        auto run = leakyRun();
        run->ledger.push_back(row(0, 1, 1, Cause::Filter, 0));
        run->ledger.push_back(row(77, 1, 0, Cause::Filter, 1));
        const LedgerSummary summary = summarise(*run);
        QCOMPARE(summary.nodes[0].rows, 2U);
        QCOMPARE(summary.nodes[0].arrived, 10.0);
        QCOMPARE(summary.running.size(), std::size_t{3});
    }

    void growthIsThatOfTheMagnitude()
    {
        auto run = leakyRun();
        run->ledger[0].magnitudeHandedOn = 50; // of 10, though the sum is 9
        run->ledger[1].magnitudeHandedOn = 180;
        const std::vector<NodeBalance> nodes = summarise(*run).nodes;
        const std::vector<NodeBalance> grown = largestGrowth(nodes, 5);
        QCOMPARE(grown.size(), std::size_t{2});
        QCOMPARE(run->graph->labelOf(grown[0].node), std::string("h"));
        QCOMPARE(grown[0].growth(), 20.0);
        QCOMPARE(grown[1].growth(), 5.0);
        QCOMPARE(largestGrowth(nodes).size(), std::size_t{1});
        QVERIFY(largestGrowth(summarise(*leakyRun()).nodes).empty()); // nobody knows
    }

    void theBalanceRuns()
    {
        const LedgerSummary summary = summarise(*leakyRun());
        QCOMPARE(summary.running.size(), std::size_t{2});
        QCOMPARE(summary.running[0].lost, 1.0);
        QCOMPARE(summary.running[0].visit, 1U);
        QCOMPARE(summary.running[1].lost, 3.75);
        QCOMPARE(summary.running[1].unexplained, 0.25);
    }

    void aStoppedRunHasARest()
    {
        auto run = leakyRun();
        run->events.resize(run->events.size() - 2); // x was never visited
        const LedgerSummary summary = summarise(*run);
        QCOMPARE(summary.leaves, 0.0);
        QCOMPARE(summary.rest, 6.25);
    }
};

QTEST_GUILESS_MAIN(LedgerSummaryTest)
#include "ledgersummarytest.moc"
