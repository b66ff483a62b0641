// SPDX-License-Identifier: Apache-2.0
// What the window is like at the next start, and at the one after it: arrangement, size, session.
#include <QtTest>

#include "app/gui/shell/preferences.h"
#include "app/gui/shell/session.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/welcomepage.h"
#include "app/gui/shell/windowplace.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/style.h"

#include <QDockWidget>
#include <QSettings>
#include <QTemporaryDir>

using namespace retro;

namespace
{

/// An empty store in a folder that goes away.
struct RestartStore
{
    QTemporaryDir folder;
    QSettings settings{folder.filePath("settings.ini"), QSettings::IniFormat};
};

/// One start of the window: it remembers in the store, and shows a run in the workspace.
struct Start
{
    Start(RestartStore& store, const QString& workspace)
    {
        window.shell().remember(store.settings);
        window.show();
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.showWorkspace(workspace);
        settle();
    }
    ~Start() { window.close(); }

    static void settle()
    {
        QCoreApplication::processEvents();
        QCoreApplication::sendPostedEvents();
        QCoreApplication::processEvents();
    }
    /// Where every dock of the workspace lies; closed ones and those behind tabs are empty.
    QList<QRect> places()
    {
        settle();
        QList<QRect> found;
        for (const QDockWidget* dock : window.workspace().docks()) {
            found << (dock->visibleRegion().isEmpty() ? QRect() : dock->geometry());
        }
        return found;
    }

    app::MainWindow window;
};

QString geometryText(const QWidget& window)
{
    const QRect at = window.geometry();
    return QStringLiteral("%1 × %2 at %3, %4").arg(at.width()).arg(at.height()).arg(at.x()).arg(at.y());
}

/// Drags the line at the right of the dock, as a person does.
void dragLine(app::Workspace& space, const QDockWidget& dock)
{
    const QPoint line(dock.geometry().right() + 1 + app::kSeparator / 2, dock.geometry().center().y());
    QTest::mousePress(&space, Qt::LeftButton, {}, line);
    QTest::mouseMove(&space, line + QPoint(40, 0));
    QTest::mouseMove(&space, line + QPoint(60, 0));
    QTest::mouseRelease(&space, Qt::LeftButton, {}, line + QPoint(60, 0));
}

} // namespace

class RestartTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void anArrangementLasts_data()
    {
        QTest::addColumn<QString>("workspace");
        for (const QString& id : app::MainWindow::workspaceIds()) {
            QTest::newRow(qPrintable(id)) << id;
        }
    }

    void anArrangementLasts()
    {
        QFETCH(const QString, workspace);
        RestartStore store;
        QList<QRect> arranged;
        {
            Start first(store, workspace);
            const auto& docks = first.window.workspace().docks();
            docks[1]->close();
            Start::settle();
            dragLine(first.window.workspace(), *docks.front());
            arranged = first.places();
        }
        for (int start = 2; start <= 5; ++start) {
            Start again(store, workspace);
            QCOMPARE(again.places(), arranged);
        }
    }

    void aResetLasts_data() { anArrangementLasts_data(); }

    void aResetLasts()
    {
        QFETCH(const QString, workspace);
        RestartStore store;
        QList<QRect> atFirst;
        {
            Start first(store, workspace);
            atFirst = first.places();
            const auto& docks = first.window.workspace().docks();
            docks[1]->close();
            docks.front()->setFloating(true);
        }
        {
            Start second(store, workspace);
            second.window.actions().at("view.resetlayout").trigger();
            QCOMPARE(second.places(), atFirst);
        }
        for (int start = 3; start <= 5; ++start) {
            Start again(store, workspace);
            QCOMPARE(again.places(), atFirst);
        }
    }

    void whatNobodyArrangedFollowsTheWindow()
    {
        RestartStore store;
        {
            Start first(store, "explain");
        }
        Start second(store, "explain");
        second.window.resize(second.window.size() + QSize(160, 100));
        const QList<QRect> larger = second.places();
        RestartStore fresh;
        Start other(fresh, "explain");
        other.window.resize(other.window.size() + QSize(160, 100));
        QCOMPARE(other.places(), larger);
    }

    void theWindowFitsItsScreen_data()
    {
        QTest::addColumn<QRect>("wanted");
        QTest::addColumn<QRect>("fitted");
        QTest::newRow("fits") << QRect(40, 50, 1000, 600) << QRect(40, 50, 1000, 600);
        QTest::newRow("larger") << QRect(0, 0, 1600, 1000) << QRect(0, 0, 1280, 800);
        QTest::newRow("right of it") << QRect(900, 50, 1000, 600) << QRect(280, 50, 1000, 600);
        QTest::newRow("on a screen that is gone") << QRect(2600, -900, 1500, 700) << QRect(0, 0, 1280, 700);
    }

    void theWindowFitsItsScreen()
    {
        QFETCH(const QRect, wanted);
        QFETCH(const QRect, fitted);
        QCOMPARE(app::fittedInto(wanted, QRect(0, 0, 1280, 800)), fitted);
    }

    /// Its title bar belongs to it: what is below must not hang out of the screen by as much.
    void theFrameIsOnTheScreenToo()
    {
        const QRect room = QGuiApplication::primaryScreen()->availableGeometry();
        QWidget window;
        window.setGeometry(room);
        const QSize frame = app::frameOf(window);
        QVERIFY(frame.height() >= 20);
        app::keepOnScreen(window);
        QCOMPARE(window.size(), room.size() - frame);
        QCOMPARE(window.pos(), room.topLeft());
        window.setGeometry(QRect(room.topLeft() + QPoint(10, 20), room.size() / 2)); // what fits stays
        const QRect before = window.geometry();
        app::keepOnScreen(window);
        QCOMPARE(window.geometry(), before);
    }

    void theWindowStaysOnTheScreen()
    {
        // The screen of tests is smaller than the panes can be: the window is as small as they let it.
        const QRect room = QGuiApplication::primaryScreen()->availableGeometry();
        RestartStore store;
        const auto fits = [&](const app::MainWindow& window) {
            return room.contains(window.geometry().topLeft()) && window.width() < views::fonts::px(1600) &&
                   window.height() <= std::max(room.height(), views::fonts::px(900));
        };
        {
            Start first(store, "explain");
            QVERIFY2(fits(first.window), qPrintable(geometryText(first.window)));
            first.window.setGeometry(3000, 2000, 4000, 3000);
        }
        Start second(store, "explain");
        QVERIFY2(fits(second.window), qPrintable(geometryText(second.window))); // from what was saved
    }

    void theLastSessionIsGoneOnWith()
    {
        RestartStore store;
        const auto settles = [](const app::MainWindow& window) {
            return QTest::qWaitFor([&] { return !window.isBusy(); }, 60'000);
        };
        const auto sessionRow = [](const app::MainWindow& window) {
            app::WelcomeRow* found = nullptr;
            for (app::WelcomeRow* row : window.findChildren<app::WelcomeRow*>()) {
                found = row->text() == QStringLiteral("clever-hans.onnx") ? row : found;
            }
            return found;
        };
        std::uint64_t position = 0;
        std::string node;
        {
            app::MainWindow window;
            window.shell().remember(store.settings);
            window.show();
            QVERIFY(sessionRow(window) == nullptr); // the first start has nothing to go on with
            window.open({}, {}, QStringLiteral("epsilon"));
            QVERIFY(settles(window));
            window.showWorkspace(QStringLiteral("engine"));
            position = window.cursor().end() / 2;
            window.cursor().moveTo(position);
            node = window.model().graph().nodes()[3].name;
            window.selection().selectNode(base::NodeId(std::uint32_t{3}));
            window.close();
        }
        app::MainWindow window;
        window.shell().remember(store.settings);
        window.show();
        app::WelcomeRow* row = sessionRow(window);
        QVERIFY(row != nullptr);
        row->click();
        QVERIFY(settles(window));
        QTRY_COMPARE(window.workspace().id(), QStringLiteral("engine"));
        QCOMPARE(window.cursor().position(), position);
        QCOMPARE(QString::fromStdString(window.model().run().facts.composite), QStringLiteral("epsilon"));
        const base::NodeId selected = window.model().nodeOf(window.selection().thing());
        QCOMPARE(QString::fromStdString(window.model().graph().labelOf(selected)), QString::fromStdString(node));
        app::Session gone;
        gone.path = QStringLiteral("/nowhere/model.onnx");
        QVERIFY(!gone.canResume());
    }
};

QTEST_MAIN(RestartTest)
#include "restarttest.moc"
