// SPDX-License-Identifier: Apache-2.0
// A language model in the window: a text is written, a word is asked for, the model goes on, words and layers are
// clicked, the run is saved and opened again.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "tests/core/engine/smalllanguagemodel.h"
#include "views/common/paint/style.h"
#include "views/plan/planmodel.h"
#include "views/plan/plansubject.h"
#include "views/run/runpanel.h"
#include "views/text/layersmatrix.h"
#include "views/text/textview.h"
#include "views/text/wordlayersview.h"
#include "views/text/wordstrip.h"

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QTemporaryDir>

#include <algorithm>

using namespace retro;

namespace
{

constexpr int kPatienceOfTexts = 120'000;

bool isDone(app::MainWindow& window)
{
    return QTest::qWaitFor([&] { return !window.isBusy(); }, kPatienceOfTexts);
}

template <class View>
View& onlyView(app::MainWindow& window)
{
    return *window.findChild<View*>();
}

QPlainTextEdit& textField(app::MainWindow& window)
{
    return *window.findChild<QPlainTextEdit*>(QStringLiteral("text"));
}

bool isShown(const QWidget& view) { return view.isVisible(); }

} // namespace

class TextScenarioTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    QString m_model;

    void openModel(app::MainWindow& window)
    {
        window.resize(1280, 800);
        window.show();
        window.open(m_model);
        QVERIFY(isDone(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
    }

    void ask(app::MainWindow& window, engine::Question question)
    {
        auto& panel = onlyView<views::RunPanel>(window);
        engine::Question asked = panel.question();
        engine::takeTexts(question, asked);
        asked.targets = question.targets.empty() ? asked.targets : question.targets;
        panel.setQuestion(asked);
        window.actions().at(QStringLiteral("run.start")).trigger();
        QVERIFY(isDone(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        window.flush();
    }

private slots:
    void initTestCase()
    {
        views::Style::install(*qApp);
        RETRO_MADE(file, tests::SmallLanguageModel().write(m_folder.path().toStdString()));
        m_model = QString::fromStdString(file->string());
    }

    // A model of texts asks for a text, where others ask for a file.
    void aTextIsAskedFor()
    {
        app::MainWindow window;
        openModel(window);
        QCOMPARE(window.workspace().id(), QStringLiteral("explain"));
        QVERIFY(textField(window).isVisible());
        textField(window).setPlainText(QStringLiteral("the capital of France is"));
        window.actions().at(QStringLiteral("run.start")).trigger();
        QVERIFY(isDone(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        window.flush();
        QVERIFY(isShown(onlyView<views::TextView>(window)));
        QVERIFY(isShown(onlyView<views::WordLayersView>(window)));
        QVERIFY(onlyView<views::TextView>(window).subject().contains(QStringLiteral("5 words")));
    }

    // What the window says before a run: tokens, memory, time; a word that is none is refused in words.
    void theEstimateComesBeforeTheRun()
    {
        app::MainWindow window;
        openModel(window);
        textField(window).setPlainText(QStringLiteral("the river runs"));
        const auto says = [&](const QString& part) {
            return QTest::qWaitFor(
                [&] {
                    const QList<QLabel*> labels = window.findChildren<QLabel*>();
                    return std::ranges::any_of(labels, [&](const QLabel* label) {
                        return label->isVisible() && (label->text().contains(part) || label->toolTip().contains(part));
                    });
                },
                kPatienceOfTexts);
        };
        QVERIFY(says(QStringLiteral("3 tokens · ")));
        auto& panel = onlyView<views::RunPanel>(window);
        engine::Question question = panel.question();
        question.contrast = {"France is"};
        panel.setQuestion(question);
        emit panel.questionChanged();
        QVERIFY(says(QStringLiteral("this word is 2 tokens")));
    }

    void stepsWordsAndCells()
    {
        app::MainWindow window;
        openModel(window);
        engine::Question question;
        question.text = "the capital of France is";
        question.targets = {"Paris"};
        question.contrast = {"London"};
        question.generate = "3";
        ask(window, question);
        auto& text = onlyView<views::TextView>(window);
        auto& layers = onlyView<views::WordLayersView>(window);
        QVERIFY(text.subject().contains(QStringLiteral("“Paris” instead of “London”")));
        // The model went on with three words; each shows its own step.
        emit text.strip().chosen(6);
        QVERIFY(text.subject().contains(QStringLiteral("6 words")));
        emit text.strip().chosen(1);
        QVERIFY(window.selection().value().has_value());
        auto* steps = text.findChild<QComboBox*>();
        QCOMPARE(steps->count(), 4);
        emit steps->activated(0);
        // A cell of the last row moves the cursor to where that layer was known.
        emit layers.matrix().chosen(2, 3);
        window.flush();
        QVERIFY(window.cursor().position() < window.cursor().end());
        QCOMPARE(layers.matrix().currentRow(), 2);
        const base::ValueId stream = *window.selection().value();
        QCOMPARE(window.model().graph().value(stream).name, std::string("layer1/out"));
        // Behind another word something else is asked.
        emit text.questionWanted(2, QString());
        QVERIFY(isDone(window));
        window.flush();
        QCOMPARE(onlyView<views::RunPanel>(window).question().position, std::string("2"));
    }

    /// What is planned for is the text that is asked about; the run by the plan shows its words.
    void aTextIsPlannedForAndRunByItsPlan()
    {
        app::MainWindow window;
        openModel(window);
        engine::Question question;
        question.text = "the capital of France is";
        ask(window, question);
        const std::uint64_t before = window.model().run().ledger.size();
        window.showWorkspace(QStringLiteral("plan"));
        QVERIFY(QTest::qWaitFor([&] { return window.plan().plan() != nullptr; }, kPatienceOfTexts));
        QVERIFY(window.plan().subject()->warnings.empty());
        QCOMPARE(window.plan().half(), views::PlanFor::Relevance);
        window.actions().at(QStringLiteral("plan.run")).trigger();
        QVERIFY(isDone(window));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        window.flush();
        QCOMPARE(window.model().run().ledger.size(), before);
        QVERIFY(onlyView<views::TextView>(window).subject().contains(QStringLiteral("5 words")));
    }

    void aSavedRunComesBack()
    {
        app::MainWindow window;
        openModel(window);
        engine::Question question;
        question.text = "a city in France";
        question.generate = "2";
        ask(window, question);
        auto& text = onlyView<views::TextView>(window);
        const QString html = m_folder.filePath(QStringLiteral("a.html"));
        const QString json = m_folder.filePath(QStringLiteral("a.json"));
        for (const QString& file : {html, json, m_folder.filePath(QStringLiteral("a.csv"))}) {
            RETRO_MADE(written, text.exportTo(file.toStdString()));
        }
        const QByteArray before = tests::bytesIn(json);
        QVERIFY(before.contains("\"links\"") && before.contains("\"heads\"") && before.contains("\"generated\""));
        const QString run = m_folder.filePath(QStringLiteral("text.retro"));
        QSignalSpy saved(&window.engine(), &app::EngineWorker::saved);
        window.saveRunTo(run);
        QTRY_VERIFY_WITH_TIMEOUT(!saved.isEmpty(), kPatienceOfTexts);
        app::MainWindow other;
        other.resize(1280, 800);
        other.show();
        other.open(run);
        QVERIFY(isDone(other));
        QVERIFY2(other.lastError().isEmpty(), qPrintable(other.lastError()));
        other.flush();
        auto& again = onlyView<views::TextView>(other);
        QCOMPARE(again.subject(), text.subject());
        const QString reopened = m_folder.filePath(QStringLiteral("b.json"));
        QVERIFY(again.exportTo(reopened.toStdString()).ok());
        QCOMPARE(tests::bytesIn(reopened), before);
    }

    // Panes are arranged for texts while a text is shown, and as before with the next picture.
    void panesFollowTheKindOfModel()
    {
        app::MainWindow window;
        window.resize(1280, 800);
        window.show();
        window.open({});
        QVERIFY(isDone(window));
        QVERIFY(!isShown(onlyView<views::TextView>(window)));
        openModel(window);
        engine::Question question;
        question.text = "the river";
        ask(window, question);
        QVERIFY(isShown(onlyView<views::TextView>(window)));
        window.open({});
        QVERIFY(isDone(window));
        window.flush();
        QVERIFY(!isShown(onlyView<views::TextView>(window)));
    }
};

QTEST_MAIN(TextScenarioTest)
#include "textscenariotest.moc"
