// SPDX-License-Identifier: Apache-2.0
#include "core/base/file.h"

#include "core/base/builtinfiles.h"
#include "core/base/filebatch.h"
#include "core/base/inputfiles.h"
#include "core/base/log.h"
#include "core/base/mappedfile.h"
#include "core/base/outputplace.h"
#include "core/base/temporaries.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace retro::base
{

namespace fs = std::filesystem;

namespace
{

constexpr std::size_t kMostStem = 60; // of a temporary name, which takes more room than the final one
constexpr int kMostLinks = 40;        // to links, as the system has it
constexpr std::string_view kTemporaryMark = ".tmp";

std::string reason() { return std::strerror(errno); }

/// An open file that is closed at the end.
class OpenFile
{
public:
    explicit OpenFile(int descriptor) : m_descriptor(descriptor) {}
    ~OpenFile()
    {
        if (m_descriptor >= 0) {
            ::close(m_descriptor);
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    [[nodiscard]] int number() const { return m_descriptor; }
    /// False when closing says that something was not written.
    [[nodiscard]] bool close() { return ::close(std::exchange(m_descriptor, -1)) == 0; }

private:
    int m_descriptor;
};

bool writeAll(int descriptor, std::span<const std::byte> data)
{
    while (!data.empty()) {
        const ssize_t written = ::write(descriptor, data.data(), data.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? ENOSPC : errno;
            return false;
        }
        data = data.subspan(static_cast<std::size_t>(written));
    }
    return true;
}

/// Where a temporary name keeps what belongs together: ".stem.PID-N.tmp.ext".
std::string stemOf(const fs::path& path) { return path.stem().string().substr(0, kMostStem); }

fs::path temporaryBeside(const fs::path& path)
{
    static std::atomic<unsigned> count{0};
    return path.parent_path() /
           fmt::format(".{}.{}-{}{}{}", stemOf(path), ::getpid(), count++, kTemporaryMark, path.extension().string());
}

/// The process in a temporary name; nothing in other names.
std::optional<pid_t> processIn(const std::string& name)
{
    const std::size_t mark = name.rfind(kTemporaryMark);
    if (!name.starts_with('.') || mark == std::string::npos) {
        return std::nullopt;
    }
    const std::size_t dot = name.rfind('.', mark - 1);
    if (dot == std::string::npos || mark == 0 || dot == 0) {
        return std::nullopt;
    }
    pid_t process = 0;
    const char* end = name.data() + mark;
    const auto [at, error] = std::from_chars(name.data() + dot + 1, end, process);
    return error == std::errc() && process > 0 && at != end && *at == '-' ? std::optional(process) : std::nullopt;
}

/// False for a process that ended, also where nobody has asked yet how: it writes no more.
bool isAlive(pid_t process)
{
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const std::size_t name = text.rfind(") "); // its state stands behind its name
    const char state = name == std::string::npos || name + 2 >= text.size() ? '?' : text[name + 2];
    return state != 'Z' && state != 'X' && (::kill(process, 0) == 0 || errno != ESRCH);
}

/// A temporary file whose process is no more, or had the number of this one.
bool isLeftover(const fs::path& file)
{
    const std::string name = file.filename().string();
    const std::optional<pid_t> process = processIn(name);
    return process && (*process == ::getpid() ? !isBeingWritten(name) : !isAlive(*process));
}

/// The file that a name stands for, links followed, which may not be there yet.
Result<fs::path> placeOf(const fs::path& path)
{
    std::error_code ec;
    fs::path place = path;
    for (int links = 0; fs::is_symlink(fs::symlink_status(place, ec)); ++links) {
        const fs::path target = fs::read_symlink(place, ec);
        if (ec || links == kMostLinks) {
            return outputError("the link leads nowhere; name a file", path.string());
        }
        place = place.parent_path() / target; // which an absolute one replaces
    }
    const fs::file_status status = fs::status(place, ec);
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        return outputError(fs::is_directory(status)
                               ? "a folder of that name is there; name a file"
                               : "this is a pipe or a device, which is never replaced; name a file",
                           path.string());
    }
    return place;
}

BuiltInFiles& builtInFiles()
{
    static BuiltInFiles files;
    return files;
}

/// As a file without a name.
Result<int> openBuiltIn(const fs::path& path)
{
    const std::optional<std::vector<std::byte>> bytes = builtInFiles()(path);
    if (!bytes) {
        return inputError("the program has no such file built in", path.string());
    }
    const int descriptor = ::memfd_create("built-in", MFD_CLOEXEC);
    if (descriptor < 0 || ::write(descriptor, bytes->data(), bytes->size()) != static_cast<ssize_t>(bytes->size())) {
        const std::string why = reason();
        ::close(descriptor);
        return memoryError("there is no room for a file that is built in: " + why, path.string());
    }
    return descriptor;
}

Result<int> openToRead(const fs::path& path)
{
    if (builtInFiles() && path.native().starts_with(kBuiltIn)) {
        return openBuiltIn(path);
    }
    RETRO_CHECK(checkIsFile(path));
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // never waits for a pipe
    if (descriptor < 0) {
        return inputError("the file cannot be opened: " + reason(), path.string());
    }
    return descriptor;
}

} // namespace

Result<void> checkIsFile(const fs::path& path)
{
    std::error_code ec;
    const fs::file_status status = fs::status(path, ec);
    if (path == "-" && !fs::exists(status)) {
        return inputError("standard input is not read; write it into a file whose ending says its kind and name that "
                          "file",
                          "-");
    }
    if (!fs::exists(status)) {
        return inputError("there is no such file; check the path", path.string());
    }
    if (!fs::is_regular_file(status)) {
        return inputError("this is not a file (a folder or a device); name a file", path.string());
    }
    return {};
}

void setBuiltInFiles(BuiltInFiles files) { builtInFiles() = std::move(files); }

Result<void> checkOutputPlace(const fs::path& path)
{
    RETRO_TRY(const fs::path place, placeOf(path));
    return checkNotHeld(place, path);
}

Result<FileReader> FileReader::open(const fs::path& path, std::uint64_t limit)
{
    RETRO_TRY(const int descriptor, openToRead(path));
    FileReader file(path, descriptor, 0);
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        return inputError("this is not a file (a folder or a device); name a file", path.string());
    }
    file.m_size = static_cast<std::uint64_t>(status.st_size);
    if (file.m_size > limit) {
        return inputError(
            fmt::format("the file has {} bytes; at most {} are read for this kind of file", file.m_size, limit),
            path.string());
    }
    RETRO_CHECK(noteRead(path, status));
    return file;
}

FileReader::FileReader(FileReader&& other) noexcept
    : m_path(std::move(other.m_path)), m_descriptor(std::exchange(other.m_descriptor, -1)), m_size(other.m_size)
{}

FileReader::~FileReader()
{
    if (m_descriptor >= 0) {
        ::close(m_descriptor);
    }
}

Result<void> FileReader::read(std::uint64_t offset, std::span<std::byte> target) const
{
    while (!target.empty()) {
        const ssize_t count = ::pread(m_descriptor, target.data(), target.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return inputError("the file cannot be read: " + reason(), m_path.string());
        }
        if (count == 0) {
            return inputError("the file ended early while it was read", m_path.string());
        }
        target = target.subspan(static_cast<std::size_t>(count));
        offset += static_cast<std::uint64_t>(count);
    }
    return {};
}

Result<std::vector<std::byte>> readFile(const fs::path& path, std::uint64_t limit)
{
    RETRO_TRY(const FileReader file, FileReader::open(path, limit));
    std::vector<std::byte> data(file.size());
    RETRO_CHECK(file.read(0, data));
    return data;
}

Result<std::string> readTextFile(const fs::path& path, std::uint64_t limit)
{
    RETRO_TRY(const FileReader file, FileReader::open(path, limit));
    std::string text(file.size(), '\0');
    RETRO_CHECK(file.read(0, std::as_writable_bytes(std::span(text.data(), text.size()))));
    return text;
}

/// A file under its temporary name, which is removed at the end unless it was put in place.
struct FileBatch::Waiting
{
    Waiting(const fs::path& asked, fs::path target)
        : path(asked), place(std::move(target)), temporary(temporaryBeside(place)), pending(temporary.string())
    {}
    ~Waiting()
    {
        if (!isInPlace) {
            ::unlink(temporary.c_str());
        }
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

    fs::path path; ///< as the caller named it
    fs::path place;
    fs::path temporary;
    PendingTemporary pending;
    bool isInPlace = false;
};

namespace
{

/// From so many files on one wait for a whole file system is shorter than one for each file.
constexpr std::size_t kFewFiles = 4;

/// Brings a file, or with `isWhole` everything on its file system, to the disk. File systems that cannot (EINVAL) have
/// nothing to bring.
Result<void> bringToDisk(const fs::path& path, bool isWhole)
{
    const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0 || ((isWhole ? ::syncfs(file.number()) : ::fsync(file.number())) != 0 && errno != EINVAL)) {
        return outputError("writing stopped: " + reason());
    }
    return {};
}

Result<void> writeBytes(const fs::path& path, std::span<const std::byte> data)
{
    OpenFile file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.number() < 0) {
        return outputError("the file cannot be written: " + reason() +
                           "; choose a folder that exists and that you may write to");
    }
    if (!writeAll(file.number(), data) || !file.close()) {
        return outputError("writing stopped: " + reason());
    }
    return {};
}

Result<void> logged(Result<void> written)
{
    if (!written) {
        log(logcategory::kFiles, written.error());
    }
    return written;
}

} // namespace

