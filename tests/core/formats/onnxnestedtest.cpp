// SPDX-License-Identifier: Apache-2.0
// Functions that the model defines, graphs inside nodes, and what exporters note at nodes.
#include "core/graph/graphbuilder.h"
#include "tests/core/formats/onnxsamples.h"

#include <QtTest>

using namespace retro::formats::samples;
using retro::graph::Graph;
using retro::graph::Node;
using retro::onnxschema::AttributeProto;
using retro::onnxschema::FunctionProto;
using retro::onnxschema::GraphProto;
using retro::onnxschema::ModelProto;
using retro::onnxschema::NodeProto;

namespace
{

NodeProto& addCall(FunctionProto& function, const std::string& op, const std::string& in, const std::string& out)
{
    NodeProto& node = *function.add_node();
    node.set_op_type(op);
    node.add_input(in);
    node.add_output(out);
    return node;
}

/// x → local::Twice(slope = 0.5) → y, where Twice calls local::Leak twice, and Leak refers to its attribute.
ModelProto modelWithFunctions()
{
    ModelProto model = smallModel();
    GraphProto& graph = *model.mutable_graph();
    graph.clear_node();
    NodeProto& call = addNode(model, "Twice", "/head/twice", {"x"}, {"y"});
    call.set_domain("local");
    AttributeProto& slope = *call.add_attribute();
    slope.set_name("slope");
    slope.set_type(AttributeProto::FLOAT);
    slope.set_f(0.5F);

    FunctionProto& leak = *model.add_functions();
    leak.set_domain("local");
    leak.set_name("Leak");
    leak.add_input(std::string("a"));
    leak.add_output(std::string("b"));
    leak.add_opset_import()->set_version(16);
    AttributeProto& alpha = *addCall(leak, "LeakyRelu", "a", "b").add_attribute();
    alpha.set_name("alpha");
    alpha.set_type(AttributeProto::FLOAT);
    alpha.set_ref_attr_name("k");
    AttributeProto& fallback = *leak.add_attribute_proto();
    fallback.set_name("k");
    fallback.set_type(AttributeProto::FLOAT);
    fallback.set_f(0.25F);

    FunctionProto& twice = *model.add_functions();
    twice.set_domain("local");
    twice.set_name("Twice");
    twice.add_input("in");
    twice.add_output("out");
    twice.add_attribute("slope");
    NodeProto& first = addCall(twice, "Leak", "in", "middle");
    first.set_domain("local");
    first.set_name("first");
    AttributeProto& handedOn = *first.add_attribute();
    handedOn.set_name("k");
    handedOn.set_type(AttributeProto::FLOAT);
    handedOn.set_ref_attr_name("slope");
    addCall(twice, "Leak", "middle", "out").set_domain("local");
    return model;
}

/// A branch that adds the constant `w` of the model to its input `x`, or only hands `x` on.
void setBranch(AttributeProto& attribute, const std::string& name, bool adds)
{
    attribute.set_name(name);
    attribute.set_type(AttributeProto::GRAPH);
    GraphProto& graph = *attribute.mutable_g();
    graph.set_name(name);
    NodeProto& node = *graph.add_node();
    node.set_op_type(adds ? "Add" : "Identity");
    node.add_input(std::string("x"));
    if (adds) {
        node.add_input(std::string("w"));
    }
    node.add_output(std::string("r"));
    addValueInfo(*graph.add_output(), "r");
}

ModelProto modelWithIf()
{
    ModelProto model = smallModel();
    model.mutable_graph()->clear_node();
    auto& condition = *model.mutable_graph()->add_input();
    condition.set_name("c");
    condition.mutable_type()->mutable_tensor_type()->set_elem_type(retro::onnxschema::TensorProto::BOOL);
    NodeProto& node = addNode(model, "If", "gate", {"c"}, {"y"});
    setBranch(*node.add_attribute(), "then_branch", true);
    setBranch(*node.add_attribute(), "else_branch", false);
    return model;
}

std::shared_ptr<const Graph> read(const ModelProto& model)
{
    auto graph = retro::formats::parseOnnx(bytesOf(model), "m.onnx");
    return graph.ok() ? std::move(graph).value() : nullptr;
}

/// Functions that would make far more than the file holds.
void addExpansions()
{
    QTest::addColumn<QString>("kind");
    QTest::newRow("each calls the next twice") << "twice";
    QTest::newRow("a long name") << "name";
    QTest::newRow("a large constant") << "constant";
    QTest::newRow("results that nobody reads") << "results";
    QTest::newRow("a long label of the call") << "label";
    QTest::newRow("inputs that nobody reads") << "formals";
    QTest::newRow("defaults that nobody reads") << "defaults";
    QTest::newRow("an attribute that many nodes take") << "attribute";
}

ModelProto expansion(const QString& kind)
{
    ModelProto model = smallModel();
    model.mutable_graph()->mutable_node(0)->set_op_type("F0");
    model.mutable_graph()->mutable_node(0)->set_domain("f");
    NodeProto& call = *model.mutable_graph()->mutable_node(0);
    const int levels = kind == QStringLiteral("twice") ? 40 : 10;
    const bool isDeep = kind != QStringLiteral("label") && kind != QStringLiteral("attribute");
    for (int level = 0; level < (isDeep ? levels : 1); ++level) {
        FunctionProto& function = *model.add_functions();
        function.set_domain("f");
        function.set_name("F" + std::to_string(level));
        function.add_input(std::string("x"));
        function.add_output(std::string("y"));
        const std::string next = level + 1 < levels && isDeep ? "F" + std::to_string(level + 1) : "Relu";
        const int calls = isDeep ? 2 : 3000;
        for (int i = 0; i < calls; ++i) {
            NodeProto& node = *function.add_node();
            node.set_op_type(next);
            node.set_domain(next == "Relu" ? "" : "f");
            node.add_input(i == 0 ? "x" : "t" + std::to_string(i - 1));
            node.add_output(i + 1 == calls ? "y" : "t" + std::to_string(i));
            if (kind == QStringLiteral("attribute")) {
                node.add_attribute()->set_ref_attr_name("a");
            }
        }
    }
    FunctionProto& last = *model.mutable_functions(model.functions_size() - 1);
    if (kind == QStringLiteral("name")) {
        last.mutable_node(0)->set_name(std::string(1'000'000, 'n'));
    } else if (kind == QStringLiteral("constant")) {
        last.mutable_node(0)->add_attribute()->set_s(std::string(1'000'000, 'c'));
    } else if (kind == QStringLiteral("results")) {
        for (int i = 0; i < 1000; ++i) {
            last.add_output("u" + std::to_string(i));
        }
    } else if (kind == QStringLiteral("formals")) {
        for (int i = 0; i < 5000; ++i) {
            last.add_input("u" + std::to_string(i));
        }
    } else if (kind == QStringLiteral("defaults")) {
        for (int i = 0; i < 5000; ++i) {
            last.add_attribute_proto()->set_name("u" + std::to_string(i));
        }
    } else if (kind == QStringLiteral("label")) {
        call.set_name(std::string(100'000, 'l'));
    } else if (kind == QStringLiteral("attribute")) {
        call.add_attribute()->set_name("a");
        call.mutable_attribute(call.attribute_size() - 1)->set_s(std::string(100'000, 'a'));
    }
    return model;
}

} // namespace

class OnnxNestedTest : public QObject
{
    Q_OBJECT

private slots:
    void functionsAreWrittenOut()
    {
        const ModelProto model = modelWithFunctions();
        QCOMPARE(problemOf(model), QString());
        const auto graph = read(model);
        QCOMPARE(graph->nodeCount(), 2U);
        const Node& first = graph->node(retro::base::NodeId(std::size_t{0}));
        const Node& second = graph->node(retro::base::NodeId(std::size_t{1}));
        QCOMPARE(QString::fromStdString(first.op), QString("LeakyRelu"));
        QCOMPARE(std::get<double>(first.attributes.at("alpha")), 0.5);   // handed on by the call
        QCOMPARE(std::get<double>(second.attributes.at("alpha")), 0.25); // the function's own default
        QCOMPARE(first.opset, std::int64_t{16});                         // what the function imports, not the model
        QCOMPARE(QString::fromStdString(first.name), QString("/head/twice/first/LeakyRelu"));
        QVERIFY(first.scope.starts_with("head/twice"));
        QCOMPARE(graph->value(first.inputs[0]).name, std::string("x"));
        QCOMPARE(graph->value(second.outputs[0]).name, std::string("y"));
        QVERIFY(first.outputs[0] == second.inputs[0]);
    }

    void whatFunctionsMakeIsCountedFirst_data() { addExpansions(); }
    void whatFunctionsMakeIsCountedFirst()
    {
        QFETCH(QString, kind);
        const auto graph = retro::formats::parseOnnx(bytesOf(expansion(kind)), "m.onnx");
        RETRO_REFUSED(graph, retro::base::ErrorCode::Input);
        QVERIFY2(graph.error().text().find("with its functions written out the model would have more than") !=
                     std::string::npos,
                 graph.error().message.c_str());
    }

    void operatorSetsAreBounded()
    {
        ModelProto model = smallModel();
        for (int i = 0; i < 300; ++i) {
            auto& import = *model.add_opset_import();
            import.set_domain("d" + std::to_string(i));
            import.set_version(1);
        }
        RETRO_REFUSED(retro::formats::parseOnnx(bytesOf(model), "m.onnx"), retro::base::ErrorCode::Input,
                      "more than 256 domains");
    }

    void emptyMessagesAreNotDecodedToTheEnd()
    {
        std::string file("\x08\x08\x3a", 3); // a graph of 8,000,000 empty nodes, two bytes each
        const std::uint32_t bytes = 16'000'000;
        for (std::uint32_t rest = bytes; rest > 0; rest >>= 7U) {
            file += static_cast<char>((rest & 0x7fU) | (rest > 0x7fU ? 0x80U : 0U));
        }
        for (std::uint32_t i = 0; i < bytes / 2; ++i) {
            file.append("\x0a\0", 2);
        }
        RETRO_REFUSED(retro::formats::parseOnnx(bytesOf(file), "m.onnx"),
                      "take far more memory than the file has bytes");
    }

    void functionsThatWereWrittenOutAreTold()
    {
        retro::formats::FileNotes notes;
        QVERIFY(retro::formats::parseOnnx(bytesOf(modelWithFunctions()), "m.onnx", {}, {}, &notes).ok());
        const std::vector<retro::formats::InlinedFunction>& inlined = notes.inlined;
        QCOMPARE(inlined.size(), 1U); // Leak is only called by Twice
        QCOMPARE(inlined[0].name, std::string("local::Twice"));
        QCOMPARE(inlined[0].calls, std::vector<std::string>{"/head/twice"});
        QCOMPARE(inlined[0].values, (std::vector<std::string>{"/head/twice/middle", "y"}));
    }

    void overloadsAreTold()
    {
        ModelProto model = modelWithFunctions();
        model.mutable_functions(0)->set_overload("other");
        // The calls ask for the function without overload, which is an operator like any other then.
        RETRO_MADE(graph, read(model));
        QCOMPARE(QString::fromStdString(graph->nodes()[0].op), QString("Leak"));
        model.mutable_functions(1)->mutable_node(0)->set_overload("other");
        QCOMPARE(QString::fromStdString(read(model)->nodes()[0].op), QString("LeakyRelu"));
    }

    void operandsHandedOnAreKept()
    {
        ModelProto model = modelWithFunctions();
        FunctionProto& twice = *model.mutable_functions(1);
        twice.clear_node();
        twice.set_output(0, "in");
        const auto graph = read(model);
        QCOMPARE(graph->nodeCount(), 1U);
        QCOMPARE(QString::fromStdString(graph->nodes()[0].op), QString("Identity"));
    }

    void nestedGraphsCaptureValues()
    {
        RETRO_MADE(graph, read(modelWithIf()));
        const Node& node = graph->nodes()[0];
        QCOMPARE(node.inputs.size(), 3U); // c, then what the branches read
        QCOMPARE(graph->value(node.inputs[1]).name, std::string("x"));
        QCOMPARE(graph->value(node.inputs[2]).name, std::string("w"));
        const auto& branch = std::get<retro::graph::Subgraph>(node.attributes.at("then_branch"));
        QCOMPARE(branch.captured, 2U);
        QCOMPARE(branch.graph->inputs().size(), 2U);
        QCOMPARE(branch.graph->nodeCount(), 1U);
    }

    void resultsOfNestedGraphsNeedNoType()
    {
        ModelProto model = modelWithIf();
        GraphProto& branch = *model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
        branch.mutable_output(0)->mutable_type()->clear_value();
        QCOMPARE(problemOf(model), QString());
    }

    void nestedGraphsAreWrittenBack()
    {
        const auto graph = read(modelWithIf());
        RETRO_MADE(bytes, retro::formats::toOnnx(*graph));
        RETRO_MADE(again, retro::formats::parseOnnx(*bytes, "again.onnx"));
        QCOMPARE(structuralHash(**again), structuralHash(*graph));
    }

    void notesOfTheExporterAreKept()
    {
        ModelProto model = smallModel();
        auto& entry = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
        entry.set_key("pkg.torch.onnx.stack_trace");
        entry.set_value("File \"model.py\", line 31, in forward");
        auto& scopes = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
        scopes.set_key("pkg.torch.onnx.name_scopes");
        scopes.set_value("['', 'encoder', 'encoder.fc', 'add']");
        const auto graph = read(model);
        const Node& node = graph->nodes()[0];
        QCOMPARE(node.metadata.size(), 1U);
        QCOMPARE(node.metadata.at("pkg.torch.onnx.stack_trace"), std::string("File \"model.py\", line 31, in forward"));
        QCOMPARE(node.scope, std::string("encoder/fc"));
        const auto again = retro::formats::parseOnnx(*retro::formats::toOnnx(*graph), "again.onnx");
        QVERIFY((*again)->nodes()[0].metadata == node.metadata);
    }
};

QTEST_GUILESS_MAIN(OnnxNestedTest)
#include "onnxnestedtest.moc"
