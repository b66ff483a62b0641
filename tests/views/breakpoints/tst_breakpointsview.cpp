// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/breakpoints/breakpointmodel.h"
#include "views/breakpoints/breakpointsview.h"

#include <QAbstractItemModelTester>
#include <QLabel>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTableView>

using namespace retro;
using namespace retro::views;

namespace
{

const base::NodeId kRelu(std::uint32_t{tests::kRelu1});

/// Window without a window, with breakpoints.
struct Fixture : tests::ViewContext
{
    BreakpointList list{model};
};

} // namespace

class BreakpointsViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void listKeepsConditionsAndFindsStops()
    {
        Fixture context;
        QVERIFY(!context.list.add(QStringLiteral("nan")).ok()); // nothing is open
        context.showTinyRun();
        const QSignalSpy found(&context.list, &BreakpointList::stopsChanged);
        QVERIFY(context.list.add(QStringLiteral(" op   Conv ")).ok());
        QVERIFY(context.list.add(QStringLiteral("op Conv")).ok()); // there already
        QVERIFY(!context.list.add(QStringLiteral("op Nothing")).ok());
        QCOMPARE(context.list.entries().size(), std::size_t{1});
        QTRY_COMPARE_WITH_TIMEOUT(context.list.entries()[0].stops.size(), std::size_t{3}, 30'000);
        QCOMPARE(context.list.stops(), context.list.entries()[0].stops);
        context.list.setEnabled(0, false);
        QVERIFY(context.list.active().empty());
        QVERIFY(context.list.stops().empty());
        QCOMPARE(context.list.save(), QStringList{QStringLiteral("off op Conv")});
        QVERIFY(!context.list.edit(0, QStringLiteral("op Nothing")).ok());
        QCOMPARE(context.list.entries()[0].condition, QStringLiteral("op Conv"));
        QVERIFY(context.list.edit(0, QStringLiteral("mode changes")).ok());
        QVERIFY(!context.list.entries()[0].isEnabled);
        context.list.remove(0);
        QVERIFY(context.list.entries().empty());
    }

    void toggleAddsAndRemoves()
    {
        Fixture context;
        context.showTinyRun();
        context.list.toggle(kRelu);
        QCOMPARE(context.list.indexOf(kRelu), std::optional<std::size_t>(0));
        QCOMPARE(context.list.entries()[0].condition, QStringLiteral("node stem/relu1"));
        context.list.toggle(kRelu);
        QVERIFY(context.list.entries().empty());
        context.list.toggle(base::NodeId());
        QVERIFY(context.list.entries().empty());
    }

    void conditionsAreReadAnewForEveryRun()
    {
        Fixture context;
        context.list.restore(
            {QStringLiteral("node stem/relu1"), QStringLiteral("off nan"), QStringLiteral("node elsewhere")});
        QVERIFY(!context.list.entries()[0].found);
        context.showTinyRun();
        QVERIFY(context.list.entries()[0].found.has_value());
        QVERIFY(!context.list.entries()[1].isEnabled);
        QVERIFY(!context.list.entries()[2].found);
        QVERIFY(!context.list.entries()[2].problem.isEmpty());
        QCOMPARE(context.list.active().size(), std::size_t{1});
    }

    void modelIsATable()
    {
        Fixture context;
        context.showTinyRun();
        BreakpointModel items(context.list);
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(context.list.add(QStringLiteral("op Conv")).ok());
        QVERIFY(context.list.add(QStringLiteral("promise opened")).ok());
        QCOMPARE(items.rowCount(), 2);
        const QModelIndex first = items.index(0, BreakpointModel::ConditionColumn);
        QCOMPARE(first.data().toString(), QStringLiteral("op Conv")); // as it was typed
        QCOMPARE(first.data(Qt::ToolTipRole).toString(), QStringLiteral("when any Conv is visited"));
        QCOMPARE(first.data(Qt::EditRole).toString(), QStringLiteral("op Conv"));
        QTRY_COMPARE_WITH_TIMEOUT(items.index(0, BreakpointModel::HitsColumn).data().toString(), QStringLiteral("3"),
                                  30'000);
        items.setPosition(context.list.entries()[0].stops.front());
        QVERIFY(first.data(BreakpointModel::IsHereRole).toBool());
        const QSignalSpy refused(&items, &BreakpointModel::refused);
        QVERIFY(!items.setData(first, QStringLiteral("op"), Qt::EditRole));
        QCOMPARE(refused.count(), 1);
        QVERIFY(items.setData(first, Qt::Unchecked, Qt::CheckStateRole));
        QVERIFY(!context.list.entries()[0].isEnabled);
        context.list.clear();
        QCOMPARE(items.rowCount(), 0);
    }

    void typingAddsAndDeleteRemoves()
    {
        Fixture context;
        context.showTinyRun();
        BreakpointsView view(context.model, context.cursor, context.selection, context.list);
        view.resize(330, 220);
        view.show();
        view.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&view, 30'000));
        view.flush();
        auto* line = view.findChild<QLineEdit*>();
        line->setText(QStringLiteral("op Conv"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(context.list.entries().size(), std::size_t{1});
        QVERIFY(line->text().isEmpty());
        line->setText(QStringLiteral("nonsense"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(context.list.entries().size(), std::size_t{1});
        QCOMPARE(line->text(), QStringLiteral("nonsense"));
        auto* table = view.findChild<QTableView*>();
        table->selectRow(0);
        view.goToHit(false);
        QCOMPARE(context.model.state().current, base::NodeId(std::uint32_t{tests::kConv1}));
        view.goToHit(true);
        QCOMPARE(context.model.state().current, base::NodeId(std::uint32_t{tests::kConv1})); // no later one
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Delete);
        QVERIFY(context.list.entries().empty());
    }

    /// What is wrong with a condition stands below the line in full, also in a narrow pane; that of one which is
    /// listed already is the tip of both its cells.
    void problemsAreReadInFull()
    {
        Fixture context;
        context.showTinyRun();
        context.list.restore({QStringLiteral("node elsewhere")});
        BreakpointsView view(context.model, context.cursor, context.selection, context.list);
        tests::showAt(view, 240, 320);
        auto* line = view.findChild<QLineEdit*>();
        line->setText(QStringLiteral("node block1/nowhere in search mode of the whole graph"));
        QTest::keyClick(line, Qt::Key_Return);
        QTest::qWait(0);
        const base::Result<void> refused = context.list.add(line->text());
        QVERIFY(!refused.ok());
        const QLabel* message = nullptr;
        for (const QLabel* label : view.findChildren<QLabel*>()) {
            message = label->text() == QString::fromStdString(refused.error().message) ? label : message;
        }
        QVERIFY(message != nullptr && message->isVisible());
        QVERIFY(message->wordWrap());
        QVERIFY(message->height() >= message->heightForWidth(message->width()));
        QVERIFY(view.rect().contains(QRect(message->mapTo(&view, QPoint()), message->size())));
        const QAbstractItemModel& items = *view.findChild<QTableView*>()->model();
        for (const int column : {BreakpointModel::ConditionColumn, BreakpointModel::HitsColumn}) {
            QCOMPARE(items.index(0, column).data(Qt::ToolTipRole).toString(), context.list.entries()[0].problem);
        }
    }

    void editingANodeOpensItsCondition()
    {
        Fixture context;
        context.showTinyRun();
        BreakpointsView view(context.model, context.cursor, context.selection, context.list);
        tests::showAt(view, 330, 220);
        view.editAt(kRelu);
        QCOMPARE(context.list.entries().size(), std::size_t{1});
        auto* table = view.findChild<QTableView*>();
        RETRO_MADE(editor, table->viewport()->findChild<QLineEdit*>());
        QCOMPARE(editor->text(), QStringLiteral("node stem/relu1"));
        editor->setText(QStringLiteral("node stem/relu1 in search"));
        QTest::keyClick(editor, Qt::Key_Return);
        QTRY_COMPARE_WITH_TIMEOUT(context.list.entries()[0].condition, QStringLiteral("node stem/relu1 in search"),
                                  30'000);
        QCOMPARE(context.list.entries()[0].found->only, event::Mode::Search);
    }

    void looks()
    {
        Fixture context;
        context.showTinyRun();
        context.list.restore({QStringLiteral("op Conv"), QStringLiteral("off promise opened"),
                              QStringLiteral("node elsewhere"), QStringLiteral("violation 0.0001")});
        QTRY_COMPARE_WITH_TIMEOUT(context.list.entries()[0].stops.size(), std::size_t{3}, 30'000);
        BreakpointsView view(context.model, context.cursor, context.selection, context.list);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {330, 220}, kind, QStringLiteral("breakpoints"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Header]));
        }
    }
};

QTEST_MAIN(BreakpointsViewTest)
#include "tst_breakpointsview.moc"
