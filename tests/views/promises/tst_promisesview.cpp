// SPDX-License-Identifier: Apache-2.0
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/rangechip.h"
#include "views/common/timerange.h"
#include "views/promises/promisestory.h"
#include "views/promises/promisesview.h"
#include "views/promises/promisetreemodel.h"
#include "views/promises/whypane.h"
#include "views/promises/whyview.h"

#include <QAbstractItemModelTester>
#include <QFile>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

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

const base::PromiseId kFirst(std::uint32_t{0});
const base::PromiseId kSecond(std::uint32_t{1});

} // namespace

class PromisesViewTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }

    void treeFollowsTheCursor()
    {
        tests::ViewContext context;
        context.showTinyRun();
        PromiseTreeModel items(context.model);
        const QAbstractItemModelTester tester(&items, QAbstractItemModelTester::FailureReportingMode::QtTest);
        items.resetRun();
        QCOMPARE(printed(items), QStringLiteral("P0 block1/add | fulfilled | 4 – 6\n"
                                                " .0 block1/conv2 | found | 5\n"
                                                " .1 P1 stem/relu1 | fulfilled | 6 – 8\n"
                                                "  .0 stem/relu1 | found | 6\n"));
        QSignalSpy changed(&items, &QAbstractItemModel::dataChanged);
        context.cursor.moveTo(tests::endOfVisit(context.model, 4));
        items.setPosition(context.model.position());
        QCOMPARE(changed.count(), 3); // conv2 is found in both
        QCOMPARE(printed(items), QStringLiteral("P0 block1/add | waits | 4 …\n"
                                                " .0 block1/conv2 | found | 5\n"
                                                " .1 P1 stem/relu1 | waits | \n"
                                                "  .0 stem/relu1 | not yet | \n"));
        items.setPosition(0);
        QCOMPARE(printed(items), QStringLiteral("P0 block1/add | not yet | \n"
                                                " .0 block1/conv2 | not yet | \n"
                                                " .1 P1 stem/relu1 | not yet | \n"
                                                "  .0 stem/relu1 | not yet | \n"));
        items.setPosition(context.model.run().eventCount());
        QCOMPARE(items.forest().waiting(items.position()), std::size_t{0});
        QCOMPARE(items.forest().fulfilled(items.position()), std::size_t{2});
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
        tests::ViewContext context;
        context.showTinyRun();
        const PromiseForest forest(context.model.run());
        context.cursor.moveTo(tests::endOfVisit(context.model, 4));
        PromiseStory story = promiseStory(context.model, forest, kFirst);
        QCOMPARE(story.title, QStringLiteral("P0 · add · block1/add"));
        QCOMPARE(story.badge, QStringLiteral("waits, 1 visit"));
        QCOMPARE(story.known, QStringList{QStringLiteral("1 of 2 operands known.")});
        QCOMPARE(story.missing, QStringLiteral("Missing: operand .1"));
        context.cursor.moveTo(tests::endOfVisit(context.model, 5));
        story = promiseStory(context.model, forest, kFirst);
        QCOMPARE(story.badge, QStringLiteral("fulfilled"));
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
        tests::ViewContext context;
        context.showTinyRun();
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
        tests::ViewContext context;
        context.showTinyRun();
        context.cursor.moveTo(tests::endOfVisit(context.model, 5)); // P0 fulfilled, P1 below it waits
        PromisesView view(context.model, context.cursor, context.selection);
        view.resize(330, 300);
        view.show();
        view.flush();
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
        tests::ViewContext context;
        context.showTinyRun();
        WhyView view(context.model, context.cursor, context.selection);
        view.resize(330, 260);
        view.show();
        view.flush();
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
        tests::ViewContext context;
        context.showTinyRun();
        TimeRange range;
        PromisesView view(context.model, context.cursor, context.selection);
        view.followRange(range);
        view.resize(330, 380);
        view.show();
        view.flush();
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
        tests::ViewContext context;
        context.showTinyRun();
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
        tests::ViewContext context;
        context.showTinyRun();
        PromisesView view(context.model, context.cursor, context.selection);
        view.flush();
        const QTemporaryDir folder;
        QVERIFY(view.exportTo(folder.filePath(QStringLiteral("p.csv")).toStdString()).ok());
        QFile file(folder.filePath(QStringLiteral("p.csv")));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("\n0,add,block1/add,2,"));
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
        tests::ViewContext context;
        context.showTinyRun();
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
