// SPDX-License-Identifier: Apache-2.0
// What is asked: by the run panel, by a click on a class, by a file that is dropped; what is kept of it, and what is
// refused before anything runs.
#include <QtTest>

#include "app/gui/jobs/engineworker.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/base/file.h"
#include "core/engine/model/loadmodel.h"
#include "core/formats/modelcard.h"
#include "core/formats/modelfile.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"
#include "core/trace/runfile.h"
#include "tests/app/gui/settles.h"
#include "views/classes/classespane.h"
#include "views/classes/classesview.h"
#include "views/common/paint/style.h"
#include "views/compare/compareview.h"
#include "views/run/runpanel.h"

#include <QComboBox>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QPushButton>
#include <QStatusBar>
#include <QTemporaryDir>

#include <algorithm>

using namespace retro;
using tests::kPatience;
using tests::settles;

namespace
{

views::RunPanel& panelOf(app::MainWindow& window) { return *window.findChild<views::RunPanel*>(); }

QPushButton& runButton(app::MainWindow& window)
{
    for (auto* button : panelOf(window).findChildren<QPushButton*>()) {
        if (button->text() == QLatin1String("Run")) {
            return *button;
        }
    }
    qFatal("there is no Run button");
}

void choose(app::MainWindow& window, const QString& field, const QString& data)
{
    for (auto* box : panelOf(window).findChildren<QComboBox*>()) {
        if (box->accessibleName() == field) {
            box->setCurrentIndex(box->findData(data));
            emit box->activated(box->currentIndex());
        }
    }
}

bool says(app::MainWindow& window, const QStringList& words)
{
    for (const auto* label : panelOf(window).findChildren<QLabel*>()) {
        const bool hasAll =
            std::all_of(words.begin(), words.end(), [&](const QString& word) { return label->text().contains(word); });
        if (hasAll && label->isVisibleTo(&panelOf(window))) {
            return true;
        }
    }
    return false;
}

void drop(QWidget& window, const QString& file)
{
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(file)});
    QDragEnterEvent enter(QPoint(9, 9), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &enter);
    QDropEvent event(QPointF(9, 9), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QCoreApplication::sendEvent(&window, &event);
}

/// y = last(relu(x)) for rows of three numbers; `last` may be an operator that nobody knows.
QString writeModel(const QTemporaryDir& folder, const QString& name, const std::string& last)
{
    graph::GraphBuilder builder("two", 13);
    graph::ValueId value = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 3});
    for (const std::string& op : {std::string("Relu"), last}) {
        graph::Node node;
        node.op = op;
        node.opset = 13;
        node.name = "head/" + op;
        node.inputs = {value};
        value = builder.addResult(op == last ? "y" : "hidden");
        node.outputs = {value};
        builder.addNode(std::move(node));
    }
    builder.addOutput(value);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    const QString file = folder.filePath(name);
    const bool isWritten = bytes.ok() && base::writeFile(file.toStdString(), *bytes).ok();
    return isWritten ? file : QString();
}

/// A copy of the sample's model, pictures and cards that may be written.
void copySample(const QTemporaryDir& folder)
{
    const QDir sample(QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans"));
    for (const char* name : {"clever-hans.onnx", "jug-tagged.png", "mug.png"}) {
        QVERIFY(QFile::copy(sample.filePath(name), folder.filePath(name)));
    }
}

} // namespace

class QuestionScenarioTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { views::Style::install(*qApp); }

    /// The rules of a model with a card are not those of the next one, which has none.
    void anotherModelStartsAnotherQuestion()
    {
        app::MainWindow window;
        window.show();
        window.open(QStringLiteral(RETRO_SOURCE_DIR "/samples/marked-step/marked-step.onnx"));
        QVERIFY(settles(window));
        QCOMPARE(panelOf(window).question().composite, std::string("gradient_x_input"));
        const QTemporaryDir folder;
        copySample(folder);
        const QString model = folder.filePath(QStringLiteral("clever-hans.onnx"));
        window.open(model); // without its card
        QVERIFY(settles(window));
        QCOMPARE(panelOf(window).question().composite, std::string("auto"));
        window.open(model, {folder.filePath(QStringLiteral("mug.png"))});
        QVERIFY(settles(window));
        QCOMPARE(window.model().run().facts.composite, std::string("epsilon_plus"));
        QCOMPARE(window.model().run().facts.start, std::string("logit"));
    }

    void aClickOnAClassExplainsIt()
    {
        app::MainWindow window;
        window.resize(1600, 1000);
        window.show();
        window.open({});
        QVERIFY(settles(window));
        window.flush();
        auto* pane = window.findChild<views::ClassesPane*>();
        const views::ClassScore second = pane->answer().best[1];
        QVERIFY(pane->answer().best[0].isTarget);
        QTest::mouseClick(pane, Qt::LeftButton, {}, pane->layoutNow().rows[1].row.center().toPoint());
        QVERIFY(window.isBusy());
        QVERIFY(settles(window));
        window.flush();
        QCOMPARE(window.model().run().facts.targetIndex.front(), second.index);
        QCOMPARE(panelOf(window).question().targets.front(), std::to_string(second.index));
        const auto boxes = panelOf(window).findChildren<QComboBox*>();
        const QString predicted = QStringLiteral("predicted: ") + pane->answer().best[0].name;
        QVERIFY(std::any_of(boxes.begin(), boxes.end(),
                            [&](const QComboBox* box) { return box->itemText(0) == predicted; }));
        QVERIFY(pane->answer().best[1].isTarget);
        QVERIFY(!pane->answer().best[0].isTarget);
    }

    void theOracleIsAskedBesideTheRun()
    {
        app::MainWindow window;
        window.show();
        const auto status = [&] {
            QStringList texts{window.statusBar()->currentMessage()};
            for (const auto* label : window.statusBar()->findChildren<QLabel*>()) {
                texts << label->text();
            }
            return texts.join(QLatin1Char('|'));
        };
        window.actions().at(QStringLiteral("run.oracle")).trigger();
        QVERIFY2(status().contains("needs a model"), qPrintable(status()));
        QVERIFY(!window.isBusy());
        window.open({});
        QVERIFY(settles(window));
        const auto* before = &window.model().run();
        window.actions().at(QStringLiteral("run.oracle")).trigger();
        QVERIFY(window.isBusy());
        RETRO_SETTLES(window);
        QTRY_VERIFY2(status().contains("This run equals the oracle in every bit of 30 values."), qPrintable(status()));
        QVERIFY2(status().contains("    equals the oracle"), qPrintable(status()));
        QCOMPARE(&window.model().run(), before); // the run on screen stays
        window.explainInput(window.model().input().fileName);
        QVERIFY(settles(window));
        QVERIFY2(!status().contains("equals the oracle    "), qPrintable(status()));
    }

    void aRecordedRunSaysWhyItCannot()
    {
        app::MainWindow window;
        auto* space = window.findChild<app::ExplainWorkspace*>();
        emit space->classes().classWanted(1);
        QVERIFY(!window.isBusy());
    }

    void onlyRunWithOtherChoicesWritesACard()
    {
        const QTemporaryDir folder;
        copySample(folder);
        const QString card = folder.filePath("clever-hans.card.json");
        app::MainWindow window;
        window.show();
        window.open(folder.filePath("clever-hans.onnx"));
        QVERIFY(settles(window));
        drop(window, folder.filePath("jug-tagged.png"));
        QVERIFY(window.isBusy());
        RETRO_SETTLES(window);
        QVERIFY(window.model().run().eventCount() > 0);
        QVERIFY(!QFile::exists(card));
        runButton(window).click(); // the same question again
        QVERIFY(settles(window));
        QVERIFY(!QFile::exists(card));
        choose(window, "Rules", "epsilon_gamma_box");
        drop(window, folder.filePath("mug.png")); // chosen, but Run was not pressed
        QVERIFY(settles(window));
        QVERIFY(!QFile::exists(card));
        window.actions().at("run.start").trigger();
        QVERIFY(settles(window));
        QTRY_VERIFY_WITH_TIMEOUT(QFile::exists(card), 30'000);
        RETRO_MADE(kept, formats::readCard(card.toStdString()));
        QCOMPARE(QString::fromStdString(kept->composite), QStringLiteral("epsilon_gamma_box"));
        choose(window, "Rules", "epsilon"); // back to what it was: that is a choice too
        runButton(window).click();
        QVERIFY(settles(window));
        QCOMPARE(QString::fromStdString(formats::readCard(card.toStdString())->composite), QStringLiteral("epsilon"));
    }

    void aDroppedArrayWritesNoCard()
    {
        const QTemporaryDir folder;
        const QString model = writeModel(folder, "two.onnx", "Sigmoid");
        QVERIFY(!model.isEmpty());
        const QString array = folder.filePath("x.npy");
        QVERIFY(tensor::writeNpy(array.toStdString(), tensor::Tensor::of<float>({1, 3}, std::array<float, 3>{1, 2, 3}))
                    .ok());
        app::MainWindow window;
        window.show();
        window.open(model);
        QVERIFY(settles(window));
        drop(window, array);
        RETRO_SETTLES(window);
        QVERIFY(window.model().run().eventCount() > 0);
        QVERIFY(!QFile::exists(folder.filePath("two.card.json")));
    }

    void aRecordedRunNamesItsModelAndOpensIt()
    {
        const QTemporaryDir folder;
        copySample(folder);
        const QString file = folder.filePath("run.retro");
        app::MainWindow window;
        window.show();
        window.open(folder.filePath("clever-hans.onnx"), {folder.filePath("mug.png")});
        QVERIFY(settles(window));
        QVERIFY(trace::writeRun(file.toStdString(), window.model().run()).ok());
        window.open(file);
        QVERIFY(settles(window));
        QVERIFY(says(window, {"Recorded run"}));
        QVERIFY(says(window, {"clever-hans.onnx", "Open the model to ask again"}));
        QCOMPARE(panelOf(window).question().composite, std::string("epsilon_plus"));
        QVERIFY(!says(window, {"No model is open"}));
        QVERIFY(!runButton(window).isEnabled());
        QVERIFY(runButton(window).toolTip().contains("recorded run"));
        QVERIFY(window.actions().at("cover.brush").toolTip().contains("recorded run"));
        QPushButton* open = nullptr;
        for (auto* button : panelOf(window).findChildren<QPushButton*>()) {
            open = button->text() == QLatin1String("Open clever-hans.onnx") ? button : open;
        }
        QVERIFY(open != nullptr && open->isVisibleTo(&panelOf(window)));
        QTest::mouseClick(open, Qt::LeftButton);
        RETRO_SETTLES(window);
        QVERIFY(!says(window, {"Recorded run"}));
        QVERIFY(runButton(window).isEnabled());
    }

    void aRecordedRunOfGraphJsonOpensItToo()
    {
        const QTemporaryDir folder;
        const QString onnx = writeModel(folder, "two.onnx", "Sigmoid");
        RETRO_MADE(graph, formats::readModelFile(onnx.toStdString()));
        const QString json = folder.filePath("two.json");
        QVERIFY(formats::writeModelFile(json.toStdString(), **graph).ok());
        QVERIFY(QFile::remove(onnx));
        app::MainWindow window;
        window.show();
        window.open(json, {"zeros"}, "epsilon");
        RETRO_SETTLES(window);
        const QString file = folder.filePath("run.retro");
        QVERIFY(trace::writeRun(file.toStdString(), window.model().run()).ok());
        window.open(file);
        QVERIFY(settles(window));
        window.actions().at("run.start").trigger(); // opens the model that lies beside the run
        RETRO_SETTLES(window);
        QVERIFY(!says(window, {"Recorded run"}));
        QVERIFY(says(window, {"two.json"}));
    }

    void aRecordedRunWhoseModelIsGoneAsksForOne()
    {
        const QTemporaryDir folder;
        app::MainWindow window;
        window.show();
        window.open({});
        QVERIFY(settles(window));
        const QString file = folder.filePath("run.retro");
        QVERIFY(trace::writeRun(file.toStdString(), window.model().run()).ok());
        window.open(file);
        QVERIFY(settles(window));
        QVERIFY(says(window, {"Recorded run"}));
        const auto buttons = panelOf(window).findChildren<QPushButton*>();
        QVERIFY(std::any_of(buttons.begin(), buttons.end(), [&](const QPushButton* button) {
            return button->text() == QString::fromUtf8("Open model…") && button->isVisibleTo(&panelOf(window));
        }));
    }

    void aControlThatCannotBeReadIsNoErrorOfTheRun()
    {
        const QTemporaryDir folder;
        copySample(folder); // without the control that its card names
        const QString card = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.card.json");
        QVERIFY(QFile::copy(card, folder.filePath("clever-hans.card.json")));
        app::MainWindow window;
        window.show();
        window.open(folder.filePath("clever-hans.onnx"), {folder.filePath("mug.png")});
        RETRO_SETTLES(window);
        QVERIFY(window.model().loadState() == views::LoadState::Ready);
        auto* compare = window.findChild<views::CompareView*>();
        compare->flush();
        const auto labels = compare->findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(), [&](const QLabel* label) {
            return label->isVisibleTo(compare) && label->text().contains("control.onnx");
        }));
    }

    void anOperatorThatIsRefusedIsNamedBeforeAnythingRuns()
    {
        const QTemporaryDir folder;
        const QString model = writeModel(folder, "strange.onnx", "Dream");
        QVERIFY(!model.isEmpty());
        app::MainWindow window;
        window.show();
        window.open(model);
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun()); // the graph is there to look at
        QCOMPARE(window.model().run().eventCount(), std::uint64_t{0});
        QVERIFY(says(window, {"Dream", "head/Dream"}));
        QVERIFY(!runButton(window).isEnabled());
        QVERIFY2(runButton(window).toolTip().contains("head/Dream"), qPrintable(runButton(window).toolTip()));
        QVERIFY2(window.lastError().isEmpty(), qPrintable(window.lastError()));
        window.actions().at("run.start").trigger(); // the key does what the button does: nothing
        QVERIFY(settles(window));
        QCOMPARE(window.model().run().eventCount(), std::uint64_t{0});
    }

    /// A large model takes long to look at: the person who presses Run must not wait for that, and is told after it.
    void aQuestionMakesWayForAJobAndIsAnsweredAfterIt()
    {
        const QTemporaryDir folder;
        const QString path = writeModel(folder, "two.onnx", "Sigmoid");
        RETRO_MADE(model, engine::loadModel(path.toStdString()));
        app::ExplainJob job;
        job.path = path;
        job.model = *model;
        job.question.inputs = {"zeros"};
        app::EngineWorker worker;
        const QSignalSpy checked(&worker, &app::EngineWorker::checked);
        const QSignalSpy finished(&worker, &app::EngineWorker::finished);
        for (int i = 0; i < 20; ++i) {
            worker.check(job);
            worker.post(job);
        }
        QTRY_VERIFY_WITH_TIMEOUT(worker.isIdle() && checked.count() > 0, kPatience);
        QVERIFY(finished.count() >= 1); // the newest job; those before it as far as they came
        const auto check = checked.back().front().value<std::shared_ptr<const views::QuestionCheck>>();
        QVERIFY2(check->problem.isEmpty() && !check->rules.isEmpty(), qPrintable(check->problem));
    }

    void rulesThatRefuseTheModelAreSaid()
    {
        const QTemporaryDir folder;
        const QString model = writeModel(folder, "two.onnx", "Sigmoid");
        const QString rules = folder.filePath("dense.json");
        QVERIFY(base::writeFile(rules.toStdString(),
                                R"({"format": "retrograde-composite/1", "name": "dense", "entries": [)"
                                R"({"match": {"op": "Gemm"}, "rule": {"name": "epsilon"}}]})")
                    .ok());
        app::MainWindow window;
        window.show();
        window.open(model);
        QVERIFY(settles(window));
        choose(window, "Data", "zeros");
        QTRY_VERIFY_WITH_TIMEOUT(runButton(window).isEnabled(), 30'000);
        engine::Question question = panelOf(window).question();
        question.composite = rules.toStdString();
        panelOf(window).setQuestion(question);
        choose(window, "Rules", rules);
        QTRY_VERIFY_WITH_TIMEOUT(!runButton(window).isEnabled(), 30'000);
        QVERIFY2(runButton(window).toolTip().contains("head/"), qPrintable(runButton(window).toolTip()));
        QVERIFY(says(window, {"dense", "head/Relu", "1 more node", "head/Sigmoid"}));
        QCOMPARE(window.model().run().eventCount(), std::uint64_t{0});
        choose(window, "Rules", "epsilon");
        QTRY_VERIFY_WITH_TIMEOUT(runButton(window).isEnabled(), 30'000);
    }
};

QTEST_MAIN(QuestionScenarioTest)
#include "questionscenariotest.moc"
