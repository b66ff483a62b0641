// SPDX-License-Identifier: Apache-2.0
#include "core/base/inputfiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <sys/stat.h>

namespace retro::base
{

namespace fs = std::filesystem;

namespace
{

using FileKey = std::pair<std::uint64_t, std::uint64_t>;

/// A name that a file was read by, and what it is.
struct ReadName
{
    fs::path path;
    std::string what;
};

struct HeldFile
{
    /// Each once, the newest last. A file that is gone may have left its number to another: only a name that still
    /// leads to the number counts.
    std::vector<ReadName> names;
    std::size_t count = 0; ///< of those who hold it
};

struct Promised
{
    fs::path place; ///< absolute, links of its folder followed
    std::optional<FileKey> file;
    std::string option; ///< with the path, as it was given
    std::string what;
    bool isGrown = false;
    bool isWritten = false;
};

/// What a batch reads is not kept without end: of the files that a whole call holds, the last so many.
constexpr std::size_t kMostOfCall = 100'000;

struct Files
{
    std::mutex mutex;
    std::map<FileKey, HeldFile> held;
    std::vector<Promised> promised;
    bool holdsAll = false;
    std::deque<FileKey> ofCall;
};

Files& files()
{
    static auto* all = new Files; // objects that end after main hold files
    return *all;
}

thread_local ReadingScope* readingScope = nullptr;
thread_local int ownResults = 0;

FileKey keyOf(const struct stat& status)
{
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

std::optional<FileKey> keyAt(const fs::path& path)
{
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? std::optional(keyOf(status)) : std::nullopt;
}

/// The absolute name of a file that may not be there.
fs::path absolutePlace(const fs::path& path)
{
    std::error_code ec;
    const fs::path absolute = fs::absolute(path, ec);
    const fs::path followed = fs::weakly_canonical(ec ? path : absolute, ec);
    return ec ? absolute.lexically_normal() : followed;
}

void hold(Files& all, const FileKey& key, const fs::path& path, const std::string& what)
{
    HeldFile& file = all.held[key];
    ++file.count;
    std::erase_if(file.names, [&](const ReadName& name) { return name.path == path; });
    file.names.push_back({path, what});
}

void letGo(Files& all, const FileKey& key)
{
    const auto file = all.held.find(key);
    if (file != all.held.end() && --file->second.count == 0) {
        all.held.erase(file);
    }
}

/// The name of a file that nothing may be written over; null when there is none.
const ReadName* heldAt(const Files& all, const fs::path& place)
{
    const std::optional<FileKey> key = all.held.empty() ? std::nullopt : keyAt(place);
    const auto file = key ? all.held.find(*key) : all.held.end();
    if (file == all.held.end()) {
        return nullptr;
    }
    const std::vector<ReadName>& names = file->second.names;
    const auto name =
        std::ranges::find(names.rbegin(), names.rend(), key, [](const ReadName& each) { return keyAt(each.path); });
    return name == names.rend() ? nullptr : &*name;
}

Error overInput(const std::string& option, const std::string& output, const std::string& input)
{
    return usageError(fmt::format("{} would be written over {}; choose another name", output, input), option);
}

} // namespace

HeldFiles::~HeldFiles()
{
    const std::lock_guard lock(files().mutex);
    for (const FileKey& key : m_files) {
        letGo(files(), key);
    }
}

void HeldFiles::add(const fs::path& path, const struct stat& status, const std::string& what)
{
    const FileKey key = keyOf(status);
    if (std::ranges::find(m_files, key) == m_files.end()) {
        m_files.push_back(key);
        hold(files(), key, path, what);
    }
}

void HeldFiles::add(const fs::path& path, const std::string& what)
{
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
        const std::lock_guard lock(files().mutex);
        add(path, status, what);
    }
}

ReadingScope::ReadingScope(std::string what, fs::path path)
    : m_what(std::move(what)), m_path(std::move(path)), m_outer(std::exchange(readingScope, this))
{}

ReadingScope::~ReadingScope() { readingScope = m_outer; }

std::string ReadingScope::wordsFor(const fs::path& path) const
{
    return m_path.empty() || path == m_path ? m_what
                                            : fmt::format("{}, a file of {}", path.filename().string(), m_what);
}

void ReadingScope::add(const fs::path& path, const struct stat& status, const std::string& what)
{
    m_files->add(path, status, what);
    if (m_outer != nullptr) {
        m_outer->add(path, status, what);
    }
}

OwnResultsScope::OwnResultsScope() { ++ownResults; }

OwnResultsScope::~OwnResultsScope() { --ownResults; }

void holdAllThatIsRead() { files().holdsAll = true; }

Result<void> noteRead(const fs::path& path, const struct stat& status)
{
    if (ownResults > 0) {
        return {};
    }
    Files& all = files();
    const FileKey key = keyOf(status);
    const std::string what = readingScope != nullptr ? readingScope->wordsFor(path)
                                                     : fmt::format("{}, which this call reads", path.string());
    const std::lock_guard lock(all.mutex);
    const auto promise = std::ranges::find(all.promised, std::optional(key), &Promised::file);
    if (promise != all.promised.end() && !promise->isWritten) {
        return overInput(promise->option, promise->what, what);
    }
    if (readingScope != nullptr) {
        readingScope->add(path, status, what);
    }
    if (all.holdsAll) {
        hold(all, key, path, what);
        all.ofCall.push_back(key);
        if (all.ofCall.size() > kMostOfCall) {
            letGo(all, all.ofCall.front());
            all.ofCall.pop_front();
        }
    }
    return {};
}

Result<void> noteRead(const fs::path& path)
{
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) ? noteRead(path, status) : Result<void>();
}

Result<void> promiseOutput(const fs::path& path, const std::string& option, const std::string& what, bool isGrown)
{
    Promised made{absolutePlace(path), keyAt(path), fmt::format("{} {}", option, path.string()), what, isGrown};
    Files& all = files();
    const std::lock_guard lock(all.mutex);
    if (const ReadName* const file = heldAt(all, path)) {
        return overInput(made.option, what, file->what);
    }
    for (const Promised& other : all.promised) {
        if (other.place == made.place || (made.file && other.file == made.file)) {
            return usageError(fmt::format("{} writes this file as well; choose another name", other.option),
                              made.option);
        }
    }
    all.promised.push_back(std::move(made));
    return {};
}

Result<void> checkNotHeld(const fs::path& place, const fs::path& path)
{
    const std::lock_guard lock(files().mutex);
    const ReadName* const file = ownResults > 0 ? nullptr : heldAt(files(), place);
    return file == nullptr ? Result<void>() : Result<void>(overInput(path.string(), "a result", file->what));
}

Result<void> noteWrite(const fs::path& place, const fs::path& path)
{
    RETRO_CHECK(checkNotHeld(place, path));
    Files& all = files();
    const std::lock_guard lock(all.mutex);
    if (all.promised.empty()) {
        return {};
    }
    const auto promise = std::ranges::find(all.promised, absolutePlace(place), &Promised::place);
    if (promise == all.promised.end() || promise->isGrown) {
        return {};
    }
    return std::exchange(promise->isWritten, true)
               ? Result<void>(usageError(
                     fmt::format("another result of this call has this name as well ({}); choose another name",
                                 path.string()),
                     promise->option))
               : Result<void>();
}

} // namespace retro::base
