// SPDX-License-Identifier: Apache-2.0
// Damaged and hostile run files: an error that names file, table and row, or an equal run; never a crash.
#include "core/base/file.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "tests/core/trace/randomrun.h"
#include "tests/core/trace/samplerun.h"

#include <QTemporaryDir>
#include <QtTest>

#include <random>
#include <sqlite3.h>

using namespace retro::trace;
using namespace retro::trace::test;
using retro::base::ErrorCode;

namespace fs = std::filesystem;

namespace
{

struct Column
{
    std::string table;
    std::string name;
    std::int64_t rows = 0;
};

std::vector<std::vector<std::string>> query(const fs::path& path, const std::string& sql)
{
    std::vector<std::vector<std::string>> rows;
    sqlite3* database = nullptr;
    sqlite3_open(path.c_str(), &database);
    sqlite3_exec(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
    const auto collect = [](void* to, int count, char** values, char**) {
        auto& all = *static_cast<std::vector<std::vector<std::string>>*>(to);
        all.emplace_back();
        for (int i = 0; i < count; ++i) {
            all.back().emplace_back(values[i] == nullptr ? "" : values[i]);
        }
        return 0;
    };
    char* problem = nullptr;
    if (sqlite3_exec(database, sql.c_str(), collect, &rows, &problem) != SQLITE_OK) {
        qFatal("%s: %s", sql.c_str(), problem);
    }
    sqlite3_close(database);
    return rows;
}

/// Every column of every table that has rows.
std::vector<Column> columnsOf(const fs::path& path)
{
    std::vector<Column> columns;
    for (const auto& table : query(path, "SELECT name FROM sqlite_schema")) {
        const auto count = std::stoll(query(path, "SELECT count(*) FROM " + table[0])[0][0]);
        for (const auto& column : query(path, "SELECT name FROM pragma_table_info('" + table[0] + "')")) {
            if (count > 0) {
                columns.push_back({table[0], column[0], count});
            }
        }
    }
    return columns;
}

/// Opens whatever was read as a window would, and looks at everything.
std::string use(const Run& run)
{
    auto timeline = Timeline::open(std::make_shared<const Run>(run));
    if (!timeline) {
        return timeline.error().code == ErrorCode::Input ? "error" : "wrong error code";
    }
    timeline->seek(run.eventCount() / 2);
    return timeline->state().frontier().size() > run.handles.size() ? "wrong frontier" : "fine";
}

} // namespace

class RunFileDamageTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;
    std::shared_ptr<const Run> m_run = sampleRunWithInput();
    std::vector<Note> m_notes = sampleNotes(*m_run);
    std::string m_bytes;

    fs::path file(const char* name) const { return fs::path(m_folder.path().toStdString()) / name; }

    /// Reads a file that may be damaged: "error" or "equal"; anything else is a failure.
    std::string outcome(const fs::path& path) const
    {
        const auto read = readRecorded(path);
        if (read) {
            const std::string notes = read->notes == m_notes ? "" : "notes";
            const std::string all = difference(*m_run, *read->run) + notes;
            return all.empty() ? "equal" : "another run: " + all;
        }
        const std::string text = read.error().text();
        const bool isNamed = read.error().code == ErrorCode::Input && text.find(path.string()) != std::string::npos;
        return isNamed ? "error" : "an error without its place: " + text;
    }

private slots:
    void initTestCase()
    {
        QVERIFY(writeRecorded(file("whole.retro"), *m_run, m_notes).ok());
        m_bytes = retro::base::readTextFile(file("whole.retro"), 1U << 30U).value();
        QCOMPARE(outcome(file("whole.retro")), std::string("equal"));
    }

    void everyColumnIsGuarded()
    {
        for (const Column& column : columnsOf(file("whole.retro"))) {
            fs::copy_file(file("whole.retro"), file("column.retro"), fs::copy_options::overwrite_existing);
            const std::string row = std::to_string(column.rows - 1);
            const std::string change = column.name == "id"
                                           ? "id + 1000"
                                           : "CASE typeof(" + column.name + ") WHEN 'integer' THEN " + column.name +
                                                 " + 1 WHEN 'text' THEN " + column.name + " || 'x' ELSE CAST(" +
                                                 column.name + " || x'00' AS BLOB) END";
            query(file("column.retro"),
                  "UPDATE " + column.table + " SET " + column.name + " = " + change + " WHERE id = " + row);
            const auto read = readRun(file("column.retro"));
            const std::string where = column.table + "." + column.name;
            QVERIFY2(!read.ok(), where.c_str());
            const std::string text = read.error().text();
            QVERIFY2(text.find("column.retro: table " + column.table + ", row " + row) != std::string::npos,
                     (where + ": " + text).c_str());
        }
    }

