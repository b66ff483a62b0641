// SPDX-License-Identifier: Apache-2.0
// Models as text: protobuf's text format, its JSON, and the ONNX text form.
#include "core/formats/onnxtextforms.h"
#include "core/formats/modelfile.h"
#include "core/graph/contentdigest.h"
#include "core/graph/graphbuilder.h"
#include "tests/core/formats/onnxsamples.h"

#include <QTemporaryDir>
#include <QtTest>

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

using namespace retro;
using namespace retro::formats;
using namespace retro::formats::samples;

namespace
{

/// The model of smallModel() in the ONNX text form.
const std::string kSmallText = "<\n"
                               "   ir_version: 8,\n"
                               "   opset_import: [\"\" : 17]\n"
                               ">\n"
                               "small (float[N,3] x) => (float[N,3] y) <float[3] w = {1, 2.0, 3e0}>\n"
                               "{\n"
                               "   # a comment\n"
                               "   [\"/block/fc/Add\"] h = Add (x, w)\n"
                               "   [relu] y = Relu (h)\n"
                               "}\n"
                               "";

std::string asTextProto(const onnxschema::ModelProto& model)
{
    std::string text;
    google::protobuf::TextFormat::PrintToString(model, &text);
    return text;
}

std::string asJson(const onnxschema::ModelProto& model, bool keepsNames)
{
    google::protobuf::util::JsonPrintOptions options;
    options.preserve_proto_field_names = keepsNames;
    std::string text;
    const auto status = google::protobuf::util::MessageToJsonString(model, &text, options);
    return status.ok() ? text : std::string();
}

/// Whether a text is read as the graph that the binary file of `model` is: operators, data, names.
QString differenceOf(const std::string& text, const onnxschema::ModelProto& model)
{
    const auto wanted = parseOnnx(bytesOf(model), "binary");
    const auto got = parseOnnx(bytesOf(text), "text");
    if (!wanted.ok() || !got.ok()) {
        return QString::fromStdString((wanted.ok() ? got : wanted).error().text());
    }
    const bool isSame = graph::contentDigest(**wanted) == graph::contentDigest(**got) &&
                        (*wanted)->node(base::NodeId(0U)).name == (*got)->node(base::NodeId(0U)).name &&
                        (*wanted)->opsets() == (*got)->opsets() && (*wanted)->name() == (*got)->name();
    return isSame ? QString() : QStringLiteral("another graph");
}

QString problemOfText(const std::string& text) { return problemOf(bytesOf(text)); }

} // namespace

class OnnxTextFormsTest : public QObject
{
    Q_OBJECT

private slots:
    void everyFormIsTheSameModel()
    {
        const onnxschema::ModelProto model = smallModel();
        for (const std::string& text : {asTextProto(model), asJson(model, true), asJson(model, false), kSmallText,
                                        "\xEF\xBB\xBF" + asTextProto(model), "# made by hand\n" + asTextProto(model)}) {
            QCOMPARE(differenceOf(text, model), QString());
        }
    }

    void rawDataInText()
    {
        onnxschema::ModelProto model = smallModel();
        onnxschema::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
        w.clear_float_data();
        const std::array<float, 3> numbers{-0.5F, 1e-20F, 7.0F};
        w.set_raw_data(numbers.data(), sizeof numbers);
        QCOMPARE(differenceOf(asTextProto(model), model), QString());
        QCOMPARE(differenceOf(asJson(model, true), model), QString());
    }

    void contentTellsTheForm()
    {
        const onnxschema::ModelProto model = smallModel();
        QVERIFY(textFormOf(bytesOf(asTextProto(model))) == TextForm::TextProto);
        QVERIFY(textFormOf(bytesOf(asJson(model, false))) == TextForm::OnnxJson);
        QVERIFY(textFormOf(bytesOf(kSmallText)) == TextForm::OnnxText);
        QVERIFY(textFormOf(bytesOf(std::string("g (float x) => (float y) { y = Relu (x) }"))) == TextForm::OnnxText);
        QVERIFY(textFormOf(bytesOf(std::string("{\"name\": {\"graph\": 1}, \"format\": \"retrograde-graph/1\"}"))) ==
                TextForm::GraphJson);
        QVERIFY(textFormOf(bytesOf(std::string("{\"a\": \"graph\", \"b\": {\"graph\": 1}}"))) == TextForm::OtherJson);
        for (const char* other :
             {"<!DOCTYPE html>", "<html>", "hello world", "version https://git-lfs", "[1]", " \n"}) {
            QVERIFY2(textFormOf(bytesOf(std::string(other))) == TextForm::None, other);
        }
        QVERIFY(textFormOf(bytesOf(model)) == TextForm::None);
        QVERIFY(textFormOf({}) == TextForm::None);
    }

