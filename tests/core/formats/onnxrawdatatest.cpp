// SPDX-License-Identifier: Apache-2.0
// A large file whose large initializers stay in it while it is decoded gives what its bytes give when they are decoded
// as a whole: graph, data and messages.
#include "core/formats/onnxrawdata.h"
#include "core/formats/onnx.h"
#include "tests/core/formats/protomodel.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cstring>
#include <random>

using namespace retro;
using formats::OnnxRawData;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

Tensor counted(DType type, Shape shape)
{
    tensor::TensorBuffer buffer(type, std::move(shape));
    for (std::size_t i = 0; i < buffer.bytes(); ++i) {
        buffer.rawData()[i] = static_cast<std::byte>(i % 13 + (i >> 9U) % 7);
    }
    return std::move(buffer).freeze();
}

/// More than a megabyte in three initializers, and a small one.
onnxschema::ModelProto largeModel()
{
    tests::ProtoModel model;
    model.input("x", {1, 520});
    model.constant("weight", counted(DType::Float32, {520, 600})).constant("bias", counted(DType::Float32, {600}));
    model.constant("packed", counted(DType::Int4, {400, 400})).constant("bytes", counted(DType::UInt8, {300, 300}));
    model.node("MatMul", {"x", "weight"}, {"product"}).node("Add", {"product", "bias"}, {"y"});
    model.output("y");
    return std::move(model.proto());
}

std::string bytesOf(const onnxschema::ModelProto& model) { return model.SerializeAsString(); }

} // namespace

class OnnxRawDataTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    std::filesystem::path file(const std::string& bytes) const
    {
        const QString path = m_folder.filePath("model.onnx");
        QFile out(path);
        if (!out.open(QIODevice::WriteOnly) || out.write(bytes.data(), static_cast<qint64>(bytes.size())) < 0) {
            qFatal("the file cannot be written");
        }
        return path.toStdString();
    }

    /// How the file is read differently from its bytes; empty: it is not.
    QString difference(const std::string& bytes) const
    {
        const std::filesystem::path path = file(bytes);
        const auto whole = formats::parseOnnx(std::as_bytes(std::span(bytes)), path.string(), path.parent_path());
        const auto read = formats::readOnnx(path);
        if (!whole || !read) {
            const auto text = [](const auto& result) {
                return result.ok() ? QString("a graph") : QString::fromStdString(result.error().text());
            };
            return text(whole) == text(read) ? QString() : text(whole) + " | " + text(read);
        }
        const graph::Graph& a = **whole;
        const graph::Graph& b = **read;
        if (a.valueCount() != b.valueCount() || a.nodeCount() != b.nodeCount()) {
            return "other values or nodes";
        }
        for (std::size_t i = 0; i < a.valueCount(); ++i) {
            const Tensor& left = a.value(graph::ValueId(i)).constant;
            const Tensor& right = b.value(graph::ValueId(i)).constant;
            const bool isSame = left.isValid() == right.isValid() &&
                                (!left.isValid() || (left.shape() == right.shape() && left.dtype() == right.dtype() &&
                                                     std::memcmp(left.rawData(), right.rawData(),
                                                                 static_cast<std::size_t>(left.bytes())) == 0));
            if (!isSame) {
                return QString::fromStdString("other data of " + a.value(graph::ValueId(i)).name);
            }
        }
        return {};
    }

