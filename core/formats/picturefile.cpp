// SPDX-License-Identifier: Apache-2.0
// PNG: ISO/IEC 15948; JPEG: ITU-T T.81; BMP: BITMAPCOREHEADER, BITMAPINFOHEADER and longer ones; GIF89a; TIFF 6.0,
// whose directories EXIF has as well; WebP: RFC 9649.
#include "core/formats/picturefile.h"

#include "core/base/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::formats
{

namespace
{

constexpr std::uint64_t kMostPictureBytes = 512ULL << 20U;
constexpr std::string_view kPngMark("\x89PNG\r\n\x1a\n", 8);
constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr int kMostOrientation = 8;

/// Bytes that are read by place; 0 behind the end.
class Bytes
{
public:
    Bytes(std::span<const std::byte> bytes, bool isLittle = false) : m_bytes(bytes), m_isLittle(isLittle) {}

    [[nodiscard]] std::size_t size() const { return m_bytes.size(); }
    [[nodiscard]] std::uint32_t at(std::size_t place) const
    {
        return place < m_bytes.size() ? static_cast<std::uint32_t>(m_bytes[place]) : 0;
    }
    [[nodiscard]] std::uint32_t number(std::size_t place, std::size_t width) const
    {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < width; ++i) {
            value = (value << 8U) | at(place + (m_isLittle ? width - 1 - i : i));
        }
        return value;
    }
    [[nodiscard]] bool says(std::size_t place, std::string_view text) const
    {
        return place <= m_bytes.size() && m_bytes.size() - place >= text.size() &&
               std::equal(text.begin(), text.end(), m_bytes.begin() + static_cast<std::ptrdiff_t>(place),
                          [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
    }
    [[nodiscard]] std::span<const std::byte> part(std::size_t place, std::size_t length) const
    {
        return place < m_bytes.size() ? m_bytes.subspan(place, std::min(length, m_bytes.size() - place))
                                      : std::span<const std::byte>();
    }

private:
    std::span<const std::byte> m_bytes;
    bool m_isLittle;
};

/// The first directory of a TIFF, as EXIF has one, too.
class TiffDirectory
{
public:
    explicit TiffDirectory(std::span<const std::byte> tiff) : m_bytes(tiff, Bytes(tiff).says(0, "II"))
    {
        const Bytes head(tiff);
        m_isThere = head.says(0, std::string_view("II*\0", 4)) || head.says(0, std::string_view("MM\0*", 4));
    }

    [[nodiscard]] bool isThere() const { return m_isThere; }
    /// Where the entries of a tag lie.
    [[nodiscard]] std::vector<std::size_t> entries(std::uint32_t tag) const
    {
        std::vector<std::size_t> found;
        const std::size_t directory = m_bytes.number(4, 4);
        const std::size_t count = m_isThere ? m_bytes.number(directory, 2) : 0;
        constexpr std::size_t kEntry = 12;
        for (std::size_t i = 0; i < count && directory + 2 + (i + 1) * kEntry <= m_bytes.size(); ++i) {
            if (m_bytes.number(directory + 2 + i * kEntry, 2) == tag) {
                found.push_back(directory + 2 + i * kEntry);
            }
        }
        return found;
    }
    /// The whole numbers of a tag, of all its entries.
    [[nodiscard]] std::vector<std::uint64_t> numbers(std::uint32_t tag) const
    {
        std::vector<std::uint64_t> found;
        for (const std::size_t entry : entries(tag)) {
            addNumbers(entry, found);
        }
        return found;
    }
    /// The largest one; 0 where there is none.
    [[nodiscard]] std::uint64_t number(std::uint32_t tag) const
    {
        const std::vector<std::uint64_t> all = numbers(tag);
        return all.empty() ? 0 : *std::ranges::max_element(all);
    }

private:
    void addNumbers(std::size_t entry, std::vector<std::uint64_t>& found) const
    {
        constexpr std::size_t kMostNumbers = std::size_t{1} << 20U;
        constexpr std::uint32_t kShort = 3;
        constexpr std::uint32_t kLong = 4;
        const std::uint32_t type = m_bytes.number(entry + 2, 2);
        const std::size_t width = type == kShort ? 2 : 4;
        const std::size_t count = m_bytes.number(entry + 4, 4);
        const std::size_t at = count * width <= 4 ? entry + 8 : m_bytes.number(entry + 8, 4);
        const bool isWhole = type == kShort || type == kLong;
        for (std::size_t i = 0; isWhole && i < count && at + (i + 1) * width <= m_bytes.size(); ++i) {
            if (found.size() == kMostNumbers) {
                return;
            }
            found.push_back(m_bytes.number(at + i * width, width));
        }
    }

    Bytes m_bytes;
    bool m_isThere = false;
};

/// The orientation in a TIFF directory; 1 where it says none.
int orientationOf(const TiffDirectory& directory)
{
    const std::vector<std::uint64_t> said = directory.numbers(kOrientationTag);
    return !said.empty() && said[0] >= 1 && said[0] <= kMostOrientation ? static_cast<int>(said[0]) : 1;
}

/// A side of a picture; what no picture has is too large.
int side(std::uint64_t extent)
{
    return static_cast<int>(std::min<std::uint64_t>(extent, std::numeric_limits<int>::max()));
}

PictureFile pngFile(const Bytes& bytes)
{
    constexpr std::size_t kFrame = 12; // length, name, checksum
    PictureFile file{PictureFile::Format::Png};
    file.isComplete = false;
    for (std::size_t at = kPngMark.size(); at + kFrame <= bytes.size();) {
        const std::size_t length = bytes.number(at, 4);
        const std::size_t data = at + 8;
        if (bytes.says(at + 4, "IHDR")) {
            constexpr std::uint32_t kAlpha = 4;
            file.width = side(bytes.number(data, 4));
            file.height = side(bytes.number(data + 4, 4));
            file.hasTransparency = (bytes.at(data + 9) & kAlpha) != 0;
        } else if (bytes.says(at + 4, "tRNS")) {
            file.hasTransparency = true;
        } else if (bytes.says(at + 4, "eXIf")) {
            file.orientation = orientationOf(TiffDirectory(bytes.part(data, length)));
        } else if (bytes.says(at + 4, "IEND")) {
            file.isComplete = true;
            break;
        }
        at += length + kFrame;
    }
    return file;
}

/// The marks of a JPEG, one after the other.
class JpegMarks
{
public:
    explicit JpegMarks(const Bytes& bytes) : m_bytes(bytes) {}

    PictureFile read()
    {
        m_file.format = PictureFile::Format::Jpeg;
        m_file.isComplete = false;
        while (m_at + 1 < m_bytes.size() && !m_file.isComplete) {
            step();
        }
        return m_file;
    }

private:
    static constexpr std::uint32_t kMark = 0xFF;

    void step()
    {
        const std::uint32_t mark = m_bytes.at(m_at + 1);
        const bool isFill = m_bytes.at(m_at) != kMark || mark == kMark;
        const bool isAlone = mark == 0 || mark == 0x01 || (mark >= 0xD0 && mark <= 0xD8);
        if (isFill || isAlone) {
            m_at += isFill ? 1 : 2;
            return;
        }
        if (mark == 0xD9) { // EOI
            m_file.isComplete = true;
            return;
        }
        const std::size_t length = m_bytes.number(m_at + 2, 2);
        take(mark, m_at + 4, length);
        m_at += 2 + std::max<std::size_t>(length, 2);
    }

    void take(std::uint32_t mark, std::size_t data, std::size_t length)
    {
        const bool isFrame = mark >= 0xC0 && mark <= 0xCF && mark != 0xC4 && mark != 0xC8 && mark != 0xCC;
        if (isFrame) {
            m_file.height = static_cast<int>(m_bytes.number(data + 1, 2));
            m_file.width = static_cast<int>(m_bytes.number(data + 3, 2));
        } else if (mark == 0xDA) {
            ++m_file.scans;
        } else if (mark == 0xE1 && m_bytes.says(data, std::string_view("Exif\0\0", 6))) {
            m_file.orientation = orientationOf(TiffDirectory(m_bytes.part(data + 6, length < 8 ? 0 : length - 8)));
        }
    }

    const Bytes& m_bytes;
    PictureFile m_file;
    std::size_t m_at = 0;
};

PictureFile bmpFile(std::span<const std::byte> data)
{
    const Bytes bytes(data, true);
    PictureFile file{PictureFile::Format::Bmp};
    const bool isOld = bytes.number(14, 4) == 12;
    const auto height = static_cast<std::int32_t>(bytes.number(isOld ? 20 : 22, isOld ? 2 : 4));
    file.width = side(bytes.number(18, isOld ? 2 : 4));
    file.height = side(static_cast<std::uint64_t>(std::abs(std::int64_t{height}))); // < 0: from the top
    const bool isPlain = isOld || bytes.number(30, 4) == 0 || bytes.number(30, 4) == 3;
    const std::uint64_t bits = bytes.number(isOld ? 24 : 28, 2);
    const std::uint64_t row = (static_cast<std::uint64_t>(file.width) * bits + 31) / 32 * 4;
    const std::uint64_t room = data.size() - std::min<std::uint64_t>(data.size(), bytes.number(10, 4));
    file.isComplete = !isPlain || row == 0 || room / row >= static_cast<std::uint64_t>(file.height);
    return file;
}

/// Behind the parts of a block of a GIF that begins at `at`.
std::size_t behindParts(const Bytes& bytes, std::size_t at)
{
    while (bytes.at(at) != 0) {
        at += bytes.at(at) + 1;
    }
    return at + 1;
}

/// Bytes of a table of colours that `flags` speak of.
std::size_t tableBytes(std::uint32_t flags) { return (flags & 0x80U) != 0 ? std::size_t{3} << ((flags & 7U) + 1) : 0; }

PictureFile gifFile(std::span<const std::byte> data)
{
    const Bytes bytes(data, true);
    PictureFile file{PictureFile::Format::Gif};
    file.width = side(bytes.number(6, 2));
    file.height = side(bytes.number(8, 2));
    std::size_t at = 13 + tableBytes(bytes.at(10));
    while (bytes.at(at) == '!') {
        const bool isControl = bytes.at(at + 1) == 0xF9;
        if (isControl && (bytes.at(at + 3) & 1U) != 0) {
            file.clearColour = static_cast<int>(bytes.at(at + 6));
            file.hasTransparency = true;
        }
        at = behindParts(bytes, at + 2);
    }
    file.width = std::max(file.width, side(bytes.number(at + 5, 2)));
    file.height = std::max(file.height, side(bytes.number(at + 7, 2)));
    file.firstEnd = behindParts(bytes, at + 10 + tableBytes(bytes.at(at + 9)) + 1);
    file.isComplete = bytes.at(at) == ',' && file.firstEnd <= bytes.size();
    return file;
}

PictureFile tiffFile(std::span<const std::byte> data, const TiffDirectory& directory)
{
    PictureFile file{PictureFile::Format::Tiff};
    file.width = side(directory.number(256));
    file.height = side(directory.number(257));
    file.orientation = orientationOf(directory);
    const std::vector<std::size_t> turns = directory.entries(kOrientationTag);
    file.turnAt = turns.empty() ? 0 : turns.front() + 8;
    file.hasTransparency = !directory.numbers(338).empty();
    file.isComplete = file.width > 0 && file.height > 0;
    for (const auto& [places, sizes] : {std::pair(273, 279), std::pair(324, 325)}) { // strips, tiles
        const auto from = directory.numbers(static_cast<std::uint32_t>(places));
        const auto bytes = directory.numbers(static_cast<std::uint32_t>(sizes));
        for (std::size_t i = 0; i < std::min(from.size(), bytes.size()); ++i) {
            file.isComplete = file.isComplete && from[i] + bytes[i] <= data.size();
        }
    }
    return file;
}

PictureFile webpFile(std::span<const std::byte> data)
{
    const Bytes bytes(data, true);
    PictureFile file{PictureFile::Format::WebP};
    file.isComplete = std::uint64_t{bytes.number(4, 4)} + 8 <= data.size();
    constexpr std::uint32_t kSide = 0x3FFF;
    for (std::size_t at = 12; at + 8 <= bytes.size(); at += 8 + (std::size_t{bytes.number(at + 4, 4)} + 1) / 2 * 2) {
        const std::size_t part = at + 8;
        int width = 0;
        int height = 0;
        if (bytes.says(at, "VP8X")) {
            width = side(bytes.number(part + 4, 3) + 1);
            height = side(bytes.number(part + 7, 3) + 1);
            file.hasTransparency = (bytes.at(part) & 0x10U) != 0;
        } else if (bytes.says(at, "VP8L")) {
            const std::uint32_t sides = bytes.number(part + 1, 4);
            width = side((sides & kSide) + 1);
            height = side(((sides >> 14U) & kSide) + 1);
            file.hasTransparency = file.hasTransparency || ((sides >> 28U) & 1U) != 0;
        } else if (bytes.says(at, "VP8 ")) {
            width = side(bytes.number(part + 6, 2) & kSide);
            height = side(bytes.number(part + 8, 2) & kSide);
        } else if (bytes.says(at, "EXIF")) {
            file.orientation = orientationOf(TiffDirectory(bytes.part(part, bytes.number(at + 4, 4))));
        }
        file.width = std::max(file.width, width);
        file.height = std::max(file.height, height);
    }
    return file;
}

} // namespace

std::string_view nameOf(PictureFile::Format format)
{
    constexpr std::array<std::string_view, 7> kNames{"other", "PNG", "JPEG", "BMP", "GIF", "TIFF", "WebP"};
    return kNames.at(static_cast<std::size_t>(format));
}

PictureFile pictureFile(std::span<const std::byte> bytes)
{
    const Bytes read(bytes);
    if (read.says(0, kPngMark)) {
        return pngFile(read);
    }
    if (read.says(0, "\xFF\xD8\xFF")) {
        return JpegMarks(read).read();
    }
    if (read.says(0, "GIF8")) {
        return gifFile(bytes);
    }
    if (read.says(0, "RIFF") && read.says(8, "WEBP")) {
        return webpFile(bytes);
    }
    if (const TiffDirectory directory(bytes); directory.isThere()) {
        return tiffFile(bytes, directory);
    }
    return read.says(0, "BM") ? bmpFile(bytes) : PictureFile();
}

std::optional<PictureFile> pictureFile(const std::filesystem::path& path)
{
    const auto bytes = base::readFile(path, kMostPictureBytes);
    return bytes.ok() ? std::optional(pictureFile(*bytes)) : std::nullopt;
}

base::Result<void> checkPictureFile(const PictureFile& file, const std::string& where)
{
    if (!file.isComplete) {
        return base::inputError("the picture is damaged: it ends too early; get the whole file", where);
    }
    const std::int64_t pixels = std::int64_t{file.width} * file.height;
    if (pixels > kMaxPicturePixels) {
        return base::inputError("the picture has more than 64 million pixels; make it smaller first", where);
    }
    if (file.scans > kMostScans || (pixels > 0 && file.scans > kMostScannedPixels / pixels)) {
        return base::inputError(
            fmt::format("the JPEG goes over its {} × {} pixels {} times, which takes too long; save "
                        "it once more as a plain JPEG or as PNG",
                        file.width, file.height, file.scans),
            where);
    }
    return {};
}

} // namespace retro::formats
