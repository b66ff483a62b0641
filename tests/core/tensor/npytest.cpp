// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/npy.h"
#include "core/base/file.h"

#include <QTemporaryDir>
#include <QtTest>

#include <array>
#include <random>

using retro::base::Result;
using retro::tensor::DType;
using retro::tensor::parseNpy;
using retro::tensor::Shape;
using retro::tensor::Tensor;
using retro::tensor::TensorBuffer;
using retro::tensor::toNpy;

namespace
{

constexpr std::array kAllTypes{DType::Float32, DType::Float64, DType::Float16, DType::Int8,
                               DType::UInt8,   DType::Int16,   DType::UInt16,  DType::Int32,
                               DType::UInt32,  DType::Int64,   DType::UInt64,  DType::Bool};

std::vector<std::byte> file(int major, const std::string& header, const std::string& elements)
{
    std::string text = "\x93NUMPY";
    text += static_cast<char>(major);
    text += '\0';
    const std::size_t width = major == 1 ? 2 : 4;
    for (std::size_t i = 0; i < width; ++i) {
        text += static_cast<char>((header.size() >> (8 * i)) & 0xff);
    }
    text += header + elements;
    const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
    return {bytes.begin(), bytes.end()};
}

std::string int32Elements(int count)
{
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += std::string({static_cast<char>(i), 0, 0, 0});
    }
    return text;
}

QString problem(const std::vector<std::byte>& data)
{
    const Result<Tensor> read = parseNpy(data, "a.npy");
    return read.ok() ? QString() : QString::fromStdString(read.error().text());
}

} // namespace

class NpyTest : public QObject
{
    Q_OBJECT

private slots:
    void everyTypeSurvives()
    {
        for (const DType dtype : kAllTypes) {
            TensorBuffer buffer(dtype, {2, 3, 4});
            for (std::size_t i = 0; i < buffer.bytes(); ++i) {
                buffer.rawData()[i] = static_cast<std::byte>(dtype == DType::Bool ? i % 2 : i);
            }
            const Tensor tensor = std::move(buffer).freeze();
            RETRO_MADE(back, parseNpy(toNpy(tensor), "memory"));
            QVERIFY(back->bitEqual(tensor));
        }
    }

