// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

namespace retro::base
{

/// Many files with one wait for the disk: writes each under a temporary name; every `kMost` of them, and the rest in
/// finish(), are brought to the disk together and then put in place. What is not in place when this object goes is
/// removed. From five files on the wait is for the whole file system (syncfs), which brings what others wrote as well.
/// Before Linux 5.8 that wait does not report a disk that fails. One thread at a time.
class FileBatch
{
public:
    /// As many as removeTemporaries() can name.
    static constexpr std::size_t kMost = 48;
    /// From so many bytes on nothing waits, so that old and new files need little room beside each other.
    static constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

    FileBatch();
    ~FileBatch();
    FileBatch(const FileBatch&) = delete;
    FileBatch& operator=(const FileBatch&) = delete;

    /// As writeFile, but `path` may stay what it was until finish(). Errors: of this file, or of one before it.
    [[nodiscard]] Result<void> add(const std::filesystem::path& path, std::span<const std::byte> data);
    /// As writeThrough, but `path` may stay what it was until finish().
    [[nodiscard]] Result<void> addThrough(const std::filesystem::path& path,
                                          const std::function<Result<void>(const std::filesystem::path&)>& write);
    /// Puts in place what waits. Errors (Output): the disk or the rename fails; those before it are in place.
    [[nodiscard]] Result<void> finish();
    /// All files that were added, in order.
    [[nodiscard]] const std::vector<std::filesystem::path>& added() const { return m_added; }

private:
    struct Waiting;
    std::vector<std::filesystem::path> m_added;
    std::deque<Waiting> m_waiting;
    std::uint64_t m_bytes = 0; ///< of what waits
};

} // namespace retro::base
