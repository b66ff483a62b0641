// SPDX-License-Identifier: Apache-2.0
// A plan's search and the plan itself on the one time axis: events that go both ways, and say what the pass did.
#include <QtTest>

#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/plannedgradient.h"
#include "core/engine/plan/plannedrun.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/planning.h"
#include "core/engine/ways/plannedrelevance.h"
#include "core/event/planevent.h"
#include "core/schedule/budget.h"
#include "core/trace/breakpoints.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "tests/core/engine/samplequestion.h"

#include <QTemporaryDir>

#include <map>

using namespace retro;
using event::EventKind;

namespace
{

constexpr const char* kSample = "silent-groups/silent-groups";

using Question = tests::SampleQuestion<engine::ExplainRequest>;

Question questionOf()
{
    Question question = tests::questionOf<engine::ExplainRequest>(kSample);
    question.request.composite = "gradient";
    question.request.start.kind = engine::StartKind::One;
    return question;
}

std::map<EventKind, std::size_t> countsOf(const trace::Run& run)
{
    std::map<EventKind, std::size_t> counts;
    for (const event::Event& one : run.events) {
        ++counts[one.kind];
    }
    return counts;
}

/// Walks to the end and back; the first position at which the states differ, or none.
std::optional<std::uint64_t> firstDifference(const trace::Run& run)
{
    std::vector<trace::RunState> states;
    trace::RunState state(run);
    for (std::uint64_t step = 0; step < run.events.size(); ++step) {
        states.push_back(state);
        state.apply(run.events[step], run, step);
    }
    for (std::uint64_t step = run.events.size(); step-- > 0;) {
        state.revert(run.events[step], run, step);
        if (!(state == states[step])) {
            return step;
        }
    }
    return std::nullopt;
}

/// Written and read again it can be opened and has the same events.
bool isKeptByItsFile(const trace::Run& run)
{
    const QTemporaryDir folder;
    const std::string file = folder.filePath("plan.retro").toStdString();
    const auto written = trace::writeRun(file, run);
    const auto read =
        written.ok() ? trace::readRun(file) : base::Result<std::shared_ptr<const trace::Run>>(written.error());
    if (!read.ok() || !trace::Timeline::open(*read).ok()) {
        qWarning("%s", read.ok() ? "its events contradict each other" : read.error().text().c_str());
        return false;
    }
    return (*read)->events.size() == run.events.size() && (*read)->facts.planTries == run.facts.planTries;
}

engine::PlanOptions wishOf(const char* strategy, const char* budget)
{
    engine::PlanOptions wish;
    wish.strategy = strategy;
    wish.budget = budget;
    wish.isRecorded = true;
    return wish;
}

} // namespace

class RecordedPlanTest : public QObject
{
    Q_OBJECT

private slots:
    void theRunHasTheBytesOfTheStore()
    {
        const Question question = questionOf();
        RETRO_MADE(made, engine::recordedPlannedGradient(*question.model, question.request, wishOf("shave", "80%")));
        const trace::Run& run = *made->recorded;
        RETRO_MADE(timeline, trace::Timeline::open(made->recorded));
        // A visit is a computation or a move with what is freed behind it.
        std::vector<std::uint64_t> after;
        for (const runtime::StepRecord& step : made->run.steps) {
            if (step.step.kind == schedule::StepKind::Free) {
                after.back() = step.measured.after;
            } else {
                after.push_back(step.measured.after);
            }
        }
        const auto& bytes = timeline->series().frontierBytes;
        QVERIFY(bytes.size() > after.size()); // the search comes first
        const std::size_t search = bytes.size() - after.size();
        for (std::size_t i = 0; i < after.size(); ++i) {
            QCOMPARE(static_cast<std::uint64_t>(bytes[search + i]), after[i]);
        }
        QCOMPARE(made->chosen.record.visits, static_cast<std::uint32_t>(search));
        auto counts = countsOf(run);
        QCOMPARE(counts[EventKind::Recompute], made->run.predicted.recomputations);
        QVERIFY(counts[EventKind::Recompute] > 0);
        QCOMPARE(counts[EventKind::Candidate], run.facts.planTries.size());
        QVERIFY(counts[EventKind::Drop] > 0 && counts[EventKind::Rebuild] > 0 && counts[EventKind::Free] > 0);
    }

