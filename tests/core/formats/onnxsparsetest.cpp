// SPDX-License-Identifier: Apache-2.0
// Sparse initializers, and weights that are not there.
#include "core/formats/onnxsparse.h"
#include "tests/core/formats/onnxsamples.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace retro;
using namespace retro::formats;
using namespace retro::formats::samples;

namespace
{

using Numbers = std::vector<std::int64_t>;

/// Values 1, 2, … at these indices; `width` of them in a row, 0 = one number for each.
onnxschema::SparseTensorProto sparse(const Numbers& dims, const Numbers& indices, int width)
{
    onnxschema::SparseTensorProto proto;
    proto.mutable_dims()->Add(dims.begin(), dims.end());
    const auto count = static_cast<std::int64_t>(indices.size()) / std::max(width, 1);
    proto.mutable_values()->set_name("w");
    proto.mutable_values()->set_data_type(onnxschema::TensorProto::FLOAT);
    proto.mutable_values()->add_dims(count);
    for (std::int64_t i = 0; i < count; ++i) {
        proto.mutable_values()->add_float_data(static_cast<float>(i + 1));
    }
    proto.mutable_indices()->set_data_type(onnxschema::TensorProto::INT64);
    proto.mutable_indices()->add_dims(count);
    if (width > 0) {
        proto.mutable_indices()->add_dims(width);
    }
    proto.mutable_indices()->mutable_int64_data()->Add(indices.begin(), indices.end());
    return proto;
}

std::vector<float> denseOf(const onnxschema::SparseTensorProto& proto)
{
    const auto dense = fromSparseTensorProto(proto, {});
    if (!dense.ok()) {
        return {};
    }
    return {dense->span<float>().begin(), dense->span<float>().end()};
}

QString refusalOf(const onnxschema::SparseTensorProto& proto)
{
    const auto dense = fromSparseTensorProto(proto, {});
    return dense.ok() ? QString() : QString::fromStdString(dense.error().text());
}

/// smallModel() whose weights of 300 numbers lie in another file.
onnxschema::ModelProto outsideModel()
{
    onnxschema::ModelProto model = smallModel();
    onnxschema::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
    w.clear_float_data();
    w.set_data_location(onnxschema::TensorProto::EXTERNAL);
    auto& entry = *w.add_external_data();
    entry.set_key("location");
    entry.set_value("w.bin");
    return model;
}

} // namespace

class OnnxSparseTest : public QObject
{
    Q_OBJECT

private slots:
    void positionsAndRowsOfIndices()
    {
        const std::vector<float> wanted{0, 1, 0, 0, 0, 2};
        QCOMPARE(denseOf(sparse({2, 3}, {1, 5}, 0)), wanted);
        QCOMPARE(denseOf(sparse({2, 3}, {0, 1, 1, 2}, 2)), wanted);
        QCOMPARE(denseOf(sparse({6}, {1, 5}, 0)), wanted);
        QCOMPARE(denseOf(sparse({6}, {1, 5}, 1)), wanted);
        QCOMPARE(denseOf(sparse({2, 3}, {}, 0)), std::vector<float>(6, 0.0F));
    }

    /// Each may be 64 MiB; a file can hold any number of them, in graphs and in nodes.
    void togetherTheyAreBounded()
    {
        const auto refusal = [](int initializers, int constants) {
            onnxschema::GraphProto graph;
            for (int i = 0; i < initializers; ++i) {
                *graph.add_sparse_initializer() = sparse({16 << 20}, {1}, 0);
            }
            onnxschema::GraphProto& branch = *graph.add_node()->add_attribute()->mutable_g();
            for (int i = 0; i < constants; ++i) {
                onnxschema::NodeProto& node = *branch.add_node();
                node.set_name("c");
                *node.add_attribute()->mutable_sparse_tensor() = sparse({16 << 20}, {1}, 0);
            }
            const auto checked = checkSparseTensors(graph);
            return checked.ok() ? QString() : QString::fromStdString(checked.error().text());
        };
        QCOMPARE(refusal(6, 6), QString());
        QVERIFY2(refusal(13, 0).contains(QStringLiteral("sparse initializer 'w'")), qPrintable(refusal(13, 0)));
        QVERIFY2(refusal(6, 7).contains(QStringLiteral("node 'c'")), qPrintable(refusal(6, 7)));
    }

    void wrongIndicesAreRefused()
    {
        QVERIFY(refusalOf(sparse({2, 3}, {1, 6}, 0)).contains(QStringLiteral("outside")));
        QVERIFY(refusalOf(sparse({2, 3}, {-1, 2}, 0)).contains(QStringLiteral("outside")));
        QVERIFY(refusalOf(sparse({2, 3}, {0, 3, 1, 0}, 2)).contains(QStringLiteral("outside")));
        QVERIFY(refusalOf(sparse({2, 3}, {5, 1}, 0)).contains(QStringLiteral("ascending")));
        QVERIFY(refusalOf(sparse({2, 3}, {1, 1}, 0)).contains(QStringLiteral("ascending")));
        QVERIFY(refusalOf(sparse({2, 3}, {0, 1, 1}, 3)).contains(QStringLiteral("indices")));
        onnxschema::SparseTensorProto fewer = sparse({2, 3}, {1, 5}, 0);
        fewer.mutable_values()->set_dims(0, 1);
        fewer.mutable_values()->mutable_float_data()->RemoveLast();
        QVERIFY(refusalOf(fewer).contains(QStringLiteral("indices")));
        QVERIFY(refusalOf(sparse({1'000'000, 1'000'000}, {1, 5}, 0)).contains(QStringLiteral("dims")));
        QVERIFY(refusalOf(sparse({1LL << 40, 1LL << 40}, {1}, 0)).contains(QStringLiteral("dims")));
        QVERIFY(refusalOf(sparse({-2, 3}, {1}, 0)).contains(QStringLiteral("dims")));
    }

