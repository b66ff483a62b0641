// SPDX-License-Identifier: Apache-2.0
// What lies inside a model: branches of an If as `info` counts them, hidden values as `run --values` writes them.
#include "tests/app/cli/cliprogram.h"
#include "tests/core/formats/protomodel.h"

#include "core/base/file.h"
#include "core/graph/graphbuilder.h"
#include "core/tensor/npy.h"

#include <QtTest>

#include <QDir>
#include <QTemporaryDir>

#include <cmath>
#include <memory>

using namespace retro;
using nlohmann::json;
using tensor::Tensor;
using tests::Answer;
using tests::cli;
using tests::expectEnd;

namespace
{

graph::Node node(const char* op, std::vector<graph::ValueId> inputs, std::vector<graph::ValueId> outputs)
{
    graph::Node made;
    made.op = op;
    made.name = op;
    made.opset = 17;
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    return made;
}

/// x · W + b, or x · V, then a Relu.
graph::Subgraph branch(bool hasBias)
{
    graph::GraphBuilder builder("branch", 17);
    const auto x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    const auto w = builder.addConstant(hasBias ? "W" : "V", tests::wavy({4, 4}, hasBias ? 1 : 2));
    const auto h = builder.addResult("h");
    const auto y = builder.addResult("y");
    builder.addNode(node("MatMul", {x, w}, {h}));
    if (hasBias) {
        const auto b = builder.addConstant("b", tests::wavy({4}, 3));
        const auto sum = builder.addResult("sum");
        builder.addNode(node("Add", {h, b}, {sum}));
        builder.addNode(node("Relu", {sum}, {y}));
    } else {
        builder.addNode(node("Relu", {h}, {y}));
    }
    builder.addOutput(y);
    return {std::make_shared<const graph::Graph>(std::move(builder).build().value()), 1};
}

} // namespace

class ModelInsideTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    QString path(const QString& name) const { return m_folder.filePath(name); }

    QString write(const char* name, tests::ProtoModel& model) const
    {
        const QString file = path(name);
        const auto bytes = model.bytes();
        return base::writeFile(file.toStdString(), bytes).ok() ? file : QString();
    }

    /// Two layers of a module as PyTorch's exporters name them: "/block/block.0/fc/Gemm".
    QString layers() const
    {
        tests::ProtoModel model;
        model.input("x", {1, 4}).constant("w", tests::wavy({4, 4}, 1)).constant("v", tests::wavy({4, 4}, 2));
        model.node("MatMul", {"x", "w"}, {"/block/block.0/fc/MatMul_output_0"});
        model.node("Relu", {"/block/block.0/fc/MatMul_output_0"}, {"/block/block.0/Relu_output_0"});
        model.node("MatMul", {"/block/block.0/Relu_output_0", "v"}, {"/block/block.1/fc/MatMul_output_0"});
        model.node("Relu", {"/block/block.1/fc/MatMul_output_0"}, {"/block/block.1/Relu_output_0"});
        model.node("Identity", {"/block/block.1/Relu_output_0"}, {"y"}).output("y");
        for (auto& made : *model.proto().mutable_graph()->mutable_node()) {
            std::string name = made.output(0);
            made.set_name(name.substr(0, name.find("_output_0")));
        }
        return write("layers.onnx", model);
    }

    QStringList filesOf(const QString& folder) const { return QDir(path(folder) + "/values").entryList({"*.npy"}); }

