// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/bounds.h"
#include "core/schedule/lifetimes.h"
#include "core/schedule/milp/checkmatemodel.h"
#include "core/schedule/planners/exactsearch.h"
#include "core/schedule/planners/shaver.h"
#include "core/schedule/portfolio.h"
#include "tests/core/analysis/opgraphs.h"
#include "tests/parts.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace retro::schedule;
using namespace retro::planningtest;
using retro::analysis::JointGraph;

namespace
{

/// A budget between the floor and what store-all needs, sometimes below.
std::uint64_t randomBudget(std::mt19937_64& random, const OpGraph& joint)
{
    const std::uint64_t floor = retro::analysis::memoryFloor(joint).bytes;
    const std::uint64_t all = peakOf(joint, storeAllSequence(joint));
    const std::uint64_t low = floor - std::min<std::uint64_t>(floor, random() % 8 == 0 ? 2 : 0);
    return low + random() % (all - low + 1);
}

std::string problemOf(const OpGraph& joint, const PlanResult& result)
{
    for (const Attempt& attempt : result.attempts) {
        if (attempt.refusal.find("step ") != std::string::npos ||
            attempt.refusal.find("never runs") != std::string::npos) {
            return attempt.planner + ": " + attempt.refusal; // the simulator had to stop it
        }
        if (attempt.fits && result.plan && attempt.cost < result.cost) {
            return attempt.planner + " is cheaper than the answer";
        }
    }
    if (result.plan) {
        const Simulation run = simulate(joint, *result.plan);
        return run.ok() && run.peak <= result.budget && run.cost >= result.lowerBound - 1e-9
                   ? ""
                   : "the answer does not hold";
    }
    return result.status == PlanStatus::Feasible || result.status == PlanStatus::Optimal || result.reason.empty()
               ? "no plan and no reason"
               : "";
}

/// Each fast planner alone, also those that a portfolio leaves out once an optimum is proven: a sequence that the
/// simulator passes, or a reason. What is wrong, with the planner's name; empty when all is well.
std::string problemOfEach(const PlanRequest& request)
{
    for (const Planner& planner : planners()) {
        if (!planner.isFast) {
            continue;
        }
        const auto draft = planner.draft(request);
        const std::string name(planner.name);
        if (!draft.ok()) {
            const bool isReason = draft.error().code == retro::base::ErrorCode::Engine && !draft.error().text().empty();
            if (!isReason) {
                return name + " gives no reason";
            }
            continue;
        }
        const Simulation run = simulate(*request.graph, planOf(*request.graph, draft->sequence));
        if (!run.ok()) {
            return name + ": " + run.error->text;
        }
    }
    return {};
}

} // namespace

/// prune() by its definition: a repeated computation goes when the rest of the sequence fits without it.
std::vector<OpId> prunedByDefinition(const OpGraph& graph, std::uint64_t budget, const std::vector<OpId>& sequence)
{
    std::vector<bool> hasRun(graph.size(), false);
    std::vector<std::size_t> repeats;
    for (std::size_t at = 0; at < sequence.size(); ++at) {
        if (hasRun[sequence[at]]) {
            repeats.push_back(at);
        }
        hasRun[sequence[at]] = true;
    }
    std::ranges::stable_sort(
        repeats, [&](std::size_t a, std::size_t b) { return graph.op(sequence[a]).cost > graph.op(sequence[b]).cost; });
    std::vector<bool> isDeleted(sequence.size(), false);
    const auto rest = [&] {
        std::vector<OpId> kept;
        for (std::size_t at = 0; at < sequence.size(); ++at) {
            if (!isDeleted[at]) {
                kept.push_back(sequence[at]);
            }
        }
        return kept;
    };
    for (const std::size_t at : repeats) {
        isDeleted[at] = true;
        isDeleted[at] = peakOf(graph, rest()) <= budget;
    }
    return rest();
}

