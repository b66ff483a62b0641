// SPDX-License-Identifier: Apache-2.0
// Undo of whatever a person chooses: the history by itself, and in the window.
#include <QtTest>

#include "app/gui/controllers/choicehistory.h"
#include "app/gui/controllers/wherecontroller.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/formats/modelcard.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/input/inputview.h"
#include "views/notebook/notebookview.h"
#include "views/plan/planmodel.h"
#include "views/run/runpanel.h"

#include <QTemporaryDir>

using namespace retro;
using tests::settles;

namespace
{

void openWithChoices(app::MainWindow& window)
{
    window.show();
    window.open({});
    RETRO_SETTLES(window);
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

    /// The first budget is looked for: meanwhile, too, there is nothing to take back.
    void theFirstBudgetIsNobodysChoice()
    {
        app::MainWindow window;
        openWithChoices(window);
        int tried = 0;
        bool couldUndo = false;
        connect(&window.plan(), &views::PlanModel::questionChanged, &window, [&] {
            ++tried;
            couldUndo = couldUndo || window.actions().at("edit.undo").isEnabled();
        });
        window.showWorkspace("plan");
        window.flush();
        QVERIFY(QTest::qWaitFor([&] { return window.plan().plan() != nullptr; }, 60'000));
        QVERIFY(tried > 1);
        QVERIFY(!couldUndo);
        QVERIFY(!window.actions().at("edit.undo").isEnabled());
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

    /// What a run wrote into the card beside the model is what it was before.
    void theCardComesBackWithTheChoice()
    {
        const QTemporaryDir folder;
        const QString model = folder.filePath("clever-hans.onnx");
        const QString samples = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/");
        for (const char* file : {"clever-hans.onnx", "jug-tagged.png"}) {
            QVERIFY(QFile::copy(samples + file, folder.filePath(file)));
        }
        const std::string card = folder.filePath("clever-hans.card.json").toStdString();
        app::MainWindow window;
        window.show();
        window.open(model, {folder.filePath("jug-tagged.png")}, QStringLiteral("epsilon_plus"));
        RETRO_SETTLES(window);
        views::RunPanel& panel = window.findChild<app::ExplainWorkspace*>()->runPanel();
        engine::Question other = panel.question();
        for (const char* composite : {"epsilon", "epsilon_plus_flat"}) {
            other.composite = composite;
            panel.setQuestion(other);
            emit panel.runRequested();
            RETRO_SETTLES(window);
            QTRY_VERIFY_WITH_TIMEOUT(formats::readCard(card).ok(), 30'000);
            QCOMPARE(QString::fromStdString(formats::readCard(card)->composite), QString(composite));
        }
        press(window, "edit.undo");
        QVERIFY(settles(window));
        QTRY_COMPARE_WITH_TIMEOUT(QString::fromStdString(formats::readCard(card)->composite), QString("epsilon"),
                                  30'000);
        press(window, "edit.redo");
        QVERIFY(settles(window));
        QTRY_COMPARE_WITH_TIMEOUT(QString::fromStdString(formats::readCard(card)->composite),
                                  QString("epsilon_plus_flat"), 30'000);
    }

    /// A region is a mask over the input; with it goes what is asked about.
    void regionsAndElementsComeBack()
    {
        app::MainWindow window;
        openWithChoices(window);
        app::WhereController& where = window.where();
        QVERIFY(!window.actions().at("edit.undo").isEnabled());
        press(window, "region.largest");
        const std::uint64_t first = where.askedRegion().number;
        QVERIFY(first > 0);
        QTest::qWait(1000); // two strokes, with more than the pause that divides them
        press(window, "region.largest");
        const std::uint64_t second = where.askedRegion().number;
        QVERIFY(second > first);
        where.showHistory(QStringLiteral("image:0,0,49,31"));
        emit where.elementAsked(); // as a click does
        QVERIFY(QTest::qWaitFor([&] { return where.isIdle(); }, 60'000));
        press(window, "edit.undo");
        QVERIFY(where.askedElement().isEmpty());
        press(window, "edit.undo");
        QCOMPARE(where.askedRegion().number, first);
        press(window, "edit.undo");
        QCOMPARE(where.askedRegion().number, std::uint64_t{0});
        QVERIFY(!window.actions().at("edit.undo").isEnabled());
        press(window, "edit.redo");
        QCOMPARE(where.askedRegion().number, first);
        QVERIFY(QTest::qWaitFor([&] { return where.isIdle(); }, 60'000));
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
