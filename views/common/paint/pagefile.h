// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/paintfile.h"

#include <string>

namespace retro::views
{

/// As paintToFile(), and .html too: a page that needs no other file, with the drawing, the texts, and `table`, lines of
/// comma-separated values of which the first one has the columns. Errors: as paintToFile().
[[nodiscard]] base::Result<void> paintPage(const std::filesystem::path& path, const QSizeF& size,
                                           const std::function<void(QPainter&)>& paint, const QString& title,
                                           const PictureTexts& texts, double pngScale, const std::string& table);

} // namespace retro::views
