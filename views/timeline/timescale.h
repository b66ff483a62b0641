// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace retro::views
{

/// Visits ↔ pixels for every track of the timeline. Visit v covers [v, v + 1); a part of the run may be zoomed in.
/// Plain values, no widgets.
struct TimeScale
{
    double left = 0;  ///< pixel of `from`
    double width = 1; ///< pixels
    double from = 0;  ///< first visible visit
    double to = 1;    ///< one past the last visible visit
    double count = 1; ///< visits of the run

    [[nodiscard]] double pixelsPerVisit() const { return width / (to - from); }
    [[nodiscard]] double x(double visit) const { return left + (visit - from) * pixelsPerVisit(); }
    [[nodiscard]] double visitAt(double pixel) const { return from + (pixel - left) / pixelsPerVisit(); }
    /// The visit under a pixel, clamped to the run.
    [[nodiscard]] std::uint32_t visitUnder(double pixel) const;

    /// Shows the whole run.
    void fit();
    /// Shows [first, last), or the four visits around it when it is narrower.
    void show(double first, double last);
    /// Zooms by `factor` (> 1 = in) so that the visit under `pixel` stays there; never below 4 visits, never beyond the
    /// run.
    void zoomAt(double pixel, double factor);
    /// Moves the visible part by pixels.
    void pan(double pixels);
    /// Moves the visible part so that a visit is in sight.
    void reveal(double visit);

private:
    void clamp(double span);
};

/// Distance of ruler marks (1, 2 or 5 times a power of ten) that are at least `least` pixels apart.
[[nodiscard]] std::uint32_t rulerStep(double pixelsPerVisit, double least);

/// A round number at or above `value` for the top of an axis: 1, 2, 4, 5 or 10 times a power of ten.
[[nodiscard]] double axisTop(double value);

} // namespace retro::views
