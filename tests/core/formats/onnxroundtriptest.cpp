// SPDX-License-Identifier: Apache-2.0
#include "core/graph/contentdigest.h"
#include "core/graph/graphbuilder.h"
#include "tests/core/formats/onnxsamples.h"

#include <QtTest>

#include <fmt/format.h>

#include <array>

using namespace retro::formats::samples;

using retro::base::Result;
using retro::formats::parseOnnx;
using retro::formats::toOnnx;
using retro::graph::Dimension;
using retro::graph::Graph;
using retro::graph::GraphBuilder;
using retro::graph::Node;
using retro::graph::ValueId;
using retro::tensor::DType;
using retro::tensor::Tensor;

namespace
{

Node node(std::string op, std::string name, std::vector<ValueId> inputs, std::vector<ValueId> outputs)
{
    Node made;
    made.op = std::move(op);
    made.name = std::move(name);
    made.opset = 17;
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    return made;
}

/// Constants of every type, attributes of every kind, every sort of extent.
Graph everything()
{
    GraphBuilder builder("everything", 17);
    builder.setOpset("com.example", 2);
    const ValueId x = builder.addInput("x", DType::Float32, std::vector<Dimension>{{{}, "N"}, {3, ""}, {{}, ""}});
    const ValueId any = builder.addInput("any", DType::Int64, std::nullopt);
    std::vector<ValueId> operands{x, any, ValueId()};
    for (std::size_t type = 0; type < retro::tensor::kDTypeCount; ++type) {
        const auto dtype = static_cast<DType>(type);
        const std::string name(retro::tensor::nameOf(dtype));
        operands.push_back(builder.addConstant("c_" + name, Tensor::full(dtype, {2, 3}, 1)));
    }
    operands.push_back(builder.addConstant("scalar", Tensor::scalar(2.0F)));
    operands.push_back(builder.addConstant("empty", Tensor::zeros(DType::Float32, {0, 4})));
    const ValueId h = builder.addResult("h");
    const ValueId y = builder.addResult("y");
    builder.declare(h, DType::Float64, std::vector<Dimension>{});
    Node custom = node("Everything", "custom", std::move(operands), {h, ValueId()});
    custom.domain = "com.example";
    custom.opset = 2;
    custom.scope = "not/from/the/name";
    custom.attributes["int"] = std::int64_t{-5};
    custom.attributes["float"] = 0.25;
    custom.attributes["text"] = std::string("half_pixel");
    custom.attributes["tensor"] = Tensor::full(DType::Int32, {2}, 7);
    custom.attributes["ints"] = std::vector<std::int64_t>{1, -2};
    custom.attributes["no_ints"] = std::vector<std::int64_t>{};
    custom.attributes["floats"] = std::vector<double>{0.5, -0.125};
    custom.attributes["texts"] = std::vector<std::string>{"a", ""};
    builder.addNode(std::move(custom));
    Node relu = node("Relu", "/block1/act/Relu", {h}, {y});
    relu.scope = "block1/act";
    builder.addNode(std::move(relu));
    builder.addOutput(y);
    builder.addOutput(x);
    Result<Graph> graph = std::move(builder).build();
    Q_ASSERT(graph.ok());
    return std::move(graph).value();
}

/// Relu chain with a residual Add at every fourth node.
Graph residualChain(std::size_t nodes)
{
    GraphBuilder builder("chain", 17);
    ValueId last = builder.addInput("x", DType::Float32, retro::tensor::Shape{1, 8});
    ValueId skip = last;
    for (std::size_t i = 0; i < nodes; ++i) {
        const ValueId next = builder.addResult(fmt::format("v{}", i));
        const bool isAdd = i % 4 == 3;
        builder.addNode(node(isAdd ? "Add" : "Relu", fmt::format("n{}", i),
                             isAdd ? std::vector{last, skip} : std::vector{last}, {next}));
        skip = isAdd ? next : skip;
        last = next;
    }
    builder.addOutput(last);
    Result<Graph> graph = std::move(builder).build();
    Q_ASSERT(graph.ok());
    return std::move(graph).value();
}

void compare(const Graph& before, const Graph& after)
{
    QCOMPARE(structuralHash(after), structuralHash(before));
    QCOMPARE(contentDigest(after), contentDigest(before));
    QCOMPARE(after.name(), before.name());
    QCOMPARE(after.opsets(), before.opsets());
    for (std::size_t i = 0; i < before.nodeCount(); ++i) {
        QCOMPARE(after.nodes()[i].name, before.nodes()[i].name);
        QCOMPARE(after.nodes()[i].scope, before.nodes()[i].scope);
    }
    for (std::size_t i = 0; i < before.valueCount(); ++i) {
        const auto& a = after.values()[i];
        const auto& b = before.values()[i];
        QCOMPARE(a.name, b.name);
        QCOMPARE(a.dtype, b.dtype);
        QCOMPARE(a.shape.has_value(), b.shape.has_value());
        for (std::size_t axis = 0; b.shape && axis < b.shape->size(); ++axis) {
            QCOMPARE(a.shape->at(axis).extent, b.shape->at(axis).extent);
            QCOMPARE(a.shape->at(axis).symbol, b.shape->at(axis).symbol);
        }
    }
}

} // namespace

