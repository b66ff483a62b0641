// SPDX-License-Identifier: Apache-2.0
// PNG: ISO/IEC 15948; JPEG: ITU-T T.81; EXIF: the tag 0x0112 of its first directory.
#include "core/formats/picturefile.h"

#include "core/base/file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

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

/// The orientation in a TIFF directory; 1 where it says none.
int orientationOf(std::span<const std::byte> tiff)
{
    const Bytes head(tiff);
    if (!head.says(0, "II") && !head.says(0, "MM")) {
        return 1;
    }
    const Bytes bytes(tiff, head.says(0, "II"));
    const std::size_t directory = bytes.number(4, 4);
    const std::size_t count = bytes.number(directory, 2);
    constexpr std::size_t kEntry = 12;
    for (std::size_t i = 0; i < count && directory + 2 + (i + 1) * kEntry <= bytes.size(); ++i) {
        const std::size_t entry = directory + 2 + i * kEntry;
        if (bytes.number(entry, 2) == kOrientationTag) {
            const auto found = static_cast<int>(bytes.number(entry + 8, 2));
            return found >= 1 && found <= kMostOrientation ? found : 1;
        }
    }
    return 1;
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
            file.width = static_cast<int>(bytes.number(data, 4));
            file.height = static_cast<int>(bytes.number(data + 4, 4));
            file.hasTransparency = (bytes.at(data + 9) & kAlpha) != 0;
        } else if (bytes.says(at + 4, "tRNS")) {
            file.hasTransparency = true;
        } else if (bytes.says(at + 4, "eXIf")) {
            file.orientation = orientationOf(bytes.part(data, length));
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
            m_file.orientation = orientationOf(m_bytes.part(data + 6, length < 8 ? 0 : length - 8));
        }
    }

    const Bytes& m_bytes;
    PictureFile m_file;
    std::size_t m_at = 0;
};

} // namespace

PictureFile pictureFile(std::span<const std::byte> bytes)
{
    const Bytes read(bytes);
    if (read.says(0, kPngMark)) {
        return pngFile(read);
    }
    return read.says(0, "\xFF\xD8\xFF") ? JpegMarks(read).read() : PictureFile();
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
