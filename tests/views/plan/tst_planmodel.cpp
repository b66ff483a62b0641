// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/plansupport/plantools.h"
#include "views/plan/plannertablemodel.h"
#include "views/plan/tensortablemodel.h"

#include <QAbstractItemModelTester>

using namespace retro;
using namespace retro::views;

class PlanModelTest : public QObject
{
    Q_OBJECT

private slots:
    void asksOnceForItsSubject()
    {
        PlanModel plan;
        QSignalSpy wanted(&plan, &PlanModel::subjectWanted);
        plan.want(); // nothing is open
        QCOMPARE(wanted.count(), 0);
        plan.reset({});
        plan.want();
        plan.want();
        QCOMPARE(wanted.count(), 1);
        plan.reset("There is none.");
        plan.want();
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(plan.absence(), QString("There is none."));
    }

    void aDragKeepsTheGhostFromBefore()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(20));
        const ShownPlanPointer first = plan.plan();
        QVERIFY(first != nullptr);
        QVERIFY(plan.planBefore() == nullptr);
        plan.beginDrag();
        for (const int percent : {80, 75, 70}) {
            plan.setBudget(plan.subject()->storeAllPeak * static_cast<std::uint64_t>(percent) / 100);
        }
        QVERIFY(plan.plan() != first);
        QCOMPARE(plan.planBefore(), first);
        plan.endDrag();
        const ShownPlanPointer last = plan.plan();
        plan.setBudget(plan.subject()->storeAllPeak);
        QCOMPARE(plan.planBefore(), last);
    }

    void choicesBeginAsThePlanOnScreen()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(24));
        const auto rows = plan.plan()->matrix.rows();
        const auto rebuilt = std::ranges::find(rows, Decision::Recompute, &ScheduleRow::decision);
        QVERIFY(rebuilt != rows.end());
        const analysis::OpValueId value = rebuilt->value;
        const std::size_t before = plan.plan()->rebuiltTensors();
        plan.setBudget(plan.subject()->storeAllPeak); // room for whatever is chosen
        plan.setStrategy(kFastStrategy);
        plan.choose(value, Decision::Recompute);
        QCOMPARE(plan.question().strategy, std::string(kUserStrategy));
        QCOMPARE(plan.choiceOf(value), std::optional(Decision::Recompute));
        const std::uint32_t row = plan.plan()->matrix.rowOf(value);
        QCOMPARE(plan.plan()->matrix.rows()[row].decision, Decision::Recompute);
        QCOMPARE(plan.plan()->reasonOf(row), QString("recomputed by choice"));
        plan.choose(value, Decision::Keep);
        QCOMPARE(plan.plan()->matrix.rows()[plan.plan()->matrix.rowOf(value)].decision, Decision::Keep);
        plan.clearChoices();
        QCOMPARE(plan.question().strategy, std::string(kFastStrategy));
        QVERIFY(!plan.hasChoices());
        QVERIFY(before > 0);
    }

    void oneChoiceIsTakenBackAfterTheOther()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(24));
        const auto rows = plan.plan()->matrix.rows();
        const auto rebuilt = std::ranges::find(rows, Decision::Recompute, &ScheduleRow::decision);
        const auto kept = std::ranges::find(rows, Decision::Keep, &ScheduleRow::decision);
        QVERIFY(rebuilt != rows.end() && kept != rows.end());
        const analysis::OpValueId one = rebuilt->value;
        const analysis::OpValueId other = kept->value;
        plan.setBudget(plan.subject()->storeAllPeak);
        plan.setStrategy(kFastStrategy);
        plan.setBudget(plan.subject()->storeAllPeak * 6 / 10);
        plan.choose(one, Decision::Keep);
        plan.choose(other, Decision::Recompute);
        QCOMPARE(plan.pins(), (std::set<analysis::OpValueId>{one, other}));
        const auto& chosen = plan.question().choices.recompute;
        QVERIFY(std::ranges::binary_search(chosen, other) && !std::ranges::binary_search(chosen, one));
        const PlanQuestion without = plan.questionWithout(one);
        QVERIFY(std::ranges::binary_search(without.choices.recompute, one)); // as before it was chosen
        plan.unpin(one);
        QCOMPARE(plan.question().choices.recompute, without.choices.recompute);
        QCOMPARE(plan.choiceOf(one), std::optional<Decision>());
        QCOMPARE(plan.question().strategy, std::string(kUserStrategy));
        plan.unpin(other);
        QVERIFY(!plan.hasChoices());
        QCOMPARE(plan.question().strategy, std::string(kFastStrategy));
    }

    void aBlockSizeIsOneQuestion()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(24));
        plan.setBudget(plan.subject()->storeAllPeak);
        QSignalSpy asked(&plan, &PlanModel::planWanted);
        plan.setBlockSize(6);
        QCOMPARE(asked.count(), 1);
        QCOMPARE(plan.question().strategy, std::string(kBlockStrategy));
        QCOMPARE(plan.plan()->plan().annotations.blocks, (std::vector<std::uint32_t>{6, 12, 18, 24}));
        plan.setBlockSize(6);
        QCOMPARE(asked.count(), 1);
        plan.setBlockSize(0);
        QVERIFY(plan.question().blocks.isAuto());
        QCOMPARE(plan.question().strategy, std::string(kFastStrategy));
    }

    void contradictionsAreRefusedAndThePlanStays()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(12));
        const ShownPlanPointer before = plan.plan();
        plan.setChoices({{3, 4}, {3}});
        QVERIFY(!plan.refusal().isEmpty());
        QCOMPARE(plan.plan(), before);
        plan.setChoices({});
        QVERIFY(plan.plan() != before || !plan.refusal().isEmpty());
    }

    void theStepStaysInThePlan()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setStep(5);
        QCOMPARE(plan.step(), 0U);
        plan.setSubject(tests::chainSubject(10));
        QCOMPARE(plan.step(), plan.plan()->matrix.peakAt());
        plan.setStep(1'000'000);
        QCOMPARE(std::size_t(plan.step()) + 1, plan.plan()->matrix.columns().size());
        plan.setStep(-4);
        QCOMPARE(plan.step(), 0U);
    }

    void measuredBytesBelongToOnePlan()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(10));
        plan.setMeasured({1, 2, 3});
        QCOMPARE(plan.measured().size(), std::size_t(3));
        plan.setBudget(plan.subject()->storeAllPeak);
        QVERIFY(plan.measured().empty());
    }

    void tablesKeepTheirPromises()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        TensorTableModel tensors(plan);
        PlannerTableModel planners;
        const QAbstractItemModelTester one(&tensors, QAbstractItemModelTester::FailureReportingMode::QtTest);
        const QAbstractItemModelTester other(&planners, QAbstractItemModelTester::FailureReportingMode::QtTest);
        tensors.takePlan();
        QCOMPARE(tensors.rowCount(), 0);
        plan.setSubject(tests::chainSubject(24));
        tensors.takePlan();
        planners.setPlan(plan.plan(), plan.attempts());
        QCOMPARE(tensors.rowCount(), 24);
        QVERIFY(planners.rowCount() > 5);
        QVERIFY(planners.at(0).fits);
        QVERIFY(planners.chosenRow() >= 0);
        QCOMPARE(planners.index(0, PlannerTableModel::ToBestColumn).data().toString(), QString("0.0"));
        std::vector<schedule::Attempt> twice = plan.attempts(); // in another order of the operators, with the same end
        const int once = planners.rowCount();
        twice.insert(twice.end(), plan.attempts().begin(), plan.attempts().end());
        planners.setPlan(plan.plan(), twice);
        QCOMPARE(planners.rowCount(), once);
        tensors.setFilter("V1");
        QCOMPARE(tensors.rowCount(), 11); // v1, v10 … v19
        tensors.setFilter({});
        tensors.sort(TensorTableModel::RebuiltColumn, Qt::DescendingOrder);
        QVERIFY(tensors.plan()->matrix.rows()[tensors.at(0)].runs > 1);
        QCOMPARE(tensors.rowWith(std::identity(), tensors.at(3)), 3);
        QCOMPARE(QString::fromStdString(tensors.csv()).count('\n'), 25);
        plan.reset("gone");
        tensors.takePlan();
        planners.setPlan(nullptr, {});
        QCOMPARE(tensors.rowCount() + planners.rowCount(), 0);
    }

    /// One click on a decision: the row is the only one that is marked, the table stays, the budget can be moved, and
    /// everything can be put back.
    void choosingByHandLeavesTheRestAsItIs()
    {
        PlanModel plan;
        tests::answerQuestions(plan);
        plan.setSubject(tests::chainSubject(24));
        const std::size_t reached = plan.attempts().size();
        QVERIFY(reached > 5);
        PlannerTableModel planners;
        planners.setPlan(plan.plan(), plan.attempts());
        const int listed = planners.rowCount();
        const PlanChoices before = plan.choices();
        const auto& rows = plan.plan()->matrix.rows();
        const auto kept = std::ranges::find(rows, Decision::Keep, &ScheduleRow::decision);
        QVERIFY(kept != rows.end());
        const analysis::OpValueId value = kept->value;
        plan.choose(value, Decision::Recompute);
        QVERIFY(plan.attempts().size() >= reached);
        planners.setPlan(plan.plan(), plan.attempts());
        QVERIFY(planners.rowCount() >= listed);
        QVERIFY(planners.chosenRow() >= 0);
        for (const ScheduleRow& row : plan.plan()->matrix.rows()) {
            QCOMPARE(plan.choiceOf(row.value).has_value(), row.value == value);
        }
        const std::uint64_t budget = plan.question().budget;
        plan.setBudget(budget - 1);
        QCOMPARE(plan.plan()->question.budget, budget - 1);
        plan.takeChoices(before);
        QVERIFY(plan.choices() == before);
        QVERIFY(!plan.hasChoices());
        QCOMPARE(plan.plan()->result.planner.empty(), false);
        QVERIFY(plan.plan()->question.strategy == before.question.strategy);
    }

    void plannersAndTensorsHaveNamesForPeople()
    {
        QCOMPARE(plannerTitle("store_all"), QString("store all"));
        QCOMPARE(plannerTitle("torch_every_2nd_mm, order depth"), QString("every second matmul, order depth"));
        QCOMPARE(plannerTitle("some_new_one"), QString("some new one"));
    }
};

QTEST_MAIN(PlanModelTest)
#include "tst_planmodel.moc"
