// SPDX-License-Identifier: Apache-2.0
// Rows with a number and a checksum.
#include "core/base/hash.h"
#include "core/base/memorylimit.h"
#include "core/trace/file/database.h"

#include <fmt/format.h>

#include <sqlite3.h>

namespace retro::trace::file
{

using base::Result;

namespace
{

/// The checksum of a row continues column by column: hash of (what came before, type, value).
std::uint64_t startHash(std::string_view table, std::int64_t row)
{
    base::Hasher hash;
    hash.text(table);
    hash.number(static_cast<std::uint64_t>(row));
    return hash.digest();
}

std::uint64_t addInteger(std::uint64_t before, std::int64_t value)
{
    base::Hasher hash;
    hash.number(before);
    hash.number(SQLITE_INTEGER);
    hash.number(static_cast<std::uint64_t>(value));
    return hash.digest();
}

std::uint64_t addBytes(std::uint64_t before, int type, std::span<const std::byte> value)
{
    base::Hasher hash;
    hash.number(before);
    hash.number(static_cast<std::uint64_t>(type));
    hash.number(value.size());
    hash.bytes(value);
    return hash.digest();
}

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

/// A pointer that SQLite does not take for NULL when there is nothing.
template <class T>
const T* notNull(const T* pointer)
{
    static constexpr T kEmpty{};
    return pointer == nullptr ? &kEmpty : pointer;
}

std::span<const std::byte> columnBytes(sqlite3_stmt* statement, int column)
{
    const void* data = sqlite3_column_type(statement, column) == SQLITE_TEXT
                           ? static_cast<const void*>(sqlite3_column_text(statement, column))
                           : sqlite3_column_blob(statement, column);
    const int size = sqlite3_column_bytes(statement, column);
    return data == nullptr ? std::span<const std::byte>()
                           : std::span(static_cast<const std::byte*>(data), static_cast<std::size_t>(size));
}

std::string insertSql(const Table& table)
{
    std::string marks = "?";
    for (std::size_t i = 1; i < table.columnCount(); ++i) {
        marks += ",?";
    }
    return fmt::format("INSERT INTO {} VALUES({})", table.name, marks);
}

} // namespace

RowWriter::RowWriter(Database& database, const Table& table)
    : m_database(database), m_table(table.name), m_statement(database.prepare(insertSql(table)))
{
    m_ok = m_statement != nullptr;
    startRow();
}

void RowWriter::startRow()
{
    m_hash = startHash(m_table, m_rows);
    m_column = 1;
    m_ok = m_ok && m_database.note(sqlite3_bind_int64(m_statement.get(), m_column++, m_rows));
}

RowWriter& RowWriter::integer(std::int64_t value)
{
    m_hash = addInteger(m_hash, value);
    m_ok = m_ok && m_database.note(sqlite3_bind_int64(m_statement.get(), m_column++, value));
    return *this;
}

RowWriter& RowWriter::text(std::string_view value)
{
    m_hash = addBytes(m_hash, SQLITE_TEXT, bytesOf(value));
    m_ok = m_ok && m_database.note(sqlite3_bind_text64(m_statement.get(), m_column++, notNull(value.data()),
                                                       value.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    return *this;
}

RowWriter& RowWriter::blob(std::span<const std::byte> value)
{
    m_hash = addBytes(m_hash, SQLITE_BLOB, value);
    m_ok = m_ok && m_database.note(sqlite3_bind_blob64(m_statement.get(), m_column++, notNull(value.data()),
                                                       value.size(), SQLITE_TRANSIENT));
    return *this;
}

Result<void> RowWriter::endRow()
{
    const auto checksum = static_cast<std::int64_t>(m_hash);
    m_ok = m_ok && sqlite3_bind_int64(m_statement.get(), m_column, checksum) == SQLITE_OK &&
           sqlite3_step(m_statement.get()) == SQLITE_DONE;
    if (!m_ok) {
        return m_database.writeError(fmt::format("writing stopped in table {}, row {}: ", m_table, m_rows));
    }
    sqlite3_reset(m_statement.get());
    ++m_rows;
    startRow();
    return {};
}

RowReader::RowReader(Database& database, const Table& table, std::int64_t rows)
    : m_database(database), m_table(table.name),
      m_statement(database.prepare(fmt::format("SELECT * FROM {} ORDER BY id", table.name))), m_expected(rows),
      m_columns(static_cast<int>(table.columnCount()))
{}

Result<bool> RowReader::next()
{
    ++m_row;
    m_column = 1;
    if (!m_statement) {
        return damaged("the table cannot be read: " + m_database.reason());
    }
    const int status = sqlite3_step(m_statement.get());
    if (status == SQLITE_DONE && m_row == m_expected) {
        return false;
    }
    if (status == SQLITE_DONE) {
        return damaged(fmt::format("the table should have {} rows and ends here", m_expected));
    }
    if (status != SQLITE_ROW) {
        return damaged(m_database.reason());
    }
    if (m_row == m_expected) {
        return damaged("the table should end before this row");
    }
    return isRowIntact() ? Result<bool>(true) : damaged("the row does not match its checksum");
}

bool RowReader::isRowIntact()
{
    sqlite3_stmt* statement = m_statement.get();
    if (sqlite3_column_count(statement) != m_columns || sqlite3_column_int64(statement, 0) != m_row) {
        return false;
    }
    std::uint64_t hash = startHash(m_table, m_row);
    for (int column = 1; column + 1 < m_columns; ++column) {
        const int type = sqlite3_column_type(statement, column);
        if (type == SQLITE_INTEGER) {
            hash = addInteger(hash, sqlite3_column_int64(statement, column));
        } else if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
            hash = addBytes(hash, type, columnBytes(statement, column));
        } else {
            return false;
        }
    }
    return sqlite3_column_int64(statement, m_columns - 1) == static_cast<std::int64_t>(hash);
}

bool RowReader::isType(int type)
{
    const bool isRight = m_column + 1 < m_columns && sqlite3_column_type(m_statement.get(), m_column) == type;
    m_ok = m_ok && isRight;
    return isRight;
}

std::int64_t RowReader::integer()
{
    const std::int64_t value = isType(SQLITE_INTEGER) ? sqlite3_column_int64(m_statement.get(), m_column) : 0;
    ++m_column;
    return value;
}

std::string RowReader::text()
{
    const auto bytes = isType(SQLITE_TEXT) ? columnBytes(m_statement.get(), m_column) : std::span<const std::byte>();
    ++m_column;
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> RowReader::blob()
{
    const auto bytes = isType(SQLITE_BLOB) ? columnBytes(m_statement.get(), m_column) : std::span<const std::byte>();
    ++m_column;
    return bytes;
}

std::size_t RowReader::index(std::size_t count)
{
    const std::int64_t value = integer();
    const bool isInside = value >= 0 && static_cast<std::uint64_t>(value) < count;
    m_ok = m_ok && isInside;
    return isInside ? static_cast<std::size_t>(value) : 0;
}

Result<void> RowReader::check(bool isGood, const char* what) const
{
    if (!m_ok) {
        return damaged("a column has a wrong type or value");
    }
    if (!isGood) {
        return damaged(what);
    }
    return {};
}

base::Error RowReader::damaged(const std::string& what) const
{
    if (m_database.isOutOfMemory()) {
        return base::outOfMemory();
    }
    return base::inputError("the file is damaged: " + what + "; record the run again",
                            fmt::format("{}: table {}, row {}", m_database.path(), m_table, m_row));
}

} // namespace retro::trace::file