    void endingsDoNotCount()
    {
        QTemporaryDir folder;
        const onnxschema::ModelProto model = smallModel();
        const auto reads = [&folder](const char* name, const std::string& text) {
            QFile file(folder.filePath(QString::fromLatin1(name)));
            const bool isOpen = file.open(QIODevice::WriteOnly);
            file.write(text.data(), static_cast<qint64>(text.size()));
            file.close();
            return isOpen && readModelFile(file.fileName().toStdString()).ok();
        };
        QVERIFY(reads("a.json", asJson(model, true)));
        QVERIFY(reads("b.onnx", asJson(model, true)));
        QVERIFY(reads("c.onnx", asTextProto(model)));
        QVERIFY(reads("d.pbtxt", asTextProto(model)));
        QVERIFY(reads("e.txt", kSmallText));
        const std::vector<std::byte> binary = bytesOf(model);
        QVERIFY(reads("f.json", std::string(reinterpret_cast<const char*>(binary.data()), binary.size())));
    }

    void syntaxOfTheTextForm()
    {
        // A raw string would hide the class from moc.
        const std::string head = "<ir_version: 8, opset_import: [\"\": 17, \"d\" : 1], producer_name: \"me\">\n";
        const std::string text =
            head + "g (float[N,?,\"a b\"] x, bool c, float[2] t = {1, -inf}) => (y, float[] z)\n"
                   "            <int64[2] s = {0, -1}, uint64 big = {18446744073709551615}, float[2, 3] mid>\n"
                   "            {\n"
                   "                u, , v = Split <axis = 1, num_outputs: int = 3> (x)\n"
                   "                w = d.Own:other <a = [1.5, 2], b: ints = [], n = \"q\\\"uote\", f: float = 2, k = "
                   "-nan> (u, , t)\n"
                   "                y = If (c) <then_branch = inner () => (float r) { r = Identity (w) },\n"
                   "                            else_branch = other () => (float r2) { r2 = Neg (w) }>\n"
                   "                z = Constant <value = float16[2] {15360, 0}> ()\n"
                   "            }\n"
                   "            <domain: \"d\", opset_import: [\"\" : 17], overload: \"other\">\n"
                   "            Own <a, b, n, f, k> (p, q, r) => (o) { o = Clip <min: float = @f> (p) }\n"
                   "        ";
        onnxschema::ModelProto model;
        RETRO_MADE(read, parseTextModel(bytesOf(text), TextForm::OnnxText, model));
        const onnxschema::GraphProto& graph = model.graph();
        QCOMPARE(graph.node_size(), 4);
        QCOMPARE(graph.node(0).output_size(), 3);
        QVERIFY(graph.node(0).output(1).empty());
        QCOMPARE(graph.node(1).domain(), std::string("d"));
        QCOMPARE(graph.node(1).overload(), std::string("other"));
        QCOMPARE(graph.node(1).input_size(), 3);
        QVERIFY(graph.node(1).input(1).empty());
        QCOMPARE(graph.node(1).attribute(0).floats_size(), 2);
        QVERIFY(graph.node(1).attribute(1).type() == onnxschema::AttributeProto::INTS);
        QCOMPARE(graph.node(1).attribute(2).s(), std::string("q\"uote"));
        QCOMPARE(graph.node(1).attribute(3).f(), 2.0F);
        QVERIFY(std::isnan(graph.node(1).attribute(4).f()));
        QCOMPARE(graph.node(2).attribute(1).g().name(), std::string("other"));
        QCOMPARE(graph.node(3).attribute(0).t().int32_data(0), 15360);
        QCOMPARE(graph.initializer_size(), 3);
        QVERIFY(std::isinf(graph.initializer(0).float_data(1)));
        QCOMPARE(graph.initializer(2).uint64_data(0), std::numeric_limits<std::uint64_t>::max());
        QCOMPARE(graph.value_info_size(), 1);
        QCOMPARE(graph.input(0).type().tensor_type().shape().dim(2).dim_param(), std::string("a b"));
        QVERIFY(!graph.input(0).type().tensor_type().shape().dim(1).has_dim_value());
        QVERIFY(!graph.output(1).type().tensor_type().has_shape());
        QCOMPARE(model.functions(0).node(0).attribute(0).ref_attr_name(), std::string("f"));
        QCOMPARE(model.functions(0).attribute_size(), 5);
    }

