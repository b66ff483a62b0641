// SPDX-License-Identifier: Apache-2.0
#include "tests/core/formats/onnxsamples.h"

#include <QtTest>

#include <algorithm>
#include <functional>
#include <random>

using namespace retro::formats::samples;

using retro::onnxschema::AttributeProto;
using retro::onnxschema::GraphProto;
using retro::onnxschema::ModelProto;
using retro::onnxschema::TensorProto;

namespace
{

struct Refusal
{
    const char* name;
    std::function<void(ModelProto&)> spoil;
    std::vector<QString> expected;
};

AttributeProto& addAttribute(ModelProto& model, AttributeProto::AttributeType type)
{
    AttributeProto& attribute = *model.mutable_graph()->mutable_node(1)->add_attribute();
    attribute.set_name("extra");
    attribute.set_type(type);
    return attribute;
}

TensorProto& weight(ModelProto& model) { return *model.mutable_graph()->mutable_initializer(0); }

void addExternal(TensorProto& tensor, const std::string& key, const std::string& value)
{
    tensor.set_data_location(TensorProto::EXTERNAL);
    auto& pair = *tensor.add_external_data();
    pair.set_key(key);
    pair.set_value(value);
}

std::vector<Refusal> refusedParts()
{
    return {
        {"nested graph",
         [](ModelProto& m) {
             m.mutable_graph()->mutable_node(1)->set_op_type("If");
             addAttribute(m, AttributeProto::GRAPH).mutable_g();
         },
         {"node 'relu' (If)", "attribute 'extra'", "no output"}},
        {"list of graphs",
         [](ModelProto& m) {
             m.mutable_graph()->mutable_node(1)->set_op_type("Loop");
             m.mutable_graph()->mutable_node(1)->clear_name();
             addAttribute(m, AttributeProto::GRAPHS);
         },
         {"node with output 'y' (Loop)", "operator Loop", "list of graphs"}},
        {"sparse attribute", [](ModelProto& m) { addAttribute(m, AttributeProto::SPARSE_TENSOR); }, {"sparse"}},
        {"tensor list", [](ModelProto& m) { addAttribute(m, AttributeProto::TENSORS); }, {"lists of tensors"}},
        {"type attribute", [](ModelProto& m) { addAttribute(m, AttributeProto::TYPE_PROTO); }, {"types as"}},
        {"no value", [](ModelProto& m) { addAttribute(m, AttributeProto::UNDEFINED); }, {"no value"}},
        {"reference", [](ModelProto& m) { addAttribute(m, AttributeProto::INT).set_ref_attr_name("k"); }, {"function"}},
        {"two attributes",
         [](ModelProto& m) {
             addAttribute(m, AttributeProto::INT);
             addAttribute(m, AttributeProto::INT);
         },
         {"two attributes", "'extra'"}},
        {"attribute tensor",
         [](ModelProto& m) { addAttribute(m, AttributeProto::TENSOR).mutable_t()->set_data_type(TensorProto::STRING); },
         {"node 'relu' (Relu)", "attribute 'extra'", "field 'data_type'", "STRING"}},
        {"sparse initializer",
         [](ModelProto& m) { m.mutable_graph()->add_sparse_initializer()->mutable_values()->set_name("s"); },
         {"initializer 's'", "sparse"}},
        {"training", [](ModelProto& m) { m.add_training_info(); }, {"training"}},
        {"function that calls itself",
         [](ModelProto& m) {
             auto& function = *m.add_functions();
             function.set_name("Relu");
             function.set_domain("ai.onnx");
             function.add_input(std::string("x"));
             function.add_output(std::string("y"));
             function.add_node()->set_op_type("Relu");
         },
         {"relu/Relu", "call each other deeper than 64"}},
        {"two functions of a name",
         [](ModelProto& m) {
             for (int i = 0; i < 2; ++i) {
                 m.add_functions()->set_name("F");
             }
         },
         {"function 'F'", "twice"}},
        {"operand that a function does not take",
         [](ModelProto& m) {
             auto& function = *m.add_functions();
             function.set_name("Relu");
             function.add_output(std::string("y"));
         },
         {"node 'relu' (Relu)", "1 operands and 1 outputs", "at most 0"}},
        {"output that a function does not have",
         [](ModelProto& m) {
             auto& function = *m.add_functions();
             function.set_name("Relu");
             function.add_input(std::string("x"));
         },
         {"node 'relu' (Relu)", "has 0"}},
        {"sequence input",
         [](ModelProto& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sequence_type(); },
         {"input 'x' of node '/block/fc/Add' (Add)", "sequence"}},
        {"optional output",
         [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->mutable_type()->mutable_optional_type(); },
         {"output 'y' of node 'relu' (Relu)", "optional"}},
        {"map value",
         [](ModelProto& m) {
             auto& info = *m.mutable_graph()->add_value_info();
             info.set_name("h");
             info.mutable_type()->mutable_map_type();
         },
         {"value 'h' of node '/block/fc/Add' (Add)", "map"}},
        {"sparse input",
         [](ModelProto& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_sparse_tensor_type(); },
         {"sparse tensor"}},
        {"opaque input",
         [](ModelProto& m) { m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_opaque_type(); },
         {"opaque"}},
        {"no type", [](ModelProto& m) { m.mutable_graph()->mutable_input(0)->clear_type(); }, {"'x'", "no type"}},
        {"complex input",
         [](ModelProto& m) {
             m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
                 TensorProto::COMPLEX64);
         },
         {"input 'x'", "COMPLEX64"}},
        {"rank",
         [](ModelProto& m) {
             auto& type = *m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type();
             for (int i = 0; i < 20; ++i) {
                 type.mutable_shape()->add_dim();
             }
         },
         {"input 'x'", "22 axes"}},
        {"no opset", [](ModelProto& m) { m.clear_opset_import(); }, {"operator set", "opset_import"}},
        {"no operator",
         [](ModelProto& m) { m.mutable_graph()->mutable_node(1)->clear_op_type(); },
         {"node 'relu'", "which operator"}},
        {"bad text in a name", [](ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_name("\xff"); }, {"UTF-8"}},
        {"bad text in a value",
         [](ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_input(0, std::string("\xed\xa0\x80")); },
         {"node 'relu' (Relu)", "UTF-8"}},
        {"unknown operand",
         [](ModelProto& m) { m.mutable_graph()->mutable_node(1)->set_input(0, std::string("nowhere")); },
         {"node 'relu' (Relu)", "'nowhere'"}},
        {"unknown output",
         [](ModelProto& m) { m.mutable_graph()->mutable_output(0)->set_name("nowhere"); },
         {"output 'nowhere'", "no node"}},
        {"cycle",
         [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_input(0, std::string("y")); },
         {"cycle", "node"}},
        {"two producers",
         [](ModelProto& m) { m.mutable_graph()->mutable_node(0)->set_output(0, std::string("y")); },
         {"'y'"}},
        {"no output", [](ModelProto& m) { m.mutable_graph()->clear_output(); }, {"no output"}},
        {"Constant without value",
         [](ModelProto& m) { addNode(m, "Constant", "c", {}, {"k"}); },
         {"node 'c' (Constant)", "exactly one"}},
        {"Constant text",
         [](ModelProto& m) {
             auto& attribute = *addNode(m, "Constant", "c", {}, {"k"}).add_attribute();
             attribute.set_name("value_string");
             attribute.set_type(AttributeProto::STRING);
         },
         {"node 'c' (Constant)", "'value_string'", "texts"}},
    };
}

