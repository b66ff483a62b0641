// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace retro::tensor
{

/// Most files in an archive that is read. What they have unpacked is for the caller to bound before it is unpacked.
inline constexpr std::size_t kMaxZipEntries = 65'535;

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
/// than 4 GiB (ZIP64), packed by another method than deflate, more files than the limit above, files that lie over each
/// other.
[[nodiscard]] base::Result<std::vector<ZipEntry>> parseZip(std::span<const std::byte> data);

/// Unpacks a file from its beginning, a part at a time, into memory of the caller. Errors (Input) name the file.
class ZipReader
{
public:
    /// Borrows the archive's bytes.
    explicit ZipReader(const ZipEntry& entry);
    ~ZipReader();
    ZipReader(const ZipReader&) = delete;
    ZipReader& operator=(const ZipReader&) = delete;

    /// Fills `target` with the next bytes. Errors: damaged data, or fewer than the directory says.
    [[nodiscard]] base::Result<void> read(std::span<std::byte> target);
    /// To be called behind the last byte. Errors: more data than the directory says, another checksum.
    [[nodiscard]] base::Result<void> finish();

private:
    struct Stream; // of zlib
    [[nodiscard]] base::Result<void> inflateInto(std::span<std::byte> target);
    [[nodiscard]] base::Result<void> copyInto(std::span<std::byte> target);

    std::string m_where;
    std::span<const std::byte> m_packed; ///< of a stored file: what is left
    std::uint32_t m_wanted = 0;
    std::uint32_t m_checksum = 0;
    std::unique_ptr<Stream> m_stream; ///< null for a stored file
};

/// All bytes of a file. Errors as those of ZipReader.
[[nodiscard]] base::Result<std::vector<std::byte>> unpack(const ZipEntry& entry);

} // namespace retro::tensor
