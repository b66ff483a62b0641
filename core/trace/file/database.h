// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace retro::trace::file
{

struct CloseDatabase
{
    void operator()(sqlite3* database) const;
};
struct FinalizeStatement
{
    void operator()(sqlite3_stmt* statement) const;
};
using StatementPointer = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

/// An open SQLite database.
class Database
{
public:
    /// A new file without journal (it gets its name when it is whole). Errors: Output.
    [[nodiscard]] static base::Result<Database> create(const std::filesystem::path& path);
    /// An existing file, read-only, with no trust in its contents: no locks, no journal, no functions in its schema.
    /// Errors: Input.
    [[nodiscard]] static base::Result<Database> open(const std::filesystem::path& path);

    /// Runs statements without results. Errors: Output.
    [[nodiscard]] base::Result<void> execute(const std::string& sql);
    /// The number that a pragma answers. Errors: Input.
    [[nodiscard]] base::Result<std::int64_t> pragma(const std::string& name);
    /// Compiles a statement; null when that fails.
    [[nodiscard]] StatementPointer prepare(const std::string& sql);

    /// The error of a write that failed: Memory where SQLite got none, else Output with its reason behind `what`.
    [[nodiscard]] base::Error writeError(const std::string& what) const;
    /// True for SQLITE_OK. That memory was missing is kept: SQLite forgets it with the next call about another table.
    bool note(int status);
    /// True where SQLite failed because it got no memory.
    [[nodiscard]] bool isOutOfMemory() const;
    /// What SQLite says about the last failure.
    [[nodiscard]] std::string reason() const;
    [[nodiscard]] const std::string& path() const { return m_path; }

private:
    std::unique_ptr<sqlite3, CloseDatabase> m_database;
    std::string m_path;
    bool m_hadNoMemory = false;
};

/// One table of the file. The first column is the row number from 0, the last a checksum over the others.
struct Table
{
    std::string_view name;
    std::string_view columns; ///< between the row number and the checksum: "name TEXT, kind INTEGER"
    /// The statement that makes the table; a file must have exactly this.
    [[nodiscard]] std::string createSql() const;
    [[nodiscard]] std::size_t columnCount() const; ///< with row number and checksum
};

/// Appends rows to a table: put the columns in order, then end the row.
class RowWriter
{
public:
    RowWriter(Database& database, const Table& table);

    /// The next column: a number.
    RowWriter& integer(std::int64_t value);
    /// The next column: a text; any bytes will do.
    RowWriter& text(std::string_view value);
    /// The next column: bytes.
    RowWriter& blob(std::span<const std::byte> value);
    /// Errors (Output): the disk is full, a blob is too large.
    [[nodiscard]] base::Result<void> endRow();
    [[nodiscard]] std::int64_t rows() const { return m_rows; }

private:
    void startRow();

    Database& m_database;
    std::string m_table;
    StatementPointer m_statement;
    std::int64_t m_rows = 0;
    std::uint64_t m_hash = 0;
    int m_column = 0;
    bool m_ok = true;
};

/// Reads a table row by row and checks every row: its number, its checksum, and the types of its columns.
class RowReader
{
public:
    /// `rows` = how many the table must have.
    RowReader(Database& database, const Table& table, std::int64_t rows);

    /// Goes to the next row; false after the last. Errors (Input) name file, table and row: damaged.
    [[nodiscard]] base::Result<bool> next();
    /// Columns in order. A column of another type gives nothing, and check() tells.
    [[nodiscard]] std::int64_t integer();
    [[nodiscard]] std::string text();
    /// Good until the next call of next().
    [[nodiscard]] std::span<const std::byte> blob();
    /// An integer column that must lie in 0 … count−1.
    [[nodiscard]] std::size_t index(std::size_t count);
    /// After all columns were read: an error when one was wrong, or when `isGood` is false (the caller found `what`).
    [[nodiscard]] base::Result<void> check(bool isGood = true, const char* what = nullptr) const;
    [[nodiscard]] base::Error damaged(const std::string& what) const;
    /// Number of the current row, from 0.
    [[nodiscard]] std::int64_t row() const { return m_row; }

private:
    [[nodiscard]] bool isRowIntact();
    [[nodiscard]] bool isType(int type);

    Database& m_database;
    std::string m_table;
    StatementPointer m_statement;
    std::int64_t m_expected;
    std::int64_t m_row = -1;
    int m_columns;
    int m_column = 0;
    bool m_ok = true;
};

} // namespace retro::trace::file
