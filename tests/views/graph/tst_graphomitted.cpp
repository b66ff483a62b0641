// SPDX-License-Identifier: Apache-2.0
// Nodes of which an output is left out, drawn and written: every operator of the schema, each output in turn.
#include <QTemporaryDir>
#include <QTest>

#include "core/graph/graphbuilder.h"
#include "core/ops/schema/schema.h"
#include "tests/views/graph/graphstage.h"
#include "tests/views/support/grabs.h"
#include "views/graph/graphwords.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

using namespace retro;
using graph::ValueId;

namespace
{

constexpr std::size_t kMostOutputs = 3; // of an operator with any number of them
constexpr std::size_t kBlocks = 4;      // that repeat, so that the layout looks for repeats

std::size_t countOf(std::string_view names)
{
    const auto words = static_cast<std::size_t>(std::ranges::count(names, ' ')) + (names.empty() ? 0 : 1);
    return names.ends_with('*') || names.ends_with('+') ? kMostOutputs : words;
}

/// Blocks of the operator, whose output `omitted` is left out, and a sum of its other outputs; nothing where the graph
/// may not leave it out.
std::optional<graph::Graph> chainOf(const ops::OperatorSchema& schema, std::size_t outputs, std::size_t omitted)
{
    graph::GraphBuilder builder("omitted");
    builder.setOpset(std::string(schema.domain), schema.sinceOpset);
    builder.setOpset("", 20);
    ValueId last = builder.addInput("x", tensor::DType::Float32, tensor::Shape{2, 2});
    for (std::size_t block = 0; block < kBlocks; ++block) {
        graph::Node node;
        node.op = schema.op;
        node.domain = schema.domain;
        node.name = fmt::format("block{}/{}", block, schema.op);
        node.scope = fmt::format("block{}", block);
        node.inputs = {last};
        graph::Node sum;
        sum.op = "Sum";
        sum.scope = node.scope;
        for (std::size_t k = 0; k < outputs; ++k) {
            node.outputs.push_back(k == omitted ? ValueId() : builder.addResult(fmt::format("y{}.{}", block, k)));
            if (k != omitted) {
                sum.inputs.push_back(node.outputs.back());
            }
        }
        last = builder.addResult(fmt::format("sum{}", block));
        sum.outputs = {last};
        builder.addNode(std::move(node));
        builder.addNode(std::move(sum));
    }
    builder.addOutput(last);
    auto built = std::move(builder).build();
    return built.ok() ? std::optional(std::move(built).value()) : std::nullopt;
}

views::RunHandle runOf(graph::Graph graph)
{
    auto run = std::make_shared<trace::Run>();
    run->shapes.assign(graph.valueCount(), tensor::Shape{2, 2});
    run->graph = std::make_shared<const graph::Graph>(std::move(graph));
    auto timeline = trace::Timeline::open(run);
    return {run, std::make_shared<trace::Timeline>(std::move(timeline).value())};
}

} // namespace

class GraphOmittedTest : public QObject
{
    Q_OBJECT
private slots:
    void initTestCase() { tests::installLook(); }

    void everyOperatorIsDrawnWithoutAnyOfItsOutputs()
    {
        const QTemporaryDir folder;
        std::set<std::string> withoutFirst;
        std::size_t drawn = 0;
        for (const ops::OperatorSchema& schema : ops::schemas()) {
            const std::size_t outputs = countOf(schema.outputs);
            for (std::size_t omitted = 0; outputs > 1 && omitted < outputs; ++omitted) {
                std::optional<graph::Graph> graph = chainOf(schema, outputs, omitted);
                if (!graph) {
                    continue;
                }
                if (omitted == 0) {
                    withoutFirst.insert(std::string(schema.op));
                }
                tests::GraphStage stage(runOf(std::move(*graph)));
                QVERIFY2(!stage.scene().visible.nodes.empty(), schema.op.data());
                const base::NodeId node(std::uint32_t{0});
                QVERIFY(!views::describeNode(stage.context.model, node).isEmpty());
                QVERIFY(stage.context.model.valueOf(node).isValid());
                for (const char* ending : {"svg", "json", "dot", "png"}) {
                    RETRO_MADE(done, stage.view.exportTo(folder.filePath(QStringLiteral("g.") + ending).toStdString()));
                }
                ++drawn;
            }
        }
        for (const char* op : {"LSTM", "GRU", "RNN", "Scan", "Loop", "If"}) {
            QVERIFY2(withoutFirst.contains(op), op);
        }
        QVERIFY(drawn > 40);
    }
};

QTEST_MAIN(GraphOmittedTest)

#include "tst_graphomitted.moc"
