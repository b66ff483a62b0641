// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/simulator.h"
#include "core/schedule/planjson.h"
#include "tests/core/analysis/opgraphs.h"

#include <QtTest>

using namespace retro::schedule;
using namespace retro::planningtest;
using retro::analysis::JointGraph;

namespace
{

Step compute(const OpGraph& graph, const char* name) { return {StepKind::Compute, graph.findOp(name)}; }

Step on(StepKind kind, const OpGraph& graph, const char* name)
{
    return {kind, graph.op(graph.findOp(name)).outputs[0], 0};
}

/// n0 n1 n2 and their gradients on a chain of three, with a copy of n0 to a tier and back.
Plan offloading(const OpGraph& graph, double bytesPerSecond)
{
    Plan plan;
    plan.graphHash = graph.hash();
    plan.tiers = {{"host", bytesPerSecond}};
    plan.steps = {compute(graph, "n0"),
                  compute(graph, "n1"),
                  on(StepKind::Offload, graph, "n0"),
                  compute(graph, "n2"),
                  compute(graph, "d:n2"),
                  on(StepKind::Free, graph, "n2"),
                  compute(graph, "d:n1"),
                  on(StepKind::Free, graph, "n1"),
                  on(StepKind::Free, graph, "d:n2"),
                  on(StepKind::Prefetch, graph, "n0"),
                  compute(graph, "d:n0"),
                  on(StepKind::Free, graph, "n0"),
                  on(StepKind::Free, graph, "d:n1"),
                  compute(graph, "d:x")};
    return plan;
}

std::string errorOf(const retro::base::Result<Plan>& plan) { return plan.ok() ? std::string() : plan.error().text(); }

} // namespace

class SimulatorTest : public QObject
{
    Q_OBJECT

private slots:
    void memoryAndCostOfStoreAll()
    {
        const JointGraph joint = jointOfGraph(unitChain(4));
        const Simulation run = simulate(joint.graph, planOf(joint.graph, storeAllSequence(joint.graph)));
        QVERIFY(run.ok());
        QCOMPARE(run.peak, 5U);
        QCOMPARE(run.cost, 9.0);
        QCOMPARE(run.recomputations, std::size_t{0});
        QCOMPARE(run.frees, std::size_t{9});
        QVERIFY(run.leftAtEnd.empty());
        QCOMPARE(run.atPeak.size(), std::size_t{5});
        QCOMPARE(run.seconds, 9.0);
        QCOMPARE(run.stays.size(), std::size_t{9});
    }

