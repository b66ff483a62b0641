// SPDX-License-Identifier: Apache-2.0
// Tables of fixed records in chunks: events, ledger, handles.
#include "core/trace/file/recordcheck.h"
#include "core/trace/file/records.h"
#include "core/trace/file/runtables.h"

#include <algorithm>

namespace retro::trace::file
{

using base::Result;

namespace
{

/// Writes `count` records, `putRecord(to, i)` each.
template <class Put>
Result<std::int64_t> writeTable(Database& database, const Table& table, std::size_t count, const std::stop_token& stop,
                                Put&& putRecord)
{
    RowWriter rows(database, table);
    for (std::size_t begin = 0; begin < count; begin += kChunkRecords) {
        if (stop.stop_requested()) {
            return base::Error{base::ErrorCode::Cancelled, "stopped", {}};
        }
        ByteWriter chunk;
        chunk.reserve(kChunkRecords * kEventBytes);
        for (std::size_t i = begin; i < std::min(begin + kChunkRecords, count); ++i) {
            putRecord(chunk, i);
        }
        RETRO_CHECK(rows.blob(chunk.bytes()).endRow());
    }
    return rows.rows();
}

/// Reads the records of a chunk into `records`; returns what is wrong with one, or nullptr.
template <class Get>
const char* readChunk(ByteReader from, std::size_t& records, Get&& getRecord)
{
    for (records = 0; from.left() > 0; ++records) {
        const char* wrong = getRecord(from);
        if (!from.ok()) {
            return "a record is not whole or has an impossible value";
        }
        if (wrong != nullptr) {
            return wrong;
        }
    }
    return nullptr;
}

/// Reads a table: `getRecord(from)` for each record returns nullptr or what is wrong. Every chunk but the last must be
/// full.
template <class Get>
Result<void> readTable(Database& database, const Table& table, std::int64_t expected, Get&& getRecord)
{
    RowReader rows(database, table, expected);
    while (true) {
        RETRO_TRY(const bool isThere, rows.next());
        if (!isThere) {
            return {};
        }
        const std::span<const std::byte> blob = rows.blob();
        RETRO_CHECK(rows.check());
        std::size_t records = 0;
        const char* wrong = readChunk(ByteReader(blob), records, getRecord);
        RETRO_CHECK(rows.check(wrong == nullptr, wrong));
        const bool isLast = rows.row() + 1 == expected;
        const bool isFull = records == kChunkRecords || (isLast && records > 0 && records < kChunkRecords);
        RETRO_CHECK(rows.check(isFull, "the chunk has a wrong number of records"));
    }
}

Result<void> readHandles(Database& database, const RowCounts& counts, const std::vector<Tensor>& tensors, Run& run)
{
    std::int64_t total = 0;
    return readTable(database, kHandles, counts[positionOf(kHandles)], [&](ByteReader& from) -> const char* {
        HandleRecord handle = getHandle(from);
        const bool hasTensor = handle.tensor != kNoTensor;
        if ((hasTensor && handle.tensor >= tensors.size()) || handle.info.bytes > kMostBytes - total) {
            return "the tensor does not exist, or the sizes are impossible";
        }
        total += handle.info.bytes;
        run.handles.push_back(std::move(handle.info));
        run.tensors.push_back(hasTensor ? tensors[handle.tensor] : Tensor());
        return nullptr;
    });
}

} // namespace

Result<void> writeChunks(Database& database, const Run& run, TensorPool& pool, RowCounts& counts,
                         const std::stop_token& stop)
{
    const auto putHandle = [&](ByteWriter& to, std::size_t i) {
        const std::int64_t row = i < run.tensors.size() ? pool.add(run.tensors[i]) : -1;
        put(to, HandleRecord{run.handles[i], row < 0 ? kNoTensor : static_cast<std::uint32_t>(row)});
    };
    const auto putEntry = [&](ByteWriter& to, std::size_t i) { put(to, run.ledger[i]); };
    const auto putEvent = [&](ByteWriter& to, std::size_t i) { put(to, run.events[i]); };
    RETRO_TRY(counts[positionOf(kHandles)], writeTable(database, kHandles, run.handles.size(), stop, putHandle));
    RETRO_TRY(counts[positionOf(kLedger)], writeTable(database, kLedger, run.ledger.size(), stop, putEntry));
    RETRO_TRY(counts[positionOf(kEvents)], writeTable(database, kEvents, run.events.size(), stop, putEvent));
    return {};
}

Result<void> readChunks(Database& database, std::int64_t version, const RowCounts& counts,
                        const std::vector<Tensor>& tensors, Run& run)
{
    RETRO_CHECK(readHandles(database, counts, tensors, run));
    RETRO_CHECK(readTable(database, kLedger, counts[positionOf(kLedger)], [&](ByteReader& from) {
        run.ledger.push_back(getLedgerEntry(from, version));
        return wrongEntry(run.ledger.back(), run);
    }));
    EventCheck check(run);
    return readTable(database, kEvents, counts[positionOf(kEvents)], [&](ByteReader& from) {
        run.events.push_back(getEvent(from));
        return check.next(run.events.back());
    });
}

} // namespace retro::trace::file
