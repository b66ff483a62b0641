// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>

namespace retro::base
{

struct MappedSource;

/// A range of a file in memory without a copy: pages come from the file when they are read and can be dropped again.
/// The file should not change meanwhile. Where it gets shorter, what is missing reads as zeros (a guard for SIGBUS sees
/// to that), and checkMappedFiles says so.
class MappedFile
{
public:
    /// Maps `length` bytes from `offset` read-only. Errors (Input): missing, not a regular file, shorter than that.
    [[nodiscard]] static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path,
                                                                        std::uint64_t offset, std::uint64_t length);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    /// The bytes asked for.
    [[nodiscard]] std::span<const std::byte> data() const { return m_data; }

private:
    MappedFile() = default;

    void* m_base = nullptr;
    std::size_t m_length = 0;
    std::size_t m_slot = 0; // in the table that the guard reads
    std::shared_ptr<const MappedSource> m_source;
    std::span<const std::byte> m_data;
};

/// Where bytes of a mapped file lie.
struct MappedPlace
{
    std::filesystem::path file;
    std::uint64_t fileBytes = 0; ///< of the whole file, as it was when it was opened
    std::int64_t changed = 0;    ///< nanoseconds since 1970, as it was then
    std::uint64_t offset = 0;    ///< of the address, in the file
    std::uint64_t length = 0;    ///< bytes of the mapping from the address on
};

/// The place of an address inside MappedFile::data() of a file that is open; nothing for other memory.
[[nodiscard]] std::optional<MappedPlace> mappedPlaceOf(const std::byte* address);

/// Looks whether every mapped file that is in use is still as it was when it was opened: size, time of the last change,
/// no missing page. A file that another one of the same name replaced counts as unchanged: the mapping keeps the old
/// one. Errors (Engine) name the file. Costs one system call for each file; results are checked before they are written
/// or handed on.
[[nodiscard]] Result<void> checkMappedFiles();

/// True once a page of a mapped file that is in use was missing. Costs one atomic read: for loops.
[[nodiscard]] bool hasMissingPage();

} // namespace retro::base
