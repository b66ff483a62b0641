// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retro::base
{

/// Reads a whole file of at most `limit` bytes. Errors (Input): missing, not a regular file (a pipe or device is never
/// read), unreadable, larger than the limit.
[[nodiscard]] Result<std::vector<std::byte>> readFile(const std::filesystem::path& path, std::uint64_t limit);

/// As readFile, as text.
[[nodiscard]] Result<std::string> readTextFile(const std::filesystem::path& path, std::uint64_t limit);

/// A file that is read in pieces, each when it is needed.
class FileReader
{
public:
    /// Errors as those of readFile.
    [[nodiscard]] static Result<FileReader> open(const std::filesystem::path& path, std::uint64_t limit);

    FileReader(FileReader&& other) noexcept;
    FileReader& operator=(FileReader&&) = delete;
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    ~FileReader();

    /// Bytes of the file when it was opened.
    [[nodiscard]] std::uint64_t size() const { return m_size; }
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
    /// Fills `target` with the bytes from `offset` on. Errors (Input): the file ended early, a device that fails.
    [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> target) const;

private:
    FileReader(std::filesystem::path path, int descriptor, std::uint64_t size)
        : m_path(std::move(path)), m_descriptor(descriptor), m_size(size)
    {}

    std::filesystem::path m_path;
    int m_descriptor = -1;
    std::uint64_t m_size = 0;
};

/// Writes `data` to a new file beside `path`, brings it to the disk and renames it into place, so that a failure, a
/// kill or a power cut leaves no half-written file. A link is followed: the file that it names is replaced. Errors
/// (Usage): the file is an input (inputfiles.h). Errors
/// (Output): the folder does not exist or cannot be written, the disk is full, `path` is there and is no regular file
/// (a pipe, a device or a folder is never replaced). Errors (Engine): weights that are in use changed on the disk
/// (checkMappedFiles), so that what is written may be wrong.
[[nodiscard]] Result<void> writeFile(const std::filesystem::path& path, std::span<const std::byte> data);
[[nodiscard]] Result<void> writeFile(const std::filesystem::path& path, std::string_view text);

/// For writers that need a file name (databases): calls `write` with a temporary name in the same folder (same
/// extension), brings that file to the disk, then renames it to `path`; removes it when `write` fails. Errors as those
/// of writeFile. Everything that the program writes under a final name goes through here.
[[nodiscard]] Result<void> writeThrough(const std::filesystem::path& path,
                                        const std::function<Result<void>(const std::filesystem::path&)>& write);

/// Errors (Input): there is no such file, or it is a folder, a pipe or a device.
[[nodiscard]] Result<void> checkIsFile(const std::filesystem::path& path);

/// Makes a folder and its parents. Errors (Output).
[[nodiscard]] Result<void> makeFolder(const std::filesystem::path& path);

/// Removes what killed processes of this machine left in `folder` and `depth` levels of folders below: temporaries of
/// writeThrough whose process is no more. For who holds the folder's lock (folderlock.h). What cannot be removed stays.
void removeLeftovers(const std::filesystem::path& folder, int depth);
/// The same for what was left of one file.
void removeLeftoversOf(const std::filesystem::path& path);

} // namespace retro::base
