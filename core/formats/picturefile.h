// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace retro::formats
{

/// What the file of a picture says of it without its pixels.
struct PictureFile
{
    enum class Format : std::uint8_t { Other, Png, Jpeg, Bmp, Gif, Tiff, WebP };
    Format format = Format::Other;
    int width = 0; ///< as stored; of an animation the first picture
    int height = 0;
    int orientation = 1;          ///< EXIF, 1 … 8: how it is to be turned to be seen; 1 = as it is stored
    bool hasTransparency = false; ///< an alpha channel, or colours that are transparent
    bool isComplete = true;       ///< the mark of its end is there
    std::int64_t scans = 0;       ///< of a JPEG: how often it goes over its pixels
    int clearColour = -1;         ///< of a GIF: the number of the colour that is transparent; -1 = none
    std::size_t firstEnd = 0;     ///< of a GIF: where its first picture ends
    std::size_t turnAt = 0;       ///< of a TIFF: where the two bytes of its orientation lie; 0 = it has none
};

/// Largest picture that is decoded, in pixels.
inline constexpr std::int64_t kMaxPicturePixels = 64LL << 20;
/// Most scans times pixels of a JPEG that are decoded: a few seconds. Cameras and browsers write up to 20 scans.
inline constexpr std::int64_t kMostScannedPixels = std::int64_t{3} << 30;
/// Most scans of a JPEG, however small.
inline constexpr std::int64_t kMostScans = 500;

/// Endings of the names of pictures, in small letters, with their dots.
inline constexpr std::array<std::string_view, 8> kPictureEndings{".png", ".jpg", ".jpeg", ".bmp",
                                                                 ".gif", ".tif", ".tiff", ".webp"};
/// PNG, JPEG, BMP, …
[[nodiscard]] std::string_view nameOf(PictureFile::Format format);

/// Reads the marks of a PNG (IHDR, tRNS, eXIf, IEND), JPEG (SOF, SOS, EOI, EXIF in APP1), BMP (both headers), GIF
/// (blocks to the end of the first picture), TIFF (the first directory) or WebP (VP8, VP8L, VP8X, EXIF). Format::Other
/// for others.
[[nodiscard]] PictureFile pictureFile(std::span<const std::byte> bytes);
/// The same of a file; none where it cannot be read.
[[nodiscard]] std::optional<PictureFile> pictureFile(const std::filesystem::path& path);

/// Refuses what is cut off, has more than kMaxPicturePixels or would take minutes. Errors (Input); `where` is the file
/// in the message.
[[nodiscard]] base::Result<void> checkPictureFile(const PictureFile& file, const std::string& where);

} // namespace retro::formats