    void everyRankSurvives()
    {
        for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{1, 1}, Shape{2, 0, 3}, Shape(16, 1)}) {
            const Tensor tensor = Tensor::full(DType::Float64, shape, 1.5);
            RETRO_MADE(back, parseNpy(toNpy(tensor), "memory"));
            QVERIFY(back->bitEqual(tensor));
        }
    }

    void stridesAreWrittenInLogicalOrder()
    {
        const std::vector<double> values{1, 2, 3, 4, 5, 6};
        const Tensor plain = Tensor::of<double>({2, 3}, values);
        const std::array<std::int64_t, 2> order{1, 0};
        RETRO_MADE(back, parseNpy(toNpy(plain.permuted(order)), "memory"));
        QVERIFY(back->bitEqual(Tensor::of<double>({3, 2}, std::vector<double>{1, 4, 2, 5, 3, 6})));
    }

    void bfloatIsWrittenAsFloat()
    {
        const Tensor tensor = Tensor::full(DType::BFloat16, {3}, -2.5);
        RETRO_MADE(back, parseNpy(toNpy(tensor), "memory"));
        QVERIFY(back->bitEqual(Tensor::full(DType::Float32, {3}, -2.5)));
    }

    /// numpy.save of an array of ml_dtypes.bfloat16 names its elements by their size alone.
    void bfloatOfNumpyIsRead()
    {
        const Tensor bits = Tensor::full(DType::BFloat16, {3}, -2.5);
        const Tensor plain(DType::UInt16, bits.shape(), bits.strides(), bits.offset(), bits.storage());
        std::vector<std::byte> file = toNpy(plain);
        std::string text(reinterpret_cast<const char*>(file.data()), file.size());
        const std::size_t at = text.find("'<u2'");
        QVERIFY(at != std::string::npos);
        file[at + 2] = std::byte('V');
        RETRO_MADE(back, parseNpy(file, "memory"));
        QVERIFY(back->bitEqual(bits));
    }

    void elementsStartAtAMultipleOf64()
    {
        for (std::int64_t i = 1; i < 2000; i *= 7) {
            const Tensor tensor = Tensor::zeros(DType::UInt8, {i});
            QCOMPARE((toNpy(tensor).size() - static_cast<std::size_t>(i)) % 64, std::size_t{0});
        }
    }

    void allVersionsAndOrdersAreRead()
    {
        const Tensor rows = Tensor::of<std::int32_t>({2, 3}, std::vector<std::int32_t>{0, 1, 2, 3, 4, 5});
        const Tensor columns = Tensor::of<std::int32_t>({2, 3}, std::vector<std::int32_t>{0, 2, 4, 1, 3, 5});
        for (const int major : {1, 2, 3}) {
            RETRO_MADE(c, parseNpy(file(major, "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n",
                                        int32Elements(6)),
                                   "c"));
            QVERIFY(c->bitEqual(rows));
            const auto f =
                parseNpy(file(major, R"({"shape":(2,3),"fortran_order":True,"descr":"<i4"})", int32Elements(6)), "f");
            RETRO_OK(f);
            QVERIFY(f->bitEqual(columns));
            QVERIFY(f->isContiguous());
        }
    }

    void faultsNameFileAndField_data()
    {
        QTest::addColumn<QString>("header");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* header, const char* expected) {
            QTest::newRow(name) << QString(header) << QString(expected);
        };
        row("no dictionary", "hello", "'{'");
        row("no descr", "{'fortran_order': False, 'shape': (1,)}", "field 'descr'");
        row("no order", "{'descr': '<i4', 'shape': (1,)}", "field 'fortran_order'");
        row("no shape", "{'descr': '<i4', 'fortran_order': False}", "field 'shape'");
        row("big endian", "{'descr': '>i4', 'fortran_order': False, 'shape': (1,)}", "big endian");
        row("complex", "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", "'<c8'");
        row("record", "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}", "structured");
        row("order", "{'descr': '<i4', 'fortran_order': maybe, 'shape': (1,)}", "True nor False");
        row("shape text", "{'descr': '<i4', 'fortran_order': False, 'shape': (a,)}", "field 'shape'");
        row("shape list", "{'descr': '<i4', 'fortran_order': False, 'shape': [1]}", "tuple");
        row("negative", "{'descr': '<i4', 'fortran_order': False, 'shape': (-1,)}", "0 or more");
        row("rank", "{'descr': '<i4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}",
            "16 axes");
        row("overflow", "{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,4)}", "field 'shape'");
        row("empty but huge", "{'descr': '<i4', 'fortran_order': False, 'shape': (0,4611686018427387904,9)}",
            "field 'shape'");
        row("too few", "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}", "12 bytes");
        row("too many", "{'descr': '|i1', 'fortran_order': False, 'shape': (3,)}", "3 bytes");
        row("unknown key", "{'descr': '<i4', 'colour': 'red'}", "'colour'");
        row("open text", "{'descr", "quoted");
        row("no colon", "{'descr' '<i4'}", "':'");
        row("no comma", "{'descr': '<i4' 'shape': (1,)}", "','");
        row("trailing", "{'descr': '<i4', 'fortran_order': False, 'shape': (1,)} x", "follows");
    }

    void faultsNameFileAndField()
    {
        QFETCH(QString, header);
        QFETCH(QString, expected);
        const QString text = problem(file(1, header.toStdString(), int32Elements(1)));
        QVERIFY2(text.startsWith("a.npy: "), qPrintable(text));
        QVERIFY2(text.contains(expected), qPrintable(text));
    }

    void wrongFilesAreRefused()
    {
        QVERIFY(problem({}).contains("not a NumPy array"));
        QVERIFY(problem(file(1, "", "")).contains("header"));
        QVERIFY(problem(file(9, "{}", "")).contains("version 9"));
        std::vector<std::byte> longHeader = file(2, "{}", "");
        longHeader[11] = std::byte{0x7f};
        QVERIFY(problem(longHeader).contains("at most"));
    }

    void everyTruncationIsRefused()
    {
        const std::vector<std::byte> whole = toNpy(Tensor::full(DType::Float32, {2, 2}, 1));
        for (std::size_t i = 0; i < whole.size(); ++i) {
            QVERIFY(!problem({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)}).isEmpty());
        }
    }

    void mutationsNeverCrash()
    {
        const std::vector<std::byte> whole = toNpy(Tensor::full(DType::Float32, {2, 2}, 1));
        std::mt19937 random(7); // NOLINT: a fixed seed is wanted
        int refused = 0;
        for (int i = 0; i < 2000; ++i) {
            std::vector<std::byte> mutated = whole;
            mutated[random() % mutated.size()] = static_cast<std::byte>(random());
            refused += problem(mutated).isEmpty() ? 0 : 1;
        }
        QVERIFY(refused > 100);
    }

    void filesAreWrittenAndRead()
    {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("t.npy").toStdString();
        const Tensor tensor = Tensor::full(DType::Float64, {4}, 0.1);
        QVERIFY(retro::tensor::writeNpy(path, tensor).ok());
        RETRO_MADE(back, retro::tensor::readNpy(path));
        QVERIFY(back->bitEqual(tensor));
        RETRO_REFUSED(retro::tensor::readNpy(folder.filePath("none.npy").toStdString()), "none.npy");
        RETRO_REFUSED(retro::tensor::writeNpy(path / "below" / "t.npy", tensor), retro::base::ErrorCode::Output);
    }
};

QTEST_APPLESS_MAIN(NpyTest)
#include "npytest.moc"
