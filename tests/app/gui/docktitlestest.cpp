// SPDX-License-Identifier: Apache-2.0
// Titles and tabs of docks, and the sizes that the workspaces give them.
#include <QtTest>

#include "app/gui/window/docktitles.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tabline.h"
#include "app/gui/window/tabrow.h"
#include "app/gui/window/workspaces.h"
#include "core/ops/threads.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"
#include "views/common/widgets/docktitle.h"
#include "views/common/widgets/hintlabel.h"
#include "views/heatmap/heatmapview.h"
#include "views/run/runpanel.h"

#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QTabBar>
#include <QToolButton>

using namespace retro;

namespace
{

/// Three docks side by side.
struct Window
{
    QMainWindow window;
    app::DockTitles titles{window};
    QDockWidget* left = add("Inspector");
    QDockWidget* right = add("Heatmap");
    QDockWidget* other = add("Ledger");

    Window()
    {
        window.setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
        window.resize(900, 400);
        window.show();
        settle();
    }

    QDockWidget* add(const char* name)
    {
        auto* dock = new QDockWidget(QLatin1String(name), &window);
        dock->setObjectName(QLatin1String(name));
        dock->setWidget(new QWidget(dock));
        titles.add(*dock);
        window.addDockWidget(Qt::TopDockWidgetArea, dock, Qt::Horizontal);
        return dock;
    }

    void tabify()
    {
        window.tabifyDockWidget(left, right);
        left->raise();
        settle();
    }

    void settle()
    {
        QTest::qWait(0);
        QCoreApplication::processEvents();
    }

    app::TabRow* row() const
    {
        for (app::TabRow* found : window.findChildren<app::TabRow*>()) {
            if (!found->isHidden()) {
                return found;
            }
        }
        return nullptr;
    }

    QToolButton* rowButton(const char* start) const
    {
        for (QToolButton* button : row()->findChildren<QToolButton*>()) {
            if (button->accessibleName().startsWith(QLatin1String(start))) {
                return button;
            }
        }
        return nullptr;
    }
};

bool hasTitleBar(const QDockWidget& dock) { return qobject_cast<views::DockTitle*>(dock.titleBarWidget()) != nullptr; }

QRect inWindow(const QWidget& widget, const QWidget& window)
{
    return {widget.mapTo(&window, QPoint()), widget.size()};
}

QDockWidget* dockOf(const app::Workspace& space, const QString& name)
{
    for (QDockWidget* dock : space.docks()) {
        if (dock->objectName() == space.id() + QLatin1Char('.') + name) {
            return dock;
        }
    }
    return nullptr;
}

void settle(app::MainWindow& window)
{
    window.flush();
    QTest::qWait(0);
    window.flush();
}

/// A window of that size with the built-in sample in a workspace.
void openSample(app::MainWindow& window, const QSize& size, const char* workspace)
{
    window.resize(size);
    window.showWorkspace(QLatin1String(workspace));
    window.show();
    window.open({});
    QVERIFY(QTest::qWaitFor([&] { return !window.isBusy(); }, 60'000));
    settle(window);
}

/// The same with a small run that needs no engine.
void showTiny(app::MainWindow& window, const QSize& size, const char* workspace)
{
    window.resize(size);
    window.showWorkspace(QLatin1String(workspace));
    window.show();
    window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
    settle(window);
}

/// Names on all tabs of a workspace; those that are elided with a leading "elided: ".
QStringList tabNames(const app::Workspace& space)
{
    QStringList names;
    for (const QTabBar* bar : space.findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly)) {
        for (int i = 0; i < bar->count() && !bar->isHidden(); ++i) {
            const double needed = views::fonts::widthOf(views::fonts::label(QFont::DemiBold), bar->tabText(i));
            const bool isWhole = bar->tabRect(i).width() > needed && bar->tabRect(i).right() < bar->width();
            names.append((isWhole ? QString() : QStringLiteral("elided: ")) + bar->tabText(i));
        }
    }
    return names;
}

/// The run panel has the width that it needs, and the heatmap is the largest thing beside it.
void checkExplain(const app::MainWindow& window, const QSize& size)
{
    const auto* space = window.findChild<app::ExplainWorkspace*>();
    QCOMPARE(window.size(), size); // its content does not force it wider
    const views::RunPanel& panel = space->runPanel();
    QVERIFY(panel.width() >= panel.minimumSizeHint().width());
    QVERIFY(panel.width() < size.width() * 0.27);
    for (const char* name : {"Run", "Input", "Classes", "Compare"}) {
        const QDockWidget& dock = *dockOf(*space, QLatin1String(name));
        QVERIFY2(dock.width() < dockOf(*space, QStringLiteral("Heatmap"))->width(), name);
    }
}

} // namespace

class DockTitlesTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase()
    {
        views::Style::install(*qApp);
        ops::setThreads(1); // on a busy machine, threads that wait for each other take ten times as long
    }