class OnnxRoundTripTest : public QObject
{
    Q_OBJECT

private slots:
    void everythingSurvives()
    {
        const Graph graph = everything();
        RETRO_MADE(data, toOnnx(graph));
        RETRO_MADE(back, parseOnnx(*data, "memory"));
        compare(graph, **back);
        RETRO_MADE(again, toOnnx(**back));
        QVERIFY(*again == *data); // byte for byte
    }

    void largeGraphsSurvive()
    {
        const Graph graph = residualChain(20'000);
        RETRO_MADE(data, toOnnx(graph));
        RETRO_MADE(back, parseOnnx(*data, "memory"));
        compare(graph, **back);
    }

    void stridedConstantsAreWrittenInLogicalOrder()
    {
        GraphBuilder builder("strided", 17);
        const ValueId x = builder.addInput("x", DType::Float32, retro::tensor::Shape{3, 2});
        const Tensor plain = Tensor::of<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
        const std::array<std::int64_t, 2> order{1, 0};
        const ValueId w = builder.addConstant("w", plain.permuted(order));
        const ValueId y = builder.addResult("y");
        builder.addNode(node("Add", "add", {x, w}, {y}));
        builder.addOutput(y);
        RETRO_MADE(graph, std::move(builder).build());
        RETRO_MADE(data, toOnnx(*graph));
        RETRO_MADE(back, parseOnnx(*data, "memory"));
        const Tensor& read = (*back)->value((*back)->findValue("w").value()).constant;
        QVERIFY(read.bitEqual(Tensor::of<float>({3, 2}, std::vector<float>{1, 4, 2, 5, 3, 6})));
    }

    void irVersionFollowsTheOperatorSet_data()
    {
        QTest::addColumn<qint64>("opset");
        QTest::addColumn<qint64>("ir");
        for (const auto& [opset, ir] : {std::pair{13, 8}, {18, 8}, {19, 9}, {22, 10}, {23, 11}, {24, 12}, {26, 13}}) {
            QTest::addRow("%d", opset) << qint64{opset} << qint64{ir};
        }
    }

    void irVersionFollowsTheOperatorSet()
    {
        QFETCH(qint64, opset);
        QFETCH(qint64, ir);
        GraphBuilder builder;
        const ValueId x = builder.addInput("x", DType::Float32, retro::tensor::Shape{1});
        const ValueId y = builder.addResult("y");
        Node relu = node("Relu", "relu", {x}, {y});
        relu.opset = opset;
        builder.addNode(std::move(relu)); // the set is named by the node alone
        builder.addOutput(y);
        RETRO_MADE(graph, std::move(builder).build());
        RETRO_MADE(data, toOnnx(*graph));
        retro::onnxschema::ModelProto model;
        QVERIFY(model.ParseFromArray(data->data(), static_cast<int>(data->size())));
        QCOMPARE(qint64{model.ir_version()}, ir);
        QCOMPARE(qint64{model.opset_import(0).version()}, opset);
    }

    void foreignDomainsNeedNoImport()
    {
        GraphBuilder builder("foreign", 17);
        const ValueId x = builder.addInput("x", DType::Float32, retro::tensor::Shape{1});
        const ValueId y = builder.addResult("y");
        Node foreign = node("Foreign", "foreign", {x}, {y});
        foreign.domain = "org.example";
        foreign.opset = 0;
        builder.addNode(std::move(foreign));
        builder.addOutput(y);
        RETRO_MADE(graph, std::move(builder).build());
        RETRO_MADE(data, toOnnx(*graph));
        RETRO_MADE(back, parseOnnx(*data, "memory"));
        compare(*graph, **back);
    }

    void unwritableGraphsAreRefused()
    {
        GraphBuilder nameless({}, 17);
        nameless.addOutput(nameless.addInput("", DType::Float32, retro::tensor::Shape{1}));
        RETRO_MADE(graph, std::move(nameless).build());
        QVERIFY(!toOnnx(*graph).ok());

        GraphBuilder builder;
        const ValueId x = builder.addInput("x", DType::Float32, retro::tensor::Shape{1});
        const ValueId y = builder.addResult("y");
        Node relu = node("Relu", "relu", {x}, {y});
        relu.opset = 0;
        builder.addNode(std::move(relu));
        builder.addOutput(y);
        RETRO_MADE(unknown, std::move(builder).build());
        RETRO_REFUSED(toOnnx(*unknown), "node 'relu' (Relu)");
    }
};

QTEST_APPLESS_MAIN(OnnxRoundTripTest)
#include "onnxroundtriptest.moc"
