// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/run/timerange.h"

#include <QPixmap>
#include <QSize>

#include <cstdint>
#include <functional>
#include <optional>

class QPainter;

namespace retro::views
{

class Theme;

/// All that a kept picture of a timeline looks like depends on, but for the moment between two steps.
struct StillKey
{
    QSize size;
    double pixelRatio = 1;
    const Theme* theme = nullptr;
    double fontScale = 1;
    double from = 0; ///< visits in sight
    double to = 0;
    std::optional<VisitRange> range;
    std::uint64_t content = 0; ///< another number for another run or other marks
    std::uint64_t state = 0;   ///< and for what it shows of the state at the cursor
    std::uint32_t lens = 0;    ///< first visit of the lens …
    std::uint32_t visit = 0;   ///< … and the one that it names
    bool operator==(const StillKey&) const = default;
};

/// What stands still while the cursor moves, painted once and kept as pixels. GUI thread.
class StillPicture
{
public:
    /// Draws the picture at the origin; `paint` makes it when there is none of this key.
    void draw(QPainter& painter, const StillKey& key, const std::function<void(QPainter&)>& paint);
    /// The next draw() paints anew.
    void drop() { m_key.reset(); }
    /// How often the picture was painted.
    [[nodiscard]] int paintings() const { return m_paintings; }

private:
    std::optional<StillKey> m_key;
    QPixmap m_pixels;
    int m_paintings = 0;
};

} // namespace retro::views
