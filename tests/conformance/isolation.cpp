// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/isolation.h"

#include "core/ops/threads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace retro::conformance
{

namespace
{

void writeAll(int descriptor, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count <= 0) {
            std::_Exit(3); // the parent is gone
        }
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

Ending endingOf(const Case& one, CaseFunction run)
{
    const base::Result<void> result = run(one);
    if (result.ok()) {
        return {Outcome::Passed, {}};
    }
    const bool isRefusal =
        result.error().code == base::ErrorCode::Input || result.error().code == base::ErrorCode::Usage;
    return {isRefusal ? Outcome::Refused : Outcome::Wrong, result.error().text()};
}

Ending guardedEndingOf(const Case& one, CaseFunction run)
{
    try {
        return endingOf(one, run);
    } catch (const std::exception& error) {
        return {Outcome::Crashed, fmt::format("exception: {}", error.what())};
    }
}

/// One line per case: the outcome's digit, the message.
[[noreturn]] void runChild(std::span<const Case> cases, CaseFunction run, int descriptor)
{
    ops::setThreads(1); // other tests run beside this one
    for (const Case& one : cases) {
        Ending ending = guardedEndingOf(one, run);
        std::replace(ending.message.begin(), ending.message.end(), '\n', ' ');
        writeAll(descriptor, fmt::format("{}{}\n", static_cast<int>(ending.outcome), ending.message));
    }
    std::_Exit(0);
}

/// A child process and the lines that it writes.
class Child
{
public:
    Child(std::span<const Case> cases, CaseFunction run)
    {
        std::array<int, 2> ends{};
        if (::pipe(ends.data()) != 0) {
            std::abort();
        }
        m_process = ::fork();
        if (m_process == 0) {
            ::close(ends[0]);
            runChild(cases, run, ends[1]);
        }
        ::close(ends[1]);
        m_descriptor = ends[0];
    }

    ~Child()
    {
        ::kill(m_process, SIGKILL);
        if (!m_isReaped) {
            ::waitpid(m_process, nullptr, 0);
        }
        ::close(m_descriptor);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// How the next case ended; Crashed and Hung are the last word of a child.
    Ending next()
    {
        m_cpuBefore = processorSeconds();
        for (;;) {
            const std::size_t end = m_text.find('\n');
            if (end != std::string::npos) {
                Ending ending{static_cast<Outcome>(m_text[0] - '0'), m_text.substr(1, end - 1)};
                m_text.erase(0, end + 1);
                return ending;
            }
            if (const std::optional<Ending> last = readMore()) {
                return *last;
            }
        }
    }

private:
    [[nodiscard]] double processorSeconds() const
    {
        clockid_t clock{};
        timespec time{};
        const bool isKnown = ::clock_getcpuclockid(m_process, &clock) == 0 && ::clock_gettime(clock, &time) == 0;
        return isKnown ? static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9 : 0;
    }

    /// Waits for something to read; how long the case took when that is too long.
    [[nodiscard]] std::optional<double> waitTooLong() const
    {
        constexpr int kLook = 5; // seconds
        pollfd waiting{m_descriptor, POLLIN, 0};
        double seen = processorSeconds();
        for (int still = 0; ::poll(&waiting, 1, kLook * 1000) == 0; still += kLook) {
            const double now = processorSeconds();
            if (now - m_cpuBefore > kLongestCase || still > kLongestCase) {
                return now - m_cpuBefore;
            }
            if (now - seen > 1) {
                seen = now;
                still = 0;
            }
        }
        return std::nullopt;
    }

    std::optional<Ending> readMore()
    {
        if (const auto took = waitTooLong()) {
            return Ending{Outcome::Hung, fmt::format("no answer after {:.0f} seconds of processor time", *took)};
        }
        std::array<char, 4096> buffer{};
        const ssize_t count = ::read(m_descriptor, buffer.data(), buffer.size());
        if (count > 0) {
            m_text.append(buffer.data(), static_cast<std::size_t>(count));
            return std::nullopt;
        }
        int status = 0;
        ::waitpid(m_process, &status, 0);
        m_isReaped = true;
        const bool isSignal = WIFSIGNALED(status);
        return Ending{Outcome::Crashed, isSignal ? fmt::format("ended by signal {}", WTERMSIG(status))
                                                 : fmt::format("ended with status {}", WEXITSTATUS(status))};
    }

    double m_cpuBefore = 0; ///< processor time of the child when the case began
    pid_t m_process = 0;
    int m_descriptor = -1;
    bool m_isReaped = false;
    std::string m_text;
};

bool endsChild(const Ending& ending)
{
    const bool wasCaught = ending.message.starts_with("exception");
    return (ending.outcome == Outcome::Crashed && !wasCaught) || ending.outcome == Outcome::Hung;
}

} // namespace

void runIsolated(std::span<const Case> cases, CaseFunction run,
                 const std::function<void(const Case&, const Ending&)>& report)
{
    while (!cases.empty()) {
        Child child(cases, run);
        for (bool goesOn = true; goesOn && !cases.empty();) {
            const Ending ending = child.next();
            report(cases.front(), ending);
            cases = cases.subspan(1);
            goesOn = !endsChild(ending);
        }
    }
}

} // namespace retro::conformance
