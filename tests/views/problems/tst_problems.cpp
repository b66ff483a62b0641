// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"
#include "views/problems/problemreport.h"
#include "views/problems/problemspanel.h"

#include <QAbstractItemModelTester>
#include <QTableView>

using namespace retro;
using namespace retro::views;

namespace
{

Problem warning(const QString& what) { return {Severity::Warning, ProblemOrigin::Run, what}; }
Problem error(const QString& what) { return {Severity::Error, ProblemOrigin::Job, what, QStringLiteral("Try again.")}; }

QStringList texts(const ProblemsModel& model)
{
    QStringList found;
    for (int row = 0; row < model.rowCount(); ++row) {
        found << model.index(row, ProblemsModel::What).data().toString();
    }
    return found;
}

} // namespace

class ProblemsTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { Style::install(*qApp); }

    void listKeepsOneOfEach()
    {
        ProblemList list;
        QSignalSpy errors(&list, &ProblemList::errorAdded);
        list.add(error("a"));
        list.add(error("b"));
        list.add(error("a"));
        QCOMPARE(list.all().size(), std::size_t{2});
        QCOMPARE(list.all().back().what, QStringLiteral("a"));
        QCOMPARE(errors.count(), 3);
        list.replace(ProblemOrigin::Run, {warning("c"), warning("d")});
        QCOMPARE(list.count(Severity::Warning), 2);
        QCOMPARE(errors.count(), 3); // warnings do not open the list
        list.clear(ProblemOrigin::Job);
        QCOMPARE(list.count(Severity::Error), 0);
        QSignalSpy changed(&list, &ProblemList::changed);
        list.replace(ProblemOrigin::Run, {warning("c"), warning("d")});
        QCOMPARE(changed.count(), 0);
    }

    void tableHasErrorsFirst()
    {
        tests::ViewContext context;
        ProblemList list;
        ProblemsModel model(list, context.model);
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        list.add(warning("w"));
        list.add(error("e"));
        QCOMPARE(texts(model), (QStringList{"e", "w"}));
        QVERIFY(model.index(0, 0).data(Qt::AccessibleTextRole).toString().startsWith("error"));
        Problem at = warning("x");
        at.node = base::NodeId(std::uint32_t{tests::kConv2});
        list.add(at);
        QCOMPARE(model.index(2, ProblemsModel::Where).data().toString(), QString()); // no run: no names
        context.showTinyRun();
        QCOMPARE(model.index(2, ProblemsModel::Where).data().toString(), QStringLiteral("block1/conv2 (Conv)"));
    }

    void reportSaysEverything()
    {
        tests::TinyContext context;
        Problem problem = error("It broke.");
        problem.node = base::NodeId(std::uint32_t{tests::kAdd});
        const QString report = problemReport(problem, context.model);
        for (const char* part : {"Qt ", "It broke.", "What to do: Try again.", "(Add)", "Output: ", "Event: "}) {
            QVERIFY2(report.contains(QLatin1String(part)), qPrintable(report));
        }
        problem.node = base::NodeId(std::uint32_t{12345}); // of another model
        QVERIFY(!problemReport(problem, context.model).contains("Node: "));
    }

    void nothingThatIsSaidIsLeftOut()
    {
        tests::ViewContext context;
        ProblemList list;
        ProblemsPanel panel(list, context.model, context.cursor, context.selection);
        panel.resize(700, 300);
        panel.show();
        list.add(warning("short"));
        const QString name = QStringLiteral("/encoder/layer/attention/output/dense/").repeated(4);
        list.add(warning(name + QStringLiteral(" takes more than it should of what arrives here")));
        QTRY_VERIFY(panel.table().rowHeight(1) > 2 * panel.table().rowHeight(0));
        const int narrow = panel.table().rowHeight(1);
        panel.resize(1500, 300);
        QTRY_VERIFY(panel.table().rowHeight(1) < narrow);
        panel.resize(700, panel.minimumSizeHint().height());
        QVERIFY(panel.minimumHeight() <= fonts::px(60)); // a low window stays low
    }

    void jumpSelectsAndGoes()
    {
        tests::ViewContext context;
        ProblemList list;
        ProblemsPanel panel(list, context.model, context.cursor, context.selection);
        panel.resize(800, 160);
        panel.show();
        panel.jump(); // nothing there: nothing happens
        QVERIFY(panel.report().isEmpty());
        context.showTinyRun();
        Problem problem = warning("here");
        problem.node = base::NodeId(std::uint32_t{tests::kPool});
        problem.position = 3;
        list.add(problem);
        panel.table().setFocus();
        panel.table().selectRow(0);
        QTest::keyClick(&panel.table(), Qt::Key_Return);
        QVERIFY(context.selection.node() == problem.node);
        QCOMPARE(context.cursor.position(), std::uint64_t{3});
        QVERIFY(panel.report().contains("here"));
        list.add(error("of no node"));
        panel.table().selectRow(0);
        context.selection.clear();
        panel.jump();
        QVERIFY(context.selection.isEmpty());
    }
};

QTEST_MAIN(ProblemsTest)
#include "tst_problems.moc"
