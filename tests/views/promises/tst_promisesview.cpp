// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/run/timerange.h"
#include "views/common/widgets/rangechip.h"
#include "views/promises/promisefigures.h"
#include "views/promises/promisestory.h"
#include "views/promises/promisesview.h"
#include "views/promises/promisetreemodel.h"
#include "views/promises/waitchart.h"
#include "views/promises/whypane.h"
#include "views/promises/whyview.h"

#include <nlohmann/json.hpp>

#include <QAbstractItemModelTester>
#include <QFile>
#include <QLabel>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

#include <algorithm>

using namespace retro;
using namespace retro::views;

namespace
{

/// The tree as text, one row per line: indent, name, state, visits.
QString printed(const QAbstractItemModel& items, const QModelIndex& parent = {}, int depth = 0)
{
    QString text;
    for (int row = 0; row < items.rowCount(parent); ++row) {
        QStringList cells;
        for (int column = 0; column < items.columnCount(parent); ++column) {
            cells.append(items.index(row, column, parent).data().toString());
        }
        text += QString(depth, QLatin1Char(' ')) + cells.join(QStringLiteral(" | ")) + QLatin1Char('\n');
        text += printed(items, items.index(row, 0, parent), depth + 1);
    }
    return text;
}

/// Raises that many promises, one after another, and nothing else.
RunHandle manyPromises(std::uint32_t count)
{
    auto run = std::make_shared<trace::Run>(*tests::makeTinyRun().run);
    run->events.clear();
    run->ledger.clear();
    run->visitStart.clear();
    for (std::uint32_t promise = 0; promise < count; ++promise) {
        event::Event& raised = run->events.emplace_back();
        raised.kind = event::EventKind::NewPromise;
        raised.node = tests::kRelu1;
        raised.promise = promise;
        raised.slot = 1;
    }
    auto timeline = trace::Timeline::open(run);
    return timeline.ok() ? RunHandle{run, std::make_shared<trace::Timeline>(std::move(timeline).value())} : RunHandle{};
}

const base::PromiseId kFirst(std::uint32_t{0});
const base::PromiseId kSecond(std::uint32_t{1});

} // namespace

class PromisesViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    /// With nothing chosen the promise that changed last is marked and in sight; nothing is chosen by that.
    void newestChangeIsMarked()
    {
        tests::TinyContext context;
        PromisesView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 320, 200);
        const trace::Run& run = context.model.run();
        int marked = 0;
        for (std::uint64_t position = run.eventCount(); position > 0; --position) {
            context.cursor.moveTo(position);
            view.flush();
            if (run.events[position - 1].kind == event::EventKind::Complete) {
                QCOMPARE(view.followed(), base::PromiseId(run.events[position - 1].promise));
                ++marked;
            }
        }
        QCOMPARE(marked, 2);
        QVERIFY(!view.followed().isValid()); // before the first promise
        QVERIFY(std::holds_alternative<std::monostate>(context.selection.thing()));
        context.cursor.moveTo(run.eventCount());
        context.selection.selectPromise(base::PromiseId(0U));
        view.flush();
        QVERIFY(!view.followed().isValid()); // following rests
    }

    void treeFollowsTheCursor()
    {
        tests::TinyContext context;
        PromiseTreeModel items(context.model);
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        items.resetRun();
        QCOMPARE(printed(items), QStringLiteral("P0 block1/add | fulfilled | 4 | 2 | 0 | 4×24×24 | \n"
                                                " .0 block1/conv2 | found | 4 | 1 |  | 4×24×24 | \n"
                                                " .1 P1 stem/relu1 | fulfilled | 6 | 2 | 1 | 4×24×24 | \n"
                                                "  .0 stem/relu1 | found | 6 | 0 |  | 4×24×24 | \n"));
        QSignalSpy changed(&items, &QAbstractItemModel::dataChanged);
        context.cursor.moveTo(tests::endOfVisit(context.model, 4));
        items.setPosition(context.model.position());
        QCOMPARE(changed.count(), 3); // P0, P1 and its operand; conv2 is found in both
        QCOMPARE(printed(items), QStringLiteral("P0 block1/add | waits | 4 | 1 | 0 | 4×24×24 | 18.4 kB\n"
                                                " .0 block1/conv2 | found | 4 | 1 |  | 4×24×24 | 9.2 kB\n"
                                                " .1 P1 stem/relu1 | waits | 4 | 1 | 1 | 4×24×24 | \n"
                                                "  .0 stem/relu1 | not yet |  |  |  |  | \n"));
        context.cursor.moveTo(0);
        items.setPosition(0);
        QCOMPARE(printed(items), QStringLiteral("P0 block1/add | not yet |  |  | 0 | 4×24×24 | \n"
                                                " .0 block1/conv2 | not yet |  |  |  |  | \n"
                                                " .1 P1 stem/relu1 | not yet |  |  | 1 | 4×24×24 | \n"
                                                "  .0 stem/relu1 | not yet |  |  |  |  | \n"));
        context.cursor.moveTo(context.cursor.end());
        items.setPosition(context.model.run().eventCount());
        QCOMPARE(items.forest().waiting(items.position()), std::size_t{0});
        QCOMPARE(items.forest().fulfilled(items.position()), std::size_t{2});
    }

    /// A tree view looks through all its rows for each change that it hears of.
    void farMovesAreToldAtOnce()
    {
        constexpr std::uint32_t kMany = 1000;
        tests::ViewContext context;
        context.model.setRun(manyPromises(kMany));
        QVERIFY(context.model.hasRun());
        PromiseTreeModel items(context.model);
        items.resetRun();
        QCOMPARE(items.rowCount(), int{kMany});
        QSignalSpy changed(&items, &QAbstractItemModel::dataChanged);
        items.setPosition(kMany / 2);
        QCOMPARE(changed.count(), 1); // all operands of later promises changed, each below a row of its own
        QCOMPARE(changed.front()[0].toModelIndex(), items.index(0, 0));
        QCOMPARE(changed.front()[1].toModelIndex().row(), int{kMany} - 1);
        QCOMPARE(items.index(kMany / 2 - 1, PromiseTreeModel::StateColumn).data().toString(), QStringLiteral("waits"));
        QCOMPARE(items.index(kMany / 2, PromiseTreeModel::StateColumn).data().toString(), QStringLiteral("not yet"));
        items.setPosition(kMany / 2 + 1);
        QCOMPARE(changed.count(), 3); // the promise and its operand
    }

    void rowsGrowOlderUntilTheyAreAnswered()
    {
        tests::TinyContext context;
        const PromiseForest forest(context.model.run());
        const PromiseRow& first = *forest.rowOf(kFirst);
        QVERIFY(!ageOf(forest, first, forest.promises()[0].raisedAt)); // not before it is opened
        std::uint64_t before = 0;
        for (const std::uint32_t visit : {3U, 4U, 5U, 6U, 9U}) {
            RETRO_MADE(age, ageOf(forest, first, tests::endOfVisit(context.model, visit)));
            QCOMPARE(age->visits(context.model.run()), std::min(visit, 5U) - 3); // fulfilled in the sixth visit
            QCOMPARE(age->isAnswered, visit >= 5);
            QVERIFY(age->events() >= before);
            before = age->events();
        }
        QCOMPARE(before, *forest.promises()[0].completedAt - forest.promises()[0].raisedAt);
    }

    /// Every promise that is opened is counted once, with the age that its row says.
    void waitsAreCountedOnce()
    {
        tests::TinyContext context;
        const trace::Run& run = context.model.run();
        const PromiseForest forest(run);
        for (std::uint64_t position = 0; position <= run.eventCount(); ++position) {
            const WaitCounts counts = waitCounts(run, forest, position);
            std::uint32_t waiting = 0;
            for (const std::uint32_t count : counts.waiting) {
                waiting += count;
            }
            QCOMPARE(std::size_t{waiting}, forest.waiting(position));
            QCOMPARE(std::size_t{counts.total()}, forest.waiting(position) + forest.fulfilled(position));
        }
        const WaitCounts end = waitCounts(run, forest, run.eventCount());
        QCOMPARE(end.fulfilled, (std::vector<std::uint32_t>{0, 2})); // both waited for two visits
    }

    /// Below the tree of many promises, where the tree has room; never in the way of a low pane.
    void howLongTheyWaitIsDrawnForMany()
    {
        tests::ViewContext context;
        context.model.setRun(manyPromises(200));
        PromisesView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 320, 420);
        QVERIFY(view.waits().isVisible());
        QCoreApplication::processEvents();
        context.cursor.moveTo(context.cursor.end());
        view.flush();
        QCOMPARE(view.waits().counts().total(), 200U);
        QVERIFY(view.waits().toolTip().contains(QStringLiteral("200 wait")));
        context.cursor.moveTo(0);
        view.flush();
        QCOMPARE(view.waits().counts().total(), 0U);
        view.resize(320, 160);
        QVERIFY(!view.waits().isVisible());
        view.resize(320, 420);
        QVERIFY(view.waits().isVisible());
        context.showTinyRun();
        view.flush();
        QVERIFY(!view.waits().isVisible());
    }

    /// What promises keep is at least what the frontier counts as held: it counts a tensor once, and not what lies in
    /// an in-edge, too. Once everything is fulfilled, nothing is kept.
    void bytesAreThoseOfTheFrontier()
    {
        tests::TinyContext context;
        for (std::uint64_t position = 0; position <= context.model.run().eventCount(); ++position) {
            context.cursor.moveTo(position);
            const trace::RunState& state = context.model.state();
            std::int64_t kept = 0;
            for (const trace::PromiseState& promise : state.promises) {
                kept += heldBytes(context.model.run(), promise);
            }
            std::int64_t held = 0;
            for (const trace::FrontierMember& member : state.frontier()) {
                held += member.heldByPromise ? context.model.run().handles[member.handle.index()].bytes : 0;
            }
            QVERIFY2(kept >= held, qPrintable(QString::number(position)));
            QVERIFY(position < context.model.run().eventCount() || kept == 0);
        }
    }

    void whatIsNeverAnsweredIsStuck()
    {
        trace::Run run; // P0 asks for one operand that never comes; P1 is answered
        for (const std::uint32_t promise : {0U, 1U}) {
            event::Event& raised = run.events.emplace_back();
            raised.kind = event::EventKind::NewPromise;
            raised.promise = promise;
            raised.slot = 1;
        }
        for (const event::EventKind kind : {event::EventKind::Arg, event::EventKind::Complete}) {
            event::Event& answer = run.events.emplace_back();
            answer.kind = kind;
            answer.promise = 1;
        }
        const PromiseForest forest(run);
        const PromiseRow& stuck = *forest.rowOf(kFirst);
        const PromiseRow& answered = *forest.rowOf(kSecond);
        QVERIFY(!forest.isStuck(stuck, 0)); // not opened yet
        QVERIFY(forest.isStuck(stuck, 2));
        QVERIFY(forest.isStuck(*stuck.children.front(), 4));
        QVERIFY(!forest.isStuck(answered, 2)); // waits, but not for ever
        QVERIFY(!forest.isStuck(answered, 4));
        QCOMPARE(forest.stuck(2), std::size_t{1});
    }

    void aFilterThatLeavesNothingSaysSo()
    {
        tests::TinyContext context;
        PromisesView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 330, 300);
        auto* tree = view.findChild<QTreeView*>();
        view.setFilter(PromisesView::Filter::Stuck);
        QVERIFY(!tree->isVisible());
        const auto labels = view.findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [](const QLabel* label) {
            return label->isVisible() && label->text().startsWith(QStringLiteral("No promise is stuck"));
        }));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {330, 260}, kind, QStringLiteral("promises-stuck"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        QCOMPARE(view.saveState(), QByteArray("3"));
        view.setFilter(PromisesView::Filter::All);
        QVERIFY(tree->isVisible());
    }

    void columnsWithoutRoomAreLeftOut()
    {
        tests::TinyContext context;
        PromisesView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 300, 300);
        auto* tree = view.findChild<QTreeView*>();
        const auto fits = [tree] { return tree->header()->length() <= tree->viewport()->width(); };
        QTRY_VERIFY(tree->isColumnHidden(PromiseTreeModel::DepthColumn) && fits());
        QVERIFY(!tree->isColumnHidden(PromiseTreeModel::AgeColumn));
        view.resize(720, 300);
        QTRY_VERIFY(!tree->isColumnHidden(PromiseTreeModel::DepthColumn) && fits());
        QVERIFY(!tree->isColumnHidden(PromiseTreeModel::BytesColumn));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {720, 260}, kind, QStringLiteral("promises-wide"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        const QModelIndex age = tree->model()->index(0, PromiseTreeModel::AgeColumn);
        QCOMPARE(age.data(Qt::AccessibleTextRole).toString(), QStringLiteral("Age 2"));
        QVERIFY(age.data(Qt::ToolTipRole).toString().contains(QStringLiteral("Visits 4 – 6: 2 visits, ")));
    }

    void forestKnowsConstantsAndLinks()
    {
        // Two branches of P0 feed P1 (a join); the third is answered by a constant.
        trace::Run run;
        const auto add = [&](event::EventKind kind, std::uint32_t promise) -> event::Event& {
            run.events.emplace_back();
            run.events.back().kind = kind;
            run.events.back().promise = promise;
            return run.events.back();
        };
        add(event::EventKind::NewPromise, 0).slot = 3;
        add(event::EventKind::NewPromise, 1).slot = 1;
        for (const std::uint32_t branch : {0U, 1U}) {
            event::Event& parent = add(event::EventKind::AddParent, 1);
            parent.other = 0;
            parent.branch2 = branch;
        }
        add(event::EventKind::Arg, 0).branch = 2;
        const PromiseForest forest(run);
        QCOMPARE(forest.roots().size(), std::size_t{1});
        const auto& rows = forest.roots().front()->children;
        QCOMPARE(rows.size(), std::size_t{3});
        QVERIFY(rows[0]->isPromise && !rows[0]->isLink && rows[0]->children.size() == 1);
        QVERIFY(rows[1]->isPromise && rows[1]->isLink && rows[1]->children.empty());
        QCOMPARE(forest.stateOf(*rows[2], 4), PromiseRowState::Waits);
        QCOMPARE(forest.stateOf(*rows[2], 5), PromiseRowState::Constant);
        QCOMPARE(forest.followers(kFirst, 5), (std::vector<base::PromiseId>{kSecond}));
        QVERIFY(forest.followers(kSecond, 5).empty());
    }

    void storySaysWhatIsMissing()
    {
        tests::TinyContext context;
        const PromiseForest forest(context.model.run());
        context.cursor.moveTo(forest.promises()[kFirst.index()].raisedAt + 1);
        PromiseStory story = promiseStory(context.model, forest, kFirst);
        QCOMPARE(story.known, QStringList{QStringLiteral("0 of 2 operands known.")});
        QVERIFY2(story.missing.contains(QStringLiteral(".0")) && story.missing.contains(QStringLiteral(".1")),
                 qPrintable(story.missing)); // both, not the first of them
        context.cursor.moveTo(tests::endOfVisit(context.model, 4));
        story = promiseStory(context.model, forest, kFirst);
        QCOMPARE(story.title, QStringLiteral("P0 · add · block1/add"));
        QCOMPARE(story.badge, QStringLiteral("waits, 1 visit"));
        QCOMPARE(story.known, QStringList{QStringLiteral("1 of 2 operands known.")});
        QCOMPARE(story.missing, QStringLiteral("Missing: operand .1"));
        context.cursor.moveTo(tests::endOfVisit(context.model, 5));
        story = promiseStory(context.model, forest, kFirst);
        QCOMPARE(story.badge, QStringLiteral("fulfilled"));
        QCOMPARE(story.known.last(), QStringLiteral("Relevance 8.260 arrived, 8.260 went on to its operands."));
        QVERIFY(story.missing.isEmpty());
        story = promiseStory(context.model, forest, kSecond);
        QCOMPARE(story.known.first(), QStringLiteral("Its operand is known since visit 6."));
        QCOMPARE(story.missing, QStringLiteral("Missing: block1/conv2 → stem/relu1"));
        QVERIFY(story.details.contains(QStringLiteral("stem/relu1 is visited again at visit 8.")));
        context.cursor.moveTo(2);
        story = promiseStory(context.model, forest, kFirst);
        QCOMPARE(story.state, PromiseRowState::NotYet);
        QCOMPARE(story.known, QStringList{QStringLiteral("It is opened at visit 4.")});
    }

    void selectingAndGoing()
    {
        tests::TinyContext context;
        PromisesView view(context.model, context.cursor, context.selection);
        view.resize(330, 420);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view, 30'000));
        auto* tree = view.findChild<QTreeView*>();
        tree->setCurrentIndex(tree->model()->index(0, 0));
        QCOMPARE(context.selection.promise(), std::optional(kFirst));
        view.flush();
        const std::uint64_t end = context.cursor.position();
        view.goToOpening();
        QVERIFY(context.cursor.position() < end);
        QCOMPARE(context.model.state().promises.size(), std::size_t{1});
        view.goToFulfilment();
        QVERIFY(context.model.state().promises[0].isComplete);
        context.selection.selectPromise(kSecond);
        view.flush();
        QCOMPARE(tree->currentIndex().data().toString(), QStringLiteral(".1 P1 stem/relu1"));
        QCOMPARE(view.subject(), QStringLiteral("1 waiting, 1 fulfilled"));
        QVERIFY(view.canShow(kSecond));
        QVERIFY(!view.canShow(base::PromiseId(std::uint32_t{7})));
    }

    void filterShowsWhatIsAskedForAndItsParents()
    {
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, 5)); // P0 fulfilled, P1 below it waits
        PromisesView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 330, 300);
        auto* tree = view.findChild<QTreeView*>();
        const QModelIndex first = tree->model()->index(0, 0);
        view.setFilter(PromisesView::Filter::Waiting);
        QVERIFY(!tree->isRowHidden(0, {}));    // above P1
        QVERIFY(tree->isRowHidden(0, first));  // conv2 is found
        QVERIFY(!tree->isRowHidden(1, first)); // P1
        context.cursor.moveTo(context.cursor.end());
        view.flush();
        QVERIFY(tree->isRowHidden(0, {})); // nothing waits any more
        view.restoreState("2");
        QVERIFY(!tree->isRowHidden(0, {}));
        QVERIFY(tree->isRowHidden(0, first));
        view.setFilter(PromisesView::Filter::All);
        QVERIFY(!tree->isRowHidden(0, first));
    }

    void whyJumpsAndFollowsTheSelection()
    {
        tests::TinyContext context;
        WhyView view(context.model, context.cursor, context.selection);
        tests::showAt(view, 330, 260);
        context.selection.selectPromise(kSecond);
        view.flush();
        QCOMPARE(view.pane().story().operands,
                 (QStringList{QStringLiteral(".0 stem/relu1: found at visit 6"), QStringLiteral("Asked for by P0.")}));
        view.goToOpening();
        QCOMPARE(context.model.state().promises.size(), std::size_t{2});
        view.goToFulfilment();
        QVERIFY(context.model.state().promises[1].isComplete);
        const auto buttons = view.pane().findChildren<QPushButton*>();
        QTest::mouseClick(buttons.last(), Qt::LeftButton);
        QCOMPARE(context.selection.node(), std::optional(base::NodeId(std::uint32_t{tests::kRelu1})));
    }

    void aRangeListsWhatIsOpenInIt()
    {
        tests::TinyContext context;
        TimeRange range;
        PromisesView view(context.model, context.cursor, context.selection);
        view.followRange(range);
        tests::showAt(view, 330, 380);
        auto* tree = view.findChild<QTreeView*>();
        auto* chip = view.findChild<RangeChip*>();
        const auto isShown = [tree] { return !tree->isRowHidden(0, {}); };
        QVERIFY(isShown());
        QVERIFY(!chip->isVisible());
        range.set(0, 1); // P0 is raised in visit 4
        QVERIFY(!isShown());
        QVERIFY(chip->isVisible());
        range.set(4, 4); // between its opening and its fulfilment
        QVERIFY(isShown());
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            (void)tests::grab(view, {330, 260}, kind, QStringLiteral("promises-range"));
        }
        ThemeHub::instance().setChoice(ThemeChoice::Light);
        range.set(9, 9);
        QVERIFY(!isShown());
        QTest::mouseClick(chip, Qt::LeftButton);
        QVERIFY(isShown());
    }

    void whySaysWhatANodeLacks()
    {
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, 5));
        const base::NodeId relu(std::uint32_t{tests::kRelu1});
        PromiseStory story = nodeStory(context.model, relu);
        QCOMPARE(story.missing, QStringLiteral("Missing: block1/conv2 → stem/relu1"));
        QCOMPARE(story.known.last(), QStringLiteral("1 of 2 parts have landed."));
        QVERIFY(story.fulfilled.has_value());
        context.cursor.moveTo(context.cursor.end());
        story = nodeStory(context.model, relu);
        QVERIFY(story.missing.isEmpty());
        QVERIFY(!story.fulfilled.has_value());
    }

    void exports()
    {
        tests::TinyContext context;
        PromisesView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        const auto written = [&](const char* name) {
            const QString path = folder.filePath(QLatin1String(name));
            QFile file(view.exportTo(path.toStdString()).ok() ? path : QString());
            return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
        };
        const QList<QByteArray> lines = written("p.csv").split('\n');
        QCOMPARE(lines.size(), 4);
        QVERIFY(lines[1].startsWith("0,add,block1/add,fulfilled,"));
        QVERIFY(lines[1].endsWith(",4×24×24,0,2,2,0,"));
        QVERIFY(lines[2].endsWith(",1,0,0")); // its parent is P0
        // JSON says the same under the same names, and more about the branches.
        const nlohmann::json all = nlohmann::json::parse(written("p.json").toStdString());
        QCOMPARE(all["format"].get<std::string>(), std::string("retrograde-promises/1"));
        const nlohmann::json& rows = all["promises"];
        QCOMPARE(rows.size(), std::size_t{2});
        const QList<QByteArray> names = lines[0].split(',');
        for (qsizetype row = 0; row < 2; ++row) {
            const QList<QByteArray> cells = lines[row + 1].split(',');
            QCOMPARE(cells.size(), names.size());
            for (qsizetype i = 0; i < names.size(); ++i) {
                const nlohmann::json& cell = rows[static_cast<std::size_t>(row)].at(names[i].toStdString());
                const std::string text = cell.is_string()  ? cell.get<std::string>()
                                         : cell.is_array() ? (cell.empty() ? std::string() : cell[0].dump())
                                                           : cell.dump();
                QCOMPARE(text, cells[i].toStdString());
            }
        }
        QCOMPARE(rows[0]["operands"].size(), std::size_t{2});
        QCOMPARE(rows[0]["operands"][0]["found_at"].get<std::string>(), std::string("block1/conv2"));
        QCOMPARE(rows[0]["operands"][1]["promise"].get<int>(), 1);
        QVERIFY(!view.exportTo(folder.filePath(QStringLiteral("p.txt")).toStdString()).ok());
    }

    void looks_data()
    {
        QTest::addColumn<int>("visit");
        QTest::addColumn<unsigned>("promise");
        QTest::newRow("waiting") << 4 << 0U;
        QTest::newRow("half") << 5 << 1U;
        QTest::newRow("end") << 9 << 0U;
    }
    void looks()
    {
        QFETCH(int, visit);
        QFETCH(unsigned, promise);
        tests::TinyContext context;
        context.cursor.moveTo(tests::endOfVisit(context.model, static_cast<std::uint32_t>(visit)));
        PromisesView view(context.model, context.cursor, context.selection);
        WhyView why(context.model, context.cursor, context.selection);
        context.selection.selectPromise(base::PromiseId(std::uint32_t{promise}));
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(view, {330, 380}, kind, QStringLiteral("promises-%1").arg(visit));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Sel]));
            const QImage story = tests::grab(why, {330, 260}, kind, QStringLiteral("why-%1").arg(visit));
            QVERIFY(tests::hasColor(story, Theme::of(kind)[visit == 9 ? Role::FulfilTint : Role::SearchTint]));
        }
    }
};

QTEST_MAIN(PromisesViewTest)
#include "tst_promisesview.moc"
