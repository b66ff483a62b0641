// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/fromgraph.h"
#include "core/formats/graphjson.h"

#include <QtTest>

#include <algorithm>

using namespace retro::analysis;

namespace
{

retro::base::Result<PlanningGraph> parsed(const std::string& values, const std::string& nodes,
                                          const std::string& output = "y")
{
    const std::string text = R"({"format":"retrograde-graph/1","opsets":{"ai.onnx":17},"inputs":["x"],"outputs":[")" +
                             output + R"("],"values":[)" + values + R"(],"nodes":[)" + nodes + "]}";
    auto graph = retro::formats::parseGraphJson(text, "test.json");
    if (!graph.ok()) {
        return std::move(graph).error();
    }
    return planningGraph(**graph);
}

} // namespace

class PlanningGraphTest : public QObject
{
    Q_OBJECT

private slots:
    void statedFactsAreTaken()
    {
        const auto graph =
            parsed(R"({"name":"x","shape":[2,3]},{"name":"h","bytes":40},{"name":"y","shape":[2],"dtype":"float64"})",
                   R"({"name":"a","op":"A","inputs":["x"],"outputs":["h"],"flops":7,"workspace":5,"saves_inputs":[0]},
               {"name":"b","op":"B","inputs":["h"],"outputs":["y"],"stochastic":true,"saves_outputs":[0]})");
        RETRO_OK(graph);
        QCOMPARE(graph->unit, CostUnit::Flops);
        const OpGraph& ops = graph->graph;
        QCOMPARE(ops.size(), std::size_t{3}); // with the source
        const Op& a = ops.op(ops.findOp("a"));
        QCOMPARE(a.cost, 7.0);
        QCOMPARE(a.workspace, 5U);
        QCOMPARE(a.savedInputs.size(), std::size_t{1});
        QVERIFY(a.mayRepeat());
        const Op& b = ops.op(ops.findOp("b"));
        QVERIFY(!b.mayRepeat());
        QVERIFY(b.savedInputs.empty());
        QCOMPARE(b.savedOutputs.size(), std::size_t{1});
        QCOMPARE(ops.value(b.outputs[0]).bytes, 16U);
        QVERIFY(ops.value(b.outputs[0]).isOutput);
        QCOMPARE(ops.value(a.outputs[0]).bytes, 40U);
    }

    void unknownSizesAreRefusedByName()
    {
        const auto graph = parsed(R"({"name":"x","shape":["N"]},{"name":"y","bytes":1})",
                                  R"({"name":"a","op":"A","inputs":["x"],"outputs":["y"]})");
        QVERIFY(!graph.ok());
        QVERIFY2(graph.error().text().starts_with("x: its size is not known"), graph.error().text().c_str());
    }

    void viewsAreOneValueAndConstantsLeaveTheBudget()
    {
        RETRO_MADE(graph,
                   parsed(
                       R"({"name":"x","bytes":8},{"name":"h","bytes":8,"storage":1},{"name":"v","bytes":8,"storage":1},
               {"name":"y","bytes":8},{"name":"w","shape":[3],"constant":{"dtype":"float32","shape":[3]}})",
                       R"({"name":"a","op":"A","inputs":["x","w"],"outputs":["h"],"flops":4},
               {"name":"view","op":"Reshape","inputs":["h"],"outputs":["v"],"flops":1},
               {"name":"b","op":"B","inputs":["v"],"outputs":["y"],"flops":2})"));
        const OpGraph& ops = graph->graph;
        QCOMPARE(ops.findOp("view"), kNone);
        const Op& b = ops.op(ops.findOp("b"));
        QCOMPARE(ops.value(b.inputs[0]).name, std::string("h"));
        QCOMPARE(ops.op(ops.findOp("a")).cost, 5.0);
        QVERIFY(ops.op(ops.findOp("a")).hasParameters);
        QCOMPARE(graph->constantBytes, 12U);
        const auto mentions = [&](std::string_view word) {
            return std::ranges::any_of(graph->warnings,
                                       [&](const std::string& text) { return text.find(word) != std::string::npos; });
        };
        QVERIFY(mentions("1 views"));
        QVERIFY(mentions("do not say what they save"));
    }

    void millisecondsWinWhenAllAreStated()
    {
        const auto graph =
            parsed(R"({"name":"x","bytes":8},{"name":"y","bytes":8})",
                   R"({"name":"a","op":"A","inputs":["x"],"outputs":["y"],"flops":4,"milliseconds":0.5})");
        QVERIFY(graph.ok());
        QCOMPARE(graph->unit, CostUnit::Milliseconds);
        QCOMPARE(graph->graph.op(graph->graph.findOp("a")).cost, 0.5);
    }
};

QTEST_GUILESS_MAIN(PlanningGraphTest)
#include "planninggraphtest.moc"
