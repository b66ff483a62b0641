// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"
#include "core/formats/stoppableinput.h"
#include "tests/core/formats/onnxsamples.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cstring>

using namespace retro::formats::samples;

using retro::formats::parseOnnx;
using retro::formats::StoppableInput;
using retro::graph::Graph;
using retro::graph::Node;
using retro::graph::ValueKind;
using retro::onnxschema::ModelProto;
using retro::onnxschema::TensorProto;
using retro::tensor::DType;
using retro::tensor::Tensor;

namespace
{

std::shared_ptr<const Graph> read(const ModelProto& model, const std::filesystem::path& folder = {})
{
    auto graph = parseOnnx(bytesOf(model), "m.onnx", folder);
    if (!graph) {
        qWarning("%s", graph.error().text().c_str());
        return nullptr;
    }
    return *graph;
}

const Tensor& constantOf(const Graph& graph, const std::string& name)
{
    return graph.value(graph.findValue(name).value()).constant;
}

/// A model whose only interesting part is the tensor "w".
ModelProto withTensor(const std::function<void(TensorProto&)>& fill)
{
    ModelProto model = smallModel();
    TensorProto& tensor = *model.mutable_graph()->mutable_initializer(0);
    tensor.Clear();
    tensor.set_name("w");
    fill(tensor);
    return model;
}

std::string externalBytes(std::initializer_list<float> values)
{
    std::string text(values.size() * sizeof(float), '\0');
    std::memcpy(text.data(), values.begin(), text.size());
    return text;
}

void addExternal(TensorProto& tensor, const std::string& key, const std::string& value)
{
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
}

ModelProto externalModel(const std::string& location, const std::string& offset)
{
    return withTensor([&](TensorProto& tensor) {
        tensor.set_data_type(TensorProto::FLOAT);
        tensor.add_dims(3);
        tensor.set_data_location(TensorProto::EXTERNAL);
        addExternal(tensor, "location", location);
        addExternal(tensor, "offset", offset);
        addExternal(tensor, "length", "12");
    });
}

} // namespace

class OnnxTest : public QObject
{
    Q_OBJECT

private slots:
    void aRequestedStopEndsTheReading()
    {
        std::stop_source source;
        QVERIFY(parseOnnx(bytesOf(smallModel()), "m.onnx", {}, source.get_token()).ok());
        source.request_stop();
        RETRO_REFUSED(parseOnnx(bytesOf(smallModel()), "m.onnx", {}, source.get_token()),
                      retro::base::ErrorCode::Cancelled);
    }

    void theDecoderGetsNothingMoreOnceStopped()
    {
        const std::vector<std::byte> data(3 * StoppableInput::kPiece + 5, std::byte{7});
        std::stop_source source;
        const std::stop_token stop = source.get_token();
        const google::protobuf::Arena arena;
        StoppableInput input(data, stop, arena);
        const void* piece = nullptr;
        int size = 0;
        QVERIFY(input.Next(&piece, &size));
        QCOMPARE(static_cast<std::size_t>(size), StoppableInput::kPiece);
        input.BackUp(10);
        QVERIFY(input.Skip(12));
        QVERIFY(input.Next(&piece, &size));
        QCOMPARE(static_cast<const std::byte*>(piece), data.data() + StoppableInput::kPiece + 2);
        QVERIFY(input.ByteCount() < static_cast<std::int64_t>(data.size()));
        const std::int64_t before = input.ByteCount();
        source.request_stop();
        QVERIFY(!input.Next(&piece, &size));
        QCOMPARE(input.ByteCount(), before);
        const std::stop_token never;
        StoppableInput all(data, never, arena);
        std::size_t total = 0;
        while (all.Next(&piece, &size)) {
            total += static_cast<std::size_t>(size);
        }
        QCOMPARE(total, data.size());
        QVERIFY(!all.Skip(1));
    }

