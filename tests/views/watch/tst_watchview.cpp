// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/watch/watchmodel.h"
#include "views/watch/watchview.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QLineEdit>
#include <QTableView>
#include <QTemporaryDir>

using namespace retro;
using namespace retro::views;

namespace
{

struct Stage
{
    Stage() : view(context.model, context.cursor, context.selection)
    {
        view.resize(360, 260);
        view.show();
        context.showTinyRun();
        view.flush();
    }
    [[nodiscard]] QString cell(int row, int column) const { return view.items().index(row, column).data().toString(); }
    void goTo(std::uint32_t visit)
    {
        context.cursor.moveTo(tests::endOfVisit(context.model, visit));
        view.flush();
    }

    tests::ViewContext context;
    WatchView view;
};

} // namespace

class WatchViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void modelKeepsItsPromises()
    {
        tests::ViewContext context;
        WatchModel items(context.model);
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(items.add(QStringLiteral("R(fc)")).ok());
        QVERIFY(items.add(QStringLiteral("R(fc).max")).ok());
        QVERIFY(items.add(QStringLiteral("R( fc )")).ok()); // is there
        QCOMPARE(items.rowCount(), 2);
        QVERIFY(!items.add(QStringLiteral("nonsense")).ok());
        context.showTinyRun();
        items.setRun();
        QVERIFY(items.resultAt(0).number.has_value());
        QVERIFY(items.setData(items.index(0, 0), QStringLiteral("V(fc).norm"), Qt::EditRole));
        QVERIFY(!items.setData(items.index(0, 0), QStringLiteral("V("), Qt::EditRole));
        QCOMPARE(items.texts().front(), QStringLiteral("V(fc).norm"));
        items.remove(0);
        QCOMPARE(items.rowCount(), 1);
        for (int i = 0; items.rowCount() < WatchModel::kMostRows; ++i) {
            QVERIFY(items.add(QStringLiteral("R(fc)[0,%1]").arg(i)).ok());
        }
        QVERIFY(!items.add(QStringLiteral("R(add)")).ok());
        items.removeAll();
        QCOMPARE(items.rowCount(), 0);
    }

    void numbersFollowTheCursor()
    {
        Stage stage;
        stage.view.add(QStringLiteral("R(block1/add)"));
        stage.view.add(QStringLiteral("R(image)"));
        stage.goTo(9);
        const auto& handles = stage.context.model.run().handles;
        const base::ValueId add = stage.view.items().valueAt(0);
        const double sum = handles[stage.context.model.relevanceHandle(add).index()].sum;
        QVERIFY(std::abs(*stage.view.items().resultAt(0).number - sum) <= 1e-5 * std::abs(sum));
        QVERIFY(stage.view.items().resultAt(1).number.has_value());
        stage.context.cursor.moveTo(0);
        stage.view.flush();
        QVERIFY(!stage.view.items().resultAt(1).number);
        QCOMPARE(stage.cell(1, WatchModel::NumberColumn), QStringLiteral("–"));
        QVERIFY(
            stage.view.items().index(1, 0).data(Qt::ToolTipRole).toString().contains(QStringLiteral("not known yet")));
        stage.goTo(9);
        QVERIFY(stage.view.items().resultAt(1).number.has_value());
    }

    void whatCannotBeWatchedSaysWhy()
    {
        Stage stage;
        stage.view.add(QStringLiteral("R(nothing)"));
        QCOMPARE(stage.view.items().rowCount(), 1); // another model may have it
        QVERIFY(stage.view.items().resultAt(0).reason.contains(QStringLiteral("nothing")));
        stage.view.add(QStringLiteral("R(fc"));
        QVERIFY(stage.view.message().contains(QStringLiteral("unclear")));
        stage.view.add(QStringLiteral("R(fc)"));
        QVERIFY(stage.view.message().isEmpty());
    }

    void isTypedSelectedAndRemoved()
    {
        Stage stage;
        auto* line = stage.view.findChild<QLineEdit*>();
        QTest::keyClicks(line, QStringLiteral("R(add).max"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(stage.view.items().texts(), QStringList{QStringLiteral("R(add).max")});
        QVERIFY(line->text().isEmpty());
        stage.context.selection.selectNode(base::NodeId(std::uint32_t{tests::kFc}));
        QTest::keyClick(line, Qt::Key_Return); // empty: what is selected
        QCOMPARE(stage.view.items().rowCount(), 2);
        QVERIFY(stage.view.items().texts().back().startsWith(QStringLiteral("R(")));
        auto* table = stage.view.findChild<QTableView*>();
        const std::uint64_t before = stage.context.cursor.position();
        table->setCurrentIndex(stage.view.items().index(0, 0));
        QCOMPARE(stage.context.selection.value(), stage.view.items().valueAt(0));
        QCOMPARE(stage.context.cursor.position(), before);
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(stage.context.cursor.position(),
                 *stage.context.model.relevanceStep(base::NodeId(std::uint32_t{tests::kAdd})));
        QVERIFY(QTest::qWaitForWindowExposed(&stage.view));
        table->setFocus();
        QTest::keyClick(table, Qt::Key_Delete);
        QCOMPARE(stage.view.items().rowCount(), 1);
    }

    void isKeptAndExported()
    {
        Stage stage;
        stage.view.add(QStringLiteral("R(fc)"));
        stage.view.add(QStringLiteral("V(image).max"));
        tests::ViewContext context;
        WatchView other(context.model, context.cursor, context.selection);
        other.restoreState(stage.view.saveState());
        QCOMPARE(other.items().texts(), stage.view.items().texts());
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("watch.csv"));
        QVERIFY(!other.exportTo(path.toStdString()).ok()); // no run
        QVERIFY(stage.view.exportTo(path.toStdString()).ok());
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray text = file.readAll();
        QVERIFY(text.startsWith("expression,number,reason\nR(fc),"));
        QCOMPARE(text.count('\n'), 3);
    }

    void looks()
    {
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            Stage stage;
            for (const char* text :
                 {"R(block1/add)", "R(stem/relu1).max", "V(image).norm", "R(fc)[0,1]", "R(nothing)"}) {
                stage.view.add(QString::fromUtf8(text));
            }
            stage.goTo(6);
            stage.goTo(9);
            const QImage image = tests::grab(stage.view, {420, 220}, kind, QStringLiteral("watch"));
            QVERIFY(tests::colorCount(image) > 8);
        }
    }
};

QTEST_MAIN(WatchViewTest)
#include "tst_watchview.moc"
