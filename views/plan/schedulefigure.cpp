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

/// Pixels of spans: each adds where it begins and takes away where it ends; sums along the lines give the shares.
class SharePicture
{
public:
    SharePicture(const ScheduleAxis& columns, const ScheduleAxis& rows, int width, int height)
        : m_columns(columns), m_rows(rows), m_width(static_cast<std::size_t>(width)),
          m_height(static_cast<std::size_t>(height)), m_changes((m_width + 1) * m_height, 0.0F),
          m_weight(static_cast<float>(std::min(1.0, rows.pitch())))
    {}

    void add(const ScheduleSpan& span)
    {
        if (span.until <= m_columns.from || span.from >= m_columns.to) {
            return;
        }
        const std::size_t from = pixelOf(m_columns, span.from, m_width);
        const std::size_t until = std::min(m_width, std::max(from + 1, pixelOf(m_columns, span.until, m_width)));
        const std::size_t top = pixelOf(m_rows, span.row, m_height - 1);
        const std::size_t bottom = std::max(top + 1, pixelOf(m_rows, span.row + 1.0, m_height));
        for (std::size_t y = top; from < until && y < bottom; ++y) {
            m_changes[y * (m_width + 1) + from] += m_weight;
            m_changes[y * (m_width + 1) + until] -= m_weight;
        }
    }

    [[nodiscard]] std::vector<float> summed() const
    {
        std::vector<float> shares(m_width * m_height);
        for (std::size_t y = 0; y < m_height; ++y) {
            float sum = 0;
            for (std::size_t x = 0; x < m_width; ++x) {
                sum += m_changes[y * (m_width + 1) + x];
                shares[y * m_width + x] = std::clamp(sum, 0.0F, 1.0F);
            }
        }
        return shares;
    }

private:
    static std::size_t pixelOf(const ScheduleAxis& axis, double item, std::size_t most)
    {
        return static_cast<std::size_t>(std::clamp(axis.pixel(item) - axis.origin, 0.0, static_cast<double>(most)));
    }

    const ScheduleAxis& m_columns;
    const ScheduleAxis& m_rows;
    std::size_t m_width;
    std::size_t m_height;
    std::vector<float> m_changes; ///< one more per line: where spans end
    float m_weight;               ///< of a row in its row of pixels
};

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
    most = std::max(most, planBefore ? planBefore->matrix.peak() : 0);
    if (plan && plan->axis && !plan->axis->stack.sums.empty()) {
        most = std::max(most, *std::ranges::max_element(plan->axis->stack.sums));
    }
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
    SharePicture picture(columns, rows, width, height);
    const auto first = static_cast<std::uint32_t>(std::max(0.0, std::floor(rows.from)));
    const auto last = std::min(matrix.rows().size(), static_cast<std::size_t>(std::max(0.0, std::ceil(rows.to))));
    for (std::uint32_t row = first; row < last; ++row) {
        for (const ScheduleSpan& span : matrix.spansOf(row)) {
            picture.add(span);
        }
    }
    return picture.summed();
}

} // namespace retro::views
