// SPDX-License-Identifier: Apache-2.0
// Whole files in, whole files out.
#include "core/base/file.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace retro::base;

namespace fs = std::filesystem;

class FileTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_temporary;
    const fs::path m_folder = m_temporary.path().toStdString();

    std::size_t entries() const
    {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(m_folder), fs::directory_iterator()));
    }

private slots:
    void init()
    {
        for (const auto& entry : fs::directory_iterator(m_folder)) {
            fs::remove_all(entry.path());
        }
    }

    void whatIsWrittenIsRead()
    {
        const std::string text("line\0two\n", 9);
        QVERIFY(writeFile(m_folder / "a.txt", text).ok());
        QCOMPARE(readTextFile(m_folder / "a.txt", 100).value(), text);
        QCOMPARE(readFile(m_folder / "a.txt", 9)->size(), std::size_t{9});
        QVERIFY(writeFile(m_folder / "a.txt", std::string_view()).ok());
        QVERIFY(readFile(m_folder / "a.txt", 0)->empty());
        QCOMPARE(entries(), std::size_t{1});
    }

    void readingSaysWhatIsWrong()
    {
        QVERIFY(writeFile(m_folder / "long.txt", std::string_view("0123456789")).ok());
        const auto missing = readFile(m_folder / "missing.txt", 10);
        QCOMPARE(missing.error().code, ErrorCode::Input);
        QVERIFY(missing.error().text().find("missing.txt: there is no such file") != std::string::npos);
        QVERIFY(readFile(m_folder, 10).error().text().find("this is not a file") != std::string::npos);
        const auto large = readTextFile(m_folder / "long.txt", 9);
        QVERIFY(large.error().text().find("has 10 bytes; at most 9") != std::string::npos);
    }

    void writingIntoNowhereLeavesNothing()
    {
        const auto written = writeFile(m_folder / "no" / "a.txt", std::string_view("x"));
        QCOMPARE(written.error().code, ErrorCode::Output);
        QVERIFY(written.error().text().find("a.txt") != std::string::npos);
        QCOMPARE(entries(), std::size_t{0});
    }

    void aFailingWriterLeavesTheOldFile()
    {
        QVERIFY(writeFile(m_folder / "a.txt", std::string_view("old")).ok());
        fs::path used;
        const auto written = writeThrough(m_folder / "a.txt", [&](const fs::path& temporary) -> Result<void> {
            used = temporary;
            std::ofstream(temporary) << "half";
            return outputError("the disk is full");
        });
        QCOMPARE(written.error().text(), (m_folder / "a.txt").string() + ": the disk is full");
        QCOMPARE(used.extension(), fs::path(".txt"));
        QVERIFY(used.parent_path() == m_folder);
        QCOMPARE(readTextFile(m_folder / "a.txt", 100).value(), std::string("old"));
        QCOMPARE(entries(), std::size_t{1});
    }

    void aWriterReplacesTheOldFile()
    {
        QVERIFY(writeFile(m_folder / "a.txt", std::string_view("old")).ok());
        const auto written = writeThrough(m_folder / "a.txt", [](const fs::path& temporary) -> Result<void> {
            std::ofstream(temporary) << "new";
            return {};
        });
        QVERIFY(written.ok());
        QCOMPARE(readTextFile(m_folder / "a.txt", 100).value(), std::string("new"));
        QCOMPARE(entries(), std::size_t{1});
    }

    void aFolderInTheWayIsAnOutputError()
    {
        fs::create_directories(m_folder / "taken" / "inside");
        const auto written = writeFile(m_folder / "taken", std::string_view("x"));
        QCOMPARE(written.error().code, ErrorCode::Output);
        QCOMPARE(entries(), std::size_t{1});
    }

    void foldersAreMadeWithTheirParents()
    {
        QVERIFY(makeFolder(m_folder / "a" / "b").ok());
        QVERIFY(makeFolder(m_folder / "a" / "b").ok());
        QVERIFY(fs::is_directory(m_folder / "a" / "b"));
        QVERIFY(writeFile(m_folder / "file", std::string_view("x")).ok());
        QCOMPARE(makeFolder(m_folder / "file").error().code, ErrorCode::Output);
        QCOMPARE(makeFolder(m_folder / "file" / "below").error().code, ErrorCode::Output);
    }
};

QTEST_GUILESS_MAIN(FileTest)
#include "filetest.moc"
