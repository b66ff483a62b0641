// SPDX-License-Identifier: Apache-2.0
#include "views/text/tokencolumns.h"

#include "views/common/paint/fonts.h"
#include "views/text/textfocus.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kNames = 112;
constexpr double kSums = 116;
constexpr double kLeastColumn = 52; // a figure fits
constexpr double kMostColumn = 220;

} // namespace

TokenColumns TokenColumns::of(const TextFocus& focus, double paneWidth)
{
    TokenColumns columns;
    columns.count = focus.hasText() ? focus.tokenCount() : 0;
    columns.names = fonts::px(kNames);
    columns.sums = fonts::px(kSums);
    columns.room = std::max(1.0, paneWidth - columns.names - columns.sums);
    const double fitted = columns.room / std::max(1, columns.count);
    columns.width = focus.columnWidth() > 0
                        ? focus.columnWidth()
                        : std::clamp<double>(fitted, fonts::px(kLeastColumn), fonts::px(kMostColumn));
    columns.left = std::clamp(focus.left(), 0.0, columns.mostLeft());
    return columns;
}

int TokenColumns::tokenAt(double x) const
{
    if (x < names || x >= names + room) {
        return -1;
    }
    const auto token = static_cast<int>(std::floor(left + (x - names) / width));
    return token >= 0 && token < count ? token : -1;
}

int TokenColumns::first() const { return std::clamp(static_cast<int>(std::floor(left)), 0, count); }

int TokenColumns::last() const { return std::clamp(static_cast<int>(std::ceil(left + room / width)), 0, count); }

double TokenColumns::mostLeft() const { return std::max(0.0, count - room / width); }

} // namespace retro::views
