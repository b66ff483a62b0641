// SPDX-License-Identifier: Apache-2.0
// Guards that stay in every build, exceptions that become errors, and the limit on memory.
#include "core/base/failure.h"
#include "core/base/largeblock.h"
#include "core/base/memoryaccount.h"
#include "core/base/memoryend.h"
#include "core/base/memorylimit.h"
#include "core/base/sanitized.h"
#include "core/base/temporaries.h"

#include <QtTest>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include <cerrno>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace retro::base;

namespace
{

constexpr std::uint64_t kMebi = 1ULL << 20U;

/// The limit of the process while it lives.
class Limit
{
public:
    explicit Limit(std::uint64_t bytes) { MemoryLimit::choose(bytes); }
    ~Limit() { MemoryLimit::choose(std::nullopt); }
};

void writeFile(const QTemporaryDir& root, const QString& path, const QByteArray& text)
{
    const QString file = root.filePath(path);
    QVERIFY(QDir().mkpath(QFileInfo(file).path()));
    QFile out(file);
    QVERIFY(out.open(QIODevice::WriteOnly));
    out.write(text);
}

template <class E>
Error errorOf(const E& thrown)
{
    return caught([&]() -> Result<int> { throw thrown; }).error();
}

/// How a child that does this ends: its exit code, or 128 and its signal.
int endOf(const std::function<void()>& work)
{
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int number : {SIGSEGV, SIGABRT, SIGTRAP}) {
            ::signal(number, SIG_DFL); // QtTest's own handlers print stacks
        }
        work();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void throwThrough(const std::function<void()>& work) noexcept { work(); }

} // namespace

class FailureTest : public QObject
{
    Q_OBJECT

private slots:
    void cleanup() { MemoryLimit::choose(std::nullopt); }

    /// What cannot return an error ends the program with its code, and takes its temporary files along; other ends are
    /// as they were.
    void memoryThatEndsInALibraryEndsTheProgram()
    {
        const QTemporaryDir folder;
        const QString file = folder.filePath(".half.tmp");
        const auto withFile = [&](const std::function<void()>& work) {
            QFile half(file);
            return half.open(QIODevice::WriteOnly) ? endOf([&] {
                const PendingTemporary pending(file.toStdString());
                work();
            })
                                                   : -1;
        };
        const auto noMemory = [] { throw std::bad_alloc(); };
        QCOMPARE(withFile([&] {
                     endWithoutMemory(4);
                     throwThrough(noMemory);
                 }),
                 4);
        QVERIFY(!QFile::exists(file));
        QCOMPARE(withFile([&] {
                     endWithoutMemory(4);
                     throwThrough([] { throw std::runtime_error("another reason"); });
                 }),
                 128 + SIGABRT);
        QVERIFY(QFile::exists(file));
        for (const int signal : {SIGSEGV, SIGABRT, SIGTRAP}) {
            for (const int number : {ENOMEM, ENOENT}) {
                const int end = endOf([&] {
                    endWithoutMemory(4);
                    endWithoutMemoryInLibraries();
                    errno = number;
                    ::raise(signal);
                    ::raise(signal); // the handler that found nothing wrong has put the old one back
                });
                QCOMPARE(end, number == ENOMEM ? 4 : 128 + signal);
            }
        }
        QCOMPARE(endOf([] {
                     endWithoutMemoryInLibraries(); // not asked for
                     errno = ENOMEM;
                     ::raise(SIGABRT);
                 }),
                 128 + SIGABRT);
    }

    void circlesWithoutMemoryEndTheProgram()
    {
        const auto goRound = [](int number) {
            endWithoutMemory(4);
            endWithoutMemoryInLibraries();
            const MemoryTimer timer;
            errno = number;
            ::raise(SIGVTALRM); // as after a second
        };
        QCOMPARE(endOf([&] { goRound(ENOMEM); }), 4);
        QCOMPARE(endOf([&] { goRound(ENOENT); }), 0);
    }

    void aDrawingWithoutMemoryIsAnError()
    {
        const MemoryWatch watch;
        QVERIFY(watch.check("map.png").ok());
        errno = ENOMEM; // as malloc leaves it
        const auto checked = watch.check("map.png");
        RETRO_REFUSED(checked, ErrorCode::Memory);
        QCOMPARE(checked.error().where, std::string("map.png"));
    }

    void aGuardThatHoldsDoesNothing() { guard(true, "one is one"); }

    void aGuardThatFailsIsAnErrorOfTheEngine()
    {
        const auto result = caughtAt([] { return std::string("node 'n' (Op)"); }, [] { guard(false, "a lies in b"); });
        RETRO_REFUSED(result, ErrorCode::Engine);
        QCOMPARE(result.error().where, std::string("node 'n' (Op)"));
        QVERIFY(result.error().message.find("a lies in b (failuretest.cpp") != std::string::npos);
    }

    void exceptionsBecomeErrors()
    {
        QVERIFY(errorOf(std::bad_alloc()).code == ErrorCode::Memory);
        QVERIFY(errorOf(std::length_error("vector")).code == ErrorCode::Memory);
        QVERIFY(errorOf(std::runtime_error("odd")).code == ErrorCode::Bug);
        QVERIFY(errorOf(std::runtime_error("odd")).message.find("odd") != std::string::npos);
        QVERIFY(errorOf(7).code == ErrorCode::Bug);
        QVERIFY(errorOf(Failure(inputError("what", "here"))).code == ErrorCode::Input);
        QCOMPARE(errorOf(Failure(inputError("what", "here"))).text(), std::string("here: what"));
    }

