// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/bounds.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/milp/checkmatemodel.h"
#include "core/schedule/planners/exactsearch.h"
#include "core/schedule/planners/revolvetable.h"
#include "core/schedule/planners/shaver.h"
#include "core/schedule/portfolio.h"
#include "tests/core/analysis/opgraphs.h"

#include <QtTest>

#include <algorithm>
#include <set>

using namespace retro::schedule;
using namespace retro::planningtest;
using retro::analysis::JointGraph;
using retro::analysis::Op;

namespace
{

PlanRequest requestFor(const OpGraph& joint, std::uint64_t budget)
{
    PlanRequest request;
    request.graph = &joint;
    request.budget = budget;
    request.seconds = 0.3;
    return request;
}

/// A clock that goes on by so much at every look, and counts the looks.
struct CountingClock
{
    std::chrono::nanoseconds step{0};
    std::size_t looks = 0;

    [[nodiscard]] ReadTime reader()
    {
        return [this] {
            ++looks;
            return std::chrono::steady_clock::time_point() + step * static_cast<std::int64_t>(looks);
        };
    }
};

/// Counts what planners consider on their way.
class CandidateCounter final : public SearchListener
{
public:
    std::size_t considered = 0;

    void onPlanner(std::string_view) override {}
    void onSplit(const SplitNote&) override {}
    void onDrop(const DropNote&) override {}
    void onRebuild(const RebuildNote&) override {}
    void onCandidate(const CandidateNote& note) override { considered += note.planner.empty() ? 1 : 0; }
};

/// Sequences that a planner considers at a budget that is hard to reach, with a clock that goes on by `step` per look.
std::size_t consideredBy(std::string_view planner, const OpGraph& joint, std::uint64_t budget,
                         std::chrono::nanoseconds step)
{
    CountingClock clock{step};
    CandidateCounter counter;
    PlanRequest request = requestFor(joint, budget);
    request.readTime = clock.reader();
    request.listener = &counter;
    const auto draft = findPlanner(planner)->draft(request);
    return counter.considered;
}

} // namespace

class PlannerTest : public QObject
{
    Q_OBJECT

private slots:
    void namesAreUniqueAndFound()
    {
        std::set<std::string_view> names;
        for (const Planner& planner : planners()) {
            QVERIFY(names.insert(planner.name).second);
            QCOMPARE(findPlanner(planner.name)->name, planner.name);
            QVERIFY(!planner.title.empty() && !planner.description.empty());
        }
        QVERIFY(findPlanner("magic") == nullptr);
        const JointGraph joint = jointOfGraph(unitChain(3));
        QVERIFY(!planWith("magic", requestFor(joint.graph, 9)).ok());
    }

    void revolveIsOptimalOnUnitChains()
    {
        for (const std::size_t length : {std::size_t{5}, std::size_t{8}}) {
            const JointGraph joint = jointOfGraph(unitChain(length));
            for (std::uint64_t budget = 3; budget <= length + 1; ++budget) {
                const auto revolve = planWith("revolve", requestFor(joint.graph, budget));
                QVERIFY(revolve.ok() && revolve->plan);
                const ExactPlan exact = exactPlan(joint.graph, budget);
                QCOMPARE(exact.status, ExactStatus::Found);
                QCOMPARE(revolve->cost, exact.cost);
                const auto extra = static_cast<double>(
                    revolveClosedForm(static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(budget - 2)));
                QCOMPARE(exact.cost, static_cast<double>(2 * length + 1) + extra - static_cast<double>(length - 1));
            }
        }
    }

