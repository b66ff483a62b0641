// SPDX-License-Identifier: Apache-2.0
// Graph JSON: what is written comes back, errors name line and field, and no text brings the reader down.
#include "core/formats/graphjson.h"
#include "core/formats/graphjsonnames.h"
#include "core/graph/contentdigest.h"
#include "core/graph/graphbuilder.h"

#include <nlohmann/json.hpp>

#include <QFile>
#include <QtTest>

#include <limits>
#include <random>

using namespace retro;
using formats::GraphJsonData;
using graph::Graph;
using graph::ValueId;
using tensor::DType;
using tensor::Tensor;

namespace
{

graph::Subgraph branch()
{
    graph::GraphBuilder builder("branch");
    const ValueId x = builder.addInput("x", DType::Float32, std::nullopt);
    const ValueId y = builder.addResult("r");
    builder.addNode({"Relu", "", "inner", "", 17, {x}, {y}, {}});
    builder.addOutput(y);
    return {std::make_shared<const Graph>(std::move(builder).build().value()), 1};
}

/// Everything that the format can say.
Graph everything()
{
    graph::GraphBuilder builder("everything", 17);
    builder.setOpset("capture", 1);
    const ValueId x =
        builder.addInput("x", DType::Float32, std::vector<graph::Dimension>{{std::nullopt, "N"}, {3, ""}, {}});
    const ValueId w = builder.addConstant("w", Tensor::of<float>({3}, std::vector<float>{1, -2, 0.1F}));
    const ValueId h = builder.addResult("h");
    const ValueId y = builder.addResult("y");
    builder.declare(h, DType::Float32, std::vector<graph::Dimension>{});
    builder.note(h, std::make_shared<const graph::ValueFacts>(graph::ValueFacts{4096, 7, true, true}));
    graph::Node node{"Custom", "capture", "first", "block/first", 1, {x, ValueId(), w}, {h}, {}};
    node.attributes["int"] = std::numeric_limits<std::int64_t>::min();
    node.attributes["float"] = 0.1;
    node.attributes["whole"] = 2.0; // stays a float
    node.attributes["infinite"] = -std::numeric_limits<double>::infinity();
    node.attributes["text"] = std::string("a \"quoted\" text");
    node.attributes["tensor"] = Tensor::scalar(std::int64_t{-1});
    node.attributes["ints"] = std::vector<std::int64_t>{1, -2};
    node.attributes["floats"] = std::vector<double>{1, std::numeric_limits<double>::infinity()};
    node.attributes["texts"] = std::vector<std::string>{"a", ""};
    node.attributes["body"] = branch();
    node.metadata["stack"] = "model.py:31";
    graph::NodeFacts facts;
    facts.flops = 1.5e9;
    facts.milliseconds = 0.25;
    facts.workspace = 64;
    facts.phase = "forward";
    facts.savedOperands = std::vector<std::uint32_t>{0, 2};
    facts.savedOutputs = std::vector<std::uint32_t>{};
    facts.recomputable = false;
    facts.stochastic = true;
    node.facts = std::make_shared<const graph::NodeFacts>(facts);
    builder.addNode(std::move(node));
    builder.addNode({"Relu", "", "second", "", 17, {h}, {y}, {}});
    builder.addOutput(y);
    return std::move(builder).build().value();
}

QString problemOf(std::string text)
{
    const auto graph = formats::parseGraphJson(std::move(text), "g.json");
    return graph.ok() ? QString() : QString::fromStdString(graph.error().text());
}

const char* const kSmall = R"({
  "format": "retrograde-graph/1",
  "inputs": ["x"],
  "outputs": ["y"],
  "values": [
    {"name": "x", "shape": ["N", 3]},
    {"name": "w", "constant": {"shape": [1], "data": "AACAPw=="}}
  ],
  "nodes": [
    {"op": "Add", "opset": 13, "inputs": ["x", "w"], "outputs": ["y"]}
  ]
})";

/// kSmall with one piece of text replaced.
std::string spoilt(const QString& piece, const QString& other)
{
    QString text = QString::fromUtf8(kSmall);
    Q_ASSERT(text.contains(piece));
    return text.replace(piece, other).toStdString();
}

} // namespace