std::vector<Refusal> refusedTensors()
{
    return {
        {"element type", [](ModelProto& m) { weight(m).set_data_type(TensorProto::STRING); }, {"'w'", "STRING"}},
        {"bytes of 4 bits",
         [](ModelProto& m) {
             weight(m).set_data_type(TensorProto::INT4);
             weight(m).clear_float_data();
             weight(m).set_raw_data("123");
         },
         {"'w'", "raw_data", "3 bytes", "needs 2"}},
        {"numbers of 4 bits",
         [](ModelProto& m) {
             weight(m).set_data_type(TensorProto::UINT4);
             weight(m).clear_float_data();
             for (const int v : {1, 2, 3}) {
                 weight(m).add_int32_data(v);
             }
         },
         {"'w'", "int32_data", "3 numbers", "needs 2"}},
        {"unknown type", [](ModelProto& m) { weight(m).set_data_type(99); }, {"'w'", "99"}},
        {"no element type", [](ModelProto& m) { weight(m).clear_data_type(); }, {"'w'", "not stated"}},
        {"negative extent", [](ModelProto& m) { weight(m).set_dims(0, -3); }, {"'w'", "field 'dims'", "negative"}},
        {"huge", [](ModelProto& m) { weight(m).set_dims(0, 1LL << 62); }, {"'w'", "field 'dims'"}},
        {"large without data",
         [](ModelProto& m) {
             weight(m).set_dims(0, 1LL << 30);
             weight(m).clear_float_data();
         },
         {"'w'", "no data"}},
        {"short list", [](ModelProto& m) { weight(m).set_dims(0, 4); }, {"'w'", "float_data", "3 numbers", "needs 4"}},
        {"long shape", // 1 GiB must not be taken for a list of three
         [](ModelProto& m) { weight(m).set_dims(0, 1LL << 28); },
         {"'w'", "float_data", "3 numbers", "needs 268435456"}},
        {"another list",
         [](ModelProto& m) { weight(m).set_data_type(TensorProto::DOUBLE); },
         {"'w'", "double_data", "0 numbers", "needs 3"}},
        {"raw size", [](ModelProto& m) { weight(m).set_raw_data("12345"); }, {"'w'", "raw_data", "5 bytes"}},
        {"range",
         [](ModelProto& m) {
             weight(m).set_data_type(TensorProto::INT8);
             for (const int v : {1, 2, 300}) {
                 weight(m).add_int32_data(v);
             }
         },
         {"'w'", "int32_data", "300"}},
        {"segment", [](ModelProto& m) { weight(m).mutable_segment(); }, {"'w'", "segment"}},
        {"location twice",
         [](ModelProto& m) {
             addExternal(weight(m), "location", "a.bin");
             addExternal(weight(m), "location", "b.bin");
         },
         {"'w'", "external_data.location", "twice"}},
        {"location with a zero byte",
         [](ModelProto& m) { addExternal(weight(m), "location", std::string("a.bin\0b", 7)); },
         {"'w'", "external_data.location", "zero byte"}},
        {"no name", [](ModelProto& m) { weight(m).clear_name(); }, {"initializer has no valid name"}},
        {"two of a name",
         [](ModelProto& m) { *m.mutable_graph()->add_initializer() = weight(m); },
         {"'w'", "two values"}},
    };
}

