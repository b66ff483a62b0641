// SPDX-License-Identifier: Apache-2.0
// Real traversals, recorded: what the timeline rebuilds from the events is what the traversal did, forwards and
// backwards, in memory and through a file.
#include <QtTest>

#include "core/execute/forward.h"
#include "core/lrp/arithmetic/tensorarithmetic.h"
#include "core/trace/breakpoints.h"
#include "core/trace/describe.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/recorder.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "core/trace/why.h"
#include "tests/core/lrp/randomgraph.h"
#include "tests/core/lrp/tensorrun.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cmath>

using namespace retro;
using execute::SavePolicy;
using lrptest::TensorCase;

namespace
{

/// Records the relevance pass of a case, with its ledger.
std::shared_ptr<const trace::Run> record(const TensorCase& made, SavePolicy policy)
{
    const auto forward = execute::forward(made.model, made.inputs, policy);
    trace::Recorder recorder;
    lrp::TensorArithmetic arithmetic(forward->saved, made.rules, made.graph, recorder, true);
    std::vector<base::HandleId> starts;
    for (const tensor::Tensor& start : made.starts()) {
        starts.push_back(arithmetic.adopt(start));
    }
    lrp::Traversal traversal(made.graph, arithmetic, recorder, starts);
    while (!traversal.finished()) {
        if (const auto stepped = traversal.step(); !stepped) {
            qFatal("%s", stepped.error().text().c_str());
        }
    }
    auto run = std::make_shared<trace::Run>(std::move(recorder).take());
    run->graph = made.model->sharedGraph();
    return run;
}

/// What is left over when a run has ended; empty when nothing is.
std::string leftOver(const trace::RunState& end)
{
    std::string text;
    text += end.isFinished ? "" : "not finished ";
    text += end.normalStack.empty() && end.searchStack.empty() && end.queue.empty() ? "" : "somebody is waiting ";
    text += end.frontierLanded == 0 && end.frontierHeld == 0 && end.frontierBytes.sum() == 0 ? "" : "frontier ";
    const bool allComplete = std::all_of(end.promises.begin(), end.promises.end(),
                                         [](const trace::PromiseState& promise) { return promise.isComplete; });
    const bool anyMissing =
        std::any_of(end.nodes.begin(), end.nodes.end(), [](const trace::NodeState& node) { return node.missing > 0; });
    text += allComplete ? "" : "promises ";
    text += anyMissing ? "in-edges " : "";
    return text;
}

/// Node whose relevance at the end of the run is not the oracle's; empty when all are.
std::string differsFromOracle(const TensorCase& made, const trace::Run& run, const trace::RunState& end)
{
    const auto oracle = lrptest::runOracle(made);
    lrp::RelevanceTable recorded(made.graph.size());
    for (const base::NodeId node : made.graph.postOrder()) {
        recorded[node.index()].resize((*oracle)[node.index()].size());
        const auto& handles = end.nodes[node.index()].relevance;
        for (std::size_t k = 0; k < handles.size(); ++k) {
            recorded[node.index()][k] = handles[k].isValid() ? run.tensors[handles[k].index()] : tensor::Tensor();
        }
    }
    return lrptest::firstDifference(made, recorded, *oracle);
}

std::uint32_t visitOfLastRule(const trace::Run& run)
{
    std::uint32_t visit = 0;
    for (const trace::Event& event : run.events) {
        visit = event.kind == event::EventKind::Rule ? event.visit : visit;
    }
    return visit;
}

/// Visit by visit: members of the frontier against its counts, series against the state, words for every event.
std::string faultOnTheWay(trace::Timeline& timeline)
{
    const trace::Run& run = timeline.run();
    for (std::uint32_t visit = 0; visit < run.visitCount(); ++visit) {
        timeline.seek(run.endOfVisit(visit));
        const trace::RunState& state = timeline.state();
        const auto members = state.frontier();
        const auto held = static_cast<std::uint32_t>(
            std::count_if(members.begin(), members.end(), [](const auto& member) { return member.heldByPromise; }));
        if (held != state.frontierHeld || members.size() - held != state.frontierLanded) {
            return "the frontier does not add up after visit " + std::to_string(visit);
        }
        if (timeline.series().frontierBytes[visit] != state.frontierBytes.sum() ||
            timeline.series().node[visit] != state.current) {
            return "the series is wrong at visit " + std::to_string(visit);
        }
        if (members.empty() && visit < visitOfLastRule(run)) {
            return "nothing is held after visit " + std::to_string(visit) + ", and yet a rule is applied later";
        }
    }
    for (std::uint64_t step = 0; step < run.eventCount(); ++step) {
        const std::string words = trace::describe(run, step);
        if (words.empty() || words.find('?') != std::string::npos) {
            return "no words for event " + std::to_string(step);
        }
    }
    return {};
}

/// Asks of every node why it stands still; the run's own future must agree.
std::string faultInReasons(const trace::Timeline& timeline)
{
    for (std::size_t i = 0; i < timeline.state().nodes.size(); ++i) {
        const trace::Why why = trace::whyNotVisited(timeline, base::NodeId(i));
        const bool comes = why.nextVisit.has_value();
        if (why.lines.empty() || (comes && *why.nextVisit < timeline.run().visitOf(timeline.position()))) {
            return "wrong reason for node " + std::to_string(i);
        }
        if (why.inEdges > 0 && why.visits == 0 && !comes) {
            return "node " + std::to_string(i) + " is never visited";
        }
    }
    return {};
}

std::string fault(const TensorCase& made, const std::shared_ptr<const trace::Run>& run)
{
    auto opened = trace::Timeline::open(run);
    if (!opened) {
        return opened.error().text();
    }
    trace::Timeline timeline = *opened;
    if (const std::string onTheWay = faultOnTheWay(timeline); !onTheWay.empty()) {
        return onTheWay;
    }
    timeline.seek(run->eventCount());
    const trace::RunState end = timeline.state();
    const std::string rest = leftOver(end) + differsFromOracle(made, *run, end);
    if (!rest.empty()) {
        return rest;
    }
    while (timeline.back()) {
    }
    if (!(timeline.state() == trace::RunState(*run))) {
        return "going back does not lead to the start";
    }
    timeline.seek(run->eventCount());
    if (!(timeline.state() == end)) {
        return "going there again leads elsewhere";
    }
    timeline.seek(run->eventCount() / 2);
    return faultInReasons(timeline);
}

} // namespace

class RecordedRunTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

private slots:
    void randomTraversalsStepForthAndBack()
    {
        std::size_t promises = 0;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            const lrptest::SpecGraph spec = lrptest::randomGraph(seed, 4 + seed % 30);
            RETRO_MADE(made, lrptest::tensorCaseOf(spec, {}));
            for (const SavePolicy policy : {SavePolicy::Autograd, SavePolicy::All}) {
                const auto run = record(*made, policy);
                const std::string wrong = fault(*made, run);
                QVERIFY2(wrong.empty(), (std::to_string(seed) + ": " + wrong + "\n" + lrptest::toText(spec)).c_str());
                promises += trace::Timeline::open(run)->series().promisesOpened.size();
            }
        }
        QVERIFY(promises > 200);
    }

    void filesGiveTheSameRun()
    {
        const std::filesystem::path file = (m_folder.path() + "/run.retro").toStdString();
        for (std::uint64_t seed = 200; seed < 210; ++seed) {
            const auto made = lrptest::tensorCaseOf(lrptest::randomGraph(seed, 25), {});
            const auto run = record(*made, SavePolicy::Autograd);
            QVERIFY(trace::writeRun(file, *run).ok());
            RETRO_MADE(read, trace::readRun(file));
            QCOMPARE((*read)->visitStart, run->visitStart);
            const std::string wrong = fault(*made, *read);
            QVERIFY2(wrong.empty(), (std::to_string(seed) + ": " + wrong).c_str());
        }
    }

    void ledgersAddUp()
    {
        for (std::uint64_t seed = 300; seed < 340; ++seed) {
            const auto made = lrptest::tensorCaseOf(lrptest::randomGraph(seed, 20), {});
            const auto run = record(*made, SavePolicy::Autograd);
            const trace::LedgerSummary summary = trace::summarise(*run);
            double scale = 1;
            for (const trace::NodeBalance& node : summary.nodes) {
                scale += node.magnitude;
            }
            QVERIFY2(std::abs(summary.rest) <= 1e-9 * scale, std::to_string(seed).c_str());
            QCOMPARE(summary.running.size(), run->ledger.size());
            trace::Breakpoint violation;
            violation.kind = trace::BreakKind::LedgerViolation;
            const auto stop = trace::nextStop(*run, violation, 0);
            const bool any = std::any_of(run->ledger.begin(), run->ledger.end(), [&](const auto& entry) {
                return trace::isViolation(entry, violation.tolerance);
            });
            QCOMPARE(stop.has_value(), any);
        }
    }
};

QTEST_GUILESS_MAIN(RecordedRunTest)
#include "recordedruntest.moc"
