// SPDX-License-Identifier: Apache-2.0
// Graphs that are odd but legal get a plan that the simulator passes; what cannot be planned gets a clear answer.
#include "core/analysis/report.h"
#include "core/schedule/portfolio.h"
#include "tests/core/analysis/opgraphs.h"

#include <QtTest>

using namespace retro;
using namespace retro::schedule;
using namespace retro::planningtest;
using analysis::JointGraph;

namespace
{

PlanRequest requestFor(const OpGraph& joint, std::uint64_t budget)
{
    PlanRequest request;
    request.graph = &joint;
    request.budget = budget;
    request.seconds = 0.05;
    return request;
}

/// First planner whose plan the simulator does not pass; empty when each has one that holds, or a reason.
QString faultOf(const OpGraph& joint, std::uint64_t budget)
{
    for (const Planner& planner : planners()) {
        const auto draft = planner.draft(requestFor(joint, budget));
        if (!draft.ok()) {
            if (draft.error().text().empty()) {
                return QString("%1 gives no reason").arg(planner.name.data());
            }
            continue;
        }
        const Simulation run = simulate(joint, planOf(joint, draft->sequence));
        if (!run.ok()) {
            return QString("%1: %2").arg(planner.name.data(), QString::fromStdString(run.error->text));
        }
    }
    return {};
}

QString errorOf(const base::Result<PlanResult>& result)
{
    return result.ok() ? QString() : QString::fromStdString(result.error().text());
}

} // namespace

class OddGraphsTest : public QObject
{
    Q_OBJECT

private slots:
    void partsThatDoNotTouchEachOther()
    {
        RETRO_MADE(graph, graphOf({{"x", {}},
                                   {"a", {"x"}, 4, 2},
                                   {"b", {"a"}, 4, 2},
                                   {"y", {}},
                                   {"c", {"y"}, 8, 3},
                                   {"d", {"c"}, 2, 1},
                                   {"alone", {}, 3, 1}},
                                  {"x", "y"}, {"b", "d"}));
        const JointGraph joint = jointOfGraph(*graph);
        const std::uint64_t most = analysis::storeAllPeak(joint.graph);
        QCOMPARE(faultOf(joint.graph, most), QString());
        QCOMPARE(faultOf(joint.graph, most * 7 / 10), QString());
        const auto best = planWith("fast", requestFor(joint.graph, most));
        QVERIFY(best.ok() && best->plan);
        QCOMPARE(best->cost, best->baseCost);
    }

    void valuesAndOperatorsOfNothing()
    {
        const auto graph =
            graphOf({{"x", {}, 0}, {"a", {"x"}, 0, 0}, {"b", {"a", "a"}, 0, 0}, {"c", {"b", "a"}, 0, 0}}, {"x"}, {"c"});
        QVERIFY(graph.ok());
        const JointGraph joint = jointOfGraph(*graph);
        QCOMPARE(analysis::storeAllPeak(joint.graph), std::uint64_t{0});
        QCOMPARE(faultOf(joint.graph, 0), QString());
        const auto plan = planWith("fast", requestFor(joint.graph, 0));
        QVERIFY(plan.ok() && plan->plan);
        QCOMPARE(plan->status, PlanStatus::Optimal);
        QCOMPARE(plan->peak, std::uint64_t{0});
    }

    void aValueReadTwiceByOneOperatorIsOneOperand()
    {
        RETRO_MADE(graph, graphOf({{"x", {}}, {"a", {"x"}, 5}, {"b", {"a", "a", "a"}, 1}}, {"x"}, {"b"}));
        const JointGraph joint = jointOfGraph(*graph);
        QCOMPARE(joint.graph.reads(joint.graph.findOp("b")).size(), std::size_t{1});
        QCOMPARE(faultOf(joint.graph, analysis::storeAllPeak(joint.graph)), QString());
    }

    void sizesAtTheLimitDoNotOverflow()
    {
        const std::uint64_t half = analysis::kMaxTotalBytes / 8;
        RETRO_MADE(graph,
                   graphOf({{"x", {}, 1}, {"a", {"x"}, half, 1e15}, {"b", {"a"}, half, 1e15}, {"c", {"b"}, half, 1e15}},
                           {"x"}, {"c"}));
        const JointGraph joint = jointOfGraph(*graph);
        const std::uint64_t most = analysis::storeAllPeak(joint.graph);
        QVERIFY(most > half && most <= analysis::kMaxTotalBytes);
        QCOMPARE(faultOf(joint.graph, most), QString());
        // One more and the gradients no longer fit below the limit: a refusal, no number that wrapped.
        RETRO_MADE(large, graphOf({{"x", {}, 1}, {"a", {"x"}, half * 3}, {"b", {"a"}, half * 3}}, {"x"}, {"b"}));
        RETRO_REFUSED(analysis::jointGraph(*large, large->order()), "2^60");
    }

    void choicesThatContradictEachOther()
    {
        const JointGraph joint = jointOfGraph(unitChain(4));
        PlanRequest request = requestFor(joint.graph, 100);
        const OpValueId value = joint.graph.op(1).outputs.front();
        request.choices = {{value}, {value}};
        QVERIFY(errorOf(planWith("user", request)).contains("choose one"));
        const OpValueId gradient = joint.graph.op(static_cast<OpId>(joint.graph.size() - 1)).outputs.front();
        request.choices = {{}, {gradient}};
        QVERIFY(errorOf(planWith("user", request)).contains("it is a gradient"));
        OpValueId pinned = 0;
        while (joint.graph.value(pinned).producer != kNone) {
            ++pinned;
        }
        request.choices = {{}, {pinned}};
        QVERIFY(errorOf(planWith("user", request)).contains("pinned"));
    }

    void budgetsThatNobodyCanMeet()
    {
        const JointGraph joint = jointOfGraph(unitChain(6));
        for (const std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{1}}) {
            const auto result = planWith("fast", requestFor(joint.graph, budget));
            QVERIFY(result.ok() && !result->plan);
            QCOMPARE(result->status, PlanStatus::Infeasible);
            QVERIFY(result->floor > budget && !result->reason.empty());
        }
    }
};

QTEST_APPLESS_MAIN(OddGraphsTest)
#include "oddgraphstest.moc"