    void missingAndDoubledRowsAreNoticed()
    {
        for (const auto& table : query(file("whole.retro"), "SELECT name FROM contents WHERE rows > 0")) {
            for (const std::string& sql :
                 {"DELETE FROM " + table[0] + " WHERE id = 0",
                  "DELETE FROM " + table[0] + " WHERE id = (SELECT max(id) FROM " + table[0] + ")"}) {
                fs::copy_file(file("whole.retro"), file("rows.retro"), fs::copy_options::overwrite_existing);
                query(file("rows.retro"), sql);
                QVERIFY2(outcome(file("rows.retro")) == "error", sql.c_str());
            }
        }
    }

    void flippedBytesGiveAnErrorOrAnEqualRun()
    {
        std::mt19937 random(20);
        int errors = 0;
        for (int i = 0; i < 200; ++i) {
            std::string bytes = m_bytes;
            const int flips = 1 + static_cast<int>(random() % 3);
            for (int k = 0; k < flips; ++k) {
                bytes[random() % bytes.size()] ^= static_cast<char>(1U << (random() % 8));
            }
            QVERIFY(retro::base::writeFile(file("flipped.retro"), bytes).ok());
            const std::string result = outcome(file("flipped.retro"));
            QVERIFY2(result == "error" || result == "equal", (std::to_string(i) + " " + result).c_str());
            errors += result == "error" ? 1 : 0;
        }
        QVERIFY(errors > 20);
    }

    void truncatedFilesAreErrors()
    {
        std::mt19937 random(21);
        for (int i = 0; i < 40; ++i) {
            const std::size_t size = random() % (m_bytes.size() - 1);
            QVERIFY(retro::base::writeFile(file("short.retro"), std::string_view(m_bytes).substr(0, size)).ok());
            QVERIFY2(outcome(file("short.retro")) == "error", std::to_string(size).c_str());
        }
    }

    /// Well-formed files with impossible contents: every index is checked.
    void hostileContents_data()
    {
        QTest::addColumn<int>("what");
        QTest::addColumn<QString>("table");
        QTest::newRow("node of an event") << 0 << "events";
        QTest::newRow("handle of an event") << 1 << "events";
        QTest::newRow("promise of an event") << 2 << "events";
        QTest::newRow("kind of an event") << 3 << "events";
        QTest::newRow("mode of an event") << 4 << "events";
        QTest::newRow("number of a visit") << 5 << "events";
        QTest::newRow("node of a ledger row") << 6 << "ledger";
        QTest::newRow("negative shape") << 7 << "handles";
        QTest::newRow("negative bytes") << 8 << "handles";
        QTest::newRow("impossible bytes") << 9 << "handles";
        QTest::newRow("target") << 10 << "facts";
        QTest::newRow("bookmark") << 11 << "bookmarks";
        QTest::newRow("shape of a value") << 12 << "shapes";
        QTest::newRow("bytes of forwarded values") << 13 << "facts";
    }