private slots:
    void whatIsLargeStaysInTheFile()
    {
        const std::string bytes = bytesOf(largeModel());
        RETRO_MADE(data, OnnxRawData::open(file(bytes), formats::kMaxOnnxBytes));
        QVERIFY(data->find("weight") != nullptr && data->find("packed") != nullptr && data->find("bytes") != nullptr);
        QVERIFY(data->find("bias") == nullptr);
        QCOMPARE(data->find("weight")->bytes, std::uint64_t{520 * 600 * 4});
        QVERIFY(data->message().size() < 10'000);
        QCOMPARE(difference(bytes), QString());
    }

    void othersAreReadWhole_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        const auto add = [](const char* name, const onnxschema::ModelProto& model, const std::string& behind = {}) {
            QTest::newRow(name) << QByteArray::fromStdString(bytesOf(model) + behind);
        };
        onnxschema::ModelProto twice = largeModel();
        *twice.mutable_graph()->add_initializer() = twice.graph().initializer(0);
        add("one name twice", twice);
        onnxschema::ModelProto more;
        more.mutable_graph()->set_doc_string("merged");
        add("two graphs", largeModel(), bytesOf(more));
        onnxschema::ModelProto nameless = largeModel();
        nameless.mutable_graph()->mutable_initializer(0)->clear_name();
        add("no name", nameless);
        onnxschema::ModelProto shape = largeModel();
        shape.mutable_graph()->mutable_initializer(0)->set_dims(0, 521);
        add("another shape", shape);
        onnxschema::ModelProto segment = largeModel();
        segment.mutable_graph()->mutable_initializer(0)->mutable_segment()->set_begin(1);
        add("in segments", segment);
        onnxschema::ModelProto elsewhere = largeModel();
        elsewhere.mutable_graph()->mutable_initializer(0)->set_data_location(onnxschema::TensorProto::EXTERNAL);
        add("in another file", elsewhere);
        onnxschema::ModelProto blocked = largeModel();
        blocked.mutable_graph()->mutable_node(0)->set_domain("com.microsoft.nchwc");
        add("channels in blocks", blocked);
        add("a group behind it", largeModel(), "\x0b\x0c");
        add("damaged behind it", largeModel(), "\xff\xff\xff");
    }
    void othersAreReadWhole()
    {
        QFETCH(QByteArray, bytes);
        QCOMPARE(difference(bytes.toStdString()), QString());
    }

    void truncatedFilesGiveTheSameMessages()
    {
        const std::string bytes = bytesOf(largeModel());
        std::mt19937 random(7);
        for (int i = 0; i < 40; ++i) {
            const std::size_t least = OnnxRawData::kLeastFile;
            QCOMPARE(difference(bytes.substr(0, least + random() % (bytes.size() - least))), QString());
        }
    }

    void mutationsGiveTheSame_data()
    {
        QTest::addColumn<int>("seed");
        for (int seed = 0; seed < 4; ++seed) {
            QTest::addRow("%d", seed) << seed;
        }
    }
    void mutationsGiveTheSame()
    {
        QFETCH(int, seed);
        const std::string whole = bytesOf(largeModel());
        std::vector<std::size_t> places; // everything but the elements of large initializers
        RETRO_MADE(data, OnnxRawData::open(file(whole), formats::kMaxOnnxBytes));
        for (std::size_t at = 0; at < whole.size(); ++at) {
            const auto isInside = [at](const OnnxRawData::Place* place) {
                return at >= place->offset && at < place->offset + place->bytes;
            };
            if (!isInside(data->find("weight")) && !isInside(data->find("packed")) && !isInside(data->find("bytes"))) {
                places.push_back(at);
            }
        }
        std::mt19937 random(static_cast<unsigned>(seed));
        for (int i = 0; i < 60; ++i) {
            std::string mutated = whole;
            for (unsigned k = 0; k <= random() % 3; ++k) {
                // Half of them in what stands before the elements of the first one.
                const std::size_t at = places[random() % (random() % 2 == 0 ? 200 : places.size())];
                mutated[at] = static_cast<char>(random() % 2 == 0 ? random() : mutated[at] ^ (1 << random() % 8));
            }
            const QString text = difference(mutated);
            QVERIFY2(text.isEmpty(), qPrintable(text));
        }
    }
};

QTEST_GUILESS_MAIN(OnnxRawDataTest)
#include "onnxrawdatatest.moc"
