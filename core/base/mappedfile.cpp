// SPDX-License-Identifier: Apache-2.0
#include "core/base/mappedfile.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace retro::base
{

namespace
{

/// An open file that is closed at the end; a mapping outlives it.
class Descriptor
{
public:
    explicit Descriptor(const std::filesystem::path& path) : m_number(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
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

Result<void> checkRange(const Descriptor& file, const std::filesystem::path& path, std::uint64_t offset,
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
    return {};
}

} // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path, std::uint64_t offset,
                                                           std::uint64_t length)
{
    const Descriptor descriptor(path);
    RETRO_CHECK(checkRange(descriptor, path, offset, length));
    std::shared_ptr<MappedFile> file(new MappedFile());
    if (length == 0) {
        return std::shared_ptr<const MappedFile>(std::move(file)); // nothing to map
    }
    const std::uint64_t skipped = offset % static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    void* base = ::mmap(nullptr, length + skipped, PROT_READ, MAP_PRIVATE, descriptor.number(),
                        static_cast<off_t>(offset - skipped));
    if (base == MAP_FAILED) {
        return unreadable(path);
    }
    file->m_base = base;
    file->m_length = length + skipped;
    file->m_data = {static_cast<const std::byte*>(base) + skipped, length};
    return std::shared_ptr<const MappedFile>(std::move(file));
}

MappedFile::~MappedFile()
{
    if (m_base != nullptr) {
        ::munmap(m_base, m_length);
    }
}

} // namespace retro::base
