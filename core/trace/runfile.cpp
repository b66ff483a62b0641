// SPDX-License-Identifier: Apache-2.0
#include "core/trace/runfile.h"

#include "core/base/file.h"
#include "core/base/memorylimit.h"
#include "core/trace/file/graphtables.h"
#include "core/trace/file/inputrows.h"
#include "core/trace/file/runtables.h"

#include <fmt/format.h>

#include <sqlite3.h>

#include <algorithm>

namespace retro::trace::file
{

using base::Result;

namespace
{

Result<void> createTables(Database& database)
{
    RETRO_CHECK(database.execute(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}; BEGIN", kApplicationId, kRunFileVersion)));
    for (const Table* table : kCounted) {
        RETRO_CHECK(database.execute(table->createSql()));
    }
    return database.execute(kContents.createSql());
}

Result<void> writeContents(Database& database, const RowCounts& counts)
{
    RowWriter rows(database, kContents);
    for (std::size_t i = 0; i < kCounted.size(); ++i) {
        RETRO_CHECK(rows.text(kCounted[i]->name).integer(counts[i]).endRow());
    }
    return {};
}

/// What is written beside a run; null where there is none.
struct Beside
{
    std::span<const Note> notes{};
    const RunPlan* plan = nullptr;
    const RunRegion* region = nullptr;
    const RunText* text = nullptr;
};

Result<void> writeTo(const std::filesystem::path& path, const Run& run, const Beside& beside,
                     const std::stop_token& stop)
{
    RETRO_TRY(Database database, Database::create(path));
    RETRO_CHECK(createTables(database));
    RowCounts counts{};
    TensorPool pool;
    RETRO_CHECK(writeGraph(database, *run.graph, pool, counts));
    RETRO_CHECK(writeSmallTables(database, run, counts));
    RETRO_CHECK(writeNotes(database, beside.notes, counts));
    RETRO_CHECK(writeForwardValues(database, run, pool, counts));
    RETRO_CHECK(writeChunks(database, run, pool, counts, stop));
    RETRO_CHECK(writePlan(database, beside.plan, counts));
    RETRO_CHECK(writeRegion(database, run, beside.region, pool, counts));
    RETRO_CHECK(writeProfile(database, run, counts));
    RETRO_CHECK(writeText(database, beside.text, pool, counts));
    RETRO_CHECK(writeTensors(database, pool, counts, stop));
    RETRO_CHECK(writeContents(database, counts));
    return database.execute("COMMIT");
}

base::Error notARunFile(const std::string& path)
{
    return base::inputError("this is not a run file; record one with --run", path);
}

/// The version of the file.
Result<std::int64_t> readVersion(Database& database)
{
    RETRO_TRY(const std::int64_t application, database.pragma("application_id"));
    if (application != kApplicationId) {
        return notARunFile(database.path());
    }
    RETRO_TRY(const std::int64_t version, database.pragma("user_version"));
    if (version > kRunFileVersion) {
        return base::inputError(fmt::format("this run file has format version {}, which a newer Retrograde wrote; this "
                                            "one reads up to version {}: update it, or record the run again",
                                            version, kRunFileVersion),
                                database.path());
    }
    if (version < 1) {
        return notARunFile(database.path());
    }
    return version;
}

/// The schema must be exactly ours: no views, no triggers, no generated columns.
Result<void> checkSchema(Database& database, std::span<const Table* const> tables)
{
    std::vector<std::string> expected;
    for (const Table* table : tables) {
        expected.push_back(table->createSql());
    }
    expected.push_back(kContents.createSql());
    std::vector<std::string> found;
    const StatementPointer statement = database.prepare("SELECT sql FROM sqlite_schema ORDER BY rowid");
    while (statement && found.size() <= expected.size() && sqlite3_step(statement.get()) == SQLITE_ROW) {
        const auto* sql = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
        found.emplace_back(sql == nullptr ? "" : sql);
    }
    if (found != expected) {
        if (database.isOutOfMemory()) {
            return base::outOfMemory();
        }
        return base::inputError("the file is damaged: its tables are not those of a run; record the run again",
                                database.path());
    }
    return {};
}

Result<RowCounts> readContents(Database& database, std::size_t tables)
{
    RowCounts counts{};
    RowReader rows(database, kContents, static_cast<std::int64_t>(tables));
    for (std::size_t i = 0; i < tables; ++i) {
        RETRO_TRY(const bool isThere, rows.next());
        const std::string name = isThere ? rows.text() : std::string();
        counts[i] = isThere ? rows.integer() : 0;
        RETRO_CHECK(rows.check(isThere && name == kCounted[i]->name && counts[i] >= 0, "it is not the table's turn"));
    }
    return counts;
}

Result<RecordedRun> readFrom(const std::filesystem::path& path)
{
    RETRO_TRY(Database database, Database::open(path));
    RETRO_TRY(const std::int64_t version, readVersion(database));
    const std::size_t tables = countedOf(version);
    RETRO_CHECK(checkSchema(database, std::span(kCounted).first(tables)));
    RETRO_TRY(const RowCounts counts, readContents(database, tables));
    std::error_code ec;
    const std::uint64_t fileBytes = std::filesystem::file_size(path, ec);
    RETRO_TRY(const std::vector<Tensor> tensors, readTensors(database, counts, ec ? 0 : fileBytes));
    auto run = std::make_shared<Run>();
    RETRO_TRY(run->graph, readGraph(database, version, counts, tensors));
    RETRO_CHECK(readChunks(database, version, counts, tensors, *run));
    RETRO_CHECK(readSmallTables(database, counts, *run));
    RETRO_CHECK(readForwardValues(database, counts, tensors, *run));
    if (tables > positionOf(kDecisions)) {
        RETRO_CHECK(readProfile(database, counts, *run));
    }
    RecordedRun recorded;
    if (tables > positionOf(kPlan)) {
        RETRO_TRY(recorded.plan, readPlan(database, counts, *run));
    }
    if (tables > positionOf(kText)) {
        RETRO_TRY(recorded.text, readText(database, counts, tensors, *run));
    }
    if (tables > positionOf(kNotes)) {
        RETRO_TRY(recorded.notes, readNotes(database, counts, *run));
    }
    if (tables > positionOf(kRegion)) {
        RETRO_TRY(recorded.region, readRegion(database, counts, tensors, *run));
    }
    recorded.run = std::move(run);
    return recorded;
}

/// Arrays by node or value are whole or missing.
Result<void> checkWritable(const Run& run)
{
    const auto isWhole = [](std::size_t size, std::size_t whole) { return size == 0 || size == whole; };
    if (!run.graph || !isWhole(run.rules.size(), run.graph->nodeCount()) ||
        !isWhole(run.shapes.size(), run.graph->valueCount()) || run.values.size() > run.graph->valueCount()) {
        return base::Error{base::ErrorCode::Bug, "the run does not fit its graph", {}};
    }
    if (run.facts.input && !areReadable(*run.facts.input)) {
        return base::Error{base::ErrorCode::Bug, "what the run says of its input is beyond the limits of a file", {}};
    }
    return {};
}

Result<void> checkNotes(const Run& run, std::span<const Note> notes)
{
    const bool areGood = notes.size() <= kMostNotes && std::all_of(notes.begin(), notes.end(), [&](const Note& note) {
                             return note.position <= run.eventCount() && note.text.size() <= kMostNoteBytes;
                         });
    return areGood ? Result<void>() : base::Error{base::ErrorCode::Bug, "the notes do not fit the run", {}};
}

} // namespace

} // namespace retro::trace::file

namespace retro::trace
{

using base::Result;

Result<void> writeRun(const std::filesystem::path& path, const Run& run, std::stop_token stop)
{
    return writeRecorded(path, run, {}, std::move(stop));
}

namespace
{

Result<void> write(const std::filesystem::path& path, const Run& run, const file::Beside& beside,
                   const std::stop_token& stop)
{
    RETRO_CHECK(file::checkWritable(run));
    RETRO_CHECK(file::checkNotes(run, beside.notes));
    if (beside.text != nullptr && !file::isReadable(*beside.text)) {
        return base::Error{base::ErrorCode::Bug, "the text of the run is beyond the limits of a file", {}};
    }
    return base::writeThrough(
        path, [&](const std::filesystem::path& temporary) { return file::writeTo(temporary, run, beside, stop); });
}

} // namespace

Result<void> writeRecorded(const std::filesystem::path& path, const Run& run, std::span<const Note> notes,
                           std::stop_token stop)
{
    return write(path, run, {notes, nullptr, nullptr, nullptr}, stop);
}

Result<void> writeRecorded(const std::filesystem::path& path, const RecordedRun& recorded, std::stop_token stop)
{
    return write(path, *recorded.run, {recorded.notes, recorded.plan.get(), recorded.region.get(), recorded.text.get()},
                 stop);
}

Result<std::shared_ptr<const Run>> readRun(const std::filesystem::path& path)
{
    RETRO_TRY(RecordedRun recorded, readRecorded(path));
    return std::move(recorded.run);
}

Result<RecordedRun> readRecorded(const std::filesystem::path& path) { return file::readFrom(path); }

} // namespace retro::trace
