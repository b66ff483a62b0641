// SPDX-License-Identifier: Apache-2.0
// The workspace Plan as a person uses it: open, look, drag the budget, choose a tensor, export.
#include <QtTest>

#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/controllers/plancontroller.h"
#include "app/gui/facts/planlink.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/planworkspace.h"
#include "core/event/planevent.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/plan/budgetslider.h"
#include "views/plan/budgetview.h"
#include "views/plan/plannersview.h"
#include "views/plan/schedulepane.h"
#include "views/plan/scheduleview.h"
#include "views/plan/tensorsview.h"
#include "views/run/runpanel.h"

#include <QFileInfo>
#include <QLabel>
#include <QRegularExpression>
#include <QStatusBar>
#include <QTemporaryDir>

#include <set>

using namespace retro;
using tests::kPatience;
using tests::settles;

namespace
{

/// Waits for the answer to the last question.
bool plans(app::MainWindow& window)
{
    return QTest::qWaitFor(
        [&] {
            return !window.plan().isPlanning() &&
                   (window.plan().plan() != nullptr || !window.plan().refusal().isEmpty() ||
                    window.plan().state() == views::PlanState::Failed);
        },
        kPatience);
}

void press(app::MainWindow& window, const char* action) { window.actions().at(QLatin1String(action)).trigger(); }

QString sample(const char* name) { return QStringLiteral(RETRO_SOURCE_DIR "/samples/graphs/") + QLatin1String(name); }

/// Opens a graph in the workspace Plan and waits for its first plan.
bool showsPlanOf(app::MainWindow& window, const QString& file)
{
    window.show();
    window.open(file);
    if (!settles(window) || !window.showWorkspace("plan")) {
        return false;
    }
    window.flush();
    return plans(window);
}

/// Plans for another pass and waits for its first plan.
bool plansFor(app::MainWindow& window, const char* action, views::PlanFor half)
{
    press(window, action);
    return QTest::qWaitFor([&] { return window.plan().subject() && window.plan().subject()->half == half; },
                           kPatience) &&
           plans(window);
}

app::ExplainJob jobOf(const engine::LoadedModelPointer& model)
{
    app::ExplainJob job;
    job.model = model;
    return job;
}

app::PlanWorkspace& spaceOf(app::MainWindow& window)
{
    return *window.findChild<app::PlanWorkspace*>(QStringLiteral("plan"));
}

} // namespace

class PlanScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void openPlanDragChooseExport()
    {
        app::MainWindow window;
        window.show();
        window.open(sample("residual-48.json"));
        RETRO_SETTLES(window);
        QCOMPARE(window.workspace().id(), QStringLiteral("plan")); // it holds no values to explain
        window.flush();
        QVERIFY(plans(window));
        const views::ShownPlanPointer first = window.plan().plan();
        QVERIFY(first != nullptr);
        QVERIFY(first->matrix.peak() <= first->question.budget);
        window.flush();
        QVERIFY(spaceOf(window).schedule().pane().isVisible());

        views::BudgetSlider& slider = spaceOf(window).budget().slider();
        slider.setSliderDown(true);
        for (const int thousandths : {580, 540, 500}) {
            slider.setValue(thousandths);
        }
        slider.setSliderDown(false);
        QVERIFY(plans(window));
        QCOMPARE(window.plan().plan()->question.budget, window.plan().question().budget);
        QCOMPARE(window.plan().planBefore(), first);
        QVERIFY(window.plan().plan()->matrix.peak() <= window.plan().question().budget);

        // A tensor that stays is chosen in the graph of the run and rebuilt from now on.
        const auto rows = window.plan().plan()->matrix.rows();
        const auto kept = std::ranges::find(rows, views::Decision::Keep, &views::ScheduleRow::decision);
        QVERIFY(kept != rows.end());
        const auto value = kept->value;
        RETRO_MADE(node, window.model().graph().findNode(window.plan().plan()->graph().op(kept->op).name));
        window.selection().selectNode(*node);
        window.flush();
        press(window, "plan.recompute");
        QVERIFY(plans(window));
        QCOMPARE(window.plan().question().strategy, std::string(views::kUserStrategy));
        QVERIFY(window.plan().refusal().isEmpty());
        const auto& matrix = window.plan().plan()->matrix;
        QCOMPARE(matrix.rows()[matrix.rowOf(value)].decision, views::Decision::Recompute);

        const std::uint32_t step = window.plan().step();
        press(window, step > 0 ? "plan.back" : "plan.forward");
        QVERIFY(window.plan().step() != step);

        QTemporaryDir folder;
        for (const auto& [id, file] :
             {std::pair("export.plan", "plan.svg"), std::pair("export.plan", "plan.png"),
              std::pair("export.plan", "plan.csv"), std::pair("export.plan", "plan.json"),
              std::pair("export.planners", "planners.svg"), std::pair("export.tensors", "tensors.csv")}) {
            RETRO_MADE(done, window.exports().write(QLatin1String(id), folder.filePath(file)));
            QVERIFY2(QFileInfo(folder.filePath(file)).size() > 300, file);
        }
    }

    void aModelThatRanIsPlannedForToo()
    {
        app::MainWindow window;
        QVERIFY(showsPlanOf(window, {}));
        QVERIFY2(window.plan().plan() != nullptr, qPrintable(window.plan().failure()));
        const std::uint64_t position = window.cursor().position();
        press(window, "plan.back");
        QCOMPARE(window.cursor().position(), position);
        // Another model: what was planned for the last one goes, and a plan of the new one comes.
        const views::PlanSubjectPointer before = window.plan().subject();
        window.open(sample("lstm.json"));
        QVERIFY(settles(window));
        window.flush();
        QVERIFY(plans(window));
        QVERIFY(window.plan().subject() != before);
        window.closeModel();
        QVERIFY(window.plan().plan() == nullptr);
        QVERIFY(!window.actions().at(QStringLiteral("plan.forward")).isEnabled());
    }

    void impossibleBudgetsAreExplained()
    {
        app::MainWindow window;
        QVERIFY(showsPlanOf(window, sample("chain-48.json")));
        const views::ShownPlanPointer before = window.plan().plan();
        window.plan().setBudget(1);
        QVERIFY(QTest::qWaitFor([&] { return !window.plan().refusal().isEmpty(); }, kPatience));
        QVERIFY2(window.plan().refusal().contains("No plan fits"), qPrintable(window.plan().refusal()));
        QVERIFY(window.plan().refusalRemedy().contains("allow more"));
        QCOMPARE(window.plan().plan(), before);
        window.flush();
        QVERIFY(spaceOf(window).budget().message().contains("No plan fits"));
    }

    void whatContradictsIsRefused()
    {
        RETRO_MADE(model, engine::loadModel(sample("chain-48.json").toStdString()));
        RETRO_MADE(subject, app::planSubjectOf(jobOf(*model)));
        views::PlanQuestion question;
        question.strategy = views::kUserStrategy;
        question.budget = (*subject)->storeAllPeak;
        question.choices = {{2}, {2}};
        const app::PlanAnswer both = app::answerTo(*subject, question);
        QVERIFY(both.plan == nullptr);
        QVERIFY2(both.refusal.contains("choose one"), qPrintable(both.refusal));
        // What needs more than the budget is shown as it is.
        question.choices = {};
        question.budget = (*subject)->storeAllPeak / 2;
        const app::PlanAnswer own = app::answerTo(*subject, question);
        QVERIFY2(own.plan != nullptr, qPrintable(own.refusal));
        QVERIFY(own.plan->isOverBudget());
        QVERIFY(own.plan->result.status != schedule::PlanStatus::Optimal);
    }

    /// The plan of a model is carried out, its steps and the cursor are one, and the run opens again from its file.
    void aPlanIsRunAndSteppedLikeEveryRun()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/silent-groups.onnx");
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("plan.retro"));
        {
            app::MainWindow window;
            QVERIFY(showsPlanOf(window, model));
            QVERIFY(plansFor(window, "plan.for.gradient", views::PlanFor::Gradient));
            window.plan().setBudget(window.plan().plan()->result.basePeak / 10 * 8);
            QVERIFY(plans(window));
            QVERIFY(QTest::qWaitFor([&] { return window.plan().plan()->result.plan->budget.has_value(); }, kPatience));
            press(window, "plan.run");
            RETRO_SETTLES(window);
            const trace::Run& run = window.model().run();
            QCOMPARE(QString::fromStdString(run.facts.engine), QStringLiteral("plan"));
            const views::ShownPlan& plan = *window.plan().plan();
            const auto& measured = window.plan().measured();
            QCOMPARE(measured.size(), plan.plan().steps.size());
            for (std::size_t step = 0; step < measured.size(); ++step) {
                QCOMPARE(measured[step], plan.run.steps[step].transient); // the store counts as the simulator does
            }
            // The run panel asks what was answered, so that the oracle compares like with like.
            press(window, "run.oracle");
            RETRO_SETTLES(window);
            QTRY_VERIFY_WITH_TIMEOUT(window.statusBar()->currentMessage().contains(QStringLiteral("equals the oracle")),
                                     kPatience);
            // The plan's step moves the cursor, and the cursor the plan's step.
            window.plan().setStep(3);
            QCOMPARE(window.model().position(), run.endOfVisit(3));
            press(window, "plan.forward");
            QCOMPARE(window.model().position(), run.endOfVisit(4));
            press(window, "go.back");
            QCOMPARE(window.plan().step(), 3U);
            press(window, "go.last");
            QCOMPARE(std::size_t{window.plan().step()}, plan.matrix.columns().size() - 1);
            QVERIFY(trace::writeRun(file.toStdString(), run).ok());
            window.flush();
        }
        app::MainWindow window;
        window.show();
        window.open(file);
        RETRO_SETTLES(window);
        QVERIFY(window.showWorkspace("engine"));
        window.flush();
        const std::uint64_t end = window.model().position();
        const trace::RunState atEnd = window.model().state();
        press(window, "go.first");
        for (int i = 0; i < 5; ++i) {
            press(window, "go.forward");
        }
        QVERIFY(window.model().state().plan.computed > 0);
        window.flush();
        press(window, "go.last");
        QCOMPARE(window.model().position(), end);
        QVERIFY(window.model().state() == atEnd);
    }

    /// The search for the plan on screen is a run: tries come on the chart as they are made, what is let go is framed.
    void theSearchForAPlanIsShownStepByStep()
    {
        app::MainWindow window;
        QVERIFY(showsPlanOf(window, sample("residual-48.json")));
        window.plan().setBudget(window.plan().plan()->result.basePeak / 2);
        QVERIFY(plans(window));
        const views::ShownPlanPointer plan = window.plan().planOfSteps();
        press(window, "plan.found");
        RETRO_SETTLES(window);
        const trace::Run& run = window.model().run();
        QCOMPARE(run.facts.kind, std::string("plan"));
        QCOMPARE(window.workspace().id(), QStringLiteral("plan"));
        QVERIFY(window.plan().planOfSteps() == plan); // it was searched for again, and is the same
        QVERIFY(window.plan().plan()->axis && !window.plan().plan()->axis->isMeasured()); // nothing ran
        for (const QLabel* label : window.statusBar()->findChildren<QLabel*>()) { // so it has no rules and no times
            const QStringList words = label->text().split(QStringLiteral("    "));
            QVERIFY2(words.filter(QRegularExpression(QStringLiteral("^(CPU,|rules |forward |relevance )"))).isEmpty(),
                     qPrintable(label->text()));
        }
        const views::ParetoPane& chart = spaceOf(window).planners().pane();
        const views::SchedulePane& schedule = spaceOf(window).schedule().pane();
        std::set<std::size_t> tries;
        std::set<std::uint32_t> framed;
        const std::uint32_t search = event::searchVisits(run.events);
        for (std::uint32_t visit = 0; visit < search; visit += std::max(1U, search / 300)) {
            window.cursor().moveTo(run.endOfVisit(visit));
            window.flush();
            tries.insert(chart.figure().tries.size());
            if (schedule.figure().tried) {
                framed.insert(*schedule.figure().tried);
            }
            QCOMPARE(chart.figure().tries.size() + chart.figure().later.size(), run.facts.planTries.size());
        }
        QVERIFY2(tries.size() > 3 && *tries.rbegin() > *tries.begin(), std::to_string(tries.size()).c_str());
        QVERIFY2(framed.size() > 3, std::to_string(framed.size()).c_str());
        press(window, "go.last");
        window.flush();
        QVERIFY(!schedule.figure().tried);
        QVERIFY(chart.figure().later.empty());
        QCOMPARE(chart.figure().plan->peak, plan->result.peak);
    }

    /// Of a model with several outputs the gradient of the target is planned, and what is planned runs; another target
    /// is another plan.
    void aPlanIsOfTheChosenTarget()
    {
        app::MainWindow window;
        QVERIFY(showsPlanOf(window, QStringLiteral(RETRO_SOURCE_DIR "/samples/one-segment/one-segment.onnx")));
        QVERIFY(plansFor(window, "plan.for.gradient", views::PlanFor::Gradient));
        QVERIFY(window.model().graph().outputs().size() > 1);
        const auto runs = [&](const char* target) {
            const auto asked = engine::parseTarget(target);
            const auto value = engine::targetValue(*asked, window.model().graph());
            press(window, "plan.run");
            return settles(window) && window.lastError().isEmpty() && value.ok() &&
                   window.model().run().facts.engine == "plan" && window.model().run().facts.targetValue == *value &&
                   window.plan().measured().size() == window.plan().plan()->plan().steps.size();
        };
        auto& panel = *window.findChild<views::RunPanel*>();
        QVERIFY2(runs(panel.question().targets.front().c_str()), qPrintable(window.lastError()));
        press(window, "run.oracle");
        RETRO_SETTLES(window);
        QTRY_VERIFY_WITH_TIMEOUT(window.statusBar()->currentMessage().contains(QStringLiteral("equals the oracle")),
                                 kPatience);

        const views::PlanSubjectPointer before = window.plan().subject();
        engine::Question question = panel.question();
        question.targets = {"scores:0,2,12,8"};
        panel.setQuestion(question);
        emit panel.questionChanged();
        QTRY_VERIFY_WITH_TIMEOUT(window.plan().subject() && window.plan().subject() != before, kPatience);
        QVERIFY(plans(window));
        QVERIFY(window.plan().plan() != nullptr);
        QVERIFY2(runs("scores:0,2,12,8"), qPrintable(window.lastError()));
        // Another element of the same value has the same plan: nothing changes on screen.
        const views::ShownPlanPointer shown = window.plan().planOfSteps();
        question = panel.question();
        question.targets = {"scores:0,1,3,4"};
        panel.setQuestion(question);
        emit panel.questionChanged();
        QVERIFY(settles(window));
        QVERIFY2(runs("scores:0,1,3,4"), qPrintable(window.lastError()));
        QCOMPARE(window.plan().planOfSteps(), shown);
    }

    /// Pixels that are covered after a plan was run are answered by the same plan.
    void coveringRunsThePlanAgain()
    {
        app::MainWindow window;
        QVERIFY(showsPlanOf(window, {})); // the built-in sample, whose card marks a tag
        QVERIFY(plansFor(window, "plan.for.gradient", views::PlanFor::Gradient));
        QVERIFY(window.plan().plan() != nullptr);
        const views::ShownPlanPointer plan = window.plan().planOfSteps();
        press(window, "plan.run");
        RETRO_SETTLES(window);
        const auto first = window.model().sharedRun();
        press(window, "cover.tag");
        RETRO_SETTLES(window);
        const auto covered = window.model().sharedRun();
        QVERIFY(covered != first);
        QCOMPARE(QString::fromStdString(covered->facts.engine), QStringLiteral("plan"));
        QVERIFY(covered->facts.targetValue == first->facts.targetValue);
        const auto out = first->graph->outputs().front().index();
        QVERIFY(!covered->values[out].bitEqual(first->values[out])); // the model saw something else
        QCOMPARE(window.plan().planOfSteps(), plan);
        QCOMPARE(window.plan().measured().size(), plan->plan().steps.size());
        press(window, "edit.undo");
        QVERIFY(settles(window));
        const auto back = window.model().sharedRun();
        QVERIFY(back != covered && back->values[out].bitEqual(first->values[out]));
        QCOMPARE(QString::fromStdString(back->facts.engine), QStringLiteral("plan"));
    }

    /// The relevance on screen by a plan: drag the budget, run, step to where a promise finds a value, save, reopen.
    void relevanceRunsByItsPlan()
    {
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("relevance.retro"));
        QImage painted;
        views::SavingNumbers saving;
        std::vector<schedule::Step> steps;
        constexpr QSize kSize(1280, 800);
        {
            app::MainWindow window;
            window.resize(kSize);
            QVERIFY(showsPlanOf(window, {}));
            QVERIFY(QTest::qWaitFor([&] { return window.plan().plan() && window.plan().plan()->saving.has_value(); },
                                    kPatience));
            QCOMPARE(window.plan().half(), views::PlanFor::Relevance);
            const engine::Question asked = window.findChild<views::RunPanel*>()->question();
            // All that rules read is kept: nothing is promised.
            window.plan().setBudget(window.plan().subject()->storeAllPeak);
            QTRY_VERIFY_WITH_TIMEOUT(window.plan().plan()->question.budget == window.plan().question().budget,
                                     kPatience);
            QCOMPARE(window.plan().plan()->saving->promises, 0U);
            views::BudgetSlider& slider = spaceOf(window).budget().slider();
            // The view follows with its next frame: a slider that still stands where it was would not move.
            QTRY_COMPARE_WITH_TIMEOUT(slider.value(), slider.maximum(), kPatience);
            slider.setSliderDown(true);
            slider.setValue(800);
            slider.setSliderDown(false);
            QVERIFY(window.plan().question().budget < window.plan().subject()->storeAllPeak);
            QTRY_VERIFY_WITH_TIMEOUT(window.plan().plan()->question.budget == window.plan().question().budget,
                                     kPatience);
            saving = *window.plan().plan()->saving;
            QVERIFY(saving.promises > 0 && saving.byPromise > 0);
            QVERIFY(saving.kept + saving.dropped > 0);

            const auto before = window.model().sharedRun();
            press(window, "plan.run");
            RETRO_SETTLES(window);
            const trace::Run& run = window.model().run();
            QVERIFY(window.model().sharedRun() != before);
            QCOMPARE(QString::fromStdString(run.facts.engine), QStringLiteral("promise"));
            QVERIFY(window.findChild<views::RunPanel*>()->question().composite == asked.composite);
            const auto counted = [&](event::EventKind kind) {
                return static_cast<std::uint32_t>(std::ranges::count(run.events, kind, &event::Event::kind));
            };
            QCOMPARE(counted(event::EventKind::NewPromise), saving.promises);
            const auto axis = window.plan().plan()->axis;
            QVERIFY(axis != nullptr && !axis->gaps.empty());
            QCOMPARE(run.visitCount() - axis->firstVisit,
                     saving.visits + window.plan().plan()->subject->joint.forwardCount);
            // The bands of the schedule add up to what the frontier counts.
            for (std::uint32_t visit = axis->firstVisit; visit < run.visitCount(); ++visit) {
                const trace::FrontierBytes& most = window.model().series().most[visit];
                QCOMPARE(axis->stack.sums[visit - axis->firstVisit], static_cast<std::uint64_t>(most.sum()));
            }

            const auto found = std::ranges::find(run.events, event::EventKind::Fetch, &event::Event::kind);
            QVERIFY(found != run.events.end());
            window.cursor().moveTo(static_cast<std::uint64_t>(found - run.events.begin()) + 1);
            QCOMPARE(window.plan().step(), found->visit - axis->firstVisit);
            window.flush();
            const auto* link = window.findChild<app::PlanLink*>();
            QVERIFY(link != nullptr && link->isTied() && link->runPlan() != nullptr);
            steps = window.plan().plan()->plan().steps;
            press(window, "go.last");
            window.selection().clear();
            window.flush();
            spaceOf(window).schedule().pane().clearFocus(); // its frame is no part of the picture
            painted = spaceOf(window).schedule().pane().grab().toImage();
            window.engine().saveRun(window.model().sharedRun(), file, {}, link->runPlan());
            QTRY_VERIFY_WITH_TIMEOUT(window.engine().isIdle() && QFileInfo::exists(file), kPatience);
        }
        app::MainWindow window;
        window.resize(kSize);
        window.show();
        window.open(file);
        RETRO_SETTLES(window);
        QVERIFY(window.showWorkspace("plan"));
        press(window, "go.last");
        window.flush();
        QVERIFY(window.plan().plan() != nullptr);
        QVERIFY(window.plan().plan()->plan().steps == steps);
        QVERIFY(window.plan().plan()->saving == std::optional(saving));
        QVERIFY(window.plan().plan()->axis != nullptr);
        QVERIFY(!window.plan().plan()->result.attempts.empty());
        spaceOf(window).schedule().pane().clearFocus();
        QCOMPARE(spaceOf(window).schedule().pane().grab().toImage(), painted);
        QTRY_VERIFY_WITH_TIMEOUT(window.plan().analysis() != nullptr, kPatience);
    }

    void pointsComeAndCanBeStopped()
    {
        app::MainWindow window;
        QVERIFY(showsPlanOf(window, sample("chain-48.json")));
        window.flush();
        press(window, "plan.curve");
        QVERIFY(QTest::qWaitFor([&] { return window.plan().curveShare() == 1; }, kPatience));
        QVERIFY(window.plan().points().size() > 50);
        QVERIFY(window.plan().leastPeak() < window.plan().subject()->storeAllPeak / 2);
        press(window, "plan.curve");
        window.plan().wantCurve(false);
        QVERIFY(window.plan().curveShare() < 0);
        const std::size_t points = window.plan().points().size();
        QTest::qWait(1);
        QCOMPARE(window.plan().points().size(), points);
    }
};

QTEST_MAIN(PlanScenarioTest)
#include "planscenariotest.moc"
