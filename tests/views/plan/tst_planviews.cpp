// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/plansupport/plantools.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/widgets/emptystate.h"
#include "views/plan/analysisview.h"
#include "views/plan/blocksizeview.h"
#include "views/plan/budgetslider.h"
#include "views/plan/budgetview.h"
#include "views/plan/bytescale.h"
#include "views/plan/frontierchart.h"
#include "views/plan/pinsview.h"
#include "views/plan/pintablemodel.h"
#include "views/plan/plannerbox.h"
#include "views/plan/plannersview.h"
#include "views/plan/plannertablemodel.h"
#include "views/plan/rowlink.h"
#include "views/plan/schedulepane.h"
#include "views/plan/scheduleview.h"
#include "views/plan/snapshotview.h"
#include "views/plan/tensorsview.h"
#include "views/plan/tensortablemodel.h"

#include <QHeaderView>
#include <QLabel>
#include <QLayout>
#include <QSignalSpy>
#include <QTableView>

using namespace retro;
using namespace retro::views;

namespace
{

/// Gives everything its place now, not with the next turns of the event loop.
void activateLayouts(QWidget& widget)
{
    if (widget.layout() != nullptr) {
        widget.layout()->invalidate();
        widget.layout()->activate();
    }
    for (QObject* child : widget.children()) {
        if (auto* one = qobject_cast<QWidget*>(child)) {
            activateLayouts(*one);
        }
    }
}

/// A window without the window: run, selection, and a plan that answers at once.
struct Stage
{
    tests::ViewContext context;
    PlanModel plan;

    Stage()
    {
        context.showTinyRun();
        tests::answerQuestions(plan);
    }

    template <class SomeView>
    std::unique_ptr<SomeView> make(const QSize& size)
    {
        auto view = std::make_unique<SomeView>(context.model, context.cursor, context.selection, plan);
        view->resize(size);
        view->show();
        view->flush();
        QCoreApplication::processEvents();
        activateLayouts(*view);
        return view;
    }

    /// The graph of the run; everything fits.
    void open()
    {
        plan.setSubject(tests::subjectOfGraph(context.model.graph()));
        plan.setBudget(plan.subject()->storeAllPeak);
    }
    void openChain(std::size_t operators) { plan.setSubject(tests::chainSubject(operators)); }
};

/// Every view of workspace Plan that a plan fills, once with it.
std::vector<std::unique_ptr<View>> everyView(Stage& stage)
{
    std::vector<std::unique_ptr<View>> views;
    views.push_back(stage.make<ScheduleView>({700, 400}));
    views.push_back(stage.make<BudgetView>({360, 420}));
    views.push_back(stage.make<PlannersView>({360, 420}));
    views.push_back(stage.make<TensorsView>({700, 200}));
    views.push_back(stage.make<AnalysisView>({360, 300}));
    views.push_back(stage.make<FrontierChart>({500, 300}));
    views.push_back(stage.make<SnapshotView>({500, 300}));
    views.push_back(stage.make<BlockSizeView>({360, 200}));
    views.push_back(stage.make<PinsView>({420, 200}));
    return views;
}

QPoint cellAt(const SchedulePane& pane, std::uint32_t row, std::uint32_t column)
{
    ScheduleFigure figure = pane.figure();
    figure.fitTo(pane.layoutNow());
    return QPointF(figure.columns.pixel(column + 0.5), figure.rows.pixel(row + 0.5)).toPoint();
}

} // namespace

class PlanViewsTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void loopCheckpointsAreAskedWhereThereAreLoops()
    {
        Stage stage;
        stage.open();
        const auto view = stage.make<PlannersView>({420, 520});
        QSignalSpy chosen(view.get(), &PlannersView::loopsChosen);
        QVERIFY(!view->loops().isVisible());
        view->setLoops(true, PlannersView::kNoLoopCheckpoints);
        QVERIFY(view->loops().isVisible());
        QCOMPARE(view->loops().text(), QStringLiteral("off"));
        QCOMPARE(chosen.count(), 0); // what is shown was chosen already
        view->loops().setValue(4);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(chosen.front().front().toInt(), 4);
        view->setLoops(false, PlannersView::kNoLoopCheckpoints);
        QVERIFY(!view->loops().isVisible());
    }

    /// However long the names of tensors are, the figures beside them stay in sight.
    void theFiguresOfTheAnalysisAreInSight()
    {
        Stage stage;
        stage.open();
        const auto view = stage.make<AnalysisView>({340, 420});
        QTRY_VERIFY(view->table().topLevelItemCount() > 0);
        view->table().topLevelItem(0)->setText(0, QString(200, QLatin1Char('m')));
        view->resize(338, 420);
        QCoreApplication::processEvents();
        const QHeaderView& header = *view->table().header();
        QVERIFY(header.sectionViewportPosition(1) + header.sectionSize(1) < view->table().viewport()->width() * 0.8);
    }

    void aClickGoesToTheStepAndSelectsTheTensor()
    {
        Stage stage;
        stage.open();
        const auto view = stage.make<ScheduleView>({900, 500});
        const std::uint64_t run = stage.context.cursor.position();
        QTest::mouseClick(&view->pane(), Qt::LeftButton, {}, cellAt(view->pane(), 2, 4));
        QCOMPARE(stage.plan.step(), 4U);
        QCOMPARE(stage.context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kConv2})));
        QCOMPARE(stage.context.cursor.position(), run); // the time of the run is another one
        QVERIFY(view->nowFigures().join(' ').contains(QStringLiteral("live now")));
    }

    void theSelectionOfOthersIsMarked()
    {
        Stage stage;
        stage.open();
        const auto view = stage.make<ScheduleView>({900, 500});
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kPool}));
        view->flush();
        QCOMPARE(view->pane().row(), std::optional<std::uint32_t>(tests::kPool));
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kImage})); // no plan computes it
        view->flush();
        QVERIFY(!view->pane().row());
        const auto& graph = stage.context.model.graph();
        const auto live = liveNodes(graph, *stage.plan.plan(), 3);
        QVERIFY(std::ranges::find(live, base::NodeId(std::uint32_t{tests::kAdd})) != live.end());
        QVERIFY(std::ranges::find(live, base::NodeId(std::uint32_t{tests::kFc})) == live.end());
    }

    void keysStepAndChoose()
    {
        Stage stage;
        stage.open();
        stage.plan.setBudget(stage.plan.subject()->storeAllPeak);
        const auto view = stage.make<ScheduleView>({900, 500});
        SchedulePane& pane = view->pane();
        QTest::keyClick(&pane, Qt::Key_Home);
        QCOMPARE(stage.plan.step(), 0U);
        QTest::keyClick(&pane, Qt::Key_Right);
        QTest::keyClick(&pane, Qt::Key_Right);
        QTest::keyClick(&pane, Qt::Key_Left);
        QCOMPARE(stage.plan.step(), 1U);
        QTest::keyClick(&pane, Qt::Key_End);
        QCOMPARE(std::size_t(stage.plan.step()) + 1, stage.plan.plan()->matrix.columns().size());
        QTest::keyClick(&pane, Qt::Key_Down);
        QTest::keyClick(&pane, Qt::Key_Down);
        QCOMPARE(pane.row(), std::optional(1U));
        QTest::keyClick(&pane, Qt::Key_R);
        const auto value = stage.plan.plan()->matrix.rows()[1].value;
        QCOMPARE(stage.plan.choiceOf(value), std::optional(Decision::Recompute));
        QTest::keyClick(&pane, Qt::Key_K);
        QCOMPARE(stage.plan.choiceOf(value), std::optional(Decision::Keep));
        QTest::keyClick(&pane, Qt::Key_Plus);
        QVERIFY(!pane.figure().columns.isWhole());
        QTest::keyClick(&pane, Qt::Key_0);
        QVERIFY(pane.figure().columns.isWhole());
    }

    void tipsNameStepTensorBytesAndReason()
    {
        Stage stage;
        stage.openChain(24);
        const auto view = stage.make<ScheduleView>({900, 600});
        const QString tip = view->pane().tipAt(cellAt(view->pane(), 3, 10));
        QVERIFY2(tip.contains("v3") && tip.contains("Step 11 of") && tip.contains("kB"), qPrintable(tip));
        QVERIFY(tip.contains(stage.plan.plan()->reasonOf(3)));
        QVERIFY(view->pane().tipAt(QPointF(2, view->pane().height() - 2)).isEmpty());
    }

    void steppingPaintsOnlyTheLine()
    {
        Stage stage;
        stage.openChain(40);
        const auto view = stage.make<ScheduleView>({900, 500});
        (void)view->pane().grab();
        const int before = view->pane().paintings();
        for (int step = 0; step < 20; ++step) {
            stage.plan.setStep(step);
            (void)view->pane().grab();
        }
        QCOMPARE(view->pane().paintings(), before);
    }

    void tenThousandRowsAndColumnsAreReadable()
    {
        Stage stage;
        PlanQuestion question;
        question.strategy = "store_all";
        const auto subject = tests::chainSubject(5000); // 10,000 steps
        question.budget = subject->storeAllPeak;
        disconnect(&stage.plan, &PlanModel::planWanted, nullptr, nullptr); // one quick planner is enough
        stage.plan.setSubject(subject);
        stage.plan.takePlan(tests::planFor(subject, question));
        const auto view = stage.make<ScheduleView>({1000, 600});
        QVERIFY(stage.plan.plan() != nullptr);
        QVERIFY(stage.plan.plan()->matrix.columns().size() >= 10'000);
        const QImage image = view->pane().grab().toImage();
        QVERIFY(tests::colorCount(image) > 20);
        for (int i = 0; i < 40; ++i) {
            QTest::keyClick(&view->pane(), Qt::Key_Plus);
        }
        QVERIFY(view->pane().figure().columns.pitch() > 0);
        QVERIFY(view->pane().figure().columns.to - view->pane().figure().columns.from < 50);
        (void)view->pane().grab();
    }

    void playingGoesToTheEnd()
    {
        Stage stage;
        stage.open();
        const auto view = stage.make<ScheduleView>({900, 500});
        stage.plan.setStep(0);
        view->play(true);
        QVERIFY(view->isPlaying());
        QTRY_VERIFY_WITH_TIMEOUT(!view->isPlaying(), 30'000);
        QCOMPARE(std::size_t(stage.plan.step()) + 1, stage.plan.plan()->matrix.columns().size());
    }

    void statesAreSaidInWords()
    {
        Stage stage;
        const auto view = stage.make<ScheduleView>({700, 400});
        const auto budget = stage.make<BudgetView>({360, 300});
        const auto planners = stage.make<PlannersView>({360, 400});
        const auto tensors = stage.make<TensorsView>({700, 200});
        const auto texts = [](const QWidget& widget) {
            QStringList all;
            for (const QLabel* label : widget.findChildren<QLabel*>()) {
                if (label->isVisible()) {
                    all << label->text();
                }
            }
            return all.join(QLatin1Char('\n'));
        };
        const auto flush = [&] {
            for (View* one : {static_cast<View*>(view.get()), static_cast<View*>(budget.get()),
                              static_cast<View*>(planners.get()), static_cast<View*>(tensors.get())}) {
                one->flush();
            }
        };
        stage.plan.reset("A recorded run holds no model.");
        flush();
        for (const QWidget* one : {static_cast<QWidget*>(view.get()), static_cast<QWidget*>(budget.get()),
                                   static_cast<QWidget*>(planners.get()), static_cast<QWidget*>(tensors.get())}) {
            QVERIFY2(texts(*one).contains("A recorded run holds no model."), qPrintable(texts(*one)));
        }
        stage.plan.reset({});
        stage.plan.setLoading();
        flush();
        QVERIFY2(texts(*view).contains("needs in memory"), qPrintable(texts(*view)));
        stage.plan.setFailed("No size is known.", "State it.");
        flush();
        QVERIFY(texts(*view).contains("No size is known."));
        QVERIFY(texts(*view).contains("State it."));
        stage.open();
        flush();
        QVERIFY(view->pane().isVisible());
        stage.plan.takeRefusal("No plan fits into 3 bytes.", "Allow more.");
        flush();
        QVERIFY(view->pane().isVisible()); // the plan before stays
        QVERIFY(view->message().contains("No plan fits into 3 bytes."));
        QVERIFY(budget->message().contains("Allow more."));
        QVERIFY(!view->exportTo("nowhere.xyz").ok());
    }

    void theSliderPlansAnew()
    {
        Stage stage;
        stage.openChain(24);
        const auto budget = stage.make<BudgetView>({380, 320});
        BudgetSlider& slider = budget->slider();
        const ShownPlanPointer first = stage.plan.plan();
        const auto at = [&](double share) { return QPoint(static_cast<int>(14 + share * (slider.width() - 28)), 12); };
        QTest::mousePress(&slider, Qt::LeftButton, {}, at(0.8));
        QTest::mouseMove(&slider, at(0.7));
        QVERIFY(stage.plan.plan() != first);
        QCOMPARE(stage.plan.planBefore(), first);
        QTest::mouseRelease(&slider, Qt::LeftButton, {}, at(0.7));
        slider.setFocus();
        const std::uint64_t before = stage.plan.question().budget;
        QTest::keyClick(&slider, Qt::Key_Right);
        QVERIFY(stage.plan.question().budget > before);
        QTest::keyClick(&slider, Qt::Key_Home);
        budget->flush();
        QVERIFY2(budget->message().contains("No plan fits"), qPrintable(budget->message()));
        QVERIFY(slider.unknown() > 0);
        PlannerBox planners(stage.plan);
        emit planners.activated(2);
        QCOMPARE(stage.plan.question().strategy, std::string(kUserStrategy));
    }

    /// Where tensors may be moved is part of the question; without times and operations nothing may.
    void tensorsMayBeMoved()
    {
        Stage stage;
        stage.openChain(24);
        const auto budget = stage.make<BudgetView>({380, 320});
        QVERIFY(!stage.plan.question().tier);
        QCOMPARE(budget->tiers().count(), static_cast<int>(knownTiers().size()) + 1);
        QCOMPARE(budget->tiers().isEnabled(), stage.plan.subject()->unit != analysis::CostUnit::Operators);
        for (int index = budget->tiers().count(); index-- > 0;) {
            budget->tiers().setCurrentIndex(index);
            emit budget->tiers().activated(index);
            QCOMPARE(stage.plan.question().tier.has_value(), index > 0);
            budget->flush();
            QCOMPARE(budget->tiers().currentIndex(), index);
        }
        QCOMPARE(secondsPerCost(analysis::CostUnit::Milliseconds), 1e-3);
    }

    void choicesBeyondTheBudgetSaySo()
    {
        Stage stage;
        stage.openChain(12);
        const auto budget = stage.make<BudgetView>({380, 320});
        auto question = stage.plan.question();
        question.budget = stage.plan.subject()->storeAllPeak;
        question.strategy = kUserStrategy;
        auto over = std::make_shared<ShownPlan>(*tests::planFor(stage.plan.subject(), question));
        over->question.budget = over->result.peak - 1000;
        stage.plan.takePlan(over);
        budget->flush();
        QVERIFY2(budget->message().contains("over the budget"), qPrintable(budget->message()));
    }

    /// What a run by the plan took stands beside what was planned, and more than the budget is not passed over.
    void budgetSaysWhatWasMeasured()
    {
        Stage stage;
        stage.openChain(12);
        const auto budget = stage.make<BudgetView>({380, 320});
        const std::uint64_t most = stage.plan.question().budget;
        const auto isSaid = [&](const QString& text) {
            budget->flush();
            return std::ranges::any_of(budget->findChildren<QLabel*>(),
                                       [&](const QLabel* label) { return label->text() == text; });
        };
        QVERIFY(isSaid("run this plan to see"));
        stage.plan.setMeasured({1000, most, 2000});
        QVERIFY(isSaid("within the budget") && isSaid(bytesWords(most)));
        QVERIFY(!budget->message().contains("on top of"));
        stage.plan.setMeasured({1000, most + 3000});
        QVERIFY(isSaid(bytesWords(3000) + " over the budget"));
        QVERIFY(budget->message().contains("on top of"));
    }

    void aPlannerCanBeChosen()
    {
        Stage stage;
        stage.openChain(24);
        QSignalSpy curve(&stage.plan, &PlanModel::curveWanted);
        const auto planners = stage.make<PlannersView>({420, 520});
        QCOMPARE(curve.count(), 1); // a small graph gets its points by itself
        stage.plan.addPoints({{"dtr", 9000, 700}, {"shave", 8000, 800}}, 0.5);
        planners->flush();
        QCOMPARE(planners->button().text(), QString("Stop"));
        planners->button().click();
        QCOMPARE(curve.count(), 2);
        QCOMPARE(curve.back().front().toBool(), false);
        QVERIFY(planners->items().rowCount() > 3);
        const std::string name = planners->items().at(1).planner;
        planners->table().setCurrentIndex(planners->items().index(1, 0));
        QTest::keyClick(&planners->table(), Qt::Key_Return);
        QCOMPARE(stage.plan.question().strategy, name.substr(0, name.find(',')));
        const PlannerBox box(stage.plan);
        QVERIFY(box.isEnabled());
        QVERIFY2(box.currentText().startsWith("only "), qPrintable(box.currentText()));
        stage.plan.setStrategy(kBestStrategy);
        QCOMPARE(box.currentText(), QString("best within 5 s"));
        QCOMPARE(box.count(), 3);
    }

    void tensorsAreSelectedTurnedAndFiltered()
    {
        Stage stage;
        stage.open();
        stage.plan.setBudget(stage.plan.subject()->storeAllPeak);
        const auto tensors = stage.make<TensorsView>({900, 300});
        QTableView& table = tensors->table();
        table.setCurrentIndex(tensors->items().index(2, 0));
        QCOMPARE(stage.context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kConv2})));
        const QRect cell = table.visualRect(tensors->items().index(2, TensorTableModel::DecisionColumn));
        QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, cell.center());
        const auto value = stage.plan.plan()->matrix.rows()[2].value;
        QCOMPARE(stage.plan.choiceOf(value), std::optional(Decision::Recompute));
        tensors->flush();
        QVERIFY(tensors->items()
                    .index(2, TensorTableModel::DecisionColumn)
                    .data()
                    .toString()
                    .contains(QStringLiteral("mine")));
        QTest::keyClick(&table, Qt::Key_K);
        QCOMPARE(stage.plan.choiceOf(value), std::optional(Decision::Keep));
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kPool}));
        tensors->flush();
        QCOMPARE(tensors->items().at(table.currentIndex().row()), std::uint32_t{tests::kPool});
        tensors->filter().setText(QStringLiteral("conv"));
        QVERIFY(tensors->items().rowCount() < static_cast<int>(tensors->items().allRows()));
        tensors->filter().clear();
    }

    /// What a choice does stands beside it, and each can be taken back.
    void pinsAreWeighedAndTakenBack()
    {
        Stage stage;
        stage.open();
        const auto pins = stage.make<PinsView>({420, 200});
        QVERIFY(!pins->table().isVisible()); // nothing is chosen
        QSignalSpy wanted(&stage.plan, &PlanModel::pinEffectsWanted);
        const auto one = stage.plan.plan()->matrix.rows()[1].value;
        const auto other = stage.plan.plan()->matrix.rows()[2].value;
        stage.plan.choose(one, Decision::Recompute);
        stage.plan.choose(other, Decision::Recompute);
        pins->flush();
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(pins->subject(), QStringLiteral("2 what-ifs"));
        QVERIFY(pins->table().isVisible());
        stage.plan.setPinEffects({{one, -1000, 10}});
        pins->flush();
        const auto textAt = [&](int row, int column) { return pins->items().index(row, column).data().toString(); };
        QCOMPARE(textAt(0, PinTableModel::ChoiceColumn), QStringLiteral("recompute"));
        QVERIFY(textAt(0, PinTableModel::PeakColumn).startsWith(QStringLiteral("−")));
        QVERIFY(textAt(0, PinTableModel::WorkColumn).startsWith(QLatin1Char('+')));
        QCOMPARE(textAt(1, PinTableModel::PeakColumn), QStringLiteral("…")); // not yet known
        QTableView& table = pins->table();
        const QRect cell = table.visualRect(pins->items().index(0, PinTableModel::UndoColumn));
        QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, cell.center());
        QCOMPARE(stage.plan.pins(), (std::set<analysis::OpValueId>{other}));
        pins->flush();
        table.setCurrentIndex(pins->items().index(0, 0));
        QCOMPARE(stage.context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kConv2})));
        QTest::keyClick(&table, Qt::Key_Delete);
        QVERIFY(!stage.plan.hasChoices());
        QCOMPARE(stage.plan.question().strategy, std::string(kFastStrategy));
    }

    /// The plan follows the handle; the curve is of the present budget.
    void aBlockSizeIsDragged()
    {
        Stage stage;
        stage.openChain(24);
        stage.plan.setBudget(stage.plan.subject()->storeAllPeak);
        QSignalSpy wanted(&stage.plan, &PlanModel::blockPointsWanted);
        const auto view = stage.make<BlockSizeView>({360, 200});
        QCOMPARE(wanted.count(), 1); // a small graph gets its curve by itself
        QVERIFY(!view->button().isEnabled());
        std::vector<BlockPoint> points;
        for (const std::size_t size : blockSizes(24)) {
            points.push_back({size, 5000 + 500 * size, 1000.0 - 20 * static_cast<double>(size)});
        }
        stage.plan.setBlockPoints(points);
        view->flush();
        const BlockFigure figure = view->pane().figure();
        QCOMPARE(figure.operators, std::size_t{24});
        const BlockScale scale = blockScale(figure, QSizeF(view->pane().size()));
        const auto at = [&](double size) { return QPoint(static_cast<int>(std::lround(scale.x(size))), 60); };
        QTest::mousePress(&view->pane(), Qt::LeftButton, {}, at(4));
        QCOMPARE(stage.plan.question().blocks.operators, std::size_t{4});
        view->flush();
        QCOMPARE(view->subject(), QStringLiteral("4 operators, √24"));
        QVERIFY(view->pane().tipAt(at(4)).contains(QStringLiteral("Blocks of 4 operators")));
        QTest::keyClick(&view->pane(), Qt::Key_Right);
        QCOMPARE(stage.plan.question().blocks.operators, std::size_t{5});
        view->flush();
        QCOMPARE(wanted.count(), 1); // the curve does not depend on the size
        view->button().click();
        QVERIFY(stage.plan.question().blocks.isAuto());
        stage.plan.setBudget(stage.plan.subject()->storeAllPeak / 2);
        view->flush();
        QCOMPARE(wanted.count(), 2);
        QTemporaryDir folder;
        for (const char* format : {"svg", "png", "pdf", "csv"}) {
            const QString path = folder.filePath(QStringLiteral("blocks.") + QLatin1String(format));
            QVERIFY(view->exportTo(path.toStdString()).ok());
        }
    }

    /// Below the picture stands what becomes of the marked tensor, with the other choice for it.
    void theMarkedTensorHasItsStory()
    {
        Stage stage;
        stage.openChain(24);
        const auto view = stage.make<ScheduleView>({900, 500});
        QVERIFY(view->story().isEmpty());
        const auto rows = stage.plan.plan()->matrix.rows();
        const auto rebuilt = std::ranges::find(rows, Decision::Recompute, &ScheduleRow::decision);
        QVERIFY(rebuilt != rows.end());
        const auto value = rebuilt->value;
        view->pane().setRow(static_cast<std::uint32_t>(rebuilt - rows.begin()));
        QVERIFY2(view->story().contains(QStringLiteral("made again at")), qPrintable(view->story()));
        QCOMPARE(view->turnButton().text(), QStringLiteral("Keep it"));
        view->turnButton().click();
        QCOMPARE(stage.plan.choiceOf(value), std::optional(Decision::Keep));
    }

    void everythingIsWritten()
    {
        Stage stage;
        stage.openChain(24);
        QTemporaryDir folder;
        const auto view = stage.make<ScheduleView>({900, 500});
        const auto planners = stage.make<PlannersView>({420, 520});
        const auto tensors = stage.make<TensorsView>({900, 300});
        for (View* one :
             {static_cast<View*>(view.get()), static_cast<View*>(planners.get()), static_cast<View*>(tensors.get())}) {
            const bool isTable = one == tensors.get();
            for (const QString& format : isTable ? QStringList{"csv"} : QStringList{"svg", "png", "pdf", "csv"}) {
                const QString path = folder.filePath(one->title() + QLatin1Char('.') + format);
                const auto done = one->exportTo(path.toStdString());
                QVERIFY2(done.ok(), qPrintable(path));
                QVERIFY(QFileInfo(path).size() > 200);
            }
        }
        QFile csv(folder.filePath("Schedule.csv"));
        QVERIFY(csv.open(QIODevice::ReadOnly));
        QCOMPARE(csv.readAll().count('\n'), static_cast<int>(stage.plan.plan()->matrix.columns().size()) + 1);
        stage.plan.reset("gone");
        QVERIFY(!view->exportTo(folder.filePath("late.svg").toStdString()).ok());
        QVERIFY(!planners->exportTo(folder.filePath("late.svg").toStdString()).ok());
    }

    /// What a plan computes again stands where it is needed: no curve runs back.
    void curvesRunFromLeftToRight()
    {
        Stage stage;
        stage.openChain(24);
        const ShownPlan& plan = *stage.plan.plan();
        QVERIFY(plan.rebuiltTensors() > 0);
        const FrontierCurves curves = frontierCurves(&plan, nullptr);
        std::uint64_t most = 0;
        QVERIFY(curves.plan.size() > 1);
        for (std::size_t i = 1; i < curves.plan.size(); ++i) {
            QVERIFY(curves.plan[i - 1].position < curves.plan[i].position);
        }
        for (const FrontierPoint& point : curves.plan) {
            most = std::max(most, point.bytes);
        }
        QCOMPARE(most, plan.run.peak);
    }

    /// Panes behind other tabs are not refreshed; they let a closed model go all the same.
    void nothingOfAClosedModelStays()
    {
        Stage stage;
        stage.open();
        const std::vector<std::unique_ptr<View>> views = everyView(stage);
        stage.plan.choose(stage.plan.plan()->matrix.rows()[1].value, Decision::Recompute);
        for (const std::unique_ptr<View>& view : views) {
            view->flush();
            view->hide();
        }
        const std::weak_ptr<const PlanSubject> subject = stage.plan.subject();
        const std::weak_ptr<const ShownPlan> plan = stage.plan.planOfSteps();
        stage.plan.reset("Another model is open.");
        QTRY_VERIFY(plan.expired()); // a job may hold it until it has ended
        QVERIFY(subject.expired());
        QTemporaryDir folder;
        for (const std::unique_ptr<View>& view : views) {
            const bool isOfPlan = qobject_cast<FrontierChart*>(view.get()) == nullptr; // that one is of the run, too
            if (isOfPlan) {
                QVERIFY2(!view->exportTo(folder.filePath("late.csv").toStdString()).ok(), qPrintable(view->title()));
            }
        }
    }

    /// While a model is planned for, or has no plan, no figures of the one before stand beside its budget.
    void figuresOfAnotherModelGo()
    {
        Stage stage;
        stage.open();
        const auto view = stage.make<BudgetView>({360, 420});
        const auto isShown = [&](const QString& words) {
            return std::ranges::any_of(view->findChildren<QLabel*>(),
                                       [&](const QLabel* label) { return label->text() == words; });
        };
        const QString peak = bytesWords(stage.plan.plan()->result.peak);
        QVERIFY(isShown(peak));
        QObject::disconnect(&stage.plan, &PlanModel::planWanted, nullptr, nullptr);
        stage.plan.reset({});
        stage.plan.setSubject(tests::chainSubject(30, 1234));
        view->flush();
        QVERIFY(view->slider().isVisible());
        QVERIFY(!isShown(peak));
    }

    void measuredBytesAreDrawnUpToTheStep()
    {
        Stage stage;
        stage.openChain(12);
        const auto view = stage.make<ScheduleView>({900, 500});
        stage.plan.setStep(8);
        const QImage without = view->pane().grab().toImage();
        stage.plan.setMeasured(std::vector<std::uint64_t>(stage.plan.plan()->plan().steps.size(), 3000));
        QVERIFY(view->pane().grab().toImage() != without);
    }

    void bothThemes()
    {
        Stage stage;
        stage.openChain(24);
        const auto view = stage.make<ScheduleView>({900, 500});
        const auto planners = stage.make<PlannersView>({420, 520});
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(*view, {900, 500}, kind, QStringLiteral("schedule"));
            for (const Role role : {Role::Ink, Role::Keep, Role::SearchLine, Role::AlarmLine}) {
                QVERIFY2(tests::hasColor(image, Theme::of(kind)[role]), nameOf(role));
            }
            QVERIFY(tests::colorCount(tests::grab(*planners, {420, 520}, kind, QStringLiteral("planners"))) > 10);
        }
    }
};

QTEST_MAIN(PlanViewsTest)
#include "tst_planviews.moc"
