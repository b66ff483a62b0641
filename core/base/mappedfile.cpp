// SPDX-License-Identifier: Apache-2.0
#include "core/base/mappedfile.h"

#include "core/base/inputfiles.h"
#include "core/base/signalstack.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace retro::base
{

/// A file as it was when it was opened.
struct MappedSource
{
    std::filesystem::path path;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec changed{};
};

namespace
{

/// A mapping as the guard for SIGBUS sees it: it may only read and write atomics.
struct GuardedRange
{
    std::atomic<std::uintptr_t> begin{0}; ///< 0: free
    std::atomic<std::size_t> length{0};
    std::atomic<bool> isMissingPages{false};
};

/// More mappings than a process can have by default (vm.max_map_count).
constexpr std::size_t kMostRanges = std::size_t{1} << 16U;

std::array<GuardedRange, kMostRanges> guardedRanges; // NOLINT: the guard can reach nothing but globals
std::atomic<std::size_t> guardedEnd{0};              // slots at and above it were never used
std::atomic<std::size_t> rangesInUse{0};
std::atomic<std::size_t> rangesMissingPages{0};
std::atomic<std::uintptr_t> bytesOfPage{4096};
struct sigaction actionBefore = {};

GuardedRange* guardedRangeAt(std::uintptr_t address)
{
    for (std::size_t i = 0; i < guardedEnd.load(); ++i) {
        const std::uintptr_t begin = guardedRanges[i].begin.load();
        if (begin != 0 && address >= begin && address - begin < guardedRanges[i].length.load()) {
            return &guardedRanges[i];
        }
    }
    return nullptr;
}

/// Puts zeros where the file has no bytes any more, from the page that was missing to the mapping's end, and notes it.
/// mmap is a plain system call here, as are those that POSIX allows in a handler.
void fillMissingPages(int /*signal*/, siginfo_t* info, void* /*context*/)
{
    const int errnoBefore = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
    GuardedRange* const range = guardedRangeAt(address);
    bool isFilled = false;
    if (range != nullptr) {
        const std::uintptr_t page = address - address % bytesOfPage.load();
        const std::uintptr_t end = range->begin.load() + range->length.load();
        isFilled = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                          -1, 0) != MAP_FAILED;
        if (!range->isMissingPages.exchange(true)) {
            rangesMissingPages.fetch_add(1);
        }
    }
    if (!isFilled) { // not ours: what would have happened without this guard happens when the access is repeated
        ::sigaction(SIGBUS, &actionBefore, nullptr);
    }
    errno = errnoBefore;
}

void installGuard()
{
    static std::once_flag once;
    std::call_once(once, [] {
        bytesOfPage = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
        struct sigaction action = {};
        action.sa_sigaction = &fillMissingPages;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &actionBefore);
    });
}

/// Slots of the guard's table that were used and are free again. Guarded by its mutex.
struct FreeSlots
{
    std::mutex mutex;
    std::vector<std::size_t> slots;
};

FreeSlots& freeSlots()
{
    static FreeSlots* const all = new FreeSlots; // never ends: mappings may outlive static objects
    return *all;
}

Result<std::size_t> takeSlot(const std::filesystem::path& path)
{
    FreeSlots& free = freeSlots();
    const std::lock_guard lock(free.mutex);
    if (!free.slots.empty()) {
        const std::size_t slot = free.slots.back();
        free.slots.pop_back();
        return slot;
    }
    if (guardedEnd.load() == kMostRanges) {
        return engineError(
            fmt::format("more than {} tensors lie in files of their own; store the weights in one file", kMostRanges),
            path.string());
    }
    return guardedEnd.fetch_add(1);
}

void giveSlotBack(std::size_t slot)
{
    FreeSlots& free = freeSlots();
    const std::lock_guard lock(free.mutex);
    if (guardedRanges[slot].begin.exchange(0) != 0) {
        rangesInUse.fetch_sub(1);
    }
    if (guardedRanges[slot].isMissingPages.exchange(false)) {
        rangesMissingPages.fetch_sub(1);
    }
    free.slots.push_back(slot);
}

