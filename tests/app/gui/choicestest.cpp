// SPDX-License-Identifier: Apache-2.0
// Undo of whatever a person chooses: the history by itself, and in the window.
#include <QtTest>

#include "app/gui/controllers/choicehistory.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/input/inputview.h"
#include "views/notebook/notebookview.h"
#include "views/run/runpanel.h"

using namespace retro;
using tests::settles;

namespace
{

void openWithChoices(app::MainWindow& window)
{
    window.show();
    window.open({});
    QVERIFY(settles(window));
    QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
}

void press(app::MainWindow& window, const char* id)
{
    QAction& action = window.actions().at(QLatin1String(id));
    QVERIFY2(action.isEnabled(), id);
    action.trigger();
}

/// Two texts whose changes are noted.
struct Texts
{
    app::ChoiceHistory history;
    QString first;
    QString second;
    std::size_t one = history.add<QString>(
        "first", [this] { return first; }, [this](const QString& text) { first = text; });
    std::size_t other = history.add<QString>(
        "second", [this] { return second; }, [this](const QString& text) { second = text; });

    void setFirst(const QString& text)
    {
        first = text;
        history.note(one);
    }
    void setSecond(const QString& text)
    {
        second = text;
        history.noteStep(other);
    }
};

} // namespace

class ChoicesTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void changesAreTakenBackInTheirOrder()
    {
        Texts texts;
        QVERIFY(!texts.history.canUndo());
        texts.setFirst("a");
        QVERIFY(texts.history.canUndo());
        QCOMPARE(texts.history.undoName(), QString("first"));
        texts.setSecond("x");
        texts.setSecond("y");
        texts.history.undo();
        QCOMPARE(texts.second, QString("x"));
        texts.history.undo();
        QCOMPARE(texts.second, QString());
        QCOMPARE(texts.first, QString("a"));
        texts.history.undo();
        QCOMPARE(texts.first, QString());
        QVERIFY(!texts.history.canUndo());
        texts.history.redo();
        texts.history.redo();
        QCOMPARE(texts.first + texts.second, QString("ax"));
        texts.setFirst("b"); // another future
        texts.history.settle();
        QVERIFY(!texts.history.canRedo());
    }

    void whatIsDraggedIsOneChange()
    {
        Texts texts;
        for (const char* text : {"a", "ab", "abc"}) {
            texts.setFirst(text);
        }
        texts.history.undo();
        QCOMPARE(texts.first, QString());
        texts.setFirst("a");
        texts.setFirst(""); // back where it was: nothing to undo
        QVERIFY(!texts.history.canUndo());
    }

    void whatNobodyChoseIsNotUndone()
    {
        Texts texts;
        texts.setFirst("a");
        texts.history.settle();
        texts.first = "A"; // said again in other words
        texts.history.refresh(texts.one);
        texts.setSecond("x");
        texts.history.undo();
        QCOMPARE(texts.first, QString("A"));
        texts.history.forget(texts.one);
        QVERIFY(!texts.history.canUndo());
        texts.setFirst("b");
        texts.history.forgetAll();
        QVERIFY(!texts.history.canUndo() && !texts.history.canRedo());
    }

    void breakpointsPinsAndCoversComeBack()
    {
        app::MainWindow window;
        openWithChoices(window);
        QVERIFY(!window.actions().at("edit.undo").isEnabled());
        QVERIFY(window.breakpoints().add("op Conv").ok());
        QVERIFY(window.breakpoints().add("nan").ok());
        window.breakpoints().setEnabled(0, false);
        press(window, "cover.tag");
        QVERIFY(settles(window));
        press(window, "go.note");
        auto* notebook = window.findChild<views::NotebookView*>();
        QCOMPARE(notebook->items().pinnedCount(), 1);
        press(window, "edit.undo");
        QCOMPARE(notebook->items().pinnedCount(), 0);
        press(window, "edit.undo");
        QVERIFY(settles(window));
        auto* explain = window.findChild<app::ExplainWorkspace*>();
        QCOMPARE(explain->input().cover().count(), std::int64_t{0});
        QCOMPARE(window.breakpoints().save(), QStringList({"off op Conv", "nan"}));
        press(window, "edit.undo");
        QCOMPARE(window.breakpoints().save(), QStringList({"op Conv", "nan"}));
        press(window, "edit.undo");
        press(window, "edit.undo");
        QVERIFY(window.breakpoints().entries().empty());
        QVERIFY(!window.actions().at("edit.undo").isEnabled());
        press(window, "edit.redo");
        QCOMPARE(window.breakpoints().save(), QStringList({"op Conv"}));
    }

    /// What had been explained is explained again, what had not waits.
    void rulesAreTakenBackAndTheRunWithThem()
    {
        app::MainWindow window;
        openWithChoices(window);
        views::RunPanel& panel = window.findChild<app::ExplainWorkspace*>()->runPanel();
        const engine::Question first = panel.question();
        const std::string composite = window.model().run().facts.composite;
        engine::Question other = first;
        other.composite = "epsilon_plus_flat";
        panel.setQuestion(other);
        emit panel.askRequested(); // a click on a small heatmap
        QVERIFY(settles(window));
        QVERIFY(window.model().run().facts.composite != composite);
        press(window, "edit.undo");
        QVERIFY(settles(window));
        QCOMPARE(QString::fromStdString(panel.question().composite), QString::fromStdString(first.composite));
        QCOMPARE(QString::fromStdString(window.model().run().facts.composite), QString::fromStdString(composite));
        const auto run = window.model().sharedRun();
        other.composite = "epsilon";
        panel.setQuestion(other);
        emit panel.questionChanged(); // chosen from the list: it waits for Run
        press(window, "edit.undo");
        QVERIFY(settles(window));
        QCOMPARE(QString::fromStdString(panel.question().composite), QString::fromStdString(first.composite));
        QCOMPARE(window.model().sharedRun(), run);
    }

    void anotherModelHasNothingToUndo()
    {
        app::MainWindow window;
        openWithChoices(window);
        QVERIFY(window.breakpoints().add("nan").ok());
        window.open(QStringLiteral(":/samples/silent-groups/silent-groups.onnx"));
        QVERIFY(settles(window));
        QVERIFY(!window.actions().at("edit.undo").isEnabled());
    }
};

QTEST_MAIN(ChoicesTest)
#include "choicestest.moc"
