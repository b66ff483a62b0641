// SPDX-License-Identifier: Apache-2.0
// What the window remembers: settings, keys, layouts.
#include <QtTest>

#include "app/gui/shell/keyspage.h"
#include "app/gui/shell/preferences.h"
#include "app/gui/shell/preferencesdialog.h"
#include "app/gui/shell/recentfiles.h"
#include "app/gui/shell/shell.h"
#include "app/gui/stepping/transportbar.h"
#include "app/gui/window/callout.h"
#include "app/gui/window/keystip.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/base/memorylimit.h"
#include "tests/views/support/tinyrun.h"
#include "views/common/paint/motion.h"
#include "views/common/paint/style.h"
#include "views/common/widgets/docktitle.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QDockWidget>
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QStatusBar>
#include <QStyle>
#include <QTableView>
#include <QTemporaryDir>

using namespace retro;
using app::Settings;

namespace
{

/// An empty store in a folder that goes away.
struct Store
{
    QTemporaryDir folder;
    QSettings settings{folder.filePath("settings.ini"), QSettings::IniFormat};
};

void showRun(app::MainWindow& window) { window.model().setRun(tests::makeTinyRun(), tests::makeTinyInput()); }

int shownHints(const app::MainWindow& window)
{
    int count = 0;
    for (const auto* title : window.workspace().findChildren<views::DockTitle*>()) {
        count += title->hint().isEmpty() ? 0 : 1;
    }
    return count;
}

QPushButton* buttonNamed(const QWidget& parent, const QString& text)
{
    for (QPushButton* button : parent.findChildren<QPushButton*>()) {
        if (button->text() == text) {
            return button;
        }
    }
    return nullptr;
}

} // namespace

class PreferencesTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }
    void cleanup()
    {
        views::ThemeHub::instance().setChoice(views::ThemeChoice::Light);
        views::setMotionReduced(false);
    }

    void whatIsWrittenIsRead()
    {
        Store store;
        QVERIFY(app::readSettings(store.settings) == Settings());
        Settings settings;
        settings.theme = views::ThemeChoice::Dark;
        settings.hasHints = false;
        settings.isMotionReduced = true;
        settings.fontScale = 1.5;
        settings.memory = "1.5GiB";
        settings.keys.insert("file.open", "Ctrl+L");
        settings.recentFiles = QStringList{"/a b/c, d.onnx", "/e.retro"};
        settings.usedActions = QStringList{"go.first"};
        app::writeSettings(store.settings, settings);
        store.settings.sync();
        const QSettings again(store.settings.fileName(), QSettings::IniFormat);
        QVERIFY(app::readSettings(again) == settings);
        app::writeSettings(store.settings, {});
        QVERIFY(store.settings.allKeys().isEmpty()); // defaults are not written
    }

    void nonsenseIsPassedOver()
    {
        Store store;
        store.settings.setValue("theme", "purple");
        store.settings.setValue("fontScale", 900);
        store.settings.setValue("keys", 7);
        const Settings settings = app::readSettings(store.settings);
        QVERIFY(settings.theme == views::ThemeChoice::System);
        QCOMPARE(settings.fontScale, Settings::kMostFontScale);
        QVERIFY(settings.keys.isEmpty());
        store.settings.setValue("fontScale", "wide");
        QCOMPARE(app::readSettings(store.settings).fontScale, 1.0);
    }

    void theMemoryIsBoundedAndComesBack()
    {
        Store store;
        {
            app::MainWindow window;
            window.shell().remember(store.settings);
            QVERIFY(!base::MemoryLimit::isChosen());
            app::Preferences& preferences = window.shell().preferences();
            app::PreferencesDialog dialog(window.actions(), preferences);
            auto* field = dialog.findChild<QLineEdit*>("memory");
            auto* note = dialog.findChild<QLabel*>("memoryNote");
            QVERIFY(field != nullptr && note != nullptr);
            field->setText("a lot");
            emit field->editingFinished();
            QVERIFY2(note->text().contains("no size"), qPrintable(note->text()));
            QVERIFY(!base::MemoryLimit::isChosen());
            field->setText(" 1.5 GiB ");
            emit field->editingFinished();
            QVERIFY2(note->text().contains("Tensors may take"), qPrintable(note->text()));
            QCOMPARE(quint64{base::MemoryLimit::bytes()}, quint64{3} << 29U);
        }
        base::MemoryLimit::choose(std::nullopt);
        {
            app::MainWindow window;
            window.shell().remember(store.settings);
            QCOMPARE(quint64{base::MemoryLimit::bytes()}, quint64{3} << 29U);
            QVERIFY(window.shell().preferences().setMemory({}));
            QVERIFY(!base::MemoryLimit::isChosen());
        }
        store.settings.setValue("memory", "many"); // changed by hand
        app::MainWindow window;
        window.shell().remember(store.settings);
        QVERIFY(!base::MemoryLimit::isChosen());
    }

    void changesTakeEffectAndComeBack()
    {
        Store store;
        {
            app::MainWindow window;
            showRun(window);
            window.shell().remember(store.settings);
            QVERIFY(shownHints(window) > 3);
            window.actions().at("view.theme.dark").trigger();
            window.shell().preferences().setHints(false);
            window.shell().preferences().setMotionReduced(true);
            window.shell().preferences().setKey("file.open", QKeySequence("Ctrl+S")); // taken from file.save
            QCOMPARE(shownHints(window), 0);
            QVERIFY(views::theme().isDark());
            QVERIFY(views::isMotionReduced());
            QCOMPARE(qApp->style()->styleHint(QStyle::SH_Widget_Animation_Duration), 0);
        }
        views::ThemeHub::instance().setChoice(views::ThemeChoice::Light);
        app::MainWindow window;
        showRun(window);
        window.shell().remember(store.settings);
        QVERIFY(views::theme().isDark());
        QVERIFY(window.actions().at("view.theme.dark").isChecked());
        QCOMPARE(shownHints(window), 0);
        QCOMPARE(window.actions().at("file.open").shortcut(), QKeySequence("Ctrl+S"));
        QVERIFY(window.actions().at("file.save").shortcut().isEmpty());
        QVERIFY2(window.actions().problems().isEmpty(), qPrintable(window.actions().problems().join('\n')));
        window.shell().preferences().resetKeys();
        QCOMPARE(window.actions().at("file.save").shortcut(), QKeySequence("Ctrl+S"));
        QVERIFY(app::readSettings(store.settings).keys.isEmpty());
    }

    void nothingIsRememberedWithoutAStore()
    {
        app::MainWindow window;
        window.shell().preferences().setHints(false);
        window.shell().recent().add("/a.onnx");
        window.shell().saveLayouts();
        const app::MainWindow other;
        QVERIFY(other.shell().preferences().settings().hasHints);
        QVERIFY(other.shell().recent().files().isEmpty());
    }

    void layoutsComeBack()
    {
        Store store;
        {
            app::MainWindow window;
            window.shell().remember(store.settings);
            showRun(window);
            window.show();
            window.workspace().docks()[1]->close();
            window.close();
        }
        app::MainWindow window;
        window.shell().remember(store.settings);
        showRun(window);
        window.show();
        QVERIFY(window.workspace().docks()[1]->isHidden());
        QVERIFY(!window.workspace().docks()[2]->isHidden());
        window.actions().at("view.resetlayout").trigger();
        QVERIFY(!window.workspace().docks()[1]->isHidden());
    }

    void aLayoutOfAnotherVersionIsNotUsed()
    {
        app::MainWindow window;
        showRun(window);
        window.show();
        const QByteArray layout = window.workspace().saveState(999);
        QVERIFY(!window.workspace().takeLayout(layout, 1, true));
        QVERIFY(!window.workspace().takeLayout("damaged", 1, true));
    }

    void keysPageSaysWhoHasAKey()
    {
        app::MainWindow window;
        app::KeysPage page(window.actions(), window.shell().preferences());
        page.show();
        auto* table = page.findChild<QTableView*>();
        auto* key = page.findChild<QKeySequenceEdit*>();
        auto* model = qobject_cast<app::KeysModel*>(table->model());
        QVERIFY(buttonNamed(page, "Set") != nullptr && !buttonNamed(page, "Set")->isEnabled());
        model->setFilter("save run");
        QCOMPARE(model->rowCount(), 2); // "Save run" and "Save run as"
        table->selectRow(0);
        key->setKeySequence(QKeySequence("Ctrl+O"));
        QPushButton* take = buttonNamed(page, "Take it");
        QVERIFY(take != nullptr && take->isEnabled());
        bool isSaid = false;
        for (const QLabel* label : page.findChildren<QLabel*>()) {
            isSaid = isSaid || (label->text().contains("Ctrl+O") && label->text().contains("Open"));
        }
        QVERIFY(isSaid);
        take->click();
        QCOMPARE(window.actions().at("file.save").shortcut(), QKeySequence("Ctrl+O"));
        QVERIFY(window.actions().at("file.open").shortcut().isEmpty());
        buttonNamed(page, "As at first")->click();
        QCOMPARE(window.actions().at("file.save").shortcut(), QKeySequence("Ctrl+S"));
        buttonNamed(page, "All as at first")->click();
        QCOMPARE(window.actions().at("file.open").shortcut(), QKeySequence("Ctrl+O"));
    }

    void aSetOfKeysIsChosenAtOnce()
    {
        app::MainWindow window;
        app::KeysPage page(window.actions(), window.shell().preferences());
        auto* scheme = page.findChild<QComboBox*>();
        const auto choose = [&](int index) {
            scheme->setCurrentIndex(index);
            emit scheme->activated(index);
        };
        QCOMPARE(scheme->currentIndex(), 0);
        choose(1);
        QCOMPARE(window.actions().at("go.out").shortcut(), QKeySequence("Shift+F11"));
        QCOMPARE(window.actions().at("go.back").shortcut(), QKeySequence("Ctrl+F11"));
        QCOMPARE(scheme->currentIndex(), 1);
        window.shell().preferences().setKey("file.open", QKeySequence("Ctrl+L"));
        QCOMPARE(scheme->currentIndex(), scheme->count() - 1); // own keys
        choose(0);
        QCOMPARE(window.actions().at("go.back").shortcut(), QKeySequence("Shift+F11"));
        QCOMPARE(window.actions().at("file.open").shortcut(), QKeySequence("Ctrl+O"));
        for (const app::KeyScheme& each : app::keySchemes()) { // no key is given twice
            window.shell().preferences().useScheme(each);
            for (const auto& [id, key] : each.keys) {
                QCOMPARE(window.actions().at(id).shortcut(), key);
                QVERIFY(window.actions().ownerOf(key, id) == nullptr);
            }
        }
    }

    void keysModelIsSound()
    {
        app::MainWindow window;
        app::KeysModel model(window.actions());
        const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        QVERIFY(model.rowCount() > 20);
        window.actions().setKey("file.open", QKeySequence("Ctrl+Alt+Y"));
        model.setFilter("Ctrl+Alt+Y");
        QCOMPARE(model.rowCount(), 1);
        model.setFilter("no such thing");
        QCOMPARE(model.rowCount(), 0);
    }

    void theDialogShowsWhatIsSet()
    {
        app::MainWindow window;
        window.shell().preferences().setHints(false);
        const app::PreferencesDialog dialog(window.actions(), window.shell().preferences(), &window);
        const auto boxes = dialog.findChildren<QCheckBox*>();
        QCOMPARE(boxes.size(), qsizetype{2});
        QVERIFY(!boxes[0]->isChecked());
        boxes[0]->click();
        QVERIFY(window.shell().preferences().settings().hasHints);
    }

    void theTipAboutKeysComesUntilItWasRead()
    {
        Store store;
        app::MainWindow window;
        window.resize(1280, 800);
        window.shell().remember(store.settings);
        showRun(window);
        window.show();
        window.showWorkspace("engine");
        app::KeysTip tip(window, *window.statusBar(), window.actions(), window.shell().preferences(), store.settings);
        tip.offerOnce();
        QVERIFY(tip.callOut().isVisible());
        QVERIFY2(tip.callOut().text().startsWith("F11 goes one step on and Shift+F11 one step back"),
                 qPrintable(tip.callOut().text()));
        const QString folder = qEnvironmentVariable("RETRO_PICTURES");
        if (!folder.isEmpty()) {
            QVERIFY(window.grab().save(folder + "/keystip.png"));
        }
        tip.hide();
        tip.offerOnce();
        QVERIFY(tip.callOut().isVisible()); // nobody has answered yet
        QTest::mouseClick(buttonNamed(tip.callOut(), "Got it"), Qt::LeftButton);
        QVERIFY(!tip.callOut().isVisible());
        tip.offerOnce();
        QVERIFY(!tip.callOut().isVisible());
        QCOMPARE(window.actions().at("go.back").shortcut(), QKeySequence("Shift+F11"));
    }

    void theTipAboutKeysLeavesTitlesFreeAndGoesWithEscape()
    {
        Store store;
        app::MainWindow window;
        window.resize(1280, 800);
        window.shell().remember(store.settings);
        showRun(window);
        window.show();
        window.showWorkspace("engine");
        window.flush();
        app::KeysTip tip(window, *window.statusBar(), window.actions(), window.shell().preferences(), store.settings);
        tip.offerOnce();
        const QRect bubble = tip.callOut().geometry();
        for (const QDockWidget* dock : window.workspace().docks()) {
            const QWidget* title = dock->titleBarWidget();
            if (title != nullptr && title->isVisible()) {
                const QRect names(title->mapTo(&window, QPoint()),
                                  QSize(title->width(), title->fontMetrics().height()));
                QVERIFY2(!bubble.intersects(names), qPrintable(dock->windowTitle()));
            }
        }
        for (const QWidget* moving :
             {static_cast<const QWidget*>(window.workspace().findChild<views::GraphView*>()),
              static_cast<const QWidget*>(window.workspace().findChild<views::HeatmapView*>())}) {
            QVERIFY(!bubble.intersects({moving->mapTo(&window, QPoint()), moving->size()}));
        }
        QTest::keyClick(&window, Qt::Key_Escape);
        QVERIFY(!tip.callOut().isVisible());
        tip.offerOnce();
        QVERIFY(!tip.callOut().isVisible()); // it was read
    }

    void theTipAboutKeysGivesThoseOfVisualStudio()
    {
        Store store;
        app::MainWindow window;
        window.shell().remember(store.settings);
        window.show();
        app::KeysTip tip(window, *window.statusBar(), window.actions(), window.shell().preferences(), store.settings);
        tip.offerOnce();
        QTest::mouseClick(buttonNamed(tip.callOut(), "Use Visual Studio's keys"), Qt::LeftButton);
        QCOMPARE(window.actions().at("go.out").shortcut(), QKeySequence("Shift+F11"));
        store.settings.remove("tips/keys");
        tip.offerOnce();
        QVERIFY(!tip.callOut().isVisible()); // whose keys are others needs no tip
    }
};

QTEST_MAIN(PreferencesTest)
#include "preferencestest.moc"
