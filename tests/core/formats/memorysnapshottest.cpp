// SPDX-License-Identifier: Apache-2.0
// Memory snapshots of PyTorch: read as data, whatever else stands in them.
#include "core/formats/memorycourse.h"

#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <string>

using namespace retro;
using formats::AllocatorAction;

namespace
{

/// Writes the instructions of a pickle.
class Pickle
{
public:
    Pickle() : m_text("\x80\x04", 2) {}

    Pickle& raw(const std::string& bytes)
    {
        m_text += bytes;
        return *this;
    }
    Pickle& mark() { return raw("("); }
    Pickle& dict() { return raw("}").memoize(); }
    Pickle& list() { return raw("]").memoize(); }
    Pickle& memoize() { return raw(std::string("\x94", 1)); }
    Pickle& setItems() { return raw("u"); }
    Pickle& appends() { return raw("e"); }
    Pickle& text(const std::string& text)
    {
        return raw(std::string("\x8c", 1) + static_cast<char>(text.size()) + text).memoize();
    }
    Pickle& number(std::uint64_t number)
    {
        std::string bytes("\x8a\x09", 2);
        for (int i = 0; i < 8; ++i) {
            bytes += static_cast<char>((number >> (8 * i)) & 0xFFU);
        }
        return raw(bytes + '\0');
    }
    Pickle& entry(const std::string& key, std::uint64_t value) { return text(key).number(value); }
    Pickle& entry(const std::string& key, const std::string& value) { return text(key).text(value); }

    Pickle& event(const std::string& action, std::uint64_t address, std::uint64_t size, const std::string& file)
    {
        dict().mark().entry("action", action).entry("addr", address).entry("size", size).text("frames").list();
        if (!file.empty()) {
            mark().dict().mark().entry("name", "forward").entry("filename", file).entry("line", 12).setItems();
            appends();
        }
        return setItems();
    }

    [[nodiscard]] std::string end() const { return m_text + "."; }

private:
    std::string m_text;
};

/// Two blocks of which the first is let go: 100, 300, 200 bytes; a segment of 1000.
std::string goodSnapshot()
{
    Pickle pickle;
    pickle.dict().mark().text("segments").list().mark();
    pickle.dict()
        .mark()
        .entry("device", 0)
        .entry("address", 4096)
        .entry("total_size", 1000)
        .text("blocks")
        .list()
        .mark();
    pickle.dict().mark().entry("address", 4300).entry("size", 200).entry("state", "active_allocated").setItems();
    pickle.dict().mark().entry("address", 4500).entry("size", 700).entry("state", "inactive").setItems();
    pickle.appends().setItems().appends();
    pickle.text("device_traces").list().mark().list().mark();
    pickle.event("segment_alloc", 4096, 1000, "");
    pickle.event("alloc", 4096, 100, "/home/a/model.py");
    pickle.event("alloc", 4300, 200, "/home/a/other.py");
    pickle.event("free_requested", 4096, 100, "");
    pickle.event("free_completed", 4096, 100, "");
    return pickle.appends().appends().setItems().end();
}

} // namespace

class MemorySnapshotTest : public QObject
{
    Q_OBJECT

private slots:
    void aTraceIsFollowed()
    {
        RETRO_MADE(snapshot, read(goodSnapshot()));
        QCOMPARE(snapshot->traces.size(), std::size_t{1});
        QCOMPARE(snapshot->traces[0].size(), std::size_t{5});
        QVERIFY(snapshot->traces[0][1].action == AllocatorAction::Alloc);
        const auto courses = formats::memoryCourses(*snapshot);
        QCOMPARE(courses.size(), std::size_t{1});
        QCOMPARE(courses[0].peak.allocated, std::uint64_t{300});
        QCOMPARE(courses[0].peak.event, std::size_t{3});
        QCOMPARE(courses[0].reservedPeak, std::uint64_t{1000});
        QCOMPARE(courses[0].atPeak.size(), std::size_t{2});
        QCOMPARE(courses[0].atPeak[0].bytes, std::uint64_t{200});
        QCOMPARE(formats::frameText(*snapshot, courses[0].atPeak[0].stack), std::string("/home/a/other.py:12 forward"));
        QCOMPARE(courses[0].moments.back().allocated, std::uint64_t{200});
    }

