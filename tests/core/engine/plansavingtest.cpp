// SPDX-License-Identifier: Apache-2.0
// What a traversal under a plan keeps, drops and brings back: booked, foretold without values, kept by the run file.
#include <QtTest>

#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/runplan.h"
#include "core/engine/plan/savingforecast.h"
#include "core/schedule/peaktensors.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "tests/core/engine/samerelevance.h"
#include "tests/core/engine/samplequestion.h"

#include <QTemporaryDir>

#include <algorithm>

using namespace retro;
using event::EventKind;

namespace
{

using Question = tests::SampleQuestion<engine::ExplainRequest>;

Question questionOf(const QString& sample) { return tests::questionOf<engine::ExplainRequest>(qPrintable(sample)); }

void addCases()
{
    QTest::addColumn<QString>("sample");
    QTest::addColumn<QString>("budget");
    for (const char* sample : {"clever-hans/clever-hans", "one-segment/one-segment", "silent-groups/silent-groups"}) {
        for (const char* budget : {"100%", "85%", "70%"}) {
            QTest::addRow("%s at %s", sample, budget) << QString(sample) << QString(budget);
        }
    }
}

/// Explains under the plan of a budget, recorded, whatever its promises hold; nothing where no plan fits.
std::optional<engine::ExplainResult> underPlan(Question& question, const QString& budget)
{
    engine::PlanOptions wish;
    wish.budget = budget.toStdString();
    auto planned = engine::passPlanningOf(*question.model, question.request, analysis::JointKind::Relevance);
    auto chosen = planned.ok() ? engine::choosePlan(*planned->program, wish) : planned.error();
    if (!chosen.ok()) {
        qInfo("%s", chosen.error().text().c_str());
        return std::nullopt;
    }
    engine::PlanOptions carried;
    carried.plan = chosen->plan;
    carried.found = chosen->search;
    question.request.save = execute::SavePolicy::Plan;
    question.request.keptByPlan = engine::keptBy(carried);
    question.request.record = true;
    auto made = engine::explain(*question.model, question.request);
    return made.ok() ? std::optional(std::move(made).value()) : std::nullopt;
}

std::uint32_t countOf(const trace::Run& run, EventKind kind)
{
    return static_cast<std::uint32_t>(std::ranges::count(run.events, kind, &event::Event::kind));
}

} // namespace

class PlanSavingTest : public QObject
{
    Q_OBJECT

private slots:
    void theForecastIsWhatThePassDoes_data() { addCases(); }
    void theForecastIsWhatThePassDoes()
    {
        QFETCH(QString, sample);
        QFETCH(QString, budget);
        Question question = questionOf(sample);
        QVERIFY(question.model);
        RETRO_MADE(planned, engine::passPlanningOf(*question.model, question.request, analysis::JointKind::Relevance));
        RETRO_MADE(expected, engine::explain(*question.model, question.request));
        const auto made = underPlan(question, budget);
        QVERIFY2(made, "no plan within that budget");
        QCOMPARE(tests::differenceOf(*expected, *made), std::string());
        QVERIFY(made->runPlan && made->run);
        QVERIFY(trace::Timeline::open(made->run).ok());

        RETRO_MADE(restored, engine::restorePlan(*made->runPlan, "run"));
        RETRO_MADE(foretold, engine::forecastSaving(*planned->subject, *planned->program, *restored->result.plan));
        const engine::PlanSaving& saving = *made->planSaving;
        engine::SavingForecast counted;
        counted.kept = saving.kept.size();
        counted.keptBytes = static_cast<std::uint64_t>(saving.keptBytes);
        engine::countReturns(saving.dropped, counted);
        counted.promises = made->counts.promises;
        counted.visits = made->counts.visits;
        counted.peak = saving.peak;
        QCOMPARE(saving.foretoldPeak, saving.peak);
        QVERIFY(*foretold == counted);
        QCOMPARE(countOf(*made->run, EventKind::NewPromise), counted.promises);
        // Together they are all forward values.
        std::size_t values = 0;
        for (analysis::OpId op = 0; op < planned->program->forwardCount(); ++op) {
            values += planned->program->graph().op(op).outputs.size();
        }
        QCOMPARE(counted.kept + counted.dropped, values);
        if (budget == QLatin1String("100%") && sample.startsWith(QLatin1String("clever-hans"))) {
            QCOMPARE(counted.promises, 0U);
        }
    }

