// SPDX-License-Identifier: Apache-2.0
#include "core/base/folderlock.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace retro::base
{

namespace fs = std::filesystem;

namespace
{

constexpr int kTries = 50; // while another process is about to say its purpose, or to remove the file
constexpr std::chrono::milliseconds kBetweenTries{10};

enum class Held { Yes, Busy, Again, NoLocks };

int flockRetrying(int descriptor, int operation)
{
    int failed = 0;
    do {
        failed = ::flock(descriptor, operation) == 0 ? 0 : errno;
    } while (failed == EINTR);
    return failed;
}

/// True when the open file is still the one of that name: its holder removes it at the end.
bool isStillThere(int descriptor, const fs::path& file)
{
    struct stat open = {};
    struct stat named = {};
    return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
           open.st_dev == named.st_dev;
}

Held tryHold(int descriptor, const fs::path& file, int operation)
{
    const int failed = flockRetrying(descriptor, operation);
    if (failed == EWOULDBLOCK) {
        return Held::Busy;
    }
    if (failed != 0) {
        return Held::NoLocks;
    }
    return isStillThere(descriptor, file) ? Held::Yes : Held::Again;
}

std::string contentOf(int descriptor)
{
    std::array<char, 256> bytes{};
    const ssize_t count = ::pread(descriptor, bytes.data(), bytes.size(), 0);
    return count > 0 ? std::string(bytes.data(), static_cast<std::size_t>(count)) : std::string();
}

/// For people, and for `together`; that it cannot be written is no harm.
void say(int descriptor, const std::string& purpose)
{
    const std::string text = fmt::format("{}\n{}\n", ::getpid(), purpose);
    static_cast<void>(::ftruncate(descriptor, 0) == 0 &&
                      ::pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
}

std::string purposeIn(const std::string& content)
{
    const std::size_t begin = content.find('\n');
    if (begin == std::string::npos) {
        return {};
    }
    return content.substr(begin + 1, content.find('\n', begin + 1) - begin - 1);
}

Error busy(const fs::path& file, const std::string& content, const std::string& what)
{
    const std::string number = content.substr(0, content.find('\n'));
    const bool isNumber = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
    return outputError(fmt::format("another process{} writes {} into this folder now; wait until it has ended, or name "
                                   "another folder",
                                   isNumber ? " (" + number + ")" : "", what),
                       file.parent_path().string());
}

} // namespace

Result<FolderLock> FolderLock::hold(const fs::path& file, int operation)
{
    std::string holder;
    for (int i = 0; i < kTries; ++i) {
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
        if (descriptor < 0) {
            return outputError(fmt::format("the folder cannot be written: {}", std::strerror(errno)),
                               file.parent_path().string());
        }
        FolderLock lock(file, descriptor);
        switch (tryHold(descriptor, file, operation)) {
        case Held::Yes:
            return lock;
        case Held::NoLocks:
            lock.release();
            return FolderLock({}, -1);
        case Held::Busy:
            holder = contentOf(descriptor);
            ::close(std::exchange(lock.m_descriptor, -1));
            if ((operation & LOCK_EX) != 0) {
                return busy(file, holder, "results");
            }
            std::this_thread::sleep_for(kBetweenTries);
            break;
        case Held::Again:
            ::close(std::exchange(lock.m_descriptor, -1));
            break;
        }
    }
    return busy(file, holder, "results");
}

Result<FolderLock> FolderLock::alone(const fs::path& folder)
{
    RETRO_TRY(FolderLock lock, hold(folder / kLockFile, LOCK_EX | LOCK_NB));
    if (lock.m_descriptor >= 0) {
        say(lock.m_descriptor, "alone");
    }
    return lock;
}

Result<FolderLock> FolderLock::inTurnAt(const fs::path& file)
{
    std::error_code unknown;
    const fs::path whole = fs::absolute(file, unknown);
    return hold(whole.parent_path() / fmt::format(".{}.lock", whole.filename().string()), LOCK_EX);
}

Result<FolderLock> FolderLock::inTurn(const fs::path& folder)
{
    RETRO_TRY(FolderLock lock, hold(folder / kLockFile, LOCK_EX));
    if (lock.m_descriptor >= 0) {
        say(lock.m_descriptor, "alone");
    }
    return lock;
}

Result<FolderLock> FolderLock::together(const fs::path& folder, const std::string& purpose)
{
    if (Result<FolderLock> first = hold(folder / kLockFile, LOCK_EX | LOCK_NB); first) { // nobody is here: say what for
        if (first->m_descriptor < 0) {
            return first;
        }
        say(first->m_descriptor, purpose);
        if (flockRetrying(first->m_descriptor, LOCK_SH | LOCK_NB) == 0 &&
            purposeIn(contentOf(first->m_descriptor)) == purpose) {
            return first;
        }
        ::close(std::exchange(first->m_descriptor, -1)); // another was quicker in between
    }
    RETRO_TRY(FolderLock lock, hold(folder / kLockFile, LOCK_SH | LOCK_NB));
    if (lock.m_descriptor >= 0) {
        const std::string content = contentOf(lock.m_descriptor);
        if (purposeIn(content) != purpose) {
            return busy(lock.m_file, content, "results of another question");
        }
    }
    return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : m_file(std::move(other.m_file)), m_descriptor(std::exchange(other.m_descriptor, -1))
{}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept
{
    if (this != &other) {
        release();
        m_file = std::move(other.m_file);
        m_descriptor = std::exchange(other.m_descriptor, -1);
    }
    return *this;
}

FolderLock::~FolderLock() { release(); }

void FolderLock::release()
{
    if (m_descriptor < 0) {
        return;
    }
    // The last holder removes the file; one that is held by others as well cannot be held alone.
    if (flockRetrying(m_descriptor, LOCK_EX | LOCK_NB) == 0 && isStillThere(m_descriptor, m_file)) {
        ::unlink(m_file.c_str());
    }
    ::close(std::exchange(m_descriptor, -1));
}

} // namespace retro::base