class PlanManyTest : public QObject
{
    Q_OBJECT

private slots:
    /// The segment tree says what counting again says.
    void pruningIsByItsDefinition()
    {
        RETRO_OF_PART(0);
        std::mt19937_64 random(77);
        int deleted = 0;
        for (int i = 0; i < 300; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 6 + static_cast<std::size_t>(i % 25)));
            const std::uint64_t budget = randomBudget(random, joint.graph);
            std::vector<OpId> sequence = storeAllSequence(joint.graph);
            const std::uint64_t tight = budget - budget / 10;
            (void)shave(joint.graph, tight, sequence); // leaves room for what goes again
            prune(joint.graph, 0, sequence);           // what nobody reads is gone
            const std::vector<OpId> expected = prunedByDefinition(joint.graph, budget, sequence);
            std::vector<OpId> pruned = sequence;
            prune(joint.graph, budget, pruned);
            deleted += static_cast<int>(sequence.size() - pruned.size());
            QVERIFY(pruned.size() <= expected.size());
            std::vector<OpId> cleaned = expected;
            prune(joint.graph, 0, cleaned);
            QCOMPARE(pruned, cleaned);
        }
        QVERIFY(deleted > 20);
    }

    void fastPlannersOnRandomGraphs_data()
    {
        QTest::addColumn<int>("seed");
        for (const int seed : retro::tests::numbersOfThisPart(20)) {
            QTest::addRow("500 graphs of seed %d", seed) << seed;
        }
    }

    void fastPlannersOnRandomGraphs()
    {
        QFETCH(int, seed);
        std::mt19937_64 random(static_cast<std::uint64_t>(seed));
        int planned = 0;
        for (int i = 0; i < 500; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 6 + static_cast<std::size_t>(i % 13)));
            PlanRequest request;
            request.graph = &joint.graph;
            request.budget = randomBudget(random, joint.graph);
            request.seconds = 5;
            RETRO_MADE(result, planWith("fast", request));
            const std::string problem = problemOf(joint.graph, *result);
            QVERIFY2(problem.empty(), (std::to_string(i) + ": " + problem).c_str());
            const std::string ofEach = problemOfEach(request);
            QVERIFY2(ofEach.empty(), (std::to_string(i) + ": " + ofEach).c_str());
            planned += result->plan ? 1 : 0;
        }
        QVERIFY2(planned > 350, std::to_string(planned).c_str());
    }

    void claimsAgreeWithExactSearch()
    {
        RETRO_OF_PART(1);
        std::mt19937_64 random(77);
        int feasible = 0;
        double extra = 0; // work beyond computing everything once
        double boundExtra = 0;
        for (int i = 0; i < 300; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 3 + static_cast<std::size_t>(i % 6)));
            const std::uint64_t budget = randomBudget(random, joint.graph);
            const ExactPlan exact = exactPlan(joint.graph, budget);
            QVERIFY(exact.status != ExactStatus::TooLarge);
            const auto bound = retro::analysis::costBound(joint.graph, budget);
            if (exact.status == ExactStatus::Infeasible) {
                continue;
            }
            ++feasible;
            QVERIFY(bound && *bound <= exact.cost + 1e-9);
            extra += exact.cost - retro::analysis::costOfAll(joint.graph);
            boundExtra += *bound - retro::analysis::costOfAll(joint.graph);
            QVERIFY(budget >= retro::analysis::memoryFloor(joint.graph).bytes);
            QVERIFY(peakOf(joint.graph, exact.sequence) <= budget);
            for (const Planner& planner : planners()) {
                PlanRequest request;
                request.graph = &joint.graph;
                request.budget = budget;
                request.seconds = planner.name == "checkmate" ? 60 : 0.01;
                RETRO_MADE(result, planWith(planner.name, request));
                QVERIFY2(result->status != PlanStatus::Infeasible, planner.name.data());
                if (result->plan) {
                    QVERIFY2(result->cost >= exact.cost - 1e-9, planner.name.data());
                    QVERIFY2(result->status != PlanStatus::Optimal || std::abs(result->cost - exact.cost) < 1e-9,
                             planner.name.data());
                }
            }
        }
        QVERIFY(feasible > 150);
        QVERIFY2(extra > 100 && boundExtra >= 0.5 * extra, std::to_string(boundExtra / extra).c_str());
    }

    /// In the order of the graph: what the integer programme finds is what searching all plans of that order finds, and
    /// neither finds anything where the other does not.
    void theIntegerProgrammeAgreesWithBruteForce()
    {
        RETRO_OF_PART(2);
        if (milpBackend() == nullptr) {
            QSKIP("built without CBC");
        }
        std::mt19937_64 random(78);
        int found = 0;
        for (int i = 0; i < 300; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 3 + static_cast<std::size_t>(i % 6)));
            PlanRequest request;
            request.graph = &joint.graph;
            request.budget = randomBudget(random, joint.graph);
            request.seconds = 60;
            const ExactPlan exact = exactPlan(joint.graph, request.budget, FixedOrder::All);
            const auto draft = findPlanner("checkmate")->draft(request);
            QCOMPARE(draft.ok(), exact.status == ExactStatus::Found);
            if (draft.ok()) {
                ++found;
                QVERIFY(peakOf(joint.graph, draft->sequence) <= request.budget);
                QVERIFY2(std::abs(costOf(joint.graph, draft->sequence) - exact.cost) < 1e-6 * exact.cost + 1e-9,
                         qPrintable(QStringLiteral("graph %1: %2, brute force %3")
                                        .arg(i)
                                        .arg(costOf(joint.graph, draft->sequence))
                                        .arg(exact.cost)));
            }
        }
        QVERIFY(found > 150);
    }

    /// Sizes without a common measure are counted in parts of the budget, rounded down: a claim is still of the true
    /// sizes, and the plan fits them.
    void roundedSizesProveTheSame()
    {
        RETRO_OF_PART(3);
        if (milpBackend() == nullptr) {
            QSKIP("built without CBC");
        }
        std::mt19937_64 random(79);
        int proven = 0;
        for (int i = 0; i < 60; ++i) {
            const OpGraph even = randomGraph(random, 3 + static_cast<std::size_t>(i % 6));
            std::vector<retro::analysis::OpValue> values(even.values().begin(), even.values().end());
            for (retro::analysis::OpValue& value : values) {
                value.bytes = value.bytes * 100'000'007 + random() % 1000;
            }
            RETRO_MADE(odd, OpGraph::make({even.ops().begin(), even.ops().end()}, std::move(values)));
            const JointGraph joint = jointOfGraph(*odd);
            PlanRequest request;
            request.graph = &joint.graph;
            request.budget = randomBudget(random, joint.graph);
            request.seconds = 60;
            QVERIFY(!CheckmateModel(joint.graph, request.baseSequence(), request.budget).isExact());
            const ExactPlan exact = exactPlan(joint.graph, request.budget, FixedOrder::All);
            const auto draft = findPlanner("checkmate")->draft(request);
            QCOMPARE(draft.ok(), exact.status == ExactStatus::Found);
            if (draft.ok() && draft->isOptimalInOrder) {
                ++proven;
                QVERIFY(peakOf(joint.graph, draft->sequence) <= request.budget);
                QVERIFY(std::abs(costOf(joint.graph, draft->sequence) - exact.cost) < 1e-6 * exact.cost + 1e-9);
            }
        }
        QVERIFY2(proven > 25, std::to_string(proven).c_str());
    }

    void moreBudgetNeverCostsMore()
    {
        RETRO_OF_PART(0);
        std::mt19937_64 random(5);
        for (int i = 0; i < 40; ++i) {
            const JointGraph joint = jointOfGraph(randomGraph(random, 6));
            double before = std::numeric_limits<double>::infinity();
            const std::uint64_t all = peakOf(joint.graph, storeAllSequence(joint.graph));
            for (std::uint64_t budget = 1; budget <= all; ++budget) {
                const ExactPlan exact = exactPlan(joint.graph, budget);
                if (exact.status == ExactStatus::Found) {
                    QVERIFY(exact.cost <= before);
                    QVERIFY(exact.cost <= exactPlan(joint.graph, budget, FixedOrder::Gradients).cost ||
                            exactPlan(joint.graph, budget, FixedOrder::Gradients).status == ExactStatus::Infeasible);
                    before = exact.cost;
                }
            }
            QCOMPARE(before, retro::analysis::costOfAll(joint.graph));
        }
    }
};

QTEST_GUILESS_MAIN(PlanManyTest)
#include "planmanytest.moc"
