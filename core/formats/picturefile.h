// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace retro::formats
{

/// What the file of a picture says of it without its pixels.
struct PictureFile
{
    enum class Format : std::uint8_t { Other, Png, Jpeg };
    Format format = Format::Other;
    int width = 0; ///< as stored
    int height = 0;
    int orientation = 1;          ///< EXIF, 1 … 8: how it is to be turned to be seen; 1 = as it is stored
    bool hasTransparency = false; ///< an alpha channel, or colours that are transparent
    bool isComplete = true;       ///< the mark of its end is there
    std::int64_t scans = 0;       ///< of a JPEG: how often it goes over its pixels
};

/// Most scans times pixels of a JPEG that are decoded: a few seconds. Cameras and browsers write up to 20 scans.
inline constexpr std::int64_t kMostScannedPixels = std::int64_t{3} << 30;
/// Most scans of a JPEG, however small.
inline constexpr std::int64_t kMostScans = 500;

/// Reads the marks of a PNG (IHDR, tRNS, eXIf, IEND) or JPEG (SOF, SOS, EOI, EXIF in APP1). Format::Other for others.
[[nodiscard]] PictureFile pictureFile(std::span<const std::byte> bytes);
/// The same of a file; none where it cannot be read.
[[nodiscard]] std::optional<PictureFile> pictureFile(const std::filesystem::path& path);

/// Refuses what is cut off and what would take minutes. Errors (Input); `where` is the file in the message.
[[nodiscard]] base::Result<void> checkPictureFile(const PictureFile& file, const std::string& where);

} // namespace retro::formats
