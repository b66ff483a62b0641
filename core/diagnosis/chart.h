// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

/// How the numbers of a chart are drawn.
enum class ChartKind : std::uint8_t {
    None,      ///< there is no chart
    Bars,      ///< a bar per channel, class or token
    Histogram, ///< how often numbers occur
    Map,       ///< a table of sizes, as shades
    Rows       ///< short texts in a row, linked by arrows: what is here, and what the reference has
};
/// "none", "bars", "histogram", "map", "rows".
[[nodiscard]] std::string_view nameOf(ChartKind kind);

/// What shows that a finding is true, to be drawn. Plain numbers, few enough for a small picture.
struct Chart
{
    ChartKind kind = ChartKind::None;
    std::string title;                          ///< what is drawn, in a line
    std::vector<double> amounts;                ///< of Bars; counts of Histogram; of Map, row by row
    std::vector<std::string> names;             ///< of bars; empty: they are counted from 0
    std::vector<std::size_t> marked;            ///< bars, bins or cells that the finding is about
    bool isLogarithmic = false;                 ///< bars stand on a logarithmic scale
    double low = 0;                             ///< of Histogram: where the first bin begins
    double high = 0;                            ///< and the last one ends
    std::vector<double> limits;                 ///< of Histogram: numbers with a line; of Bars: heights with one
    std::size_t columns = 0;                    ///< of Map
    std::vector<std::vector<std::string>> rows; ///< of Rows: a caption, then what is linked
};

/// At most 48 bars: of more sizes each bar is the largest of a stretch, and what is marked stays in sight. Sizes that
/// are not finite count 0.
[[nodiscard]] Chart barsOf(std::string title, std::vector<double> sizes, const std::vector<std::size_t>& marked);
/// The same on a logarithmic scale.
[[nodiscard]] Chart logarithmicBarsOf(std::string title, std::vector<double> sizes,
                                      const std::vector<std::size_t>& marked);

/// 40 bins over the finite numbers and the limits. Bins are marked that lie, as a whole, below `from` or above `to`:
/// pairs of −∞ or +∞ mark nothing on that side. No chart of no numbers.
[[nodiscard]] Chart histogramOf(std::string title, const std::vector<double>& numbers, std::vector<double> limits,
                                std::pair<double, double> sound);

/// A table of `columns`, at most 32 × 32 cells: of a larger one each cell is the mean of an area. Above the diagonal
/// cells are marked where `marksAbove`. No chart of no numbers.
[[nodiscard]] Chart mapOf(std::string title, const std::vector<double>& sizes, std::size_t columns, bool marksAbove);

/// Rows of short texts: {"here", "gamma 0.05"}, {"reference", "z-plus"}.
[[nodiscard]] Chart rowsOf(std::string title, std::vector<std::vector<std::string>> rows);

} // namespace retro::diagnosis