FileBatch::FileBatch() = default;
FileBatch::~FileBatch() = default;

Result<void> FileBatch::addThrough(const fs::path& path, const std::function<Result<void>(const fs::path&)>& write)
{
    RETRO_TRY(fs::path place, placeOf(path));
    RETRO_CHECK(noteWrite(place, path));
    RETRO_CHECK(checkMappedFiles());
    const Waiting& file = m_waiting.emplace_back(path, std::move(place));
    if (Result<void> written = write(file.temporary); !written) {
        m_waiting.pop_back();
        return within(std::move(written).error(), path.string());
    }
    m_added.push_back(path);
    std::error_code ec;
    const std::uintmax_t bytes = fs::file_size(file.temporary, ec);
    m_bytes += ec ? 0 : bytes;
    return m_waiting.size() < kMost && m_bytes < kMostBytes ? Result<void>() : finish();
}

Result<void> FileBatch::add(const fs::path& path, std::span<const std::byte> data)
{
    return logged(addThrough(path, [data](const fs::path& temporary) { return writeBytes(temporary, data); }));
}

Result<void> FileBatch::finish()
{
    m_bytes = 0;
    std::set<dev_t> brought;
    for (const Waiting& file : m_waiting) {
        struct stat status = {};
        const bool isWhole = m_waiting.size() > kFewFiles && ::stat(file.temporary.c_str(), &status) == 0;
        if (isWhole && !brought.insert(status.st_dev).second) {
            continue;
        }
        if (Result<void> done = bringToDisk(file.temporary, isWhole); !done) {
            return within(std::move(done).error(), file.path.string());
        }
    }
    for (; !m_waiting.empty(); m_waiting.pop_front()) {
        Waiting& file = m_waiting.front();
        std::error_code ec;
        fs::rename(file.temporary, file.place, ec);
        if (ec) {
            return outputError("the file cannot be put in place: " + ec.message(), file.path.string());
        }
        file.isInPlace = true;
    }
    return {};
}