    /// Linear and integer programmes end when the caller says so, and prove nothing then.
    void programmesEndWhenTimeIsOver()
    {
        MilpBackend* const solver = milpBackend();
        if (solver == nullptr) {
            QSKIP("built without CBC");
        }
        const JointGraph joint = jointOfGraph(unitChain(30));
        const CheckmateModel model(joint.graph, requestFor(joint.graph, 12).baseSequence(), 12);
        for (const bool isRelaxed : {true, false}) {
            MilpOptions options;
            options.isRelaxed = isRelaxed;
            int asked = 0;
            options.isOver = [&asked] { return ++asked > 3; };
            const MilpAnswer ended = solver->solve(model.problem(), options);
            QCOMPARE(ended.status, MilpStatus::Unknown);
            QVERIFY(ended.values.empty());
            QVERIFY(asked > 3 && asked < 1000); // it did not go on
        }
        MilpOptions patient;
        patient.isRelaxed = true;
        QCOMPARE(solver->solve(model.problem(), patient).status, MilpStatus::Optimal);
    }

    void sqrtBlocksOfALongChain()
    {
        const JointGraph joint = jointOfGraph(unitChain(100));
        const auto result = planWith("chen_sqrt", requestFor(joint.graph, 25));
        QVERIFY(result.ok() && result->plan);
        QVERIFY(result->peak <= 22);
        QVERIFY(result->cost - result->baseCost < 100);
        QVERIFY(!result->plan->annotations.checkpoints.empty());
    }

    void everyPlannerOnALongChainFitsOrSaysWhy()
    {
        const JointGraph joint = jointOfGraph(unitChain(60));
        for (const Planner& planner : planners()) {
            const auto result = planWith(planner.name, requestFor(joint.graph, 20));
            QVERIFY2(result.ok(), planner.name.data());
            QCOMPARE(result->attempts.size(), std::size_t{1});
            const Attempt& attempt = result->attempts.front();
            QVERIFY2(attempt.fits || attempt.peak > 20 || !attempt.refusal.empty(), planner.name.data());
            static const std::set<std::string_view> kMustFit{
                "recompute_all", "chen_sqrt", "interval", "revolve", "rotor", "dtr", "dtr_online", "shave", "anneal"};
            QVERIFY2(attempt.fits || !kMustFit.contains(planner.name), planner.name.data());
        }
    }

    void statusesNeedProofs()
    {
        const JointGraph joint = jointOfGraph(unitChain(60));
        const auto below = planWith("fast", requestFor(joint.graph, 2));
        QCOMPARE(below->status, PlanStatus::Infeasible);
        QVERIFY(below->reason.find("needs 3 bytes") != std::string::npos);
        const auto all = planWith("fast", requestFor(joint.graph, 61));
        QCOMPARE(all->status, PlanStatus::Optimal);
        QCOMPARE(all->gap(), 0.0);
        // With ten states binomial checkpointing costs what the bound says: a proof for any plan.
        QCOMPARE(planWith("revolve", requestFor(joint.graph, 12))->status, PlanStatus::Optimal);
        const auto some = planWith("fast", requestFor(joint.graph, 6));
        QCOMPARE(some->status, PlanStatus::Feasible);
        QVERIFY(some->lowerBound <= some->cost && some->lowerBound > some->baseCost);
        const auto single = planWith("store_all", requestFor(joint.graph, 6));
        QCOMPARE(single->status, PlanStatus::InfeasibleInThisOrder);
        QVERIFY(!single->plan);
    }

    void choicesOfAUserAreKeptOrRefused()
    {
        const JointGraph joint = jointOfGraph(unitChain(6));
        PlanRequest request = requestFor(joint.graph, 100);
        const auto valueOf = [&](const char* name) { return joint.graph.op(joint.graph.findOp(name)).outputs[0]; };
        request.choices.recompute = {valueOf("n2"), valueOf("n3")};
        const auto result = planWith("user", request);
        QVERIFY(result.ok() && result->plan);
        const auto sequence = sequenceOf(*result->plan);
        QCOMPARE(std::count(sequence.begin(), sequence.end(), joint.graph.findOp("n2")), 2);
        QCOMPARE(std::count(sequence.begin(), sequence.end(), joint.graph.findOp("n1")), 1);
        request.choices.keep = {valueOf("n2")};
        RETRO_REFUSED(planWith("user", request), "n2: is to be kept and to be recomputed");
        request.choices = {{}, {joint.graph.reads(0)[0]}};
        QVERIFY(!planWith("user", request).ok());
        request.choices = {{}, {valueOf("d:n2")}};
        QVERIFY(planWith("user", request).error().text().find("gradient") != std::string::npos);
    }

