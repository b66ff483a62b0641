// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/base/result.h"
#include "core/layout/layeredlayout.h"
#include "core/layout/layoutinput.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace retro::layout
{

/// Layouts in files of one folder, by their key, so that what took long is not made again when the program is. A file
/// that is broken or of another version counts as absent. Beyond a number of bytes those that were not read longest go;
/// files of other names are never touched. Several programs may share a folder. Has no state but its path: safe to
/// share between threads.
class LayoutFolder
{
public:
    explicit LayoutFolder(std::filesystem::path folder, std::uint64_t mostBytes = kMostBytes)
        : m_folder(std::move(folder)), m_mostBytes(mostBytes)
    {}

    /// The layout of that key for that input, if there is one.
    [[nodiscard]] std::optional<LayeredLayout> find(base::Hash128 key, const LayoutInput& input) const;
    /// Writes a layout. Errors (Output): the folder cannot be made or written.
    [[nodiscard]] base::Result<void> add(base::Hash128 key, const LayeredLayout& layout) const;

    /// The file of a key.
    [[nodiscard]] std::filesystem::path pathOf(base::Hash128 key) const;

    static constexpr std::uint64_t kMostBytes = std::uint64_t{128} << 20;

private:
    void removeOldest() const;

    std::filesystem::path m_folder;
    std::uint64_t m_mostBytes;
};

} // namespace retro::layout
