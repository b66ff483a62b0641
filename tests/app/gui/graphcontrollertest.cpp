// SPDX-License-Identifier: Apache-2.0
// The graph of the window: its line in Problems, the value that it asks to explain, the range of the lists beside it.
#include <QtTest>

#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/style.h"
#include "views/common/widgets/rangechip.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphrefiner.h"
#include "views/graph/graphview.h"
#include "views/log/logmodel.h"
#include "views/log/logview.h"
#include "views/run/runpanel.h"
#include "views/timeline/timelinepane.h"
#include "views/watch/watchmodel.h"
#include "views/watch/watchview.h"

#include <QMenu>
#include <QSettings>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTemporaryDir>

#include <memory>

using namespace retro;

namespace
{

/// A window with the tiny run in the Engine workspace.
struct Stage
{
    Stage()
    {
        window.resize(1400, 900);
        window.showWorkspace(QStringLiteral("engine"));
        window.show();
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.flush();
    }
    [[nodiscard]] views::GraphView& graph() const { return *window.findChild<views::GraphView*>(); }
    [[nodiscard]] std::vector<views::Problem> layoutProblems() const
    {
        std::vector<views::Problem> found;
        for (const views::Problem& problem : window.shell().problems().list().all()) {
            if (problem.origin == views::ProblemOrigin::Layout) {
                found.push_back(problem);
            }
        }
        return found;
    }

    app::MainWindow window;
};

} // namespace

class GraphControllerTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void aFailedRefinementIsOneLineAndTheLayoutStays()
    {
        Stage stage;
        auto* refiner = new views::GraphRefiner(nullptr, QStringLiteral("/nonexistent/retrograde-layout"));
        stage.graph().setRefiner(refiner);
        const auto before = stage.graph().canvas().scene();
        QSignalSpy failed(&stage.graph(), &views::GraphView::refineFailed);
        stage.graph().setRefined(true);
        QTRY_COMPARE(failed.count(), 1);
        QCOMPARE(stage.layoutProblems().size(), std::size_t{1});
        QCOMPARE(stage.layoutProblems()[0].severity, views::Severity::Warning);
        QVERIFY(stage.layoutProblems()[0].what.contains(QStringLiteral("cannot be started")));
        QVERIFY(stage.graph().canvas().scene()->layout.nodes == before->layout.nodes);
        stage.graph().setConstantsHidden(true); // another drawing, another try: still one line
        QTRY_COMPARE(failed.count(), 2);
        QCOMPARE(stage.layoutProblems().size(), std::size_t{1});
        stage.graph().setRefined(false);
        QVERIFY(stage.layoutProblems().empty());
    }

    void aRefinementThatWorksTakesTheLineAway()
    {
        Stage stage;
        emit stage.graph().refineFailed(QStringLiteral("it was tired"));
        QCOMPARE(stage.layoutProblems().size(), std::size_t{1});
        emit stage.graph().refineSucceeded();
        QVERIFY(stage.layoutProblems().empty());
    }

    void aRecordedRunSaysThatItCannotExplainAnotherValue()
    {
        Stage stage;
        const base::ValueId value = stage.window.model().valueOf(base::NodeId(std::uint32_t{tests::kAdd}));
        emit stage.graph().targetRequested(value);
        QVERIFY(stage.window.statusBar()->currentMessage().contains(QStringLiteral("Open its model")));
    }

    void aRangeOfTheTimelineIsAChipEverywhere()
    {
        Stage stage;
        auto* pane = stage.window.findChild<views::TimelinePane*>();
        stage.window.cursor().moveTo(tests::endOfVisit(stage.window.model(), 4));
        const std::unique_ptr<QMenu> menu(pane->makeMenu());
        menu->findChild<QAction*>(QStringLiteral("timeline.rangefrom"))->trigger();
        const auto chips = stage.window.findChildren<views::RangeChip*>();
        QCOMPARE(chips.size(), 5); // graph, timeline, log, promises, ledger
        for (const views::RangeChip* chip : chips) {
            QVERIFY(!chip->isHidden());
            QCOMPARE(chip->text(), QStringLiteral("visits 5 – 10"));
        }
        auto* log = stage.window.findChild<views::LogView*>();
        QTRY_VERIFY(log->items().isFiltered());
        QTest::mouseClick(chips.front(), Qt::LeftButton);
        QTRY_VERIFY(!log->items().isFiltered());
        menu->findChild<QAction*>(QStringLiteral("timeline.rangefrom"))->trigger();
        stage.window.model().clear(); // another run has other visits
        QVERIFY(chips.front()->isHidden());
    }

    void theGraphPutsNodesOnTheWatchList()
    {
        Stage stage;
        auto* watch = stage.window.findChild<views::WatchView*>();
        emit stage.graph().watchRequested(base::NodeId(std::uint32_t{tests::kAdd}));
        QCOMPARE(watch->items().texts(), QStringList{QStringLiteral("R(block1/add)")});
        watch->flush();
        QVERIFY(watch->items().resultAt(0).number.has_value());
    }

    void filtersAreThereAtTheNextStart()
    {
        QTemporaryDir folder;
        QSettings store(folder.filePath(QStringLiteral("settings.ini")), QSettings::IniFormat);
        {
            Stage stage;
            stage.window.shell().remember(store);
            auto* log = stage.window.findChild<views::LogView*>();
            log->setFilter(QStringLiteral("kind:visit"));
            log->toggleSaved();
            stage.graph().setColourBy(views::ColourBy::Rule);
            stage.window.shell().saveLayouts();
        }
        app::MainWindow window;
        window.shell().remember(store);
        const auto* log = window.findChild<views::LogView*>();
        QCOMPARE(log->savedFilters(), QStringList{QStringLiteral("kind:visit")});
        QCOMPARE(log->filter(), QStringLiteral("kind:visit"));
        QCOMPARE(window.findChild<views::GraphView*>()->colourBy(), views::ColourBy::Rule);
    }
};

QTEST_MAIN(GraphControllerTest)
#include "graphcontrollertest.moc"
