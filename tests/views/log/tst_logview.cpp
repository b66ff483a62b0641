// SPDX-License-Identifier: Apache-2.0
#include <QtTest>

#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/rangechip.h"
#include "views/log/eventwords.h"
#include "views/log/logmodel.h"
#include "views/log/logview.h"

#include <nlohmann/json.hpp>

#include <QAbstractItemModelTester>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QTableView>
#include <QTemporaryDir>

using namespace retro;
using namespace retro::views;

class LogViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void modelKeepsItsPromises()
    {
        const RunHandle handle = tests::makeTinyRun();
        LogModel items;
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        items.setRun(handle.run);
        QCOMPARE(items.rowCount(), static_cast<int>(handle.run->events.size()));
        items.setPosition(5);
        QCOMPARE(items.cursorRow(), 4);
        QVERIFY(!items.index(4, 0).data(LogModel::IsLaterRole).toBool());
        QVERIFY(items.index(5, 0).data(LogModel::IsLaterRole).toBool());
        items.setRows({2, 7, 11});
        QCOMPARE(items.rowCount(), 3);
        QCOMPARE(items.cursorRow(), 0); // event 3 is the last one listed before the cursor
        QCOMPARE(items.index(1, LogModel::EventColumn).data().toString(), QStringLiteral("8"));
        items.setPosition(0);
        QCOMPARE(items.cursorRow(), -1);
        items.clearRows();
        QCOMPARE(items.rowCount(), static_cast<int>(handle.run->events.size()));
    }

    void everyEventHasWords()
    {
        const RunHandle handle = tests::makeTinyRun();
        for (std::uint64_t step = 0; step < handle.run->events.size(); ++step) {
            QVERIFY2(!eventWords(*handle.run, step).isEmpty(), qPrintable(QString::number(step)));
        }
        QVERIFY(eventWords(*handle.run, handle.run->events.size()).isEmpty());
    }

    void selectingDoesNotMoveTimeAndActivatingDoes()
    {
        tests::TinyContext context;
        LogView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 640, 300);
        auto* table = view.findChild<QTableView*>();
        const std::uint64_t end = context.cursor.position();
        table->setCurrentIndex(view.items().index(3, 0));
        QCOMPARE(context.cursor.position(), end);
        QVERIFY(context.selection.node().has_value());
        QTest::keyClick(table, Qt::Key_Return);
        QCOMPARE(context.cursor.position(), std::uint64_t{4});
        view.flush();
        QCOMPARE(view.items().cursorRow(), 3);
    }

    /// Its pane was behind tabs, or the window had no size yet, when the cursor was moved.
    void theCursorIsInSightAlsoAfterTheTableGotItsSize()
    {
        tests::TinyContext context;
        context.cursor.moveTo(context.cursor.end() - 3);
        LogView view(context.model, context.cursor, context.selection);
        view.resize(640, 60);
        view.flush(); // hidden, with next to no height
        view.resize(640, 240);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        auto* table = view.findChild<QTableView*>();
        const auto isInSight = [&] {
            const QRect row = table->visualRect(view.items().index(view.items().cursorRow(), 0));
            return row.top() >= 0 && row.bottom() < table->viewport()->height();
        };
        QTRY_VERIFY(isInSight());
        view.resize(640, 150);
        QTRY_VERIFY(isInSight());
        table->scrollToTop(); // a person looks elsewhere
        view.resize(640, 160);
        QCoreApplication::processEvents();
        QCOMPARE(table->verticalScrollBar()->value(), 0);
    }

    void filterSwapsRowsAndKeepsThemWhenUnclear()
    {
        tests::TinyContext context;
        LogView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 640, 300);
        QTest::keyClicks(view.findChild<QLineEdit*>(), QStringLiteral("kind:visit"));
        QTRY_COMPARE_WITH_TIMEOUT(view.items().rowCount(), static_cast<int>(tests::kTinyVisits), 30'000);
        QCOMPARE(view.message(), QStringLiteral("10 of %1 events").arg(context.model.run().eventCount()));
        view.setFilter(QStringLiteral("colour:red"));
        QTRY_VERIFY_WITH_TIMEOUT(!view.isFiltering(), 30'000);
        QCOMPARE(view.items().rowCount(), static_cast<int>(tests::kTinyVisits));
        view.setFilter({});
        QCOMPARE(view.items().rowCount(), static_cast<int>(context.model.run().eventCount()));
    }

    void aRangeFiltersBesideTheLine()
    {
        tests::TinyContext context;
        TimeRange range;
        LogView view(context.model, context.cursor, context.selection);
        view.followRange(range);
        tests::showAt(view, 640, 300);
        auto* chip = view.findChild<RangeChip*>();
        QVERIFY(!chip->isVisible());
        range.set(3, 5);
        const PositionRange part = range.positionsIn(context.model.run());
        QTRY_COMPARE(view.items().rowCount(), static_cast<int>(part.end - part.begin));
        QVERIFY(chip->isVisible());
        QCOMPARE(chip->text(), QStringLiteral("visits 4 – 6"));
        view.setFilter(QStringLiteral("kind:visit"));
        QTRY_COMPARE(view.items().rowCount(), 3);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {640, 260}, kind, QStringLiteral("log-range"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        QTest::mouseClick(chip, Qt::LeftButton);
        QTRY_COMPARE(view.items().rowCount(), static_cast<int>(tests::kTinyVisits));
        QVERIFY(!chip->isVisible());
    }

    void filtersAreSavedAndComeBack()
    {
        tests::TinyContext context;
        LogView view(context.model, context.cursor, context.selection);
        view.show();
        view.flush();
        view.toggleSaved(); // an empty filter is none
        view.setFilter(QStringLiteral("colour:red"));
        view.toggleSaved(); // nor is an unclear one
        QVERIFY(view.savedFilters().isEmpty());
        const QString first = QStringLiteral("mode:search bytes>1k");
        view.setFilter(first);
        view.toggleSaved();
        view.setFilter(QStringLiteral("kind:visit"));
        view.toggleSaved();
        QCOMPARE(view.savedFilters(), (QStringList{QStringLiteral("kind:visit"), first}));
        QMenu menu;
        view.fillSavedMenu(menu);
        const auto saved = menu.findChildren<QAction*>(QStringLiteral("log.filter"));
        QCOMPARE(saved.size(), 2);
        QVERIFY(saved[0]->isChecked());
        saved[1]->trigger();
        QCOMPARE(view.filter(), first);

        LogView other(context.model, context.cursor, context.selection);
        other.restoreState(view.saveState());
        QCOMPARE(other.savedFilters(), view.savedFilters());
        QCOMPARE(other.filter(), first);
        other.toggleSaved(); // forgets it
        QCOMPARE(other.savedFilters(), QStringList{QStringLiteral("kind:visit")});
        other.restoreState(QByteArrayLiteral("kind:something of an older version"));
        QCOMPARE(other.filter(), first);
        for (int i = 0; i < 2 * LogView::kMostSaved; ++i) {
            other.setFilter(QStringLiteral("visit:%1").arg(i));
            other.toggleSaved();
        }
        QCOMPARE(other.savedFilters().size(), LogView::kMostSaved);
    }

    void rowsAreCopiedInOrder()
    {
        tests::TinyContext context;
        LogView view(context.model, context.cursor, context.selection);
        view.show();
        view.flush();
        auto* table = view.findChild<QTableView*>();
        for (const int row : {6, 2}) {
            table->selectionModel()->select(view.items().index(row, 0),
                                            QItemSelectionModel::Select | QItemSelectionModel::Rows);
        }
        const QStringList lines = view.copiedText().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 2);
        QVERIFY(lines[0].startsWith(QStringLiteral("3\t")));
        QVERIFY(lines[1].startsWith(QStringLiteral("7\t")));
    }

    void emptyWithoutARunAndExportsWithOne()
    {
        tests::ViewContext context;
        LogView view(context.model, context.cursor, context.selection);
        view.show();
        view.flush();
        QVERIFY(!view.findChild<QTableView*>()->isVisible());
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("log.csv")).toStdString();
        QVERIFY(!view.exportTo(path).ok());
        context.showTinyRun();
        view.flush();
        QVERIFY(view.exportTo(path).ok());
        QFile file(QString::fromStdString(path));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll().count('\n'), static_cast<int>(context.model.run().eventCount()) + 1);
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("log.txt")).toStdString()).ok());
    }

    void jsonSaysWhatCsvSays()
    {
        tests::TinyContext context;
        LogView view(context.model, context.cursor, context.selection);
        view.flush();
        view.setFilter(QStringLiteral("kind:arg,visit"));
        QTRY_VERIFY(!view.isFiltering());
        const QTemporaryDir folder;
        const auto written = [&](const char* name) {
            const QString path = folder.filePath(QLatin1String(name));
            QFile file(view.exportTo(path.toStdString()).ok() ? path : QString());
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        const QList<QByteArray> lines = written("log.csv").split('\n');
        QCOMPARE(lines[0], QByteArray("event,visit,mode,kind,node,promise,bytes,what"));
        const nlohmann::json all = nlohmann::json::parse(written("log.json").toStdString());
        QCOMPARE(all["format"].get<std::string>(), std::string("retrograde-events/1"));
        const nlohmann::json& rows = all["events"];
        QCOMPARE(static_cast<int>(rows.size()), view.items().rowCount());
        QCOMPARE(static_cast<qsizetype>(rows.size()) + 2, lines.size());
        bool hasBytes = false;
        for (std::size_t row = 0; row < rows.size(); ++row) {
            const QList<QByteArray> cells = lines[static_cast<qsizetype>(row) + 1].split(',');
            const auto number = [](const nlohmann::json& cell) {
                return cell.is_null() ? QByteArray() : QByteArray::number(cell.get<qint64>());
            };
            QCOMPARE(number(rows[row]["event"]), cells[0]);
            QCOMPARE(QByteArray::fromStdString(rows[row]["node"].get<std::string>()), cells[4]);
            QCOMPARE(number(rows[row]["promise"]), cells[5]);
            QCOMPARE(number(rows[row]["bytes"]), cells[6]);
            hasBytes = hasBytes || cells[6] == "9216";
        }
        QVERIFY(hasBytes);
    }

    void promisesAndBytesHaveColumnsWhereThereIsRoom()
    {
        tests::TinyContext context;
        LogView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 520, 280);
        auto* table = view.findChild<QTableView*>();
        QTRY_VERIFY(table->isColumnHidden(LogModel::PromiseColumn) && table->isColumnHidden(LogModel::BytesColumn));
        view.resize(900, 280);
        QTRY_VERIFY(!table->isColumnHidden(LogModel::PromiseColumn) && !table->isColumnHidden(LogModel::BytesColumn));
        const auto& events = context.model.run().events;
        const auto arg = std::find_if(events.begin(), events.end(),
                                      [](const trace::Event& e) { return e.kind == event::EventKind::Arg; });
        const int row = static_cast<int>(arg - events.begin());
        const auto cell = [&](int column) { return view.items().index(row, column).data().toString(); };
        QCOMPARE(cell(LogModel::PromiseColumn), QStringLiteral("P0"));
        QCOMPARE(cell(LogModel::BytesColumn), QStringLiteral("9.2 kB"));
        QVERIFY(view.items()
                    .index(row, LogModel::WhatColumn)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .endsWith(QStringLiteral("\nP0\n9.2 kB")));
        QCOMPARE(view.items().index(0, LogModel::BytesColumn).data().toString(), QString()); // a push moves no tensor
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {900, 280}, kind, QStringLiteral("log-wide"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
    }

    void looks()
    {
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, 4) - 6);
        LogView view(context.model, context.cursor, context.selection);
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {640, 280}, kind, QStringLiteral("log"));
            const Theme& theme = Theme::of(kind);
            QVERIFY(tests::hasColor(image, theme[Role::Sel]));
            QVERIFY(tests::hasColor(image, theme[Role::Accent]));
        }
    }
};

QTEST_MAIN(LogViewTest)
#include "tst_logview.moc"