    void anInitializerMayBeSparse()
    {
        onnxschema::ModelProto model = smallModel();
        model.mutable_graph()->clear_initializer();
        *model.mutable_graph()->add_sparse_initializer() = sparse({3}, {2}, 0);
        RETRO_MADE(graph, parseOnnx(bytesOf(model), "m.onnx"));
        const tensor::Tensor& w = (*graph)->value(*(*graph)->findValue("w")).constant;
        QCOMPARE(std::vector<float>(w.span<float>().begin(), w.span<float>().end()), (std::vector<float>{0, 0, 1}));
    }

    void aConstantMayBeSparse()
    {
        onnxschema::ModelProto model = smallModel();
        model.mutable_graph()->clear_initializer();
        onnxschema::NodeProto& node = addNode(model, "Constant", "c", {}, {"w"});
        node.add_attribute()->set_name("sparse_value");
        node.mutable_attribute(0)->set_type(onnxschema::AttributeProto::SPARSE_TENSOR);
        *node.mutable_attribute(0)->mutable_sparse_tensor() = sparse({3}, {0, 2}, 0);
        RETRO_MADE(graph, parseOnnx(bytesOf(model), "m.onnx"));
        QCOMPARE((*graph)->value(*(*graph)->findValue("w")).constant.at(2), 2.0);
    }

    void aMissingWeightFileLeavesTypeAndShape()
    {
        QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        const std::vector<std::byte> bytes = bytesOf(outsideModel());
        QVERIFY(!parseOnnx(bytes, "m.onnx", root).ok()); // nobody takes notes
        FileNotes notes;
        RETRO_MADE(graph, parseOnnx(bytes, "m.onnx", root, {}, &notes));
        const graph::Value& w = (*graph)->value(*(*graph)->findValue("w"));
        QVERIFY(w.kind == graph::ValueKind::Constant && !w.constant.isValid());
        QCOMPARE(w.shape->front().extent, std::optional<std::int64_t>(3));
        QVERIFY(notes.absent.at("w").find("w.bin") != std::string::npos);

        QFile cutOff(folder.filePath(QStringLiteral("w.bin")));
        QVERIFY(cutOff.open(QIODevice::WriteOnly) && cutOff.write("1234") == 4);
        cutOff.close();
        notes = {};
        QVERIFY(parseOnnx(bytes, "m.onnx", root, {}, &notes).ok());
        QVERIFY(notes.absent.at("w").find("4 bytes") != std::string::npos);

        QVERIFY(cutOff.open(QIODevice::WriteOnly) && cutOff.write(QByteArray(12, '\0')) == 12);
        cutOff.close();
        notes = {};
        QVERIFY(parseOnnx(bytes, "m.onnx", root, {}, &notes).ok());
        QVERIFY(notes.absent.empty());
    }

    void aPlaceOutsideTheFolderStaysAnError()
    {
        QTemporaryDir folder;
        onnxschema::ModelProto model = outsideModel();
        for (const char* place : {"../w.bin", "/etc/w.bin", ""}) {
            model.mutable_graph()->mutable_initializer(0)->mutable_external_data(0)->set_value(place);
            FileNotes notes;
            QVERIFY2(!parseOnnx(bytesOf(model), "m.onnx", folder.path().toStdString(), {}, &notes).ok(), place);
        }
    }

    void weightsCanStayInTheFile()
    {
        onnxschema::ModelProto model = smallModel();
        onnxschema::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
        w.set_dims(0, 1);
        w.add_dims(3);
        FileNotes notes;
        RETRO_MADE(graph, parseOnnx(bytesOf(model), "m.onnx", {}, {}, &notes, {.withoutWeights = true}));
        QVERIFY(!(*graph)->value(*(*graph)->findValue("w")).constant.isValid());
        QVERIFY(notes.absent.at("w").find("--no-weights") != std::string::npos);
        w.clear_dims();
        w.add_dims(3);
        notes = {};
        QVERIFY(parseOnnx(bytesOf(model), "m.onnx", {}, {}, &notes, {.withoutWeights = true}).ok());
        QVERIFY(notes.absent.empty()); // a few numbers in a row are no weights: shapes follow from such
    }

    void textsAndSequencesBlockNothingElse()
    {
        onnxschema::ModelProto model = smallModel();
        onnxschema::TensorProto& names = *model.mutable_graph()->add_initializer();
        names.set_name("names");
        names.set_data_type(onnxschema::TensorProto::STRING);
        names.add_dims(1);
        names.add_string_data("cat");
        addNode(model, "Encode", "encode", {"h", "names"}, {"label"});
        auto& label = *model.mutable_graph()->add_output();
        label.set_name("label");
        label.mutable_type()->mutable_sequence_type()->mutable_elem_type()->mutable_tensor_type()->set_elem_type(8);
        QVERIFY(!parseOnnx(bytesOf(model), "m.onnx").ok());
        FileNotes notes;
        RETRO_MADE(graph, parseOnnx(bytesOf(model), "m.onnx", {}, {}, &notes));
        QVERIFY(notes.absent.contains("names") && notes.otherTypes.contains("label"));
    }

    void initializersThatAreInputsAreOptional()
    {
        onnxschema::ModelProto model = smallModel();
        addValueInfo(*model.mutable_graph()->add_input(), "w");
        FileNotes notes;
        QVERIFY(parseOnnx(bytesOf(model), "m.onnx", {}, {}, &notes).ok());
        QCOMPARE(notes.optionalInputs, (std::vector<std::string>{"w"}));
    }
};

QTEST_GUILESS_MAIN(OnnxSparseTest)
#include "onnxsparsetest.moc"
