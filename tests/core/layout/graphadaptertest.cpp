// SPDX-License-Identifier: Apache-2.0
#include "core/layout/graphadapter.h"
#include "core/graph/graphbuilder.h"

#include <QtTest>

using namespace retro;
using graph::ValueId;
using layout::Index;
using layout::kNone;
using layout::LayoutEdge;

class GraphAdapterTest : public QObject
{
    Q_OBJECT

private slots:
    void readsNodesEdgesAndScopes()
    {
        graph::GraphBuilder builder("sample", 13);
        const ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{2, 2});
        const ValueId w = builder.addConstant("w", tensor::Tensor::zeros(tensor::DType::Float32, {2, 2}));
        const ValueId h = builder.addResult("h");
        const ValueId s = builder.addResult("s");
        const ValueId y = builder.addResult("y");
        builder.addNode({"MatMul", "", "fc", "/net/block", 13, {x, w}, {h}, {}});
        builder.addNode({"Mul", "", "square", "net/block/act", 13, {h, h}, {s}, {}});
        builder.addNode({"Clip", "", "clip", "", 13, {s, ValueId(), w}, {y}, {}});
        builder.addOutput(y);
        RETRO_MADE(built, std::move(builder).build());

        const layout::DrawnGraph drawn = layout::readGraph(*built);
        QCOMPARE(drawn.graph.nodeCount, 4); // three operators, then the input
        QCOMPARE(drawn.graph.edges, (std::vector<LayoutEdge>{{3, 0}, {0, 1}, {0, 1}, {1, 2}}));
        QCOMPARE(drawn.edgeTensors[0].value, x);
        QCOMPARE(drawn.edgeTensors[2].value, h);
        QCOMPARE(drawn.edgeTensors[2].slot, 1u);
        QCOMPARE(drawn.groupPaths, (std::vector<std::string>{"net", "net/block", "net/block/act"}));
        QCOMPARE(drawn.graph.groupParents, (std::vector<Index>{kNone, 0, 1}));
        QCOMPARE(drawn.graph.nodeGroups, (std::vector<Index>{1, 2, kNone, kNone}));
        QCOMPARE(drawn.groupName(2), std::string_view("act"));
        QCOMPARE(drawn.groupName(0), std::string_view("net"));
        QVERIFY(layout::collapse(drawn.graph, {true, false, false}).ok());
    }
};

QTEST_APPLESS_MAIN(GraphAdapterTest)
#include "graphadaptertest.moc"
