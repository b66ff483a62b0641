// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/planner.md: compiled, run, and compared with the page letter by letter.
#include "core/schedule/lifetimes.h"
#include "core/schedule/planner.h"
#include "core/schedule/replay.h"
#include "core/schedule/simulator.h"
#include "tests/core/analysis/opgraphs.h"
#include "tests/docs/snippet.h"

#include <QtTest>

#include <set>

using namespace retro;

namespace
{

// [example]
using namespace retro::schedule;

/// Keeps the results of every k-th forward operator and computes the others again for their gradients; k is the
/// smallest with which the pass fits into the budget.
base::Result<Draft> keepEveryKth(const PlanRequest& request)
{
    const OpGraph& graph = *request.graph;
    const std::vector<OpId> base = request.baseSequence();
    const std::vector<OpId> forward = halvesOf(graph, base).forward;
    const Deadline deadline(request);
    Draft best;
    best.sequence = base; // complete and valid: everything stays
    std::uint64_t peak = peakOf(graph, base);
    for (std::size_t k = 2; k <= forward.size() && peak > request.budget && !deadline.isOver(); ++k) {
        Draft draft;
        std::vector<bool> isKept(graph.values().size(), false);
        for (std::size_t i = 0; i < forward.size(); i += k) {
            for (const OpValueId value : graph.op(forward[i]).outputs) {
                isKept[value] = true;
                draft.annotations.checkpoints.push_back(value);
            }
        }
        draft.sequence = expandKept(graph, base, isKept, Rebuilt::UntilLastGradient);
        const std::uint64_t needs = draft.sequence.empty() ? peak : peakOf(graph, draft.sequence);
        if (needs < peak) { // the best so far, even where nothing fits
            peak = needs;
            best = std::move(draft);
        }
    }
    return best;
}

/// Its line in the list of planners.
const Planner kEveryKth{"every_kth", "every k-th result", "every k-th result stays; k is the smallest that fits",
                        &keepEveryKth};
// [end]

PlanRequest requestOf(const OpGraph& joint, std::uint64_t budget)
{
    PlanRequest request;
    request.graph = &joint;
    request.budget = budget;
    return request;
}

} // namespace

class ExtendingPlanner : public QObject
{
    Q_OBJECT

    const analysis::JointGraph m_joint = planningtest::jointOfGraph(planningtest::unitChain(64));

private slots:
    void thePageShowsThisCode()
    {
        const QString code =
            tests::between(tests::sourceText("tests/docs/extendingplanner.cpp"), "// [example]", "// [end]");
        const QString page = tests::between(tests::sourceText("docs/extending/planner.md"), "```cpp", "```");
        QVERIFY(!code.isEmpty());
        QCOMPARE(page, code);
    }

    void whatFitsStaysAsItIs()
    {
        const std::vector<OpId> all = storeAllSequence(m_joint.graph);
        const auto draft = kEveryKth.draft(requestOf(m_joint.graph, peakOf(m_joint.graph, all)));
        QVERIFY(draft.ok());
        QCOMPARE(draft->sequence, all);
    }

    void theSimulatorPassesItsPlans()
    {
        const std::uint64_t whole = peakOf(m_joint.graph, storeAllSequence(m_joint.graph));
        std::set<std::uint64_t> peaks;
        for (std::uint64_t budget = whole; budget > 0; --budget) {
            const auto draft = kEveryKth.draft(requestOf(m_joint.graph, budget));
            QVERIFY(draft.ok());
            const Simulation run = simulate(m_joint.graph, planOf(m_joint.graph, draft->sequence));
            QVERIFY(run.ok());
            QCOMPARE(run.peak, peakOf(m_joint.graph, draft->sequence));
            peaks.insert(run.peak);
        }
        QVERIFY(*peaks.begin() < whole / 2 && peaks.size() > 2); // it has saved memory, in steps
    }

    void aStopIsHeard()
    {
        std::stop_source stop;
        stop.request_stop();
        PlanRequest request = requestOf(m_joint.graph, 1);
        request.stop = stop.get_token();
        QCOMPARE(kEveryKth.draft(request)->sequence, storeAllSequence(m_joint.graph));
    }
};

QTEST_GUILESS_MAIN(ExtendingPlanner)
#include "extendingplanner.moc"
