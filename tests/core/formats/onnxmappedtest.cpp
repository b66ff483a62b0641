// SPDX-License-Identifier: Apache-2.0
// Weights beyond 2 GB in external data: mapped, so that neither time nor memory goes into a copy.
#include "core/base/file.h"
#include "core/base/mappedfile.h"
#include "core/base/memoryaccount.h"
#include "tests/core/formats/onnxsamples.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace retro;
using namespace retro::formats::samples;

namespace
{

constexpr std::int64_t kCount = std::int64_t{3} << 28U; // of float32: 3 GiB

void addEntry(onnxschema::TensorProto& tensor, const char* key, const std::string& value)
{
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
}

onnxschema::ModelProto largeModel(std::uint64_t offset)
{
    onnxschema::ModelProto model = smallModel();
    onnxschema::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
    w.clear_float_data();
    w.set_dims(0, kCount);
    w.set_data_location(onnxschema::TensorProto::EXTERNAL);
    addEntry(w, "location", "w.bin");
    addEntry(w, "offset", std::to_string(offset));
    return model;
}

/// A file without blocks on disk but for its last number.
void writeSparse(const std::filesystem::path& path, std::uint64_t offset)
{
    std::ofstream file(path, std::ios::binary);
    const float last = 42;
    file.seekp(static_cast<std::streamoff>(offset + static_cast<std::uint64_t>(kCount) * 4 - 4));
    file.write(reinterpret_cast<const char*>(&last), sizeof last);
}

} // namespace

class OnnxMappedTest : public QObject
{
    Q_OBJECT

private slots:
    void largeWeightsAreMapped()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        constexpr std::uint64_t kOffset = 20; // on no page's edge
        writeSparse(root / "w.bin", kOffset);
        QVERIFY(base::writeFile(root / "m.onnx", bytesOf(largeModel(kOffset))).ok());
        const std::int64_t before = base::MemoryAccount::tensors().live();
        RETRO_MADE(graph, formats::readOnnx(root / "m.onnx"));
        const tensor::Tensor w = (*graph)->value(*(*graph)->findValue("w")).constant;
        QCOMPARE(w.size(), kCount);
        QCOMPARE(base::MemoryAccount::tensors().live(), before);
        QCOMPARE(w.at(kCount - 1), 42.0);
        QCOMPARE(w.at(0), 0.0);
    }

    void oddOffsetsAreCopied()
    {
        const QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        constexpr int kSmall = 20'000;
        std::vector<float> numbers(kSmall, 2.5F);
        std::string text("odd");
        text.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
        QVERIFY(base::writeFile(root / "w.bin", text).ok());
        onnxschema::ModelProto model = largeModel(3);
        model.mutable_graph()->mutable_initializer(0)->set_dims(0, kSmall);
        RETRO_MADE(graph, formats::parseOnnx(bytesOf(model), "m.onnx", root));
        QCOMPARE((*graph)->value(*(*graph)->findValue("w")).constant.at(kSmall - 1), 2.5);
    }

    void rangesOutsideTheFileAreRefused()
    {
        const QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "f";
        QVERIFY(base::writeFile(file, std::string("abcdef")).ok());
        RETRO_MADE(part, base::MappedFile::open(file, 2, 3));
        QVERIFY((*part)->data()[0] == std::byte{'c'} && (*part)->data().size() == 3);
        QVERIFY(base::MappedFile::open(file, 6, 0).ok());
        QVERIFY(!base::MappedFile::open(file, 2, 5).ok());
        QVERIFY(!base::MappedFile::open(file, UINT64_MAX, 2).ok());
        QVERIFY(!base::MappedFile::open(file / "none", 0, 1).ok());
        QVERIFY(!base::MappedFile::open(folder.path().toStdString(), 0, 1).ok());
    }
};

QTEST_GUILESS_MAIN(OnnxMappedTest)
#include "onnxmappedtest.moc"