    /// Whatever names or calls something is refused by the name of its instruction, and nothing happens.
    void instructionsThatActAreRefused_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("name");
        QTest::newRow("GLOBAL") << QByteArray("cos\nsystem\n") << "GLOBAL";
        QTest::newRow("STACK_GLOBAL") << QByteArray("\x8c\x02os\x8c\x06system\x93") << "STACK_GLOBAL";
        QTest::newRow("REDUCE") << QByteArray("NN)R") << "REDUCE";
        QTest::newRow("BUILD") << QByteArray("N}b") << "BUILD";
        QTest::newRow("INST") << QByteArray("(ios\nsystem\n") << "INST";
        QTest::newRow("OBJ") << QByteArray("(No") << "OBJ";
        QTest::newRow("NEWOBJ") << QByteArray("N)\x81") << "NEWOBJ";
        QTest::newRow("EXT1") << QByteArray("\x82\x01") << "EXT1";
        QTest::newRow("PERSID") << QByteArray("P1\n") << "PERSID";
        QTest::newRow("BINPERSID") << QByteArray("NQ") << "BINPERSID";
        QTest::newRow("NEXT_BUFFER") << QByteArray("\x97") << "NEXT_BUFFER";
        QTest::newRow("unknown") << QByteArray("\xff") << "0xff";
    }

    void instructionsThatActAreRefused()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, name);
        RETRO_REFUSED(read(Pickle().raw(bytes.toStdString()).end()), base::ErrorCode::Input, name.toStdString());
    }

    void everyCutIsAnError()
    {
        const std::string good = goodSnapshot();
        for (std::size_t length = 0; length + 1 < good.size(); ++length) {
            QVERIFY(!read(good.substr(0, length)).ok());
        }
    }

    void everyChangedByteIsReadOrRefused()
    {
        const std::string good = goodSnapshot();
        for (std::size_t i = 0; i < good.size(); ++i) {
            for (const char other : {'\0', '\x7f', '\xff', '(', ']', 'e', 'u', '0'}) {
                std::string bad = good;
                bad[i] = other;
                if (const auto snapshot = read(bad); snapshot.ok()) {
                    QVERIFY(formats::memoryCourses(*snapshot).size() <= 4096);
                }
            }
        }
    }

    void oddOnesAreRefused_data()
    {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("part");
        QTest::newRow("marks") << QByteArray(100, '(') << "nested deeper than 64";
        QTest::newRow("lists") << (QByteArray(70, ']') + QByteArray(69, 'a')) << "nested deeper than 64";
        QTest::newRow("itself") << QByteArray("]\x94h\x00"
                                              "a",
                                              5)
                                << "contains itself";
        QTest::newRow("a reference to nothing") << QByteArray("h\x05", 2) << "is to nothing";
        QTest::newRow("a reference far ahead") << QByteArray("Nr\xff\xff\xff\x7f", 6) << "beyond what was made";
        QTest::newRow("a long number") << QByteArray("\x8b\xff\xff\xff\xff", 5) << "too large";
        QTest::newRow("a long text") << QByteArray("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", 9) << "too long";
        QTest::newRow("no value") << QByteArray("e", 1) << "needs a mark";
        QTest::newRow("sizes") << QByteArray::fromStdString(Pickle()
                                                                .list()
                                                                .mark()
                                                                .event("alloc", 1, 1ULL << 62U, "")
                                                                .event("alloc", 2, 1ULL << 61U, "")
                                                                .appends()
                                                                .end()
                                                                .substr(2))
                               << "larger than any memory";
        QTest::newRow("another dict") << QByteArray("}", 1) << "no memory snapshot";
    }

    void oddOnesAreRefused()
    {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, part);
        RETRO_REFUSED(read(Pickle().raw(bytes.toStdString()).end()), part.toStdString());
    }

    /// Small files that name much: a gap of references, one list of blocks in two segments, a stack for each frame of
    /// a long one.
    void littleDoesNotBecomeMuch()
    {
        Pickle gaps;
        gaps.raw("N");
        for (std::uint32_t i = 1; i <= 100; ++i) {
            gaps.raw("r").raw({static_cast<char>(1000 * i & 0xFFU), static_cast<char>(1000 * i >> 8U), '\x01', '\0'});
        }
        QVERIFY(problem(gaps.end()).find("beyond what was made") != std::string::npos);

        Pickle twice;
        twice.list().mark();
        for (int i = 0; i < 2; ++i) {
            twice.dict().mark().entry("total_size", 10).text("blocks");
            (i == 0 ? twice.raw(std::string("]q\x28", 3)) : twice.raw(std::string("h\x28", 2))).setItems();
        }
        RETRO_SAYS(problem(twice.appends().end()), "the same blocks");

        Pickle deep;
        deep.dict().mark().entry("name", "f").entry("filename", "a.py").entry("line", 1).setItems();
        deep.raw(std::string("q\x28]", 3));
        for (int i = 0; i < 20'000; ++i) {
            deep.raw(std::string("h\x28"
                                 "a",
                                 3));
        }
        QVERIFY2(problem(deep.end()).find("too many frames") != std::string::npos, problem(deep.end()).c_str());
    }

    /// Each is a byte of the file and some fifty of memory.
    void emptyListsAreBounded()
    {
        const std::string found = problem(Pickle().list().mark().raw(std::string(8'000'000, ']')).appends().end());
        QVERIFY2(found.find("out of proportion") != std::string::npos, found.c_str());
    }

    /// A number that no whole one stands for.
    void realsAreWithinWholeOnes()
    {
        for (const std::string bits : {"\x7f\xf0", "\x7f\xf8", "\xff\xef", "\x43\xf0"}) {
            const auto snapshot = read(Pickle()
                                           .list()
                                           .mark()
                                           .dict()
                                           .mark()
                                           .entry("total_size", 10)
                                           .text("address")
                                           .raw("G" + bits + std::string(6, '\0'))
                                           .text("blocks")
                                           .list()
                                           .setItems()
                                           .appends()
                                           .end());
            RETRO_OK(snapshot);
            QCOMPARE(snapshot->segments.at(0).address, std::uint64_t{0});
        }
    }

private:
    std::string problem(const std::string& bytes)
    {
        const auto snapshot = read(bytes);
        return snapshot.ok() ? "read" : snapshot.error().text();
    }

    base::Result<formats::MemorySnapshot> read(const std::string& bytes)
    {
        QFile file(m_folder.filePath("snapshot.pickle"));
        if (!file.open(QIODevice::WriteOnly) || file.write(bytes.data(), static_cast<qint64>(bytes.size())) < 0) {
            return base::inputError("the test cannot write");
        }
        file.close();
        return formats::readMemorySnapshot(file.fileName().toStdString());
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(MemorySnapshotTest)
#include "memorysnapshottest.moc"