private slots:
    void infoCountsWhatLiesInBranches()
    {
        tests::ProtoModel model(17);
        model.input("x", {1, 4}).constant("zero", tests::wavy({}, 0));
        model.node("ReduceMax", {"x"}, {"m"}, {{"keepdims", std::int64_t{0}}});
        model.node("Greater", {"m", "zero"}, {"condition"});
        model.node("If", {"condition"}, {"y"}, {{"then_branch", branch(true)}, {"else_branch", branch(false)}});
        model.node("Identity", {"y"}, {"z"}).output("z");
        const QString file = write("if.onnx", model);
        RETRO_RUNS(answer, {"info", file, "--json"});
        const json info = json::parse(answer.out.toStdString());
        QCOMPARE(info["parameters"].get<int>(), 37); // and the constant of the condition
        QCOMPARE(info["parameters_inside"].get<int>(), 36);
        QCOMPARE(info["nodes"].get<int>(), 4);
        QCOMPARE(info["nodes_inside"].get<int>(), 5);
        QVERIFY((info["operators_inside"] == json{{"MatMul", 2}, {"Add", 1}, {"Relu", 2}}));
        const QString words = cli({"info", file}).out;
        RETRO_SAYS(words, "5 nodes in the branches and bodies", "37, 36 of them inside");
    }

    void hiddenValuesAreWritten_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QStringList>("files");
        const QString fc0 = "_block_block.0_fc_MatMul_output_0.npy";
        const QString relu0 = "_block_block.0_Relu_output_0.npy";
        const QString fc1 = "_block_block.1_fc_MatMul_output_0.npy";
        const QString relu1 = "_block_block.1_Relu_output_0.npy";
        QTest::newRow("a value") << "/block/block.0/fc/MatMul_output_0" << QStringList{fc0};
        QTest::newRow("a node") << "/block/block.1/fc/MatMul" << QStringList{fc1};
        QTest::newRow("without the slash") << "block/block.1/fc/MatMul" << QStringList{fc1};
        QTest::newRow("a module") << "block.0.fc" << QStringList{fc0};
        QTest::newRow("a module with others inside") << "block.0" << QStringList{relu0};
        QTest::newRow("modules") << "block.*.fc" << QStringList{fc0, fc1};
        QTest::newRow("operators") << "*Relu" << QStringList{relu0, relu1};
        QTest::newRow("one of") << "block.[1]" << QStringList{relu1};
        QTest::newRow("all") << "*" << QStringList{fc0, relu0, fc1, relu1, "x.npy", "y.npy"};
    }
    void hiddenValuesAreWritten()
    {
        QFETCH(QString, pattern);
        QFETCH(QStringList, files);
        const QString folder = QStringLiteral("out-") + QTest::currentDataTag();
        const Answer answer =
            cli({"run", layers(), "--input", "random:1", "--output-dir", path(folder), "--values", pattern, "--json"});
        QVERIFY2(answer.code == 0, qPrintable(answer.err));
        QStringList made = filesOf(folder);
        made.sort();
        files.sort();
        QCOMPARE(made, files);
        const json told = json::parse(answer.out.toStdString());
        QCOMPARE(told["values"].size(), static_cast<std::size_t>(files.size()));
        QCOMPARE(tests::linesOf(path(folder) + "/values/index.csv").size(), files.size() + 1);
    }

    void hiddenValuesAreThoseOfTheModel()
    {
        const QString file = layers();
        const Tensor x = tests::wavy({1, 4}, 5);
        QVERIFY(tensor::writeNpy(path("x.npy").toStdString(), x).ok());
        QCOMPARE(cli({"run", file, "--input", path("x.npy"), "--output-dir", path("v"), "--values", "block.0.fc"}).code,
                 0);
        RETRO_MADE(h, tensor::readNpy(path("v/values/_block_block.0_fc_MatMul_output_0.npy").toStdString()));
        const Tensor w = tests::wavy({4, 4}, 1);
        for (std::int64_t column = 0; column < 4; ++column) {
            double sum = 0;
            for (std::int64_t row = 0; row < 4; ++row) {
                sum += x.at(row) * w.at(4 * row + column);
            }
            QVERIFY(std::abs(h->at(column) - sum) < 1e-5);
        }
    }

    /// A rewrite merges them, but the file has them.
    void valuesThatRewritesTakeAreThere()
    {
        const QString model = QStringLiteral(RETRO_SOURCE_DIR "/samples/clever-hans/clever-hans.onnx");
        const QStringList call{"run", model, "--input", "random:1", "--output-dir"};
        RETRO_RUNS(all, call + QStringList{path("all"), "--values", "*", "--json"});
        const json told = json::parse(all.out.toStdString());
        const json info = json::parse(cli({"info", model, "--json"}).out.toStdString());
        QVERIFY(told["values"].size() >= info["nodes"].get<std::size_t>());
    }

    void patternsThatNameNothingAreRefusedWithTheNearest()
    {
        expectEnd({"run", layers(), "--input", "random:1", "--output-dir", path("no"), "--values", "block.0.fx"}, 2,
                  {"--values block.0.fx", "nearest", "block.0.fc"});
        QVERIFY(!QDir(path("no") + "/values").exists());
    }
};

QTEST_GUILESS_MAIN(ModelInsideTest)
#include "modelinsidetest.moc"
