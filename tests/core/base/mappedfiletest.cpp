// SPDX-License-Identifier: Apache-2.0
// Mapped files that change while they are in use, and folders that two want to write to.
#include "core/base/mappedfile.h"
#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/folderlock.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace retro::base;

namespace fs = std::filesystem;

class MappedFileTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_temporary;
    const fs::path m_folder = m_temporary.path().toStdString();

    fs::path made(const char* name, std::size_t bytes)
    {
        const fs::path path = m_folder / name;
        return writeFile(path, std::string(bytes, 'w')).ok() ? path : fs::path();
    }

private slots:
    void initTestCase() { std::signal(SIGBUS, SIG_DFL); } // not the test library's, which prints a trace

    void anAddressIsFoundInItsFile()
    {
        const fs::path path = made("placed.bin", 100'000);
        const std::byte* gone = nullptr;
        {
            const auto first = MappedFile::open(path, 100, 5000);
            const auto second = MappedFile::open(path, 50'000, 20'000);
            QVERIFY(first.ok() && second.ok());
            RETRO_MADE(place, mappedPlaceOf((*second)->data().data() + 7));
            QCOMPARE(place->file, path);
            QCOMPARE(place->fileBytes, std::uint64_t{100'000});
            QCOMPARE(place->offset, std::uint64_t{50'007});
            QCOMPARE(place->length, std::uint64_t{19'993});
            QVERIFY(place->changed > 0);
            QCOMPARE(mappedPlaceOf((*first)->data().data())->offset, std::uint64_t{100});
            QVERIFY(!mappedPlaceOf((*first)->data().data() + 5000));
            gone = (*first)->data().data();
        }
        QVERIFY(!mappedPlaceOf(gone));
        const std::byte own{1};
        QVERIFY(!mappedPlaceOf(&own));
    }

    void aFileThatGetsShorterReadsAsZerosAndIsSaid()
    {
        const fs::path path = made("short.bin", 1 << 20);
        {
            RETRO_MADE(file, MappedFile::open(path, 100, 900'000));
            QVERIFY(checkMappedFiles().ok());
            fs::resize_file(path, 1000);
            const auto data = (*file)->data();
            QCOMPARE(data[0], std::byte{'w'});
            QVERIFY(std::all_of(data.begin() + 8192, data.end(), [](std::byte b) { return b == std::byte{0}; }));
            QVERIFY(hasMissingPage());
            const auto checked = checkMappedFiles();
            QCOMPARE(checked.error().code, ErrorCode::Engine);
            QVERIFY(checked.error().text().find("short.bin: the file changed") != std::string::npos);
            QCOMPARE(checkStop({}).error().code, ErrorCode::Engine);
            const auto written = writeFile(m_folder / "result.txt", std::string_view("of wrong numbers"));
            QCOMPARE(written.error().code, ErrorCode::Engine);
            QVERIFY(!fs::exists(m_folder / "result.txt"));
        }
        QVERIFY(!hasMissingPage());
        QVERIFY(checkMappedFiles().ok());
    }

    // Less than a page is missing: nothing faults, zeros stand there all the same.
    void aLittleShorterIsSaidAsWell()
    {
        const fs::path path = made("little.bin", 5000);
        RETRO_MADE(file, MappedFile::open(path, 0, 5000));
        fs::resize_file(path, 4990);
        QCOMPARE((*file)->data()[4999], std::byte{0});
        QVERIFY(!checkMappedFiles().ok());
    }

    void aFileThatIsReplacedStaysAsItWas()
    {
        const fs::path path = made("replaced.bin", 5000);
        RETRO_MADE(file, MappedFile::open(path, 0, 5000));
        QVERIFY(writeFile(path, std::string_view("new")).ok());
        QCOMPARE((*file)->data()[4999], std::byte{'w'});
        QVERIFY(checkMappedFiles().ok());
        QVERIFY(fs::remove(path));
        QVERIFY(checkMappedFiles().ok());
    }

    void aPipeIsNotWaitedFor()
    {
        QCOMPARE(::mkfifo((m_folder / "pipe").c_str(), 0600), 0);
        QCOMPARE(MappedFile::open(m_folder / "pipe", 0, 1).error().code, ErrorCode::Input);
    }

    // A fault elsewhere still ends the process as it would without the guard.
    void otherFaultsAreNotHidden()
    {
        const fs::path path = made("guarded.bin", 5000);
        RETRO_MADE(file, MappedFile::open(path, 0, 5000));
        const fs::path own = made("own.bin", 100'000);
        const pid_t child = ::fork();
        if (child == 0) {
            const rlimit none{0, 0};
            ::setrlimit(RLIMIT_CORE, &none);
            const int descriptor = ::open(own.c_str(), O_RDONLY);
            void* base = ::mmap(nullptr, 100'000, PROT_READ, MAP_PRIVATE, descriptor, 0);
            fs::resize_file(own, 0);
            ::_exit(static_cast<const volatile char*>(base)[50'000] == 0 ? 0 : 1);
        }
        int status = 0;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(WIFSIGNALED(status));
        QCOMPARE(WTERMSIG(status), SIGBUS);
    }

    void aFolderIsHeldByOne()
    {
        const fs::path folder = m_folder / "alone";
        QVERIFY(makeFolder(folder).ok());
        {
            RETRO_MADE(first, FolderLock::alone(folder));
            const auto second = FolderLock::alone(folder);
            QCOMPARE(second.error().code, ErrorCode::Output);
            QVERIFY(second.error().text().find("(" + std::to_string(::getpid()) + ") writes results") !=
                    std::string::npos);
            QVERIFY(!FolderLock::together(folder, "q").ok());
        }
        QVERIFY(fs::is_empty(folder));
        QVERIFY(FolderLock::alone(folder).ok());
        QVERIFY(FolderLock::alone(folder).ok());
        QCOMPARE(FolderLock::alone(m_folder / "nowhere").error().code, ErrorCode::Output);
    }

    void aFolderIsSharedForOnePurpose()
    {
        const fs::path folder = m_folder / "together";
        QVERIFY(makeFolder(folder).ok());
        {
            RETRO_MADE(first, FolderLock::together(folder, "one"));
            RETRO_MADE(second, FolderLock::together(folder, "one"));
            QVERIFY(FolderLock::together(folder, "two").error().text().find("another question") != std::string::npos);
            QVERIFY(!FolderLock::alone(folder).ok());
        }
        QVERIFY(fs::is_empty(folder));
        QVERIFY(FolderLock::together(folder, "two").ok());
    }

    void turnsAreWaitedFor()
    {
        const fs::path folder = m_folder / "turns";
        QVERIFY(makeFolder(folder).ok());
        std::atomic<int> inside{0};
        std::atomic<int> most{0};
        const auto work = [&] {
            for (int i = 0; i < 20; ++i) {
                const auto lock = FolderLock::inTurn(folder);
                if (!lock) {
                    most = 100;
                    return;
                }
                most = std::max(most.load(), ++inside);
                std::this_thread::yield();
                --inside;
            }
        };
        std::thread other(work);
        work();
        other.join();
        QCOMPARE(most.load(), 1);
        QVERIFY(fs::is_empty(folder));
    }
};

QTEST_GUILESS_MAIN(MappedFileTest)
#include "mappedfiletest.moc"
