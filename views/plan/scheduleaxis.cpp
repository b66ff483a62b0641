// SPDX-License-Identifier: Apache-2.0
#include "views/plan/scheduleaxis.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{
constexpr double kLeastSpan = 4;
} // namespace

std::uint32_t ScheduleAxis::itemUnder(double pixelAt) const
{
    return static_cast<std::uint32_t>(std::clamp(std::floor(itemAt(pixelAt)), 0.0, std::max(0.0, count - 1)));
}

void ScheduleAxis::setCount(double items)
{
    const bool wasWhole = isWhole();
    const double share = items / count;
    count = std::max(1.0, items);
    if (wasWhole) {
        fit();
        return;
    }
    const double span = (to - from) * share;
    from *= share;
    to = from + span;
    clamp(span);
}

void ScheduleAxis::fit()
{
    from = 0;
    to = count;
}

void ScheduleAxis::zoomAt(double pixelAt, double factor)
{
    const double fixed = std::clamp(itemAt(pixelAt), from, to);
    const double span = std::clamp((to - from) / factor, std::min(kLeastSpan, count), count);
    from = fixed - (fixed - from) / (to - from) * span;
    to = from + span;
    clamp(span);
}

void ScheduleAxis::pan(double pixels)
{
    const double span = to - from;
    from -= pixels / pitch();
    to = from + span;
    clamp(span);
}

void ScheduleAxis::reveal(double item)
{
    const double span = to - from;
    if (item < from || item + 1 > to) {
        from = item + 0.5 - span / 2;
        to = from + span;
        clamp(span);
    }
}

void ScheduleAxis::clamp(double span)
{
    span = std::clamp(span, std::min(kLeastSpan, count), count);
    from = std::clamp(from, 0.0, count - span);
    to = from + span;
}

double markStep(double pixelsPerUnit, double least)
{
    if (pixelsPerUnit <= 0) {
        return 1;
    }
    const double wanted = least / pixelsPerUnit;
    double power = std::pow(10.0, std::floor(std::log10(std::max(wanted, 1e-300))));
    for (const double digit : {1.0, 2.0, 5.0, 10.0}) {
        if (digit * power >= wanted) {
            return digit * power;
        }
    }
    return 10 * power;
}

} // namespace retro::views
