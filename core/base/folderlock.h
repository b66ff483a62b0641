// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <string>

namespace retro::base
{

/// Name of the file in a folder of results that a FolderLock holds; gone when nobody holds it.
inline constexpr const char* kLockFile = ".retrograde.lock";

/// Holds a folder of results while this lives, so that two processes do not mix what they write there. The system takes
/// the lock back when the process ends, however it ends. On file systems that know no locks, nothing is held.
class FolderLock
{
public:
    /// This process alone. Errors (Output): another holds it (the message names its process), the folder cannot be
    /// written.
    [[nodiscard]] static Result<FolderLock> alone(const std::filesystem::path& folder);
    /// As alone, but waits for its turn.
    [[nodiscard]] static Result<FolderLock> inTurn(const std::filesystem::path& folder);
    /// As inTurn, for one file: `.NAME.lock` beside it is held.
    [[nodiscard]] static Result<FolderLock> inTurnAt(const std::filesystem::path& file);
    /// Together with all who give the same `purpose` (a text of one line). Errors (Output): somebody holds it alone, or
    /// for another purpose.
    [[nodiscard]] static Result<FolderLock> together(const std::filesystem::path& folder, const std::string& purpose);

    FolderLock(FolderLock&& other) noexcept;
    FolderLock& operator=(FolderLock&& other) noexcept;
    FolderLock(const FolderLock&) = delete;
    FolderLock& operator=(const FolderLock&) = delete;
    ~FolderLock();

private:
    FolderLock(std::filesystem::path file, int descriptor) : m_file(std::move(file)), m_descriptor(descriptor) {}
    [[nodiscard]] static Result<FolderLock> hold(const std::filesystem::path& file, int operation);
    void release();

    std::filesystem::path m_file;
    int m_descriptor = -1; ///< -1: nothing is held
};

} // namespace retro::base
