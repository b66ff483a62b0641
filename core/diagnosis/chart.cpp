// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/chart.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::diagnosis
{

namespace
{

constexpr std::size_t kMostBars = 48;
constexpr std::size_t kBins = 40;
constexpr std::size_t kMostSide = 32; // per side

double finiteOr0(double number) { return std::isfinite(number) ? number : 0; }

/// The stretch that position `at` of `all` belongs to, of `count` stretches.
std::size_t stretchOf(std::size_t at, std::size_t all, std::size_t count) { return at * count / all; }

/// Half the width of a histogram, of which the bins are parts: the whole width of all floats overflows.
double halfWidth(const Chart& chart) { return chart.high / 2 - chart.low / 2; }

void fillBins(Chart& chart, const std::vector<double>& numbers)
{
    chart.amounts.assign(kBins, 0);
    const double half = halfWidth(chart);
    for (const double number : numbers) {
        if (std::isfinite(number)) {
            const double at = (number / 2 - chart.low / 2) / half * static_cast<double>(kBins);
            chart.amounts[std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, at)))] += 1;
        }
    }
}

/// Marks the bins that lie outside what is sound.
void markBins(Chart& chart, std::pair<double, double> sound)
{
    const double half = halfWidth(chart);
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        const double begin = chart.low + 2 * half * static_cast<double>(bin) / static_cast<double>(kBins);
        const double end = chart.low + 2 * half * static_cast<double>(bin + 1) / static_cast<double>(kBins);
        const double slack = 2 * half * 1e-9;
        if (end <= sound.first + slack || begin >= sound.second - slack) {
            chart.marked.push_back(bin);
        }
    }
}

} // namespace

std::string_view nameOf(ChartKind kind)
{
    static constexpr std::array<std::string_view, 5> kNames{"none", "bars", "histogram", "map", "rows"};
    return kNames[static_cast<std::size_t>(kind)];
}

Chart barsOf(std::string title, std::vector<double> sizes, const std::vector<std::size_t>& marked)
{
    Chart chart;
    if (sizes.empty()) {
        return chart;
    }
    chart.kind = ChartKind::Bars;
    chart.title = std::move(title);
    const std::size_t count = std::min(sizes.size(), kMostBars);
    chart.amounts.assign(count, 0);
    std::vector<bool> isSet(count, false);
    const auto take = [&](std::size_t i) {
        const std::size_t bar = stretchOf(i, sizes.size(), count);
        const double size = finiteOr0(sizes[i]);
        chart.amounts[bar] = isSet[bar] && std::abs(chart.amounts[bar]) >= std::abs(size) ? chart.amounts[bar] : size;
        isSet[bar] = true;
    };
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        take(i);
    }
    for (const std::size_t one : marked) {
        if (one < sizes.size()) {
            const std::size_t bar = stretchOf(one, sizes.size(), count);
            chart.amounts[bar] = finiteOr0(sizes[one]);
            if (chart.marked.empty() || chart.marked.back() != bar) {
                chart.marked.push_back(bar);
            }
        }
    }
    return chart;
}

Chart logarithmicBarsOf(std::string title, std::vector<double> sizes, const std::vector<std::size_t>& marked)
{
    Chart chart = barsOf(std::move(title), std::move(sizes), marked);
    chart.isLogarithmic = true;
    return chart;
}

Chart histogramOf(std::string title, const std::vector<double>& numbers, std::vector<double> limits,
                  std::pair<double, double> sound)
{
    Chart chart;
    bool isAny = false;
    const auto widen = [&](double number) {
        if (std::isfinite(number)) {
            chart.low = isAny ? std::min(chart.low, number) : number;
            chart.high = isAny ? std::max(chart.high, number) : number;
            isAny = true;
        }
    };
    std::ranges::for_each(numbers, widen);
    if (!isAny) {
        return {};
    }
    std::ranges::for_each(limits, widen);
    if (!(chart.high > chart.low)) {
        const double around = chart.low == 0 ? 1 : std::abs(chart.low) / 2;
        chart.low -= around;
        chart.high += around;
    }
    chart.kind = ChartKind::Histogram;
    chart.title = std::move(title);
    chart.limits = std::move(limits);
    fillBins(chart, numbers);
    markBins(chart, sound);
    return chart;
}

Chart mapOf(std::string title, const std::vector<double>& sizes, std::size_t columns, bool marksAbove)
{
    Chart chart;
    const std::size_t rows = columns == 0 ? 0 : sizes.size() / columns;
    if (rows == 0) {
        return chart;
    }
    chart.kind = ChartKind::Map;
    chart.title = std::move(title);
    chart.columns = std::min(columns, kMostSide);
    const std::size_t tall = std::min(rows, kMostSide);
    chart.amounts.assign(tall * chart.columns, 0);
    std::vector<double> counts(chart.amounts.size(), 0);
    for (std::size_t i = 0; i < rows * columns; ++i) {
        const std::size_t cell =
            stretchOf(i / columns, rows, tall) * chart.columns + stretchOf(i % columns, columns, chart.columns);
        chart.amounts[cell] += std::abs(finiteOr0(sizes[i]));
        counts[cell] += 1;
    }
    for (std::size_t cell = 0; cell < chart.amounts.size(); ++cell) {
        chart.amounts[cell] /= std::max(1.0, counts[cell]);
        if (marksAbove && cell % chart.columns > cell / chart.columns) {
            chart.marked.push_back(cell);
        }
    }
    return chart;
}

Chart rowsOf(std::string title, std::vector<std::vector<std::string>> rows)
{
    Chart chart;
    chart.kind = ChartKind::Rows;
    chart.title = std::move(title);
    chart.rows = std::move(rows);
    return chart;
}

} // namespace retro::diagnosis
