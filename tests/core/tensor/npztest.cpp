// SPDX-License-Identifier: Apache-2.0
// Arrays of an .npz archive, and what is refused.
#include "core/tensor/npz.h"
#include "core/base/file.h"
#include "core/tensor/zip.h"

#include <QtTest>

#include <algorithm>
#include <random>

using namespace retro;
using Bytes = std::vector<std::byte>;

namespace
{

Bytes fileOf(const char* name)
{
    return base::readFile(std::string(RETRO_SOURCE_DIR "/tests/data/npz/") + name, 1U << 20U).value();
}

QString problemOf(const Bytes& bytes)
{
    const auto tensors = tensor::parseNpz(bytes, "a.npz");
    return tensors.ok() ? QString() : QString::fromStdString(tensors.error().text());
}

// The archive with one byte changed: of the `entry`-th mark of that kind, `offset` behind it.
Bytes changed(const char* name, const char* mark, std::size_t offset, int value)
{
    Bytes bytes = fileOf(name);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = text.find(std::string_view(mark, 4));
    bytes.at(at + offset) = static_cast<std::byte>(value);
    return bytes;
}

constexpr const char* kEntry = "PK\1\2";
constexpr const char* kEnd = "PK\5\6";

} // namespace

class NpzTest : public QObject
{
    Q_OBJECT

private slots:
    void storedAndDeflated()
    {
        for (const char* name : {"stored.npz", "deflated.npz"}) {
            RETRO_MADE(tensors, tensor::parseNpz(fileOf(name), name));
            QCOMPARE(tensors->size(), std::size_t{2});
            const tensor::Tensor& x = tensors->at("block/x");
            QVERIFY(x.dtype() == tensor::DType::Float32 && x.shape() == (tensor::Shape{2, 3}));
            QCOMPARE(x.at(5), 5.0);
            QCOMPARE(tensors->at("y:0").at(0), -1.5);
        }
    }

    void refusals_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        const auto add = [](const char* name, const Bytes& bytes, const char* message) {
            QTest::newRow(name) << QByteArray(reinterpret_cast<const char*>(bytes.data()),
                                              static_cast<qsizetype>(bytes.size()))
                                << message;
        };
        add("empty", {}, "a.npz: this is no ZIP archive");
        add("text", Bytes(100, std::byte{'x'}), "a.npz: this is no ZIP archive");
        add("encrypted", changed("stored.npz", kEntry, 8, 1), "file \"block/x.npy\": it is encrypted");
        add("method", changed("stored.npz", kEntry, 10, 12), "packed by method 12; stored and deflated");
        add("checksum", changed("stored.npz", kEntry, 16, 0), "file \"block/x.npy\": its checksum is wrong");
        add("length", changed("stored.npz", kEntry, 24, 1), "packed bytes cannot be");
        add("bomb", changed("deflated.npz", kEntry, 27, 64), "packed bytes cannot be");
        add("longer", changed("deflated.npz", kEntry, 25, 1), "needs 24 bytes of elements but the file has 280");
        add("place", changed("stored.npz", kEntry, 42, 9), "there is no file at byte 9");
        add("disks", changed("stored.npz", kEnd, 4, 1), "several disks");
        add("directory", changed("stored.npz", kEnd, 16, 0), "entry 0 of the directory is not there, at byte");
        add("count", changed("stored.npz", kEnd, 10, 3), "several disks");
        add("none", changed("stored.npz", kEnd, 10, 0), "several disks");
    }
    void refusals()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const auto* data = reinterpret_cast<const std::byte*>(bytes.constData());
        const QString problem = problemOf(Bytes(data, data + bytes.size()));
        QVERIFY2(problem.contains(message), qPrintable(problem));
    }

    // An array that is not chosen is not unpacked: the damage of its data is not found.
    void arraysAreChosenByTheirHeaders()
    {
        const Bytes damaged = changed("stored.npz", kEntry, 16, 0);
        QVERIFY(!tensor::parseNpz(damaged, "a.npz").ok());
        std::vector<std::string> seen;
        const auto chosen =
            tensor::parseNpzNumbers(damaged, "a.npz", [&](const std::string& name, const tensor::NpyHeader& header) {
                seen.push_back(name + tensor::toText(header.shape));
                return std::optional(std::string(name == "block/x" ? "not this one" : ""));
            });
        RETRO_OK(chosen);
        QVERIFY(chosen->tensors.empty());
        QCOMPARE(chosen->skipped, std::vector<std::string>{"block/x.npy: not this one"});
        QVERIFY(std::ranges::find(seen, "block/x2 × 3") != seen.end());
    }

    // Texts and files that are no arrays are passed over where that is asked for; damage is not.
    void otherThanNumbers()
    {
        RETRO_MADE(contents, tensor::parseNpzNumbers(fileOf("zennit.npz"), "z.npz"));
        QCOMPARE(contents->tensors.size(), std::size_t{3});
        QCOMPARE(contents->skipped.size(), std::size_t{2});
        QVERIFY(contents->skipped[0].starts_with("notes.npy: "));
        QCOMPARE(contents->skipped[1], std::string("readme.txt: it is no array (.npy)"));
        QVERIFY(problemOf(fileOf("zennit.npz")).contains("notes.npy"));
        const Bytes damaged = changed("stored.npz", kEntry, 16, 0);
        QVERIFY(!tensor::parseNpzNumbers(damaged, "z.npz").ok());
    }

    void everyTruncationIsTold()
    {
        const Bytes whole = fileOf("deflated.npz");
        for (std::size_t i = 0; i < whole.size(); ++i) {
            QVERIFY(!problemOf({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(i)}).isEmpty());
        }
    }

    void mutationsGiveArraysOrAnError()
    {
        std::mt19937 random(1);
        int refused = 0;
        for (const char* name : {"stored.npz", "deflated.npz"}) {
            const Bytes whole = fileOf(name);
            for (int i = 0; i < 1000; ++i) {
                Bytes mutated = whole;
                for (unsigned k = 0; k <= random() % 4; ++k) {
                    mutated[random() % mutated.size()] = static_cast<std::byte>(random());
                }
                const auto tensors = tensor::parseNpz(mutated, "a.npz");
                refused += tensors.ok() ? 0 : 1;
                QVERIFY(tensors.ok() || tensors.error().code == base::ErrorCode::Input);
            }
        }
        QVERIFY(refused > 500);
    }
};

QTEST_GUILESS_MAIN(NpzTest)
#include "npztest.moc"
