// SPDX-License-Identifier: Apache-2.0
// What lies around the views: menus, keys, palette, panes.
#include <QtTest>

#include "app/gui/shell/dockactions.h"
#include "app/gui/shell/keysheet.h"
#include "app/gui/shell/menucorner.h"
#include "app/gui/shell/menus.h"
#include "app/gui/shell/preferences.h"
#include "app/gui/shell/preferencesdialog.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/shell.h"
#include "app/gui/shell/shellactions.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/views/support/grabs.h"
#include "tests/views/support/tinyrun.h"
#include "views/palette/commandpalette.h"

#include <QDockWidget>
#include <QKeySequenceEdit>
#include <QMenuBar>
#include <QTabWidget>
#include <QTableView>

using namespace retro;

namespace
{

QStringList reachableIds(const app::MainWindow& window)
{
    QStringList ids;
    for (const app::MenuContent& menu : app::menuContents(*window.menuBar())) {
        ids << menu.ids;
    }
    return ids;
}

QList<QDockWidget*> shownDocks(const app::MainWindow& window)
{
    QList<QDockWidget*> shown;
    for (QDockWidget* dock : window.workspace().docks()) {
        if (!dock->isHidden()) {
            shown << dock;
        }
    }
    return shown;
}

} // namespace

class ShellTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { tests::installLook(); }

    void everyActionIsWholeAndInAMenu()
    {
        const app::MainWindow window;
        auto& actions = const_cast<app::MainWindow&>(window).actions();
        QVERIFY2(actions.problems().isEmpty(), qPrintable(actions.problems().join(QLatin1Char('\n'))));
        const QStringList reachable = reachableIds(window);
        for (const QAction* action : actions.all()) {
            QCOMPARE(std::count(reachable.begin(), reachable.end(), action->objectName()), 1);
        }
        QVERIFY(!reachable.contains(QString())); // nothing in a menu that the registry does not know
    }

    void keysCanBeChanged()
    {
        views::ActionRegistry actions;
        actions.addAll(views::standardActions());
        QVERIFY(actions.ownerOf(QKeySequence("Ctrl+O")) == &actions.at("file.open"));
        QVERIFY(actions.ownerOf(QKeySequence("Ctrl+O"), "file.open") == nullptr);
        QVERIFY(actions.ownerOf({}) == nullptr);
        QSignalSpy changed(&actions, &views::ActionRegistry::keyChanged);
        actions.setKey("file.open", QKeySequence("Ctrl+L"));
        QCOMPARE(changed.count(), 1);
        QCOMPARE(actions.at("file.open").shortcut(), QKeySequence("Ctrl+L"));
        QVERIFY(actions.at("file.open").toolTip().contains("Ctrl+L"));
        QCOMPARE(actions.defaultKey("file.open"), QKeySequence("Ctrl+O"));
        actions.setKey("file.save", QKeySequence("Ctrl+L"));
        QCOMPARE(actions.problems().size(), 1);
    }

    void theSheetHasEveryKey()
    {
        app::MainWindow window;
        const app::KeySheet sheet(window.actions(), *window.menuBar(), &window);
        int keys = 0;
        for (const QAction* action : window.actions().all()) {
            keys += action->isVisible() && !action->shortcut().isEmpty() ? 1 : 0;
        }
        QVERIFY(keys > 20);
        QVERIFY(sheet.keyCount() > keys); // and those of graph and timeline
    }

    void thePaletteDoesWhatMenusDo()
    {
        app::MainWindow window;
        window.show();
        window.actions().at("view.palette").trigger();
        auto& palette = window.shell().palette();
        QVERIFY(palette.isVisible());
        QTest::keyClicks(&palette.field(), "engine");
        QTest::keyClick(&palette.field(), Qt::Key_Return);
        QVERIFY(!palette.isVisible());
        QCOMPARE(window.workspace().id(), QStringLiteral("engine"));
        QVERIFY(window.actions().at("window.engine").isChecked());
        QCOMPARE(window.actions().used().front(), QStringLiteral("window.engine"));
    }

    void thePaletteHasTheSettings()
    {
        app::MainWindow window;
        auto& palette = window.shell().palette();
        const auto texts = [&](const QString& typed) {
            palette.model().setText(typed);
            QStringList found;
            for (int row = 0; row < palette.model().rowCount(); ++row) {
                const views::PaletteItem& item = palette.model().itemAt(row);
                found << (item.detail.isEmpty() ? item.text : item.text + QLatin1Char('|') + item.detail);
            }
            return found;
        };
        app::Preferences& preferences = window.shell().preferences();
        QVERIFY(texts(QStringLiteral(":")).size() > 10);
        QCOMPARE(texts(QStringLiteral(":reduced")), (QStringList{"Reduced motion: on", "Reduced motion: off|now"}));
        palette.model().itemAt(0).run(false);
        QVERIFY(preferences.settings().isMotionReduced);
        QVERIFY(!window.isAnimated());
        QCOMPARE(QApplication::cursorFlashTime(), 0);
        QCOMPARE(texts(QStringLiteral(":reduced")), (QStringList{"Reduced motion: on|now", "Reduced motion: off"}));
        palette.model().itemAt(1).run(false);
        QVERIFY(!preferences.settings().isMotionReduced);
        QVERIFY(window.isAnimated());
        QVERIFY(QApplication::cursorFlashTime() > 0);
        QCOMPARE(texts(QStringLiteral(":dark")).size(), 1);
        palette.model().itemAt(0).run(false);
        QVERIFY(views::theme().isDark());
        QVERIFY(texts(QStringLiteral(":colours")).contains(QStringLiteral("Colours: dark|now")));
        QCOMPARE(texts(QStringLiteral(":125")).size(), 1);
        palette.model().itemAt(0).run(false);
        QCOMPARE(preferences.settings().fontScale, 1.25);
        QVERIFY(texts(QStringLiteral("reduced motion: on")).isEmpty()); // only with the sign
        preferences.setFontScale(1);
        preferences.setTheme(views::ThemeChoice::Light);
    }

    void panesByNumber()
    {
        app::MainWindow window;
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.show();
        window.showWorkspace("engine");
        const auto& docks = window.workspace().docks();
        QVERIFY(window.actions().at("window.dock1").text().endsWith(docks[0]->windowTitle()));
        docks[0]->close();
        QVERIFY(docks[0]->isHidden());
        window.actions().at("window.dock1").trigger();
        QVERIFY(!docks[0]->isHidden());
        QCOMPARE(window.shell().docks().current(), docks[0]);
        window.actions().at("window.close").trigger();
        QVERIFY(docks[0]->isHidden());
        window.actions().at("view.resetlayout").trigger();
        QVERIFY(!docks[0]->isHidden());
    }

    void onePaneAndAllAgain()
    {
        app::MainWindow window;
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.show();
        window.showWorkspace("engine");
        const QList<QDockWidget*> before = shownDocks(window);
        window.actions().at("window.dock2").trigger();
        QAction& maximise = window.actions().at("window.maximise");
        maximise.trigger();
        QCOMPARE(shownDocks(window), QList<QDockWidget*>{window.workspace().docks()[1]});
        QVERIFY(maximise.isChecked());
        maximise.trigger();
        QCOMPARE(shownDocks(window), before);
        QVERIFY(!maximise.isChecked());
        maximise.trigger();
        window.actions().at("window.dock1").trigger(); // another pane: all come back
        QCOMPARE(shownDocks(window), before);
    }

    void theFieldOpensThePalette()
    {
        app::MainWindow window;
        window.show();
        window.resize(1600, 1000);
        RETRO_MADE(field, window.menuBar()->findChild<app::CommandField*>());
        QTRY_VERIFY_WITH_TIMEOUT(field->isVisible(), 30'000);
        QTest::mouseClick(field, Qt::LeftButton);
        QVERIFY(window.shell().palette().isVisible());
        QTest::keyClick(&window.shell().palette().field(), Qt::Key_Escape);
        QVERIFY(!window.shell().palette().isVisible());
    }

    void theFieldGivesWay()
    {
        views::ActionRegistry actions;
        actions.addAll(app::shellActions());
        QMenuBar bar;
        bar.addMenu("Some menu");
        const app::MenuCorner corner(bar, actions.at("view.palette"),
                                     {&actions.at("window.explain"), &actions.at("window.engine")});
        int last = 10'000;
        for (const int width : {1600, 700, 450, 300}) {
            bar.resize(width, 32);
            bar.show();
            const int now = corner.field().isVisible() ? corner.field().width() : 0;
            QVERIFY(now <= last);
            QVERIFY(now == 0 || corner.field().mapTo(&bar, QPoint(0, 0)).x() > 0);
            last = now;
        }
        QCOMPARE(last, 0);
    }

    /// Pictures for people, and that nothing of them is blank.
    void looks_data()
    {
        QTest::addColumn<int>("kind");
        QTest::newRow("light") << static_cast<int>(views::ThemeKind::Light);
        QTest::newRow("dark") << static_cast<int>(views::ThemeKind::Dark);
    }

    void looks()
    {
        QFETCH(int, kind);
        const auto theme = static_cast<views::ThemeKind>(kind);
        constexpr QSize size(1440, 900);
        app::MainWindow window;
        window.shell().recent().setFiles({"/home/somebody/models/resnet50.onnx", "/data/runs/digits-vit.retro"});
        window.resize(size);
        QVERIFY(tests::colorCount(tests::grab(window, size, theme, "shell-welcome")) > 100);
        window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput());
        window.showWorkspace("engine");
        window.actions().at("view.palette").trigger();
        QVERIFY(tests::colorCount(tests::grab(window, size, theme, "shell-palette")) > 50);
        QTest::keyClicks(&window.shell().palette().field(), "con");
        QVERIFY(tests::colorCount(tests::grab(window, size, theme, "shell-palette-typed")) > 50);
        window.shell().palette().dismiss();
        auto& problems = window.shell().problems();
        views::Problem warning{views::Severity::Warning, views::ProblemOrigin::Run,
                               "0.0213 % of the relevance that arrived is unexplained."};
        warning.remedy = "Compare the rule of this layer in the inspector with what it should be.";
        warning.node = base::NodeId(std::uint32_t{tests::kConv2});
        problems.list().add(warning);
        problems.addError(views::ProblemOrigin::Job, "broken.onnx: byte 4711: field graph.node[3] ends after the file",
                          "Choose another file, or mend this one and open it again.");
        QVERIFY(tests::colorCount(tests::grab(window, size, theme, "shell-problems")) > 50);
        app::KeySheet keys(window.actions(), *window.menuBar());
        QVERIFY(tests::colorCount(tests::grab(keys, keys.size(), theme, "shell-keys")) > 30);
        app::PreferencesDialog looks(window.actions(), window.shell().preferences());
        QVERIFY(tests::colorCount(tests::grab(looks, looks.size(), theme, "shell-preferences")) > 30);
        looks.findChild<QTabWidget*>()->setCurrentIndex(1);
        looks.findChild<QTableView*>()->selectRow(3);
        looks.findChild<QKeySequenceEdit*>()->setKeySequence(QKeySequence("Ctrl+O"));
        QVERIFY(tests::colorCount(tests::grab(looks, looks.size(), theme, "shell-preferences-keys")) > 30);
    }
};

QTEST_MAIN(ShellTest)
#include "shelltest.moc"
