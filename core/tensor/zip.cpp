// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/zip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <optional>

namespace retro::tensor
{

using base::inputError;
using base::Result;

namespace
{

constexpr std::uint32_t kEndMark = 0x06054b50;
constexpr std::uint32_t kEntryMark = 0x02014b50;
constexpr std::uint32_t kFileMark = 0x04034b50;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEntrySize = 46;
constexpr std::size_t kFileSize = 30;
constexpr std::size_t kMaxComment = 65'535;
constexpr std::uint32_t kIsElsewhere = std::numeric_limits<std::uint32_t>::max(); // in a ZIP64 field
constexpr std::uint64_t kMostRatio = 1100;                                        // deflate cannot do more

/// Little-endian numbers at checked places.
class Bytes
{
public:
    explicit Bytes(std::span<const std::byte> data) : m_data(data) {}

    [[nodiscard]] std::size_t size() const { return m_data.size(); }
    [[nodiscard]] bool has(std::uint64_t at, std::uint64_t count) const
    {
        return at <= m_data.size() && count <= m_data.size() - at;
    }
    [[nodiscard]] std::uint32_t number(std::size_t at, std::size_t width) const
    {
        std::uint32_t value = 0;
        for (std::size_t i = width; i-- > 0;) {
            value = value << 8U | std::to_integer<std::uint32_t>(m_data[at + i]);
        }
        return value;
    }
    [[nodiscard]] std::uint32_t two(std::size_t at) const { return number(at, 2); }
    [[nodiscard]] std::uint32_t four(std::size_t at) const { return number(at, 4); }
    [[nodiscard]] std::span<const std::byte> part(std::size_t at, std::size_t count) const
    {
        return m_data.subspan(at, count);
    }
    [[nodiscard]] std::string text(std::size_t at, std::size_t count) const
    {
        return {reinterpret_cast<const char*>(m_data.data()) + at, count};
    }

private:
    std::span<const std::byte> m_data;
};

base::Error cutOff(std::uint64_t at)
{
    return inputError(fmt::format("the archive ends inside what should stand at byte {}; it was probably cut off", at));
}

// The end mark stands before a comment of any length.
std::optional<std::size_t> findEnd(const Bytes& bytes)
{
    if (bytes.size() < kEndSize) {
        return std::nullopt;
    }
    const std::size_t last = bytes.size() - kEndSize;
    const std::size_t first = last > kMaxComment ? last - kMaxComment : 0;
    for (std::size_t at = last + 1; at-- > first;) {
        if (bytes.four(at) == kEndMark) {
            return at;
        }
    }
    return std::nullopt;
}

// Where the packed data of an entry begin: behind the name and extra field of its own header.
Result<std::size_t> dataOf(const Bytes& bytes, std::uint32_t header, std::uint64_t packed)
{
    if (!bytes.has(header, kFileSize) || bytes.four(header) != kFileMark) {
        return inputError(fmt::format("there is no file at byte {}, where the directory has one", header));
    }
    const std::uint64_t begin = std::uint64_t{header} + kFileSize + bytes.two(header + 26) + bytes.two(header + 28);
    if (!bytes.has(begin, packed)) {
        return cutOff(begin);
    }
    return static_cast<std::size_t>(begin);
}

Result<void> checkEntry(const Bytes& bytes, std::size_t at)
{
    const std::uint32_t flags = bytes.two(at + 8);
    const std::uint32_t method = bytes.two(at + 10);
    if ((flags & 1U) != 0) {
        return inputError("it is encrypted; save it without a password");
    }
    if (method != 0 && method != 8) {
        return inputError(fmt::format("it is packed by method {}; stored and deflated files are read", method));
    }
    for (const std::size_t field : {20U, 24U, 42U}) {
        if (bytes.four(at + field) == kIsElsewhere) {
            return inputError("it has more than 4 GiB (ZIP64); save the arrays in several files");
        }
    }
    return {};
}

Result<ZipEntry> entryAt(const Bytes& bytes, std::size_t at)
{
    ZipEntry entry;
    entry.name = bytes.text(at + kEntrySize, bytes.two(at + 28));
    if (Result<void> checked = checkEntry(bytes, at); !checked) {
        return base::within(std::move(checked).error(), fmt::format("file \"{}\"", entry.name));
    }
    entry.isDeflated = bytes.two(at + 10) == 8;
    entry.checksum = bytes.four(at + 16);
    entry.size = bytes.four(at + 24);
    const std::uint32_t packed = bytes.four(at + 20);
    RETRO_TRY(const std::size_t begin, dataOf(bytes, bytes.four(at + 42), packed));
    entry.packed = bytes.part(begin, packed);
    const bool isPossible = entry.isDeflated ? entry.size <= packed * kMostRatio + 64 : entry.size == packed;
    if (!isPossible) {
        return inputError(fmt::format("{} packed bytes cannot be {} unpacked ones", packed, entry.size),
                          fmt::format("file \"{}\"", entry.name));
    }
    return entry;
}

/// Where the directory is and how many entries it has.
struct Directory
{
    std::uint64_t at = 0;
    std::uint32_t count = 0;
};

Result<Directory> findDirectory(const Bytes& bytes)
{
    const std::optional<std::size_t> end = findEnd(bytes);
    if (!end) {
        return inputError("this is no ZIP archive: it has no directory at its end");
    }
    const Directory directory{bytes.four(*end + 16), bytes.two(*end + 10)};
    if (bytes.two(*end + 4) != 0 || bytes.two(*end + 8) != directory.count) {
        return inputError("the archive lies on several disks; save it as one file");
    }
    if (directory.count == kMaxZipEntries || directory.at == kIsElsewhere) {
        return inputError(fmt::format("the archive has more than {} files or 4 GiB (ZIP64)", kMaxZipEntries - 1));
    }
    return directory;
}

/// Bytes that zlib takes at once: its counters have 32 bits.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;

Bytef* toZlib(const std::byte* bytes)
{
    // zlib does not write to what it reads; its interface of 1995 has no const.
    return reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes));
}