class GraphJsonTest : public QObject
{
    Q_OBJECT

private slots:
    void everythingComesBack()
    {
        const Graph before = everything();
        const std::string text = formats::toGraphJson(before);
        RETRO_MADE(after, formats::parseGraphJson(text, "g.json"));
        QCOMPARE(contentDigest(**after), contentDigest(before));
        QCOMPARE(QString::fromStdString(formats::toGraphJson(**after)), QString::fromStdString(text));
        const graph::Node& node = (*after)->nodes()[0];
        QVERIFY(*node.facts == *before.nodes()[0].facts);
        QVERIFY(node.metadata == before.nodes()[0].metadata);
        QCOMPARE(node.scope, std::string("block/first"));
        QVERIFY(std::holds_alternative<double>(node.attributes.at("whole")));
        QVERIFY(*(*after)->value(*(*after)->findValue("h")).facts == *before.value(*before.findValue("h")).facts);
        QCOMPARE((*after)->value(*(*after)->findValue("x")).shape->at(0).symbol, std::string("N"));
    }

    void dataMayBeLeftOut()
    {
        const Graph before = everything();
        std::string text = formats::toGraphJson(before, GraphJsonData::None);
        QVERIFY(!QString::fromStdString(text).contains("\"data\""));
        QVERIFY(problemOf(text).contains("its data is missing")); // of the tensor attribute
    }

    void aSmallTextIsEnough()
    {
        QCOMPARE(problemOf(kSmall), QString());
        const auto graph = formats::parseGraphJson(kSmall, "g.json");
        QCOMPARE((*graph)->nodeCount(), 1U);
        QCOMPARE((*graph)->value(*(*graph)->findValue("w")).constant.at(0), 1.0);
    }

