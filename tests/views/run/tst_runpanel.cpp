// SPDX-License-Identifier: Apache-2.0
#include "tests/views/run/readypanel.h"
#include "tests/views/support/grabs.h"
#include "views/common/paint/style.h"
#include "views/run/checkpointfields.h"
#include "views/run/thumbnailbutton.h"

#include <QAccessible>
#include <QApplication>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QSlider>
#include <QTest>
#include <QToolButton>
#include <QTreeWidget>
#include <cstdlib>

using namespace retro;
using namespace retro::views;
using retro::tests::asked;
using retro::tests::makeFacts;
using retro::tests::makeReadyPanel;
using retro::tests::makeRelevance;
using retro::tests::makeThumbnails;

namespace
{

using Texts = std::vector<std::string>;

QComboBox* field(const QWidget& panel, const char* name)
{
    for (QComboBox* box : panel.findChildren<QComboBox*>()) {
        if (box->accessibleName() == QString::fromUtf8(name)) {
            return box;
        }
    }
    qFatal("no field '%s'", name);
}

QAbstractButton* button(const QWidget& panel, const char* text)
{
    for (QAbstractButton* found : panel.findChildren<QAbstractButton*>()) {
        if (found->text() == QString::fromUtf8(text) || found->accessibleName() == QString::fromUtf8(text)) {
            return found;
        }
    }
    qFatal("no button '%s'", text);
}

/// What a person can read, without the choices.
QStringList wordsOf(const QWidget& panel)
{
    QStringList words;
    for (const QLabel* label : panel.findChildren<QLabel*>()) {
        if (label->isVisibleTo(&panel) && !label->text().isEmpty()) {
            words.append(label->text());
        }
    }
    return words;
}

/// Name for a screen reader: a choice speaks its value besides, so that its own name counts.
QString spokenName(QWidget* control)
{
    if (!control->accessibleName().isEmpty()) {
        return control->accessibleName();
    }
    QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(control);
    return spoken == nullptr ? QString() : spoken->text(QAccessible::Name);
}

/// Controls that a person can reach, in the order of Tab.
QList<QWidget*> tabChain(QWidget& panel)
{
    QList<QWidget*> chain;
    for (QWidget* next = panel.nextInFocusChain(); next != &panel; next = next->nextInFocusChain()) {
        if ((next->focusPolicy() & Qt::TabFocus) != 0 && next->isVisibleTo(&panel) && next->isEnabled()) {
            chain.append(next);
        }
    }
    return chain;
}

void choose(QComboBox& box, const char* text) { box.setCurrentIndex(box.findText(QLatin1String(text))); }

} // namespace

class RunPanelTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { tests::installLook(); }
    void cleanup() { Style::install(*qApp, 1.0); }

    void theTargetSaysWhatIsPredicted()
    {
        const auto panel = makeReadyPanel();
        const QComboBox* target = field(*panel, "Target");
        QCOMPARE(target->itemText(0), QStringLiteral("predicted class"));
        panel->setPredicted(QStringLiteral("mug"));
        QCOMPARE(target->itemText(0), QStringLiteral("predicted: mug"));
        QCOMPARE(panel->question().targets, Texts{"argmax"});
        panel->setModel(makeFacts()); // another model has answered nothing yet
        QCOMPARE(target->itemText(0), QStringLiteral("predicted class"));
    }

    void loopCheckpointsAreAskedOfModelsWithLoops()
    {
        RunPanel panel;
        ModelFacts facts = makeFacts();
        panel.setModel(facts);
        auto* every = panel.findChild<QLineEdit*>(QStringLiteral("checkpoint-every"));
        QVERIFY(every != nullptr && every->isHidden() && !panel.hasLoops());
        every->setText(QStringLiteral("4"));
        QVERIFY(panel.question().checkpointEvery.empty()); // no loop, nothing to ask
        facts.hasLoops = true;
        panel.setModel(facts);
        QVERIFY(!every->isHidden() && panel.hasLoops());
        every->setText(QStringLiteral("4"));
        QCOMPARE(panel.question().checkpointEvery, std::string("4"));
        engine::Question question = panel.question();
        question.checkpointEvery.clear();
        panel.setQuestion(question);
        QVERIFY(every->text().isEmpty());
    }

    void checkpointsAreListedAndKeptForTheirModel()
    {
        RunPanel panel;
        ModelFacts facts = makeFacts();
        facts.values = {QStringLiteral("h"), QStringLiteral("y")};
        facts.checkpoints = {QStringLiteral("h"), QStringLiteral("gone")};
        facts.stopsAtCheckpoints = true;
        panel.setModel(facts);
        QCOMPARE(panel.question().checkpoints, Texts{"h"}); // what the card keeps and the model has
        QVERIFY(panel.question().stopAtCheckpoints);
        QSignalSpy changed(&panel, &RunPanel::checkpointsChanged);
        panel.setCheckpoint(QStringLiteral("y"), true);
        panel.setCheckpoint(QStringLiteral("y"), true);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(panel.question().checkpoints, (Texts{"h", "y"}));
        auto* fields = panel.findChild<CheckpointFields*>();
        QVERIFY(!fields->isHidden());
        (void)tests::grab(panel, QSize(320, 900), ThemeKind::Light, QStringLiteral("run-checkpoints"));
        (void)tests::grab(panel, QSize(320, 900), ThemeKind::Dark, QStringLiteral("run-checkpoints"));
        auto* list = fields->findChild<QListWidget*>();
        list->setCurrentRow(0);
        fields->findChild<QToolButton*>()->click();
        QCOMPARE(panel.question().checkpoints, Texts{"y"});
        panel.setModel(facts); // the same model again, with another rewrite
        QCOMPARE(panel.question().checkpoints, Texts{"y"});
        panel.setCheckpoint(QStringLiteral("y"), false);
        QVERIFY(fields->isHidden());
        QVERIFY(!panel.question().stopAtCheckpoints);
        facts.name = QStringLiteral("other.onnx");
        panel.setModel(facts);
        QCOMPARE(panel.question().checkpoints, Texts{"h"});
    }

    void rewritesAreSwitchedBeforeTheNextRun()
    {
        RunPanel panel;
        ModelFacts facts = makeFacts();
        auto* list = panel.findChild<QTreeWidget*>();
        QVERIFY(list->parentWidget()->isHidden()); // no model, nothing to list
        facts.rewrites = {
            {QStringLiteral("fuse-linear"),
             QStringLiteral("Fuse linear layers"),
             QStringLiteral("MatMul and Add"),
             true,
             {{QStringLiteral("fc + bias → linear layer fc"), QStringLiteral("fc")},
              {QStringLiteral("head is read twice"), {}, true}}},
            {QStringLiteral("merge-batchnorm"), QStringLiteral("Merge BatchNorm"), QStringLiteral("weights"), false}};
        panel.setModel(facts);
        panel.resize(320, 900);
        panel.show();
        QVERIFY(!list->isVisible()); // closed at first
        button(panel, "Rewrites")->click();
        QVERIFY(list->isVisible());
        QCOMPARE(list->topLevelItemCount(), 2);
        QCOMPARE(list->topLevelItem(0)->text(1), QStringLiteral("1")); // what was left alone does not count
        QCOMPARE(panel.question().noRewrite, Texts{"merge-batchnorm"});
        QSignalSpy changed(&panel, &RunPanel::questionChanged);
        QSignalSpy run(&panel, &RunPanel::runRequested);
        list->topLevelItem(0)->setCheckState(0, Qt::Unchecked);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(run.count(), 0);
        QCOMPARE(panel.question().noRewrite, (Texts{"fuse-linear", "merge-batchnorm"}));
        QVERIFY(wordsOf(panel).contains("2 off, from the next run on"));
        engine::Question question = panel.question();
        question.noRewrite = {"merge-batchnorm"};
        panel.setQuestion(question);
        QCOMPARE(changed.count(), 1); // said by nobody who chose
        QVERIFY(wordsOf(panel).contains("1 off"));
        facts.rewrites.push_back({QStringLiteral("merge-common"), QStringLiteral("Merge common"), {}, false, {}, true});
        panel.setModel(facts);
        QCOMPARE(panel.question().noRewrite, Texts{"merge-batchnorm"}); // off is how an optional one is
        list->topLevelItem(2)->setCheckState(0, Qt::Checked);
        QCOMPARE(panel.question().noRewrite, Texts{"merge-batchnorm"});
        QCOMPARE(panel.question().rewrite, Texts{"merge-common"});
        QVERIFY(wordsOf(panel).contains("1 off, 1 more on, from the next run on"));
        question = panel.question();
        list->topLevelItem(2)->setCheckState(0, Qt::Unchecked);
        panel.setQuestion(question);
        QCOMPARE(list->topLevelItem(2)->checkState(0), Qt::Checked);
        list->topLevelItem(0)->setExpanded(true);
        (void)tests::grab(panel, QSize(320, 900), ThemeKind::Light, QStringLiteral("run-rewrites"));
        (void)tests::grab(panel, QSize(320, 900), ThemeKind::Dark, QStringLiteral("run-rewrites"));
        QSignalSpy wanted(&panel, &RunPanel::nodeWanted);
        emit list->itemActivated(list->topLevelItem(0)->child(0), 0);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(wanted.front().front().toString(), QStringLiteral("fc"));
        emit list->itemActivated(list->topLevelItem(0), 0); // a rewrite is no node
        QCOMPARE(wanted.count(), 1);
    }

    void emptyStateOffersOneThing()
    {
        RunPanel panel;
        panel.show();
        QSignalSpy opened(&panel, &RunPanel::openModelRequested);
        QSignalSpy run(&panel, &RunPanel::runRequested);
        QVERIFY(wordsOf(panel).contains(QStringLiteral("No model is open")));
        button(panel, "Open model…")->click();
        QCOMPARE(opened.count(), 1);
        QVERIFY(!button(panel, "Run")->isEnabled());
        button(panel, "Run")->click();
        QCOMPARE(run.count(), 0);
        for (const char* name : {"Data", "Target", "Start", "Rules"}) {
            QVERIFY2(!field(panel, name)->isEnabled(), name);
            QCOMPARE(field(panel, name)->toolTip(), QStringLiteral("Open a model first"));
        }
        QCOMPARE(button(panel, "Run")->toolTip(), QStringLiteral("Open a model first"));
    }

    void stopWorksWhileTheFirstModelIsRead()
    {
        RunPanel panel;
        QSignalSpy stopped(&panel, &RunPanel::stopRequested);
        QSignalSpy run(&panel, &RunPanel::runRequested);
        panel.setRunning(true);
        button(panel, "Stop")->click();
        QCOMPARE(stopped.count(), 1);
        QCOMPARE(button(panel, "Stop")->toolTip(), QStringLiteral("Stop this run (Esc)"));
        panel.setRunning(false);
        QVERIFY(!button(panel, "Run")->isEnabled());
        panel.setModel(makeFacts());
        button(panel, "Run")->click();
        QCOMPARE(run.count(), 1);
        QCOMPARE(stopped.count(), 1);
    }

    void aModelWithItsCard()
    {
        RunPanel panel;
        panel.setModel(makeFacts());
        const QStringList words = wordsOf(panel);
        QVERIFY(words.contains(QStringLiteral("clever-hans.onnx")));
        QVERIFY2(words.contains(QStringLiteral("41 nodes · 6 classes · 492.7 kB · ONNX 17")),
                 qPrintable(words.join("; ")));
        QVERIFY(words.contains(QStringLiteral("Picture")));
        QVERIFY(!button(panel, "Open model…")->isVisibleTo(&panel));
        QVERIFY(button(panel, "Open another model (Ctrl+O)")->isVisibleTo(&panel));
        QCOMPARE(field(panel, "Picture")->count(), 2);
        QCOMPARE(field(panel, "Target")->count(), 5); // predicted, three classes, another value
        QCOMPARE(panel.question(), asked("samples/jug-tagged.png", "argmax", "auto", "auto"));
        const auto* follow = panel.findChild<QCheckBox*>();
        QVERIFY(follow->isVisibleTo(&panel));
        ModelFacts numbers = makeFacts();
        numbers.takesPictures = false;
        panel.setModel(numbers);
        QVERIFY(wordsOf(panel).contains(QStringLiteral("Data")));
        QVERIFY(!follow->isVisibleTo(&panel)); // numbers are not painted on
    }

    /// What was asked of the model before says nothing of the next one; its own card does.
    void anotherModelStartsAnotherQuestion()
    {
        const auto panel = makeReadyPanel();
        engine::Question before = asked("zeros", "1", "one", "gradient_x_input");
        before.rules = {"op:Conv=stop"};
        before.traversal = "document";
        panel->setQuestion(before);
        panel->setModel(makeFacts()); // the same one again, with other rewrites
        QCOMPARE(panel->question().composite, std::string("gradient_x_input"));
        QCOMPARE(panel->question().start, std::string("one"));
        ModelFacts other = makeFacts();
        other.name = QStringLiteral("cnn.onnx");
        panel->setModel(other);
        QCOMPARE(panel->question(), asked("zeros", "argmax", "auto", "auto"));
        panel->setQuestion(before);
        other.file = QStringLiteral("/elsewhere/cnn.onnx");
        panel->setModel(other);
        panel->setQuestion(before);
        other.file = QStringLiteral("/here/cnn.onnx"); // another one of the same name
        other.composite = QStringLiteral("epsilon_plus");
        other.rules = {QStringLiteral("op:Gemm=stop")};
        panel->setModel(other);
        QCOMPARE(panel->question().composite, std::string("epsilon_plus"));
        QCOMPARE(panel->question().rules, Texts{"op:Gemm=stop"});
        QCOMPARE(panel->question().start, std::string("auto"));
    }

    void aRecordedRunSaysWhatItsModelIs()
    {
        ModelFacts facts;
        facts.name = QStringLiteral("jug.onnx");
        facts.isRecorded = true;
        facts.summary = QStringLiteral("Four objects, one of them recognised by its tag");
        RunPanel panel;
        panel.setModel(facts);
        const QString words = wordsOf(panel).join(QLatin1Char('|'));
        QVERIFY2(words.contains(facts.summary + QStringLiteral("\nThis run of jug.onnx")), qPrintable(words));
    }

    void freeAxesHaveAField()
    {
        RunPanel panel;
        auto* shape = panel.findChild<QLineEdit*>(QStringLiteral("shape"));
        panel.setModel(makeFacts());
        QVERIFY(shape != nullptr && !shape->isVisibleTo(&panel));
        ModelFacts facts = makeFacts();
        facts.shapeHint = QStringLiteral("N×3×?×?");
        facts.shapes = QStringLiteral("1x3x24x24");
        panel.setModel(facts);
        QVERIFY(shape->isVisibleTo(&panel));
        QCOMPARE(shape->placeholderText(), facts.shapeHint);
        QCOMPARE(panel.question().shapes, Texts{"1x3x24x24"});
        QSignalSpy asked(&panel, &RunPanel::questionChanged);
        shape->clear();
        QTest::keyClicks(shape, QStringLiteral("  2x3x48x192 "));
        QTest::keyClick(shape, Qt::Key_Return);
        QVERIFY(!asked.isEmpty());
        QCOMPARE(panel.question().shapes, Texts{"2x3x48x192"});
    }

    void aPartThatCannotRunRefusesNothingElse()
    {
        RunPanel panel;
        ModelFacts facts = makeFacts();
        facts.problem = QStringLiteral("What depends on this cannot be run: nms");
        facts.runsInPart = true;
        panel.setModel(facts);
        QVERIFY(wordsOf(panel).contains(facts.problem));
        QVERIFY(button(panel, "Run")->isEnabled());
        QuestionCheck check;
        check.problem = QStringLiteral("value 'boxes' needs nms");
        panel.setCheck(check);
        QVERIFY(!button(panel, "Run")->isEnabled());
        QVERIFY(wordsOf(panel).contains(check.problem));
        panel.setCheck({});
        QVERIFY(button(panel, "Run")->isEnabled());
        QVERIFY(wordsOf(panel).contains(facts.problem));
    }

    void aProblemIsSaidAndNothingRuns()
    {
        ModelFacts facts = makeFacts();
        facts.problem = QStringLiteral("1 of its nodes cannot be run. First: nms (NonMaxSuppression): no rule");
        RunPanel panel;
        panel.setModel(facts);
        QVERIFY(wordsOf(panel).contains(facts.problem));
        QVERIFY(!button(panel, "Run")->isEnabled());
        QCOMPARE(button(panel, "Run")->toolTip(), facts.problem);
        QCOMPARE(field(panel, "Target")->toolTip(), facts.problem);
        QVERIFY(button(panel, "Open another model (Ctrl+O)")->isEnabled());
        panel.setModel(makeFacts());
        QVERIFY(!wordsOf(panel).contains(facts.problem));
        QVERIFY(button(panel, "Run")->isEnabled());
        QCOMPARE(field(panel, "Target")->toolTip(),
                 QStringLiteral("The class whose score is explained, or any value of the model"));
    }

    void choicesMakeTheQuestion()
    {
        const auto panel = makeReadyPanel();
        QSignalSpy run(panel.get(), &RunPanel::runRequested);
        choose(*field(*panel, "Picture"), "zeros");
        choose(*field(*panel, "Target"), "lamp");
        choose(*field(*panel, "Start"), "against the others");
        choose(*field(*panel, "Rules"), "Gamma, box");
        QCOMPARE(run.count(), 0); // choosing asks nothing yet
        button(*panel, "Run")->click();
        QCOMPARE(run.count(), 1);
        QCOMPARE(panel->question(), asked("zeros", "2", "contrastive", "epsilon_gamma_box"));
    }

    void everyRuleAndStartIsOffered()
    {
        const auto panel = makeReadyPanel();
        QStringList rules;
        for (int i = 0; i < field(*panel, "Rules")->count(); ++i) {
            rules.append(field(*panel, "Rules")->itemData(i).toString());
            QCOMPARE(field(*panel, "Rules")->itemText(i), RunPanel::compositeTitle(rules.back()));
        }
        QCOMPARE(rules, RunPanel::composites());
        QVERIFY(rules.contains(QStringLiteral("dynamic")));
        for (const char* start : {"auto", "logit", "one", "contrastive", "all"}) {
            QVERIFY2(field(*panel, "Start")->findData(QLatin1String(start)) >= 0, start);
        }
        QCOMPARE(RunPanel::compositeTitle(QStringLiteral("my-rules.json")), QStringLiteral("my-rules.json"));
    }

    void anotherModelKeepsWhatStillFits()
    {
        const auto panel = makeReadyPanel();
        choose(*field(*panel, "Target"), "lamp");
        choose(*field(*panel, "Picture"), "zeros");
        ModelFacts other = makeFacts();
        other.inputs.erase(other.inputs.begin());
        panel->setModel(other);
        QCOMPARE(panel->question().targets, Texts{"2"});
        QCOMPARE(panel->question().inputs, Texts{"zeros"});
        other.labels = {QStringLiteral("yes"), QStringLiteral("no")};
        panel->setModel(other);
        QCOMPARE(panel->question().targets, Texts{"argmax"});
    }

    void aForeignFileAndForeignRulesAreAdded()
    {
        const auto panel = makeReadyPanel();
        panel->setQuestion(asked("/home/me/cup.png", "1", "one", "my-rules.json"));
        QCOMPARE(field(*panel, "Picture")->currentText(), QStringLiteral("cup.png"));
        QCOMPARE(field(*panel, "Rules")->currentText(), QStringLiteral("my-rules.json"));
        QCOMPARE(panel->question(), asked("/home/me/cup.png", "1", "one", "my-rules.json"));
    }

    /// A model of two inputs needs both in the next run as well.
    void allInputsOfAQuestionStay()
    {
        const auto panel = makeReadyPanel();
        engine::Question question = asked("/home/me/cup.png", "1", "one", "epsilon");
        question.inputs = {"n=/home/me/three.npy", "x=/home/me/series.npy"};
        panel->setQuestion(question);
        QVERIFY(panel->question().inputs == question.inputs);
        QCOMPARE(field(*panel, "Picture")->currentText(), QStringLiteral("n=three.npy, x=series.npy"));
    }

    void aThumbnailAsksWithItsRules()
    {
        const auto panel = makeReadyPanel();
        panel->show();
        QSignalSpy run(panel.get(), &RunPanel::askRequested);
        QAbstractButton* gamma = button(*panel, "Gamma, box");
        QTest::mouseClick(gamma, Qt::LeftButton);
        QCOMPARE(run.count(), 1);
        QCOMPARE(panel->question().composite, std::string("epsilon_gamma_box"));
        // The frame stays with what is on screen until the answer comes.
        QVERIFY(!gamma->isChecked());
        QVERIFY(button(*panel, "Epsilon + z-plus")->isChecked());
        panel->setThumbnails(makeThumbnails(), QStringLiteral("epsilon_gamma_box"));
        QVERIFY(gamma->isChecked());
        QVERIFY(!button(*panel, "Epsilon + z-plus")->isChecked());
    }

    void fewerThumbnailsHideTheRest()
    {
        const auto panel = makeReadyPanel();
        std::vector<CompositeThumbnail> two = makeThumbnails();
        two.resize(2);
        panel->setThumbnails(two, {});
        int shown = 0;
        for (const ThumbnailButton* thumbnail : panel->findChildren<ThumbnailButton*>()) {
            shown += thumbnail->isVisibleTo(panel.get()) ? 1 : 0;
            QVERIFY(!thumbnail->isChecked() || !thumbnail->isVisibleTo(panel.get()));
        }
        QCOMPARE(shown, 2);
    }

    void anyValueCanBeTheTarget()
    {
        RunPanel panel;
        ModelFacts facts = makeFacts();
        facts.values = {QStringLiteral("/block1/add"), QStringLiteral("/fc")};
        panel.setModel(facts);
        panel.show();
        QSignalSpy changed(&panel, &RunPanel::questionChanged);
        auto* line = panel.findChild<QLineEdit*>(QStringLiteral("value"));
        QVERIFY(!line->isVisibleTo(&panel));
        engine::Question question = panel.question();
        question.targets = {"/block1/add:0,3"};
        panel.setQuestion(question);
        QVERIFY(line->isVisibleTo(&panel));
        QCOMPARE(line->text(), QStringLiteral("/block1/add:0,3"));
        QCOMPARE(panel.question(), question);
        line->clear();
        QTest::keyClicks(line, QStringLiteral("/fc"));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(changed.count(), 1);
        QCOMPARE(panel.question().targets, Texts{"/fc"});
    }

    void whatIsRefusedIsSaidBeforeItRuns()
    {
        const auto panel = makeReadyPanel();
        panel->setCheck(
            {{{}, QStringLiteral("3 × 24 × 24"), {}}, {}, QStringLiteral("node /attn: no rule fits Softmax")});
        QVERIFY(wordsOf(*panel).contains(QStringLiteral("node /attn: no rule fits Softmax")));
        QVERIFY(!button(*panel, "Run")->isEnabled());
        QCOMPARE(button(*panel, "Run")->toolTip(), QStringLiteral("node /attn: no rule fits Softmax"));
        panel->setCheck({{{}, QStringLiteral("3 × 24 × 24"), {}}, QStringLiteral("z-plus 7"), {}});
        QVERIFY(button(*panel, "Run")->isEnabled());
        QVERIFY(wordsOf(*panel).contains(QStringLiteral("3 × 24 × 24")));
    }

    void numbersOfTheRulesBelongToTheQuestion()
    {
        const auto panel = makeReadyPanel();
        QSignalSpy turned(panel.get(), &RunPanel::ruleNumbersChanged);
        panel->findChild<QSlider*>()->setValue(0);
        QCOMPARE(turned.count(), 1);
        QCOMPARE(panel->question().composite, std::string("epsilon_plus:epsilon=1e-12"));
        panel->setThumbnails(makeThumbnails(), QString::fromStdString(panel->question().composite));
        QVERIFY(static_cast<QAbstractButton*>(button(*panel, "Explain with Epsilon + z-plus"))->isChecked());
    }

    void everyControlIsNamedAndHasATip()
    {
        const auto panel = makeReadyPanel();
        panel->show();
        const QList<QWidget*> chain = tabChain(*panel);
        QStringList names;
        for (QWidget* control : chain) {
            names.append(spokenName(control));
            QVERIFY2(!control->toolTip().isEmpty(), qPrintable(names.back()));
        }
        const QStringList wanted{QStringLiteral("Open another model (Ctrl+O)"),
                                 QStringLiteral("Picture"),
                                 QStringLiteral("Choose a picture, an .npy or a .txt file"),
                                 QStringLiteral("Layout"),
                                 QStringLiteral("Pixels"),
                                 QStringLiteral("Frame"),
                                 QStringLiteral("Values"),
                                 QStringLiteral("Mean, std"),
                                 QStringLiteral("Target"),
                                 QStringLiteral("Start"),
                                 QStringLiteral("Traversal"),
                                 QStringLiteral("Rules"),
                                 QStringLiteral("Explain with Epsilon"),
                                 QStringLiteral("Explain with Epsilon + z-plus"),
                                 QStringLiteral("Explain with Alpha 2 beta 1"),
                                 QStringLiteral("Explain with Gamma, box"),
                                 QStringLiteral("Epsilon"),
                                 QStringLiteral("Run"),
                                 QStringLiteral("Follow the picture while I paint")};
        QCOMPARE(names, wanted);
    }

    void aWholeQuestionWithKeys()
    {
        const auto panel = makeReadyPanel();
        panel->show();
        QApplication::setActiveWindow(panel.get());
        QSignalSpy run(panel.get(), &RunPanel::askRequested);
        field(*panel, "Target")->setFocus();
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QCOMPARE(QApplication::focusWidget(), field(*panel, "Start"));
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space); // the first small heatmap
        QCOMPARE(run.count(), 1);
        QCOMPARE(panel->question(), asked("samples/jug-tagged.png", "0", "one", "epsilon"));
    }

    void focusIsSeenOnAThumbnail()
    {
        const auto panel = makeReadyPanel();
        panel->show();
        QApplication::setActiveWindow(panel.get());
        QAbstractButton* gamma = button(*panel, "Gamma, box");
        panel->setFocus();
        const QImage before = gamma->grab().toImage();
        gamma->setFocus();
        const QImage after = gamma->grab().toImage();
        const QColor accent = ThemeHub::instance().theme()[Role::Accent];
        QVERIFY(!tests::hasColor(before, accent));
        QVERIFY(tests::hasColor(after, accent));
    }

    void nothingIsCutOffWhenNarrow_data()
    {
        QTest::addColumn<double>("scale");
        QTest::newRow("usual") << 1.0;
        QTest::newRow("large") << 1.25;
        QTest::newRow("huge") << 2.0;
    }

    void nothingIsCutOffWhenNarrow()
    {
        QFETCH(const double, scale);
        Style::install(*qApp, scale);
        const auto panel = makeReadyPanel();
        panel->resize(panel->minimumSizeHint().width(), static_cast<int>(420 * scale));
        panel->show();
        QTest::qWait(0);
        const auto* area = panel->findChild<QScrollArea*>();
        QVERIFY(area->verticalScrollBar()->isVisible());
        QCOMPARE(area->widget()->width(), area->viewport()->width());
        for (const QWidget* child : area->widget()->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
            if (child->isVisible()) {
                QVERIFY2(area->widget()->rect().contains(child->geometry()), child->metaObject()->className());
                QVERIFY2(child->height() >= child->minimumSizeHint().height(), child->metaObject()->className());
            }
        }
        // However far it is scrolled, the button that runs is there.
        QVERIFY(panel->rect().contains(button(*panel, "Run")->geometry()));
    }

    void thumbnailsAreSquareAndCloseTogether_data()
    {
        QTest::addColumn<int>("width");
        QTest::newRow("narrow") << 240;
        QTest::newRow("usual") << 284;
        QTest::newRow("wide") << 420;
    }

    void thumbnailsAreSquareAndCloseTogether()
    {
        QFETCH(const int, width);
        const auto panel = makeReadyPanel();
        panel->resize(width, 1100);
        panel->show();
        QTest::qWait(0);
        const QList<ThumbnailButton*> thumbnails = panel->findChildren<ThumbnailButton*>();
        QCOMPARE(thumbnails.size(), 4);
        for (const ThumbnailButton* thumbnail : thumbnails) {
            // An odd width leaves one column a pixel wider.
            QVERIFY(std::abs(thumbnail->height() - thumbnail->heightForWidth(thumbnail->width())) <= 1);
            QVERIFY(std::abs(thumbnail->width() - thumbnails.front()->width()) <= 1);
        }
        QCOMPARE(thumbnails[2]->y() - thumbnails[0]->geometry().bottom(), 9);
        QCOMPARE(thumbnails[1]->x() - thumbnails[0]->geometry().right(), 9);
    }

    void fieldsStartOnOneLine()
    {
        const auto panel = makeReadyPanel();
        panel->resize(284, 800);
        panel->show();
        QTest::qWait(0);
        QCOMPARE(field(*panel, "Picture")->x(), field(*panel, "Target")->x());
        QCOMPARE(field(*panel, "Target")->geometry().right(), field(*panel, "Rules")->geometry().right());
    }

    void looks()
    {
        const auto panel = makeReadyPanel();
        RunPanel empty;
        for (const ThemeKind kind : {ThemeKind::Light, ThemeKind::Dark}) {
            const QImage image = tests::grab(*panel, {284, 780}, kind, QStringLiteral("runpanel"));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Accent]));
            QVERIFY(tests::hasColor(image, Theme::of(kind)[Role::Sel]));
            QVERIFY(tests::colorCount(tests::grab(empty, {284, 500}, kind, QStringLiteral("runpanel-empty"))) > 10);
            ModelFacts facts = makeFacts();
            facts.problem = QStringLiteral("1 of its nodes cannot be run. First: nms (NonMaxSuppression): no rule");
            RunPanel refused;
            refused.setModel(facts);
            const QImage said = tests::grab(refused, {284, 500}, kind, QStringLiteral("runpanel-problem"));
            QVERIFY(tests::hasColor(said, Theme::of(kind)[Role::AlarmText]));
        }
    }
};

QTEST_MAIN(RunPanelTest)
#include "tst_runpanel.moc"
