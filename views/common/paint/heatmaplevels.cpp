// SPDX-License-Identifier: Apache-2.0
#include "views/common/paint/heatmaplevels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace retro::views
{

QImage levelsOf(const Plane& plane, double limit)
{
    QImage image(plane.width, plane.height, QImage::Format_Grayscale16);
    std::size_t i = 0;
    for (int y = 0; y < plane.height; ++y) {
        auto* row = reinterpret_cast<quint16*>(image.scanLine(y));
        for (int x = 0; x < plane.width; ++x, ++i) {
            const double unit = limit > 0 ? std::clamp(plane.values[i] / limit, -1.0, 1.0) : 0;
            row[x] = std::isfinite(plane.values[i])
                         ? static_cast<quint16>(kZeroLevel + std::lround(kLevelsAside * unit))
                         : quint16{0};
        }
    }
    return image;
}

base::Result<void> writeLevels(const std::filesystem::path& path, const Plane& plane, PictureTexts texts)
{
    if (path.extension() != ".png") {
        return base::usageError("levels of 16 bits are written as .png", path.string());
    }
    const double limit = symmetricScale(plane.values).limit;
    texts["scale"] = fmt::format("{}", limit);
    texts["levels"] = fmt::format("R = (level - {}) * scale / {}; level 0: not a number", kZeroLevel, kLevelsAside);
    return writePicture(path, levelsOf(plane, limit), texts);
}

} // namespace retro::views
