// SPDX-License-Identifier: Apache-2.0
#include "core/base/standardstreams.h"

#include "core/base/visibletext.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <unistd.h>

namespace retro::base
{

namespace
{

/// Why standard output failed first; 0: it did not. Written by the thread that prints.
int& outputFailure()
{
    static int failure = 0;
    return failure;
}

void noteFailure()
{
    if (outputFailure() == 0) {
        outputFailure() = errno == 0 ? EIO : errno;
    }
}

bool writeLine(std::string_view line, std::FILE* stream)
{
    const std::string text = visibleText(line) + '\n';
    errno = 0;
    return std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::ferror(stream) == 0;
}

} // namespace

void prepareStreams()
{
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) {
            static_cast<void>(::open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY)); // the lowest number
        }
    }
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    static_cast<void>(std::signal(SIGXFSZ, SIG_IGN)); // a file beyond the limit of the process is an error of writing
}

void sayLine(std::string_view line)
{
    if (outputFailure() == 0 && !writeLine(line, stdout)) {
        noteFailure();
    }
}

void sayErrorLine(std::string_view line)
{
    constexpr std::size_t kLongestLine = 8192; // a name in a file may have a megabyte
    static_cast<void>(writeLine(shortened(line, kLongestLine), stderr));
}

Result<void> finishOutput()
{
    errno = 0;
    std::cout.flush(); // through stdout: what fails first has the reason
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) {
        noteFailure();
    }
    if (outputFailure() == 0 || outputFailure() == EPIPE) { // the reader has seen enough
        return {};
    }
    return outputError(std::string("what was to be printed could not be written: ") + std::strerror(outputFailure()),
                       "standard output");
}

} // namespace retro::base