/// An open file that is closed at the end; a mapping outlives it.
class Descriptor
{
public:
    explicit Descriptor(const std::filesystem::path& path)
        : m_number(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) // never waits for a pipe
    {}
    ~Descriptor()
    {
        if (m_number >= 0) {
            ::close(m_number);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int number() const { return m_number; }

private:
    int m_number = -1;
};

Error unreadable(const std::filesystem::path& path)
{
    return inputError(fmt::format("the file cannot be read: {}", std::strerror(errno)), path.string());
}

Result<struct stat> checkedStatus(const Descriptor& file, const std::filesystem::path& path, std::uint64_t offset,
                                  std::uint64_t length)
{
    struct stat status = {};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0) {
        return unreadable(path);
    }
    if (!S_ISREG(status.st_mode)) {
        return inputError("this is not a file", path.string());
    }
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (offset > size || length > size - offset) {
        return inputError(
            fmt::format("the file has {} bytes; bytes {} to {} are asked for", size, offset, offset + length),
            path.string());
    }
    return status;
}

/// The files of all mappings, each once. Guarded by its mutex.
struct OpenSources
{
    std::mutex mutex;
    std::map<std::pair<dev_t, ino_t>, std::vector<std::weak_ptr<const MappedSource>>> files;
};

OpenSources& openSources()
{
    static OpenSources* const all = new OpenSources;
    return *all;
}

/// What lies at the addresses of the mappings, by their first byte. Guarded by the mutex of OpenSources.
struct MappedBytes
{
    std::uint64_t offset = 0; ///< in the file, of the first byte asked for
    std::uint64_t length = 0;
    std::shared_ptr<const MappedSource> source;
};
std::map<const std::byte*, MappedBytes>& mappedBytes()
{
    static auto* const all = new std::map<const std::byte*, MappedBytes>; // never ends, as mappings may not
    return *all;
}

bool isSameTime(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

/// The one Source of a file in this state; made when there is none yet.
std::shared_ptr<const MappedSource> sourceOf(const std::filesystem::path& path, const struct stat& status)
{
    OpenSources& open = openSources();
    const std::lock_guard lock(open.mutex);
    auto& known = open.files[{status.st_dev, status.st_ino}];
    std::erase_if(known, [](const auto& one) { return one.expired(); });
    for (const auto& one : known) {
        std::shared_ptr<const MappedSource> source = one.lock();
        if (source && source->path == path && source->size == status.st_size &&
            isSameTime(source->changed, status.st_mtim)) {
            return source;
        }
    }
    auto source = std::make_shared<const MappedSource>(
        MappedSource{path, status.st_dev, status.st_ino, status.st_size, status.st_mtim});
    known.push_back(source);
    return source;
}

/// False when the file is still there under its name and is not as it was.
bool isUnchanged(const MappedSource& source)
{
    struct stat now = {};
    if (::stat(source.path.c_str(), &now) != 0 || now.st_dev != source.device || now.st_ino != source.inode) {
        return true; // removed or replaced: the mapping keeps what it was
    }
    return now.st_size == source.size && isSameTime(now.st_mtim, source.changed);
}

Error changedError(const std::string& file)
{
    return engineError("the file changed while its weights were in use, so the numbers may be wrong; wait until it is "
                       "written or fetched whole, then run this again",
                       file);
}

} // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path, std::uint64_t offset,
                                                           std::uint64_t length)
{
    const Descriptor descriptor(path);
    RETRO_TRY(const struct stat status, checkedStatus(descriptor, path, offset, length));
    RETRO_CHECK(noteRead(path, status));
    std::shared_ptr<MappedFile> file(new MappedFile());
    if (length == 0) {
        return std::shared_ptr<const MappedFile>(std::move(file)); // nothing to map
    }
    installGuard();
    const std::uint64_t skipped = offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    RETRO_TRY(const std::size_t slot, takeSlot(path));
    void* base = ::mmap(nullptr, length + skipped, PROT_READ, MAP_PRIVATE, descriptor.number(),
                        static_cast<off_t>(offset - skipped));
    if (base == MAP_FAILED) {
        giveSlotBack(slot);
        return unreadable(path);
    }
    guardedRanges[slot].length = length + skipped;
    guardedRanges[slot].begin = reinterpret_cast<std::uintptr_t>(base);
    rangesInUse.fetch_add(1);
    file->m_base = base;
    file->m_length = length + skipped;
    file->m_slot = slot;
    file->m_data = {static_cast<const std::byte*>(base) + skipped, length};
    file->m_source = sourceOf(path, status);
    const std::lock_guard lock(openSources().mutex);
    mappedBytes()[file->m_data.data()] = {offset, length, file->m_source};
    return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile()
{
    if (m_base != nullptr) {
        {
            const std::lock_guard lock(openSources().mutex);
            mappedBytes().erase(m_data.data());
        }
        giveSlotBack(m_slot);
        ::munmap(m_base, m_length);
    }
}

bool needsSignalStacks() { return rangesInUse.load(std::memory_order_relaxed) > 0; }

bool hasMissingPage() { return rangesMissingPages.load(std::memory_order_relaxed) > 0; }

std::optional<MappedPlace> mappedPlaceOf(const std::byte* address)
{
    const std::lock_guard lock(openSources().mutex);
    auto at = mappedBytes().upper_bound(address);
    if (at == mappedBytes().begin()) {
        return std::nullopt;
    }
    --at;
    const auto behind = static_cast<std::uint64_t>(address - at->first);
    const MappedBytes& bytes = at->second;
    if (behind >= bytes.length) {
        return std::nullopt;
    }
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    return MappedPlace{bytes.source->path, static_cast<std::uint64_t>(bytes.source->size),
                       bytes.source->changed.tv_sec * kNanoseconds + bytes.source->changed.tv_nsec,
                       bytes.offset + behind, bytes.length - behind};
}

Result<void> checkMappedFiles()
{
    OpenSources& open = openSources();
    const std::lock_guard lock(open.mutex);
    for (auto at = open.files.begin(); at != open.files.end();) {
        auto& known = at->second;
        std::erase_if(known, [](const auto& one) { return one.expired(); });
        for (const auto& one : known) {
            const auto source = one.lock();
            if (source && !isUnchanged(*source)) {
                return changedError(source->path.string());
            }
        }
        at = known.empty() ? open.files.erase(at) : std::next(at);
    }
    return hasMissingPage() ? changedError("weights") : Result<void>();
}

} // namespace retro::base