    void copiesRunBesideComputationsAndStallWhenLate()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        // A copy of one byte takes a second, like every computation: it has left before n2 ends, and comes back late.
        const Simulation fast = simulate(joint.graph, offloading(joint.graph, 1));
        QVERIFY2(fast.ok(), fast.ok() ? "" : fast.error->text.c_str());
        QCOMPARE(fast.movedBytes, 2U);
        QCOMPARE(fast.stalls, 1.0); // d:n0 waits for the whole copy: nothing runs beside it
        QCOMPARE(fast.seconds, 8.0);
        QCOMPARE(fast.steps[10].stall, 1.0);
        const Simulation slow = simulate(joint.graph, offloading(joint.graph, 0.25));
        QVERIFY(slow.ok());
        // Out from 2 to 6; the prefetch is issued at 5, waits a second, and takes until 10.
        QCOMPARE(slow.stalls, 5.0);
        QCOMPARE(slow.seconds, 12.0);
    }

    void aBudgetMakesTheMachineWaitForCopies()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        const Simulation wide = simulate(joint.graph, offloading(joint.graph, 0.25));
        QCOMPARE(wide.peak, 4U); // n0 is still there when d:n2 runs
        const Simulation tight = simulate(joint.graph, offloading(joint.graph, 0.25), {3, 1, false});
        QVERIFY2(tight.ok(), tight.ok() ? "" : tight.error->text.c_str());
        QVERIFY(tight.peak <= 3);
        QVERIFY(tight.stalls > wide.stalls);
        QCOMPARE(simulate(joint.graph, offloading(joint.graph, 0.25), {2, 1, false}).error->kind,
                 PlanErrorKind::OverBudget);
    }

    void wrongMovesAreNamed()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        Plan plan = offloading(joint.graph, 1);
        plan.steps[9] = on(StepKind::Prefetch, joint.graph, "n2");
        Simulation run = simulate(joint.graph, plan);
        QCOMPARE(run.error->kind, PlanErrorKind::NotThere);
        QCOMPARE(*run.error->step, std::size_t{9});
        QVERIFY(run.error->text.find("n2") != std::string::npos);
        plan = offloading(joint.graph, 1);
        plan.steps[2].tier = 5;
        QCOMPARE(simulate(joint.graph, plan).error->kind, PlanErrorKind::UnknownId);
        plan.steps[2] = {StepKind::Free, 99, 0};
        QCOMPARE(simulate(joint.graph, plan).error->kind, PlanErrorKind::UnknownId);
        plan.steps[2] = {StepKind::Free, 0, 0}; // the input
        QCOMPARE(simulate(joint.graph, plan).error->kind, PlanErrorKind::PinnedMoved);
        plan.graphHash ^= 1;
        QCOMPARE(simulate(joint.graph, plan).error->kind, PlanErrorKind::WrongGraph);
    }

    void operatorsThatRunOnceDoNotRepeat()
    {
        const OpGraph chain = unitChain(3);
        std::vector<retro::analysis::Op> ops(chain.ops().begin(), chain.ops().end());
        ops[1].isStochastic = true;
        const auto graph = OpGraph::make(ops, {chain.values().begin(), chain.values().end()});
        const JointGraph joint = jointOfGraph(*graph);
        std::vector<OpId> sequence = storeAllSequence(joint.graph);
        sequence.insert(sequence.begin() + 5, joint.graph.findOp("n0"));
        const Plan plan = planOf(joint.graph, sequence);
        QCOMPARE(simulate(joint.graph, plan).error->kind, PlanErrorKind::NotRepeatable);
        QVERIFY(simulate(joint.graph, plan, {std::nullopt, 1, true}).ok());
    }

    void plansComeBackFromJson()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        Plan plan = offloading(joint.graph, 2.5);
        plan.budget = 4;
        plan.annotations.planner = "by \"hand\"";
        plan.annotations.blocks = {1, 3};
        plan.annotations.intervals = {{0, 3, 1, 2}, {0, 1, kNone, kNone}, {1, 3, kNone, kNone}};
        plan.annotations.checkpoints = {1};
        plan.annotations.reasons[2] = "small";
        const std::string text = toPlanJson(joint.graph, plan);
        const auto again = parsePlanJson(joint.graph, text, "plan.json");
        QVERIFY2(again.ok(), errorOf(again).c_str());
        QVERIFY(*again == plan);
        QCOMPARE(toPlanJson(joint.graph, *again), text);
    }

    void wrongPlansAreRefusedWithTheirLine()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        const std::string good = toPlanJson(joint.graph, planOf(joint.graph, storeAllSequence(joint.graph)));
        const auto refused = [&](const std::string& from, const std::string& to) {
            std::string text = good;
            text.replace(text.find(from), from.size(), to);
            return errorOf(parsePlanJson(joint.graph, text, "plan.json"));
        };
        QVERIFY(refused("retrograde-plan/1", "retrograde-plan/9").find("newer") != std::string::npos);
        QVERIFY(refused("retrograde-plan/1", "else").find("this is no plan") != std::string::npos);
        const std::string unknown = refused(R"(["c","n1"])", R"(["c","nowhere"])");
        RETRO_SAYS(unknown, "nowhere", "line 8");
        QVERIFY(refused(R"(["c","n1"])", R"(["x","n1"])").find("must be") != std::string::npos);
        QVERIFY(refused("\"budget\": null", "\"budget\": -4").find("whole number") != std::string::npos);
        const JointGraph other = jointOfGraph(unitChain(2));
        QVERIFY(errorOf(parsePlanJson(other.graph, good, "plan.json")).find("made for graph") != std::string::npos);
    }

    // What a plan says it was made for is a hint: its steps decide.
    void theModelOfAPlanIsReadWithoutItsGraph()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        Plan plan = planOf(joint.graph, storeAllSequence(joint.graph));
        QCOMPARE(*modelOfPlan(toPlanJson(joint.graph, plan), "p"), std::string());
        plan.subject = Subject{};
        plan.subject->model = "net.onnx";
        QCOMPARE(*modelOfPlan(toPlanJson(joint.graph, plan), "p"), std::string("net.onnx"));
        QVERIFY(!modelOfPlan("[]", "p").ok() && !modelOfPlan("{", "p").ok());
        QVERIFY(!modelOfPlan(R"({"subject": 1})", "p").ok() && !modelOfPlan(R"({"subject": {"model": 1}})", "p").ok());
        QVERIFY(!modelOfPlan(std::string(40, '[') + std::string(40, ']'), "p").ok()); // as deep as no plan is
    }

    void aPlanOfAnotherGraphIsJudgedByItsSteps()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        const JointGraph longer = jointOfGraph(unitChain(4));
        const std::string text = toPlanJson(joint.graph, planOf(joint.graph, storeAllSequence(joint.graph)));
        bool isOfAnother = true;
        QVERIFY(parsePlanJson(joint.graph, text, "p", &isOfAnother).ok() && !isOfAnother);
        std::string renamed = text;
        renamed.replace(renamed.find("graph_hash\": \"") + 14, 4, "0000");
        const auto same = parsePlanJson(joint.graph, renamed, "p", &isOfAnother);
        QVERIFY(same.ok() && isOfAnother);
        QVERIFY(simulate(joint.graph, *same).ok());
        const auto cut = parsePlanJson(longer.graph, text, "p", &isOfAnother);
        QVERIFY(isOfAnother);
        QVERIFY(!cut.ok() || !simulate(longer.graph, *cut).ok());
    }

    void brokenTextGivesAPlanOrAnError()
    {
        const JointGraph joint = jointOfGraph(unitChain(3));
        Plan plan = offloading(joint.graph, 1);
        plan.annotations.intervals = {{0, 3, 1, 2}, {0, 1, kNone, kNone}, {1, 3, kNone, kNone}};
        const std::string good = toPlanJson(joint.graph, plan);
        for (std::size_t length = 0; length < good.size(); ++length) {
            const bool isWhole = good.substr(length).find_first_not_of(" \n") == std::string::npos;
            QCOMPARE(parsePlanJson(joint.graph, good.substr(0, length), "p").ok(), isWhole);
        }
        std::mt19937 random(5);
        const std::string letters = "[]{}\",:0123456789cfopnull-";
        int refused = 0;
        for (int i = 0; i < 3000; ++i) {
            std::string text = good;
            for (unsigned k = 0; k <= random() % 3; ++k) {
                text[random() % text.size()] = letters[random() % letters.size()];
            }
            const auto parsed = parsePlanJson(joint.graph, text, "p");
            refused += parsed.ok() ? 0 : 1;
            if (parsed.ok()) {
                (void)simulate(joint.graph, *parsed); // whatever it says, it ends
            }
        }
        QVERIFY(refused > 500);
    }
};

QTEST_GUILESS_MAIN(SimulatorTest)
#include "simulatortest.moc"
