// SPDX-License-Identifier: Apache-2.0
// Whole files in, whole files out.
#include "core/base/file.h"
#include "core/base/filebatch.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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
        RETRO_MADE(written, writeThrough(m_folder / "a.txt", [](const fs::path& temporary) -> Result<void> {
                       std::ofstream(temporary) << "new";
                       return {};
                   }));
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

    void pipesAndDevicesAreNeitherReplacedNorRead()
    {
        const fs::path pipe = m_folder / "p.png";
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        const auto written = writeFile(pipe, std::string_view("x"));
        QCOMPARE(written.error().code, ErrorCode::Output);
        QVERIFY(written.error().text().find("a pipe or a device") != std::string::npos);
        QVERIFY(fs::is_fifo(pipe));
        QCOMPARE(writeFile("/dev/null", std::string_view("x")).error().code, ErrorCode::Output);
        QCOMPARE(readFile(pipe, 10).error().code, ErrorCode::Input); // does not wait for a writer
        QCOMPARE(readFile("/dev/zero", 10).error().code, ErrorCode::Input);
        QCOMPARE(entries(), std::size_t{1});
    }

    void linksAreFollowed()
    {
        fs::create_directory(m_folder / "real");
        QVERIFY(writeFile(m_folder / "real" / "a.txt", std::string_view("old")).ok());
        fs::create_symlink("real/a.txt", m_folder / "link.txt");
        fs::create_symlink("real/new.txt", m_folder / "dangling.txt");
        fs::create_symlink("loop.txt", m_folder / "loop.txt");
        fs::create_symlink("/dev/full", m_folder / "device.txt");
        QVERIFY(writeFile(m_folder / "link.txt", std::string_view("new")).ok());
        QCOMPARE(readTextFile(m_folder / "real" / "a.txt", 10).value(), std::string("new"));
        QVERIFY(fs::is_symlink(m_folder / "link.txt"));
        QVERIFY(writeFile(m_folder / "dangling.txt", std::string_view("made")).ok());
        QCOMPARE(readTextFile(m_folder / "real" / "new.txt", 10).value(), std::string("made"));
        QCOMPARE(writeFile(m_folder / "loop.txt", std::string_view("x")).error().code, ErrorCode::Output);
        QCOMPARE(writeFile(m_folder / "device.txt", std::string_view("x")).error().code, ErrorCode::Output);
    }

    void aShortWriteLeavesTheOldFile()
    {
        QVERIFY(writeFile(m_folder / "a.bin", std::string_view("old")).ok());
        rlimit before{};
        QCOMPARE(::getrlimit(RLIMIT_FSIZE, &before), 0);
        const auto handler = std::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{1000, before.rlim_max};
        QCOMPARE(::setrlimit(RLIMIT_FSIZE, &small), 0);
        const auto written = writeFile(m_folder / "a.bin", std::string(100'000, 'x'));
        QCOMPARE(::setrlimit(RLIMIT_FSIZE, &before), 0);
        std::signal(SIGXFSZ, handler);
        QCOMPARE(written.error().code, ErrorCode::Output);
        QVERIFY(written.error().text().find("writing stopped") != std::string::npos);
        QCOMPARE(readTextFile(m_folder / "a.bin", 10).value(), std::string("old"));
        QCOMPARE(entries(), std::size_t{1});
    }

    void aBatchPutsItsFilesInPlaceTogether()
    {
        QVERIFY(writeFile(m_folder / "0.txt", std::string_view("old")).ok());
        const std::string text = "new";
        const auto bytes = std::as_bytes(std::span(text));
        {
            FileBatch files;
            for (int i = 0; i < 6; ++i) {
                QVERIFY(files.add(m_folder / (std::to_string(i) + ".txt"), bytes).ok());
            }
            QCOMPARE(readTextFile(m_folder / "0.txt", 10).value(), std::string("old"));
            QVERIFY(files.finish().ok());
            QCOMPARE(readTextFile(m_folder / "0.txt", 10).value(), text);
            QCOMPARE(readTextFile(m_folder / "5.txt", 10).value(), text);
            QCOMPARE(entries(), std::size_t{6});
            QVERIFY(files.add(m_folder / "late.txt", bytes).ok());
            QVERIFY(!files.add(m_folder / "no" / "a.txt", bytes).ok());
        } // what was not finished is gone
        QCOMPARE(entries(), std::size_t{6});
        FileBatch many; // more than wait at once
        for (std::size_t i = 0; i < FileBatch::kMost + 1; ++i) {
            QVERIFY(many.add(m_folder / ("many" + std::to_string(i)), bytes).ok());
        }
        QVERIFY(fs::exists(m_folder / "many0"));
        QVERIFY(!fs::exists(m_folder / ("many" + std::to_string(FileBatch::kMost))));
        QVERIFY(many.finish().ok());
        QCOMPARE(entries(), std::size_t{6} + FileBatch::kMost + 1);
    }

    void longNamesHaveRoomForTheirTemporary()
    {
        const std::string name(240, 'n');
        QVERIFY(writeFile(m_folder / (name + ".npy"), std::string_view("x")).ok());
        QCOMPARE(entries(), std::size_t{1});
    }

    void whatKilledProcessesLeftIsRemoved()
    {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(0);
        }
        QCOMPARE(::waitpid(child, nullptr, 0), child); // its number is free now
        const auto touch = [&](const fs::path& path) { std::ofstream(path) << "x"; };
        const std::string dead = std::to_string(child);
        const std::string living = std::to_string(::getppid());
        fs::create_directories(m_folder / "below" / "far");
        touch(m_folder / (".r." + dead + "-0.tmp.retro"));
        touch(m_folder / (".q." + dead + "-3.tmp.retro"));
        touch(m_folder / "below" / (".a.b." + dead + "-12.tmp.npy"));
        touch(m_folder / "below" / "far" / (".c." + dead + "-1.tmp"));
        const std::vector<fs::path> kept{m_folder / (".r." + living + "-0.tmp.retro"),
                                         m_folder / ("r." + dead + "-0.tmp.retro"),
                                         m_folder / ".tmp",
                                         m_folder / ("." + dead + "-0.tmp"),
                                         m_folder / (".r." + dead + ".tmp.retro"),
                                         m_folder / ".r.x-0.tmp.retro"};
        std::ranges::for_each(kept, touch);
        removeLeftoversOf(m_folder / "r.retro");
        QVERIFY(!fs::exists(m_folder / (".r." + dead + "-0.tmp.retro")));
        QVERIFY(fs::exists(m_folder / (".q." + dead + "-3.tmp.retro")));
        removeLeftovers(m_folder, 1);
        QVERIFY(!fs::exists(m_folder / (".q." + dead + "-3.tmp.retro")));
        QVERIFY(fs::is_directory(m_folder / "below" / "far"));
        QVERIFY(!fs::exists(m_folder / "below" / (".a.b." + dead + "-12.tmp.npy")));
        QVERIFY(fs::exists(m_folder / "below" / "far" / (".c." + dead + "-1.tmp")));
        removeLeftovers(m_folder, 2);
        QVERIFY(fs::is_empty(m_folder / "below" / "far"));
        for (const fs::path& path : kept) {
            QVERIFY2(fs::exists(path), path.c_str());
        }
    }

    void whatAProcessThatNobodyWaitedForLeftIsRemoved()
    {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(0);
        }
        siginfo_t ended{};
        QCOMPARE(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0); // its number is still taken
        const fs::path left = m_folder / fmt::format(".r.{}-0.tmp.npy", child);
        std::ofstream(left) << "x";
        removeLeftovers(m_folder, 0);
        QVERIFY(!fs::exists(left));
        QCOMPARE(::waitpid(child, nullptr, 0), child);
    }

    void whatAProcessOfTheSameNumberLeftIsRemoved()
    {
        const fs::path left = m_folder / fmt::format(".r.{}-99999.tmp.npy", ::getpid());
        std::ofstream(left) << "x";
        RETRO_MADE(written, retro::base::writeThrough(m_folder / "now.npy", [&](const fs::path& temporary) {
                       std::ofstream(temporary) << "y";
                       removeLeftovers(m_folder, 0);
                       return fs::exists(temporary) && !fs::exists(left)
                                  ? Result<void>()
                                  : retro::base::engineError("the wrong file is gone");
                   }));
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