    void onceOperatorsStayOnce()
    {
        const OpGraph chain = unitChain(12);
        std::vector<Op> ops(chain.ops().begin(), chain.ops().end());
        for (std::size_t i = 1; i < ops.size(); i += 4) {
            ops[i].isStochastic = true;
        }
        const auto graph = OpGraph::make(ops, {chain.values().begin(), chain.values().end()});
        const JointGraph joint = jointOfGraph(*graph);
        for (const Planner& planner : planners()) {
            RETRO_MADE(result, planWith(planner.name, requestFor(joint.graph, 8)));
            const std::string refusal = result->attempts.front().refusal;
            QVERIFY2(refusal.find("step") == std::string::npos, (std::string(planner.name) + ": " + refusal).c_str());
        }
        QVERIFY(planWith("fast", requestFor(joint.graph, 8))->plan.has_value());
    }

    void severalResultsPerOperatorWork()
    {
        // split makes two values; one is read at once, one late.
        std::vector<Op> ops(5);
        std::vector<retro::analysis::OpValue> values(6);
        const char* names[] = {"x", "a", "b", "c", "d", "e"};
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i].name = names[i];
            values[i].bytes = 4;
        }
        const auto set = [&](std::size_t at, const char* name, std::vector<OpValueId> in, std::vector<OpValueId> out) {
            ops[at].name = name;
            ops[at].inputs = in;
            ops[at].savedInputs = in;
            ops[at].outputs = std::move(out);
            ops[at].cost = 1;
        };
        set(0, "in", {}, {0});
        ops[0].phase = retro::analysis::Phase::Source;
        set(1, "split", {0}, {1, 2});
        set(2, "f", {1}, {3});
        set(3, "g", {3}, {4});
        set(4, "h", {4, 2}, {5});
        values[5].isOutput = true;
        RETRO_MADE(graph, OpGraph::make(ops, values));
        const JointGraph joint = jointOfGraph(*graph);
        const std::uint64_t all = peakOf(joint.graph, storeAllSequence(joint.graph));
        for (std::uint64_t budget = retro::analysis::memoryFloor(joint.graph).bytes; budget <= all; budget += 4) {
            RETRO_MADE(result, planWith("fast", requestFor(joint.graph, budget)));
            for (const Attempt& attempt : result->attempts) {
                QVERIFY2(attempt.refusal.find("step") == std::string::npos, attempt.refusal.c_str());
            }
        }
        QCOMPARE(planWith("fast", requestFor(joint.graph, all))->status, PlanStatus::Optimal);
    }

    /// What waits goes to the tier: for nothing where copies hide behind computations, else for what waits for them.
    void waitingValuesMoveToATier()
    {
        const JointGraph joint = jointOfGraph(unitChain(60));
        PlanRequest request = requestFor(joint.graph, 12);
        QVERIFY(planWith("offload", request)->attempts.front().refusal.find("tier") != std::string::npos);
        const double base = retro::analysis::costOfAll(joint.graph);
        double before = base;
        for (const double rate : {1e6, 3.0, 1.0, 0.25}) { // bytes per second; a computation takes one second
            request.tier = Tier{"disk", rate};
            const auto moved = planWith("offload", request);
            QVERIFY2(moved.ok() && moved->plan, moved.ok() ? moved->reason.c_str() : "");
            const Simulation run = simulate(joint.graph, *moved->plan);
            QVERIFY(run.ok() && run.peak <= 12);
            QVERIFY(run.movedBytes > 0 && run.movedBytes == moved->movedBytes);
            QCOMPARE(moved->cost, std::max(run.cost, run.seconds));
            QVERIFY(moved->cost >= before - 1e-3); // a slower tier takes no less
            before = moved->cost;
            QVERIFY(rate < 1e6 || moved->cost < base * 1.001);
            QVERIFY(moved->status != PlanStatus::Optimal || moved->cost <= base + 1e-9);
        }
        // Time is counted in seconds: where a computation takes a thousandth of one, the same copies take longer.
        request.tier = Tier{"disk", 3.0};
        const double slow = planWith("offload", request)->cost;
        request.secondsPerCost = 1e-3;
        QVERIFY(planWith("offload", request)->cost > slow);
    }

    /// With a tier there are more plans, and the portfolio takes the one that ends first.
    void aTierNeverCostsMore()
    {
        std::mt19937_64 random(8);
        int moved = 0;
        int onlyMoved = 0;
        for (int i = 0; i < 300; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 6 + static_cast<std::size_t>(i % 20)));
            const std::uint64_t all = retro::analysis::largestOperator(joint.graph, false).bytes;
            const std::uint64_t most =
                std::max(all, simulate(joint.graph, planOf(joint.graph, storeAllSequence(joint.graph))).peak);
            PlanRequest request = requestFor(joint.graph, all + (most - all) * static_cast<std::uint64_t>(i % 5) / 5);
            const auto without = planWith("fast", request);
            request.tier = Tier{"disk", i % 2 == 0 ? 1e3 : 0.5};
            const auto with = planWith("fast", request);
            QVERIFY(without.ok() && with.ok());
            QVERIFY(!without->plan || (with->plan && with->cost <= without->cost + 1e-9));
            QVERIFY(with->status != PlanStatus::Infeasible); // one operator at a time always fits
            for (const Attempt& attempt : with->attempts) {
                QVERIFY2(attempt.refusal.find("step ") == std::string::npos, attempt.refusal.c_str());
            }
            if (with->plan) {
                const Simulation run = simulate(joint.graph, *with->plan);
                QVERIFY(run.ok() && run.peak <= request.budget);
                moved += run.movedBytes > 0 ? 1 : 0;
                onlyMoved += without->plan ? 0 : 1;
            }
        }
        QVERIFY2(moved > 30, std::to_string(moved).c_str());
        QVERIFY2(onlyMoved > 3, std::to_string(onlyMoved).c_str());
    }

    /// Counted, not timed: once its time is over, a planner considers no second sequence.
    void plannersEndWhenTheirTimeIsOver()
    {
        std::mt19937_64 random(31);
        const JointGraph joint = jointOfGraph(randomGraph(random, 90));
        const std::uint64_t least = retro::analysis::memoryFloor(joint.graph).bytes;
        const std::uint64_t most = peakOf(joint.graph, storeAllSequence(joint.graph));
        for (const char* planner :
             {"interval", "revolve", "rotor", "min_cut", "knapsack", "torch_memory_budget", "shave"}) {
            std::size_t considered = 0;
            for (const std::uint64_t share : {0U, 10U, 20U, 30U, 40U}) {
                const std::uint64_t budget = least + (most - least) * share / 100;
                considered =
                    std::max(considered, consideredBy(planner, joint.graph, budget, std::chrono::nanoseconds(0)));
                QVERIFY2(consideredBy(planner, joint.graph, budget, std::chrono::hours(1)) <= 1, planner);
            }
            QVERIFY2(considered > 1, planner); // where there is time
        }
        PlanRequest request = requestFor(joint.graph, least);
        CountingClock clock{std::chrono::hours(1)};
        request.readTime = clock.reader();
        RETRO_REFUSED(findPlanner("dtr")->draft(request), "time");
    }

    /// The whole portfolio, too: few looks at the clock are left once its time is over.
    void thePortfolioEndsWhenItsTimeIsOver()
    {
        std::mt19937_64 random(32);
        const JointGraph joint = jointOfGraph(randomGraph(random, 150));
        const std::uint64_t all = peakOf(joint.graph, storeAllSequence(joint.graph));
        const std::uint64_t least = retro::analysis::memoryFloor(joint.graph).bytes;
        for (const std::size_t looks : {std::size_t{3000}, std::size_t{20000}}) {
            PlanRequest request = requestFor(joint.graph, least + (all - least) * 6 / 10);
            CountingClock clock{std::chrono::milliseconds(1)};
            request.readTime = clock.reader();
            request.seconds = static_cast<double>(looks) / 1000;
            const auto result = planWith("best", request);
            QVERIFY(result.ok() && result->plan);
            QVERIFY(result->status == PlanStatus::Feasible); // a proof would have ended it before
            QVERIFY2(clock.looks <= looks + 100, std::to_string(clock.looks).c_str());
        }
    }

    /// The integer programme asks whether its time is over in every linear programme that it solves.
    void theIntegerProgrammeEndsWhenItsTimeIsOver()
    {
        if (milpBackend() == nullptr) {
            QSKIP("built without CBC");
        }
        std::mt19937_64 random(33);
        const JointGraph joint = jointOfGraph(randomGraph(random, 50));
        const std::uint64_t all = peakOf(joint.graph, storeAllSequence(joint.graph));
        const std::uint64_t least = retro::analysis::memoryFloor(joint.graph).bytes;
        const CheckmateModel model(joint.graph, storeAllSequence(joint.graph), least + (all - least) / 3);
        std::size_t asked = 0;
        constexpr std::size_t kEnd = 500;
        MilpOptions options;
        options.isOver = [&asked] { return ++asked > kEnd; };
        const MilpAnswer answer = milpBackend()->solve(model.problem(), options);
        QVERIFY(asked > kEnd);
        QVERIFY2(asked < kEnd + 2000, std::to_string(asked).c_str());
        QVERIFY(answer.status == MilpStatus::Unknown || answer.status == MilpStatus::Feasible);
    }

    /// Annealing does so much work in its time, whatever the machine: the same request, the same plan.
    void annealingIsTheSameEveryTime()
    {
        std::mt19937_64 random(34);
        const JointGraph joint = jointOfGraph(randomGraph(random, 80));
        QVERIFY(joint.graph.size() > kMostCheckmateOps); // that would take as long as it likes
        const std::uint64_t all = peakOf(joint.graph, storeAllSequence(joint.graph));
        const std::uint64_t least = retro::analysis::memoryFloor(joint.graph).bytes;
        PlanRequest request = requestFor(joint.graph, (all + least) / 2);
        CountingClock still; // never over
        request.readTime = still.reader();
        request.seconds = 0.04;
        const auto one = findPlanner("anneal")->draft(request);
        const auto two = findPlanner("anneal")->draft(request);
        QVERIFY(one.ok() && two.ok());
        QCOMPARE(one->sequence, two->sequence);
        // And best, which has more time for it, is never dearer.
        request.seconds = 0.1;
        const auto best = planWith("best", request);
        QVERIFY(best.ok() && best->plan);
        QVERIFY(best->cost <= costOf(joint.graph, one->sequence) + 1e-9);
    }

    /// What nobody reads is not computed: neither by a planner that offers several, nor in what the portfolio takes.
    void nothingIsComputedThatNobodyReads()
    {
        std::mt19937_64 random(35);
        for (int i = 0; i < 40; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 12 + static_cast<std::size_t>(i)));
            const std::uint64_t all = peakOf(joint.graph, storeAllSequence(joint.graph));
            const std::uint64_t least = retro::analysis::memoryFloor(joint.graph).bytes;
            for (const Planner& planner : planners()) {
                if (!planner.isFast) {
                    continue;
                }
                const auto result = planWith(planner.name, requestFor(joint.graph, (2 * all + least) / 3));
                if (!result.ok() || !result->plan) {
                    continue;
                }
                std::vector<OpId> sequence = sequenceOf(*result->plan);
                const std::size_t before = sequence.size();
                dropUseless(joint.graph, sequence);
                QVERIFY2(sequence.size() == before, planner.name.data());
            }
        }
    }

    void stoppedPlanningSaysSo()
    {
        const JointGraph joint = jointOfGraph(unitChain(60));
        std::stop_source stop;
        stop.request_stop();
        PlanRequest request = requestFor(joint.graph, 12);
        request.stop = stop.get_token();
        RETRO_REFUSED(planWith("best", request), retro::base::ErrorCode::Cancelled);
    }
};

QTEST_GUILESS_MAIN(PlannerTest)
#include "plannertest.moc"