    void valuesAndErrorsPass()
    {
        QCOMPARE(caught([]() -> Result<int> { return 3; }).value(), 3);
        QVERIFY(caught([]() -> Result<int> { return usageError("no"); }).error().code == ErrorCode::Usage);
        QCOMPARE(caughtAt([] { return std::string(); }, [] { return 4; }).value(), 4);
        QCOMPARE(placed([] { return std::string(); }, [] { return 5; }), 5);
    }

    void theInnermostPlaceStays()
    {
        const auto inner = [] { placed([] { return std::string("inner"); }, [] { throw std::bad_alloc(); }); };
        const auto outer = caughtAt([] { return std::string("outer"); }, inner);
        QCOMPARE(outer.error().where, std::string("inner"));
    }

    void aResultThatIsAnErrorLeavesAsOne()
    {
        QCOMPARE(orFail(Result<int>(6)), 6);
        const auto result = caught([]() -> Result<int> { return orFail(Result<int>(engineError("stop", "at"))); });
        QCOMPARE(result.error().text(), std::string("at: stop"));
    }

    void theLimitBoundsWhatIsClaimed()
    {
        const auto live = static_cast<std::uint64_t>(MemoryAccount::tensors().live());
        const Limit limit(live + 100);
        QVERIFY(MemoryLimit::isChosen());
        QVERIFY(!whyNoMemory(100));
        const auto why = whyNoMemory(101);
        QVERIFY(why && why->code == ErrorCode::Memory);
        QVERIFY(why->message.find("101 B are needed") != std::string::npos);
        QVERIFY(why->message.find("--memory") != std::string::npos);
        QVERIFY_EXCEPTION_THROWN(claimMemory(101), Failure);
    }

    void anAllowanceBoundsMoreTightly()
    {
        const Limit limit(kMebi);
        const MemoryAllowance outer(1000);
        QVERIFY(!whyNoMemory(1000));
        QVERIFY(whyNoMemory(1001));
        {
            const MemoryAllowance inner(5000); // no more than the outer one leaves
            QVERIFY(whyNoMemory(1001));
        }
        {
            const MemoryAllowance lifted(std::nullopt);
            QVERIFY(!whyNoMemory(1001));
            QVERIFY(whyNoMemory(kMebi + 1));
        }
        QVERIFY(whyNoMemory(1001));
    }

    void beforeARunLessIsMadeUnlessSomebodyChose()
    {
        QVERIFY(!MemoryLimit::isChosen());
        QVERIFY(MemoryLimit::beforeRun() <= MemoryLimit::kUsualBeforeRun);
        const Limit limit(1ULL << 40U);
        QCOMPARE(quint64{MemoryLimit::beforeRun()}, quint64{1} << 40U);
    }

    void aLargeListIsBoundedToo()
    {
        const Limit limit(128 * kMebi);
        QVERIFY(isLargeBlockAllowed(127 * kMebi));
        QVERIFY(!isLargeBlockAllowed(129 * kMebi));
#if !RETRO_SANITIZED
        const auto result = caughtAt([] { return std::string("here"); },
                                     [] {
                                         const std::vector<double> values(std::size_t{1} << 25U); // 256 MiB
                                         return values.size();
                                     });
        RETRO_REFUSED(result, ErrorCode::Memory);
        QVERIFY(result.error().message.find("268.4 MB are needed") != std::string::npos);
#endif
    }

    void readsTheMachine()
    {
        const QTemporaryDir root;
        writeFile(root, "proc/meminfo", "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    9000000 kB\n");
        const MachineMemory memory = machineMemory(root.path().toStdString());
        QCOMPARE(quint64{memory.total}, quint64{16000000} * 1024);
        QCOMPARE(quint64{memory.available}, quint64{9000000} * 1024);
    }

    void readsControlGroupsOfVersion2()
    {
        const QTemporaryDir root;
        writeFile(root, "proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\n");
        writeFile(root, "proc/self/cgroup", "0::/outer/inner\n");
        writeFile(root, "sys/fs/cgroup/outer/memory.max", "4000000000\n");
        writeFile(root, "sys/fs/cgroup/outer/memory.current", "3000000000\n");
        writeFile(root, "sys/fs/cgroup/outer/memory.stat", "anon 2\ninactive_file 500000000\n");
        writeFile(root, "sys/fs/cgroup/outer/inner/memory.max", "max\n");
        const MachineMemory memory = machineMemory(root.path().toStdString());
        QCOMPARE(quint64{memory.total}, quint64{4000000000});
        QCOMPARE(quint64{memory.available}, quint64{1500000000});
    }

    void readsControlGroupsOfVersion1()
    {
        const QTemporaryDir root;
        writeFile(root, "proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 9000000 kB\n");
        writeFile(root, "proc/self/cgroup", "5:cpu:/x\n4:memory:/not/shown/here\n");
        writeFile(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000000\n");
        writeFile(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "500000000\n");
        const MachineMemory memory = machineMemory(root.path().toStdString());
        QCOMPARE(quint64{memory.total}, quint64{2000000000});
        QCOMPARE(quint64{memory.available}, quint64{1500000000});
    }

    void withoutAnythingToReadNothingBounds()
    {
        const QTemporaryDir root;
        QVERIFY(machineMemory(root.path().toStdString()).total > (1ULL << 50U));
        QVERIFY(machineMemory().total > 0);
    }
};

QTEST_GUILESS_MAIN(FailureTest)
#include "failuretest.moc"
