// SPDX-License-Identifier: Apache-2.0
// Back and forward through places, and bookmarks.
#include <QtTest>

#include "app/gui/shell/bookmarks.h"
#include "app/gui/shell/history.h"
#include "app/gui/shell/shellactions.h"
#include "core/trace/runfile.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/actions.h"

#include <QTemporaryDir>

using namespace retro;
using app::Bookmarks;
using app::History;
using app::HistoryController;
using app::Place;

namespace
{

base::NodeId node(std::uint32_t id) { return base::NodeId(id); }

/// A run, its cursor and selection, the actions, and what is tested.
struct Window
{
    tests::ViewContext context;
    views::ActionRegistry actions;
    std::unique_ptr<HistoryController> history;
    std::unique_ptr<Bookmarks> bookmarks;

    Window()
    {
        actions.addAll(app::shellActions());
        history = std::make_unique<HistoryController>(actions, context.model, context.cursor, context.selection);
        bookmarks = std::make_unique<Bookmarks>(actions, context.model, context.cursor);
        context.showTinyRun();
        history->settle();
    }
    void press(const char* id) { actions.at(QLatin1String(id)).trigger(); }
    void go(std::uint64_t position)
    {
        context.cursor.moveTo(position);
        history->settle();
    }
};

} // namespace

class HistoryTest : public QObject
{
    Q_OBJECT
private slots:
    void placesLikeInABrowser()
    {
        History history;
        QVERIFY(!history.canGoBack() && !history.canGoForward() && !history.back());
        const Place a{1, {}};
        const Place b{2, {}};
        const Place c{2, node(3)};
        for (const Place& place : {a, b, b, c}) {
            history.visit(place);
        }
        QCOMPARE(history.size(), std::size_t{3});
        QVERIFY(history.back() == b);
        QVERIFY(history.back() == a);
        QVERIFY(!history.back());
        QVERIFY(history.forward() == b);
        history.visit({9, {}}); // what lay ahead is forgotten
        QVERIFY(!history.canGoForward());
        QVERIFY(history.back() == b);
    }

    void theOldestFallsOut()
    {
        History history;
        for (std::uint64_t i = 0; i < History::kMost + 5; ++i) {
            history.visit({i, {}});
        }
        QCOMPARE(history.size(), History::kMost);
        std::optional<Place> first;
        while (const auto place = history.back()) {
            first = place;
        }
        QCOMPARE(first->position, std::uint64_t{5});
    }

    void cursorAndSelectionGoBackTogether()
    {
        Window w;
        const std::uint64_t end = w.context.cursor.position();
        w.go(3);
        w.context.selection.selectNode(node(2));
        w.go(7);
        w.press("go.historyback");
        QCOMPARE(w.context.cursor.position(), std::uint64_t{3});
        QVERIFY(w.context.selection.isEmpty());
        w.press("go.historyback");
        QCOMPARE(w.context.cursor.position(), end);
        QVERIFY(!w.actions.at("go.historyback").isEnabled());
        w.press("go.historyforward");
        w.press("go.historyforward");
        QCOMPARE(w.context.cursor.position(), std::uint64_t{7});
        QVERIFY(w.context.selection.node() == node(2));
        QVERIFY(!w.actions.at("go.historyforward").isEnabled());
    }

    void scrubbingLeavesOnlyItsEnd()
    {
        Window w;
        const std::size_t before = w.history->history().size();
        for (std::uint64_t position = 0; position < 12; ++position) {
            w.context.cursor.moveTo(position);
        }
        QTRY_COMPARE_WITH_TIMEOUT(w.history->history().size(), before + 1, 30'000);
        w.press("go.historyback");
        w.press("go.historyforward");
        QCOMPARE(w.context.cursor.position(), std::uint64_t{11});
    }

    void anotherRunStartsAfresh()
    {
        Window w;
        w.go(3);
        w.context.showTinyRun();
        QVERIFY(!w.actions.at("go.historyback").isEnabled());
        w.context.model.clear();
        w.history->settle();
        QCOMPARE(w.history->history().size(), std::size_t{0});
    }

    void bookmarksAreSetAndWalked()
    {
        Window w;
        QSignalSpy said(w.bookmarks.get(), &Bookmarks::said);
        for (const std::uint64_t position : {9, 4, 15}) {
            w.context.cursor.moveTo(position);
            w.press("go.mark");
        }
        QCOMPARE(w.bookmarks->all().size(), std::size_t{3});
        w.context.cursor.moveTo(0);
        std::vector<std::uint64_t> walked;
        for (int i = 0; i < 4; ++i) {
            w.press("go.marknext");
            walked.push_back(w.context.cursor.position());
        }
        QCOMPARE(walked, (std::vector<std::uint64_t>{4, 9, 15, 15}));
        w.press("go.markback");
        QCOMPARE(w.context.cursor.position(), std::uint64_t{9});
        w.press("go.bookmark.1");
        QCOMPARE(w.context.cursor.position(), std::uint64_t{4});
        w.press("go.mark"); // away again
        QCOMPARE(w.bookmarks->all().size(), std::size_t{2});
        QVERIFY(w.actions.at("go.bookmark.2").isVisible());
        QVERIFY(!w.actions.at("go.bookmark.3").isVisible());
        QVERIFY(w.actions.at("go.bookmark.1").text().contains("9"));
        QCOMPARE(said.count(), 5); // three set, one end, one removed
    }

    void bookmarksAreSavedWithTheRun()
    {
        Window w;
        QVERIFY(w.bookmarks->withBookmarks(w.context.model.sharedRun()) == w.context.model.sharedRun());
        w.context.cursor.moveTo(6);
        w.press("go.mark");
        const auto run = w.bookmarks->withBookmarks(w.context.model.sharedRun());
        QTemporaryDir folder;
        const std::string file = folder.filePath("run.retro").toStdString();
        QVERIFY(trace::writeRun(file, *run).ok());
        RETRO_MADE(read, trace::readRun(file));
        QCOMPARE((*read)->bookmarks.size(), std::size_t{1});
        QCOMPARE((*read)->bookmarks.front().position, std::uint64_t{6});
        w.context.model.clear();
        QVERIFY(w.bookmarks->all().empty());
        QVERIFY(!w.actions.at("go.mark").isEnabled());
    }
};

QTEST_MAIN(HistoryTest)
#include "historytest.moc"