    /// Every value that the plan lets go in the forward pass is seen to go, and nothing is left at the end.
    void droppedValuesAreSeenToGo()
    {
        Question question = questionOf(QStringLiteral("clever-hans/clever-hans"));
        RETRO_MADE(made, underPlan(question, QStringLiteral("80%")));
        const trace::Run& run = *made->run;
        for (const trace::DroppedValue& one : made->planSaving->dropped) {
            const auto isOf = [&](EventKind kind) {
                return std::ranges::any_of(run.events, [&](const event::Event& event) {
                    return event.kind == kind && event.other == one.value.value && (event.flag & 1U) == 0;
                });
            };
            QVERIFY(isOf(EventKind::Compute) && isOf(EventKind::Free));
            for (const trace::ValueReturn& back : one.returns) {
                QVERIFY(back.visit < run.visitCount());
                QVERIFY(back.way == trace::ReturnWay::Recompute || isOf(EventKind::Fetch));
            }
        }
        trace::RunState state(run);
        for (std::uint64_t step = 0; step < run.events.size(); ++step) {
            state.apply(run.events[step], run, step);
        }
        for (std::size_t i = 0; i < state.planned.size(); ++i) {
            QVERIFY(!state.planned[i].handle.isValid());
        }
    }

    void theRunFileKeepsIt()
    {
        Question question = questionOf(QStringLiteral("clever-hans/clever-hans"));
        RETRO_MADE(made, underPlan(question, QStringLiteral("80%")));
        const QTemporaryDir folder;
        const std::string file = folder.filePath(QStringLiteral("plan.retro")).toStdString();
        QVERIFY(trace::writeRecorded(file, {made->run, {}, made->runPlan}).ok());
        RETRO_MADE(read, trace::readRecorded(file));
        QVERIFY(read->plan && *read->plan == *made->runPlan);
        QVERIFY(!read->plan->dropped.empty() && !read->plan->attempts.empty());
        // A run without a plan has none.
        QVERIFY(trace::writeRun(file, *made->run).ok());
        const auto plain = trace::readRecorded(file);
        QVERIFY(plain.ok() && !plain->plan);
    }

    void whatFillsThePeakAddsUp()
    {
        Question question = questionOf(QStringLiteral("clever-hans/clever-hans"));
        RETRO_MADE(planned, engine::passPlanningOf(*question.model, question.request, analysis::JointKind::Relevance));
        const analysis::OpGraph& joint = planned->program->graph();
        const schedule::Plan plan = schedule::planOf(joint, schedule::storeAllSequence(joint));
        const schedule::Simulation run = schedule::simulate(joint, plan);
        for (std::size_t step = 0; step < plan.steps.size(); ++step) {
            std::uint64_t bytes = 0;
            for (const schedule::PeakTensor& one : schedule::tensorsAt(joint, plan, run, step)) {
                QVERIFY(!one.why.empty() && one.born <= step && one.dies >= step);
                bytes += one.bytes;
            }
            QCOMPARE(bytes, run.steps[step].transient);
        }
        const auto peak = schedule::storeAllPeakTensors(joint);
        QVERIFY(std::ranges::is_sorted(peak, std::greater<>(), &schedule::PeakTensor::bytes));
    }

    /// The forward operators alone are planned for, too.
    void theForwardPassAlone()
    {
        Question question = questionOf(QStringLiteral("clever-hans/clever-hans"));
        RETRO_MADE(planned, engine::passPlanningOf(*question.model, question.request, analysis::JointKind::Gradient));
        RETRO_MADE(alone, engine::forwardAlone(planned->program->joint()));
        QCOMPARE(alone->graph.size(), planned->program->forwardCount());
        const schedule::Plan plan = schedule::planOf(alone->graph, schedule::storeAllSequence(alone->graph));
        QVERIFY(schedule::simulate(alone->graph, plan).ok());
    }
};

QTEST_APPLESS_MAIN(PlanSavingTest)
#include "plansavingtest.moc"
