// SPDX-License-Identifier: Apache-2.0
// What was rewritten in the graph: shown and switched in the run panel, kept in the card; a fused node opened and
// closed.
#include <QtTest>

#include "app/gui/window/mainwindow.h"
#include "app/gui/window/workspaces.h"
#include "core/base/file.h"
#include "core/formats/modelcard.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"
#include "tests/app/gui/settles.h"
#include "views/common/paint/style.h"
#include "views/graph/graphcanvas.h"
#include "views/graph/graphview.h"
#include "views/inspector/inspectorview.h"
#include "views/run/runpanel.h"

#include <QMenu>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTreeWidget>

#include <algorithm>
#include <memory>

using namespace retro;
using tests::kPatience;

namespace
{

tensor::Tensor numbers(const tensor::Shape& shape)
{
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 4) / 8;
    }
    return tensor::Tensor::of<float>(shape, values);
}

/// Two dense layers as MatMul and Add, a Relu between them; and an input for it.
QString writeLayers(const QTemporaryDir& folder)
{
    graph::GraphBuilder builder("layers", 17);
    const auto node = [&](const std::string& op, const std::string& name, std::vector<base::ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), name + "_out");
    };
    base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    for (const std::string name : {"fc1", "fc2"}) {
        const auto weight = builder.addConstant(name + ".w", numbers({4, 4}));
        const auto bias = builder.addConstant(name + ".b", numbers({4}));
        x = node("Add", name + "_bias", {node("MatMul", name, {x, weight}), bias});
        x = name == "fc1" ? node("Relu", "relu", {x}) : x;
    }
    builder.addOutput(x);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    const QString file = folder.filePath("layers.onnx");
    const bool isWritten = bytes.ok() && base::writeFile(file.toStdString(), *bytes).ok() &&
                           tensor::writeNpy(folder.filePath("x.npy").toStdString(), numbers({1, 4})).ok();
    return isWritten ? file : QString();
}

/// An Attention node of the standard behind a Relu; and an input for it.
QString writeAttention(const QTemporaryDir& folder)
{
    graph::GraphBuilder builder("attention", 24);
    const tensor::Shape shape{1, 1, 5, 4};
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, shape);
    const base::ValueId h = builder.addOp("Relu", "relu", {x}, "h");
    const base::ValueId y = builder.addOp("Attention", "attend", {h, h, h}, "y");
    builder.addOutput(y);
    const auto graph = std::move(builder).build();
    const auto bytes = graph.ok() ? formats::toOnnx(*graph) : graph.error();
    const QString file = folder.filePath("attention.onnx");
    const bool isWritten = bytes.ok() && base::writeFile(file.toStdString(), *bytes).ok() &&
                           tensor::writeNpy(folder.filePath("x.npy").toStdString(), numbers(shape)).ok();
    return isWritten ? file : QString();
}

struct Stage
{
    QTemporaryDir folder;
    app::MainWindow window;

    explicit Stage(QString (*write)(const QTemporaryDir&) = writeLayers, const char* composite = "epsilon")
    {
        window.resize(1600, 1000);
        window.show();
        window.open(write(folder), {folder.filePath("x.npy")}, QString::fromLatin1(composite));
    }
    [[nodiscard]] bool settles()
    {
        const bool isDone = QTest::qWaitFor([&] { return !window.isBusy(); }, kPatience);
        window.flush();
        return isDone && window.lastError().isEmpty();
    }
    [[nodiscard]] views::RunPanel& panel() { return *window.findChild<views::RunPanel*>(); }
    [[nodiscard]] QTreeWidget& list() { return *panel().findChild<QTreeWidget*>(); }
    [[nodiscard]] QTreeWidgetItem& line(const char* title)
    {
        return *list().findItems(QString::fromLatin1(title), Qt::MatchExactly).constFirst();
    }
    [[nodiscard]] std::optional<base::NodeId> node(const char* name) { return window.model().graph().findNode(name); }
    [[nodiscard]] views::InspectorView& inspector() { return *window.findChild<views::InspectorView*>(); }
    [[nodiscard]] QTableView& members() { return *inspector().findChild<QTableView*>(); }
    [[nodiscard]] QString cell(int row, int column)
    {
        const QAbstractItemModel& model = *members().model();
        return model.index(row, column).data().toString();
    }
    [[nodiscard]] std::string heat() // of the input, to the last bit
    {
        const auto input = window.model().graph().inputs().front();
        const auto* relevance = window.model().tensor(window.model().relevanceHandle(input));
        return relevance == nullptr ? std::string() : [&] {
            std::string text;
            for (std::int64_t i = 0; i < relevance->size(); ++i) {
                text += std::to_string(relevance->at(i)) + " ";
            }
            return text;
        }();
    }
};

} // namespace

