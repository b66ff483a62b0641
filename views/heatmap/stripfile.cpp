// SPDX-License-Identifier: Apache-2.0
#include "views/heatmap/stripfile.h"

#include "views/common/paint/fonts.h"
#include "views/common/paint/pagefile.h"
#include "views/heatmap/featurerows.h"

#include <QPainter>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr double kWrittenSteps = 960; ///< width of a written strip

} // namespace

base::Result<void> writeStrip(const std::filesystem::path& path, const HeatmapFigure& figure, const StepsChart& chart,
                              const std::string& table)
{
    const double margin = 12;
    const double bar = 14 + colorBarWidth(figure.bar);
    const double width = kWrittenSteps - bar - 2 * margin;
    const bool isTable = !chart.features.empty();
    const std::vector<QRectF> cells = isTable ? layoutFeatures(figure.strip, width) : layoutSteps(figure.strip, width);
    const double strip = sizeOfSteps(cells).height();
    const double below = chart.isEmpty()
                             ? 0
                             : 40 + 60.0 * static_cast<double>(chart.signal.size() + 1) +
                                   24.0 * static_cast<double>(chart.rows.size()) + (chart.links.empty() ? 0 : 140);
    const double caption = 22;
    const QSizeF size(kWrittenSteps, std::max(160.0, strip + below) + caption + 2 * margin);
    const auto paint = [&](QPainter& painter) {
        const Theme& light = Theme::of(ThemeKind::Light);
        painter.fillRect(QRectF(QPointF(), size), light[Role::Base]);
        painter.save();
        painter.translate(margin, margin);
        if (isTable) {
            paintFeatures(painter, figure.strip, chart.features, cells, light);
        } else {
            paintSteps(painter, figure.strip, cells, light);
        }
        if (!chart.isEmpty()) {
            paintChart(painter, chart, layoutChart(chart, QRectF(0, strip + 10, width, below - 10)), light);
        }
        painter.restore();
        paintColorBar(painter, figure.bar, layoutColorBar(figure.bar, QRectF(width + margin + 8, margin, bar - 8, 140)),
                      light);
        painter.setPen(light[Role::Text]);
        painter.setFont(fonts::label());
        painter.drawText(QRectF(margin, size.height() - caption - 4, size.width() - 2 * margin, caption),
                         Qt::AlignLeft | Qt::AlignVCenter, figure.caption);
    };
    return paintPage(path, size, paint, figure.caption, figure.texts, 2, table);
}

} // namespace retro::views
