// SPDX-License-Identifier: Apache-2.0
#include "views/plan/schedulefigure.h"

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

// Design pixels.
constexpr double kMargin = 10;
constexpr double kRuler = 22;
constexpr double kLegend = 24;
constexpr double kTreeColumn = 26;
constexpr double kLeastAxis = 48; // room of the figures beside the curve
constexpr double kLeastCurve = 70;
constexpr double kMostCurve = 170;
constexpr double kCurveShare = 0.27;
constexpr double kGap = 12;
constexpr double kTreeShare = 0.2; // of the width: what the tree may take at most

} // namespace

ScheduleLayout layoutSchedule(const QSizeF& size, std::uint32_t levels, double nameWidth, double scale)
{
    ScheduleLayout layout;
    const double margin = kMargin * scale;
    const double treeRoom = size.width() * kTreeShare;
    layout.treeColumn = kTreeColumn * scale;
    const double tree =
        std::min(levels * layout.treeColumn, std::floor(treeRoom / layout.treeColumn) * layout.treeColumn);
    const double left = margin + nameWidth + std::max(tree + 8 * scale, 0.0);
    const double axis = std::max(left, margin + kLeastAxis * scale);
    const double width = std::max(1.0, size.width() - axis - margin);
    const double curve = std::clamp(size.height() * kCurveShare, kLeastCurve * scale, kMostCurve * scale);
    const double matrix = std::max(1.0, size.height() - (kRuler + kGap + kLegend) * scale - curve);
    const double top = kRuler * scale;
    layout.ruler = QRectF(axis, 0, width, top);
    layout.names = QRectF(margin, top, nameWidth, matrix);
    layout.tree = QRectF(margin + nameWidth, top, tree, matrix);
    layout.matrix = QRectF(axis, top, width, matrix);
    layout.curve = QRectF(axis, top + matrix + kGap * scale, width, curve);
    layout.legend = QRectF(margin, layout.curve.bottom(), size.width() - 2 * margin, kLegend * scale);
    return layout;
}

void ScheduleFigure::fitTo(const ScheduleLayout& layout)
{
    columns.origin = layout.matrix.left();
    columns.length = layout.matrix.width();
    rows.origin = layout.matrix.top();
    rows.length = layout.matrix.height();
}

double ScheduleFigure::mostBytes() const
{
    std::uint64_t most = std::max<std::uint64_t>(1, budget);
    most = std::max(most, plan ? plan->matrix.peak() : 0);
    most = std::max(most, ghost ? ghost->matrix.peak() : 0);
    return static_cast<double>(most) * 1.08;
}

std::vector<BytesAtPixel> bytesPerPixel(const ScheduleMatrix& matrix, const ScheduleAxis& axis)
{
    const auto columns = matrix.columns();
    std::vector<BytesAtPixel> all(static_cast<std::size_t>(std::max(1.0, std::ceil(axis.length))));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double left = std::floor(axis.itemAt(axis.origin + static_cast<double>(i)));
        const double right = std::ceil(axis.itemAt(axis.origin + static_cast<double>(i) + 1));
        const auto from = static_cast<std::size_t>(std::max(0.0, left));
        const auto until = std::min(columns.size(), static_cast<std::size_t>(std::max(0.0, right)));
        for (std::size_t at = from; at < until; ++at) {
            all[i].least = at == from ? columns[at].bytes : std::min(all[i].least, columns[at].bytes);
            all[i].most = std::max(all[i].most, columns[at].bytes);
        }
    }
    return all;
}

std::vector<float> heldShare(const ScheduleMatrix& matrix, const ScheduleAxis& columns, const ScheduleAxis& rows,
                             int width, int height)
{
    const auto w = static_cast<std::size_t>(width) + 1; // one more: where spans end
    std::vector<float> share(w * static_cast<std::size_t>(height), 0.0F);
    const double first = std::max(0.0, std::floor(rows.from));
    const double last = std::min(static_cast<double>(matrix.rows().size()), std::ceil(rows.to));
    const auto pixelOf = [](const ScheduleAxis& axis, double item, int most) {
        return static_cast<std::size_t>(std::clamp(axis.pixel(item) - axis.origin, 0.0, static_cast<double>(most)));
    };
    const float weight = static_cast<float>(std::min(1.0, rows.pitch())); // of a row in its row of pixels
    for (auto row = static_cast<std::uint32_t>(first); row < static_cast<std::uint32_t>(last); ++row) {
        const std::size_t top = pixelOf(rows, row, height - 1);
        const std::size_t bottom = std::max(top + 1, pixelOf(rows, row + 1.0, height));
        for (const ScheduleSpan& span : matrix.spansOf(row)) {
            const std::size_t from = pixelOf(columns, span.from, width);
            const std::size_t until =
                std::min(static_cast<std::size_t>(width), std::max(from + 1, pixelOf(columns, span.until, width)));
            if (span.until <= columns.from || span.from >= columns.to || from >= until) {
                continue;
            }
            for (std::size_t y = top; y < bottom; ++y) {
                share[y * w + from] += weight;
                share[y * w + until] -= weight;
            }
        }
    }
    std::vector<float> result(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
    for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
        float sum = 0;
        for (std::size_t x = 0; x + 1 < w; ++x) {
            sum += share[y * w + x];
            result[y * static_cast<std::size_t>(width) + x] = std::clamp(sum, 0.0F, 1.0F);
        }
    }
    return result;
}

} // namespace retro::views