    void namesShapesAndScopesAreKept()
    {
        RETRO_MADE(graph, read(smallModel()));
        QCOMPARE(graph->name(), std::string("small"));
        QCOMPARE(graph->nodeCount(), std::size_t{2});
        const Node& add = graph->node(graph->findNode("/block/fc/Add").value());
        QCOMPARE(add.scope, std::string("block/fc"));
        QCOMPARE(add.opset, std::int64_t{17});
        const auto& x = graph->value(graph->findValue("x").value());
        QCOMPARE(x.kind, ValueKind::Input);
        QCOMPARE(x.shape->at(0).symbol, std::string("N"));
        QVERIFY(!x.shape->at(0).extent);
        QCOMPARE(x.shape->at(1).extent.value(), std::int64_t{3});
        QVERIFY(constantOf(*graph, "w").bitEqual(Tensor::of<float>({3}, std::vector<float>{1, 2, 3})));
        QCOMPARE(graph->opsets().at(""), std::int64_t{17});
    }

    void inputsWithInitializersAreConstants()
    {
        ModelProto model = smallModel();
        addValueInfo(*model.mutable_graph()->add_input(), "w");
        RETRO_MADE(graph, read(model));
        QCOMPARE(graph->inputs().size(), std::size_t{1});
        QCOMPARE(graph->value(graph->findValue("w").value()).kind, ValueKind::Constant);
    }

    void constantNodesBecomeConstants()
    {
        ModelProto model = smallModel();
        const auto constant = [&](const std::string& output, const char* attribute, auto fill) {
            auto& proto = *addNode(model, "Constant", "", {}, {output}).add_attribute();
            proto.set_name(attribute);
            fill(proto);
        };
        using retro::onnxschema::AttributeProto;
        constant("a", "value_float", [](AttributeProto& p) {
            p.set_type(AttributeProto::FLOAT);
            p.set_f(0.5F);
        });
        constant("b", "value_ints", [](AttributeProto& p) {
            p.set_type(AttributeProto::INTS);
            p.add_ints(-7);
            p.add_ints(9);
        });
        constant("c", "value_int", [](AttributeProto& p) { p.set_i(4); }); // the type may be missing
        constant("d", "value_floats", [](AttributeProto& p) {
            p.set_type(AttributeProto::FLOATS);
            p.add_floats(2);
        });
        constant("e", "value", [](AttributeProto& p) {
            p.set_type(AttributeProto::TENSOR);
            p.mutable_t()->set_data_type(TensorProto::BOOL);
            p.mutable_t()->add_int32_data(1);
        });
        RETRO_MADE(graph, read(model));
        QCOMPARE(graph->nodeCount(), std::size_t{2});
        QVERIFY(constantOf(*graph, "a").bitEqual(Tensor::scalar(0.5F)));
        QVERIFY(constantOf(*graph, "b").bitEqual(Tensor::of<std::int64_t>({2}, std::vector<std::int64_t>{-7, 9})));
        QVERIFY(constantOf(*graph, "c").bitEqual(Tensor::scalar(std::int64_t{4})));
        QVERIFY(constantOf(*graph, "d").bitEqual(Tensor::of<float>({1}, std::vector<float>{2})));
        QVERIFY(constantOf(*graph, "e").bitEqual(Tensor::scalar(true)));
    }

    void scopesComeFromMetadataFirst_data()
    {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("scope");
        QTest::newRow("plain") << "namespace"
                               << "encoder/layer1"
                               << "encoder/layer1";
        QTest::newRow("typed") << "namespace"
                               << ": m.Net/a: m.Block/a.conv: m.Conv2d/conv2d: aten.conv2d.default"
                               << "a/conv";
        QTest::newRow("typed root") << "namespace"
                                    << ": m.Net/relu: aten.relu"
                                    << "";
        QTest::newRow("typed call alone") << "namespace"
                                          << "relu: aten.relu"
                                          << "";
        QTest::newRow("list") << "pkg.torch.onnx.name_scopes"
                              << "['', 'a', 'a.0', 'conv2d']"
                              << "a/0";
        QTest::newRow("double quotes") << "pkg.torch.onnx.name_scopes"
                                       << R"(["", "a", "relu"])"
                                       << "a";
        QTest::newRow("list root") << "pkg.torch.onnx.name_scopes"
                                   << "['', 'relu']"
                                   << "";
        QTest::newRow("open list") << "pkg.torch.onnx.name_scopes"
                                   << "['a"
                                   << "";
        QTest::newRow("other") << "colour"
                               << "red"
                               << "block/fc";
    }

    void scopesComeFromMetadataFirst()
    {
        QFETCH(QString, key);
        QFETCH(QString, value);
        QFETCH(QString, scope);
        ModelProto model = smallModel();
        auto& entry = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
        entry.set_key(key.toStdString());
        entry.set_value(value.toStdString());
        RETRO_MADE(graph, read(model));
        QCOMPARE(QString::fromStdString(graph->nodes()[0].scope), scope);
    }

