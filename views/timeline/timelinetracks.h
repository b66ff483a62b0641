// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/pace.h"
#include "core/trace/timeline.h"

#include <QRectF>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace retro::views
{

/// Visits ↔ pixels for every track of the timeline. Visit v covers [v, v + 1); a part of the run may be zoomed in.
/// The first `folded` visits may share a narrow stretch; all lengths below count in the visits behind them. Plain
/// values, no widgets.
struct TimeScale
{
    double left = 0;   ///< pixel of `from`
    double width = 1;  ///< pixels
    double from = 0;   ///< first visible visit
    double to = 1;     ///< one past the last visible visit
    double count = 1;  ///< visits of the run
    double folded = 0; ///< visits at its start that are folded; 0 = none

    /// Of a visit that is not folded.
    [[nodiscard]] double pixelsPerVisit() const { return width / (to - from); }
    [[nodiscard]] double x(double visit) const { return left + (lengthTo(visit) - from) * pixelsPerVisit(); }
    [[nodiscard]] double visitAt(double pixel) const { return visitOf(from + (pixel - left) / pixelsPerVisit()); }
    /// What the visits before this one take, in visits that are not folded; and the other way round.
    [[nodiscard]] double lengthTo(double visit) const;
    [[nodiscard]] double visitOf(double length) const;
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
    /// Of the folded visits.
    [[nodiscard]] double foldedLength() const;
    [[nodiscard]] double length() const { return std::max(1.0, lengthTo(count)); }
};

/// Distance of ruler marks (1, 2 or 5 times a power of ten) that are at least `least` pixels apart.
[[nodiscard]] std::uint32_t rulerStep(double pixelsPerVisit, double least);

/// A round number at or above `value` for the top of an axis: 1, 2, 4, 5 or 10 times a power of ten.
[[nodiscard]] double axisTop(double value);

/// Where the tracks of the timeline lie in a pane; all lengths in pixels. Made from the pane's size and the font alone.
struct TimelineTracks
{
    double labelWidth = 0;
    QRectF ruler;
    QRectF modes;
    QRectF markers;
    QRectF promises; ///< a row for each that is open at once; empty without promises, and in a low pane
    QRectF events;   ///< of each visit; empty when the pane is too low for a fourth chart
    QRectF frontier;
    QRectF bytes;
    QRectF depth; ///< stacks and queue; empty when the pane is too low for it
    QRectF lens;  ///< single visits around the cursor; empty in a short run and in a low pane
    QRectF lensPromises;
    QRectF lensAxis;
    /// Bottom of the lowest chart.
    [[nodiscard]] double bottom() const { return depth.isEmpty() ? bytes.bottom() : depth.bottom(); }
};

/// Height of a row of promises, in design pixels.
inline constexpr double kPromiseRow = 12;

/// Lays the tracks out; the charts share what the fixed rows leave. Promises have their rows when all charts have room
/// beside them; in a long run with a lens (`lensRows` > 0) they have them there.
[[nodiscard]] TimelineTracks layoutTracks(double width, double height, double fontScale, std::uint32_t promiseRows = 0,
                                          std::uint32_t lensRows = 0);

/// Neighbouring visits of one mode, or (when visits are thinner than a pixel) one pixel column with its most telling
/// mode.
struct ModeCell
{
    double left = 0;
    double right = 0;
    event::Mode mode = event::Mode::None;
    std::uint32_t count = 1;
};

/// Cells of the visible part of the mode strip.
[[nodiscard]] std::vector<ModeCell> modeCells(const std::vector<event::Mode>& modes, const TimeScale& scale);

/// A column of pixels of the mode strip where visits are thinner than a pixel: how many there are of each mode.
struct ModeShare
{
    double left = 0;
    std::array<std::uint32_t, 4> counts{}; ///< by event::Mode
    [[nodiscard]] std::uint32_t total() const { return counts[0] + counts[1] + counts[2] + counts[3]; }
};
/// Columns of the visible part; empty while a visit is a pixel wide or more.
[[nodiscard]] std::vector<ModeShare> modeShares(const std::vector<event::Mode>& modes, const TimeScale& scale);

/// Counts of a stretch of visits.
struct StretchFigures
{
    std::array<std::uint32_t, 4> visits{}; ///< by event::Mode
    std::uint32_t leastFrontier = 0;       ///< tensors, after a visit
    std::uint32_t mostFrontier = 0;
    double meanFrontier = 0;
    std::int64_t mostBytes = 0;
    std::uint64_t opened = 0; ///< promises
    std::uint64_t fulfilled = 0;
};
/// Of the visits first … last, both included and within the run. O(visits in it).
[[nodiscard]] StretchFigures stretchFigures(const trace::Run& run, const trace::VisitSeries& series,
                                            std::uint32_t first, std::uint32_t last);

/// Highest value per visible visit or pixel column, for step curves.
struct StepPoint
{
    double left = 0;
    double right = 0;
    double value = 0;
};

/// `values` holds one number per visit.
[[nodiscard]] std::vector<StepPoint> stepPoints(const std::vector<double>& values, const TimeScale& scale);

/// Where the cursor line stands for a position of the run: the middle of the visit that it is in, the very start before
/// the first event.
[[nodiscard]] double cursorVisit(const trace::Run& run, std::uint64_t position);
/// The same of a moment between two positions: the line glides from the middle of a visit to that of the next.
[[nodiscard]] double cursorVisit(const trace::Run& run, const trace::Pace& pace, double moment);

} // namespace retro::views