    void aDockThatIsGoneIsForgotten()
    {
        Window window;
        window.tabify();
        QVERIFY(window.row() != nullptr);
        delete window.left;
        window.other->setFloating(true); // asks for the row at once
        window.titles.setHintsShown(false);
        window.titles.flush();
        window.settle();
        QCOMPARE(window.row(), nullptr);
        QVERIFY(hasTitleBar(*window.right));
    }

    void cleanup() { views::Style::install(*qApp); }

    void tabbedDocksDropTheirTitleBar()
    {
        Window w;
        QVERIFY(hasTitleBar(*w.left) && hasTitleBar(*w.right) && hasTitleBar(*w.other));
        QCOMPARE(w.row(), nullptr);
        w.tabify();
        QVERIFY(!hasTitleBar(*w.left));
        QVERIFY(!hasTitleBar(*w.right));
        QVERIFY(hasTitleBar(*w.other));
        QVERIFY(w.row() != nullptr);
        QCOMPARE(w.left->titleBarWidget()->height(), 0);
        QCOMPARE(w.left->widget()->height(), w.left->height());
    }

    void untabbedDocksGetItBack()
    {
        Window w;
        w.tabify();
        w.window.addDockWidget(Qt::BottomDockWidgetArea, w.right);
        w.settle();
        QVERIFY(hasTitleBar(*w.left) && hasTitleBar(*w.right));
        QCOMPARE(w.row(), nullptr);
        w.tabify();
        QVERIFY(!hasTitleBar(*w.left));
        w.right->setFloating(true);
        w.settle();
        QVERIFY(hasTitleBar(*w.left) && hasTitleBar(*w.right));
    }

    void aClosedNeighbourLeavesNoTab()
    {
        Window w;
        w.tabify();
        w.right->close();
        w.settle();
        QVERIFY(hasTitleBar(*w.left));
        w.right->show();
        w.settle();
        QVERIFY(!hasTitleBar(*w.left));
    }

    void anArrangementThatIsRestoredIsNoticed()
    {
        Window w;
        const QByteArray apart = w.window.saveState();
        w.tabify();
        const QByteArray together = w.window.saveState();
        w.window.restoreState(apart);
        w.settle();
        QVERIFY(hasTitleBar(*w.left) && hasTitleBar(*w.right));
        w.window.restoreState(together);
        w.settle();
        QVERIFY(!hasTitleBar(*w.left) && !hasTitleBar(*w.right));
    }

    void theRowActsOnTheDockInFront()
    {
        Window w;
        w.tabify();
        w.right->raise();
        w.settle();
        w.rowButton("Close")->click();
        w.settle();
        QVERIFY(w.right->isHidden());
        QVERIFY(!w.left->isHidden());
        w.right->show();
        w.left->raise();
        w.settle();
        w.rowButton("Make this pane")->click();
        w.settle();
        QVERIFY(w.left->isFloating());
        QVERIFY(!w.right->isFloating());
    }

    void theRowFollowsItsDocks()
    {
        Window w;
        w.tabify();
        for (const int width : {900, 1400, 700}) {
            w.window.resize(width, 400);
            w.settle();
            QCOMPARE(w.row()->x(), w.left->x());
            QCOMPARE(w.row()->width(), w.left->width());
            QCOMPARE(w.row()->geometry().bottom() + 1, w.left->y());
            QVERIFY(!w.row()->tabs()->geometry().intersects(inWindow(*w.rowButton("Close"), w.window)));
        }
    }

    void tabsSayAllThatTheyCan()
    {
        Window w;
        w.titles.setCaption(*w.left, {QStringLiteral("Inspector"), {}, {}});
        w.titles.setCaption(*w.right, {QStringLiteral("Relevance for “mug”"), {}, {}});
        w.tabify();
        const QTabBar& tabs = *w.row()->tabs();
        QCOMPARE(tabs.count(), 2);
        for (int i = 0; i < tabs.count(); ++i) {
            const double bold = views::fonts::widthOf(views::fonts::label(QFont::DemiBold), tabs.tabText(i));
            const double plain = views::fonts::widthOf(tabs.font(), tabs.tabText(i));
            QVERIFY2(tabs.tabRect(i).width() > std::max(bold, plain), qPrintable(tabs.tabText(i)));
        }
    }