    void typedFieldsAreRead_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("dtype");
        const auto row = [](const char* name, TensorProto::DataType type, DType dtype) {
            QTest::newRow(name) << static_cast<int>(type) << static_cast<int>(dtype);
        };
        row("float", TensorProto::FLOAT, DType::Float32);
        row("double", TensorProto::DOUBLE, DType::Float64);
        row("int8", TensorProto::INT8, DType::Int8);
        row("uint8", TensorProto::UINT8, DType::UInt8);
        row("int16", TensorProto::INT16, DType::Int16);
        row("uint16", TensorProto::UINT16, DType::UInt16);
        row("int32", TensorProto::INT32, DType::Int32);
        row("uint32", TensorProto::UINT32, DType::UInt32);
        row("int64", TensorProto::INT64, DType::Int64);
        row("uint64", TensorProto::UINT64, DType::UInt64);
    }

    void typedFieldsAreRead()
    {
        QFETCH(int, type);
        QFETCH(int, dtype);
        const auto graph = read(withTensor([&](TensorProto& tensor) {
            tensor.set_data_type(type);
            tensor.add_dims(2);
            for (const int v : {3, 100}) {
                switch (type) {
                case TensorProto::FLOAT:
                    tensor.add_float_data(static_cast<float>(v));
                    break;
                case TensorProto::DOUBLE:
                    tensor.add_double_data(v);
                    break;
                case TensorProto::INT64:
                    tensor.add_int64_data(v);
                    break;
                case TensorProto::UINT32:
                case TensorProto::UINT64:
                    tensor.add_uint64_data(static_cast<std::uint64_t>(v));
                    break;
                default:
                    tensor.add_int32_data(v);
                }
            }
            tensor.set_raw_data(""); // some writers do this beside a typed list
        }));
        QVERIFY(graph);
        const Tensor& w = constantOf(*graph, "w");
        QCOMPARE(w.dtype(), static_cast<DType>(dtype));
        QCOMPARE(w.at(0), 3.0);
        QCOMPARE(w.at(1), 100.0);
    }

    void halfPrecisionKeepsItsBits()
    {
        for (const auto& [type, dtype] :
             {std::pair{TensorProto::FLOAT16, DType::Float16}, std::pair{TensorProto::BFLOAT16, DType::BFloat16}}) {
            RETRO_MADE(graph, read(withTensor([type = type](TensorProto& tensor) {
                           tensor.set_data_type(type);
                           tensor.add_dims(1);
                           tensor.add_int32_data(0xbc01);
                       })));
            std::uint16_t bits = 0;
            std::memcpy(&bits, constantOf(*graph, "w").rawData(), 2);
            QCOMPARE(constantOf(*graph, "w").dtype(), dtype);
            QCOMPARE(bits, std::uint16_t{0xbc01});
        }
    }

    void fewBitsArePackedInFiles()
    {
        for (const bool isRaw : {true, false}) {
            RETRO_MADE(graph, read(withTensor([isRaw](TensorProto& tensor) {
                           tensor.set_data_type(TensorProto::INT4);
                           tensor.add_dims(3);
                           isRaw ? tensor.set_raw_data("\xf1\x03") : tensor.add_int32_data(0xf1);
                           if (!isRaw) {
                               tensor.add_int32_data(0x03);
                           }
                       })));
            const Tensor& w = constantOf(*graph, "w");
            QCOMPARE(w.dtype(), DType::Int4);
            QCOMPARE(w.at(0), 1.0);
            QCOMPARE(w.at(1), -1.0);
            QCOMPARE(w.at(2), 3.0);
        }
        const auto graph = read(withTensor([](TensorProto& tensor) { // of 6 bits, a number is an element
            tensor.set_data_type(TensorProto::FLOAT6E3M2);
            tensor.add_dims(2);
            tensor.add_int32_data(0x3f);
            tensor.add_int32_data(0x01);
        }));
        QVERIFY(graph);
        QCOMPARE(constantOf(*graph, "w").at(0), -28.0);
        QCOMPARE(constantOf(*graph, "w").at(1), 0.0625);
    }

    void emptyInputsAndOutputsAreKept()
    {
        ModelProto model = smallModel();
        addNode(model, "Clip", "clip", {"y", "", "w"}, {"z", ""});
        RETRO_MADE(graph, read(model));
        const Node& clip = graph->node(graph->findNode("clip").value());
        QCOMPARE(clip.inputs.size(), std::size_t{3});
        QVERIFY(!clip.inputs[1].isValid());
        QVERIFY(clip.inputs[2].isValid());
        QVERIFY(!clip.outputs[1].isValid());
    }

    void unorderedNodesAreSorted()
    {
        ModelProto model = smallModel();
        model.mutable_graph()->mutable_node()->SwapElements(0, 1);
        RETRO_MADE(graph, read(model));
        QCOMPARE(graph->nodes()[0].op, std::string("Add"));
    }

    void oldFilesWithoutOpsetsUseTheFirst()
    {
        ModelProto model = smallModel();
        model.clear_opset_import();
        model.set_ir_version(2);
        RETRO_MADE(graph, read(model));
        QCOMPARE(graph->nodes()[0].opset, std::int64_t{1});
    }

    void externalDataIsReadBesideTheModel()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        QVERIFY(retro::base::makeFolder(root / "data").ok());
        QVERIFY(retro::base::writeFile(root / "data" / "w.bin", "skip" + externalBytes({5, 6, 7})).ok());
        const auto data = bytesOf(externalModel("data/w.bin", "4"));
        QVERIFY(retro::base::writeFile(root / "m.onnx", data).ok());
        RETRO_MADE(graph, retro::formats::readOnnx(root / "m.onnx"));
        QVERIFY(constantOf(**graph, "w").bitEqual(Tensor::of<float>({3}, std::vector<float>{5, 6, 7})));
    }

    void externalDataElsewhereIsRefused()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        const std::filesystem::path inner = root / "inner";
        QVERIFY(retro::base::makeFolder(inner).ok());
        QVERIFY(retro::base::writeFile(root / "w.bin", externalBytes({5, 6, 7})).ok());
        std::filesystem::create_symlink("../w.bin", inner / "link.bin");
        QVERIFY(problemOf(externalModel("../w.bin", "0"), inner).contains("not inside the model's folder"));
        QVERIFY(problemOf(externalModel("a/../../w.bin", "0"), inner).contains("not inside the model's folder"));
        QVERIFY(problemOf(externalModel((root / "w.bin").string(), "0"), inner).contains("not inside"));
        QVERIFY(problemOf(externalModel("link.bin", "0"), inner).contains("is a link"));
        QVERIFY(problemOf(externalModel("none.bin", "0"), inner).contains("'none.bin', which is not there"));
        QVERIFY(problemOf(externalModel("", "0"), inner).contains("not named"));
        QVERIFY(problemOf(externalModel("w.bin", "1"), root).contains("bytes 1 to 13"));
        QVERIFY(problemOf(externalModel("w.bin", "18446744073709551615"), root).contains("fetched whole"));
        QVERIFY(problemOf(externalModel("w.bin", "-1"), root).contains("not a number of bytes"));
        ModelProto wrongLength = externalModel("w.bin", "0");
        wrongLength.mutable_graph()->mutable_initializer(0)->mutable_external_data(2)->set_value("8");
        QVERIFY(problemOf(wrongLength, root).contains("it says 8 bytes but the shape needs 12"));
        QVERIFY(problemOf(externalModel("w.bin", "0"), root).isEmpty());
    }

    void tensorFilesAreRead()
    {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("input_0.pb").toStdString();
        QVERIFY(retro::base::writeFile(path, bytesOf(smallModel().graph().initializer(0))).ok());
        RETRO_MADE(tensor, retro::formats::readTensorProto(path));
        QVERIFY(tensor->bitEqual(Tensor::of<float>({3}, std::vector<float>{1, 2, 3})));
        QVERIFY(retro::base::writeFile(path, std::string_view("\x08")).ok());
        RETRO_REFUSED(retro::formats::readTensorProto(path), "input_0.pb: ");
    }

    void missingFilesAreNamed()
    {
        RETRO_REFUSED(retro::formats::readOnnx("no/such/model.onnx"), retro::base::ErrorCode::Input,
                      "no/such/model.onnx");
    }
};

QTEST_APPLESS_MAIN(OnnxTest)
#include "onnxtest.moc"
