// SPDX-License-Identifier: Apache-2.0
#include "core/trace/file/database.h"

#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/base/memorylimit.h"

#include <fmt/format.h>

#include <algorithm>
#include <sqlite3.h>

namespace retro::trace::file
{

using base::Result;

namespace fs = std::filesystem;

namespace
{

/// Longest blob or text that is read; the writer cuts tensors into pieces far below.
constexpr int kMaxLength = 1 << 30;
constexpr int kMaxSqlLength = 1 << 16;

/// Path as an SQLite URI: everything but plain characters as %xx.
std::string uriOf(const fs::path& path)
{
    std::string uri = "file:";
    for (const char c : fs::absolute(path).string()) {
        const bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/';
        uri += isPlain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return uri + "?immutable=1";
}

void distrust(sqlite3* database)
{
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMaxLength);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, kMaxSqlLength);
    sqlite3_limit(database, SQLITE_LIMIT_COLUMN, 64);
    sqlite3_limit(database, SQLITE_LIMIT_EXPR_DEPTH, 16);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_exec(database, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", nullptr, nullptr, nullptr);
}

} // namespace

void CloseDatabase::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void FinalizeStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<Database> Database::create(const fs::path& path)
{
    std::error_code ec;
    fs::remove(path, ec);
    Database created;
    created.m_path = path.string();
    sqlite3* database = nullptr;
    const int status = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    created.m_database.reset(database);
    if (status != SQLITE_OK) {
        base::Error error = created.writeError("the file cannot be written: ");
        if (error.code == base::ErrorCode::Output) {
            error.message += "; choose a folder that exists and that you may write to";
        }
        return error;
    }
    RETRO_CHECK(created.execute("PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA journal_mode = OFF; "
                                "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE"));
    return created;
}

Result<Database> Database::open(const fs::path& path)
{
    RETRO_CHECK(base::checkIsFile(path));
    RETRO_CHECK(base::noteRead(path));
    Database opened;
    opened.m_path = path.string();
    sqlite3* database = nullptr;
    const int status = sqlite3_open_v2(uriOf(path).c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
    opened.m_database.reset(database);
    if (status != SQLITE_OK) {
        return opened.isOutOfMemory()
                   ? base::outOfMemory()
                   : base::inputError("the file cannot be opened: " + opened.reason(), path.string());
    }
    distrust(database);
    return opened;
}

Result<void> Database::execute(const std::string& sql)
{
    if (sqlite3_exec(m_database.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        return writeError("writing stopped: ");
    }
    return {};
}

Result<std::int64_t> Database::pragma(const std::string& name)
{
    const StatementPointer statement = prepare("PRAGMA " + name);
    if (!statement || sqlite3_step(statement.get()) != SQLITE_ROW) {
        return isOutOfMemory() ? base::outOfMemory()
                               : base::inputError("this is not a run file (" + reason() +
                                                      "); record one: explain MODEL INPUT --output-dir DIR "
                                                      "--run FILE.retro",
                                                  m_path);
    }
    return sqlite3_column_int64(statement.get(), 0);
}

StatementPointer Database::prepare(const std::string& sql)
{
    sqlite3_stmt* statement = nullptr;
    note(sqlite3_prepare_v2(m_database.get(), sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr));
    return StatementPointer(statement);
}

bool Database::note(int status)
{
    m_hadNoMemory = m_hadNoMemory || status == SQLITE_NOMEM;
    return status == SQLITE_OK;
}

bool Database::isOutOfMemory() const
{
    return !m_database || m_hadNoMemory || sqlite3_errcode(m_database.get()) == SQLITE_NOMEM;
}

base::Error Database::writeError(const std::string& what) const
{
    return isOutOfMemory() ? base::outOfMemory() : base::outputError(what + reason());
}

std::string Database::reason() const { return sqlite3_errmsg(m_database.get()); }

std::string Table::createSql() const
{
    return fmt::format("CREATE TABLE {}(id INTEGER PRIMARY KEY, {}, checksum INTEGER NOT NULL)", name, columns);
}

std::size_t Table::columnCount() const
{
    return static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')) + 3;
}

} // namespace retro::trace::file