    void theLineSaysWhatTheTabDoesNot()
    {
        app::TabLine line;
        line.setCaption({QStringLiteral("Inspector"), {}, {}}, QStringLiteral("Inspector"));
        QCOMPARE(line.sizeHint().height(), 0);
        line.setCaption({QStringLiteral("Relevance for “mug”"), QStringLiteral("at the input"), {}},
                        QStringLiteral("Heatmap"));
        QCOMPARE(line.sizeHint().height(), views::fonts::px(24));
        QCOMPARE(line.words(), QStringLiteral("Relevance for “mug”  at the input"));
        line.setCaption({QStringLiteral("Inspector"), {}, QStringLiteral("What a node is.")},
                        QStringLiteral("Inspector"));
        QCOMPARE(line.words(), QStringLiteral("What a node is."));
    }

    /// Name, subject and sentence are one text: it goes on in the second line, and is cut only when both are full.
    void theLineFlows()
    {
        app::TabLine line;
        const QString name = QStringLiteral("Relevance for “mug”");
        const QString subject = QStringLiteral("at block1/Add");
        const QString hint = QStringLiteral("Red pixels speak for mug, blue ones against it.");
        line.setCaption({name, subject, hint}, QStringLiteral("Heatmap"));
        line.resize(views::fonts::px(300), views::fonts::px(60));
        line.show();
        QVERIFY(QTest::qWaitForWindowExposed(&line));
        const auto* label = line.findChild<views::HintLabel*>();
        const QStringList lines = label->shownLines();
        QCOMPARE(lines.size(), 2);
        QVERIFY2(lines.front().contains(subject), qPrintable(lines.front()));
        QVERIFY2(!lines.back().endsWith(QChar(0x2026)), qPrintable(lines.back()));
        QCOMPARE(lines.join(QLatin1Char(' ')).simplified(), (name + ' ' + subject + ' ' + hint));
    }

    void everyTabOfTheEngineIsWholeInASmallWindow()
    {
        app::MainWindow window;
        showTiny(window, {1280, 800}, "engine");
        settle(window);
        const QString tabs = tabNames(*window.findChild<app::EngineWorkspace*>()).join(QStringLiteral(", "));
        QVERIFY2(!tabs.contains(QStringLiteral("elided")), qPrintable(tabs));
        QVERIFY2(tabs.contains(QStringLiteral("Promises, Breakpoints, Diagnose")), qPrintable(tabs));
    }

    void theHeatmapOfTheEngineIsATab()
    {
        app::MainWindow window;
        showTiny(window, {1600, 1000}, "engine");
        const auto* space = window.findChild<app::EngineWorkspace*>();
        QVERIFY(!hasTitleBar(*dockOf(*space, QStringLiteral("Inspector"))));
        QVERIFY(hasTitleBar(*dockOf(*space, QStringLiteral("Graph"))));
        const QStringList tabs = tabNames(*space);
        QVERIFY(tabs.contains(QStringLiteral("Inspector")));
        QVERIFY(tabs.contains(QStringLiteral("Heatmap")));
    }

    void everythingIsWholeWithALargeFont()
    {
        views::Style::install(*qApp, 1.25);
        const QSize size(1280, 800);
        app::MainWindow window;
        openSample(window, size, "explain");
        checkExplain(window, size);
        window.showWorkspace(QStringLiteral("engine"));
        settle(window);
        QCOMPARE(window.size(), size);
        const auto* space = window.findChild<app::EngineWorkspace*>();
        const QString tabs = tabNames(*space).join(QStringLiteral(", "));
        QVERIFY2(tabs.contains(QStringLiteral("Now, Inspector, Log, Ledger")), qPrintable(tabs));
        QVERIFY2(!tabs.contains(QStringLiteral("elided")), qPrintable(tabs));
        QVERIFY(dockOf(*space, QStringLiteral("Graph"))->width() > dockOf(*space, QStringLiteral("Promises"))->width());
    }

    void theRunPanelIsWholeAtAnySize()
    {
        app::MainWindow window;
        openSample(window, {1600, 1000}, "explain");
        for (const QSize size : {QSize(1600, 1000), QSize(1280, 800), QSize(2560, 1300)}) {
            window.resize(size);
            settle(window);
            checkExplain(window, size);
        }
    }