/// What zlib says, but that it got no memory: data are not damaged because of that.
int hasRoom(int status)
{
    if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
    }
    return status;
}

} // namespace

Result<std::vector<ZipEntry>> parseZip(std::span<const std::byte> data)
{
    const Bytes bytes(data);
    RETRO_TRY(const Directory directory, findDirectory(bytes));
    std::vector<ZipEntry> entries;
    std::uint64_t at = directory.at;
    std::uint64_t packed = 0;
    for (std::uint32_t i = 0; i < directory.count; ++i) {
        if (!bytes.has(at, kEntrySize) || bytes.four(static_cast<std::size_t>(at)) != kEntryMark) {
            return inputError(fmt::format("entry {} of the directory is not there, at byte {}", i, at));
        }
        const auto begin = static_cast<std::size_t>(at);
        const std::uint64_t length =
            kEntrySize + std::uint64_t{bytes.two(begin + 28)} + bytes.two(begin + 30) + bytes.two(begin + 32);
        if (!bytes.has(at, length)) {
            return cutOff(at);
        }
        RETRO_TRY(ZipEntry entry, entryAt(bytes, begin));
        packed += entry.packed.size();
        if (packed > data.size()) { // files that share their bytes unpack to any size
            return inputError("its files lie over each other; the archive is damaged");
        }
        entries.push_back(std::move(entry));
        at += length;
    }
    return entries;
}

struct ZipReader::Stream
{
    z_stream zlib{};
    bool isReady = false;
    bool isAtEnd = false;
};

ZipReader::ZipReader(const ZipEntry& entry)
    : m_where(fmt::format("file \"{}\"", entry.name)), m_packed(entry.packed), m_wanted(entry.checksum)
{
    if (entry.isDeflated) {
        m_stream = std::make_unique<Stream>();
        m_stream->isReady = hasRoom(inflateInit2(&m_stream->zlib, -MAX_WBITS)) == Z_OK; // without zlib's own header
        m_stream->zlib.next_in = toZlib(m_packed.data());
        m_stream->zlib.avail_in = static_cast<uInt>(m_packed.size()); // below 4 GiB: not ZIP64
    }
}

ZipReader::~ZipReader()
{
    if (m_stream && m_stream->isReady) {
        inflateEnd(&m_stream->zlib);
    }
}

Result<void> ZipReader::inflateInto(std::span<std::byte> target)
{
    z_stream& zlib = m_stream->zlib;
    while (!target.empty()) {
        const std::size_t count = std::min(target.size(), kMostAtOnce);
        zlib.next_out = toZlib(target.data());
        zlib.avail_out = static_cast<uInt>(count);
        const int status =
            m_stream->isReady && !m_stream->isAtEnd ? hasRoom(inflate(&zlib, Z_NO_FLUSH)) : Z_STREAM_ERROR;
        m_stream->isAtEnd = status == Z_STREAM_END;
        const std::size_t made = count - zlib.avail_out;
        if ((status != Z_OK && status != Z_STREAM_END) || made == 0) {
            return inputError("its packed data are damaged, or are not as long as the directory says", m_where);
        }
        target = target.subspan(made);
    }
    return {};
}

Result<void> ZipReader::copyInto(std::span<std::byte> target)
{
    if (target.size() > m_packed.size()) {
        return inputError("its packed data are damaged, or are not as long as the directory says", m_where);
    }
    std::copy_n(m_packed.begin(), target.size(), target.begin());
    m_packed = m_packed.subspan(target.size());
    return {};
}

Result<void> ZipReader::read(std::span<std::byte> target)
{
    RETRO_CHECK(m_stream ? inflateInto(target) : copyInto(target));
    m_checksum = static_cast<std::uint32_t>(crc32_z(m_checksum, toZlib(target.data()), target.size()));
    return {};
}

Result<void> ZipReader::finish()
{
    if (m_stream && !m_stream->isAtEnd) {
        std::byte more{};
        m_stream->zlib.next_out = toZlib(&more);
        m_stream->zlib.avail_out = 1;
        const int status = m_stream->isReady ? hasRoom(inflate(&m_stream->zlib, Z_FINISH)) : Z_STREAM_ERROR;
        if (status != Z_STREAM_END || m_stream->zlib.avail_out != 1) {
            return inputError("its packed data are damaged, or are not as long as the directory says", m_where);
        }
    }
    if (m_checksum != m_wanted) {
        return inputError("its checksum is wrong: the file is damaged; save it again", m_where);
    }
    return {};
}

Result<std::vector<std::byte>> unpack(const ZipEntry& entry)
{
    ZipReader reader(entry);
    std::vector<std::byte> result(entry.size);
    RETRO_CHECK(reader.read(result));
    RETRO_CHECK(reader.finish());
    return result;
}

} // namespace retro::tensor