class RewriteScenarioTest : public QObject
{
    Q_OBJECT

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void thePanelListsWhatWasDone()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QTreeWidgetItem& linear = stage.line("Fuse linear layers");
        QCOMPARE(linear.text(1), QStringLiteral("2"));
        QCOMPARE(linear.checkState(0), Qt::Checked);
        QCOMPARE(linear.childCount(), 2);
        QVERIFY(linear.child(0)->text(0).contains("fc1 + fc1_bias"));
        QCOMPARE(stage.line("Merge BatchNorm").text(1), QString::fromUtf8("–"));
        emit stage.list().itemActivated(linear.child(1), 0); // a line leads to its node
        QCOMPARE(stage.window.selection().node(), stage.node("fc2"));
    }

    void onlyRunAppliesASwitchAndTheCardKeepsIt()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QVERIFY(!stage.node("fc1_bias"));
        stage.line("Fuse linear layers").setCheckState(0, Qt::Unchecked);
        QVERIFY(!stage.window.isBusy());
        QVERIFY(!stage.node("fc1_bias"));
        stage.window.actions().at("run.start").trigger();
        QVERIFY(stage.settles());
        QVERIFY(stage.node("fc1_bias"));
        QCOMPARE(stage.line("Fuse linear layers").checkState(0), Qt::Unchecked);
        QCOMPARE(stage.line("Fuse linear layers").text(1), QString::fromUtf8("–"));
        const QString card = stage.folder.filePath("layers.card.json");
        const auto keeps = [&](const std::vector<std::string>& names) {
            const auto read = formats::readCard(card.toStdString());
            return read.ok() && read->noRewrite == names;
        };
        QTRY_VERIFY_WITH_TIMEOUT(keeps({"fuse-linear"}), kPatience);
        stage.window.open(stage.folder.filePath("layers.onnx"), {stage.folder.filePath("x.npy")});
        QVERIFY(stage.settles()); // opened again, it is as it was chosen
        QVERIFY(stage.node("fc1_bias"));
        QCOMPARE(stage.panel().question().noRewrite, std::vector<std::string>{"fuse-linear"});
        stage.line("Fuse linear layers").setCheckState(0, Qt::Checked);
        stage.window.actions().at("run.start").trigger();
        QVERIFY(stage.settles());
        QVERIFY(!stage.node("fc1_bias"));
        QTRY_VERIFY_WITH_TIMEOUT(keeps({}), kPatience);
    }

    void aSwitchWaitsWhileSomethingElseIsAsked()
    {
        Stage stage;
        QVERIFY(stage.settles());
        stage.line("Fuse linear layers").setCheckState(0, Qt::Unchecked);
        emit stage.panel().askRequested(); // a small heatmap
        QVERIFY(stage.settles());
        QVERIFY(!stage.node("fc1_bias"));
        QCOMPARE(stage.panel().question().noRewrite, std::vector<std::string>{"fuse-linear"});
    }

    void aFusedNodeIsOpenedAndClosed()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QVERIFY(stage.window.showWorkspace(QStringLiteral("engine")));
        stage.window.selection().selectNode(*stage.node("fc1"));
        stage.window.flush();
        const std::string before = stage.heat();
        QCOMPARE(stage.members().model()->rowCount(), 2);
        QCOMPARE(stage.cell(0, 0), QStringLiteral("MatMul"));
        QCOMPARE(stage.cell(1, 1), QStringLiteral("fc1_bias"));
        stage.window.actions().at("run.opennode").trigger();
        QVERIFY(stage.settles());
        QCOMPARE(stage.window.selection().node(), stage.node("fc1"));
        QCOMPARE(stage.members().model()->rowCount(), 4); // whole node, operand, two members
        QCOMPARE(stage.cell(3, 0), QStringLiteral("Add"));
        QCOMPARE(stage.cell(3, 3), stage.cell(0, 3));  // the last member has what arrived at the node
        QVERIFY(stage.cell(2, 3) != stage.cell(0, 3)); // the bias took its share
        QCOMPARE(stage.heat(), before);                // looking inside changes nothing outside
        stage.members().setCurrentIndex(stage.members().model()->index(2, 0));
        QVERIFY(stage.inspector().exportTo(stage.folder.filePath("inner.npy").toStdString()).ok());
        stage.window.cursor().moveTo(0); // before anything has arrived there is nothing inside either
        stage.window.flush();
        QCOMPARE(stage.cell(2, 3), QString::fromUtf8("–"));
        stage.window.actions().at("run.closenode").trigger();
        QVERIFY(stage.settles());
        QCOMPARE(stage.members().model()->rowCount(), 2);
    }

    void anOperatorOfManyStepsIsOpenedToo()
    {
        Stage stage(writeAttention, "attnlrp");
        QVERIFY2(stage.settles(), qPrintable(stage.window.lastError()));
        QVERIFY(stage.window.showWorkspace(QStringLiteral("engine")));
        stage.window.selection().selectNode(*stage.node("attend"));
        stage.window.flush();
        const int steps = stage.members().model()->rowCount();
        QVERIFY(steps >= 3);
        stage.window.actions().at("run.opennode").trigger();
        QVERIFY(stage.settles());
        QVERIFY(stage.members().model()->rowCount() > steps + 1); // the whole node and its operands, too
        QCOMPARE(stage.cell(0, 0), QStringLiteral("whole node"));
        stage.window.actions().at("run.closenode").trigger();
        QVERIFY(stage.settles());
        QCOMPARE(stage.members().model()->rowCount(), steps);
    }

    void graphAndInspectorOfferIt()
    {
        Stage stage;
        QVERIFY(stage.settles());
        QVERIFY(stage.window.showWorkspace(QStringLiteral("engine")));
        stage.window.selection().selectNode(*stage.node("fc2"));
        stage.window.flush();
        const auto buttons = stage.inspector().findChildren<QPushButton*>();
        const auto found = std::find_if(buttons.begin(), buttons.end(), [](const QPushButton* each) {
            return each->text() == QLatin1String("Open this node");
        });
        QVERIFY(found != buttons.end());
        QPushButton* button = *found;
        QVERIFY(button->isVisible());
        QTest::mouseClick(button, Qt::LeftButton);
        QVERIFY(stage.settles());
        QCOMPARE(button->text(), QStringLiteral("Close"));
        auto* graph = stage.window.findChild<views::GraphView*>();
        const auto box = graph->canvas().scene()->boxOf(*stage.node("fc2"));
        const std::unique_ptr<QMenu> menu(graph->makeMenu({views::HitKind::Box, box, false}));
        RETRO_MADE(close, menu->findChild<QAction*>(QStringLiteral("graph.closenode")));
        close->trigger();
        QVERIFY(stage.settles());
        QCOMPARE(button->text(), QStringLiteral("Open this node"));
        stage.window.selection().selectNode(*stage.node("relu"));
        stage.window.flush();
        QVERIFY(!button->isVisible());
        stage.window.actions().at("run.opennode").trigger(); // says why not
        QVERIFY(!stage.window.isBusy());
    }
};

QTEST_MAIN(RewriteScenarioTest)
#include "rewritescenariotest.moc"