    void faultsHaveAPlace()
    {
        const QString mark = problemOfText("<ir_version: 8>\ng (float[N] x) => (float[N] y)\n{ y = Relu x) }");
        RETRO_SAYS(mark, QStringLiteral("line 3, column 12"), QStringLiteral("'('"));
        QVERIFY(problemOfText("<ir_version: 8>\ng (float[N] x) =>").contains(QStringLiteral("text ends")));
        QVERIFY(problemOfText("<ir_version: 8> g (float[2] x = {1, 2").contains(QStringLiteral("text ends")));
        QVERIFY(problemOfText("<ir_version: 8> g (int32[1] x = {4294967296}) => (y) {}").contains("does not fit"));
        QVERIFY(problemOfText("<ir_version: 8> g (float[N] x = {1}) => (y) {}").contains("number for each"));
        QVERIFY(problemOfText("<ir_version: 8> g (x) => (y) {y = A <a = []> (x)}").contains("must state its type"));
        QVERIFY(problemOfText("<ir_version: 8> g (x) => (y) {y = A <a = [1, \"b\"]> (x)}").contains("one type"));
        QVERIFY(problemOfText("<colour: 8> g (x) => (y) {}").contains(QStringLiteral("this is a text file")));
        QVERIFY(problemOfText("graph { node { op_type: ").contains(QStringLiteral("line 1")));
        QVERIFY(problemOfText("ir_version: 8").contains(QStringLiteral("holds no graph")));
        QVERIFY(problemOfText("{\"irVersion\": 8, \"graph\": [}").contains(QStringLiteral("JSON")));
        QVERIFY(problemOfText("{\"irVersion\": 8}").contains(QStringLiteral("holds no graph")));
    }

    void everyPrefixIsRefused()
    {
        const onnxschema::ModelProto model = smallModel();
        for (const std::string& whole : {kSmallText.substr(0, kSmallText.rfind('}') + 1), asJson(model, true)}) {
            for (std::size_t length = 1; length < whole.size(); length += 3) {
                QVERIFY2(!parseOnnx(bytesOf(whole.substr(0, length)), "m").ok(), whole.substr(0, length).c_str());
            }
        }
    }

    void nestingAndSizeAreBounded()
    {
        const auto repeated = [](const std::string& piece, int times) {
            std::string text;
            for (int i = 0; i < times; ++i) {
                text += piece;
            }
            return text;
        };
        const std::string graphs =
            "<ir_version: 8> g (x) => (y) {" + repeated("y = If (x) <a = g () => (y) {", 100'000);
        QVERIFY(problemOfText(graphs).contains(QStringLiteral("nested deeper")));
        QVERIFY(problemOfText("g (" + repeated("seq(", 100'000)).contains(QStringLiteral("nested deeper")));
        QVERIFY(!problemOfText(repeated("graph { node { attribute { g ", 100'000)).isEmpty());
        QVERIFY(!problemOfText("{\"graph\": " + repeated("{\"node\": [{\"attribute\": [{\"g\": ", 100'000)).isEmpty());
        const QString many = problemOfText("graph {" + repeated("node{}", 1'100'000) + "}");
        QVERIFY2(many.contains(QStringLiteral("fields")), qPrintable(many.left(200)));
    }
};

QTEST_GUILESS_MAIN(OnnxTextFormsTest)
#include "onnxtextformstest.moc"
