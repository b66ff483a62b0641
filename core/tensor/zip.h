// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace retro::tensor
{

/// Most files in an archive that is read, and most bytes that all of them may have together when unpacked.
inline constexpr std::size_t kMaxZipEntries = 65'535;
inline constexpr std::uint64_t kMaxUnpackedBytes = 8ULL << 30;

/// A file in an archive. `packed` lies in the archive's bytes.
struct ZipEntry
{
    std::string name;
    std::span<const std::byte> packed;
    std::uint64_t size = 0; ///< unpacked
    std::uint32_t checksum = 0;
    bool isDeflated = false;
};

/// The directory of a ZIP archive in memory. Errors (Input): not an archive, cut off, several disks, encrypted, of more
/// than 4 GiB (ZIP64), packed by another method than deflate, beyond the limits above.
[[nodiscard]] base::Result<std::vector<ZipEntry>> parseZip(std::span<const std::byte> data);

/// The bytes of a file. Errors (Input): damaged data, another length or checksum than the directory says.
[[nodiscard]] base::Result<std::vector<std::byte>> unpack(const ZipEntry& entry);

} // namespace retro::tensor
