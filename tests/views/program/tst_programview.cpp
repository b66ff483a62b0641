// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/program/programmodel.h"
#include "views/program/programview.h"

#include <QAbstractItemModelTester>
#include <QTableView>

using namespace retro;
using namespace retro::views;

namespace
{

/// The tiny run with what its events do not say by themselves: through which operand parts came, and which promise
/// splits.
RunHandle withOperands()
{
    trace::Run run = *tests::makeTinyRun().run;
    for (trace::Event& e : run.events) {
        if (e.kind == event::EventKind::Land && e.node == tests::kRelu1 && e.slot == 1) {
            e.branch2 = 1; // relu1 is the second operand of the sum
        }
        if (e.kind == event::EventKind::Arg && e.promise == 0) {
            e.slot = e.branch;
        }
        if (e.kind == event::EventKind::Rule && e.node == tests::kAdd) {
            e.promise = 0;
        }
    }
    run.facts.targetValue = run.graph->outputs().front();
    auto shared = std::make_shared<const trace::Run>(std::move(run));
    auto timeline = trace::Timeline::open(shared);
    return {shared, std::make_shared<trace::Timeline>(std::move(timeline).value())};
}

} // namespace

class ProgramViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void rowsAreTheTwoSections()
    {
        const RunHandle handle = withOperands();
        const ProgramRows rows(*handle.run);
        QCOMPARE(QString::fromStdString(rows.fault), QString());
        QStringList texts;
        for (const ProgramRows::Row& row : rows.rows) {
            texts.append(row.isHeading ? (row.step.isArgument ? "ARGS" : "REL")
                                       : QString::fromStdString(row.step.text));
        }
        const QStringList expected{"ARGS",
                                   "b0 ← fetch stem/relu1",
                                   "b1 ← fetch block1/conv2",
                                   "REL",
                                   "b2 ← start head/fc",
                                   "b3 ← rule head/fc (b2)",
                                   "b4 ← rule head/flatten (b3)",
                                   "b5 ← rule head/pool (b4)",
                                   "b6, b7 ← rule block1/add (b5; b1, b0)",
                                   "b8 ← rule block1/conv2 (b6)",
                                   "b9 ← sum stem/relu1 (b8 + b7)",
                                   "b10 ← rule stem/relu1 (b9)",
                                   "b11 ← rule stem/conv1 (b10)"};
        QCOMPARE(texts, expected);
        QCOMPARE(rows.lastDone(0), -1);
        QCOMPARE(rows.lastDone(handle.run->eventCount()), 12);
    }

    void modelKeepsItsPromises()
    {
        const RunHandle handle = withOperands();
        ProgramModel items;
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        items.setProgram(std::make_shared<const ProgramRows>(*handle.run), handle.run);
        QCOMPARE(items.rowCount(), 13);
        items.setPosition(items.at(5).position); // the first rule
        QCOMPARE(items.cursorRow(), 5);
        QVERIFY(items.index(6, 0).data(ProgramModel::IsLaterRole).toBool());
        QVERIFY(!items.index(4, 0).data(ProgramModel::IsLaterRole).toBool());
        items.setSelected(base::NodeId(), base::PromiseId(0U));
        QCOMPARE(items.selectedRow(), 2); // the argument that conv2 gives
        items.setProgram(std::make_shared<const ProgramRows>(), nullptr);
        QCOMPARE(items.rowCount(), 0);
    }

    void aRowSelectsItsNodeAndEnterGoesThere()
    {
        tests::ViewContext context;
        context.model.setRun(withOperands(), tests::makeTinyInput());
        ProgramView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 640, 320);
        QTRY_VERIFY_WITH_TIMEOUT(view.items().rowCount() > 0, 30'000);
        auto* table = view.findChild<QTableView*>();
        const std::uint64_t end = context.cursor.position();
        table->setCurrentIndex(view.items().index(9, 0));
        QCOMPARE(context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kConv2})));
        QCOMPARE(context.cursor.position(), end);
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(context.cursor.position(), view.items().at(9).position);
        view.flush();
        QCOMPARE(view.items().cursorRow(), 9);
        QVERIFY(view.items().index(9, 0).data(ProgramModel::IsChosenRole).toBool());
        QVERIFY(view.copiedText().contains(QStringLiteral("rule")));
    }

    void aHeadingSelectsNothing()
    {
        tests::ViewContext context;
        context.model.setRun(withOperands(), tests::makeTinyInput());
        ProgramView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 640, 320);
        QTRY_VERIFY_WITH_TIMEOUT(view.items().rowCount() > 0, 30'000);
        view.findChild<QTableView*>()->setCurrentIndex(view.items().index(0, 0));
        QVERIFY(context.selection.isEmpty());
    }

    void oldRunsSayWhyTheyHaveNone()
    {
        tests::ViewContext context;
        context.showTinyRun(); // its parts do not tell through which operand they came
        ProgramView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 640, 320);
        QTRY_VERIFY_WITH_TIMEOUT(!view.isLoading(), 30'000);
        QTRY_VERIFY_WITH_TIMEOUT(view.message().startsWith(QStringLiteral("No program")), 30'000);
        QCOMPARE(view.items().rowCount(), 0);
    }
};

QTEST_MAIN(ProgramViewTest)
#include "tst_programview.moc"
