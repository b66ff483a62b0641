// SPDX-License-Identifier: Apache-2.0
// Patterns over the names of values, nodes and modules, as the two exporters of PyTorch write scopes.
#include "core/engine/explain/valuepatterns.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

using namespace retro;
using graph::ValueId;

namespace
{

/// x → block.0.fc → block.0 → block.1.fc → block.1 → y, with scopes "block/block.0/fc" or "block/0/fc".
graph::Graph layers(bool isOld)
{
    graph::GraphBuilder builder("layers", 20);
    ValueId last = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, 4});
    for (const char* number : {"0", "1"}) {
        const std::string module = isOld ? std::string("block/block.") + number : std::string("block/") + number;
        for (const char* op : {"MatMul", "Relu"}) {
            graph::Node node;
            node.op = op;
            node.scope = op == std::string("MatMul") ? module + "/fc" : module;
            node.name = "/" + node.scope + "/" + op;
            node.inputs = {last};
            if (op == std::string("MatMul")) {
                node.inputs.push_back(
                    builder.addConstant(node.name + ".w", tensor::Tensor::zeros(tensor::DType::Float32, {4, 4})));
            }
            last = builder.addResult(node.name + "_output_0");
            node.outputs = {last};
            builder.addNode(std::move(node));
        }
    }
    builder.addOutput(last);
    return std::move(builder).build().value();
}

} // namespace

class ValuePatternsTest : public QObject
{
    Q_OBJECT
private slots:
    void modulesAreNamedAsInPyTorch_data()
    {
        QTest::addColumn<QString>("scope");
        QTest::addColumn<QString>("module");
        QTest::newRow("old exporter") << "layer1/layer1.0/conv1"
                                      << "layer1.0.conv1";
        QTest::newRow("dynamo") << "layer1/0/conv1"
                                << "layer1.0.conv1";
        QTest::newRow("deep") << "encoder/encoder.layers/encoder.layers.11/fc"
                              << "encoder.layers.11.fc";
        QTest::newRow("alike") << "layer1/layer10/conv"
                               << "layer1.layer10.conv";
        QTest::newRow("none") << ""
                              << "";
    }
    void modulesAreNamedAsInPyTorch()
    {
        QFETCH(QString, scope);
        QFETCH(QString, module);
        graph::Node node;
        node.scope = scope.toStdString();
        QCOMPARE(QString::fromStdString(graph::moduleOf(node)), module);
    }

    void patternsNameValues_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<int>("first"); // relu0 is the second result
        QTest::addColumn<int>("count");
        QTest::newRow("module") << "block.0.fc" << 0 << 1;
        QTest::newRow("module with modules inside") << "block.0" << 1 << 1;
        QTest::newRow("the outermost module") << "block" << 3 << 1;
        QTest::newRow("modules") << "block.?.fc" << 0 << 2;
        QTest::newRow("one of") << "block.[1]" << 3 << 1;
        QTest::newRow("nodes") << "*Relu" << 1 << 2;
        QTest::newRow("everything") << "*_output_0" << 0 << 4;
    }
    void patternsNameValues()
    {
        QFETCH(QString, pattern);
        QFETCH(int, first);
        QFETCH(int, count);
        for (const bool isOld : {true, false}) {
            const graph::Graph graph = layers(isOld);
            const std::vector<std::string> patterns{pattern.toStdString()};
            RETRO_MADE(found, engine::valuesMatching(graph, patterns));
            QCOMPARE(found->size(), static_cast<std::size_t>(count));
            QVERIFY(graph.nodeOf(found->front()).index() == static_cast<std::size_t>(first));
        }
    }

    void whatNamesNothingIsRefusedWithTheNearest()
    {
        const graph::Graph graph = layers(true);
        const std::vector<std::string> patterns{"block.0.fx"};
        RETRO_REFUSED(engine::valuesMatching(graph, patterns), "block.0.fc");
    }
};

QTEST_GUILESS_MAIN(ValuePatternsTest)
#include "valuepatternstest.moc"
