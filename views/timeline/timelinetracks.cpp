// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timelinetracks.h"

#include <cmath>
#include <limits>

namespace retro::views
{

namespace
{

constexpr double kLeastSpan = 4;
constexpr double kFoldShare = 0.04; // of the visits behind

/// Distances of the charts, in design pixels.
struct ChartSpacing
{
    double leastChart = 24; ///< lower than this a third chart would say nothing
    double legend = 34;     ///< from the top of the markers to the first chart; its legend has a line of its own
    double gap = 18;        ///< between frontier and bytes
    double depthGap = 18;   ///< above the third chart, with its legend
};
constexpr ChartSpacing kRoomy{};
constexpr ChartSpacing kTight{18, 31, 14, 17};

constexpr double kEventsGap = 6;   // between the events and the line of words above the frontier
constexpr double kEventsRise = 12; // the events need no such line above them
constexpr double kLensNeck = 16;   // from the charts to the cells of the lens
constexpr double kLensCells = 16;
constexpr double kLensAxis = 18;

/// By frontier and bytes, without the third chart.
double neededByTwo(const ChartSpacing& spacing) { return spacing.legend + 2 * spacing.leastChart + spacing.gap; }

double needed(const ChartSpacing& spacing)
{
    return spacing.legend + 3 * spacing.leastChart + spacing.gap + spacing.depthGap;
}

/// Fulfilment tells more than search, search more than normal.
int weightOf(event::Mode mode) { return static_cast<int>(mode); }

struct VisibleRange
{
    std::size_t first = 0;
    std::size_t last = 0;
};

/// Without those that are folded.
VisibleRange visible(const TimeScale& scale, std::size_t count)
{
    const auto first = static_cast<std::size_t>(std::max(scale.folded, std::floor(scale.visitOf(scale.from))));
    const auto last = static_cast<std::size_t>(std::max(0.0, std::ceil(scale.visitOf(scale.to))));
    return {std::min(first, count), std::min(last, count)};
}

/// First visit right of pixel column `column`.
std::size_t columnEnd(const TimeScale& scale, double pixel, std::size_t last)
{
    const double visit = std::ceil(scale.visitAt(pixel));
    return std::min(last, static_cast<std::size_t>(std::max(0.0, visit)));
}

} // namespace

double TimeScale::foldedLength() const { return std::min(folded, std::max(1.0, kFoldShare * (count - folded))); }

double TimeScale::lengthTo(double visit) const
{
    return folded > 0 && visit < folded ? visit / folded * foldedLength() : visit - folded + foldedLength();
}

double TimeScale::visitOf(double length) const
{
    const double fold = foldedLength();
    return folded > 0 && length < fold ? length / fold * folded : length - fold + folded;
}

std::uint32_t TimeScale::visitUnder(double pixel) const
{
    return static_cast<std::uint32_t>(std::clamp(std::floor(visitAt(pixel)), 0.0, std::max(0.0, count - 1)));
}

void TimeScale::fit()
{
    from = 0;
    to = length();
}

void TimeScale::clamp(double span)
{
    span = std::clamp(span, std::min(kLeastSpan, length()), length());
    from = std::clamp(from, 0.0, length() - span);
    to = from + span;
}

void TimeScale::zoomAt(double pixel, double factor)
{
    const double share = (pixel - left) / width;
    const double fixed = from + share * (to - from);
    const double span = std::clamp((to - from) / factor, std::min(kLeastSpan, length()), length());
    from = fixed - share * span;
    clamp(span);
}

void TimeScale::show(double first, double last)
{
    const double span = std::max(lengthTo(last) - lengthTo(first), kLeastSpan);
    from = (lengthTo(first) + lengthTo(last) - span) / 2;
    clamp(span);
}

void TimeScale::pan(double pixels)
{
    const double span = to - from;
    from += pixels / pixelsPerVisit();
    clamp(span);
}

void TimeScale::reveal(double visit)
{
    const double span = to - from;
    if (const double begin = lengthTo(visit); begin < from) {
        from = begin - span / 8;
    } else if (const double end = lengthTo(visit + 1); end > to) {
        from = end - span + span / 8;
    }
    clamp(span);
}

std::uint32_t rulerStep(double pixelsPerVisit, double least)
{
    for (double power = 1; power < 1e9; power *= 10) {
        for (const double digit : {1.0, 2.0, 5.0}) {
            if (digit * power * pixelsPerVisit >= least) {
                return static_cast<std::uint32_t>(digit * power);
            }
        }
    }
    return 1'000'000'000;
}

double axisTop(double value)
{
    if (value <= 1) {
        return 1;
    }
    const double power = std::pow(10.0, std::floor(std::log10(value)));
    for (const double digit : {1.0, 2.0, 4.0, 5.0, 10.0}) {
        if (digit * power >= value) {
            return digit * power;
        }
    }
    return 10 * power;
}

TimelineTracks layoutTracks(double width, double height, double fontScale, std::uint32_t promiseRows,
                            std::uint32_t lensRows)
{
    const double s = fontScale;
    TimelineTracks tracks;
    tracks.labelWidth = 92 * s;
    const double right = 14 * s;
    const double left = tracks.labelWidth;
    const double inner = std::max(10.0, width - left - right);
    double y = 4 * s;
    tracks.ruler = {left, y, inner, 18 * s};
    y += 20 * s;
    tracks.modes = {left, y, inner, 18 * s};
    y += 22 * s;
    tracks.markers = {left, y, inner, 16 * s};
    double room = height - y - 8 * s;
    const double below = kLensNeck + kLensCells + 2 + lensRows * kPromiseRow + kLensAxis;
    if (lensRows > 0 && room >= (neededByTwo(kTight) + below) * s) {
        room -= below * s;
        const double top = height - 4 * s - (below - kLensNeck) * s;
        tracks.lens = {left, top, inner, kLensCells * s};
        tracks.lensPromises = {left, tracks.lens.bottom() + 2 * s, inner, lensRows * kPromiseRow * s};
        tracks.lensAxis = {left, tracks.lensPromises.bottom(), inner, kLensAxis * s};
        promiseRows = 0;
    }
    const double rows = promiseRows * kPromiseRow * s;
    if (promiseRows > 0 && room - rows >= needed(kRoomy) * s) {
        tracks.promises = {left, y + 18 * s, inner, rows};
        y += rows + 4 * s;
        room -= rows + 4 * s;
    }
    const ChartSpacing& spacing = room >= needed(kRoomy) * s ? kRoomy : kTight;
    const bool hasDepth = room >= needed(spacing) * s;
    const bool hasEvents = room >= (needed(kRoomy) + kRoomy.leastChart + kEventsGap) * s;
    const double above = hasEvents ? kEventsGap * s : 0;
    y += spacing.legend * s;
    const double gaps = (spacing.gap + (hasDepth ? spacing.depthGap : 0)) * s;
    const double rest = std::max(40 * s, room - spacing.legend * s - above);
    const double chart = std::max(16 * s, (rest - gaps) / (2 + (hasDepth ? 1 : 0) + (hasEvents ? 1 : 0)));
    if (hasEvents) { // above the line of words that the frontier has
        tracks.events = {left, y - kEventsRise * s, inner, chart};
        y += above + chart;
    }
    tracks.frontier = {left, y, inner, chart};
    tracks.bytes = {left, y + chart + spacing.gap * s, inner, chart};
    if (hasDepth) {
        tracks.depth = {left, tracks.bytes.bottom() + spacing.depthGap * s, inner, chart};
    }
    return tracks;
}

/// Neighbours of one mode as one cell.
static std::vector<ModeCell> wideCells(const std::vector<event::Mode>& modes, const TimeScale& scale,
                                       const VisibleRange& range)
{
    std::vector<ModeCell> cells;
    for (std::size_t i = range.first; i < range.last;) {
        std::size_t end = i + 1;
        while (end < range.last && modes[end] == modes[i]) {
            ++end;
        }
        cells.push_back({scale.x(static_cast<double>(i)), scale.x(static_cast<double>(end)), modes[i],
                         static_cast<std::uint32_t>(end - i)});
        i = end;
    }
    return cells;
}

std::vector<ModeCell> modeCells(const std::vector<event::Mode>& modes, const TimeScale& scale)
{
    const VisibleRange range = visible(scale, modes.size());
    if (scale.pixelsPerVisit() >= 1) {
        return wideCells(modes, scale, range);
    }
    std::vector<ModeCell> cells;
    std::size_t i = range.first;
    for (double pixel = std::floor(scale.left); pixel < scale.left + scale.width && i < range.last; ++pixel) {
        const std::size_t end = columnEnd(scale, pixel + 1, range.last);
        if (end <= i) {
            continue;
        }
        const auto heaviest = std::max_element(modes.begin() + static_cast<std::ptrdiff_t>(i),
                                               modes.begin() + static_cast<std::ptrdiff_t>(end),
                                               [](event::Mode a, event::Mode b) { return weightOf(a) < weightOf(b); });
        cells.push_back({pixel, pixel + 1, *heaviest, static_cast<std::uint32_t>(end - i)});
        i = end;
    }
    return cells;
}

std::vector<StepPoint> stepPoints(const std::vector<double>& values, const TimeScale& scale)
{
    std::vector<StepPoint> points;
    const VisibleRange range = visible(scale, values.size());
    if (scale.pixelsPerVisit() >= 1) {
        for (std::size_t i = range.first; i < range.last; ++i) {
            points.push_back({scale.x(static_cast<double>(i)), scale.x(static_cast<double>(i + 1)), values[i]});
        }
        return points;
    }
    std::size_t i = range.first;
    for (double pixel = std::floor(scale.left); pixel < scale.left + scale.width && i < range.last; ++pixel) {
        const std::size_t end = columnEnd(scale, pixel + 1, range.last);
        if (end > i) {
            points.push_back({pixel, pixel + 1,
                              *std::max_element(values.begin() + static_cast<std::ptrdiff_t>(i),
                                                values.begin() + static_cast<std::ptrdiff_t>(end))});
            i = end;
        }
    }
    return points;
}

double cursorVisit(const trace::Run& run, std::uint64_t position)
{
    if (run.visitStart.empty() || position <= run.visitStart.front()) {
        return 0;
    }
    return run.visitOf(position - 1) + 0.5;
}

double cursorVisit(const trace::Run& run, const trace::Pace& pace, double moment)
{
    const auto position = static_cast<std::uint64_t>(moment);
    if (static_cast<double>(position) == moment || run.visitStart.empty() || position < run.visitStart.front()) {
        return cursorVisit(run, position);
    }
    const std::uint32_t visit = run.visitOf(position);
    const double share = pace.share(moment, run.visitStart[visit], run.endOfVisit(visit));
    return std::max(0.0, visit + share - 0.5);
}

std::vector<ModeShare> modeShares(const std::vector<event::Mode>& modes, const TimeScale& scale)
{
    std::vector<ModeShare> columns;
    if (scale.pixelsPerVisit() >= 1) {
        return columns;
    }
    const VisibleRange range = visible(scale, modes.size());
    std::size_t i = range.first;
    for (double pixel = std::floor(scale.left); pixel < scale.left + scale.width && i < range.last; ++pixel) {
        const std::size_t end = columnEnd(scale, pixel + 1, range.last);
        if (end <= i) {
            continue;
        }
        ModeShare column{pixel, {}};
        for (; i < end; ++i) {
            ++column.counts[static_cast<std::size_t>(modes[i])];
        }
        columns.push_back(column);
    }
    return columns;
}

StretchFigures stretchFigures(const trace::Run& run, const trace::VisitSeries& series, std::uint32_t first,
                              std::uint32_t last)
{
    StretchFigures out;
    if (first > last || last >= series.mode.size()) {
        return out;
    }
    out.leastFrontier = std::numeric_limits<std::uint32_t>::max();
    double sum = 0;
    for (std::size_t visit = first; visit <= last; ++visit) {
        ++out.visits[static_cast<std::size_t>(series.mode[visit])];
        const std::uint32_t frontier = series.frontierLanded[visit] + series.frontierHeld[visit];
        out.leastFrontier = std::min(out.leastFrontier, frontier);
        out.mostFrontier = std::max(out.mostFrontier, frontier);
        out.mostBytes = std::max(out.mostBytes, series.frontierBytes[visit]);
        sum += frontier;
    }
    out.meanFrontier = sum / (static_cast<double>(last) - first + 1);
    const std::uint64_t begin = run.visitStart[first];
    const std::uint64_t end = run.endOfVisit(last);
    const auto between = [&](const std::vector<std::uint64_t>& steps) {
        return static_cast<std::uint64_t>(std::ranges::lower_bound(steps, end) -
                                          std::ranges::lower_bound(steps, begin));
    };
    out.opened = between(series.promisesOpened);
    out.fulfilled = between(series.promisesCompleted);
    return out;
}

} // namespace retro::views
