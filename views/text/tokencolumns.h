// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>

namespace retro::views
{

class TextFocus;

/// Where the columns of tokens lie in a pane: behind a column of names, in front of one of sums. Plain geometry; panes
/// of the same width have the same columns, so that they stand below each other.
struct TokenColumns
{
    double names = 0; ///< width of the column of names
    double sums = 0;  ///< of that of sums
    double room = 0;  ///< pixels between the two
    double width = 1; ///< of a column
    double left = 0;  ///< the first column in sight
    int count = 0;

    [[nodiscard]] static TokenColumns of(const TextFocus& focus, double paneWidth);

    [[nodiscard]] double xOf(double token) const { return names + (token - left) * width; }
    /// Token below a place; −1 outside.
    [[nodiscard]] int tokenAt(double x) const;
    /// First token in sight, and the one behind the last.
    [[nodiscard]] int first() const;
    [[nodiscard]] int last() const;
    /// The largest `left` that makes sense.
    [[nodiscard]] double mostLeft() const;
    /// Where columns may be drawn between two heights.
    [[nodiscard]] QRectF area(double top, double bottom) const { return {names, top, room, bottom - top}; }
};

} // namespace retro::views
