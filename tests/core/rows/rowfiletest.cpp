// SPDX-License-Identifier: Apache-2.0
// Files of one row per explained sample: rows come back, are added once, and stay whole whatever happens to the file.
#include "core/rows/rowfile.h"
#include "core/base/file.h"
#include "core/rows/parquetfooter.h"

#include <QTemporaryDir>
#include <QTest>

#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <sys/resource.h>

using namespace retro;
using rows::Row;
using rows::RowFile;
using tensor::Tensor;

namespace
{

Row rowOf(int number, const tensor::Shape& shape = {2, 3})
{
    Row row;
    row.key = {fmt::format("picture{}", number), fmt::format("folder/picture{}.npy", number), 100 + number, 7, 0};
    row.target = number;
    row.label = "a cat";
    row.score = 0.5 * number;
    row.started = 1;
    row.reached = 0.75;
    row.scores = {1, static_cast<float>(number)};
    row.parts.push_back({"image", Tensor::full(tensor::DType::Float32, shape, number)});
    return row;
}

std::string contentOf(const std::filesystem::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write(const std::filesystem::path& file, const std::string& content)
{
    std::ofstream(file, std::ios::binary) << content;
}

/// False where libhdf5 is not there; said once.
bool isThere(const std::filesystem::path& file)
{
    return file.extension() != ".h5" || RowFile::open(file, {"probe"}).ok();
}

/// Files that this process writes get no larger, as under a quota.
class FileLimit
{
public:
    explicit FileLimit(rlim_t bytes)
    {
        static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit small{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &m_before); }
    FileLimit(const FileLimit&) = delete;
    FileLimit& operator=(const FileLimit&) = delete;

private:
    rlimit m_before{};
};

/// Files in the folder of a file.
int namesBeside(const std::filesystem::path& file)
{
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}));
}

} // namespace