    void sizesFollowTheWindow()
    {
        app::MainWindow window;
        showTiny(window, {1600, 1000}, "explain");
        const auto* space = window.findChild<app::ExplainWorkspace*>();
        const int run = space->runPanel().width();
        window.resize(1280, 800);
        QTest::qWait(0);
        window.resize(1600, 1000);
        QTest::qWait(0);
        QCOMPARE(space->runPanel().width(), run);
    }

    void whatAPersonArrangedStays()
    {
        app::MainWindow window;
        showTiny(window, {1600, 1000}, "explain");
        auto* space = window.findChild<app::ExplainWorkspace*>();
        const int run = space->runPanel().width();
        const QPoint line(space->runPanel().parentWidget()->geometry().right() + 3, 400);
        QCOMPARE(space->childAt(line), nullptr);
        QTest::mousePress(space, Qt::LeftButton, {}, line);
        QTest::mouseMove(space, line + QPoint(80, 0));
        QTest::qWait(0);
        QTest::mouseRelease(space, Qt::LeftButton, {}, line + QPoint(80, 0));
        QTest::qWait(0);
        const int arranged = space->runPanel().width();
        QVERIFY(arranged >= run + 60);
        window.resize(1610, 1000);
        QTest::qWait(0);
        QVERIFY(space->runPanel().width() >= arranged);
        space->resetLayout();
        QTest::qWait(0);
        QVERIFY(std::abs(space->runPanel().width() - run) <= 4);
    }

    void aWorkspaceShownLaterHasItsSizes()
    {
        const auto widths = [](bool isLater) {
            app::MainWindow window;
            showTiny(window, {1600, 1000}, isLater ? "explain" : "engine");
            window.showWorkspace(QStringLiteral("engine"));
            QTest::qWait(0);
            window.flush();
            QList<int> found;
            for (const QDockWidget* dock : window.findChild<app::EngineWorkspace*>()->docks()) {
                if (dock->geometry().right() > 0) { // behind a tab, a dock has no place
                    found << dock->width() << dock->height();
                }
            }
            return found;
        };
        QCOMPARE(widths(true), widths(false));
    }

    void resetLayoutPutsEverythingBack()
    {
        app::MainWindow window;
        showTiny(window, {1600, 1000}, "engine");
        auto* space = window.findChild<app::EngineWorkspace*>();
        const auto places = [space] {
            QList<QRect> found;
            for (const QDockWidget* dock : space->docks()) {
                found << (dock->geometry().right() > 0 ? dock->geometry() : QRect());
            }
            return found;
        };
        const QList<QRect> before = places();
        dockOf(*space, QStringLiteral("Graph"))->close();
        dockOf(*space, QStringLiteral("Timeline"))->setFloating(true);
        QTest::qWait(0);
        space->resetLayout();
        QTest::qWait(0);
        window.flush();
        QCOMPARE(places(), before);
        QVERIFY(!hasTitleBar(*dockOf(*space, QStringLiteral("Inspector"))));
        QVERIFY(hasTitleBar(*dockOf(*space, QStringLiteral("Graph"))));
    }

    void aPaneOfItsOwnGoesWithItsWorkspace()
    {
        app::MainWindow window;
        showTiny(window, {1600, 1000}, "engine");
        auto* engine = window.findChild<app::EngineWorkspace*>();
        QDockWidget* apart = dockOf(*engine, QStringLiteral("Timeline"));
        apart->setFloating(true);
        QTest::qWait(0);
        QVERIFY(apart->isVisible());
        window.showWorkspace(QStringLiteral("explain"));
        QVERIFY(!apart->isVisible());
        const QByteArray layout = engine->layout(1); // as it is kept for the next start
        QVERIFY(!apart->isVisible());
        window.showWorkspace(QStringLiteral("engine"));
        QVERIFY(apart->isVisible() && apart->isFloating());
        apart->close(); // what a person closed stays closed
        window.showWorkspace(QStringLiteral("explain"));
        window.showWorkspace(QStringLiteral("engine"));
        QVERIFY(!apart->isVisible());

        app::MainWindow next;
        auto* other = next.findChild<app::EngineWorkspace*>();
        QVERIFY(other->takeLayout(layout, 1, true));
        showTiny(next, {1600, 1000}, "explain");
        QDockWidget* again = dockOf(*other, QStringLiteral("Timeline"));
        QVERIFY(again->isFloating() && !again->isVisible());
        next.showWorkspace(QStringLiteral("engine"));
        QTest::qWait(0);
        QVERIFY(again->isVisible());
    }
};

QTEST_MAIN(DockTitlesTest)
#include "docktitlestest.moc"