    void statesAreTheSameBothWays_data()
    {
        QTest::addColumn<QString>("strategy");
        for (const char* strategy : {"shave", "dtr", "interval", "rotor", "fast"}) {
            QTest::newRow(strategy) << QString(strategy);
        }
    }
    void statesAreTheSameBothWays()
    {
        QFETCH(QString, strategy);
        const Question question = questionOf();
        const auto made =
            engine::recordedPlannedGradient(*question.model, question.request, wishOf(qPrintable(strategy), "80%"));
        RETRO_OK(made);
        QVERIFY(trace::Timeline::open(made->recorded).ok());
        QVERIFY(!firstDifference(*made->recorded));
        QVERIFY(isKeptByItsFile(*made->recorded));
        if (strategy != "dtr" && strategy != "shave") {
            QVERIFY(strategy == "fast" || countsOf(*made->recorded)[EventKind::Split] > 0);
        }
    }

    void gradientsAreKnownWhenTheyAreMade()
    {
        const Question question = questionOf();
        RETRO_MADE(made, engine::recordedPlannedGradient(*question.model, question.request, wishOf("shave", "80%")));
        const trace::Run& run = *made->recorded;
        const base::ValueId input = run.graph->inputs().front();
        const base::NodeId leaf = run.graph->nodeOf(input);
        const auto known = std::ranges::find_if(run.events, [&](const event::Event& one) {
            return one.kind == EventKind::Relevance && one.node == leaf.value;
        });
        QVERIFY(known != run.events.end());
        QVERIFY(run.tensors[known->handle].bitEqual(made->gradient.gradients.front()));
        QVERIFY(run.rules.size() == run.graph->nodeCount() && run.facts.targetIndex == made->gradient.target.index);
    }

    void aBreakpointStopsBothWays()
    {
        const Question question = questionOf();
        const auto made =
            engine::recordedPlannedGradient(*question.model, question.request, wishOf("recompute_all", ""));
        RETRO_OK(made);
        const trace::Run& run = *made->recorded;
        const auto again =
            std::ranges::find_if(run.events, [](const event::Event& one) { return one.kind == EventKind::Recompute; });
        QVERIFY(again != run.events.end());
        trace::Breakpoint breakpoint;
        breakpoint.node = base::NodeId(again->node);
        const std::vector<std::uint64_t> stops = trace::allStops(run, breakpoint);
        QVERIFY(stops.size() >= 3); // forward, again, gradient
        QCOMPARE(trace::nextStop(run, breakpoint, stops[0]), std::optional(stops[1]));
        QCOMPARE(trace::previousStop(run, breakpoint, stops[1]), std::optional(stops[0]));
    }

    /// What a plan does again, drops and frees can be stopped at, each event of its kind and no other.
    void breakpointsStopAtEventsOfPlans()
    {
        const Question question = questionOf();
        RETRO_MADE(made, engine::recordedPlannedGradient(*question.model, question.request, wishOf("fast", "80%")));
        const trace::Run& run = *made->recorded;
        auto counts = countsOf(run);
        for (const auto& [condition, kind] : {std::pair("recompute", EventKind::Recompute),
                                              std::pair("drop", EventKind::Drop), std::pair("free", EventKind::Free)}) {
            const auto breakpoint = trace::parseBreakpoint(run, condition);
            QVERIFY2(breakpoint.ok(), condition);
            const std::vector<std::uint64_t> stops = trace::allStops(run, *breakpoint);
            QVERIFY2(!stops.empty(), condition);
            QCOMPARE(stops.size(), static_cast<std::size_t>(counts[kind]));
            for (const std::uint64_t stop : stops) {
                QVERIFY(run.events[stop - 1].kind == kind);
            }
            trace::Breakpoint there = *breakpoint;
            there.node = base::NodeId(run.events[stops.front() - 1].node);
            const std::vector<std::uint64_t> some = trace::allStops(run, there);
            QVERIFY(!some.empty() && some.size() < stops.size());
            QCOMPARE(some.front(), stops.front());
        }
    }

