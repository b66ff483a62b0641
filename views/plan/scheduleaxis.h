// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::views
{

/// Steps ↔ pixels, or tensors ↔ pixels; a part may be zoomed in. Item i covers [i, i + 1). Plain values, no widgets.
struct ScheduleAxis
{
    double origin = 0; ///< pixel of `from`
    double length = 1; ///< pixels
    double from = 0;   ///< first visible item
    double to = 1;     ///< one past the last visible item
    double count = 1;  ///< of all items

    [[nodiscard]] double pitch() const { return length / (to - from); }
    [[nodiscard]] double pixel(double item) const { return origin + (item - from) * pitch(); }
    [[nodiscard]] double itemAt(double pixelAt) const { return from + (pixelAt - origin) / pitch(); }
    [[nodiscard]] bool holds(double pixelAt) const { return pixelAt >= origin && pixelAt < origin + length; }
    /// The item under a pixel, clamped.
    [[nodiscard]] std::uint32_t itemUnder(double pixelAt) const;
    [[nodiscard]] bool isWhole() const { return from <= 0 && to >= count; }

    /// Another number of items; shows all of them when it did so before, else about the same part.
    void setCount(double items);
    void fit();
    /// Zooms by `factor` (> 1 = in) so that what is under the pixel stays there; never below four items.
    void zoomAt(double pixelAt, double factor);
    void pan(double pixels);
    /// Moves the visible part so that an item is in sight.
    void reveal(double item);

private:
    void clamp(double span);
};

/// Distance of marks (1, 2 or 5 times a power of ten) that are at least `least` pixels apart.
[[nodiscard]] double markStep(double pixelsPerUnit, double least);

} // namespace retro::views
