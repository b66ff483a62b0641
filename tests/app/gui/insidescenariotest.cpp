// SPDX-License-Identifier: Apache-2.0
// Models with parts that are easily forgotten, in the window: branches of an If before a run, outputs that are left
// out.
#include <QtTest>

#include "app/common/exports.h"
#include "app/gui/controllers/exportcontroller.h"
#include "app/gui/window/mainwindow.h"
#include "core/base/file.h"
#include "core/graph/graphbuilder.h"
#include "tests/app/gui/settles.h"
#include "tests/core/formats/protomodel.h"
#include "views/common/paint/style.h"
#include "views/common/view.h"

#include <QTemporaryDir>

#include <array>
#include <memory>

using namespace retro;
using tests::settles;

namespace
{

graph::Subgraph branch(const char* op)
{
    graph::GraphBuilder builder("branch", 17);
    const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    const auto y = builder.addResult("y");
    graph::Node node;
    node.op = op;
    node.name = "inner";
    node.opset = 17;
    node.inputs = {x};
    node.outputs = {y};
    builder.addNode(std::move(node));
    builder.addOutput(y);
    return {std::make_shared<const graph::Graph>(std::move(builder).build().value()), 1};
}

/// A recurrent layer of `gates` gates with its first output left out, then Squeeze.
tests::ProtoModel withoutFirst(const char* op, std::int64_t gates)
{
    tests::ProtoModel model;
    model.input("x", {3, 1, 2})
        .constant("w", tests::wavy({1, gates * 2, 2}, 1))
        .constant("r", tests::wavy({1, gates * 2, 2}, 2))
        .constant("axes", tensor::Tensor::of<std::int64_t>({1}, std::array<std::int64_t, 1>{0}));
    model.node(op, {"x", "w", "r"}, {"", "h"}, {{"hidden_size", std::int64_t{2}}});
    model.proto().mutable_graph()->mutable_node(0)->set_name("layer");
    model.node("Squeeze", {"h", "axes"}, {"y"}).output("y");
    return model;
}

} // namespace

class InsideScenarioTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString write(const QString& name, const tests::ProtoModel& model)
    {
        const QString file = m_folder.filePath(name);
        return base::writeFile(file.toStdString(), model.bytes()).ok() ? file : QString();
    }

private slots:
    void initTestCase() { views::Style::install(*qApp); }

    void branchesAreDrawnBeforeARun()
    {
        tests::ProtoModel model(17);
        model.input("x", {1, 4}).constant("zero", tests::wavy({}, 0)); // sin 0
        model.node("ReduceMax", {"x"}, {"m"}, {{"keepdims", std::int64_t{0}}});
        model.node("Greater", {"m", "zero"}, {"condition"});
        model.node("If", {"condition"}, {"y"}, {{"then_branch", branch("Relu")}, {"else_branch", branch("Tanh")}});
        model.proto().mutable_graph()->mutable_node(2)->set_name("choice");
        model.node("Identity", {"y"}, {"z"}).output("z");
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        window.showWorkspace(QStringLiteral("engine"));
        window.open(write("if.onnx", model));
        QVERIFY(settles(window));
        QVERIFY(window.model().hasRun());
        const graph::Graph& shown = window.model().graph();
        QVERIFY(shown.findNode("choice/then_branch/inner").has_value());
        QVERIFY(shown.findNode("choice/else_branch/inner").has_value());
        window.selection().selectNode(*shown.findNode("choice/then_branch/inner"));
        window.flush();
        window.explainInput("random:1");
        QVERIFY(settles(window));
        QVERIFY(window.model().run().eventCount() > 0);
    }

    void aRecurrentLayerWithoutItsFirstOutputIsShownInEveryView_data()
    {
        QTest::addColumn<QString>("op");
        QTest::addColumn<int>("gates");
        QTest::newRow("LSTM") << "LSTM" << 4;
        QTest::newRow("GRU") << "GRU" << 3;
        QTest::newRow("RNN") << "RNN" << 1;
    }
    void aRecurrentLayerWithoutItsFirstOutputIsShownInEveryView()
    {
        QFETCH(QString, op);
        QFETCH(int, gates);
        app::MainWindow window;
        window.resize(1400, 900);
        window.show();
        window.open(write(op + ".onnx", withoutFirst(qPrintable(op), gates)), {"random:1"});
        RETRO_SETTLES(window);
        QVERIFY(window.model().run().eventCount() > 0);
        for (const QString& workspace : app::MainWindow::workspaceIds()) {
            window.showWorkspace(workspace);
            for (std::size_t node = 0; node < window.model().graph().runNodeCount(); ++node) {
                window.selection().selectNode(base::NodeId(node));
                window.flush();
            }
            window.cursor().moveTo(0);
            window.flush();
            window.cursor().moveTo(window.cursor().end());
            window.flush();
        }
        for (auto* view : window.findChildren<views::View*>()) {
            const auto* how = app::exportOf(*view);
            if (how == nullptr) {
                continue;
            }
            for (const QString& ending :
                 QString::fromUtf8(how->endings.data(), static_cast<qsizetype>(how->endings.size()))
                     .split(QLatin1Char(' '))) {
                const QString file = m_folder.filePath(op + "." + ending);
                static_cast<void>(view->exportTo(file.toStdString())); // some have nothing to say; none may die
            }
        }
    }
};

QTEST_MAIN(InsideScenarioTest)

#include "insidescenariotest.moc"