class RowFileTest : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        QVERIFY(m_folder->isValid());
    }

    void rowsAreAddedOnce_data() { endings(); }
    void rowsAreAddedOnce()
    {
        QFETCH(QString, ending);
        const std::filesystem::path file = path("rows" + ending);
        if (!isThere(file)) {
            QSKIP("libhdf5 is not installed");
        }
        RETRO_MADE(first, RowFile::open(file, {"question", {{"retrograde.composite", "epsilon"}}}));
        RETRO_MADE(other, RowFile::open(file, {"question"}));
        QVERIFY(first->add({rowOf(0), rowOf(1)}).ok());
        QVERIFY(first->has(rowOf(1).key));
        QVERIFY(!std::filesystem::exists(file)); // kept until they are worth writing
        QVERIFY(first->flush().ok());
        QVERIFY(other->add({rowOf(1), rowOf(2)}).ok()); // another process that did picture1 as well
        QVERIFY(other->flush().ok());
        QCOMPARE(other->size(), std::size_t{3});
        QVERIFY(first->refresh().ok());
        QVERIFY(first->has(rowOf(2).key));
        Row changed = rowOf(2);
        ++changed.key.modified;
        QVERIFY(!first->has(changed.key)); // the picture was changed since
        RETRO_MADE(again, RowFile::open(file, {"question"}));
        QCOMPARE(again->size(), std::size_t{3});
        const auto asked = RowFile::open(file, {"questiom"});
        QVERIFY(!asked.ok());
        QVERIFY(asked.error().message.find("another question") != std::string::npos);
        for (const auto& entry : std::filesystem::directory_iterator(file.parent_path())) {
            QCOMPARE(entry.path(), file); // no lock, no journal
        }
    }

    void shapesMayDifferInParquetAlone_data() { endings(); }
    void shapesMayDifferInParquetAlone()
    {
        QFETCH(QString, ending);
        const std::filesystem::path file = path("shapes" + ending);
        if (!isThere(file)) {
            QSKIP("libhdf5 is not installed");
        }
        RETRO_MADE(rows, RowFile::open(file, {"question"}));
        QVERIFY(rows->add({rowOf(0), rowOf(1, {4}), rowOf(2, {0})}).ok());
        const auto written = rows->flush();
        QCOMPARE(written.ok(), ending == ".parquet");
        QCOMPARE(rows->has(rowOf(1).key), ending == ".parquet"); // what was not written is not there
        QVERIFY(written.ok() || written.error().message.find("one shape") != std::string::npos);
        if (!written.ok()) {
            QVERIFY(rows->add({rowOf(3)}).ok());
            QVERIFY(rows->flush().ok());
            QVERIFY(rows->add({rowOf(4, {4})}).ok());
            QVERIFY(!rows->flush().ok());
            QCOMPARE(RowFile::open(file, {"question"})->size(), std::size_t{1});
        }
    }

    /// Wherever a write fails (a quota, a disk that gets full), the file is as it was before, or is not there.
    void aWriteThatFailsChangesNothing_data() { endings(); }
    void aWriteThatFailsChangesNothing()
    {
        QFETCH(QString, ending);
        const std::filesystem::path file = path("limited" + ending);
        if (!isThere(file)) {
            QSKIP("libhdf5 is not installed");
        }
        for (const bool isNew : {true, false}) {
            const std::string before = contentOf(file);
            for (const rlim_t limit : {0, 100, 1024, 5000, 9000}) {
                RETRO_MADE(rows, RowFile::open(file, {"question"}));
                QVERIFY(rows->add({rowOf(isNew ? 0 : 1, {50, 60})}).ok());
                {
                    const FileLimit small(limit);
                    RETRO_REFUSED(rows->flush(), base::ErrorCode::Output);
                }
                QCOMPARE(std::filesystem::exists(file), !isNew);
                QVERIFY(contentOf(file) == before);
            }
            auto rows = RowFile::open(file, {"question"});
            QVERIFY(rows->add({rowOf(isNew ? 0 : 1, {50, 60})}).ok());
            QVERIFY(rows->flush().ok());
            QCOMPARE(RowFile::open(file, {"question"})->size(), std::size_t{isNew ? 1U : 2U});
            QCOMPARE(namesBeside(file), 1); // nothing of the failed calls
        }
    }

    /// A large HDF5 file is not copied; room is taken before anything changes.
    void aLargeFileStaysAsItWasWithoutRoom()
    {
        const std::filesystem::path file = path("large.h5");
        if (!isThere(file)) {
            QSKIP("libhdf5 is not installed");
        }
        auto rows = RowFile::open(file, {"question"});
        QVERIFY(rows->add({rowOf(0)}).ok());
        QVERIFY(rows->flush().ok());
        const auto bytes = std::filesystem::file_size(file);
        const std::string before = contentOf(file);
        constexpr std::uintmax_t kLarge = 300ULL << 20U;
        std::filesystem::resize_file(file, kLarge); // what is behind its end is no part of it
        QVERIFY(rows->add({rowOf(1)}).ok());
        {
            const FileLimit small(kLarge + 1000);
            QVERIFY(!rows->flush().ok());
        }
        QCOMPARE(std::filesystem::file_size(file), kLarge);
        std::filesystem::resize_file(file, bytes);
        QVERIFY(contentOf(file) == before);
        std::filesystem::resize_file(file, kLarge);
        QVERIFY(rows->add({rowOf(1)}).ok());
        QVERIFY(rows->flush().ok());
        QVERIFY(std::filesystem::file_size(file) < kLarge); // room that was not needed is given back
        QCOMPARE(RowFile::open(file, {"question"})->size(), std::size_t{2});
    }

    /// Wherever a call is killed while it adds rows, the next one finds those that were there before.
    void aKilledCallLeavesWhatWasThere()
    {
        const std::filesystem::path file = path("killed.parquet");
        auto rows = RowFile::open(file, {"question"});
        QVERIFY(rows->add({rowOf(0)}).ok());
        QVERIFY(rows->flush().ok());
        const std::string before = contentOf(file);
        QVERIFY(rows->add({rowOf(1)}).ok());
        QVERIFY(rows->flush().ok());
        const std::string after = contentOf(file);
        RETRO_MADE(footer, rows::ParquetFooter::read(path("killed.parquet")));
        QCOMPARE(footer->rows, std::int64_t{2});
        write(file, before);
        const std::uint64_t begin = rows::ParquetFooter::read(file)->begin;
        std::string journal(reinterpret_cast<const char*>(&begin), sizeof(begin));
        journal += before.substr(begin);
        for (std::size_t length = begin; length < after.size(); length += 41) {
            write(file, after.substr(0, length));
            write(path(".killed.parquet.footer"), journal);
            RETRO_MADE(opened, RowFile::open(file, {"question"}));
            QCOMPARE(opened->size(), std::size_t{1});
            QVERIFY(contentOf(file) == before);
            QVERIFY(!std::filesystem::exists(path(".killed.parquet.footer")));
        }
    }

    /// Whatever is in the file: an answer or an error, never more memory than the file is large.
    void damagedFilesAreRefused()
    {
        const std::filesystem::path file = path("damaged.parquet");
        auto rows = RowFile::open(file, {"question"});
        QVERIFY(rows->add({rowOf(0), rowOf(1)}).ok());
        QVERIFY(rows->flush().ok());
        const std::string whole = contentOf(file);
        std::size_t refused = 0;
        for (std::size_t at = 0; at < whole.size(); ++at) {
            for (const char bits : {'\x01', '\x80', '\xff'}) {
                std::string changed = whole;
                changed[at] = static_cast<char>(changed[at] ^ bits);
                write(file, changed);
                refused += RowFile::open(file, {"question"}).ok() ? 0 : 1;
            }
        }
        QVERIFY(refused > 100);
        for (std::size_t length = 0; length < whole.size(); length += 7) {
            write(file, whole.substr(0, length));
            QVERIFY(!RowFile::open(file, {"question"}).ok());
        }
        write(path("other.h5"), "no HDF5");
        QVERIFY(!RowFile::open(path("other.h5"), {"question"}).ok());
        const auto unknown = RowFile::open(path("rows.csv"), {"question"});
        QVERIFY(!unknown.ok());
        QVERIFY(unknown.error().message.find(".parquet or .h5") != std::string::npos);
    }

    void whatCannotBeWrittenIsSaid_data() { endings(); }
    void whatCannotBeWrittenIsSaid()
    {
        QFETCH(QString, ending);
        if (!isThere(path("probe" + ending))) {
            QSKIP("libhdf5 is not installed");
        }
        RETRO_REFUSED(RowFile::open(path("missing/rows" + ending), {"question"}), base::ErrorCode::Output);
    }

private:
    [[nodiscard]] std::filesystem::path path(const QString& name) const
    {
        return m_folder->filePath(name).toStdString();
    }

    static void endings()
    {
        QTest::addColumn<QString>("ending");
        for (const rows::RowFormat& format : rows::rowFormats()) {
            const std::string ending(format.ending);
            QTest::newRow(ending.c_str()) << QString::fromStdString(ending);
        }
    }

    std::unique_ptr<QTemporaryDir> m_folder;
};

QTEST_APPLESS_MAIN(RowFileTest)
#include "rowfiletest.moc"
