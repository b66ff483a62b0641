// SPDX-License-Identifier: Apache-2.0
#include "app/cli/ownprocesses.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace retro::app
{

namespace
{

using base::Result;

/// Without the options that the new processes get in another form: "--name value", "--name=value", "--flag".
std::vector<std::string> without(const std::vector<std::string>& arguments, const std::vector<std::string>& valued,
                                 const std::vector<std::string>& flags)
{
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string name = arguments[i].substr(0, arguments[i].find('='));
        if (std::ranges::find(valued, name) != valued.end()) {
            i += name == arguments[i] ? 1 : 0; // its value follows
        } else if (std::ranges::find(flags, arguments[i]) == flags.end()) {
            kept.push_back(arguments[i]);
        }
    }
    return kept;
}

/// What a new process does with its files.
class Files
{
public:
    Files()
    {
        posix_spawn_file_actions_init(&m_actions);
        posix_spawn_file_actions_addopen(&m_actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    ~Files() { posix_spawn_file_actions_destroy(&m_actions); }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;
    [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &m_actions; }

private:
    posix_spawn_file_actions_t m_actions{};
};

/// Tells a new process whose it is.
constexpr const char* kParent = "RETROGRADE_PARENT_PROCESS";

std::vector<char*> pointersTo(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (std::string& text : texts) {
        pointers.push_back(text.data());
    }
    pointers.push_back(nullptr);
    return pointers;
}

std::vector<std::string> environmentOfChild()
{
    const std::string mark = std::string(kParent) + "=";
    std::vector<std::string> all;
    for (char** at = environ; *at != nullptr; ++at) {
        if (!std::string_view(*at).starts_with(mark)) {
            all.emplace_back(*at);
        }
    }
    all.push_back(mark + std::to_string(::getpid()));
    return all;
}

Result<pid_t> start(std::vector<std::string> arguments)
{
    std::vector<std::string> environment = environmentOfChild();
    const Files files;
    pid_t process = 0;
    const int failed = posix_spawn(&process, "/proc/self/exe", files.actions(), nullptr, pointersTo(arguments).data(),
                                   pointersTo(environment).data());
    if (failed != 0) {
        return base::Error{base::ErrorCode::Engine,
                           std::string("a process for some of the inputs could not be started: ") +
                               std::strerror(failed) + "; use fewer --jobs",
                           "--jobs"};
    }
    return process;
}

EndedProcess waitFor(pid_t process)
{
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) {
            return {1, 0};
        }
    }
    return WIFSIGNALED(status) ? EndedProcess{0, WTERMSIG(status)} : EndedProcess{WEXITSTATUS(status), 0};
}

} // namespace

Result<std::vector<EndedProcess>> runOwnProcesses(const std::vector<std::string>& arguments,
                                                  const std::vector<std::string>& valued,
                                                  const std::vector<std::string>& flags,
                                                  const std::vector<std::vector<std::string>>& extra)
{
    const std::vector<std::string> common = without(arguments, valued, flags);
    std::vector<pid_t> running;
    Result<void> outcome;
    for (const std::vector<std::string>& more : extra) {
        std::vector<std::string> all = common;
        all.insert(all.end(), more.begin(), more.end());
        Result<pid_t> process = start(std::move(all));
        if (!process) {
            outcome = std::move(process).error();
            break;
        }
        running.push_back(*process);
    }
    std::vector<EndedProcess> ended;
    for (const pid_t process : running) {
        ended.push_back(waitFor(process));
    }
    return outcome ? Result<std::vector<EndedProcess>>(std::move(ended)) : std::move(outcome).error();
}

bool dieWithParent()
{
    const char* parent = std::getenv(kParent);
    if (parent == nullptr) {
        return true;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const bool isThere = std::to_string(::getppid()) == parent; // it may have ended before the line above
    ::unsetenv(kParent);
    return isThere;
}

} // namespace retro::app
