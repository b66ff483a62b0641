// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/picture.h"
#include "views/common/paint/plane.h"

namespace retro::views
{

/// Level of zero; level 0 stands for what is no number.
inline constexpr int kZeroLevel = 32'768;
inline constexpr int kLevelsAside = 32'767; ///< from zero to the largest value

/// Relevance as grey levels of 16 bits, one pixel per value: level = 32768 + 32767 · R / `limit`, rounded. Nothing is
/// clipped when `limit` is the largest |R|. NaN and infinities become 0.
[[nodiscard]] QImage levelsOf(const Plane& plane, double limit);

/// Writes levelsOf() the largest |R| as .png. Beside `texts` its text chunks say what a level means: "scale" (the
/// largest |R|, with all its digits) and "levels" (the formula). Errors: Usage (ending), Output.
[[nodiscard]] base::Result<void> writeLevels(const std::filesystem::path& path, const Plane& plane, PictureTexts texts);

} // namespace retro::views
