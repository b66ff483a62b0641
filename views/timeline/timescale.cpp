// SPDX-License-Identifier: Apache-2.0
#include "views/timeline/timescale.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{
constexpr double kLeastSpan = 4;
}

std::uint32_t TimeScale::visitUnder(double pixel) const
{
    return static_cast<std::uint32_t>(std::clamp(std::floor(visitAt(pixel)), 0.0, std::max(0.0, count - 1)));
}

void TimeScale::fit()
{
    from = 0;
    to = std::max(1.0, count);
}

void TimeScale::clamp(double span)
{
    span = std::clamp(span, std::min(kLeastSpan, std::max(1.0, count)), std::max(1.0, count));
    from = std::clamp(from, 0.0, std::max(0.0, count - span));
    to = from + span;
}

void TimeScale::zoomAt(double pixel, double factor)
{
    const double fixed = visitAt(pixel);
    const double share = (pixel - left) / width;
    const double span =
        std::clamp((to - from) / factor, std::min(kLeastSpan, std::max(1.0, count)), std::max(1.0, count));
    from = fixed - share * span;
    clamp(span);
}

void TimeScale::show(double first, double last)
{
    const double span = std::max(last - first, kLeastSpan);
    from = (first + last - span) / 2;
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
    if (visit < from) {
        from = visit - span / 8;
    } else if (visit + 1 > to) {
        from = visit + 1 - span + span / 8;
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

} // namespace retro::views
