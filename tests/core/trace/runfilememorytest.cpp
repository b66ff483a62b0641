// SPDX-License-Identifier: Apache-2.0
// Memory that SQLite does not get is no damaged file and no full disk, whatever it is asked next.
#include "core/trace/file/database.h"

#include <QTemporaryDir>
#include <QTest>

#include <sqlite3.h>

using namespace retro;
using trace::file::Database;
using trace::file::Table;

namespace
{

constexpr Table kFirst{"first", "number INTEGER"};
constexpr Table kSecond{"second", "number INTEGER"};

/// While it lives SQLite gets no more memory.
class NoMemory
{
public:
    NoMemory() { sqlite3_hard_heap_limit64(1); }
    ~NoMemory() { sqlite3_hard_heap_limit64(0); }
    NoMemory(const NoMemory&) = delete;
    NoMemory& operator=(const NoMemory&) = delete;
};

} // namespace

class RunFileMemoryTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    base::Result<Database> made(const char* name) const
    {
        RETRO_TRY(Database database, Database::create(m_folder.filePath(name).toStdString()));
        RETRO_CHECK(database.execute(kFirst.createSql() + ";" + kSecond.createSql()));
        return database;
    }

private slots:
    void ofAStatementForWriting()
    {
        RETRO_MADE(database, made("written"));
        std::optional<trace::file::RowWriter> first;
        {
            const NoMemory none;
            first.emplace(*database, kFirst);
        }
        trace::file::RowWriter second(*database, kSecond);
        (void)second.integer(1).endRow();
        RETRO_REFUSED(first->integer(1).endRow(), base::ErrorCode::Memory);
    }

    void ofAStatementForReading()
    {
        RETRO_MADE(database, made("read"));
        std::optional<trace::file::RowReader> first;
        {
            const NoMemory none;
            first.emplace(*database, kFirst, 0);
        }
        trace::file::RowReader second(*database, kSecond, 0);
        (void)second.next();
        RETRO_REFUSED(first->next(), base::ErrorCode::Memory);
    }
};

QTEST_GUILESS_MAIN(RunFileMemoryTest)
#include "runfilememorytest.moc"