    void errorsNameLineAndField_data()
    {
        QTest::addColumn<QString>("piece");
        QTest::addColumn<QString>("other");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* piece, const char* other, const char* expected) {
            QTest::newRow(name) << piece << other << expected;
        };
        row("syntax", "\"N\", 3", "\"N\" 3", "g.json, line 6: this is not valid JSON");
        row("version", "graph/1", "graph/2", "g.json, line 2, field format: the graph has the format");
        row("other format", "retrograde-graph/1", "x", "line 2, field format: this is not a graph");
        row("list", "[\"x\"]", "\"x\"", "g.json, line 3, field inputs: it must be a list");
        row("extent", "\"N\", 3", "\"N\", -3", "line 6, field values[0].shape: an extent must be");
        row("type", "\"constant\": {", "\"constant\": {\"dtype\": \"f32\", ",
            "line 7, field values[1].constant.dtype: 'f32'");
        row("base64", "AACAPw==", "AACA*w==", "line 7, field values[1].constant.data: it is not base64");
        row("size", "AACAPw==", "AACA",
            "field values[1].constant.data: it has 3 bytes but the shape 1 of float32 needs 4");
        row("huge", "[1], \"data\"", "[4611686018427387904], \"data\"", "line 7, field values[1].constant.shape");
        row("no operator", "\"op\": \"Add\", ", "", "line 10, field nodes[0]: the node does not say which operator");
        row("name", "\"inputs\": [\"x\", \"w\"]", "\"inputs\": [\"x\", 3]",
            "line 10, field nodes[0].inputs[1]: it must be");
        row("twice", "\"name\": \"w\"", "\"name\": \"x\"", "line 7, field values[1].name: two values");
        row("key twice", "\"opset\": 13", "\"op\": \"Sub\"", "field nodes[0].op: this field stands twice");
        row("nobody", "\"w\"], \"outputs\"", "\"v\"], \"outputs\"", "reads the value 'v', which no node");
        row("output", "\"outputs\": [\"y\"],", "\"outputs\": [\"z\"],",
            "line 4, field outputs[0]: no value has the name 'z'");
        row("attribute", "\"opset\": 13", "\"attributes\": {\"axis\": {\"whole\": 1}}",
            "field nodes[0].attributes.axis: it must have one");
        row("phase", "\"opset\": 13", "\"phase\": \"sideways\"", "field nodes[0].phase: 'sideways' is no phase");
        row("saved operand", "\"opset\": 13", "\"saves_inputs\": [99]",
            "field nodes[0].saves_inputs: position 99 is not below 2");
        row("saved output", "\"opset\": 13", "\"saves_outputs\": [1]",
            "field nodes[0].saves_outputs: position 1 is not below 1");
        row("fact", "\"opset\": 13", "\"flops\": \"many\"", "line 10, field nodes[0].flops: it must be a number");
    }

    void errorsNameLineAndField()
    {
        QFETCH(QString, piece);
        QFETCH(QString, other);
        QFETCH(QString, expected);
        const QString text = problemOf(spoilt(piece, other));
        QVERIFY2(text.contains(expected), qPrintable(text));
    }

    void deepNestingIsRefused()
    {
        const std::string text = std::string(100, '[') + std::string(100, ']');
        QVERIFY(problemOf(text).contains("nested deeper than 64"));
    }

    void mutationsGiveAGraphOrAnError_data()
    {
        QTest::addColumn<int>("seed");
        for (int seed = 0; seed < 4; ++seed) {
            QTest::addRow("%d", seed) << seed;
        }
    }

    void mutationsGiveAGraphOrAnError()
    {
        QFETCH(int, seed);
        std::mt19937 random(static_cast<unsigned>(seed));
        const std::string whole = seed % 2 == 0 ? std::string(kSmall) : formats::toGraphJson(everything());
        int refused = 0;
        for (int i = 0; i < 300; ++i) {
            std::string mutated = whole;
            for (unsigned k = 0; k <= random() % 3; ++k) {
                mutated[random() % mutated.size()] = static_cast<char>(random() % 128);
            }
            if (random() % 4 == 0) {
                mutated.resize(random() % mutated.size());
            }
            const auto graph = formats::parseGraphJson(mutated, "g.json");
            if (graph.ok()) {
                QVERIFY(!formats::toGraphJson(**graph).empty());
            } else {
                QCOMPARE(graph.error().code, base::ErrorCode::Input);
                QVERIFY(graph.error().text().starts_with("g.json"));
                ++refused;
            }
        }
        QVERIFY(refused > 50);
    }

    void base64ComesBack()
    {
        for (std::size_t size = 0; size < 9; ++size) {
            std::vector<std::byte> data;
            for (std::size_t i = 0; i < size; ++i) {
                data.push_back(static_cast<std::byte>(255 - 37 * i));
            }
            QVERIFY(formats::fromBase64(formats::toBase64(data)) == data);
        }
        const std::array<std::byte, 3> word{std::byte{'M'}, std::byte{'a'}, std::byte{'n'}};
        QCOMPARE(formats::toBase64(word), std::string("TWFu")); // the example of RFC 4648's predecessors
        QVERIFY(!formats::fromBase64("TWF"));
        QVERIFY(!formats::fromBase64("TW=u"));
    }

    void theSchemaKnowsEveryField()
    {
        const auto schema = nlohmann::json::parse(
            tests::bytesIn(QStringLiteral(RETRO_SOURCE_DIR "/docs/formats/graph.schema.json")).toStdString());
        const auto written = nlohmann::json::parse(formats::toGraphJson(everything()));
        const auto& definitions = schema["$defs"];
        for (const auto& [name, member] : written.items()) {
            QVERIFY2(schema["properties"].contains(name) || definitions["graph"]["properties"].contains(name),
                     name.c_str());
        }
        for (const auto& node : written["nodes"]) {
            for (const auto& [name, member] : node.items()) {
                QVERIFY2(definitions["node"]["properties"].contains(name), name.c_str());
            }
        }
        for (const auto& value : written["values"]) {
            for (const auto& [name, member] : value.items()) {
                QVERIFY2(definitions["value"]["properties"].contains(name), name.c_str());
            }
        }
    }
};

QTEST_GUILESS_MAIN(GraphJsonTest)
#include "graphjsontest.moc"
