// SPDX-License-Identifier: Apache-2.0
// A node gets another rule in the window: by menu, key and inspector; only what lies below is computed again, the run
// before is held; rules are taken back, and written as a composite file.
#include <QtTest>

#include "app/gui/controllers/rulecontroller.h"
#include "app/gui/facts/rundifference.h"
#include "app/gui/jobs/otherrunreader.h"
#include "app/gui/shell/problemscontroller.h"
#include "app/gui/shell/shell.h"
#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/engine/explain/explain.h"
#include "core/lrp/composite/composite.h"
#include "core/tensor/npy.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/common/paint/theme.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"
#include "views/heatmap/heatmapview.h"
#include "views/inspector/inspectorview.h"
#include "views/run/ruledialog.h"
#include "views/run/runpanel.h"

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QPushButton>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QToolButton>

#include <algorithm>
#include <memory>

using namespace retro;
using tests::kPatience;

namespace
{

const QString kFolder = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/cnn/");

struct Stage
{
    QTemporaryDir folder; ///< of copies: what is chosen is written into a card beside the model
    app::MainWindow window;

    explicit Stage(const QString& from = kFolder, const char* model = "model.onnx", const char* input = "input.npy")
    {
        for (const QString& name : {QString(model), QString(input), QString(model).replace(".onnx", ".card.json")}) {
            QFile::copy(from + name, folder.filePath(name)); // the card where there is one
        }
        window.resize(1600, 1000);
        window.show();
        window.open(folder.filePath(model), {folder.filePath(input)}, QStringLiteral("epsilon_plus"));
    }
    [[nodiscard]] bool settles()
    {
        const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
        window.flush();
        return isDone && window.lastError().isEmpty();
    }
    [[nodiscard]] views::RunPanel& panel() { return *window.findChild<views::RunPanel*>(); }
    [[nodiscard]] QListWidget& list()
    {
        for (QListWidget* one : panel().findChildren<QListWidget*>()) {
            if (one->accessibleName().startsWith(QLatin1String("Rules that stand"))) {
                return *one;
            }
        }
        qFatal("no list of changed rules");
    }
    [[nodiscard]] base::NodeId node(const char* op, int which = 0)
    {
        for (std::size_t i = 0; i < window.model().graph().nodeCount(); ++i) {
            if (window.model().graph().node(base::NodeId(i)).op == op && which-- == 0) {
                return base::NodeId(i);
            }
        }
        return {};
    }
    [[nodiscard]] QString ruleOf(base::NodeId node)
    {
        return QString::fromStdString(window.model().run().rules[node.index()].rule);
    }
    [[nodiscard]] views::RuleDialog* dialog()
    {
        views::RuleDialog* found = nullptr;
        (void)QTest::qWaitFor([&] { return (found = window.findChild<views::RuleDialog*>()) != nullptr; }, kPatience);
        return found;
    }
    [[nodiscard]] QString note()
    {
        for (const QLabel* label : panel().findChildren<QLabel*>()) {
            if (label->text().contains(QLatin1String("were applied again"))) {
                return label->text();
            }
        }
        return {};
    }
    /// Relevance at the input, to the last bit, as a whole pass gives it.
    [[nodiscard]] bool isWholePass(const char* composite)
    {
        engine::ExplainRequest request;
        request.inputs = {tensor::readNpy((kFolder + "input.npy").toStdString()).value()};
        request.composite = composite;
        const auto model = engine::loadModel((kFolder + "model.onnx").toStdString());
        const auto whole = engine::explain(**model, request);
        const auto input = window.model().graph().inputs().front();
        const auto* relevance = window.model().tensor(window.model().relevanceHandle(input));
        return whole.ok() && relevance != nullptr && relevance->bitEqual(whole->relevance[input.index()]);
    }
};

QComboBox& boxOf(QWidget& dialog, const char* name)
{
    for (QComboBox* box : dialog.findChildren<QComboBox*>()) {
        if (box->accessibleName() == QLatin1String(name)) {
            return *box;
        }
    }
    qFatal("no such box");
}

QPushButton& runOf(views::RuleDialog& dialog)
{
    for (QPushButton* button : dialog.findChildren<QPushButton*>()) {
        if (button->isDefault()) {
            return *button;
        }
    }
    qFatal("no default button");
}

/// Saves what is on screen when pictures are wanted: to be looked at, not compared.
void keepPicture(QWidget& widget, const QString& name)
{
    const QString folder = qEnvironmentVariable("RETRO_PICTURES");
    for (const auto theme : {views::ThemeChoice::Light, views::ThemeChoice::Dark}) {
        if (!folder.isEmpty()) {
            views::ThemeHub::instance().setChoice(theme);
            QTest::qWait(100);
            const QString kind = theme == views::ThemeChoice::Dark ? QStringLiteral("dark") : QStringLiteral("light");
            QVERIFY(widget.grab().save(QStringLiteral("%1/%2-%3.png").arg(folder, name, kind)));
        }
    }
}

} // namespace

class RuleScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    // With the key, by keyboard alone.
    void aTypeGetsAnotherRule()
    {
        Stage stage;
        QVERIFY(stage.settles());
        const base::NodeId first = stage.node("Conv");
        QVERIFY(first.isValid());
        stage.window.selection().selectNode(first);
        QTest::keyClick(&stage.window, Qt::Key_U, Qt::ControlModifier);
        views::RuleDialog* dialog = stage.dialog();
        QVERIFY(dialog != nullptr);
        QComboBox& reach = boxOf(*dialog, "Applies to");
        QComboBox& rule = boxOf(*dialog, "Rule");
        QCOMPARE(rule.currentText(), QStringLiteral("z-plus")); // what it has
        reach.setFocus();
        QTest::keyClick(&reach, Qt::Key_End);
        QTest::keyClick(&reach, Qt::Key_Up);
        QCOMPARE(reach.currentText(), QStringLiteral("Every Conv"));
        rule.setFocus();
        QTest::keyClicks(&rule, QStringLiteral("gamma"));
        QLineEdit* gamma = dialog->findChild<QLineEdit*>(QStringLiteral("gamma"));
        QVERIFY(gamma != nullptr);
        gamma->setText(QStringLiteral("much"));
        QVERIFY(!runOf(*dialog).isEnabled());
        gamma->setText(QStringLiteral("0.5"));
        QCOMPARE(dialog->text(), QStringLiteral("op:Conv=gamma:gamma=0.5"));
        QVERIFY(runOf(*dialog).isEnabled());
        keepPicture(*dialog, QStringLiteral("ruledialog"));
        QTest::keyClick(gamma, Qt::Key_Return);
        QVERIFY(stage.window.isBusy());
        QVERIFY(stage.settles());
        QVERIFY(stage.ruleOf(stage.node("Conv")).startsWith(QLatin1String("gamma")));
        QCOMPARE(QString::fromStdString(stage.window.model().run().rules[stage.node("Conv").index()].matcher),
                 QStringLiteral("op Conv"));
        QVERIFY(stage.isWholePass("epsilon_plus | op:Conv=gamma:gamma=0.5"));
        QVERIFY2(stage.note().contains(QLatin1String("were applied again")), qPrintable(stage.note()));
        QCOMPARE(stage.list().count(), 1);
        QVERIFY(stage.list().isVisible());
        // The run before is on the right of the line.
        const auto heatmaps = stage.window.findChildren<views::HeatmapView*>();
        QVERIFY(!heatmaps.isEmpty() && heatmaps.front()->hasOther());

        // Taken back with Del.
        QTRY_VERIFY_WITH_TIMEOUT(stage.window.findChild<views::RuleDialog*>() == nullptr, kPatience);
        stage.window.activateWindow();
        stage.list().setFocus();
        QTRY_VERIFY_WITH_TIMEOUT(stage.list().hasFocus(), kPatience);
        stage.list().setCurrentRow(0);
        QTest::keyClick(&stage.list(), Qt::Key_Delete);
        QVERIFY(stage.settles());
        QVERIFY(!stage.list().isVisible() && stage.list().count() == 0);
        QVERIFY(stage.ruleOf(stage.node("Conv")).startsWith(QLatin1String("z-plus")));
        QVERIFY(stage.isWholePass("epsilon_plus"));
    }

    // All layers of a kind in a block, and no other.
    void aScopeGetsAnotherRule()
    {
        const QString folder = QStringLiteral(RETRO_SOURCE_DIR "/samples/silent-groups/");
        Stage stage(folder, "silent-groups.onnx", "disc.png");
        QVERIFY2(stage.settles(), qPrintable(stage.window.lastError()));
        const graph::Graph& graph = stage.window.model().graph();
        const base::NodeId last = stage.node("Conv", 1);
        QVERIFY(last.isValid());
        const std::string scope = graph.node(last).scope;
        QVERIFY(!scope.empty());
        stage.window.selection().selectNode(last);
        QTest::keyClick(&stage.window, Qt::Key_U, Qt::ControlModifier);
        views::RuleDialog* dialog = stage.dialog();
        QVERIFY(dialog != nullptr);
        QComboBox& reach = boxOf(*dialog, "Applies to");
        const int inScope = reach.findText(QStringLiteral("Every Conv in ") + QString::fromStdString(scope));
        QVERIFY(inScope >= 0);
        reach.setCurrentIndex(inScope);
        boxOf(*dialog, "Rule").setFocus();
        QTest::keyClicks(&boxOf(*dialog, "Rule"), QStringLiteral("gamma"));
        runOf(*dialog).click();
        QVERIFY(stage.settles());
        int reached = 0;
        int others = 0;
        for (std::size_t i = 0; i < stage.window.model().graph().nodeCount(); ++i) {
            const graph::Node& node = stage.window.model().graph().node(base::NodeId(i));
            if (node.op != "Conv") {
                continue;
            }
            const bool isInside = node.scope == scope || node.scope.starts_with(scope + "/");
            QCOMPARE(stage.ruleOf(base::NodeId(i)).startsWith(QLatin1String("gamma")), isInside);
            ++(isInside ? reached : others);
        }
        QVERIFY(reached > 0 && others > 0);
        QVERIFY2(stage.note().contains(QLatin1String("were applied again")), qPrintable(stage.note()));
    }

    // From the graph's menu and the inspector, one node; the second choice for it takes the place of the first.
    void oneNodeGetsAnotherRule()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.showWorkspace(QStringLiteral("engine"));
        const base::NodeId node = stage.node("Conv");
        stage.window.selection().selectNode(node);
        stage.window.flush();
        auto& inspector = *stage.window.findChild<views::InspectorView*>();
        QToolButton* change = inspector.findChild<QToolButton*>(QStringLiteral("changerule"));
        QVERIFY(change != nullptr);
        QTRY_VERIFY_WITH_TIMEOUT(change->isVisible(), kPatience);
        QTest::mouseClick(change, Qt::LeftButton);
        views::RuleDialog* dialog = stage.dialog();
        QVERIFY(dialog != nullptr);
        boxOf(*dialog, "Rule").setCurrentText(QStringLiteral("flat"));
        QTest::mouseClick(&runOf(*dialog), Qt::LeftButton);
        QVERIFY(stage.settles());
        QVERIFY(stage.ruleOf(node).startsWith(QLatin1String("flat")));
        QTRY_VERIFY_WITH_TIMEOUT(stage.window.findChild<views::RuleDialog*>() == nullptr, kPatience);

        auto& graph = *stage.window.findChild<views::GraphView*>();
        const auto box = graph.canvas().scene()->boxOf(node);
        const std::unique_ptr<QMenu> menu(graph.makeMenu({views::HitKind::Box, box, false}));
        auto* command = menu->findChild<QAction*>(QStringLiteral("graph.rule"));
        QVERIFY(command != nullptr && command->isEnabled());
        command->trigger();
        dialog = stage.dialog();
        QVERIFY(dialog != nullptr);
        QCOMPARE(boxOf(*dialog, "Rule").currentText(), QStringLiteral("flat"));
        boxOf(*dialog, "Rule").setCurrentText(QStringLiteral("w-square"));
        QTest::mouseClick(&runOf(*dialog), Qt::LeftButton);
        QVERIFY(stage.settles());
        QVERIFY(stage.ruleOf(node).startsWith(QLatin1String("w-square")));
        QCOMPARE(stage.list().count(), 1);

        // All are taken back by an action.
        stage.window.actions().at(QStringLiteral("run.resetrules")).trigger();
        QVERIFY(stage.settles());
        QVERIFY(stage.ruleOf(node).startsWith(QLatin1String("z-plus")));
        QVERIFY(stage.panel().question().rules.empty());
    }

    // Relevance that another tool left by value name is compared with the run on screen, and again with the next one.
    void theRunIsComparedWithArrays()
    {
        Stage stage(QStringLiteral(RETRO_SOURCE_DIR "/tests/data/golden/lrp/dwconv/"));
        const QString file = QStringLiteral(RETRO_SOURCE_DIR "/tests/data/npz/zennit.npz");
        QVERIFY(stage.settles());
        stage.window.open(file);
        RETRO_MADE(dialog, stage.window.findChild<app::RunDifferenceDialog*>());
        const auto& label = *dialog->findChild<QLabel*>();
        QTRY_VERIFY_WITH_TIMEOUT(label.text().contains(QLatin1String("The runs agree in 1 values")), kPatience);
        RETRO_SAYS(label.text(), QLatin1String("No value has the name features.0"),
                   QLatin1String("Without the batch axis: input"));
        stage.window.rules().put(QStringLiteral("op:Conv=gamma:gamma=0.5"));
        QVERIFY(stage.settles());
        QTRY_VERIFY_WITH_TIMEOUT(label.text().contains(QLatin1String("They part at the relevance of input")),
                                 kPatience);
        QVERIFY2(label.text().contains(QLatin1String("not narrowed")), qPrintable(label.text()));
        QVERIFY2(!label.text().contains(QLatin1String("It was handed on by")), qPrintable(label.text()));
        // The rules that the other tool was set to stand beside ours.
        QVERIFY2(label.text().contains(QLatin1String("there: rule not known")), qPrintable(label.text()));
        auto& rules = boxOf(*dialog, "Rules of the other tool");
        QVERIFY(rules.isVisible());
        rules.lineEdit()->setText(QStringLiteral("epsilon_plus"));
        QTest::keyClick(rules.lineEdit(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(label.text().contains(QLatin1String("there: z-plus")), kPatience);
        QVERIFY2(label.text().contains(QLatin1String("here: gamma 0.5")), qPrintable(label.text()));
        keepPicture(*dialog, QStringLiteral("rundifference-arrays"));
        rules.lineEdit()->setText(QStringLiteral("epsilon_pluss"));
        QTest::keyClick(rules.lineEdit(), Qt::Key_Return);
        QTRY_VERIFY_WITH_TIMEOUT(label.text().contains(QLatin1String("there is no composite \"epsilon_pluss\"")),
                                 kPatience);
        stage.window.otherRuns().read({}, QStringLiteral("/nowhere/a.npz"));
        QTRY_VERIFY_WITH_TIMEOUT(label.text().contains(QLatin1String("/nowhere/a.npz")), kPatience);
    }

    // The formula in the dialog is that of the parameters that stand there.
    void theFormulaFollowsTheParameters()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.selection().selectNode(stage.node("Conv"));
        QTest::keyClick(&stage.window, Qt::Key_U, Qt::ControlModifier);
        views::RuleDialog* dialog = stage.dialog();
        QVERIFY(dialog != nullptr);
        boxOf(*dialog, "Rule").setCurrentText(QStringLiteral("gamma"));
        const auto labels = dialog->findChildren<QLabel*>();
        const auto formula = std::ranges::find_if(
            labels, [](const QLabel* label) { return label->accessibleName() == QLatin1String("Formula"); });
        QVERIFY(formula != labels.end());
        const QString split = (*formula)->text();
        QVERIFY2(split.contains(QLatin1String("where z < 0")), qPrintable(split));
        auto* form = dialog->findChild<QComboBox*>(QStringLiteral("form")); // what is a choice is chosen
        QVERIFY(form != nullptr);
        form->setCurrentText(QStringLiteral("original"));
        QVERIFY2(!(*formula)->text().contains(QLatin1String("where z < 0")), qPrintable((*formula)->text()));
        RETRO_MADE(gamma, dialog->findChild<QLineEdit*>(QStringLiteral("gamma")));
        const QString usual = gamma->text();
        gamma->setText(QStringLiteral("nonsense"));
        QCOMPARE((*formula)->text(), split);
        gamma->setText(usual);
        form->setCurrentText(QStringLiteral("split"));
        RETRO_MADE(bias, dialog->findChild<QComboBox*>(QStringLiteral("bias")));
        QCOMPARE(bias->count(), 3);
        bias->setCurrentText(QStringLiteral("zero"));
        QVERIFY2(!(*formula)->text().contains(QLatin1String("γb")), qPrintable((*formula)->text()));
        const auto numbers = std::ranges::find_if(labels, [](const QLabel* label) {
            return label->accessibleName() == QLatin1String("Numbers of this node");
        });
        QVERIFY(numbers != labels.end());
        QVERIFY2((*numbers)->text().contains(QLatin1String("arrived")), qPrintable((*numbers)->text()));
        dialog->reject();
    }

    // What was looked at stays: the step and the node.
    void runningBelowItKeepsThePlace()
    {
        Stage stage;
        QVERIFY(stage.settles());
        const base::NodeId conv = stage.node("Conv");
        const std::string name = stage.window.model().graph().labelOf(conv);
        stage.window.selection().selectNode(conv);
        const auto step = stage.window.model().relevanceStep(conv);
        QVERIFY(step && *step < stage.window.cursor().end());
        stage.window.cursor().moveTo(*step);
        const auto looked = [&stage] {
            return QString::fromStdString(stage.window.model().graph().labelOf(stage.window.model().state().current));
        };
        const QString before = looked();
        stage.window.rules().put(QStringLiteral("op:Conv=gamma"));
        QVERIFY(stage.settles());
        QVERIFY(stage.window.cursor().position() < stage.window.cursor().end());
        QCOMPARE(looked(), before);
        const base::NodeId selected = stage.window.model().nodeOf(stage.window.selection().thing());
        QVERIFY(selected.isValid());
        QCOMPARE(QString::fromStdString(stage.window.model().graph().labelOf(selected)), QString::fromStdString(name));
    }

    // Where the run with the other rule and the one before part: value by value, with both rules.
    void theRunsAreCompared()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QAction& action = stage.window.actions().at(QStringLiteral("view.rundifference"));
        action.trigger(); // nothing is held: it says so
        QVERIFY(stage.window.findChild<app::RunDifferenceDialog*>() == nullptr);
        stage.window.rules().put(QStringLiteral("op:Conv=gamma:gamma=0.5"));
        QVERIFY(stage.settles());
        action.trigger();
        RETRO_MADE(dialog, stage.window.findChild<app::RunDifferenceDialog*>());
        auto& table = *dialog->findChild<QTableWidget*>();
        QTRY_VERIFY_WITH_TIMEOUT(table.rowCount() > 5 && table.isEnabled(), kPatience);
        keepPicture(*dialog, QStringLiteral("rundifference"));
        const QString summary = dialog->findChild<QLabel*>()->text();
        RETRO_SAYS(summary, QLatin1String("They part at the relevance of"), QLatin1String("here: gamma 0.5"),
                   QLatin1String("there: z-plus"));
        // What is above agrees; the row where they part is chosen.
        const int parting = table.currentRow();
        QVERIFY(parting > 0);
        for (int row = 0; row < parting; ++row) {
            QCOMPARE(table.item(row, 3)->text(), QStringLiteral("0"));
        }
        table.setFocus();
        QTest::keyClick(&table, Qt::Key_Up);
        QCOMPARE(table.currentRow(), parting - 1);
        // Back to the same rules: the open dialog follows.
        stage.window.actions().at(QStringLiteral("view.holdrun")).trigger();
        stage.window.actions().at(QStringLiteral("run.start")).trigger();
        QVERIFY(stage.settles());
        QTRY_VERIFY_WITH_TIMEOUT(dialog->findChild<QLabel*>()->text().contains(QLatin1String("The runs agree in")),
                                 kPatience);
    }

    void rulesAreWrittenAsAFile()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.rules().put(QStringLiteral("op:Conv=gamma:gamma=0.5"));
        QVERIFY(stage.settles());
        const QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("mine.json"));
        RETRO_MADE(saved, stage.window.rules().saveComposite(file));
        QVERIFY(stage.isWholePass(qPrintable(file)));
    }

    // The dialog has the numbers of the node, not those that its rule usually has, and leaves them as they are.
    void theDialogHasTheNodesOwnNumbers()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.rules().put(QStringLiteral("op:Conv=gamma:gamma=0.5,bias=zero,filter=0.9"));
        QVERIFY(stage.settles());
        stage.window.rules().change(stage.node("Conv"));
        views::RuleDialog* dialog = stage.dialog();
        QVERIFY(dialog != nullptr);
        QCOMPARE(boxOf(*dialog, "Rule").currentText(), QStringLiteral("gamma"));
        const auto field = [dialog](const char* name) {
            const auto* line = dialog->findChild<QLineEdit*>(QLatin1String(name));
            const auto* box = dialog->findChild<QComboBox*>(QLatin1String(name));
            return line != nullptr ? line->text() : box != nullptr ? box->currentText() : QString();
        };
        QCOMPARE(field("gamma"), QStringLiteral("0.5"));
        QCOMPARE(field("bias"), QStringLiteral("zero"));
        QCOMPARE(field("filter"), QStringLiteral("0.9"));
        QVERIFY2(dialog->text().endsWith(QLatin1String("=gamma:bias=zero,gamma=0.5,filter=0.9")),
                 qPrintable(dialog->text()));
        boxOf(*dialog, "Rule").setCurrentText(QStringLiteral("epsilon")); // another rule begins as usual
        QCOMPARE(field("bias"), QStringLiteral("absorb"));
        dialog->reject();
    }

    void aRuleThatMatchesNothingIsAProblem()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QVERIFY(stage.window.shell().problems().list().all().empty());
        stage.window.rules().put(QStringLiteral("op:Convv=flat"));
        QVERIFY(stage.settles());
        const std::vector<views::Problem> problems = stage.window.shell().problems().list().all();
        QCOMPARE(problems.size(), std::size_t(1));
        QVERIFY(problems.front().severity == views::Severity::Warning);
        QVERIFY2(problems.front().what.contains(QLatin1String("op:Convv=flat")), qPrintable(problems.front().what));
        stage.window.actions().at(QStringLiteral("run.resetrules")).trigger();
        QVERIFY(stage.settles());
        QVERIFY(stage.window.shell().problems().list().all().empty());
    }

    void autoSaysWhy()
    {
        Stage stage;
        QVERIFY(stage.settles());
        const auto reason = [&stage]() -> const QLabel* {
            for (const QLabel* label : stage.panel().findChildren<QLabel*>()) {
                if (label->accessibleName() == QLatin1String("Why these rules")) {
                    return label;
                }
            }
            return nullptr;
        };
        QTRY_VERIFY_WITH_TIMEOUT(reason() != nullptr && reason()->isHidden(), kPatience); // a person chose
        stage.window.open(stage.folder.filePath(QStringLiteral("model.onnx")),
                          {stage.folder.filePath(QStringLiteral("input.npy"))}, QStringLiteral("auto"));
        QVERIFY(stage.settles());
        QTRY_VERIFY_WITH_TIMEOUT(!reason()->isHidden(), kPatience);
        QVERIFY2(reason()->toolTip().contains(QLatin1String("convolution")), qPrintable(reason()->toolTip()));
    }

    // What cannot be changed says so, and nothing runs.
    void refusals()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.window.selection().clear();
        const views::RuleQuestion none = stage.window.rules().questionOf(base::NodeId(std::size_t{100'000}));
        QVERIFY(none.rules.empty());
        stage.window.rules().change(base::NodeId());
        QVERIFY(stage.window.findChild<views::RuleDialog*>() == nullptr);
        stage.window.actions().at(QStringLiteral("run.resetrules")).trigger();
        QVERIFY(!stage.window.isBusy());
        // A rule that does not fit a node of its type is refused by name, and can be taken back.
        stage.window.rules().put(QStringLiteral("op:Relu=gamma"));
        QVERIFY(QTest::qWaitFor([&] { return !stage.window.isBusy(); }, kPatience));
        QVERIFY2(stage.window.lastError().contains(QLatin1String("gamma")), qPrintable(stage.window.lastError()));
        stage.window.actions().at(QStringLiteral("run.resetrules")).trigger();
        QVERIFY(stage.settles());
    }
};

QTEST_MAIN(RuleScenarioTest)
#include "rulescenariotest.moc"