    void theOracleByAPlanBooksItsRules()
    {
        Question question = questionOf();
        question.request.composite = "auto";
        question.request.engine = engine::EngineKind::Oracle;
        RETRO_MADE(made, engine::plannedRelevance(*question.model, question.request, wishOf("fast", "90%")));
        QVERIFY(made->run);
        QVERIFY(trace::Timeline::open(made->run).ok());
        QVERIFY(!firstDifference(*made->run));
        auto counts = countsOf(*made->run);
        QCOMPARE(counts[EventKind::Rule], made->ledger.size());
    }

    void aTraversalSaysWhatThePlanDropped()
    {
        Question question = questionOf();
        question.request.composite = "auto";
        question.request.save = execute::SavePolicy::Plan;
        question.request.record = true;
        question.request.keptByPlan = engine::keptBy(wishOf("chen_sqrt", ""));
        RETRO_MADE(made, engine::explain(*question.model, question.request));
        RETRO_MADE(timeline, trace::Timeline::open(made->run));
        QVERIFY(!firstDifference(*made->run));
        auto counts = countsOf(*made->run);
        std::size_t promised = 0;
        for (const auto& [value, times] : made->planSaving->promised) {
            promised += times;
        }
        std::size_t recomputed = 0;
        for (const auto& [node, times] : made->planSaving->recomputed) {
            recomputed += times;
        }
        QVERIFY(isKeptByItsFile(*made->run));
        QCOMPARE(counts[EventKind::Fetch], promised);
        QCOMPARE(counts[EventKind::Recompute], recomputed);
        QVERIFY(promised + recomputed > 0);
        QCOMPARE(counts[EventKind::Candidate], made->run->facts.planTries.size());
        // Budget, plan and traversal are counted alike; what promises hold beyond the budget is said.
        const engine::CarriedPlan& plan = *made->planSaving->plan;
        QVERIFY(made->planSaving->peak >= plan.predicted.peak);
        RETRO_MADE(planned, engine::passPlanningOf(*question.model, question.request, analysis::JointKind::Relevance));
        RETRO_MADE(chosen, engine::choosePlan(*planned->program, wishOf("fast", "60%")));
        engine::PlanOptions there;
        there.plan = chosen->plan;
        question.request.keptByPlan = engine::keptBy(there);
        RETRO_MADE(tight, engine::explain(*question.model, question.request));
        const std::uint64_t budget = *tight->planSaving->plan->chosen.plan.budget;
        const bool isSaid = std::ranges::any_of(
            tight->warnings, [](const std::string& warning) { return warning.starts_with("the traversal had "); });
        QCOMPARE(isSaid, tight->planSaving->peak > budget);
    }

    void aSearchAloneIsARun()
    {
        const Question question = questionOf();
        RETRO_MADE(planning, engine::jointPlanningOf(question.model));
        const analysis::OpGraph& joint = planning->joint.graph;
        const engine::PlanPlaces places(*question.model->graph(), joint);
        engine::SearchRecorder recorder(places, places.nodeOf(0));
        schedule::PlanRequest request;
        request.graph = &joint;
        request.budget = schedule::parseBudget("80%", joint).value();
        request.listener = &recorder;
        const auto result = schedule::planWith("fast", request);
        QVERIFY(result.ok() && result->plan);
        const auto run = engine::plannedRun(*question.model, joint, places, std::move(recorder).take(), *result);
        QVERIFY(trace::Timeline::open(run).ok());
        QVERIFY(!firstDifference(*run));
        QVERIFY(isKeptByItsFile(*run));
        // The last best try is the plan.
        double cost = -1;
        for (const event::Event& one : run->events) {
            const bool isBest = one.kind == EventKind::Candidate && (one.flag & event::kTryIsBest) != 0;
            cost = isBest ? event::numberIn(one) : cost;
        }
        QCOMPARE(cost, result->cost);
        // Listening changes nothing.
        request.listener = nullptr;
        const auto again = schedule::planWith("fast", request);
        QVERIFY(again.ok() && again->plan && again->plan->steps == result->plan->steps);
    }
};

QTEST_APPLESS_MAIN(RecordedPlanTest)
#include "recordedplantest.moc"
