// SPDX-License-Identifier: Apache-2.0
#include "core/base/memoryend.h"

#include "core/base/memorylimit.h"
#include "core/base/signalstack.h"
#include "core/base/temporaries.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace retro::base
{

namespace
{

std::atomic<int> codeAtEnd{0};
std::terminate_handler terminateBefore = nullptr;
/// How libraries end the process: they use what they did not get, call abort(), or stop for a debugger (GLib).
constexpr std::array kEnds{SIGSEGV, SIGABRT, SIGTRAP};
std::array<struct sigaction, kEnds.size()> actionsBefore = {};

/// Only calls that are allowed in a signal handler.
[[noreturn]] void end()
{
    constexpr std::string_view text =
        "no memory left; close other programs, or give the run less to do (a smaller input, fewer samples)\n";
    removeTemporaries();
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(codeAtEnd.load());
}

bool isNoMemoryBeingHandled()
{
    if (!std::current_exception()) {
        return false;
    }
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return true;
    } catch (...) {
        return false;
    }
}

[[noreturn]] void onTerminate()
{
    if (isNoMemoryBeingHandled()) {
        end();
    }
    if (terminateBefore != nullptr) {
        terminateBefore();
    }
    std::abort();
}

std::atomic<pid_t> timedThread{0};
thread_local bool isTimed = false; ///< this is the thread; also in a process that was forked off it

/// fontconfig reads on at the null that it got for memory, and its files are opened in between; GLib writes a line
/// before it stops: errno then says something else. Where they start (MemoryTimer) there is no other reason for either.
bool isEndAtStart(int signal, const siginfo_t* info)
{
    constexpr std::uintptr_t kFirstPage = 4096;
    const bool isNull = signal == SIGSEGV && info != nullptr && info->si_code == SEGV_MAPERR &&
                        reinterpret_cast<std::uintptr_t>(info->si_addr) < kFirstPage; // NOLINT: a place in memory
    return (isNull || signal == SIGTRAP || signal == SIGABRT) && isTimed;
}

void onSignal(int signal, siginfo_t* info, void* /*context*/)
{
    if (errno == ENOMEM || isEndAtStart(signal, info)) {
        end();
    }
    // The access is repeated, or abort() goes on: as without this handler.
    for (std::size_t i = 0; i < kEnds.size(); ++i) {
        if (kEnds[i] == signal) {
            ::sigaction(signal, &actionsBefore[i], nullptr);
        }
    }
}

/// The signal may reach any thread, but errno is of one.
void onTick(int signal)
{
    const int errnoBefore = errno;
    const pid_t thread = timedThread.load();
    if (thread != 0 && ::gettid() != thread) {
        ::syscall(SYS_tgkill, ::getpid(), thread, signal);
    } else if (thread != 0 && errno == ENOMEM) {
        end();
    }
    errno = errnoBefore;
}

void setTimer(time_t seconds)
{
    const itimerval timer{{seconds, 0}, {seconds, 0}};
    ::setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

} // namespace

void endWithoutMemory(int exitCode)
{
    codeAtEnd = exitCode;
    const std::terminate_handler before = std::set_terminate(&onTerminate);
    terminateBefore = before == &onTerminate ? terminateBefore : before;
}

void endWithoutMemoryInLibraries()
{
    if (codeAtEnd.load() == 0) {
        return;
    }
    errno = 0;
    struct sigaction action = {};
    action.sa_sigaction = &onSignal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kEnds.size(); ++i) {
        struct sigaction was = {};
        if (::sigaction(kEnds[i], &action, &was) == 0 && was.sa_sigaction != &onSignal) {
            actionsBefore[i] = was;
        }
    }
    useSignalStack(); // last: the C library aborts where it has no memory to note what a thread destroys at its end
}

MemoryTimer::MemoryTimer()
{
    if (codeAtEnd.load() == 0) {
        return;
    }
    timedThread = ::gettid();
    isTimed = true;
    struct sigaction action = {};
    action.sa_handler = &onTick;
    action.sa_flags = SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGVTALRM, &action, nullptr);
    setTimer(1);
}

MemoryTimer::~MemoryTimer()
{
    isTimed = false;
    if (timedThread.exchange(0) != 0) {
        setTimer(0);
    }
}

MemoryWatch::MemoryWatch() { errno = 0; } // NOLINT: it is about this thread's errno

Result<void> MemoryWatch::check(const std::string& where) const // NOLINT: see above
{
    bool isGood = errno != ENOMEM;
    void* const probe = std::malloc(kProbe); // NOLINT: as the libraries ask
    isGood = isGood && probe != nullptr;
    std::free(probe); // NOLINT
    return isGood ? Result<void>() : within(outOfMemory(), where);
}

} // namespace retro::base
