// SPDX-License-Identifier: Apache-2.0
// Tab goes through everything that can be used, pane by pane, and Shift+Tab too; nothing glides when it should not.
#include <QtTest>

#include "app/gui/shell/preferences.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/tabrow.h"
#include "app/gui/window/workspaces.h"
#include "tests/app/gui/settles.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/motion.h"

#include <QAbstractAnimation>
#include <QAccessible>
#include <QDockWidget>
#include <QPointer>
#include <QTabBar>
#include <QTemporaryDir>

using namespace retro;

namespace
{

/// More presses of Tab than a window has widgets.
constexpr int kMostPresses = 400;

QString nameOf(const QWidget& widget)
{
    return QStringLiteral("%1 '%2'").arg(QLatin1String(widget.metaObject()->className()), widget.accessibleName());
}

QDockWidget* dockOf(QWidget* widget);

/// One line per widget, with its pane.
QStringList namesOf(const QList<QPointer<QWidget>>& widgets)
{
    QStringList names;
    for (const QPointer<QWidget>& widget : widgets) {
        if (widget != nullptr) {
            const QDockWidget* dock = dockOf(widget);
            names << (dock != nullptr ? dock->objectName() + QStringLiteral(": ") : QString()) + nameOf(*widget);
        }
    }
    return names;
}

QDockWidget* dockOf(QWidget* widget)
{
    for (; widget != nullptr; widget = widget->parentWidget()) {
        if (auto* dock = qobject_cast<QDockWidget*>(widget)) {
            return dock;
        }
    }
    return nullptr;
}

/// Whether a widget is on the row of tabs right above a pane: its buttons float and close the pane in front.
bool isInTabRowOf(QWidget* widget, const QDockWidget& dock)
{
    for (; widget != nullptr; widget = widget->parentWidget()) {
        if (auto* row = qobject_cast<app::TabRow*>(widget)) {
            const QTabBar* tabs = row->tabs();
            return tabs != nullptr && tabs->tabText(tabs->currentIndex()) == dock.windowTitle();
        }
    }
    return false;
}

using Walk = QList<QPointer<QWidget>>;

/// Where the keyboard comes to with each press, until it is where it was.
Walk walk(app::MainWindow& window, Qt::Key key)
{
    Walk visited;
    for (int i = 0; i < kMostPresses; ++i) {
        QWidget* now = QApplication::focusWidget();
        if (now == nullptr || visited.contains(now)) {
            break;
        }
        visited << now;
        QTest::keyClick(window.windowHandle(), key);
        window.flush(); // a pane may get another subject with the keyboard, and others follow it
    }
    return visited;
}

QList<QWidget*> usable(const app::MainWindow& window)
{
    QList<QWidget*> found;
    for (QWidget* widget : window.findChildren<QWidget*>()) {
        const bool takesTab = (widget->focusPolicy() & Qt::TabFocus) != 0 && widget->focusProxy() == nullptr;
        if (takesTab && widget->isVisible() && widget->isEnabled() && widget->window() == &window) {
            found << widget;
        }
    }
    return found;
}

/// Rounds until everything was reached: a pane that gets the keyboard may choose a row, and then others that were
/// passed have more to offer; what they offer may take a turn of the event loop to come.
Walk walkRounds(app::MainWindow& window, Qt::Key key)
{
    constexpr int kMostRounds = 6;
    Walk visited;
    for (int round = 0; round < kMostRounds; ++round) {
        visited += walk(window, key);
        QCoreApplication::processEvents();
        const QList<QWidget*> wanted = usable(window);
        if (std::ranges::all_of(wanted, [&](QWidget* widget) { return visited.contains(widget); })) {
            break;
        }
    }
    return visited;
}

void show(app::MainWindow& window, const QString& workspace)
{
    window.resize(1600, 1000);
    window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
    window.showWorkspace(workspace);
    window.show();
    window.activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(&window, 30'000));
    window.flush();
    window.actions().at(QStringLiteral("window.dock1")).trigger();
    QVERIFY(QApplication::focusWidget() != nullptr);
}

} // namespace

class KeyboardTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::keepSettingsIn(m_settings); }

    void tabReachesEverything_data() { addWorkspaces(); }

    void tabReachesEverything()
    {
        QFETCH(const QString, workspace);
        app::MainWindow window;
        show(window, workspace);
        const Walk visited = walkRounds(window, Qt::Key_Tab);
        Walk missed;
        for (QWidget* widget : usable(window)) {
            if (!visited.contains(widget)) {
                missed << widget;
            }
        }
        QVERIFY2(missed.isEmpty(), qPrintable(namesOf(missed).join(QLatin1Char('\n'))));
        // What takes no keyboard by itself, as a picture without a brush, is reached by the buttons of its title; among
        // tabs those are on the row of the tabs, for the pane in front.
        for (const QDockWidget* dock : window.workspace().docks()) {
            const bool isReached = std::any_of(visited.begin(), visited.end(), [&](const QPointer<QWidget>& widget) {
                return dockOf(widget) == dock || isInTabRowOf(widget, *dock);
            });
            QVERIFY2(isReached || !dock->widget()->isVisible(), qPrintable(dock->objectName()));
        }
    }

    void tabStaysInAPaneUntilItsEnd_data() { addWorkspaces(); }

    void tabStaysInAPaneUntilItsEnd()
    {
        QFETCH(const QString, workspace);
        app::MainWindow window;
        show(window, workspace);
        QStringList panes;
        for (const QPointer<QWidget>& widget : walk(window, Qt::Key_Tab)) {
            const QDockWidget* dock = dockOf(widget);
            const QString name = dock != nullptr ? dock->objectName() : QString();
            if (!name.isEmpty() && (panes.isEmpty() || panes.back() != name)) {
                panes << name;
            }
        }
        if (panes.size() > 1 && panes.front() == panes.back()) {
            panes.removeLast(); // it began in the middle of the first
        }
        QStringList once = panes;
        once.removeDuplicates();
        QVERIFY(once.size() >= 3);
        QVERIFY2(panes == once, qPrintable(panes.join(QLatin1Char('\n'))));
    }

    void shiftTabReachesEverythingToo_data() { addWorkspaces(); }

    void shiftTabReachesEverythingToo()
    {
        QFETCH(const QString, workspace);
        app::MainWindow window;
        show(window, workspace);
        const Walk visited = walkRounds(window, Qt::Key_Backtab);
        Walk missed;
        for (QWidget* widget : usable(window)) {
            if (!visited.contains(widget)) {
                missed << widget;
            }
        }
        QVERIFY2(missed.isEmpty(), qPrintable(namesOf(missed).join(QLatin1Char('\n'))));
    }

    void everythingUsableHasAName_data() { addWorkspaces(); }

    void everythingUsableHasAName()
    {
        QFETCH(const QString, workspace);
        app::MainWindow window;
        show(window, workspace);
        QStringList nameless;
        for (QWidget* widget : usable(window)) {
            QAccessibleInterface* face = QAccessible::queryAccessibleInterface(widget);
            if (face == nullptr || face->text(QAccessible::Name).isEmpty()) {
                const QDockWidget* dock = dockOf(widget);
                nameless << (dock != nullptr ? dock->objectName() : QString()) + QStringLiteral(": ") +
                                QLatin1String(widget->metaObject()->className());
            }
        }
        QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(QLatin1Char('\n'))));
    }

    void nothingGlidesWhenMotionIsReduced()
    {
        app::MainWindow window;
        window.shell().preferences().setMotionReduced(true);
        for (const QString& workspace : app::MainWindow::workspaceIds()) {
            show(window, workspace);
            // Whatever moves things in the window: panes, playing, the graph, trees, lists, the tour.
            for (const char* id : {"window.problems", "window.maximise", "window.maximise", "window.problems",
                                   "go.first", "go.play", "graph.fit", "graph.zoomin", "view.palette", "run.stop"}) {
                if (QAction* action = window.actions().find(QLatin1String(id))) {
                    action->trigger();
                }
                QCOMPARE(runningAnimations(window), QStringList());
                QCoreApplication::processEvents();
                QCOMPARE(runningAnimations(window), QStringList());
            }
        }
        window.shell().preferences().setMotionReduced(false);
    }

private:
    static void addWorkspaces()
    {
        QTest::addColumn<QString>("workspace");
        for (const QString& workspace : app::MainWindow::workspaceIds()) {
            QTest::newRow(qPrintable(workspace)) << workspace;
        }
    }

    static QStringList runningAnimations(const app::MainWindow& window)
    {
        QStringList running;
        for (const QObject* root : {static_cast<const QObject*>(&window), static_cast<const QObject*>(qApp->style())}) {
            for (const auto* animation : root->findChildren<QAbstractAnimation*>()) {
                if (animation->state() == QAbstractAnimation::Running && animation->totalDuration() != 0) {
                    running << QLatin1String(animation->metaObject()->className()) + QStringLiteral(" of ") +
                                   QLatin1String(animation->parent()->metaObject()->className());
                }
            }
        }
        return running;
    }

    QTemporaryDir m_settings;
};

QTEST_MAIN(KeyboardTest)
#include "keyboardtest.moc"
