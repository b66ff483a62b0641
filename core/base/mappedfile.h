// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace retro::base
{

/// A range of a file in memory without a copy: pages come from the file when they are read and can be dropped again.
/// The file must not shrink meanwhile.
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
    std::span<const std::byte> m_data;
};

} // namespace retro::base