std::string nestedGraphs(int depth)
{
    ModelProto model = smallModel();
    GraphProto* graph = model.mutable_graph();
    for (int i = 0; i < depth; ++i) {
        AttributeProto& attribute = *graph->add_node()->add_attribute();
        attribute.set_type(AttributeProto::GRAPH);
        graph = attribute.mutable_g();
    }
    return model.SerializeAsString();
}

} // namespace

class OnnxRefusalTest : public QObject
{
    Q_OBJECT

    static void check(const Refusal& refusal)
    {
        ModelProto model = smallModel();
        refusal.spoil(model);
        const QString text = problemOf(model);
        QVERIFY2(text.startsWith("m.onnx: "), refusal.name);
        for (const QString& part : refusal.expected) {
            QVERIFY2(text.contains(part), qPrintable(QString("%1: %2").arg(refusal.name, text)));
        }
    }

private slots:
    void theSmallModelIsRead() { QCOMPARE(problemOf(smallModel()), QString()); }

    void partsAreRefusedByName()
    {
        for (const Refusal& refusal : refusedParts()) {
            check(refusal);
        }
    }

    void tensorsAreRefusedByName()
    {
        for (const Refusal& refusal : refusedTensors()) {
            check(refusal);
        }
    }

    void otherFilesAreRecognised()
    {
        QVERIFY(problemOf(std::vector<std::byte>()).contains("empty"));
        QVERIFY(problemOf(bytesOf(std::string("hello, I am a text\nof two lines\n"))).contains("text file"));
        QVERIFY(problemOf(bytesOf(std::string("hi"))).contains("text file"));
        QVERIFY(problemOf(bytesOf(std::string("<!DOCTYPE html><html>"))).contains("web page"));
        QVERIFY(problemOf(bytesOf(std::string("version https://git-lfs.github.com/spec/v1\n"))).contains("Git LFS"));
        QVERIFY(problemOf(bytesOf(std::string("PK\x03\x04stuff"))).contains("zip"));
        QVERIFY(problemOf(bytesOf(std::string("\x1c\0\0\0TFL3", 8))).contains("TensorFlow Lite"));
        QVERIFY(
            problemOf(bytesOf(std::string("\x40\0\0\0\0\0\0\0{\"w\":", 13))).contains("retrograde.capture.checkpoint"));
        QVERIFY(problemOf(bytesOf(std::string("[       {\"w\":"))).contains("this is a text file"));
        QVERIFY(problemOf(bytesOf(smallModel().graph().initializer(0))).contains("byte"));
    }

    void randomBytesAreNoModel()
    {
        std::mt19937 random(11); // NOLINT: a fixed seed is wanted
        for (int i = 0; i < 200; ++i) {
            std::string noise(1 + random() % 300, '\0');
            std::generate(noise.begin(), noise.end(), [&] { return static_cast<char>(random()); });
            const QString text = problemOf(bytesOf(noise));
            QVERIFY(text.startsWith("m.onnx: "));
            QVERIFY2(text.contains("byte") || text.contains("file"), qPrintable(text));
        }
    }

    void deepNestingIsToldFromDamage()
    {
        QVERIFY(problemOf(bytesOf(nestedGraphs(10))).contains("which operator"));
        QVERIFY(problemOf(bytesOf(nestedGraphs(40))).contains("nested deeper than 100"));
    }

    void damageInsideTheGraphIsTold()
    {
        const std::string graph("\x0a\x7f", 2); // a node of 127 bytes that is not there
        const QString text = problemOf(bytesOf(std::string("\x08\x08\x3a\x02", 4) + graph));
        QVERIFY2(text.contains("damaged"), qPrintable(text));
    }
};

QTEST_APPLESS_MAIN(OnnxRefusalTest)
#include "onnxrefusaltest.moc"
