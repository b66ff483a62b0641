// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "views/common/paint/picture.h"

#include <QSizeF>

#include <filesystem>
#include <functional>

class QPainter;

namespace retro::views
{

/// Largest side and number of pixels of a written PNG.
inline constexpr int kMaxPngSide = 32'000;
inline constexpr std::int64_t kMaxPngPixels = 400LL << 20;

/// Writes a drawing of `size` (design pixels) as .png or .jpg (times `pngScale`), .svg or .pdf, through a temporary
/// name, so that a failure leaves nothing half-written. The same painter draws all three. Needs a QGuiApplication when
/// it draws text. `title` and `texts` go into the file as far as the format can hold them. Errors: Usage (ending, too
/// large for PNG), Output.
[[nodiscard]] base::Result<void> paintToFile(const std::filesystem::path& path, const QSizeF& size,
                                             const std::function<void(QPainter&)>& paint, const QString& title,
                                             const PictureTexts& texts = {}, double pngScale = 1);

} // namespace retro::views