    void hostileContents()
    {
        QFETCH(int, what);
        QFETCH(QString, table);
        Run run = *m_run;
        const auto spoil = std::vector<std::function<void()>>{
            [&] { run.events[3].node = 5'000'000; },
            [&] { run.events[5].handle = 77; },
            [&] { run.events[8].promise = 12; },
            [&] { run.events[3].kind = static_cast<EventKind>(retro::event::kEventKindCount); },
            [&] { run.events[3].mode = static_cast<Mode>(9); },
            [&] { run.events[2].visit = 1; },
            [&] { run.ledger[0].node = 4; },
            [&] { run.handles[1].shape = {-1}; },
            [&] { run.handles[1].bytes = -4; },
            [&] { run.handles[1].bytes = std::int64_t{1} << 61U; },
            [&] { run.facts.targetValue = ValueId(99U); },
            [&] { run.bookmarks[0].position = 100'000; },
            [&] {
                run.shapes[1] = {1 << 30, 1 << 30, 1 << 30};
            },
            [&] {
                retro::trace::ForwardedValue value;
                value.value = ValueId(0U);
                value.bytes = std::int64_t{1} << 61U;
                run.facts.forwarded = {value};
            }};
        spoil[static_cast<std::size_t>(what)]();
        QVERIFY(writeRun(file("hostile.retro"), run).ok());
        const auto read = readRun(file("hostile.retro"));
        QVERIFY(!read.ok());
        const QString text = QString::fromStdString(read.error().text());
        QCOMPARE(read.error().code, ErrorCode::Input);
        QVERIFY2(text.contains("table " + table + ", row"), qPrintable(text));
    }

    void hostileNotes_data()
    {
        QTest::addColumn<int>("subject");
        QTest::addColumn<quint32>("item");
        QTest::addColumn<QString>("says");
        QTest::newRow("subject") << 4 << 0U << "does not have";
        QTest::newRow("nothing") << 0 << 1U << "does not have";
        QTest::newRow("node") << 1 << 5'000'000U << "does not have";
        QTest::newRow("value") << 2 << static_cast<quint32>(m_run->graph->valueCount()) << "does not have";
        QTest::newRow("promise") << 3 << 7U << "does not have";
        QTest::newRow("none") << 3 << 0xffffffffU << "does not have";
    }

    void hostileNotes()
    {
        QFETCH(int, subject);
        QFETCH(quint32, item);
        QFETCH(QString, says);
        const std::vector<Note> notes{{1, static_cast<NoteSubject>(subject), item, "a"}};
        QVERIFY(writeRecorded(file("notes.retro"), *m_run, notes).ok());
        RETRO_REFUSED(readRecorded(file("notes.retro")), "table notes, row 0", says);
    }

    /// Places of the run and others, and texts of any bytes: the same notes, or an error.
    void randomNotesComeBackOrAreRefused()
    {
        std::mt19937 random(24);
        int refused = 0;
        for (int i = 0; i < 60; ++i) {
            std::vector<Note> notes(random() % 4);
            for (Note& note : notes) {
                note.position = random() % (m_run->eventCount() + 1);
                note.subject = static_cast<NoteSubject>(random() % 5);
                note.id = static_cast<std::uint32_t>(random() % 4 == 0 ? random() : random() % 6);
                note.text.resize(random() % 40);
                for (char& c : note.text) {
                    c = static_cast<char>(random());
                }
            }
            QVERIFY(writeRecorded(file("anynotes.retro"), *m_run, notes).ok());
            const auto read = readRecorded(file("anynotes.retro"));
            refused += read ? 0 : 1;
            QVERIFY(!read || read->notes == notes);
            QVERIFY(read || read.error().code == ErrorCode::Input);
        }
        QVERIFY(refused > 5 && refused < 55);
    }

    void randomEventsNeverCrash()
    {
        std::mt19937 random(22);
        const auto base = RandomRun(23).make(400);
        int refused = 0;
        for (int i = 0; i < 300; ++i) {
            Run run = *base;
            auto* bytes = reinterpret_cast<unsigned char*>(run.events.data());
            for (int k = 0; k < 3; ++k) {
                const std::size_t at = random() % (run.events.size() * sizeof(Event));
                bytes[at] = static_cast<unsigned char>(random() % 2 == 0 ? random() % 30 : random());
            }
            const bool throughFile = i % 8 == 0;
            if (throughFile) {
                QVERIFY(writeRun(file("random.retro"), run).ok());
                const auto read = readRun(file("random.retro"));
                refused += read ? 0 : 1;
                if (!read) {
                    continue;
                }
            }
            const std::string result = use(run);
            QVERIFY2(result == "fine" || result == "error", result.c_str());
            refused += result == "error" ? 1 : 0;
        }
        QVERIFY(refused > 50);
    }

    void graphsThatTheBuilderWouldChangeAreRefused()
    {
        fs::copy_file(file("whole.retro"), file("graph.retro"), fs::copy_options::overwrite_existing);
        // Rows keep their checksums only together with their numbers, so swapping two nodes is noticed as damage.
        query(file("graph.retro"), "UPDATE nodes SET id = 100 WHERE id = 0; UPDATE nodes SET id = 0 WHERE id = 1; "
                                   "UPDATE nodes SET id = 1 WHERE id = 100");
        QCOMPARE(outcome(file("graph.retro")), std::string("error"));
    }
};

QTEST_GUILESS_MAIN(RunFileDamageTest)
#include "runfiledamagetest.moc"