Result<void> writeThrough(const fs::path& path, const std::function<Result<void>(const fs::path&)>& write)
{
    FileBatch file;
    RETRO_CHECK(file.addThrough(path, write));
    return file.finish();
}

Result<void> writeFile(const fs::path& path, std::span<const std::byte> data)
{
    FileBatch file;
    RETRO_CHECK(file.add(path, data));
    return logged(file.finish());
}

Result<void> writeFile(const fs::path& path, std::string_view text)
{
    return writeFile(path, std::as_bytes(std::span(text.data(), text.size())));
}

Result<void> makeFolder(const fs::path& path)
{
    std::error_code ec;
    fs::create_directories(path, ec);
    std::error_code ignored;
    if (ec || !fs::is_directory(path, ignored)) {
        return outputError("the folder cannot be made: " +
                               (ec ? ec.message() : std::string("a file of that name exists")),
                           path.string());
    }
    return {};
}

void removeLeftovers(const fs::path& folder, int depth)
{
    std::error_code ec;
    for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
        std::error_code ignored;
        const fs::file_status status = at->symlink_status(ignored);
        if (fs::is_directory(status) && depth > 0) {
            removeLeftovers(at->path(), depth - 1);
        }
        if (fs::is_regular_file(status) && isLeftover(at->path())) {
            fs::remove(at->path(), ignored);
        }
    }
}

void removeLeftoversOf(const fs::path& path)
{
    std::error_code ec;
    const std::string begin = fmt::format(".{}.", stemOf(path));
    const std::string end = std::string(kTemporaryMark) + path.extension().string();
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    for (fs::directory_iterator at(folder, ec), last; !ec && at != last; at.increment(ec)) {
        const std::string name = at->path().filename().string();
        std::error_code ignored;
        if (name.starts_with(begin) && name.ends_with(end) && isLeftover(at->path())) {
            fs::remove(at->path(), ignored);
        }
    }
}

} // namespace retro::base
